//! Differences: what applying would change, object by object.

use std::fmt;

use api::keys;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::object::ObjectId;

/// What would become of an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "action", content = "reason")]
pub enum What {
    /// It would be made.
    Create,
    /// It would be changed.
    Update,
    /// It would be deleted.
    Delete,
    /// It is as it should be.
    Same,
    /// It could not be applied; with the cause.
    Refused(String),
}

/// What would become of an object, field by field.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The object.
    pub id: ObjectId,
    /// What would become of it.
    pub what: What,
    /// The fields that would change.
    pub fields: Vec<FieldChange>,
}

/// A field that would change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldChange {
    /// Where it is.
    pub path: String,
    /// What it holds; none if it isn't there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    /// What it would hold; none if it would go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Value>,
}

/// Metadata that changes with every write, or that says which revision holds the object: no news to a reader.
const BOOKKEEPING: &[&str] = &[
    "creationTimestamp",
    "generation",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// How deep objects are compared; what lies deeper is compared as one.
const DEEPEST: usize = 128;

/// The most fields of one object that are told apart; a reader gives up long before.
const MOST_FIELDS: usize = 1000;

/// What is shown in place of what a Secret keeps.
const HIDDEN: &str = "***";

/// The fields by which the items of lists are told apart, in the order in which they are tried.
const ITEM_KEYS: &[&str] = &["name", "uid", "containerPort", "port", "mountPath", "key", "type"];

impl Change {
    /// Compares what the server has with what it would have; either may be missing.
    pub fn between(id: &ObjectId, before: Option<&Value>, after: Option<&Value>) -> Self {
        let is_secret = id.kind == "Secret" && id.api_version == "v1";
        let shown = |object: Option<&Value>| object.map(|object| shown(object, is_secret, before, after));
        let mut fields = Vec::new();
        let what = match (shown(before), shown(after)) {
            (None, None) => What::Same,
            (None, Some(_)) => What::Create,
            (Some(_), None) => What::Delete,
            (Some(before), Some(after)) => {
                compare("", Some(&before), Some(&after), 0, &mut fields);
                if fields.is_empty() {
                    What::Same
                } else {
                    What::Update
                }
            }
        };
        Self {
            id: id.clone(),
            what,
            fields,
        }
    }

    /// Returns the change of an object that could not be applied.
    pub fn refused(id: &ObjectId, cause: impl Into<String>) -> Self {
        Self {
            id: id.clone(),
            what: What::Refused(cause.into()),
            fields: Vec::new(),
        }
    }

    /// Leaves out the mark with which OLM says of which version an object is: it changes with every upgrade, and is no news.
    #[must_use]
    pub fn without_mark(mut self) -> Self {
        if self.what == What::Update {
            let mark = format!("metadata.annotations[{:?}]", keys::BUNDLE_VERSION);
            self.fields.retain(|field| field.path != mark);
            if self.fields.is_empty() {
                self.what = What::Same;
            }
        }
        self
    }

    /// Returns the change as data for programs.
    pub fn to_json(&self) -> Value {
        let mut value = json!(self.what);
        value["apiVersion"] = json!(self.id.api_version);
        value["kind"] = json!(self.id.kind);
        value["name"] = json!(self.id.name);
        if !self.id.namespace.is_empty() {
            value["namespace"] = json!(self.id.namespace);
        }
        if !self.fields.is_empty() {
            value["fields"] = json!(self.fields);
        }
        value
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match &self.what {
            What::Create => '+',
            What::Update => '~',
            What::Delete => '-',
            What::Same => '=',
            What::Refused(_) => '!',
        };
        write!(formatter, "{sign} {}", self.id.in_conditions())?;
        if let What::Refused(cause) = &self.what {
            for line in cause.lines() {
                write!(formatter, "\n    {line}")?;
            }
        }
        for field in &self.fields {
            write!(formatter, "\n    {}: ", field.path)?;
            match (&field.before, &field.after) {
                (Some(before), Some(after)) => write!(formatter, "{before} -> {after}")?,
                (None, Some(after)) => write!(formatter, "+ {after}")?,
                (Some(before), None) => write!(formatter, "- {before}")?,
                (None, None) => {}
            }
        }
        Ok(())
    }
}

/// Leaves out what isn't ours to change, and hides what must not be read.
fn shown(object: &Value, is_secret: bool, before: Option<&Value>, after: Option<&Value>) -> Value {
    let mut object = object.clone();
    let Some(map) = object.as_object_mut() else {
        return object;
    };
    map.remove("status");
    if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
        metadata.retain(|key, _| !BOOKKEEPING.contains(&key.as_str()));
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(keys::REVISION);
        }
    }
    if is_secret {
        hide(map, before, after);
    }
    object
}

/// Hides what a Secret keeps, but not that it would change.
fn hide(map: &mut Map<String, Value>, before: Option<&Value>, after: Option<&Value>) {
    let kept = |object: Option<&Value>, field: &str, key: &str| object?.get(field)?.get(key).cloned();
    for field in ["data", "stringData"] {
        let Some(Value::Object(data)) = map.get_mut(field) else {
            continue;
        };
        for (key, value) in data {
            let changes = kept(before, field, key) != kept(after, field, key);
            let is_new = Some(&*value) == kept(after, field, key).as_ref();
            let mark = if changes && is_new { " (changed)" } else { "" };
            *value = Value::from(format!("{HIDDEN}{mark}"));
        }
    }
}

