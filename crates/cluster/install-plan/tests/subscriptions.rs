//! The loop over a namespace, row by row as the real one was recorded.

use std::collections::BTreeMap;

use classic::{Kind, World, Write};
use install_plan::bundle_lookup::{BundleLookup, Unpacked};
use install_plan::namespace::{self, Answer, Conclusion, Failure};
use install_plan::settings::Settings;
use install_plan::steps::{Planned, Step, SubscriptionChange};
use jiff::Timestamp;
use resolve::classic::entry::CatalogKey;
use serde_json::{Value, json};

const NAMESPACE: &str = "testNamespace";

/// Rows that have no counterpart, with the reason.
const LEFT_OUT: [(&str, &str); 2] = [
    (
        "TestSyncSubscriptions/BadObject",
        "objects of another kind can't reach the rules",
    ),
    (
        "TestSyncSubscriptions/NoStatus/NoCurrentCSV/BundleLookupError",
        "whoever pulls images tells how far it came or that it failed, and has no errors beside that",
    ),
];

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

/// Puts what exists into a World; upstream's fixtures leave out kinds and the OperatorGroup.
fn world(case: &Value) -> World {
    let mut world = World::default();
    for object in list(&case["existing"]) {
        let mut object = object.clone();
        if object["kind"].is_null() {
            let is_plan = object["spec"].get("clusterServiceVersionNames").is_some();
            object["kind"] = json!(if is_plan {
                "InstallPlan"
            } else {
                "ClusterServiceVersion"
            });
        }
        world.put(object);
    }
    world.put(json!({
        "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
        "metadata": {"name": "og", "namespace": NAMESPACE},
    }));
    world
}

fn apply(world: &mut World, writes: Vec<Write>) {
    for write in writes {
        let Write::UpdateStatus(object) = write else {
            panic!("only statuses are written: {write:?}");
        };
        world.put(object);
    }
}

/// What remains of a status when times are hidden and upstream's fixtures' emptiness is filled.
fn comparable(status: &Value) -> Value {
    let mut status = status.clone();
    if status["lastUpdated"].is_string() {
        status["lastUpdated"] = json!("<time>");
    }
    for step in status["plan"].as_array_mut().into_iter().flatten() {
        if step["status"] == "" {
            // The fake resolver leaves it empty; the real one doesn't.
            step["status"] = json!("Unknown");
        }
    }
    if status["plan"].is_null() {
        status.as_object_mut().expect("a status").remove("plan");
    }
    status
}

fn planned(case: &Value) -> Planned {
    let step = |step: &Value| {
        let resource = &step["resource"];
        Step {
            resolving: text(&step["resolving"]),
            group: text(&resource["group"]),
            version: text(&resource["version"]),
            kind: text(&resource["kind"]),
            name: text(&resource["name"]),
            source: CatalogKey::new(text(&resource["sourceNamespace"]), text(&resource["sourceName"])),
            manifest: text(&resource["manifest"]),
        }
    };
    let lookup = |lookup: &Value| BundleLookup {
        path: text(&lookup["path"]),
        identifier: text(&lookup["identifier"]),
        replaces: text(&lookup["replaces"]),
        source: CatalogKey::new(NAMESPACE, "src"),
        properties: String::new(),
    };
    let change = |subscription: &Value| SubscriptionChange {
        subscription: text(&subscription["metadata"]["name"]),
        service_version: text(&subscription["status"]["currentCSV"]),
    };
    Planned {
        steps: list(&case["resolveSteps"]).iter().map(step).collect(),
        lookups: list(&case["resolveLookups"]).iter().map(lookup).collect(),
        changes: list(&case["resolvedSubscriptions"]).iter().map(change).collect(),
    }
}

fn unpacked(case: &Value) -> BTreeMap<String, Unpacked> {
    let lookups = list(&case["resolveLookups"]).iter();
    lookups
        .map(|lookup| {
            let condition = &lookup["conditions"][0];
            let state = match text(&condition["type"]).as_str() {
                "BundleLookupFailed" => Unpacked::Failed {
                    reason: text(&condition["reason"]),
                    message: text(&condition["message"]),
                    at: now(),
                },
                _ => Unpacked::Pending {
                    message: String::new(),
                    since: now(),
                },
            };
            (text(&lookup["path"]), state)
        })
        .collect()
}

