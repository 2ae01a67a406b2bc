//! New definitions against resources that exist, with the texts of the real thing.

use std::path::Path;
use std::time::Duration;

use apply::object::ObjectId;
use classic::{World, Write};
use install_plan::definition_upgrade::{DefinitionUpgrade, Verdict, check_stored_versions};
use install_plan::plan::{self, Next, Outcome, Progress};
use install_plan::settings::Settings;
use serde_json::{Value, json};

fn documents(path: &Path) -> Vec<Value> {
    let bytes = std::fs::read(path).expect("a file");
    let read = |document: goyaml::Document<'_>| document.to_value(goyaml::ReadOptions::default());
    goyaml::documents(&bytes)
        .map(|document| document.and_then(read).expect("YAML"))
        .filter(|document| !document.is_null())
        .collect()
}

/// Cases that differ, with the reason.
const DIFFERENT: [(&str, &str); 0] = [];

#[test]
fn resources_are_judged_as_upstream_judges_them() {
    let Some(corpus) = corpus::open("olmv0") else {
        return;
    };
    let folder = corpus.join("olmv0-corpus/crd-compat");
    let text = std::fs::read_to_string(folder.join("cases.json")).expect("the cases");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let cases = all["cases"].as_array().expect("a list");
    assert_eq!(cases.len(), 12);
    for case in cases {
        let id = case["id"].as_str().expect("an id");
        let folder = folder.join(case["dir"].as_str().expect("a folder"));
        let one = |name: &str| documents(&folder.join(name)).remove(0);
        let upgrade = DefinitionUpgrade::new(&one("old.yaml"), &one("new.yaml")).expect("a schema");
        let resources = documents(&folder.join("crs.yaml"));
        let said = upgrade.versions().find_map(|version| {
            let in_version = |resource: &&Value| {
                resource["apiVersion"].as_str() == Some(&format!("{}/{version}", upgrade.group))
            };
            let mut resources = resources.iter().filter(in_version);
            resources.find_map(|resource| upgrade.check(version, resource).err())
        });
        let said = said.map(|error| error.to_string());
        if let Some((_, reason)) = DIFFERENT.iter().find(|(different, _)| *different == id) {
            assert_ne!(said.as_deref(), case["error"].as_str(), "{id}: {reason}");
            continue;
        }
        assert_eq!(said.as_deref(), case["error"].as_str(), "{id}");
    }
}

#[test]
fn a_version_that_resources_are_stored_in_stays() {
    let Some(corpus) = corpus::open("olmv0") else {
        return;
    };
    let path = corpus.join("olmv0-corpus/crd-compat/stored-versions.json");
    let text = std::fs::read_to_string(path).expect("the cases");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let cases = all["cases"].as_array().expect("a list");
    assert!(!cases.is_empty());
    for case in cases {
        let said = check_stored_versions(&case["old"], &case["new"]).err();
        let said = said.map(|error| error.to_string());
        assert_eq!(said.as_deref(), case["error"].as_str(), "{}", case["id"]);
        assert_eq!(said.is_none(), case["safe"] == true, "{}", case["id"]);
    }
}

/// A definition whose resources need some fields.
fn definition(required: &[&str]) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "as.g"},
        "spec": {
            "group": "g", "scope": "Namespaced", "names": {"plural": "as", "kind": "A"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "required": required, "properties": {"mode": {"type": "string"}},
            }}}],
        },
    })
}

/// A namespace with a plan that makes a definition.
fn world_with_plan(definition: &Value) -> World {
    let mut world = World::default();
    world.put(json!({
        "kind": "OperatorGroup", "metadata": {"name": "og", "namespace": "n"}, "status": {"namespaces": ["n"]},
    }));
    world.put(json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "InstallPlan",
        "metadata": {"name": "p", "namespace": "n"},
        "status": {"phase": "Installing", "startTime": "2026-01-01T00:00:00Z", "plan": [{
            "resolving": "a.v1", "status": "Unknown",
            "resource": {
                "group": "apiextensions.k8s.io", "version": "v1", "kind": "CustomResourceDefinition", "name": "as.g",
                "manifest": definition.to_string(),
            },
        }]},
    }));
    world
}

fn next(world: &World, progress: &Progress, now: &str) -> Next {
    let now = now.parse().expect("a time");
    plan::decide(world, "n", "p", progress, &(), &Settings::default(), now)
}

#[test]
fn a_definition_that_was_made_a_moment_ago_is_checked_as_any_other() {
    let mut world = world_with_plan(&definition(&["mode"]));
    let mut progress = Progress::default();
    let start = "2026-01-01T00:00:00Z";
    let Next::Write(action) = next(&world, &progress, start) else {
        panic!("nobody has heard of it");
    };
    assert!(matches!(action.write, Write::Create { .. }));
    // The server has it, and it is read.
    let there = definition(&[]);
    progress.looked(ObjectId::of(&there));
    world.put(there);
    progress.record(action.step, Outcome::Exists, Vec::new());
    let Next::Check(upgrade) = next(&world, &progress, start) else {
        panic!("what is stored isn't looked at");
    };
    progress.checked(
        &upgrade.name,
        Verdict::TooRestrictive("too restrictive".to_owned()),
    );
    let Next::Rest(decision) = next(&world, &progress, start) else {
        panic!("it goes on");
    };
    let [Write::UpdateStatus(plan)] = decision.writes.as_slice() else {
        panic!("one write: {decision:?}");
    };
    assert_eq!(
        plan["status"]["message"],
        "retrying execution due to error: error validating existing CRs against new CRD's schema for \"as.g\": too \
         restrictive"
    );
}

#[test]
fn only_a_definition_that_was_never_established_has_no_resources_for_sure() {
    let with = |status: &str| {
        let mut definition = definition(&[]);
        definition["status"] = json!({"conditions": [{"type": "Established", "status": status}]});
        definition
    };
    for (definition, expected) in [
        (None, Verdict::Fits),
        (Some(definition(&[])), Verdict::Fits),
        (Some(with("False")), Verdict::Fits),
        (Some(with("True")), Verdict::Unserved("v1".to_owned())),
    ] {
        assert_eq!(
            Verdict::of_unknown_path("v1", definition.as_ref()),
            expected,
            "{definition:?}"
        );
    }
}

#[test]
fn what_is_not_served_yet_is_waited_for_ever_longer_and_then_told() {
    let mut world = world_with_plan(&definition(&["mode"]));
    world.put(definition(&[]));
    let mut progress = Progress::default();
    progress.checked("as.g", Verdict::Unserved("v1".to_owned()));
    for (now, pause) in [
        ("2026-01-01T00:00:00Z", Duration::from_millis(100)),
        ("2026-01-01T00:00:01Z", Duration::from_millis(500)),
        ("2026-01-01T00:00:08Z", Duration::from_secs(4)),
    ] {
        let Next::Rest(decision) = next(&world, &progress, now) else {
            panic!("it goes on");
        };
        assert!(decision.writes.is_empty(), "{now}: {decision:?}");
        assert_eq!(decision.look_again_after, Some(pause), "{now}");
    }
    let Next::Rest(decision) = next(&world, &progress, "2026-01-01T00:00:10Z") else {
        panic!("it goes on");
    };
    assert_eq!(decision.look_again_after, Some(Duration::from_secs(5)));
    let [Write::UpdateStatus(plan)] = decision.writes.as_slice() else {
        panic!("one write: {decision:?}");
    };
    assert_eq!(
        plan["status"]["message"],
        "retrying execution due to error: error validating existing CRs against new CRD's schema for \"as.g\": the server \
         doesn't serve v1 yet, so nobody can read them"
    );
}
