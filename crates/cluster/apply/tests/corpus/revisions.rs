//! What revisions are: their time, their siblings, and what they hold.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use api::cluster_object_set::{ClusterObjectSetSpec, CollisionProtection, LifecycleState, PhaseObject};
use api::condition::Condition;
use api::{ClusterObjectSet, condition};
use apply::collision::effective;
use apply::content::{ContentError, SecretState};
use apply::deadline::Limiter;
use apply::revision::{Snapshot, Step, decide, previous, siblings};
use apply::{content, deadline};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use crate::packing::one_phase;
use crate::{cases, rows, text, texts};

fn protection(value: &Value) -> Option<CollisionProtection> {
    serde_json::from_value(value.clone()).ok()
}

#[test]
fn the_closest_protection_counts() {
    let Some(cases) = cases("cos-status/cases.json") else {
        return;
    };
    for row in rows(&cases["collisionProtection"]) {
        let found = effective(
            protection(&row["spec"]),
            protection(&row["phase"]),
            protection(&row["object"]),
        );
        assert_eq!(Some(found), protection(&row["expected"]), "{}", row["id"]);
    }
}

pub(crate) fn time(value: &str) -> Timestamp {
    value.parse().expect("a time")
}

pub(crate) const NOW: &str = "2026-01-01T00:00:00Z";

fn dated(row: &Value) -> ClusterObjectSet {
    let spec = ClusterObjectSetSpec {
        lifecycle_state: if row["archived"] == true {
            LifecycleState::Archived
        } else {
            LifecycleState::Active
        },
        revision: 1,
        collision_protection: CollisionProtection::Prevent,
        phases: Vec::new(),
        progress_deadline_minutes: row["deadlineMinutes"].as_i64().map(|minutes| minutes as i32),
        progression_probes: Vec::new(),
    };
    let mut set = ClusterObjectSet::new("x", spec);
    let age = SignedDuration::from_secs(row["ageSeconds"].as_i64().unwrap_or_default());
    set.metadata.creation_timestamp = Some(Time(time(NOW) - age));
    if row["deleting"] == true {
        set.metadata.deletion_timestamp = Some(Time(time(NOW)));
    }
    if row["succeeded"] == true {
        set.status.conditions = vec![known(&json!({"type": "Succeeded", "status": "True"}))];
    }
    set
}

pub(crate) fn known(value: &Value) -> Condition {
    let mut value = value.clone();
    for key in ["reason", "message"] {
        if value[key].is_null() {
            value[key] = json!("");
        }
    }
    value["lastTransitionTime"] = json!("2020-01-01T00:00:00Z");
    serde_json::from_value(value).expect("a condition")
}

#[test]
fn deadlines_count_from_the_creation() {
    let Some(cases) = cases("cos-status/cases.json") else {
        return;
    };
    for row in rows(&cases["deadline"]) {
        let remaining = deadline::remaining(&dated(row), time(NOW));
        assert_eq!(remaining.is_some(), row["hasDeadline"] == true, "{}", row["id"]);
        let expected = row["remainingSeconds"].as_i64();
        assert_eq!(remaining.map(|time| time.as_secs()), expected, "{}", row["id"]);
    }
    for row in rows(&cases["rateLimiter"]) {
        let mut limiter = Limiter::default();
        let remaining = (row["notFound"] != true).then(|| deadline::remaining(&dated(row), time(NOW)));
        let otherwise = Duration::from_secs(row["backoffSeconds"].as_u64().expect("a number"));
        let calls = match &row["calls"] {
            Value::Array(calls) => calls.clone(),
            _ => vec![row["expectedSeconds"].clone()],
        };
        for call in calls {
            if call == "forget" {
                limiter.forget("x");
                continue;
            }
            let wait = limiter.wait("x", otherwise, remaining.flatten());
            assert_eq!(Some(wait.as_secs()), call.as_u64(), "{}", row["id"]);
        }
    }
}

pub(crate) fn revision(name: &str, row: &Value) -> ClusterObjectSet {
    let mut set = dated(row);
    set.metadata.name = Some(name.to_owned());
    set.spec.revision = name
        .rsplit('-')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(1);
    if row["lifecycleState"] == "Archived" {
        set.spec.lifecycle_state = LifecycleState::Archived;
    }
    let owner = match row.get("owner") {
        None => Some("test-ext".to_owned()),
        Some(owner) => owner.as_str().map(str::to_owned),
    };
    set.metadata.labels =
        owner.map(|owner| BTreeMap::from([("olm.operatorframework.io/owner-name".to_owned(), owner)]));
    set
}

#[test]
fn revisions_of_an_extension_know_each_other() {
    let Some(cases) = cases("cos-status/cases.json") else {
        return;
    };
    let names = |sets: Vec<&ClusterObjectSet>| -> Vec<String> {
        sets.iter().map(|set| set.name().to_owned()).collect()
    };
    for row in rows(&cases["revisionLists"]["siblings"]) {
        let sets: Vec<ClusterObjectSet> = rows(&row["revisions"])
            .iter()
            .map(|row| revision(&text(&row["name"]), row))
            .collect();
        let current = sets
            .iter()
            .find(|set| set.name() == row["current"])
            .expect("the current one");
        assert_eq!(
            names(siblings(current, &sets)),
            texts(&row["expected"]),
            "{}",
            row["id"]
        );
    }
    for row in rows(&cases["revisionLists"]["previous"]) {
        let sets: Vec<ClusterObjectSet> = texts(&row["revisions"])
            .iter()
            .map(|name| revision(name, &json!({})))
            .collect();
        let current = sets
            .iter()
            .find(|set| set.name() == row["current"])
            .expect("the current one");
        assert_eq!(
            names(previous(current, &sets)),
            texts(&row["expected"]),
            "{}",
            row["id"]
        );
    }
}

