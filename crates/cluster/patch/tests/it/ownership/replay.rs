//! Replays sequences of writes and compares what they make of an object with what is recorded.

use std::collections::BTreeMap;

use patch::ownership::{ApplyError, FieldManager, Filter, Form, ResetFields, Set, Versions};
use schema::Schema;
use serde_json::{Map, Value, json};

/// The versions of a made-up kind: a schema each, and names of their own for some fields of `spec`.
struct Renaming<'a> {
    schemas: BTreeMap<String, Schema>,
    rename: Option<&'a Map<String, Value>>,
}

impl Renaming<'_> {
    fn names(&self, api_version: &str) -> Vec<(&str, &str)> {
        let names = self
            .rename
            .and_then(|rename| rename.get(api_version))
            .and_then(Value::as_object);
        names
            .into_iter()
            .flatten()
            .filter_map(|(hub, here)| Some((hub.as_str(), here.as_str()?)))
            .collect()
    }
}

impl Versions for Renaming<'_> {
    fn schema(&self, api_version: &str) -> Option<&Schema> {
        self.schemas.get(api_version)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        let from = self.names(object["apiVersion"].as_str().unwrap_or_default());
        let to = self.names(api_version);
        let mut object = object.clone();
        object["apiVersion"] = json!(api_version);
        if let Some(Value::Object(spec)) = object.get_mut("spec") {
            *spec = std::mem::take(spec)
                .into_iter()
                .map(|(name, value)| {
                    let hub = from
                        .iter()
                        .find(|(_, here)| *here == name)
                        .map_or(name.as_str(), |(hub, _)| hub);
                    (
                        to.iter()
                            .find(|(name, _)| *name == hub)
                            .map_or(hub, |(_, here)| here)
                            .to_owned(),
                        value,
                    )
                })
                .collect();
        }
        Ok(object)
    }
}

fn reset_fields(case: &Value, subresource: &str) -> ResetFields {
    let by_version = case["reset"][subresource].as_object().into_iter().flatten();
    by_version
        .map(|(version, fields)| {
            (
                version.as_str().into(),
                Filter::Exclude(Set::from_fields_v1(fields).unwrap()),
            )
        })
        .collect()
}

fn schemas(case: &Value) -> BTreeMap<String, Schema> {
    if case["builtin"] == json!(true) {
        let version = case["ops"][0]["object"]["apiVersion"].as_str().unwrap();
        let (group, name) = version.rsplit_once('/').unwrap_or(("", version));
        let schema = schema::builtin::schema_of(group, name, case["kind"].as_str().unwrap()).unwrap();
        return BTreeMap::from([(version.to_owned(), schema.clone())]);
    }
    let schemas = case["schemas"].as_object().unwrap().iter();
    schemas
        .map(|(version, schema)| {
            let typed = schema.get("type").is_some();
            let schema = if typed {
                schema::structural::read(schema).unwrap()
            } else {
                Schema::anything()
            };
            (version.clone(), schema)
        })
        .collect()
}

/// Every time but the one of the last write is this one, so that the order of entries doesn't depend on the clock.
fn with_fixed_times(mut object: Value) -> Value {
    for entry in object["metadata"]["managedFields"]
        .as_array_mut()
        .into_iter()
        .flatten()
    {
        if let Some(time) = entry.get_mut("time")
            && time.as_str() > Some("2026")
        {
            *time = json!("2025-01-01T00:00:00Z");
        }
    }
    if object["metadata"]["managedFields"].is_null() {
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("managedFields");
    }
    object["metadata"]["uid"] = json!("u");
    object
}

/// Returns what is wrong with a message apart from the order of its lines, which is random upstream.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// Replays one recorded case.
pub(crate) fn replay(case: &Value) {
    let name = case["name"].as_str().unwrap();
    let kind = case["kind"].as_str().unwrap();
    let mut versions = Renaming {
        schemas: schemas(case),
        rename: case["rename"].as_object(),
    };
    let now = "2026-06-01T00:00:00Z".parse().unwrap();
    let mut live: Option<Value> = None;
    for (step, (op, expected)) in case["ops"]
        .as_array()
        .unwrap()
        .iter()
        .zip(case["expected"].as_array().unwrap())
        .enumerate()
    {
        if op["schemas"].is_object() {
            versions.schemas = schemas(op);
        }
        let mut object = op["object"].clone();
        let api_version = object["apiVersion"].as_str().unwrap().to_owned();
        let subresource = op["subresource"].as_str().unwrap_or_default();
        let reset_fields = reset_fields(case, subresource);
        if let Some(there) = &live
            && there["apiVersion"] != api_version.as_str()
        {
            live = Some(versions.convert(there, &api_version).unwrap());
        }
        let manager = FieldManager {
            schema: &versions.schemas[&api_version],
            form: Form::Unstructured,
            api_version: &api_version,
            kind,
            subresource,
            reset_fields: &reset_fields,
            versions: &versions,
        };
        let name_of_manager = op["manager"].as_str().unwrap();
        let force = op["force"] == json!(true);
        let result = if op["op"] == "apply" {
            manager
                .apply(live.as_ref(), &object, name_of_manager, force, now)
                .map(|applied| applied.object)
        } else {
            if live.is_some() {
                object["metadata"]["uid"] = json!("u");
            }
            Ok(manager.update(live.as_ref(), object, name_of_manager, now))
        };
        match result {
            Ok(object) => {
                let object = with_fixed_times(object);
                let shown = |value: &Value| serde_json::to_string_pretty(value).unwrap();
                assert!(
                    same(&object, &expected["object"]),
                    "{name}, step {step}:\n{}\nexpected\n{}\nin {case}",
                    shown(&object),
                    shown(expected)
                );
                live = Some(object);
            }
            Err(error) => {
                let text = expected["error"].as_str().unwrap_or_default();
                let code = match &error {
                    ApplyError::Conflicts(_) => 409,
                    ApplyError::Invalid(_) => 400,
                    ApplyError::Failed(_) => 0,
                };
                let shown = error.to_string();
                assert_eq!(lines(&shown), lines(text), "{name}, step {step} in {case}");
                assert_eq!(
                    code,
                    expected["code"].as_i64().unwrap_or_default(),
                    "{name}, step {step}"
                );
                if let ApplyError::Conflicts(conflicts) = &error {
                    let mut causes: Vec<String> = conflicts
                        .iter()
                        .map(|conflict| {
                            format!("FieldManagerConflict|{}|{}", conflict.message(), conflict.path)
                        })
                        .collect();
                    causes.sort();
                    let mut recorded: Vec<&str> = expected["causes"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .filter_map(Value::as_str)
                        .collect();
                    recorded.sort_unstable();
                    assert_eq!(causes, recorded, "{name}, step {step}");
                }
            }
        }
    }
}

/// Whole numbers and floating point numbers of one size are the same in JSON.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}
