//! The recorded cases of catalogd: its endpoints, its queries and its conditions.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use catalog::reading::Source;
use catalog::store::{Query, Store, StoreWriter};
use catalog_controller::contents::Contents;
use catalog_controller::graphql::{CatalogShape, ParsedQuery, Types, names};
use catalog_controller::{Handle, router, serve};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use image::digest::Digest;
use serde_json::{Value, json};
use tower::ServiceExt as _;

mod status;

fn cases(file: &str) -> Option<Value> {
    let folder = corpus::open("olmv1")?;
    let text = fs::read(folder.join("olmv1-corpus/catalogd-http").join(file)).expect("the cases");
    Some(serde_json::from_slice(&text).expect("JSON"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A catalog that is served, in a folder that vanishes with it.
struct World {
    contents: Arc<Contents>,
    router: Router,
    folder: tempfile::TempDir,
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("text"))
    }
}

/// Objects as the text of a catalog.
fn lines(metas: &[Value]) -> String {
    let lines: Vec<String> = metas.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn store(folder: &std::path::Path, source: &str) -> Store {
    let files = BTreeMap::from([("catalog.yaml".to_owned(), source.as_bytes().to_vec())]);
    let mut writer = StoreWriter::create(folder, &Digest::of(source.as_bytes())).expect("a writer");
    writer.push_all(Source::Files(&files)).expect("a catalog");
    writer.finish().expect("a store")
}

impl World {
    fn new(source: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let contents = Arc::new(Contents::open(folder.path()).expect("contents"));
        let router =
            router(Handle::of(Arc::clone(&contents)), serve::Front::Nothing).fallback(serve::page_not_found);
        let world = Self {
            contents,
            router,
            folder,
        };
        world.put("test-catalog", source);
        world
    }

    fn put(&self, name: &str, source: &str) {
        let store = store(&self.folder.path().join("stores"), source);
        let reference = format!("registry.example/{name}@{}", store.digest());
        let time = jiff::Timestamp::from_second(1_700_000_000).expect("a time");
        self.contents.put(name, reference, time, store).expect("served");
    }

    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body)).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("an answer");
        let (parts, body) = response.into_parts();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: body.collect().await.expect("a body").to_bytes().to_vec(),
        }
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.ask("GET", path, headers, Vec::new()).await
    }
}

/// Rows of upstream that can't hold here, and why.
const OTHERWISE: [(&str, &str); 4] = [
    ("metas/gate-off", "every gate is on"),
    ("graphql/gate-off", "every gate is on"),
    (
        "all/no-etag",
        "content has a strong tag, which `content_has_a_strong_tag` shows",
    ),
    (
        "graphql/execute-timeout",
        "a fault of the executor can't be asked for; serve::tests::an_answer_that_takes_too_long_is_an_error has it",
    ),
];

fn body_of(row: &Value) -> Vec<u8> {
    match &row["request"]["body"] {
        Value::String(body) => body.clone().into_bytes(),
        Value::Null => Vec::new(),
        generated => match text(&generated["generate"]) {
            "{\"query\": \"<a repeated 100001 times>\"}" => {
                format!("{{\"query\": \"{}\"}}", "a".repeat(100_001)).into_bytes()
            }
            "<a repeated 1048577 times>" => vec![b'a'; 1_048_577],
            other => panic!("{other} can't be generated"),
        },
    }
}

