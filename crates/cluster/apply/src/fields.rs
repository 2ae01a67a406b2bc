//! Fields: whether the server already holds what we would apply, and whether it knows that the fields are ours.
//!
//! The server writes into `managedFields` which fields each manager applied, and how the items of lists are told apart.
//! So no schema is needed to compare: what was applied is followed through the object and through the record at once.
//! Where the comparison can't be sure it says that there is a difference; applying then changes nothing.

use api::keys::OBJECT_FIELD_OWNER;
use serde_json::{Map, Value, json};

/// Fields of the metadata that say which object it is, or that only the server writes.
const IDENTITY: &[&str] = &["name", "namespace", "creationTimestamp", "resourceVersion", "uid"];

/// How deep objects are compared; deeper ones are taken as different. Kubernetes has no kind that comes near.
const DEEPEST: usize = 256;

/// Returns whether the server holds everything that is wanted, nothing else that we applied, and knows that it is ours.
pub fn holds(wanted: &Value, live: &Value) -> bool {
    let Some(entry) = applied_entry(live) else {
        return false;
    };
    if entry.get("apiVersion") != wanted.get("apiVersion") || update_entry(live).is_some() {
        return false;
    }
    let Some(Value::Object(owned)) = entry.get("fieldsV1") else {
        return false;
    };
    let (Value::Object(wanted), Value::Object(live)) = (wanted, live) else {
        return false;
    };
    let compared = |key: &str| !matches!(key, "apiVersion" | "kind" | "metadata" | "status");
    let empty = Map::new();
    let (wanted_metadata, live_metadata) = (map_at(wanted, "metadata"), map_at(live, "metadata"));
    let owned_metadata = owned
        .get("f:metadata")
        .and_then(Value::as_object)
        .unwrap_or(&empty);
    same_map(wanted, live, owned, &compared, 0)
        && same_map(
            wanted_metadata.unwrap_or(&empty),
            live_metadata.unwrap_or(&empty),
            owned_metadata,
            &|key| !IDENTITY.contains(&key),
            0,
        )
}

fn map_at<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a Map<String, Value>> {
    object.get(key).and_then(Value::as_object)
}

fn same_map(
    wanted: &Map<String, Value>,
    live: &Map<String, Value>,
    owned: &Map<String, Value>,
    compared: &dyn Fn(&str) -> bool,
    depth: usize,
) -> bool {
    let nothing_more = owned
        .keys()
        .filter_map(|key| key.strip_prefix("f:"))
        .all(|key| !compared(key) || wanted.contains_key(key));
    nothing_more
        && wanted
            .iter()
            .filter(|(key, _)| compared(key))
            .all(
                |(key, value)| match (owned.get(&format!("f:{key}")), live.get(key)) {
                    (Some(ours), Some(live)) => same(value, live, ours, depth + 1),
                    // The server leaves out what says nothing.
                    _ => is_nothing(value),
                },
            )
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn same(wanted: &Value, live: &Value, owned: &Value, depth: usize) -> bool {
    let Some(owned) = owned.as_object() else {
        return false;
    };
    if depth > DEEPEST {
        return false;
    }
    // Without anything below it, the field was applied as one, whatever it holds.
    if owned.is_empty() {
        return covers(live, wanted, depth);
    }
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => same_map(wanted, live, owned, &|_| true, depth),
        (Value::Array(wanted), Value::Array(live)) => same_list(wanted, live, owned, depth),
        _ => false,
    }
}

/// Returns whether a value is there, with or without defaults: had somebody else changed it, it would no longer be ours.
fn covers(live: &Value, wanted: &Value, depth: usize) -> bool {
    match (live, wanted) {
        (Value::Object(live), Value::Object(wanted)) => {
            let there = |(key, value): (&String, &Value)| match live.get(key) {
                Some(live) => covers(live, value, depth + 1),
                None => value.is_null(),
            };
            depth <= DEEPEST && wanted.iter().all(there)
        }
        (Value::Array(live), Value::Array(wanted)) => {
            let same = |(live, wanted)| covers(live, wanted, depth + 1);
            depth <= DEEPEST && live.len() == wanted.len() && live.iter().zip(wanted).all(same)
        }
        (live, wanted) => live == wanted,
    }
}

