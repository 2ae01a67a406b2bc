//! The steps of bundles, as the real resolver makes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use classic::World;
use install_plan::definition_upgrade::DefinitionUpgrade;
use install_plan::permissions;
use install_plan::selection::{Content, Location, Selected};
use install_plan::steps;
use install_plan::subscription::Subscription;
use resolve::classic::entry::CatalogKey;
use resolve::classic::property::Property;
use serde_json::{Value, json};

fn cases(kind: &str) -> Option<Vec<Value>> {
    let folder = corpus::open("olmv0")?.join("olmv0-corpus");
    let text = std::fs::read_to_string(folder.join("resolver/cases.json")).expect("the cases");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let cases = all["cases"].as_array().expect("a list").iter();
    Some(cases.filter(|case| case["kind"] == kind).cloned().collect())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn key(value: &Value) -> CatalogKey {
    CatalogKey::new(text(&value["namespace"]), text(&value["name"]))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Finds what the case says was selected among its catalogs.
fn selected(case: &Value) -> Vec<Selected> {
    let entries = || {
        list(&case["catalogs"])
            .iter()
            .flat_map(|catalog| list(&catalog["entries"]))
    };
    let find = |wanted: &Value| {
        let is_same = |entry: &&Value| {
            ["catalog", "channel", "name", "package"]
                .iter()
                .all(|field| entry[*field] == wanted[*field])
        };
        let entry = entries().find(is_same).expect("the selected entry");
        let property = |property: &Value| {
            let value = match &property["value"] {
                Value::String(value) => value.clone(),
                other => other.to_string(),
            };
            Property::new(text(&property["type"]), value)
        };
        let inline = &entry["inline"];
        let (properties, location) = if inline.is_null() {
            (&entry["properties"], Location::Image(text(&entry["bundlePath"])))
        } else {
            let content = Content {
                service_version: inline["csv"].clone(),
                objects: list(&inline["objects"]).to_vec(),
                properties: Vec::new(),
            };
            (
                &inline["bundle"]["properties"],
                Location::Inline(Arc::new(content)),
            )
        };
        Selected {
            name: text(&entry["name"]),
            package: text(&entry["package"]),
            channel: text(&entry["channel"]),
            source: key(&entry["catalog"]),
            replaces: text(&wanted["replaces"]),
            properties: list(properties).iter().map(property).collect(),
            location,
        }
    };
    list(&case["expected"]["selected"]).iter().map(find).collect()
}

fn as_object(kind: &str, object: &Value) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = json!("operators.coreos.com/v1alpha1");
    object["kind"] = json!(kind);
    object
}

fn sorted(mut values: Vec<Value>) -> Vec<Value> {
    values.sort_by_key(ToString::to_string);
    values
}

#[test]
fn steps_and_lookups_are_upstreams() {
    let Some(cases) = cases("steps") else { return };
    assert_eq!(cases.len(), 41);
    let mut unresolved = 0;
    for case in &cases {
        let id = text(&case["id"]);
        let expected = &case["expected"];
        if expected.get("error").is_some() {
            // The resolver's own cases: there is nothing to make steps of.
            unresolved += 1;
            continue;
        }
        let namespace = text(&case["namespace"]);
        let mut world = World::default();
        for version in list(&case["existingCSVs"]) {
            world.put(as_object("ClusterServiceVersion", version));
        }
        let subscriptions: Vec<Value> = list(&case["subscriptions"])
            .iter()
            .map(|subscription| as_object("Subscription", subscription))
            .collect();
        let views: Vec<Subscription<'_>> = subscriptions.iter().map(Subscription).collect();
        let planned = steps::of_resolution(&world, &namespace, &views, &selected(case))
            .unwrap_or_else(|error| panic!("{id}: {error}"));

        let flat = |step: &steps::Step| {
            json!({
                "resolving": step.resolving,
                "group": step.group,
                "version": step.version,
                "kind": step.kind,
                "name": step.name,
                "sourceName": step.source.name,
                "sourceNamespace": step.source.namespace,
                "status": step.to_value()["status"],
                "manifest": serde_json::from_str::<Value>(&step.manifest).expect("JSON"),
            })
        };
        let ours = sorted(planned.steps.iter().map(flat).collect());
        let theirs = sorted(list(&expected["steps"]).to_vec());
        assert_eq!(ours, theirs, "{id}");
        let weights: Vec<u8> = planned
            .steps
            .iter()
            .map(|step| match step.kind.as_str() {
                "ClusterServiceVersion" => 0,
                "CustomResourceDefinition" => 1,
                _ => 2,
            })
            .collect();
        assert!(weights.is_sorted(), "{id}: {weights:?}");

        let lookups = planned
            .lookups
            .iter()
            .map(install_plan::bundle_lookup::BundleLookup::not_started)
            .collect();
        assert_eq!(
            sorted(lookups),
            sorted(list(&expected["lookups"]).to_vec()),
            "{id}"
        );
        let ours: BTreeMap<String, String> = planned
            .changes
            .iter()
            .map(|change| (change.subscription.clone(), change.service_version.clone()))
            .collect();
        let theirs: BTreeMap<String, String> = list(&expected["updatedSubscriptions"])
            .iter()
            .map(|subscription| {
                (
                    text(&subscription["metadata"]["name"]),
                    text(&subscription["status"]["currentCSV"]),
                )
            })
            .collect();
        assert_eq!(ours, theirs, "{id}");
    }
    assert_eq!(unresolved, 11);
}

#[test]
fn generated_names_are_upstreams() {
    let Some(cases) = cases("generateName") else {
        return;
    };
    assert_eq!(cases.len(), 2);
    for case in &cases {
        let hash = classic::hashes::hash_of_line(&case["object"].to_string());
        let name = bundle::rendering::names::base_and_suffix(&text(&case["base"]), &hash);
        assert_eq!(name, text(&case["expected"]), "{}", case["id"]);
    }
}

#[test]
fn permissions_of_service_accounts_are_upstreams() {
    let Some(cases) = cases("rbacForCSV") else { return };
    assert_eq!(cases.len(), 2);
    for case in &cases {
        let ours: BTreeMap<String, Value> = permissions::of_service_version(&case["csv"])
            .into_iter()
            .map(|(account, permitted)| {
                let all = json!({
                    "ServiceAccount": permitted.account,
                    "Roles": permitted.roles,
                    "RoleBindings": permitted.role_bindings,
                    "ClusterRoles": permitted.cluster_roles,
                    "ClusterRoleBindings": permitted.cluster_role_bindings,
                });
                (account, all)
            })
            .collect();
        assert_eq!(json!(ours), case["expected"], "{}", case["id"]);
    }
}

/// The definition of ClusterServiceVersions, as the API server holds versions against it.
fn service_versions() -> DefinitionUpgrade {
    let definition = api::definitions::OLM_V0
        .iter()
        .find(|definition| definition.name.starts_with("clusterserviceversions."))
        .expect("the definition");
    let definition = goyaml::to_value(definition.yaml.as_bytes()).expect("YAML");
    DefinitionUpgrade::new(&definition, &definition).expect("a schema")
}

#[test]
fn what_a_bundle_leaves_out_is_written_as_go_writes_it() {
    // As bundles of OperatorHub have it: a resource without a name, and more that the API server asks for.
    let version = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": {"name": "a.v1"},
        "spec": {
            "icon": [{"mediatype": "image/png"}],
            "install": {"strategy": "deployment", "spec": {"deployments": [{"spec": {
                "selector": {"matchLabels": {"a": "b"}}, "template": {"spec": {"containers": [{"name": "a"}]}},
            }}]}},
            "customresourcedefinitions": {"owned": [{
                "name": "as.example.com", "kind": "A", "version": "v1",
                "resources": [{"kind": "Deployment", "version": "v1"}], "specDescriptors": [{"displayName": "Size"}],
            }]},
            "apiservicedefinitions": {"required": [{"name": "b", "resources": [{"kind": "Pod"}]}]},
        },
    });
    let definition = service_versions();
    assert!(definition.check("v1alpha1", &version).is_err());
    let installed = steps::as_installed(&version, &[], "ns", "").expect("a version");
    let owned = &installed["spec"]["customresourcedefinitions"]["owned"][0];
    assert_eq!(
        owned["resources"],
        json!([{"name": "", "kind": "Deployment", "version": "v1"}])
    );
    assert_eq!(
        owned["specDescriptors"],
        json!([{"path": "", "displayName": "Size"}])
    );
    assert_eq!(definition.check("v1alpha1", &installed), Ok(()));
}

#[test]
fn versions_of_public_bundles_are_ones_that_the_api_server_takes() {
    let Some(corpus) = corpus::open("catalog") else {
        return;
    };
    let definition = service_versions();
    let (mut checked, mut refused) = (0, Vec::new());
    let folders = |path: &std::path::Path| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut folders: Vec<_> = entries.map(|entry| entry.path()).collect();
        folders.sort();
        folders
    };
    let packages = folders(&corpus.join("catalog-corpus/bundles"));
    for bundle in packages.iter().flat_map(|package| folders(package)) {
        let manifests = folders(&bundle.join("manifests"));
        let mut objects = manifests.iter().filter_map(|path| {
            let text = std::fs::read(path).ok()?;
            goyaml::to_value(&text).ok()
        });
        let Some(version) = objects.find(|object| object["kind"] == "ClusterServiceVersion") else {
            continue;
        };
        let Ok(installed) = steps::as_installed(&version, &[], "ns", "") else {
            continue;
        };
        checked += 1;
        if let Err(error) = definition.check("v1alpha1", &installed) {
            refused.push(error.to_string());
        }
    }
    assert!(checked > 150, "only {checked} versions were found");
    assert_eq!(refused, [""; 0]);
}
