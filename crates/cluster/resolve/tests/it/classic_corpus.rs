//! The recorded cases of upstream's resolver for OLM v0.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;

use resolve::classic::channel::sort_channel;
use resolve::classic::existing::{ends_in_failure, entry_from_csv, infer_properties};
use resolve::classic::{
    Api, ApiSet, Catalog, CatalogKey, Entry, Existing, ExistingVersion, Isolation, Property, RegistryBundle,
    Request, Resolution, Snapshot, Subscription, UpgradeStrategy, resolve,
};
use serde_json::{Value, json};
use version::{Range, Version};

/// Recorded cases that have another outcome here, and why.
const DIFFERENT: [(&str, &str); 2] = [
    (
        "resolve:TestSolveOperators_ResolveOnlyInCachedNamespaces",
        "an entry that names another catalog than the one that it is in can't be made from a catalog's bundles",
    ),
    (
        "replacementChainEndsInFailure:TestIsReplacementChainThatEndsInFailure/NilCSV",
        "a reference is never nil",
    ),
];

fn cases(kind: &str) -> Vec<Value> {
    let Some(folder) = corpus::open("olmv0") else {
        return Vec::new();
    };
    let text = fs::read(folder.join("olmv0-corpus/resolver/cases.json")).expect("the cases");
    let mut cases: Value = serde_json::from_slice(&text).expect("JSON");
    let Value::Array(cases) = cases["cases"].take() else {
        panic!("no cases");
    };
    let is_different = |case: &Value| DIFFERENT.iter().any(|(id, _)| case["id"] == *id);
    let cases = cases
        .into_iter()
        .filter(|case| case["kind"] == kind && !is_different(case));
    cases.collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Reads `plural/Kind.version.group`.
fn api(recorded: &Value) -> Api {
    let recorded = text(recorded);
    let (plural, name) = recorded.split_once('/').expect("an API");
    let mut parts = name.splitn(3, '.').map(str::to_owned);
    Api {
        kind: parts.next().unwrap_or_default(),
        version: parts.next().unwrap_or_default(),
        group: parts.next().unwrap_or_default(),
        plural: plural.to_owned(),
    }
}

fn apis(recorded: &Value) -> ApiSet {
    rows(recorded).iter().map(api).collect()
}

fn recorded_apis(apis: &ApiSet) -> BTreeSet<String> {
    apis.iter().map(|api| format!("{}/{api}", api.plural)).collect()
}

fn key(recorded: &Value) -> CatalogKey {
    let field = |name: &str| {
        if recorded[name].is_null() {
            text(&recorded[&name.to_lowercase()])
        } else {
            text(&recorded[name])
        }
    };
    CatalogKey::new(field("Namespace"), field("Name"))
}

fn property(recorded: &Value) -> Property {
    let value = match &recorded["value"] {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    Property::new(text(&recorded["type"]), value)
}

fn properties(entry: &Entry) -> Vec<Value> {
    let one = |property: &Property| {
        let value: Value = serde_json::from_str(&property.value).expect("JSON");
        json!({"type": property.kind, "value": value})
    };
    entry.properties().iter().map(one).collect()
}

fn entry(recorded: &Value) -> Entry {
    let mut entry = Entry::new(
        text(&recorded["name"]),
        rows(&recorded["properties"]).iter().map(property).collect(),
    );
    entry.package = text(&recorded["package"]);
    entry.channel = text(&recorded["channel"]);
    entry.catalog = key(&recorded["catalog"]);
    entry.is_in_default_channel = recorded["defaultChannel"] == true;
    entry.version = recorded["version"]
        .as_str()
        .map(|version| Version::parse(version).expect("a version"));
    entry.replaces = text(&recorded["replaces"]);
    entry.skips = rows(&recorded["skips"]).iter().map(text).collect();
    entry.skip_range = recorded["skipRange"]
        .as_str()
        .map(|range| Range::parse(range).expect("a range"));
    entry.provided_apis = apis(&recorded["providedAPIs"]);
    entry.required_apis = apis(&recorded["requiredAPIs"]);
    entry
}

/// Compares what is recorded of an entry with what it is.
fn assert_entry(id: &str, entry: &Entry, recorded: &Value) {
    assert_eq!(entry.name, text(&recorded["name"]), "{id}");
    assert_eq!(entry.package, text(&recorded["package"]), "{id}");
    assert_eq!(entry.channel, text(&recorded["channel"]), "{id}");
    assert_eq!(entry.catalog, key(&recorded["catalog"]), "{id}");
    assert_eq!(
        entry.is_in_default_channel,
        recorded["defaultChannel"] == true,
        "{id}"
    );
    assert_eq!(
        entry.version.as_ref().map(ToString::to_string),
        recorded["version"].as_str().map(str::to_owned),
        "{id}"
    );
    assert_eq!(entry.bundle_path, text(&recorded["bundlePath"]), "{id}");
    assert_eq!(entry.replaces, text(&recorded["replaces"]), "{id}");
    assert_eq!(properties(entry), rows(&recorded["properties"]), "{id}");
    let named = |recorded: &Value| rows(recorded).iter().map(text).collect::<BTreeSet<_>>();
    assert_eq!(
        recorded_apis(&entry.provided_apis),
        named(&recorded["providedAPIs"]),
        "{id}"
    );
    assert_eq!(
        recorded_apis(&entry.required_apis),
        named(&recorded["requiredAPIs"]),
        "{id}"
    );
    if let Some(inline) = recorded.get("inline") {
        let bundle = entry.inline.as_ref().expect("content");
        let csv: Value = serde_json::from_str(&bundle.csv_json).expect("JSON");
        assert_eq!(csv, inline["csv"], "{id}");
        let objects: Vec<Value> = bundle
            .objects
            .iter()
            .map(|object| serde_json::from_str(object).expect("JSON"))
            .collect();
        assert_eq!(objects, rows(&inline["objects"]), "{id}");
    }
}

#[test]
fn entries_are_made_from_bundles_as_recorded() {
    for case in cases("entryFromBundle") {
        let recorded = &case["bundle"];
        let apis = |name: &str| {
            let api = |api: &Value| Api {
                group: text(&api["group"]),
                version: text(&api["version"]),
                kind: text(&api["kind"]),
                plural: text(&api["plural"]),
            };
            rows(&recorded[name]).iter().map(api).collect()
        };
        let list = |name: &str| rows(&recorded[name]).iter().map(text).collect();
        let typed = |name: &str| rows(&recorded[name]).iter().map(property).collect();
        let bundle = RegistryBundle {
            csv_name: text(&recorded["csvName"]),
            package_name: text(&recorded["packageName"]),
            channel_name: text(&recorded["channelName"]),
            csv_json: text(&recorded["csvJson"]),
            objects: list("object"),
            bundle_path: text(&recorded["bundlePath"]),
            provided_apis: apis("providedApis"),
            required_apis: apis("requiredApis"),
            version: text(&recorded["version"]),
            skip_range: text(&recorded["skipRange"]),
            dependencies: typed("dependencies"),
            properties: typed("properties"),
            replaces: text(&recorded["replaces"]),
            skips: list("skips"),
            deprecation: None,
        };
        let entry =
            Entry::from_bundle(&key(&case["catalog"]), bundle, &text(&case["defaultChannel"])).unwrap();
        assert_entry(&text(&case["id"]), &entry, &case["expected"]);
    }
}

#[test]
fn entries_are_made_from_installed_operators_as_recorded() {
    for case in cases("entryFromCSV") {
        let (entry, faults) = entry_from_csv(&case["csv"]);
        assert_eq!(faults, []);
        assert_entry(&text(&case["id"]), &entry, &case["expected"]);
    }
}

#[test]
fn the_package_of_an_installed_operator_is_inferred_as_recorded() {
    for case in cases("inferProperties") {
        let subscriptions: Vec<Subscription> = rows(&case["subscriptions"])
            .iter()
            .map(Subscription::from_object)
            .collect();
        let inferred = infer_properties(&case["csv"], &subscriptions);
        let inferred = inferred.map(|property| json!([{"type": property.kind, "value": property.value}]));
        assert_eq!(inferred.unwrap_or_default(), case["expected"], "{}", case["id"]);
    }
}

#[test]
fn sets_of_apis_behave_as_recorded() {
    for case in cases("apiSet") {
        let set = apis(&case["set"]);
        let union = || {
            rows(&case["arg"])
                .iter()
                .fold(ApiSet::default(), |union, set| union.union(&apis(set)))
        };
        let found = match case["op"].as_str().unwrap() {
            "String" => Value::from(set.to_string()),
            "IsSubset" => set.is_subset(&apis(&case["arg"])).into(),
            "Union" => recorded_apis(&set.union(&union())).into_iter().collect(),
            "Intersection" => recorded_apis(&set.intersection(&union())).into_iter().collect(),
            "Difference" => recorded_apis(&set.difference(&apis(&case["arg"])))
                .into_iter()
                .collect(),
            "StripPlural" => recorded_apis(&set.without_plurals()).into_iter().collect(),
            other => panic!("unknown operation {other}"),
        };
        assert_eq!(found, case["expected"], "{}", case["id"]);
    }
}

#[test]
fn channels_are_sorted_as_recorded() {
    for case in cases("sortChannel") {
        let entries: Vec<Entry> = rows(&case["entries"]).iter().map(entry).collect();
        let entries: Vec<&Entry> = entries.iter().collect();
        let expected = &case["expected"];
        match sort_channel(&entries) {
            Ok(order) => {
                let names: Vec<&str> = order.into_iter().map(|at| entries[at].name.as_str()).collect();
                assert_eq!(json!(names), expected["order"], "{}", case["id"]);
            }
            Err(error) => assert_eq!(error.to_string(), text(&expected["error"]), "{}", case["id"]),
        }
    }
}

#[test]
fn chains_of_replacements_end_as_recorded() {
    for case in cases("replacementChainEndsInFailure") {
        let replacements: BTreeMap<&str, &Value> = case["csvToReplacement"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, csv)| (name.as_str(), csv))
            .collect();
        let (ends, error) = match ends_in_failure(&case["csv"], &replacements) {
            Ok(ends) => (ends, String::new()),
            Err(error) => (false, error.to_string()),
        };
        assert_eq!(json!(ends), case["endsInFailure"], "{}", case["id"]);
        assert_eq!(error, text(&case["error"]), "{}", case["id"]);
    }
}

/// A recorded question, read.
struct Question {
    namespace: String,
    catalogs: Vec<Catalog>,
    existing: Existing,
    subscriptions: Vec<Subscription>,
    forbidden: BTreeMap<String, String>,
}

impl Question {
    fn new(case: &Value) -> Self {
        let namespace = match &case["namespaces"] {
            Value::Array(namespaces) => text(&namespaces[0]),
            _ => text(&case["namespace"]),
        };
        let subscriptions: Vec<Subscription> = rows(&case["subscriptions"])
            .iter()
            .map(Subscription::from_object)
            .collect();
        let mut question = Self {
            namespace,
            catalogs: Vec::new(),
            existing: Existing::default(),
            subscriptions,
            forbidden: BTreeMap::new(),
        };
        for catalog in rows(&case["catalogs"]) {
            let recorded = rows(&catalog["entries"]);
            let entries: Vec<Arc<Entry>> = recorded
                .iter()
                .map(|recorded| Arc::new(entry(recorded)))
                .collect();
            for (entry, recorded) in entries.iter().zip(recorded) {
                for rule in rows(&recorded["systemConstraints"]) {
                    assert_eq!(rule["type"], "prohibited");
                    question
                        .forbidden
                        .insert(entry.identifier(), text(&rule["message"]));
                }
            }
            if catalog["virtual"] == true {
                let versions = entries
                    .into_iter()
                    .zip(recorded)
                    .map(|(entry, recorded)| ExistingVersion {
                        entry,
                        subscription: recorded["subscription"].as_str().map(str::to_owned),
                        replaced_by: None,
                    });
                question.existing.versions = versions.collect();
                continue;
            }
            let key = key(catalog);
            question.catalogs.push(Catalog {
                content: match catalog["error"].as_str() {
                    Some(error) => Err(error.to_owned()),
                    None => Ok(Arc::new(Snapshot::new(entries))),
                },
                priority: catalog["priority"].as_i64().unwrap_or_default() as i32,
                key,
            });
        }
        // The installed operators are recorded as upstream made them; where the objects are there too, ours are made.
        if let Some(csvs) = case["existingCSVs"].as_array() {
            let strategy = UpgradeStrategy::of_group(&case["operatorGroups"][0]);
            let csvs: Vec<&Value> = csvs.iter().collect();
            let read = Existing::read(&question.namespace, &csvs, &question.subscriptions, strategy);
            if read.faults.is_empty() {
                let by_name: BTreeMap<&str, &ExistingVersion> = question
                    .existing
                    .versions
                    .iter()
                    .map(|version| (version.entry.name.as_str(), version))
                    .collect();
                assert_eq!(by_name.len(), read.versions.len(), "{}", case["id"]);
                for version in &read.versions {
                    let recorded = by_name[version.entry.name.as_str()];
                    assert_eq!(version.subscription, recorded.subscription, "{}", case["id"]);
                    assert_eq!(
                        properties(&version.entry),
                        properties(&recorded.entry),
                        "{}",
                        case["id"]
                    );
                    assert_eq!(version.entry.package, recorded.entry.package, "{}", case["id"]);
                    assert_eq!(version.entry.version, recorded.entry.version, "{}", case["id"]);
                    assert_eq!(version.entry.catalog, recorded.entry.catalog, "{}", case["id"]);
                }
            }
            question.existing = read;
        }
        question
    }

    fn resolve(&self, isolation: Isolation) -> Resolution {
        let forbid = |entry: &Entry| self.forbidden.get(&entry.identifier()).cloned();
        resolve(&Request {
            namespace: &self.namespace,
            catalogs: &self.catalogs,
            existing: &self.existing,
            subscriptions: &self.subscriptions,
            isolation,
            forbid: Some(&forbid),
        })
    }
}

/// Returns what is recorded of an answer: the chosen bundles, in any order.
fn selected(resolution: &Resolution) -> BTreeSet<String> {
    let one = |install: &resolve::classic::Install| {
        let entry = &install.entry;
        let mut recorded = json!({
            "name": entry.name, "package": entry.package, "channel": entry.channel,
            "catalog": {"name": entry.catalog.name, "namespace": entry.catalog.namespace},
        });
        if !install.replaces.is_empty() {
            recorded["replaces"] = json!(install.replaces);
        }
        if let Some(starting) = &install.starting_csv {
            recorded["startingCSV"] = json!(starting);
        }
        recorded.to_string()
    };
    resolution.installs.iter().map(one).collect()
}

fn recorded_selection(expected: &Value) -> BTreeSet<String> {
    rows(&expected["selected"])
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// Returns every text that upstream failed with.
fn variants(expected: &Value) -> BTreeSet<String> {
    let texts = rows(&expected["errorVariants"])
        .iter()
        .chain([&expected["error"]])
        .map(text);
    texts.filter(|text| !text.is_empty()).collect()
}

fn check(kind: &str, isolation: Isolation) {
    let mut wrong = Vec::new();
    for case in cases(kind) {
        let expected = &case["expected"];
        let resolution = Question::new(&case).resolve(isolation);
        let failures: Vec<String> = resolution.failures.iter().map(ToString::to_string).collect();
        let variants = variants(expected);
        let as_recorded = match failures.as_slice() {
            [] => variants.is_empty(),
            [failure] => variants.contains(failure),
            _ => false,
        };
        if !as_recorded {
            wrong.push(format!("{}: {failures:?}\n  instead of {variants:?}", case["id"]));
        } else if variants.is_empty() && selected(&resolution) != recorded_selection(expected) {
            wrong.push(format!(
                "{}: {:?}\n  instead of {:?}",
                case["id"],
                selected(&resolution),
                recorded_selection(expected)
            ));
        }
        let again = Question::new(&case).resolve(isolation);
        assert_eq!(selected(&again), selected(&resolution), "{}", case["id"]);
        assert_eq!(again.failures, resolution.failures, "{}", case["id"]);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn namespaces_are_resolved_as_recorded() {
    check("resolve", Isolation::Namespace);
}

#[test]
fn namespaces_that_lead_to_steps_are_resolved_as_recorded() {
    check("steps", Isolation::Namespace);
}

/// Recorded failures that have another outcome where a failure stops only those whom it is about, and why.
const DIFFERENT_APART: [(&str, &str); 2] = [
    (
        "resolve:TestSolveOperators_OLMConstraint_Unknown",
        "a bundle that can't be read is left out, and the rest of its channel counts",
    ),
    (
        "steps:TestResolver/FailForwardEnabled/3EntryReplacementChain/ReplacementChainBroken/NotSatisfiable",
        "a broken chain isn't gone along, and stops nobody else",
    ),
];

#[test]
fn a_namespace_is_resolved_as_recorded_when_failures_are_kept_apart() {
    for kind in ["resolve", "steps"] {
        let mut wrong = Vec::new();
        for case in cases(kind) {
            let expected = &case["expected"];
            let resolution = Question::new(&case).resolve(Isolation::Subscription);
            let failures: Vec<String> = resolution.failures.iter().map(ToString::to_string).collect();
            let variants: BTreeSet<String> = variants(expected);
            let is_different = DIFFERENT_APART.iter().any(|(id, _)| case["id"] == *id);
            let as_recorded = if variants.is_empty() {
                failures.is_empty() && selected(&resolution) == recorded_selection(expected)
            } else {
                !failures.is_empty()
                    && failures
                        .iter()
                        .all(|failure| variants.contains(failure) != is_different)
                    && resolution.installs.is_empty()
            };
            if !as_recorded {
                wrong.push(format!(
                    "{}: {:?} {failures:?}",
                    case["id"],
                    selected(&resolution)
                ));
            }
            for failure in &resolution.failures {
                let explanation = &failure.explanation;
                assert_eq!(
                    explanation.wants.len(),
                    failure.subscriptions.len(),
                    "{}",
                    case["id"]
                );
                println!("{}\n{failure}\n{explanation}\n", case["id"]);
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
