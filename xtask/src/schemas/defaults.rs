//! The defaults that a server's `/openapi/v3` gives fields.
//!
//! They show how a field is held in Go: a field that is always written and holds a value, not a pointer, has its type's
//! zero as default. The published definitions don't say which fields hold pointers, so there are rules that fit most,
//! and a list of the fields that they don't fit.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use serde_json::{Value, json};

/// Definitions whose values write and read themselves, so that their zero isn't an empty object.
const SELF_WRITTEN: [&str; 10] = [
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
    "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
];

/// The fields that the rules don't fit.
pub(super) struct Exceptions {
    listed: BTreeMap<(&'static str, &'static str), Option<Value>>,
    used: RefCell<BTreeSet<(String, String)>>,
}

impl Exceptions {
    /// Reads the list.
    pub(super) fn read() -> Result<Self, Box<dyn Error>> {
        let mut listed = BTreeMap::new();
        for line in include_str!("defaults.txt")
            .lines()
            .filter(|line| !line.starts_with('#'))
        {
            let mut parts = line.splitn(3, ' ');
            let (Some(definition), Some(field), Some(default)) = (parts.next(), parts.next(), parts.next())
            else {
                return Err(
                    format!("defaults.txt: {line:?} isn't a definition, a field and a default").into(),
                );
            };
            let default = if default == "none" {
                None
            } else {
                Some(serde_json::from_str(default)?)
            };
            listed.insert((definition, field), default);
        }
        Ok(Self {
            listed,
            used: RefCell::default(),
        })
    }

    /// Returns the default that the list gives a field, or what the rules say where it doesn't name the field.
    fn or_rule(&self, definition: &str, field: &str, rule: impl FnOnce() -> Option<Value>) -> Option<Value> {
        let Some((_, default)) = self.listed.iter().find(|(key, _)| **key == (definition, field)) else {
            return rule();
        };
        self.used
            .borrow_mut()
            .insert((definition.to_owned(), field.to_owned()));
        default.clone()
    }

    /// Fails if the list names a field that no definition has any more.
    pub(super) fn all_used(&self) -> Result<(), Box<dyn Error>> {
        let used = self.used.borrow();
        match self
            .listed
            .keys()
            .find(|(definition, field)| !used.contains(&((*definition).into(), (*field).into())))
        {
            Some((definition, field)) => {
                Err(format!("defaults.txt: no definition {definition} has {field}").into())
            }
            None => Ok(()),
        }
    }
}

/// Adds the defaults to the fields of a definition.
pub(super) fn add(name: &str, shape: &mut Value, exceptions: &Exceptions) {
    let is_kind = shape.get("x-kubernetes-group-version-kind").is_some();
    let required: BTreeSet<String> = shape
        .get("required")
        .and_then(Value::as_array)
        .map(|names| {
            names
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect()
        })
        .unwrap_or_default();
    let Some(properties) = shape.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (field, property) in properties {
        let default = exceptions.or_rule(name, field, || {
            let is_part_of_kind =
                field == "metadata" || is_kind && matches!(field.as_str(), "spec" | "status");
            let has_value = required.contains(field) || property.get("allOf").is_some() && is_part_of_kind;
            has_value.then(|| zero(property)).flatten()
        });
        set(property, default);
        add_to_elements(property);
    }
}

/// Elements of lists and maps hold values, never pointers.
fn add_to_elements(shape: &mut Value) {
    for place in ["items", "additionalProperties"] {
        if let Some(element) = shape.get_mut(place) {
            let default = zero(element);
            set(element, default);
            add_to_elements(element);
        }
    }
}

fn set(shape: &mut Value, default: Option<Value>) {
    if let (Some(fields), Some(default)) = (shape.as_object_mut(), default) {
        fields.insert("default".into(), default);
    }
    bare_reference(shape);
}

/// A reference that says nothing else isn't wrapped.
fn bare_reference(shape: &mut Value) {
    let Some(fields) = shape.as_object_mut() else {
        return;
    };
    if fields.len() == 1
        && let Some(reference) = fields
            .get_mut("allOf")
            .and_then(|all| all.get_mut(0))
            .map(Value::take)
    {
        *shape = reference;
    }
}

fn zero(shape: &Value) -> Option<Value> {
    if let Some(target) = shape.pointer("/allOf/0/$ref").and_then(Value::as_str) {
        let name = target.rsplit('/').next().unwrap_or_default();
        return (!SELF_WRITTEN.contains(&name)).then(|| json!({}));
    }
    if matches!(
        shape.get("format").and_then(Value::as_str),
        Some("byte" | "date-time")
    ) {
        return None;
    }
    match shape.get("type").and_then(Value::as_str) {
        Some("string") => Some(json!("")),
        Some("integer") => Some(json!(0)),
        Some("boolean") => Some(json!(false)),
        _ => None,
    }
}