fn secret(row: &Value) -> (content::SecretName, SecretState) {
    let name = text(&row["ref"]);
    let (namespace, name) = name.split_once('/').expect("a namespace and a name");
    let secret: Secret = serde_json::from_value(json!({
        "metadata": {"namespace": namespace, "name": name}, "immutable": row["immutable"],
    }))
    .expect("a Secret");
    let mut secret = secret;
    let object = ByteString(br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#.to_vec());
    secret.data = Some(
        ["obj", "obj2", "k"]
            .map(|key| (key.to_owned(), object.clone()))
            .into(),
    );
    (
        (namespace.to_owned(), name.to_owned()),
        SecretState::Found(Box::new(secret)),
    )
}

fn referring(references: &[(String, String, String)]) -> ClusterObjectSet {
    let mut set = dated(&json!({}));
    let objects = references
        .iter()
        .map(|(namespace, name, key)| {
            serde_json::from_value(json!({"ref": {"namespace": namespace, "name": name, "key": key}}))
                .expect("an entry")
        })
        .collect();
    set.spec.phases = one_phase(objects);
    set
}

#[test]
fn secrets_must_be_immutable() {
    let Some(cases) = cases("cos-status/cases.json") else {
        return;
    };
    for row in rows(&cases["immutableSecrets"]) {
        let references: Vec<(String, String, String)> = texts(&row["refs"])
            .iter()
            .map(|reference| {
                let (secret, key) = reference.split_once('#').expect("a key");
                let (namespace, name) = secret.split_once('/').expect("a name");
                (namespace.to_owned(), name.to_owned(), key.to_owned())
            })
            .collect();
        let set = referring(&references);
        let kept: BTreeMap<_, _> = rows(&row["secrets"]).iter().map(secret).collect();
        let read = content::read(&set, &kept, "olmv1-system");
        let blocked = match &read {
            Err(ContentError::Blocked(message)) => Value::from(message.as_str()),
            _ => Value::Null,
        };
        assert_eq!(blocked, row["error"], "{}", row["id"]);
        if let Some(reads) = row["secretReads"].as_u64() {
            let names = content::secrets_of(&set, "olmv1-system");
            assert_eq!(names.len() as u64, reads, "{}", row["id"]);
        }
        if row["condition"].is_object() {
            let Step::Conclude(conclusion) = decide(&snapshot(set, read)) else {
                panic!("nothing can be done");
            };
            let condition = condition::find(&conclusion.status.conditions, "Progressing").expect("said");
            assert_eq!(
                (condition.status.as_str(), condition.reason.as_str()),
                ("False", "Blocked")
            );
            assert_eq!(condition.message, row["error"]);
        }
    }
}

pub(crate) fn snapshot(set: ClusterObjectSet, content: Result<content::Content, ContentError>) -> Snapshot {
    Snapshot {
        related: Vec::new(),
        content,
        now: time(NOW),
        finished: Vec::new(),
        objects: Vec::new(),
        set,
    }
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(data).expect("compressed");
    encoder.finish().expect("compressed")
}

#[test]
fn objects_are_read_from_secrets() {
    let Some(cases) = cases("cos-status/cases.json") else {
        return;
    };
    let plain = text(&cases["resolveRef"][0]["data"]["my-key"]);
    for row in rows(&cases["resolveRef"]) {
        let place = if row["secret"].is_string() {
            text(&row["secret"])
        } else {
            "olmv1-system/s".to_owned()
        };
        let (namespace, name) = place.split_once('/').expect("a name");
        let key = if row["key"].is_string() {
            text(&row["key"])
        } else {
            "my-key".to_owned()
        };
        let data: Option<BTreeMap<String, ByteString>> = match row["id"].as_str() {
            Some("gzip") => Some([(key.clone(), ByteString(gzip(plain.as_bytes())))].into()),
            Some("derived/bomb") => Some([(key.clone(), ByteString(gzip(&vec![b' '; 10_485_761])))].into()),
            _ => row["data"].as_object().map(|data| {
                data.iter()
                    .map(|(key, value)| (key.clone(), ByteString(text(value).into_bytes())))
                    .collect()
            }),
        };
        let mut set = referring(&[(namespace.to_owned(), name.to_owned(), key)]);
        if row["id"] == "derived/neither" {
            set.spec.phases[0].objects = vec![PhaseObject::default()];
        }
        let state = match data {
            Some(data) => SecretState::Found(Box::new(Secret {
                data: Some(data),
                immutable: Some(true),
                ..Secret::default()
            })),
            None => SecretState::Unreadable(format!("secrets {name:?} not found")),
        };
        let kept = BTreeMap::from([((namespace.to_owned(), name.to_owned()), state)]);
        let content = content::read(&set, &kept, "olmv1-system");
        let step = decide(&snapshot(set, content));
        let failure = match &step {
            Step::Conclude(conclusion) => conclusion.failure.clone().unwrap_or_default(),
            _ => String::new(),
        };
        assert_eq!(failure.is_empty(), row["ok"] == true, "{}: {failure}", row["id"]);
        if row["error"].is_string() {
            assert_eq!(failure, row["error"], "{}", row["id"]);
        }
        for part in texts(&row["errorContains"]) {
            assert!(failure.contains(&part), "{}: {failure}", row["id"]);
        }
    }
}
