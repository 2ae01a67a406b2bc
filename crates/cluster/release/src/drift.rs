//! Drift: what others changed in the objects of a release.
//!
//! The server writes down which fields each manager holds. Whoever changes a field takes it, so the fields that we hold
//! tell by themselves whether something of ours was changed, and the metadata of an object is enough to see it. Which
//! fields differ is found by comparing the manifest with the object; what the manifest doesn't say isn't ours.

use std::hash::{DefaultHasher, Hash, Hasher as _};

use apply::diff::{FieldChange, tells_apart};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Map, Value};

/// How deep objects are compared; what lies deeper is compared as one.
const DEEPEST: usize = 128;

/// The most differences of one object that are told; a reader gives up long before.
const MOST_FIELDS: usize = 100;

/// The fields by which the items of lists are told apart, in the order in which they are tried.
const ITEM_KEYS: &[&str] = &[
    "name",
    "uid",
    "containerPort",
    "port",
    "mountPath",
    "key",
    "type",
    "ip",
];

/// Which fields of an object a manager holds, as a number that changes when they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Fingerprint(pub u64);

/// Returns which fields of an object a manager holds.
pub fn fingerprint(managed_fields: &[ManagedFieldsEntry], manager: &str) -> Fingerprint {
    let fields = managed_fields
        .iter()
        .filter(|entry| entry.manager.as_deref() == Some(manager))
        .filter(|entry| entry.subresource.as_deref().unwrap_or_default().is_empty())
        .filter_map(|entry| Some(&entry.fields_v1.as_ref()?.0));
    fold(fields)
}

/// Returns which fields of an object a manager holds, given its metadata.
pub(crate) fn fingerprint_in(metadata: &Value, manager: &str) -> Fingerprint {
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
    let entries = metadata.get("managedFields").and_then(Value::as_array);
    let fields = entries
        .into_iter()
        .flatten()
        .filter(|entry| text(entry, "manager").as_deref() == Some(manager))
        .filter(|entry| text(entry, "subresource").unwrap_or_default().is_empty())
        .filter_map(|entry| entry.get("fieldsV1"));
    fold(fields)
}

/// Adds up what entries hold; their order says nothing.
fn fold<'a>(fields: impl Iterator<Item = &'a Value>) -> Fingerprint {
    let sum = fields.fold(0_u64, |sum, fields| {
        let mut hasher = DefaultHasher::new();
        hash(fields, &mut hasher, 0);
        sum.wrapping_add(hasher.finish() | 1)
    });
    Fingerprint(sum)
}

fn hash(value: &Value, hasher: &mut DefaultHasher, depth: usize) {
    match value {
        Value::Object(map) if depth < DEEPEST => {
            map.len().hash(hasher);
            for (key, value) in map {
                key.hash(hasher);
                hash(value, hasher, depth + 1);
            }
        }
        other => other.to_string().hash(hasher),
    }
}

/// Returns the fields of a manifest's object that the server holds otherwise.
pub fn between(wanted: &Value, live: &Value) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    let (Value::Object(wanted), Value::Object(live)) = (wanted, live) else {
        return changes;
    };
    let is_secret = text(wanted, "kind") == "Secret" && text(wanted, "apiVersion") == "v1";
    for (key, value) in wanted {
        match key.as_str() {
            "apiVersion" | "kind" | "status" => {}
            "metadata" => metadata(value, live.get(key), &mut changes),
            // What is written as text is kept as data.
            "stringData" if is_secret => string_data(value, live.get("data"), &mut changes),
            "data" if is_secret => {
                let mut found = Vec::new();
                compare("data", value, live.get(key), 0, &mut found);
                changes.extend(found.into_iter().map(hidden));
            }
            _ => compare(key, value, live.get(key), 0, &mut changes),
        }
    }
    changes.truncate(MOST_FIELDS);
    changes
}

fn text<'a>(map: &'a Map<String, Value>, key: &str) -> &'a str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Compares what users write of the metadata; the rest says which object it is, or is the server's.
fn metadata(wanted: &Value, live: Option<&Value>, changes: &mut Vec<FieldChange>) {
    for key in ["labels", "annotations", "ownerReferences", "finalizers"] {
        if let Some(value) = wanted.get(key) {
            let path = format!("metadata.{key}");
            compare(&path, value, live.and_then(|live| live.get(key)), 0, changes);
        }
    }
}

fn string_data(wanted: &Value, data: Option<&Value>, changes: &mut Vec<FieldChange>) {
    use base64::Engine as _;
    for (key, value) in wanted.as_object().into_iter().flatten() {
        let Some(value) = value.as_str() else { continue };
        let encoded = base64::engine::general_purpose::STANDARD.encode(value);
        let live = data.and_then(|data| data.get(key));
        if live.and_then(Value::as_str) != Some(&encoded) {
            changes.push(hidden(FieldChange {
                path: below("data", key),
                before: live.cloned(),
                after: Some(Value::from(encoded)),
            }));
        }
    }
}

