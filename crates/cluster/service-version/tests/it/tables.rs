//! Replays the recorded tables: install modes, overrides, requirements, and how groups meet.

use apply::object::text;
use classic::World;
use serde_json::{Value, json};
use service_version::api_roles::aggregation_rule;
use service_version::install_modes::InstallModes;
use service_version::provided_apis::{Apis, Namespaces, Surface, Verdict, judge};
use service_version::{ServiceVersion, overrides, requirements};

use crate::support::{cases, pruned, texts};

/// The version that upstream's fake server says it has.
const FAKE_SERVER: &str = "v0.0.0-master+$Format:%H$";

#[test]
fn install_modes_are_supported_as_upstream_says() {
    let Some(cases) = cases("install-modes/cases.json") else {
        return;
    };
    assert_eq!(cases.len(), 176);
    for case in &cases {
        let supported = texts(&case["supported"]);
        let modes = InstallModes::of(supported.iter().map(String::as_str));
        let targets = texts(&case["targets"]);
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        let answer = modes.support(text(case, "/operatorNamespace"), &targets);
        let error = answer.err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), case["error"].as_str(), "{case}");
    }
}

#[test]
fn overrides_change_deployments_as_upstream_changes_them() {
    let Some(cases) = cases("overrides/cases.json") else {
        return;
    };
    assert_eq!(cases.len(), 45);
    for case in &cases {
        if case["target"].is_null() {
            // Upstream's functions can be called without a pod; here there is always one.
            assert!(
                case["error"]
                    .as_str()
                    .is_some_and(|error| error.starts_with("no ")),
                "{case}"
            );
            continue;
        }
        let mut target = case["target"].clone();
        let list = case["override"].as_array().cloned().unwrap_or_default();
        let given = Some(&case["override"]);
        let pod = target.as_object_mut().expect("a pod");
        match text(case, "/function") {
            "InjectVolumeMountsIntoDeployment" => overrides::set_volume_mounts(pod, &list),
            "InjectVolumesIntoDeployment" => overrides::set_volumes(pod, &list),
            "InjectEnvIntoDeployment" => overrides::set_environment(pod, &list),
            "InjectEnvFromIntoDeployment" => overrides::add_environment_sources(pod, &list),
            "InjectTolerationsIntoDeployment" => overrides::add_tolerations(pod, &list),
            "InjectResourcesIntoDeployment" => overrides::set_resources(pod, given),
            "InjectNodeSelectorIntoDeployment" => overrides::set_node_selector(pod, given),
            "OverrideDeploymentAffinity" => overrides::override_affinity(pod, given),
            "InjectAnnotationsIntoDeployment" => overrides::add_annotations(&mut target, given),
            other => panic!("no such function: {other}"),
        }
        assert_eq!(pruned(&target), pruned(&case["result"]), "{}", case["id"]);
    }
}

#[test]
fn an_empty_pod_anti_affinity_takes_only_itself_away() {
    let mut pod = json!({"affinity": {"nodeAffinity": {"a": 1}, "podAntiAffinity": {"b": 1}}});
    overrides::override_affinity(
        pod.as_object_mut().expect("a pod"),
        Some(&json!({"podAntiAffinity": {}})),
    );
    assert_eq!(pod, json!({"affinity": {"nodeAffinity": {"a": 1}}}));
}

