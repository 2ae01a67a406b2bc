//! How objects are sorted, packed and told apart.

use std::collections::BTreeMap;

use api::cluster_object_set::{ObservedPhase, Phase, PhaseObject};
use apply::digests;
use apply::phases::phases_of;
use apply::secrets::{Destination, SECRET_LIMIT, pack, read};
use k8s_openapi::api::core::v1::Secret;
use serde_json::{Value, json};

use crate::{cases, rows, text, texts};

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

pub(crate) fn one_phase(objects: Vec<PhaseObject>) -> Vec<Phase> {
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