/// Compares lists whose items are told apart by keys (`k:`) or by what they are (`v:`).
fn same_list(wanted: &[Value], live: &[Value], owned: &Map<String, Value>, depth: usize) -> bool {
    let mut items: Vec<(Value, &Value)> = Vec::with_capacity(owned.len());
    for (name, below) in owned {
        if let Some(value) = name.strip_prefix("v:") {
            let Ok(value) = serde_json::from_str::<Value>(value) else {
                return false;
            };
            if !wanted.contains(&value) || !live.contains(&value) {
                return false;
            }
            items.push((value, below));
        } else if let Some(key) = name.strip_prefix("k:") {
            let Ok(key) = serde_json::from_str::<Value>(key) else {
                return false;
            };
            items.push((key, below));
        } else if name != "." {
            return false;
        }
    }
    if items.len() != wanted.len() {
        return false;
    }
    let mut taken = vec![false; items.len()];
    wanted.iter().all(|item| {
        let found = items.iter().enumerate().find(|(index, (key, _))| {
            !taken[*index] && (item == key || has_key(item, key, Absent::MayBeDefaulted))
        });
        let Some((index, (key, below))) = found else {
            return false;
        };
        taken[index] = true;
        if !key.is_object() || item == key && below.as_object().is_some_and(Map::is_empty) {
            return true;
        }
        live.iter()
            .find(|live| has_key(live, key, Absent::Differs))
            .is_some_and(|live| same(item, live, below, depth + 1))
    })
}

/// What it means that an item doesn't have a field that belongs to its key.
#[derive(Clone, Copy, PartialEq)]
enum Absent {
    MayBeDefaulted,
    Differs,
}

fn has_key(item: &Value, key: &Value, absent: Absent) -> bool {
    let (Value::Object(item), Value::Object(key)) = (item, key) else {
        return false;
    };
    !key.is_empty()
        && key.iter().all(|(name, value)| match item.get(name) {
            Some(found) => found == value,
            None => absent == Absent::MayBeDefaulted,
        })
}

