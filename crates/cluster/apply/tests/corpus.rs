//! The recorded cases of upstream: phases, Secrets, digests, probes, and the status of revisions.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::time::Duration;

use api::ClusterObjectSet;
use api::cluster_object_set::{
    ClusterObjectSetSpec, CollisionProtection, LifecycleState, ObservedPhase, Phase, PhaseObject,
    ProgressionProbe,
};
use api::condition::{self, Condition};
use apply::collision::{Collision, effective};
use apply::content::{self, ContentError, SecretState};
use apply::deadline::{self, Limiter};
use apply::digests;
use apply::object::ObjectId;
use apply::phases::phases_of;
use apply::probes::{ProbeResult, ProbeStatus, Probes};
use apply::revision::conclusion::{Conclusion, Speaker};
use apply::revision::report::{ObjectReport, PhaseReport, Rollout, Standing};
use apply::revision::{Observed, Outcome, Seen, Snapshot, Step, decide, previous, siblings};
use apply::secrets::{Destination, SECRET_LIMIT, pack, read};
use apply::validation::PhaseProblem;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

fn cases(file: &str) -> Option<Value> {
    let folder = corpus::open("olmv1")?;
    let text = fs::read(folder.join("olmv1-corpus").join(file)).expect("the cases");
    Some(serde_json::from_slice(&text).expect("JSON"))
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> Vec<String> {
    rows(value).iter().map(text).collect()
}

#[test]
fn objects_are_sorted_into_phases() {
    let Some(cases) = cases("phases/cases.json") else {
        return;
    };
    for row in rows(&cases["cases"]) {
        let phases: Vec<Value> = phases_of(rows(&row["objects"]).iter().cloned())
            .into_iter()
            .map(|phase| {
                let objects: Vec<Option<Value>> =
                    phase.objects.into_iter().map(|entry| entry.object).collect();
                json!({"name": phase.name, "objects": objects})
            })
            .collect();
        assert_eq!(Value::from(phases), row["expected"], "{}", row["id"]);
    }
    assert_eq!(rows(&cases["cases"]).len(), 50);
    let order = texts(&cases["phaseOrder"]);
    for (phase, kinds) in cases["groupKinds"].as_object().expect("kinds") {
        for kind in rows(kinds) {
            let group = text(&kind[0]);
            let api_version = if group.is_empty() {
                "v1".to_owned()
            } else {
                format!("{group}/v1")
            };
            let object = json!({"apiVersion": api_version, "kind": kind[1]});
            assert_eq!(phases_of([object])[0].name, *phase);
        }
        assert!(order.contains(phase));
    }
}

const DESTINATION: Destination<'_> = Destination {
    revision: "my-ext-3",
    owner: "my-ext",
    namespace: "olmv1-system",
};

fn phases(value: &Value) -> Vec<Phase> {
    serde_json::from_value(value.clone()).expect("phases")
}

fn shown(secret: &Secret) -> Value {
    let data: BTreeMap<&String, &str> = secret
        .data
        .iter()
        .flatten()
        .map(|(key, value)| (key, std::str::from_utf8(&value.0).expect("text")))
        .collect();
    json!({
        "name": secret.metadata.name, "namespace": secret.metadata.namespace, "type": secret.type_,
        "immutable": secret.immutable, "labels": secret.metadata.labels, "data": data,
    })
}

