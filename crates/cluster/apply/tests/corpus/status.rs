//! What is said of revisions.

use std::collections::BTreeMap;

use api::{ClusterObjectSet, condition};
use apply::collision::Collision;
use apply::content;
use apply::object::ObjectId;
use apply::probes::ProbeResult;
use apply::revision::conclusion::{Conclusion, Speaker};
use apply::revision::report::{ObjectReport, PhaseReport, Rollout, Standing};
use apply::revision::{Observed, Outcome, Seen, Step, decide};
use apply::validation::PhaseProblem;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use crate::probing::result;
use crate::revisions::{NOW, known, revision, snapshot, time};
use crate::{cases, rows, text, texts};

fn base(cases: &Value, row: &Value) -> ClusterObjectSet {
    let mut value = cases["clusterObjectSet"].clone();
    value["spec"]["collisionProtection"] = json!("Prevent");
    let change = &row["override"];
    for key in ["lifecycleState", "progressDeadlineMinutes"] {
        if !change[key].is_null() {
            value["spec"][key] = change[key].clone();
        }
    }
    if !change["finalizers"].is_null() {
        value["metadata"]["finalizers"] = change["finalizers"].clone();
    }
    let name = text(&change["reconciled"]);
    if let Some((owner, number)) = name.rsplit_once('-') {
        value["metadata"]["name"] = json!(name);
        value["metadata"]["labels"]["olm.operatorframework.io/owner-name"] = json!(owner);
        value["spec"]["revision"] = json!(number.parse::<i64>().expect("a number"));
    }
    let mut set: ClusterObjectSet = serde_json::from_value(value).expect("a revision");
    set.metadata.creation_timestamp = Some(Time(match change["creationTimestamp"].as_str() {
        Some("<2 minutes before now>") => time(NOW) - SignedDuration::from_mins(2),
        Some(created) => time(created),
        None => time(NOW),
    }));
    if change["deleting"] == true {
        set.metadata.deletion_timestamp = Some(Time(time(NOW)));
    }
    set.status.conditions = rows(&row["conditionsBefore"]).iter().map(known).collect();
    set
}

fn problem(value: &Value) -> PhaseProblem {
    PhaseProblem {
        phase: text(&value["phase"]),
        of_phase: value["phaseError"].as_str().map(str::to_owned),
        of_objects: rows(&value["objects"])
            .iter()
            .map(|object| (id(object), texts(&object["errors"])))
            .collect(),
        next_step: None,
    }
}

fn id(value: &Value) -> ObjectId {
    ObjectId {
        api_version: text(&value["apiVersion"]),
        kind: text(&value["kind"]),
        namespace: text(&value["namespace"]),
        name: text(&value["name"]),
    }
}

fn rollout(engine: &Value) -> Rollout {
    let report = |phase: &Value| {
        PhaseReport {
        name: text(&phase["phase"]),
        problem: phase["validationError"]
            .is_object()
            .then(|| problem(&phase["validationError"]).message()),
        objects: rows(&phase["objects"])
            .iter()
            .map(|object| ObjectReport {
                id: id(object),
                standing: match object["action"].as_str() {
                    Some("Collision") => Standing::Collision(Box::new(Collision {
                        id: id(object),
                        controller: Some(json!({"kind": object["controller"]["kind"], "name": object["controller"]["owner"]})),
                        extension: None,
                        wanted_by: None,
                        orphaned: false,
                    })),
                    Some("Progressed") => Standing::Progressed,
                    _ => Standing::Settled,
                },
                probe: if object["probe"].is_string() {
                    result(&json!([object["probe"], object["messages"]]))
                } else {
                    ProbeResult::passed()
                },
                trouble: None,
            })
            .collect(),
    }
    };
    let refused = &engine["validationError"];
    Rollout {
        problem: refused.is_object().then(|| {
            let phases: Vec<String> = rows(&refused["phases"])
                .iter()
                .map(|phase| problem(phase).message())
                .collect();
            format!(
                "revision {:?} (1): {}",
                text(&refused["revision"]),
                phases.join(", ")
            )
        }),
        phases: rows(&engine["phases"]).iter().map(report).collect(),
        in_transition: engine["inTransition"] == true,
        complete: engine["isComplete"] == true,
    }
}

/// Concludes as the engine would after what the row says; none where the engine is not asked for a conclusion.
fn conclusion(set: &ClusterObjectSet, row: &Value, now: Timestamp) -> Conclusion {
    let engine = &row["engine"];
    let speaker = Speaker::new(set, now);
    let teardown = &engine["teardown"];
    if let Some(error) = engine["factoryError"].as_str() {
        speaker.failed("failed to create revision engine", error)
    } else if let Some(error) = engine["error"].as_str() {
        speaker.failed("revision reconcile", error)
    } else if let Some(error) = teardown["error"].as_str() {
        speaker.teardown_failed(error)
    } else if teardown["isComplete"] == true {
        speaker.archived()
    } else if teardown["isComplete"] == false {
        speaker.tearing_down()
    } else {
        speaker.rolled_out(&rollout(engine))
    }
}