fn entries(object: &Value) -> &[Value] {
    object
        .pointer("/metadata/managedFields")
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn is_ours(entry: &Value, operation: &str) -> bool {
    is_by(entry, OBJECT_FIELD_OWNER, operation)
}

fn is_by(entry: &Value, manager: &str, operation: &str) -> bool {
    let said = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    said("manager") == manager && said("operation") == operation && said("subresource").is_empty()
}

fn applied_entry(object: &Value) -> Option<&Value> {
    entries(object).iter().find(|entry| is_ours(entry, "Apply"))
}

fn update_entry(object: &Value) -> Option<&Value> {
    entries(object).iter().find(|entry| is_ours(entry, "Update"))
}

/// Returns whether we applied an owner reference, so that it must stay in what we apply.
pub(crate) fn applied_owner_reference(object: &Value, uid: &str) -> bool {
    let key = format!("k:{}", json!({"uid": uid}));
    applied_entry(object)
        .and_then(|entry| entry.pointer("/fieldsV1/f:metadata/f:ownerReferences"))
        .is_some_and(|owned| owned.get(&key).is_some())
}

/// Returns the patch that turns fields which we wrote by creating the object into fields which we applied.
///
/// Without it, a field that is no longer wanted would stay: the server would take it for something that was written once
/// and not applied. The server counts its defaults among what was written; of these, only what is `wanted` stays ours, as
/// if it had been applied. Without a wanted object all of it stays ours, for an apply that follows to sort out. None if
/// there is nothing to turn.
pub fn as_applied(object: &Value, wanted: Option<&Value>) -> Option<Value> {
    as_applied_by(object, OBJECT_FIELD_OWNER, &[OBJECT_FIELD_OWNER], wanted)
}

/// Returns the patch that turns fields which `writers` wrote or applied into fields which `applier` applied; see
/// [`as_applied`].
pub fn as_applied_by(
    object: &Value,
    applier: &str,
    writers: &[&str],
    wanted: Option<&Value>,
) -> Option<Value> {
    let is_applied = |entry: &Value| is_by(entry, applier, "Apply");
    let is_written = |entry: &Value| {
        let applied_before = |writer: &str| writer != applier && is_by(entry, writer, "Apply");
        writers
            .iter()
            .any(|writer| is_by(entry, writer, "Update") || applied_before(writer))
    };
    let written = entries(object).iter().find(|entry| is_written(entry))?;
    let mut owned = Value::Null;
    for entry in entries(object) {
        let fields = entry.get("fieldsV1").unwrap_or(&Value::Null);
        if is_applied(entry) {
            unite(&mut owned, fields);
        } else if is_written(entry) {
            match wanted {
                Some(wanted) => unite(&mut owned, &within(fields, wanted, 0)),
                None => unite(&mut owned, fields),
            }
        }
    }
    let mut turned = written.clone();
    if let Some(turned) = turned.as_object_mut() {
        turned.insert("manager".to_owned(), Value::from(applier));
        turned.insert("operation".to_owned(), Value::from("Apply"));
        turned.insert("fieldsV1".to_owned(), owned);
    }
    let others = entries(object)
        .iter()
        .filter(|entry| !is_written(entry) && !is_applied(entry));
    let managers: Vec<&Value> = std::iter::once(&turned).chain(others).collect();
    Some(json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": managers},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": object.pointer("/metadata/resourceVersion")},
    ]))
}

/// Returns the part of a set of fields that an object has.
fn within(fields: &Value, wanted: &Value, depth: usize) -> Value {
    let Some(fields) = fields.as_object().filter(|_| depth <= DEEPEST) else {
        return fields.clone();
    };
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let kept = fields.iter().filter_map(|(name, below)| {
        let found = if name == "." {
            return Some((name.clone(), below.clone()));
        } else if let Some(field) = name.strip_prefix("f:") {
            wanted.get(field)
        } else if let Some(key) = name.strip_prefix("k:") {
            let key = parsed(key);
            let mut items = wanted.as_array().into_iter().flatten();
            items.find(|item| has_key(item, &key, Absent::MayBeDefaulted))
        } else if let Some(value) = name.strip_prefix("v:") {
            let value = parsed(value);
            let mut items = wanted.as_array().into_iter().flatten();
            items.find(|item| **item == value)
        } else {
            Some(wanted)
        };
        Some((name.clone(), within(below, found?, depth + 1)))
    });
    Value::Object(kept.collect())
}