#[test]
fn objects_are_packed_into_secrets() {
    let Some(cases) = cases("secretpacker/cases.json") else {
        return;
    };
    for row in rows(&cases["cases"]) {
        let packed = pack(&phases(&row["phases"]), DESTINATION).expect("packed");
        let secrets: Vec<Value> = packed.secrets.iter().map(shown).collect();
        assert_eq!(Value::from(secrets), row["expected"]["secrets"], "{}", row["id"]);
        let references: serde_json::Map<String, Value> = packed
            .references
            .iter()
            .map(|((phase, index), reference)| {
                (
                    format!("{phase}/{index}"),
                    serde_json::to_value(reference).expect("a reference"),
                )
            })
            .collect();
        assert_eq!(
            Value::Object(references),
            row["expected"]["refs"],
            "{}",
            row["id"]
        );
    }
    let row = &cases["replaceWithRefs"][0];
    let packed = apply::secrets::Packed {
        references: [(0, 0), (0, 1)]
            .map(|place| {
                let reference = &row["refs"][format!("{}/{}", place.0, place.1)];
                (
                    place,
                    serde_json::from_value(reference.clone()).expect("a reference"),
                )
            })
            .into(),
        secrets: Vec::new(),
    };
    let referring = serde_json::to_value(packed.referring(phases(&row["phases"]))).expect("phases");
    assert_eq!(referring, row["expected"], "{}", row["id"]);
    // The other row has no spec at all: here a revision always has one.
    assert!(packed.referring(Vec::new()).is_empty());
}

fn config_map(name: &str, filling: String) -> PhaseObject {
    PhaseObject {
        object: Some(
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"bigkey": filling}}),
        ),
        ..PhaseObject::default()
    }
}

fn one_phase(objects: Vec<PhaseObject>) -> Vec<Phase> {
    vec![Phase {
        name: "deploy".into(),
        objects,
        ..Phase::default()
    }]
}

/// Text that no compression makes smaller than three quarters.
fn random_text(length: usize) -> String {
    let mut state = 1_u64;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'0' + (state >> 32) as u8 % 75)
    })
    .filter(char::is_ascii_alphanumeric)
    .take(length)
    .collect()
}

#[test]
fn large_objects_are_compressed_spread_or_refused() {
    // large-object-gzipped
    let large = one_phase(vec![config_map("large-cm", "a".repeat(921_601))]);
    let packed = pack(&large, DESTINATION).expect("packed");
    assert_eq!(packed.secrets.len(), 1);
    let reference = &packed.references[&(0, 0)];
    let data = packed.secrets[0].data.as_ref().expect("data");
    assert!(data[&reference.key].0.starts_with(&[0x1f, 0x8b]));
    let object = read(
        &packed.secrets[0],
        "olmv1-system",
        &reference.name,
        &reference.key,
    )
    .expect("an object");
    assert_eq!(Some(&object), large[0].objects[0].object.as_ref());
    // derived/second-secret-when-full
    let two = one_phase(vec![
        config_map("a", "a".repeat(500 * 1024)),
        config_map("b", "b".repeat(500 * 1024)),
    ]);
    assert_eq!(pack(&two, DESTINATION).expect("packed").secrets.len(), 2);
    // derived/exactly-at-limit
    let empty = serde_json::to_string(&config_map("a", String::new()).object)
        .expect("JSON")
        .len();
    let exact = one_phase(vec![config_map("a", "a".repeat(SECRET_LIMIT - empty))]);
    let packed = pack(&exact, DESTINATION).expect("packed");
    let data = packed.secrets[0].data.as_ref().expect("data");
    assert!(
        data.values()
            .all(|value| value.0.len() == SECRET_LIMIT && value.0.starts_with(b"{"))
    );
    // derived/incompressible-too-large
    let random = one_phase(vec![config_map("a", random_text(2 * SECRET_LIMIT))]);
    let error = pack(&random, DESTINATION).expect_err("too large").to_string();
    assert!(
        error.starts_with("object in phase 0 index 0 exceeds maximum Secret data size (")
            && error.ends_with(" bytes > 921600 bytes) even after compression"),
        "{error}"
    );
}