fn compare(
    path: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    depth: usize,
    fields: &mut Vec<FieldChange>,
) {
    if before == after || fields.len() >= MOST_FIELDS {
        return;
    }
    match (before, after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) if depth < DEEPEST => {
            let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                let path = below(path, key);
                compare(&path, before.get(key), after.get(key), depth + 1, fields);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) if depth < DEEPEST => {
            compare_lists(path, before, after, depth, fields);
        }
        _ => fields.push(FieldChange {
            path: path.to_owned(),
            before: before.cloned(),
            after: after.cloned(),
        }),
    }
}

fn compare_lists(path: &str, before: &[Value], after: &[Value], depth: usize, fields: &mut Vec<FieldChange>) {
    let Some(key) = ITEM_KEYS
        .iter()
        .find(|key| tells_apart(before, key) && tells_apart(after, key))
    else {
        for index in 0..before.len().max(after.len()) {
            let path = format!("{path}[{index}]");
            compare(&path, before.get(index), after.get(index), depth + 1, fields);
        }
        return;
    };
    let find = |items: &[Value], value: &Value| items.iter().position(|item| item.get(key) == Some(value));
    for item in before.iter().chain(after) {
        let Some(value) = item.get(key) else { continue };
        let (old, new) = (find(before, value), find(after, value));
        // An item that stands in both lists is compared when it is met the first time.
        if old.is_some() && !before.iter().any(|known| std::ptr::eq(known, item)) {
            continue;
        }
        let name = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        compare(
            &format!("{path}[{key}={name}]"),
            old.and_then(|index| before.get(index)),
            new.and_then(|index| after.get(index)),
            depth + 1,
            fields,
        );
    }
}

/// Returns whether every item of a list has the field, each with another value.
pub fn tells_apart(items: &[Value], key: &str) -> bool {
    let mut seen: Vec<&Value> = Vec::with_capacity(items.len());
    items.iter().all(|item| match item.get(key) {
        Some(value) if !value.is_object() && !value.is_array() && !seen.contains(&value) => {
            seen.push(value);
            true
        }
        _ => false,
    })
}

/// Names a field below another; a name with dots in it is quoted.
fn below(path: &str, key: &str) -> String {
    if key.contains(['.', '/', '[']) {
        return format!("{path}[{key:?}]");
    }
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_names_its_fields() {
        let before = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "namespace": "b", "resourceVersion": "1", "annotations": {"x.y/z": "1"}},
            "spec": {"replicas": 1, "containers": [{"name": "one", "image": "i:1"}, {"name": "two", "image": "k"}]},
            "status": {"replicas": 1}});
        let mut after = before.clone();
        after["metadata"]["resourceVersion"] = json!("2");
        after["metadata"]["annotations"]["x.y/z"] = json!("2");
        after["spec"]["replicas"] = json!(2);
        after["spec"]["containers"] =
            json!([{"name": "three", "image": "l"}, {"name": "one", "image": "i:2"}]);
        after["status"] = json!({});
        let change = Change::between(&ObjectId::of(&before), Some(&before), Some(&after));
        insta::assert_snapshot!(change, @r#"
        ~ Deployment.apps/v1 b/a
            metadata.annotations["x.y/z"]: "1" -> "2"
            spec.containers[name=one].image: "i:1" -> "i:2"
            spec.containers[name=two]: - {"image":"k","name":"two"}
            spec.containers[name=three]: + {"image":"l","name":"three"}
            spec.replicas: 1 -> 2
        "#);
        assert_eq!(change.to_json()["action"], "update");
        assert_eq!(
            Change::between(&change.id, Some(&before), Some(&before)).what,
            What::Same
        );
    }

    #[test]
    fn the_version_that_an_object_is_of_is_no_news() {
        let object = |version: &str, data: &str| {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a",
                "annotations": {keys::BUNDLE_VERSION: version}}, "data": {"a": data}})
        };
        let change = |before: &Value, after: &Value| {
            Change::between(&ObjectId::of(before), Some(before), Some(after)).without_mark()
        };
        let first = object("1.0.0", "1");
        assert_eq!(change(&first, &object("1.1.0", "1")).what, What::Same);
        let other = change(&first, &object("1.1.0", "2"));
        assert_eq!((other.what, other.fields.len()), (What::Update, 1));
    }

    #[test]
    fn what_a_secret_keeps_is_not_shown() {
        let before = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"a": "MQ==", "b": "Mg=="}});
        let after = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"a": "Mw==", "b": "Mg=="}});
        let change = Change::between(&ObjectId::of(&before), Some(&before), Some(&after));
        insta::assert_snapshot!(change, @r#"
        ~ Secret.v1 /a
            data.a: "***" -> "*** (changed)"
        "#);
    }
}