#[test]
fn requirements_are_told_as_upstream_tells_them() {
    let Some(cases) = cases("requirements/cases.json") else {
        return;
    };
    assert_eq!(cases.len(), 23);
    for case in &cases {
        match text(case, "/kind") {
            "requirements" => check_requirements(case),
            "minKubeVersion" => {
                let told = requirements::minimum_version(
                    text(case, "/csv"),
                    text(case, "/minKubeVersion"),
                    FAKE_SERVER,
                );
                assert_eq!(json!(told.are_met), case["expected"]["met"], "{case}");
                let expected = case["expected"]["statuses"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                assert_eq!(told.statuses, expected, "{case}");
            }
            "installedAlongside" => check_alongside(case),
            other => panic!("no such kind: {other}"),
        }
    }
}

fn check_requirements(case: &Value) {
    let mut world = World::default();
    FAKE_SERVER.clone_into(&mut world.server_version);
    for object in case["objects"].as_array().expect("objects") {
        world.put(object.clone());
    }
    let version = ServiceVersion::find(&world, "ns", text(case, "/csv")).expect("a version");
    let told = requirements::check(&world, version);
    let expected = &case["expected"];
    match told {
        Err(error) => assert_eq!(
            Some(error.to_string().as_str()),
            expected["error"].as_str(),
            "{case}"
        ),
        Ok(told) => {
            assert_eq!(expected["error"], Value::Null, "{case}");
            assert_eq!(json!(told.are_met), expected["met"], "{}", case["id"]);
            assert_eq!(json!(told.statuses), expected["statuses"], "{}", case["id"]);
        }
    }
}

fn check_alongside(case: &Value) {
    let mut world = World::default();
    let mut annotations = serde_json::Map::new();
    for (number, named) in case["alongside"].as_array().into_iter().flatten().enumerate() {
        let value = format!("{}/{}", text(named, "/Namespace"), text(named, "/Name"));
        annotations.insert(
            format!("operatorframework.io/installed-alongside-{number}"),
            Value::from(value),
        );
    }
    let namespace = text(&case["target"], "/metadata/namespace");
    for version in case["inNamespace"].as_array().into_iter().flatten() {
        let mut version = version.clone();
        version["kind"] = Value::from("ClusterServiceVersion");
        version["metadata"]["namespace"] = Value::from(namespace);
        world.put(version);
    }
    let definition = json!({"metadata": {"annotations": annotations}});
    let found = requirements::installed_alongside(&world, &definition, ServiceVersion::of(&case["target"]));
    assert_eq!(found, texts(&case["expected"]), "{}", case["id"]);
}

fn surface(value: &Value) -> Surface {
    let name = text(value, "/id").split('/').next().unwrap_or_default();
    Surface {
        namespace: text(value, "/namespace").to_owned(),
        name: name.to_owned(),
        targets: Namespaces(texts(&value["targets"]).into_iter().collect()),
        provided: Apis::read(&texts(&value["providedAPIs"]).join(",")),
    }
}

fn surfaces(value: &Value) -> Vec<Surface> {
    value.as_array().into_iter().flatten().map(surface).collect()
}

#[test]
fn groups_meet_as_upstream_lets_them_meet() {
    let Some(cases) = cases("operatorgroups/groups.json") else {
        return;
    };
    assert_eq!(cases.len(), 47);
    for case in &cases {
        let id = &case["id"];
        match text(case, "/kind") {
            "newOperatorGroup" => assert_eq!(Surface::of(&case["in"]), surface(&case["expected"]), "{id}"),
            "groupIntersection" => {
                let right = surfaces(&case["right"]);
                let met: Vec<Surface> = surface(&case["left"])
                    .meeting(&right)
                    .into_iter()
                    .cloned()
                    .collect();
                assert_eq!(met, surfaces(&case["expected"]), "{id}");
            }
            "reconcileAPIIntersection" => {
                let added = Apis::read(&texts(&case["add"]).join(","));
                let verdict = judge(&added, &surface(&case["group"]), &surfaces(&case["others"]));
                let verdict = match verdict {
                    Verdict::Add => "AddAPIs",
                    Verdict::Remove => "RemoveAPIs",
                    Verdict::Conflict => "APIConflict",
                    Verdict::Fine => "NoAPIConflict",
                };
                assert_eq!(verdict, text(case, "/expected"), "{id}");
            }
            "clusterRoleAggregationRule" => {
                let apis = Apis::read(&texts(&case["apis"]).join(","));
                let rule = aggregation_rule(&apis, text(case, "/suffix"));
                assert_eq!(rule.unwrap_or_default(), case["expected"], "{id}");
            }
            other => panic!("no such kind: {other}"),
        }
    }
}