#[test]
fn digests_are_upstreams() {
    let Some(cases) = cases("cos-status/cases.json") else {
        return;
    };
    for row in rows(&cases["phaseDigests"]) {
        let objects: Option<Vec<Value>> = if row["generate"].is_string() {
            let object = |index| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("cm-{index}")}});
            Some((0..100).map(object).collect())
        } else {
            row["objects"].as_array().cloned()
        };
        let digest = digests::of_phase(&text(&row["name"]), objects.as_deref());
        assert_eq!(digest, row["digest"], "{}", row["id"]);
    }
    let observed = |phases: &Value, order: &[&str]| -> Vec<ObservedPhase> {
        let phases = phases.as_object().expect("phases");
        let mut phases: Vec<ObservedPhase> = phases
            .iter()
            .map(|(name, digest)| ObservedPhase {
                name: name.clone(),
                digest: text(digest),
            })
            .collect();
        // The rows are maps, but the order of phases is told by the message.
        phases.sort_by_key(|phase| order.iter().position(|name| *name == phase.name));
        phases
    };
    for row in rows(&cases["observedPhases"]) {
        let order = ["deploy", "crds", "rbac"];
        let checked = digests::check(
            &observed(&row["stored"], &order),
            &observed(&row["current"], &order),
        );
        let error = checked.err().map(|error| error.to_string());
        assert_eq!(
            serde_json::to_value(error).expect("a text"),
            row["error"],
            "{}",
            row["id"]
        );
    }
}

fn status_of(result: &ProbeResult) -> &'static str {
    match result.status {
        ProbeStatus::True => "True",
        ProbeStatus::False => "False",
        ProbeStatus::Unknown => "Unknown",
    }
}

fn result(value: &Value) -> ProbeResult {
    ProbeResult {
        status: match value[0].as_str() {
            Some("True") => ProbeStatus::True,
            Some("False") => ProbeStatus::False,
            _ => ProbeStatus::Unknown,
        },
        messages: texts(&value[1]),
    }
}

fn probes(selector: &Value, assertions: Value) -> Probes {
    let probe: ProgressionProbe =
        serde_json::from_value(json!({"selector": selector, "assertions": assertions})).expect("a probe");
    Probes::read(&[probe]).expect("probes")
}

#[test]
fn probes_say_what_upstreams_say() {
    let Some(cases) = cases("cos-status/probes.json") else {
        return;
    };
    let everything = json!({"type": "Label", "label": {}});
    for row in rows(&cases["probes"]) {
        let result = probes(&everything, json!([row["probe"]])).ask(&row["object"]);
        assert_eq!(status_of(&result), row["status"], "{}", row["id"]);
        assert_eq!(result.messages, texts(&row["messages"]), "{}", row["id"]);
    }
    let banana = json!([{"type": "FieldValue", "fieldValue": {"fieldPath": "fruit", "value": "banana"}}]);
    for row in rows(&cases["observedGeneration"]) {
        let mut object =
            json!({"fruit": "banana", "metadata": {"generation": row["generation"]}, "status": {}});
        if !row["observedGeneration"].is_null() {
            object["status"]["observedGeneration"] = row["observedGeneration"].clone();
        }
        let result = probes(&everything, banana.clone()).ask(&object);
        assert_eq!(status_of(&result), row["expected"][0], "{}", row["id"]);
        if result.status == ProbeStatus::Unknown {
            assert_eq!(result.messages, texts(&row["expected"][1]), "{}", row["id"]);
        }
    }
    for row in rows(&cases["and"]) {
        let joined = ProbeResult::all(rows(&row["in"]).iter().map(result));
        assert_eq!(joined, result(&row["expected"]), "{}", row["id"]);
    }
    for row in rows(&cases["selectors"]) {
        let object =
            json!({"apiVersion": "v1", "kind": row["objectKind"][1], "metadata": {"labels": row["labels"]}});
        let asked = probes(&row["selector"], banana.clone()).ask(&object);
        assert_eq!(asked, result(&row["expected"]), "{}", row["id"]);
    }
}

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

fn time(value: &str) -> Timestamp {
    value.parse().expect("a time")
}

const NOW: &str = "2026-01-01T00:00:00Z";

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

fn known(value: &Value) -> Condition {
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

fn revision(name: &str, row: &Value) -> ClusterObjectSet {
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

fn snapshot(set: ClusterObjectSet, content: Result<content::Content, ContentError>) -> Snapshot {
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
