//! Queries and their answers, word for word. Where upstream has an answer, this is it; exceptions say so.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use catalog::reading::Source;
use catalog::store::{Store, StoreWriter};
use catalog_controller::graphql::{Answer, CatalogShape, DeadlineExceeded, ParsedQuery, Types};
use goyaml::json::Escape;
use image::digest::Digest;

const CATALOG: &str = r#"{"schema": "olm.package", "name": "test-package", "defaultChannel": "stable", "description": "A <b> test & package"}
{"schema": "olm.package", "name": "second", "defaultChannel": 7, "icon": {"data": "x<y", "n": 1e+21}}
{"schema": "olm.bundle", "name": "b1", "package": "test-package", "count": 42, "ratio": 1.5, "flag": true, "nothing": null, "tags": ["a", "b"], "mixed-list": [1, "x"], "spec.deep": {"a": [1, 2]}, "properties": [{"type": "olm.package", "value": {"packageName": "test-package", "version": "1.0.0"}}, {"type": "olm.gvk", "value": "x", "extra": true}]}
{"schema": "olm.bundle", "name": "b2", "package": "test-package", "count": "12", "ratio": 3, "flag": "", "properties": [{"type": 5}]}
{"schema": "olm.bundle", "name": "b3", "package": "", "count": 1000000000000.0, "properties": "none"}
"#;

const QUERIES: &[&str] = &[
    "{ olmpackages }",
    "{ olmpackages { name { x } } }",
    r#"{ olmpackages(limit: "x") { name } }"#,
    "{ olmpackages(limt: 1) { name } }",
    "{ __type { name } }",
    "query ($l: Int = 1) { olmpackages(limit: $l) { name } }",
    "query Q($l: Int!) { olmpackages(limit: $l) { name } }",
    "query Q { olmpackages(limit: $l) { name } }",
    "query Q($l: Int) { olmpackages { name } }",
    r#"query ($l: String = "a") { olmpackages(limit: $l) { name } }"#,
    "query ($l: Int! = 3) { olmpackages(limit: $l) { name } }",
    "query ($l: Nope) { olmpackages(limit: $l) { name } }",
    "query ($l: OlmPackage) { olmpackages(limit: $l) { name } }",
    r#"query ($l: Int = "x") { olmpackages(limit: $l) { name } }"#,
    "{ olmpackages { ...F } }",
    "{ olmpackages { name } } fragment F on OlmPackage { name }",
    "{ olmpackages { ...A } } fragment A on OlmPackage { ...B } fragment B on OlmPackage { name ...A }",
    "{ olmpackages { ...A } } fragment A on OlmPackage { name ...A }",
    "{ olmpackages { ...F } } fragment F on OlmBundle { name }",
    "{ olmpackages { ... on OlmBundle { name } } }",
    "{ olmpackages { ... on String { name } } }",
    "{ olmpackages { ... on Nope { name } } }",
    "{ olmpackages { ...F } } fragment F on Int { name }",
    "{ olmpackages { name name: description } }",
    "{ a: olmpackages(limit: 1) { name } a: olmpackages(limit: 2) { name } }",
    "{ a: olmpackages { x: name } a: olmpackages { x: description } }",
    "{ olmpackages { name } olmpackages { description } }",
    "mutation { x }",
    "subscription { x }",
    "{ olmpackages { name } } { olmbundles { name } }",
    "query A { olmpackages { name } } query B { olmbundles { name } }",
    "query A { olmpackages { name } } query A { olmbundles { name } }",
    "{ olmpackages { name @skip(if: true) description @include(if: false) defaultChannel } }",
    "{ olmpackages { name @skip } }",
    "{ olmpackages { name @nope(a: 1) } }",
    "{ olmpackages { name @include(if: 1) } }",
    "query @skip(if: true) { olmpackages { name } }",
    "{ olmpackages { name @include(iff: true, if: true) } }",
    "{ olmpackages(limit: 1, limit: 2) { name } }",
    "{ __typename olmpackages { __typename } summary { __typename schemas { __typename } } }",
    r#"{ __type(name: "OlmBundle") { kind name description fields { name type { kind name ofType { name } } } } }"#,
    r#"{ __type(name: "Nope") { name } }"#,
    "{ __schema { queryType { name fields { name args { name description defaultValue type { name } } } } mutationType { name } directives { name locations args { name } } } }",
    r#"{ __type(name: "__TypeKind") { kind enumValues { name } } }"#,
    r#"{ __type(name: "Int") { kind name fields { name } ofType { name } } }"#,
    "{ olmbundles { tags mixedList } }",
    "{ olmbundles { name count ratio flag nothing specDeep } }",
    "{ olmbundles { name properties { type value extra } } }",
    "{ olmpackages { name description icon defaultChannel } }",
    "{ nopes { name } }",
    "{ olmpackages { nam } }",
    "{ olmpackages { zzzzzzzz } }",
    "{ invalid query {{{{",
    "{}",
    "{ a",
    "",
    "{ a(b: null) }",
    "type T { a: Int }",
    "{ a(b: 01) }",
    r#"{ a(b: "x"#,
    r#"{ a(b: "\q") }"#,
    "query ($x: Int = $y) { a }",
    "fragment on on T { a }",
    "{\n  olmpackages {\n    nam\n  }\n}",
    "{ a ? }",
    "\n\n{ olmpackages {\n }}",
    "{ summary { totalSchemas schemas { name } } x: summary { totalSchemas } }",
    "fragment F on OlmPackage { name }",
    "{ olmpackages(offset: 1) { name } olmbundles(limit: 1) { name } }",
    "{ olmpackages(limit: 1.5) { name } }",
    "{ olmpackages(limit: [1]) { name } }",
    "{ olmpackages(limit: FOO) { name } }",
    "{ olmpackages(limit: {a: 1}) { name } }",
    "{ olmpackages(limit: 99999999999999999999) { name } }",
    "{ olmpackages { name ... { description } ... @include(if: false) { defaultChannel } } }",
];