/// Hides what a Secret keeps.
fn hidden(mut change: FieldChange) -> FieldChange {
    change.before = change.before.map(|_| Value::from("***"));
    change.after = change.after.map(|_| Value::from("*** (changed)"));
    change
}

fn compare(path: &str, wanted: &Value, live: Option<&Value>, depth: usize, changes: &mut Vec<FieldChange>) {
    let says_nothing = match wanted {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        wanted => live.is_none() && is_nothing(wanted),
    };
    if changes.len() >= MOST_FIELDS || says_nothing {
        return;
    }
    match (wanted, live) {
        (Value::Object(wanted), Some(Value::Object(live))) if depth < DEEPEST => {
            for (key, value) in wanted {
                compare(&below(path, key), value, live.get(key), depth + 1, changes);
            }
        }
        (Value::Array(wanted), Some(Value::Array(live))) if depth < DEEPEST => {
            compare_lists(path, wanted, live, depth, changes);
        }
        (wanted, Some(live)) if is_same(wanted, live) => {}
        _ => changes.push(FieldChange {
            path: path.to_owned(),
            before: live.cloned(),
            after: Some(wanted.clone()),
        }),
    }
}

/// The server leaves out what says nothing.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_nothing),
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
    }
}

fn compare_lists(path: &str, wanted: &[Value], live: &[Value], depth: usize, changes: &mut Vec<FieldChange>) {
    if let Some(key) = ITEM_KEYS
        .iter()
        .find(|key| tells_apart(wanted, key) && tells_apart(live, key))
    {
        for item in wanted {
            let Some(value) = item.get(key) else { continue };
            let found = live.iter().find(|live| live.get(key) == Some(value));
            let name = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            compare(&format!("{path}[{key}={name}]"), item, found, depth + 1, changes);
        }
        return;
    }
    if wanted.len() != live.len() {
        changes.push(FieldChange {
            path: path.to_owned(),
            before: Some(Value::from(live.to_vec())),
            after: Some(Value::from(wanted.to_vec())),
        });
        return;
    }
    for (index, (wanted, live)) in wanted.iter().zip(live).enumerate() {
        compare(
            &format!("{path}[{index}]"),
            wanted,
            Some(live),
            depth + 1,
            changes,
        );
    }
}

/// Compares single values: numbers and quantities by what they are worth.
fn is_same(wanted: &Value, live: &Value) -> bool {
    if wanted == live {
        return true;
    }
    match (quantity(wanted), quantity(live)) {
        (Some(wanted), Some(live)) => wanted == live,
        _ => false,
    }
}

/// Returns what a quantity is worth, in thousandths of a thousandth of a thousandth; none if it isn't one.
///
/// `1`, `"1"`, `1.0` and `"1000m"` are the same to the server, which writes one of them.
fn quantity(value: &Value) -> Option<i128> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return None,
    };
    let digits = text
        .find(|letter: char| !(letter.is_ascii_digit() || matches!(letter, '.' | '+' | '-')))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let scaled = nanos(number)?;
    let power = |base: i128, exponent: u32| base.checked_pow(exponent);
    match suffix {
        "" => Some(scaled),
        "n" => divided(scaled, power(10, 9)?),
        "u" => divided(scaled, power(10, 6)?),
        "m" => divided(scaled, power(10, 3)?),
        _ => {
            let factor = match suffix {
                "k" => power(10, 3),
                "M" => power(10, 6),
                "G" => power(10, 9),
                "T" => power(10, 12),
                "P" => power(10, 15),
                "E" => power(10, 18),
                "Ki" => power(1024, 1),
                "Mi" => power(1024, 2),
                "Gi" => power(1024, 3),
                "Ti" => power(1024, 4),
                "Pi" => power(1024, 5),
                "Ei" => power(1024, 6),
                exponent => power(10, exponent.strip_prefix(['e', 'E'])?.parse().ok()?),
            }?;
            scaled.checked_mul(factor)
        }
    }
}

fn divided(value: i128, by: i128) -> Option<i128> {
    (value % by == 0).then(|| value / by)
}

