//! `baton deploy` without a cluster: what it prints, and that the chart says the same.

#[expect(dead_code, reason = "the other test programs use the rest of it")]
mod world;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use world::World;

/// What a cluster has beside what every cluster has.
const POLICIES: &str = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy";

fn chart() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../deploy/chart");
    path.display().to_string()
}

fn printed(arguments: &[&str]) -> String {
    let output = World::new().run(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// The objects of a text, by what they are.
fn objects(text: &str) -> BTreeMap<String, Value> {
    let documents = text
        .split("\n---\n")
        .filter(|document| document.contains("kind:"));
    documents
        .map(|document| {
            let object = goyaml::to_value(document.as_bytes()).expect("YAML");
            let part = |pointer: &str| {
                object
                    .pointer(pointer)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            let name = format!(
                "{} {}/{}",
                part("/kind"),
                part("/metadata/namespace"),
                part("/metadata/name")
            );
            (name, object)
        })
        .collect()
}

fn same(chart_flags: &[&str], deploy_flags: &[&str]) {
    let chart = chart();
    let template = [
        &[
            "template",
            "x",
            &chart,
            "--include-crds",
            "--api-versions",
            POLICIES,
        ],
        chart_flags,
    ]
    .concat();
    let rendered = objects(&printed(&template));
    let deployed = objects(&printed(&[&["deploy", "-o", "yaml"], deploy_flags].concat()));
    let names = |objects: &BTreeMap<String, Value>| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&rendered), names(&deployed), "{chart_flags:?}");
    assert!(rendered.len() > 50, "{} objects", rendered.len());
    for (name, object) in &rendered {
        assert_eq!(object, &deployed[name], "{name} with {chart_flags:?}");
    }
}

#[test]
fn the_chart_renders_to_what_is_printed() {
    same(&[], &[]);
    same(
        &[
            "--set",
            "namespace=olm-one,classicNamespace=123,replicas=3,image=registry.test/a/baton:1,tenants=team-a",
            "--set",
            "parts.monitoring=true,parts.clusterAdmin=true,parts.tenantLimits=true",
        ],
        &[
            "--namespace",
            "olm-one",
            "--classic-namespace",
            "123",
            "--replicas",
            "3",
            "--image",
            "registry.test/a/baton:1",
            "--tenants",
            "team-a",
            "--with",
            "monitoring",
            "--with",
            "cluster-admin",
            "--with",
            "tenant-limits",
        ],
    );
}

#[test]
fn parts_can_be_left_out_of_the_chart() {
    let chart = chart();
    let fewer = "parts.classic=false,parts.networkPolicies=false,parts.policies=false,replicas=1";
    let rendered = objects(&printed(&["template", "x", &chart, "--set", fewer]));
    let deployed = objects(&printed(&[
        "deploy",
        "-o",
        "yaml",
        "--replicas",
        "1",
        "--without",
        "classic",
        "--without",
        "network-policies",
        "--without",
        "policies",
        "--without",
        "definitions",
    ]));
    assert_eq!(rendered, deployed);
    assert!(
        !rendered
            .keys()
            .any(|name| name.starts_with("PodDisruptionBudget"))
    );
}

#[test]
fn what_cannot_be_is_refused_with_the_next_step() {
    for (arguments, said) in [
        (
            &["deploy", "-o", "yaml", "--replicas", "0"][..],
            "0 replicas are not possible",
        ),
        (
            &["deploy", "-o", "yaml", "--with", "metrics"],
            "there is no part \"metrics\"; there are namespaces",
        ),
        (
            &[
                "deploy",
                "-o",
                "yaml",
                "--with",
                "monitoring",
                "--without",
                "monitoring",
            ],
            "part monitoring is in --with and in --without",
        ),
        (
            &["deploy", "-o", "yaml", "--namespace", "olm"],
            "can't share namespace \"olm\"",
        ),
        (&["deploy", "--push"], "--image <IMAGE>"),
    ] {
        let output = World::new().run(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && error.contains(said),
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn rights_are_told_with_their_reasons() {
    let page = printed(&["deploy", "--rights"]);
    assert!(
        page.contains(
            "| cluster | `rbac.authorization.k8s.io` | `clusterroles, roles` | **bind, escalate** |"
        ),
        "{page}"
    );
}
