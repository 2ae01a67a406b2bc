//! What the API server fills into a definition, and what it keeps of the old one.

use serde_json::{Map, Value, json};

use super::view::View;
use crate::structural::document::Document;
use crate::structural::formats;

/// The port of a conversion webhook's service when none is given.
const DEFAULT_PORT: u16 = 443;

fn object<'a>(value: &'a mut Value, name: &str) -> Option<&'a mut Map<String, Value>> {
    value.get_mut(name)?.as_object_mut()
}

/// Fills in what a definition leaves out: singular, list kind, conversion, stored versions.
pub fn default(definition: &mut Value) {
    let Some(spec) = definition.get_mut("spec").filter(|spec| spec.is_object()) else {
        return;
    };
    if let Some(names) = object(spec, "names") {
        let kind = names
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let is_missing = |names: &Map<String, Value>, name: &str| {
            names.get(name).and_then(Value::as_str).is_none_or(str::is_empty)
        };
        if !kind.is_empty() {
            if is_missing(names, "singular") {
                names.insert("singular".to_owned(), kind.to_lowercase().into());
            }
            if is_missing(names, "listKind") {
                names.insert("listKind".to_owned(), format!("{kind}List").into());
            }
        }
    }
    if let Some(spec) = spec.as_object_mut() {
        let conversion = spec.entry("conversion").or_insert(Value::Null);
        if conversion.is_null() {
            *conversion = json!({"strategy": "None"});
        }
        if let Some(Value::Object(service)) = conversion.pointer_mut("/webhook/clientConfig/service") {
            let port = service.entry("port").or_insert(Value::Null);
            if port.is_null() {
                *port = DEFAULT_PORT.into();
            }
        }
    }
    let stored = definition
        .pointer("/status/storedVersions")
        .and_then(Value::as_array);
    if stored.is_none_or(Vec::is_empty) {
        add_storage_version(definition);
    }
}

/// Adds the storage version to those that objects may be stored in.
fn add_storage_version(definition: &mut Value) {
    let view = View::of(definition);
    let Some(version) = view
        .versions
        .iter()
        .find(|version| version.flag("storage"))
        .map(|version| Value::from(version.text("name")))
    else {
        return;
    };
    let Some(fields) = definition.as_object_mut() else {
        return;
    };
    let status = fields.entry("status").or_insert(Value::Null);
    if !status.is_object() {
        *status = json!({});
    }
    if let Some(status) = status.as_object_mut() {
        let stored = status.entry("storedVersions").or_insert(Value::Null);
        if !stored.is_array() {
            *stored = json!([]);
        }
        if let Some(stored) = stored.as_array_mut()
            && !stored.contains(&version)
        {
            stored.push(version);
        }
    }
}

/// Makes a definition ready to be created: clients don't write its status.
pub fn prepare_create(definition: &mut Value) {
    if let Some(fields) = definition.as_object_mut() {
        fields.insert(
            "status".to_owned(),
            json!({"acceptedNames": {"kind": "", "plural": ""}, "conditions": null, "storedVersions": null}),
        );
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("generation".to_owned(), 1.into());
        }
    }
    add_storage_version(definition);
}

/// Makes a definition ready to replace an old one: its status is kept, and a changed specification counts.
pub fn prepare_update(new: &mut Value, old: &Value) {
    let is_changed = new.get("spec") != old.get("spec");
    if let Some(fields) = new.as_object_mut() {
        match old.get("status") {
            Some(status) => fields.insert("status".to_owned(), status.clone()),
            None => fields.remove("status"),
        };
        let generation = old
            .pointer("/metadata/generation")
            .and_then(Value::as_i64)
            .unwrap_or_default();
        if is_changed && let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("generation".to_owned(), (generation + 1).into());
        }
    }
    add_storage_version(new);
}

/// Returns the warnings that writing a definition gives: formats that nobody enforces and the old one didn't have.
pub fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let known = old.map(unrecognized_formats).unwrap_or_default();
    unrecognized_formats(new)
        .iter()
        .filter(|format| !known.contains(format))
        .map(|format| format!("unrecognized format {}", gotemplate::format::quoted(format)))
        .collect()
}

fn unrecognized_formats(definition: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for schema in View::of(definition).schemas() {
        schema.any(&mut |node: Document<'_>| {
            if let Some(format) = node.text("format") {
                let is_recognized = match node.type_name() {
                    "" | "string" => formats::check(format).is_some(),
                    "integer" => matches!(format, "int32" | "int64"),
                    "number" => matches!(format, "float" | "double"),
                    _ => false,
                };
                if !is_recognized {
                    found.push(format.to_owned());
                }
            }
            false
        });
    }
    found
}