struct World {
    _folder: tempfile::TempDir,
    store: Store,
    types: Types,
}

impl World {
    fn new(catalog: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let files = BTreeMap::from([("catalog.json".to_owned(), catalog.as_bytes().to_vec())]);
        let mut writer = StoreWriter::create(folder.path(), &Digest::of(b"catalog")).expect("a writer");
        writer.push_all(Source::Files(&files)).expect("a catalog");
        let store = writer.finish().expect("a store");
        let types = Types::of(CatalogShape::of(&store).expect("a shape")).expect("types");
        Self {
            _folder: folder,
            store,
            types,
        }
    }

    fn ask(&self, query: &str) -> Result<Answer, DeadlineExceeded> {
        match ParsedQuery::read(query) {
            Ok(parsed) => parsed.answer(&self.types, &self.store, Instant::now() + Duration::from_mins(1)),
            Err(refusal) => Ok(refusal),
        }
    }
}

/// Some things are otherwise than upstream: lists of plain values are given and fragments without a type are known, where
/// upstream fails for both; definitions of types are no part of a query, which upstream notices later; and what upstream
/// lists in any order is sorted.
#[test]
fn answers_are_upstreams() {
    let world = World::new(CATALOG);
    let mut text = String::new();
    for query in QUERIES {
        let answer = world.ask(query).expect("in time");
        let answer = goyaml::json::to_string(&answer, Escape::Html).expect("JSON");
        let _ = writeln!(text, "{query:?}\n  {answer}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn an_answer_that_is_far_larger_than_its_query_is_refused() {
    let world = World::new(CATALOG);
    let repeated = |count: usize, letter: char, field: &str| {
        let fields: Vec<String> = (0..count)
            .map(|number| format!("{letter}{number}: {field}"))
            .collect();
        fields.join(" ")
    };
    let query = format!(
        "{{ {} }} fragment S on __Schema {{ {} }} fragment T on __Type {{ {} }}",
        repeated(24, 'a', "__schema { ...S }"),
        repeated(13, 'b', "types { ...T }"),
        repeated(
            13,
            'c',
            "fields { name description isDeprecated deprecationReason type { name } }"
        ),
    );
    assert_eq!(world.ask(&query), Err(DeadlineExceeded));
}

#[test]
fn many_fragments_are_refused() {
    let world = World::new(CATALOG);
    let mut query = "{ olmpackages { ...F0 } }".to_owned();
    for number in 0..600 {
        let _ = write!(
            query,
            "fragment F{number} on OlmPackage {{ ...F{} }} ",
            number + 1
        );
    }
    let answer = world.ask(&query).expect("in time");
    assert_eq!(
        answer.errors[0].message,
        "query exceeds maximum fragment count of 500"
    );
}
