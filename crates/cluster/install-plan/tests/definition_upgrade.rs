//! New definitions against resources that exist, with the texts of the real thing.

use std::path::Path;

use install_plan::definition_upgrade::{DefinitionUpgrade, check_stored_versions};
use serde_json::Value;

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