/// Reads a plain decimal number, in billionths.
fn nanos(number: &str) -> Option<i128> {
    let (sign, number) = match number.strip_prefix('-') {
        Some(number) => (-1, number),
        None => (1, number.strip_prefix('+').unwrap_or(number)),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty()
        || fraction.len() > 9
        || !is_plain(whole)
        || !is_plain(fraction)
    {
        return None;
    }
    let digits = format!("{whole}{fraction:0<9}");
    digits.parse::<i128>().ok()?.checked_mul(sign)
}

/// Names a field below another; a name with dots in it is quoted.
fn below(path: &str, key: &str) -> String {
    if key.contains(['.', '/', '[']) {
        format!("{path}[{key:?}]")
    } else {
        format!("{path}.{key}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn paths(wanted: Value, live: Value) -> Vec<String> {
        between(&wanted, &live)
            .into_iter()
            .map(|change| change.path)
            .collect()
    }

    #[test]
    fn what_the_server_adds_is_no_drift() {
        let wanted = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "labels": {"x": "1"}},
            "spec": {"replicas": 1, "paused": false, "nodeSelector": {}, "template": {"spec": {"tolerations": null,
                "containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 1, "cpu": "1000m", "memory": "1024Mi"}}}]}}}});
        let live = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "uid": "1", "labels": {"x": "1", "y": "2"}},
            "spec": {"replicas": 1, "template": {"spec": {"restartPolicy": "Always", "containers": [
                {"name": "side", "image": "injected"},
                {"name": "c", "image": "i", "imagePullPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": "1", "cpu": "1", "memory": "1Gi"}}}]}}}});
        assert_eq!(paths(wanted, live), Vec::<String>::new());
        assert_eq!(
            paths(
                json!({"spec": {"replicas": 0, "paused": false}}),
                json!({"spec": {"replicas": 3, "paused": true}})
            ),
            ["spec.paused", "spec.replicas"]
        );
    }

    #[test]
    fn drift_names_the_fields() {
        let wanted = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"labels": {"a.b/c": "1"}},
            "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "c", "image": "i:1", "args": ["a", "b"]}]}}}});
        let live = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {},
            "spec": {"replicas": 5, "template": {"spec": {"containers": [{"name": "c", "image": "i:2", "args": ["b", "a"]}]}}}});
        assert_eq!(
            paths(wanted, live),
            [
                "metadata.labels",
                "spec.replicas",
                "spec.template.spec.containers[name=c].args[0]",
                "spec.template.spec.containers[name=c].args[1]",
                "spec.template.spec.containers[name=c].image",
            ]
        );
    }

    #[test]
    fn what_a_secret_keeps_is_not_shown() {
        let wanted = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "new", "b": "same"}, "data": {"c": "MQ=="}});
        let live = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "b2xk", "b": "c2FtZQ==", "c": "Mg=="}});
        let changes = between(&wanted, &live);
        let shown: Vec<String> = changes.iter().map(|change| format!("{change:?}")).collect();
        assert_eq!(changes.len(), 2, "{shown:?}");
        assert!(
            !shown.iter().any(|text| ["b2xk", "bmV3", "MQ==", "Mg=="]
                .iter()
                .any(|secret| text.contains(secret))),
            "{shown:?}"
        );
    }

    #[test]
    fn quantities_are_compared_by_what_they_are_worth() {
        for (one, other) in [
            (json!(1), json!("1")),
            (json!("1"), json!("1000m")),
            (json!(0.5), json!("500m")),
            (json!("1Gi"), json!("1073741824")),
            (json!("1e3"), json!("1k")),
            (json!("0.1"), json!("100m")),
            (json!("1500u"), json!("1500000n")),
        ] {
            assert!(is_same(&one, &other), "{one} {other}");
        }
        for (one, other) in [
            (json!("1"), json!("2")),
            (json!("a"), json!("b")),
            (json!("1G"), json!("1Gi")),
            (json!(true), json!("true")),
            (json!("1.0.0"), json!("1.0")),
            (json!("1e99"), json!("1e98")),
        ] {
            assert!(!is_same(&one, &other), "{one} {other}");
        }
    }

    #[test]
    fn a_fingerprint_changes_when_a_field_of_ours_is_taken() {
        let metadata = |fields: Value, status: Value| {
            json!({"managedFields": [
                {"manager": "helm-operator", "operation": "Apply", "fieldsV1": fields},
                {"manager": "helm-operator", "operation": "Update", "subresource": "status", "fieldsV1": status},
                {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:data": {"f:z": {}}}},
            ]})
        };
        let print = |fields, status| fingerprint_in(&metadata(fields, status), "helm-operator");
        let whole = print(json!({"f:data": {"f:a": {}, "f:b": {}}}), json!({}));
        assert_eq!(
            whole,
            print(json!({"f:data": {"f:b": {}, "f:a": {}}}), json!({"f:status": {}}))
        );
        assert_ne!(whole, print(json!({"f:data": {"f:a": {}}}), json!({})));
        let entries: Vec<ManagedFieldsEntry> = serde_json::from_value(
            metadata(json!({"f:data": {"f:a": {}, "f:b": {}}}), json!({}))["managedFields"].clone(),
        )
        .expect("entries");
        assert_eq!(fingerprint(&entries, "helm-operator"), whole);
        assert_eq!(fingerprint(&entries, "nobody"), Fingerprint::default());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[0-9a-zA-Z.+-]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("(name|port|[a-c]{0,2})", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn an_object_does_not_differ_from_itself(spec in any_json(), other in any_json()) {
            let object = json!({"spec": spec});
            prop_assert_eq!(between(&object, &object), vec![]);
            let _ = between(&object, &json!({"spec": other}));
        }
    }
}