fn compare_subscriptions(case: &Value, world: &World) {
    let id = &case["id"];
    for wanted in list(&case["wantSubscriptions"]) {
        let name = text(&wanted["metadata"]["name"]);
        let ours = world
            .get(Kind::Subscription, NAMESPACE, &name)
            .expect("a Subscription");
        let mut ours = comparable(&ours["status"]);
        // The table of the unit test leaves this text out.
        if id == "TestSyncSubscriptions/NoStatus/NoCurrentCSV/BundleUnpackFailed" {
            let condition = ours["conditions"][0].as_object_mut().expect("a condition");
            let message = text(&condition.remove("message").expect("a message"));
            assert!(
                message.starts_with("Bundle unpacking failed - JobFailed: unpack job failed."),
                "{message}"
            );
        }
        assert_eq!(ours, comparable(&wanted["status"]), "{id}");
    }
}

#[test]
fn a_namespace_is_resolved_as_upstream_resolves_it() {
    let Some(corpus) = corpus::open("olmv0") else {
        return;
    };
    let path = corpus.join("olmv0-corpus/subscriptions/cases.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("the cases")).expect("JSON");
    let cases = list(&all["cases"]);
    assert_eq!(cases.len(), 14);
    let settings = Settings {
        failures_stay_apart: false,
        ..Settings::default()
    };
    for case in cases {
        let id = text(&case["id"]);
        if LEFT_OUT.iter().any(|(left_out, _)| *left_out == id) {
            continue;
        }
        let mut world = world(case);
        let survey = namespace::survey(&world, NAMESPACE, &settings, now());
        assert_eq!(survey.decision.writes, [], "{id}");
        let question = survey
            .question
            .unwrap_or_else(|| panic!("{id}: nothing is resolved"));
        assert_eq!(question.subscriptions.len(), 1, "{id}");
        let failures = match case["resolveError"].as_str() {
            Some(message) => {
                let failure = Failure {
                    message: message.to_owned(),
                    explanation: String::new(),
                    is_unsatisfiable: message.starts_with("constraints not satisfiable"),
                };
                Answer::failed(["sub"], &failure).failures
            }
            None => BTreeMap::new(),
        };
        let conclusion = namespace::conclude_planned(
            &world,
            NAMESPACE,
            &planned(case),
            &failures,
            &unpacked(case),
            now(),
        );
        let mut plans: Vec<Value> = world
            .in_namespace(Kind::InstallPlan, NAMESPACE)
            .map(|plan| plan.as_ref().clone())
            .collect();
        match conclusion {
            Conclusion::Settled(decision) | Conclusion::NeedsBundles { decision, .. } => {
                apply(&mut world, decision.writes);
            }
            Conclusion::Plan(plan) if id.ends_with("EnsureInstallPlanFailed") => {
                let refused = namespace::refused(&world, NAMESPACE, "fake install plan create error", now());
                apply(&mut world, refused.writes);
                assert_eq!(plan.generation(), 1);
            }
            Conclusion::Plan(plan) => {
                let mut created = plan.with_status(&plan.object).expect("a status");
                // Upstream's names are made up by the server, and the one of the unit test makes up none.
                created["metadata"]
                    .as_object_mut()
                    .expect("metadata")
                    .remove("name");
                let linked = namespace::linked(&world, NAMESPACE, &plan, &created, now());
                apply(&mut world, linked.writes);
                plans.push(created);
            }
        }
        let wanted = list(&case["wantInstallPlans"]);
        assert_eq!(plans.len(), wanted.len(), "{id}");
        for (ours, wanted) in plans.iter().zip(wanted) {
            assert_eq!(ours["spec"], wanted["spec"], "{id}");
            assert_eq!(comparable(&ours["status"]), comparable(&wanted["status"]), "{id}");
        }
        compare_subscriptions(case, &world);
    }
}