#[test]
fn revisions_say_what_upstreams_say() {
    let Some(cases) = cases("cos-status/cases.json") else {
        return;
    };
    let mut checked = 0;
    for row in rows(&cases["status"]) {
        let row_id = text(&row["id"]);
        // Nothing can fail here when watches are given up, so nothing is said of it.
        if row_id == "deletion-free-fails" {
            continue;
        }
        checked += 1;
        let set = base(&cases, row);
        let now = time(row["now"].as_str().unwrap_or(NOW));
        let conclusion = conclusion(&set, row, now);
        let expected = &row["expected"];
        for wanted in rows(&expected["conditions"]) {
            let kind = text(&wanted["type"]);
            let condition = condition::find(&conclusion.status.conditions, &kind).expect(&row_id);
            let said = serde_json::to_value(condition).expect("a condition");
            for (key, value) in wanted.as_object().expect("a condition") {
                assert_eq!(&said[key], value, "{row_id}: {kind} {key}");
            }
        }
        for kind in texts(&expected["conditionsAbsent"]) {
            assert!(
                condition::find(&conclusion.status.conditions, &kind).is_none(),
                "{row_id}"
            );
        }
        if let Some(prefix) = expected["messagePrefix"].as_str() {
            let condition = condition::find(&conclusion.status.conditions, "Progressing").expect(&row_id);
            assert!(
                condition.message.starts_with(prefix),
                "{row_id}: {}",
                condition.message
            );
        }
        if let Some(seconds) = expected["requeueAfterSeconds"].as_u64() {
            let after = conclusion.after.unwrap_or_default();
            assert_eq!(after.as_secs(), seconds, "{row_id}");
        }
        assert_eq!(
            conclusion.failure.as_deref(),
            expected["error"].as_str(),
            "{row_id}"
        );
        if expected["finalizers"] == json!([]) {
            assert!(conclusion.release, "{row_id}");
        }
        if row["override"]["finalizers"].is_array() && expected["finalizers"] == row["override"]["finalizers"]
        {
            assert!(!conclusion.release, "{row_id}");
        }
    }
    assert_eq!(checked, 27);
}

#[test]
fn a_revision_is_protected_before_anything_is_made() {
    let Some(cases) = cases("cos-status/cases.json") else {
        return;
    };
    let set = base(&cases, &json!({}));
    let content = content::read(&set, &BTreeMap::new(), "olmv1-system");
    assert_eq!(decide(&snapshot(set, content)), Step::Protect);
}

#[test]
fn a_deleted_revision_is_let_go() {
    let Some(cases) = cases("cos-status/cases.json") else {
        return;
    };
    let set = base(
        &cases,
        &json!({"override": {"deleting": true, "finalizers": ["olm.operatorframework.io/teardown"]}}),
    );
    let content = content::read(&set, &BTreeMap::new(), "olmv1-system");
    let Step::Conclude(conclusion) = decide(&snapshot(set, content)) else {
        panic!("there is nothing to do");
    };
    assert!(conclusion.release && conclusion.status.conditions.is_empty());
}

#[test]
fn older_revisions_are_archived_on_success() {
    let Some(cases) = cases("cos-status/cases.json") else {
        return;
    };
    let row = rows(&cases["status"])
        .iter()
        .find(|row| row["id"] == "archive-previous-on-success")
        .expect("the row");
    let mut set = base(&cases, row);
    set.metadata.finalizers = Some(vec!["olm.operatorframework.io/teardown".into()]);
    let mut object = cases["clusterObjectSet"]["spec"]["phases"][0]["objects"][0]["object"].clone();
    object["metadata"] = json!({"name": "a"});
    set.spec.phases[0].objects[0].object = Some(object.clone());
    let content = content::read(&set, &BTreeMap::new(), "olmv1-system");
    let mut snapshot = snapshot(set, content);
    snapshot.related = texts(&row["override"]["siblings"])
        .iter()
        .map(|name| revision(name, &json!({})))
        .collect();
    snapshot.objects = vec![Observed {
        seen: Seen::Present(Box::new(object)),
        outcome: Some(Outcome::Done),
        ..Observed::default()
    }];
    let Step::Advance(report) = decide(&snapshot) else {
        panic!("the phase is complete");
    };
    snapshot.finished.push(report);
    assert_eq!(
        decide(&snapshot),
        Step::Archive(vec!["test-ext-1".into(), "test-ext-2".into()])
    );
}