#[tokio::test]
async fn every_request_is_answered_as_upstream_does() {
    let Some(cases) = cases("cases.json") else { return };
    let world = World::new(text(&cases["storedSource"]));
    let mut failures = Vec::new();
    let mut passed = 0;
    for row in rows(&cases["http"]) {
        let id = text(&row["id"]);
        if OTHERWISE.iter().any(|(other, _)| *other == id) {
            continue;
        }
        let (method, path) = (text(&row["request"]["method"]), text(&row["request"]["path"]));
        let earlier = world.get("/catalogs/test-catalog/api/v1/all", &[]).await;
        let headers: Vec<(&str, &str)> = row["request"]["headers"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| match text(value) {
                "<value of Last-Modified of an earlier response>" => {
                    (name.as_str(), earlier.header("Last-Modified"))
                }
                value => (name.as_str(), value),
            })
            .collect();
        let answer = world.ask(method, path, &headers, body_of(row)).await;
        let expected = &row["response"];
        let mut wrong = Vec::new();
        if json!(answer.status.as_u16()) != expected["status"] {
            wrong.push(format!("status {}", answer.status));
        }
        for (name, value) in expected["headers"].as_object().into_iter().flatten() {
            let found = answer.header(name);
            let is_right = match text(value) {
                "<HTTP date of the stored file>" => found == "Tue, 14 Nov 2023 22:13:20 GMT",
                value => found == value,
            };
            if !is_right {
                wrong.push(format!("{name}: {found}"));
            }
        }
        if let Some(body) = expected["body"].as_str() {
            // Upstream goes on with the content after an error, which nobody can want.
            let body = match id {
                "metas/if-modified-since-malformed" => "500 Internal Server Error\n",
                _ => body,
            };
            if answer.body != body.as_bytes() {
                wrong.push(format!("body {:?}", String::from_utf8_lossy(&answer.body)));
            }
        }
        if wrong.is_empty() {
            passed += 1;
        } else {
            failures.push(format!("{id}: {}", wrong.join(", ")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!(passed, rows(&cases["http"]).len() - OTHERWISE.len());
}

#[tokio::test]
async fn what_is_stored_is_what_upstream_stores() {
    let Some(cases) = cases("cases.json") else { return };
    let world = World::new(text(&cases["storedSource"]));
    let served = world.contents.get("test-catalog").expect("served");
    let content = served.store().content().expect("content");
    let lines: Vec<&str> = std::str::from_utf8(&content).expect("text").lines().collect();
    let expected: Vec<&str> = rows(&cases["stored"]["test-catalog"]).iter().map(text).collect();
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn large_content_is_compressed_when_the_client_likes_that() {
    let Some(cases) = cases("cases.json") else { return };
    for row in rows(&cases["gzip"]) {
        // Every catalog is made of objects, so the length is reached with a long field.
        let source = match row["contentBytes"].as_u64() {
            Some(length) => format!(
                "{{\"schema\":\"test\",\"foo\":\"{}\"}}",
                "a".repeat(length as usize)
            ),
            None => text(&row["content"]).to_owned(),
        };
        let world = World::new(&source);
        for path in ["all", "metas", "metas?schema=test"] {
            let path = format!("/catalogs/test-catalog/api/v1/{path}");
            let answer = world
                .get(&path, &[("Accept-Encoding", text(&row["acceptEncoding"]))])
                .await;
            let is_compressed = answer.header("Content-Encoding") == "gzip";
            let is_empty = path.ends_with("schema=test") && row["content"].is_string();
            assert!(is_compressed == row["compressed"] || is_empty, "{row} {path}");
            assert_eq!(answer.header("Vary"), "Accept-Encoding");
        }
    }
}

#[tokio::test]
async fn each_form_of_the_content_has_its_own_tag_and_the_same_bytes() {
    let source = format!("{{\"schema\":\"test\",\"foo\":\"{}\"}}", "ab".repeat(3000));
    let world = World::new(&source);
    let path = "/catalogs/test-catalog/api/v1/all";
    let plain = world.get(path, &[]).await;
    let digest = Digest::of(source.as_bytes());
    assert_eq!(plain.header("ETag"), format!("\"{digest}\""));
    assert_eq!(plain.header("Accept-Ranges"), "bytes");
    for (encoding, path) in [
        ("gzip", path),
        ("zstd", path),
        ("gzip", "/catalogs/test-catalog/api/v1/metas?schema=test"),
        ("zstd", "/catalogs/test-catalog/api/v1/metas?schema=test"),
    ] {
        let answer = world.get(path, &[("Accept-Encoding", encoding)]).await;
        assert_eq!(answer.header("ETag"), format!("\"{digest}-{encoding}\""));
        assert_eq!(answer.header("Content-Encoding"), encoding);
        let mut body = Vec::new();
        match encoding {
            "gzip" => {
                let mut reader = flate2::read::GzDecoder::new(answer.body.as_slice());
                std::io::Read::read_to_end(&mut reader, &mut body).expect("gzip");
            }
            _ => body = zstd::decode_all(answer.body.as_slice()).expect("zstd"),
        }
        assert_eq!(body, plain.body);
        let again = world
            .get(
                path,
                &[
                    ("Accept-Encoding", encoding),
                    ("If-None-Match", answer.header("ETag")),
                ],
            )
            .await;
        assert_eq!(again.status, 304);
        assert!(again.body.is_empty());
        let head = world
            .ask("HEAD", path, &[("Accept-Encoding", encoding)], Vec::new())
            .await;
        assert_eq!(head.header("Content-Length"), answer.body.len().to_string());
        assert!(head.body.is_empty());
    }
    let part = world
        .get(path, &[("Accept-Encoding", "gzip"), ("Range", "bytes=1-8")])
        .await;
    assert_eq!((part.status.as_u16(), part.header("Content-Encoding")), (206, ""));
    assert_eq!(part.body, &plain.body[1..9]);
    let stale = world
        .get(path, &[("Range", "bytes=1-8"), ("If-Range", "\"other\"")])
        .await;
    assert_eq!((stale.status.as_u16(), stale.body.len()), (200, plain.body.len()));
    let several = world.get(path, &[("Range", "bytes=0-1,5-6")]).await;
    assert!(
        several
            .header("Content-Type")
            .starts_with("multipart/byteranges; boundary=")
    );
    assert_eq!(several.header("Content-Length"), several.body.len().to_string());
    let body = String::from_utf8_lossy(&several.body);
    assert!(body.contains("Content-Range: bytes 5-6/"), "{body}");
}

#[tokio::test]
async fn content_has_a_strong_tag() {
    let world = World::new("{\"schema\":\"a\"}");
    for path in ["all", "metas", "metas?schema=a"] {
        let answer = world
            .get(&format!("/catalogs/test-catalog/api/v1/{path}"), &[])
            .await;
        let digest = Digest::of(b"{\"schema\":\"a\"}");
        assert_eq!(answer.header("ETag"), format!("\"{digest}\""), "{path}");
    }
}

#[tokio::test]
async fn objects_are_found_by_any_combination_of_their_fields() {
    let Some(cases) = cases("cases.json") else { return };
    let index = &cases["index"];
    let source = lines(rows(&index["metas"]));
    let world = World::new(&source);
    for row in rows(&index["rows"]) {
        let query = ["schema", "package", "name"]
            .map(|key| format!("{key}={}", text(&row["query"][key])))
            .join("&");
        let answer = world
            .get(&format!("/catalogs/test-catalog/api/v1/metas?{query}"), &[])
            .await;
        let found: Vec<Value> = std::str::from_utf8(&answer.body)
            .expect("text")
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["name"].clone())
            .collect();
        assert_eq!(json!(found), row["names"], "{}", row["id"]);
    }
    let sections = &index["sections"];
    let source: String = rows(&sections["metas"]).iter().map(text).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let store = store(folder.path(), &source);
    for (schema, count) in sections["bySchema"].as_object().expect("schemas") {
        let query = Query {
            schema,
            ..Query::default()
        };
        assert_eq!(
            store.metas(query).count() as u64,
            count.as_u64().unwrap_or(0),
            "{schema}"
        );
    }
    // Canonical objects have their keys sorted, and sections lie one after the other in the order of the walk.
    let lengths: Vec<usize> = store
        .metas(Query::default())
        .map(|meta| meta.length() + 1)
        .collect();
    assert_eq!(lengths, [39, 36, 36]);
}

fn metas_of(row: &Value) -> Vec<Value> {
    match &row["metas"] {
        Value::Array(metas) => metas.clone(),
        generated => {
            assert_eq!(
                text(&generated["generate"]),
                "150 metas of schema test named m0..m149"
            );
            (0..150)
                .map(|number| json!({"schema": "test", "name": format!("m{number}")}))
                .collect()
        }
    }
}

fn sort_lists(value: &mut Value, path: &str) {
    let pointer = format!("/{}", path.replace('.', "/"));
    if let Some(Value::Array(items)) = value.pointer_mut(&pointer) {
        items.sort_by_key(ToString::to_string);
    }
}

#[test]
fn queries_are_answered_as_upstream_does() {
    let Some(cases) = cases("cases.json") else { return };
    for row in rows(&cases["graphql"]) {
        let source = lines(&metas_of(row));
        let folder = tempfile::tempdir().expect("a folder");
        let store = store(folder.path(), &source);
        let types = Types::of(CatalogShape::of(&store).expect("a shape")).expect("types");
        let parsed = ParsedQuery::read(text(&row["query"])).expect("a query");
        let deadline = Instant::now() + Duration::from_mins(1);
        let answer = parsed.answer(&types, &store, deadline).expect("in time");
        let id = text(&row["id"]);
        let mut found = answer.data.unwrap_or_default();
        if let Some(expected) = row.get("data") {
            let mut expected = expected.clone();
            for path in rows(&row["unordered"]) {
                sort_lists(&mut found, text(path));
                sort_lists(&mut expected, text(path));
            }
            assert_eq!(found, expected, "{id}");
            assert_eq!(answer.errors, [], "{id}");
        }
        for (field, count) in row["count"].as_object().into_iter().flatten() {
            assert_eq!(json!(found[field].as_array().map(Vec::len)), *count, "{id}");
        }
        for message in rows(&row["errorsContain"]) {
            let is_there = answer
                .errors
                .iter()
                .any(|error| error.message.contains(text(message)));
            assert!(is_there, "{id}: {:?}", answer.errors);
        }
        if id == "derived/number-types" {
            // Upstream fails to give lists of numbers; here they are what the types say.
            let mut object = row["metas"][0].clone();
            object.as_object_mut().expect("an object").remove("schema");
            let expected = json!({"testschemas": [object]});
            assert_eq!((found, answer.errors), (expected, vec![]));
        }
    }
}

#[test]
fn queries_have_upstreams_limits() {
    let Some(cases) = cases("cases.json") else { return };
    for row in rows(&cases["graphqlLimits"]) {
        let refusal = ParsedQuery::read(text(&row["query"]))
            .err()
            .map(|answer| answer.errors[0].message.clone());
        match (row["error"].as_str(), row["errorContains"].as_str()) {
            (None, None) => assert_eq!(refusal, None, "{}", row["id"]),
            (Some(error), _) => assert_eq!(refusal.as_deref(), Some(error), "{}", row["id"]),
            (None, Some(part)) => assert!(refusal.is_some_and(|text| text.contains(part)), "{}", row["id"]),
        }
    }
}

#[test]
fn names_and_types_of_queries_are_upstreams() {
    let Some(cases) = cases("cases.json") else { return };
    for row in rows(&cases["graphqlFieldNames"]) {
        assert_eq!(names::field_name(text(&row["input"])), row["expected"], "{row}");
    }
    for row in rows(&cases["graphqlTypeNames"]) {
        assert_eq!(names::type_name(text(&row["input"])), row["expected"], "{row}");
    }
    for row in rows(&cases["graphqlRootFields"]) {
        assert_eq!(
            names::root_field_name(text(&row["schema"])),
            row["field"],
            "{row}"
        );
        assert_eq!(names::type_name(text(&row["schema"])), row["type"], "{row}");
    }
    let types = &cases["graphqlFieldTypes"];
    let mut shape = CatalogShape::default();
    shape.add("test", types["object"].to_string().as_bytes());
    for (field, expected) in types["types"].as_object().expect("types") {
        let found = &shape.schemas["test"].fields[field];
        let name = match found.scalar.name() {
            "String" => "string",
            "Int" => "int",
            "Boolean" => "bool",
            _ => "float64",
        };
        let list = if found.is_list { "[]" } else { "" };
        assert_eq!(format!("{list}{name}"), *expected, "{field}");
    }
}

/// The rows about storage. Upstream keeps three files for each catalog, this program one for each image; what the rows
/// say about the names of files is therefore said of what they stand for: a catalog that can be asked in all three ways.
#[tokio::test]
async fn content_is_stored_deleted_and_cleaned_up_as_upstream_does() {
    let Some(cases) = cases("cases.json") else { return };
    let ids: Vec<&str> = rows(&cases["storage"])
        .iter()
        .map(|row| text(&row["id"]))
        .collect();
    assert_eq!(
        ids,
        [
            "store-then-delete",
            "metas-gate-writes-index",
            "graphql-gate-writes-schema",
            "delete-missing",
            "orphaned-temp-dirs",
            "no-permission",
            "load"
        ]
    );
    let world = World::new(text(&cases["storedSource"]));
    assert!(world.contents.get("other").is_none());
    world.put("other", "{\"schema\":\"olm.package\",\"name\":\"x\"}");
    for endpoint in ["all", "metas?schema=olm.package"] {
        let answer = world
            .get(&format!("/catalogs/other/api/v1/{endpoint}"), &[])
            .await;
        assert_eq!(answer.status, 200);
    }
    let query = b"{\"query\": \"{ olmpackages { name } }\"}".to_vec();
    let answer = world
        .ask("POST", "/catalogs/other/api/v1/graphql", &[], query)
        .await;
    assert_eq!(answer.body, b"{\"data\":{\"olmpackages\":[{\"name\":\"x\"}]}}\n");
    world.contents.withdraw("other").expect("deleted");
    assert!(world.contents.get("other").is_none());
    world
        .contents
        .withdraw("nonexistent")
        .expect("nothing to delete is no error");

    let leftovers = world.folder.path().join("unpacking/left-behind");
    fs::create_dir_all(&leftovers).expect("a folder");
    let reopened = Contents::open(world.folder.path()).expect("contents");
    assert!(
        !leftovers.exists(),
        "what a killed process left behind is removed"
    );
    assert!(
        reopened.get("test-catalog").is_some(),
        "what was served is served again"
    );

    let blocked = world.folder.path().join("stores/file-in-the-way");
    fs::write(&blocked, "").expect("a file");
    let error = Contents::open(&blocked)
        .expect_err("a file is no folder")
        .to_string();
    assert!(error.contains("file-in-the-way"), "{error}");
}

#[tokio::test]
async fn many_requests_at_once_are_all_answered() {
    let metas: Vec<Value> = (0..1000)
        .map(|number| json!({"schema": "olm.bundle", "package": format!("p{}", number % 7), "name": format!("b{number}")}))
        .collect();
    let source = lines(&metas);
    let world = Arc::new(World::new(&source));
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..190 {
        let world = Arc::clone(&world);
        tasks.spawn(async move {
            let path = match number {
                0..100 => "metas?schema=olm.bundle".to_owned(),
                100..150 => format!("metas?package=p{}", number % 7),
                150..170 => "all".to_owned(),
                _ => format!("metas?name=b{number}"),
            };
            world
                .get(&format!("/catalogs/test-catalog/api/v1/{path}"), &[])
                .await
                .status
        });
    }
    let statuses = tasks.join_all().await;
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
}

#[tokio::test]
async fn content_is_served_over_http_2() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let world = World::new("{\"schema\":\"a\"}");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a socket");
    let address = listener.local_addr().expect("an address");
    let serving = tokio::spawn(axum::serve(listener, world.router.clone()).into_future());
    for is_second in [false, true] {
        let client = reqwest::Client::builder().no_proxy();
        let client = if is_second {
            client.http2_prior_knowledge()
        } else {
            client.http1_only()
        };
        let client = client.build().expect("a client");
        let address = format!("http://{address}/catalogs/test-catalog/api/v1/all");
        let response = client.get(&address).send().await.expect("an answer");
        let version = if is_second {
            http::Version::HTTP_2
        } else {
            http::Version::HTTP_11
        };
        assert_eq!(response.version(), version);
        assert_eq!(response.content_length(), Some(15));
        assert_eq!(response.bytes().await.expect("a body"), "{\"schema\":\"a\"}\n");
        let head = client.head(&address).send().await.expect("an answer");
        assert_eq!(head.headers()["content-length"], "15");
    }
    serving.abort();
}

#[tokio::test]
async fn readers_finish_with_what_they_began_while_catalogs_are_exchanged() {
    let source = |number: usize| {
        format!(
            "{{\"schema\":\"test\",\"name\":\"{number}\",\"foo\":\"{}\"}}",
            "x".repeat(50_000)
        )
    };
    let world = Arc::new(World::new(&source(0)));
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..2000 {
        let world = Arc::clone(&world);
        readers.spawn(async move { world.get("/catalogs/test-catalog/api/v1/all", &[]).await });
    }
    for number in 1..40 {
        world.put("test-catalog", &source(number));
        tokio::task::yield_now().await;
    }
    for answer in readers.join_all().await {
        assert_eq!(answer.status, 200);
        let object: Value = serde_json::from_slice(&answer.body).expect("one whole object");
        let number: usize = text(&object["name"]).parse().expect("a number");
        assert_eq!(
            answer.header("ETag"),
            format!("\"{}\"", Digest::of(source(number).as_bytes()))
        );
    }
    let stores = fs::read_dir(world.folder.path().join("stores"))
        .expect("stores")
        .count();
    assert_eq!(stores, 1, "the stores of catalogs that were exchanged are gone");
}