fn unite(all: &mut Value, more: &Value) {
    match (all, more) {
        (Value::Object(all), Value::Object(more)) => {
            for (key, value) in more {
                unite(all.entry(key).or_insert_with(|| json!({})), value);
            }
        }
        (all, more) if all.is_null() => *all = more.clone(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn live(data: Value, fields: Value) -> Value {
        let mut live = data;
        live["apiVersion"] = json!("v1");
        live["metadata"] = json!({"name": "a", "managedFields": [
            {"manager": OBJECT_FIELD_OWNER, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields},
        ]});
        live
    }

    fn wanted(data: Value) -> Value {
        let mut wanted = data;
        wanted["apiVersion"] = json!("v1");
        wanted["metadata"] = json!({"name": "a"});
        wanted
    }

    #[test]
    fn what_others_added_makes_no_difference() {
        let fields = json!({"f:data": {"f:a": {}}});
        let object = live(json!({"data": {"a": "1", "b": "2"}}), fields);
        assert!(holds(&wanted(json!({"data": {"a": "1"}})), &object));
        assert!(
            !holds(&wanted(json!({"data": {"a": "2"}})), &object),
            "another value"
        );
        assert!(!holds(&wanted(json!({"data": {"b": "2"}})), &object), "not ours");
        assert!(!holds(&wanted(json!({"data": {}})), &object), "no longer wanted");
    }

    #[test]
    fn what_says_nothing_makes_no_difference() {
        let object = live(json!({"data": {"a": "1"}}), json!({"f:data": {"f:a": {}}}));
        let said = json!({"data": {"a": "1", "creationTimestamp": null}, "env": [], "more": {}});
        assert!(holds(&wanted(said), &object));
    }

    #[test]
    fn items_are_found_by_their_keys_even_if_one_was_defaulted() {
        let fields = json!({"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:name": {}}}});
        let ports =
            json!({"ports": [{"port": 1, "protocol": "TCP"}, {"port": 80, "protocol": "TCP", "name": "x"}]});
        let object = live(ports, fields);
        assert!(holds(
            &wanted(json!({"ports": [{"port": 80, "name": "x"}]})),
            &object
        ));
        assert!(!holds(
            &wanted(json!({"ports": [{"port": 80, "name": "y"}]})),
            &object
        ));
        assert!(!holds(
            &wanted(json!({"ports": [{"port": 81, "name": "x"}]})),
            &object
        ));
        assert!(!holds(&wanted(json!({"ports": []})), &object));
    }

    #[test]
    fn what_was_applied_as_one_is_compared_as_one() {
        let object = live(json!({"args": ["a", "b"]}), json!({"f:args": {}}));
        assert!(holds(&wanted(json!({"args": ["a", "b"]})), &object));
        assert!(!holds(&wanted(json!({"args": ["a"]})), &object));
        let object = live(json!({"rules": [{"a": 1, "scope": "*"}]}), json!({"f:rules": {}}));
        assert!(
            holds(&wanted(json!({"rules": [{"a": 1}]})), &object),
            "with a default"
        );
        assert!(!holds(&wanted(json!({"rules": [{"a": 2}]})), &object));
        let object = live(json!({"set": ["a", "b"]}), json!({"f:set": {"v:\"a\"": {}}}));
        assert!(holds(&wanted(json!({"set": ["a"]})), &object));
        assert!(!holds(&wanted(json!({"set": ["b"]})), &object));
    }

    #[test]
    fn written_fields_become_applied_ones() {
        let object = json!({"metadata": {"resourceVersion": "7", "managedFields": [
            {"manager": OBJECT_FIELD_OWNER, "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:a": {}}}},
            {"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:b": {}}}},
            {"manager": OBJECT_FIELD_OWNER, "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:data": {"f:c": {}}}},
        ]}});
        let patch = as_applied(&object, None).expect("something to turn");
        let managers = patch[0]["value"].as_array().expect("managers");
        assert_eq!(managers.len(), 2);
        assert_eq!(managers[0]["operation"], "Apply");
        assert_eq!(managers[0]["fieldsV1"], json!({"f:data": {"f:a": {}, "f:c": {}}}));
        assert_eq!(patch[1]["value"], "7");
        assert_eq!(as_applied(&json!({}), None), None);
        let patch = as_applied(&object, Some(&json!({"data": {}}))).expect("something to turn");
        assert_eq!(
            patch[0]["value"][0]["fieldsV1"],
            json!({"f:data": {"f:c": {}}}),
            "a default is not ours"
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z.:{}\"fkv]{0,6}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("(f:|k:|v:)?[a-c.{}\"]{0,3}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn nothing_makes_a_comparison_panic(data in any_json(), server in any_json(), fields in any_json()) {
            let object = live(json!({"data": server}), fields.clone());
            let _ = holds(&wanted(json!({"data": data})), &object);
            let _ = holds(&data, &fields);
            let _ = as_applied(&object, Some(&data));
        }
    }
}
