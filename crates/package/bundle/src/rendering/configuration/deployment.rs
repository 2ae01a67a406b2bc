//! `deploymentConfig` as the Go type that OLM v1 reads it into.

use std::borrow::Cow;

use goyaml::Error;
use goyaml::json::Escape;
use goyaml::typed::{GoType, Reader, decode};
use serde_json::{Map, Value};

use crate::registry::object_of;
use crate::rendering::quantity;
use crate::validation::unstructured;

/// The type of `deploymentConfig`: OLM v1 took it over from the Subscriptions of OLM v0.
pub(super) const DEPLOYMENT_CONFIG: &str = "v1alpha1.SubscriptionConfig";

const DEPLOYMENT_CONFIG_FIELDS: [(&str, &str); 10] = [
    ("selector", "*v1.LabelSelector"),
    ("nodeSelector", "map:string"),
    ("tolerations", "[]v1.Toleration"),
    ("resources", "*v1.ResourceRequirements"),
    ("envFrom", "[]v1.EnvFromSource"),
    ("env", "[]v1.EnvVar"),
    ("volumes", "[]v1.Volume"),
    ("volumeMounts", "[]v1.VolumeMount"),
    ("affinity", "*v1.Affinity"),
    ("annotations", "map:string"),
];

/// A field of a Go struct.
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) type_name: &'static str,
    /// The struct inside the struct that has the field, where it isn't the struct itself.
    embedded: Option<&'static str>,
}

/// The fields of a struct, those of embedded structs in their place.
pub(super) fn fields(type_name: &str) -> Vec<Field> {
    let declared = match type_name {
        DEPLOYMENT_CONFIG => &DEPLOYMENT_CONFIG_FIELDS[..],
        _ => unstructured::fields(type_name),
    };
    let mut all = Vec::with_capacity(declared.len());
    for (name, type_name) in declared {
        if *name == "@" {
            let embedded = type_name.rsplit_once('.').map(|(_, short)| short);
            all.extend(
                fields(type_name)
                    .into_iter()
                    .map(|field| Field { embedded, ..field }),
            );
        } else {
            all.push(Field {
                name,
                type_name,
                embedded: None,
            });
        }
    }
    all
}

/// Reads `deploymentConfig` as Go does: unknown fields are dropped, quantities get the form that Kubernetes gives them.
pub(super) fn read(value: &Value) -> Result<Value, Error> {
    decode::<DeploymentConfig>(value).map(|config| Value::Object(config.0))
}

/// The quantities that Kubernetes can't read, each with its place: Go's error tells neither.
pub(super) fn faulty_quantities(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    find_faulty(value, DEPLOYMENT_CONFIG, "deploymentConfig", &mut found);
    found
}

fn find_faulty(value: &Value, type_name: &str, place: &str, found: &mut Vec<String>) {
    let type_name = type_name.strip_prefix('*').unwrap_or(type_name);
    match value {
        Value::Array(items) => {
            let element = type_name.strip_prefix("[]").unwrap_or_default();
            for (number, item) in items.iter().enumerate() {
                find_faulty(item, element, &format!("{place}.{number}"), found);
            }
        }
        Value::Object(entries) => {
            let fields = fields(type_name);
            for (key, item) in entries {
                let field = fields.iter().find(|field| field.name == key);
                let of_map = type_name.strip_prefix("map:");
                if let Some(type_name) = field.map(|field| field.type_name).or(of_map) {
                    find_faulty(item, type_name, &format!("{place}.{key}"), found);
                }
            }
        }
        _ if type_name == "!resource.Quantity" && read_itself(value, &type_name[1..]).is_err() => {
            found.push(format!("{place}: {value} is no quantity, such as 500m or 1Gi"));
        }
        _ => {}
    }
}

#[derive(Default)]
struct DeploymentConfig(Map<String, Value>);

impl GoType for DeploymentConfig {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed(DEPLOYMENT_CONFIG)
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), Error> {
        read_struct(value, DEPLOYMENT_CONFIG, &mut self.0, reader)
    }
}

fn read_struct(
    value: &Value,
    type_name: &'static str,
    target: &mut Map<String, Value>,
    reader: &mut Reader,
) -> Result<(), Error> {
    let fields = fields(type_name);
    let names: Vec<_> = fields.iter().map(|field| field.name).collect();
    reader.structure(value, type_name, &names, |reader, name, item| {
        let Some(field) = fields.iter().find(|field| field.name == name) else {
            return Ok(());
        };
        reader.field(None, field.embedded, |reader| {
            let mut read = target.remove(name).unwrap_or_default();
            read_value(item, field.type_name, &mut read, reader)?;
            if !read.is_null() {
                target.insert(name.to_owned(), read);
            }
            Ok(())
        })
    })
}

fn read_value(
    value: &Value,
    type_name: &'static str,
    target: &mut Value,
    reader: &mut Reader,
) -> Result<(), Error> {
    if value.is_null() {
        return Ok(());
    }
    if let Some(pointee) = type_name.strip_prefix('*') {
        return read_value(value, pointee, target, reader);
    }
    if let Some(own_reader) = type_name.strip_prefix('!') {
        *target = read_itself(value, own_reader).map_err(|message| reader.stop(message))?;
        return Ok(());
    }
    if let Some(element) = type_name.strip_prefix("[]") {
        return read_list(value, type_name, element, target, reader);
    }
    if let Some(element) = type_name.strip_prefix("map:") {
        return read_map(value, element, target, reader);
    }
    if !unstructured::fields(type_name).is_empty() {
        if value.is_object() {
            return read_struct(value, type_name, object_of(target), reader);
        }
        reader.mismatch(value, type_name);
        return Ok(());
    }
    read_scalar(value, type_name, target, reader);
    Ok(())
}

fn read_list(
    value: &Value,
    type_name: &'static str,
    element: &'static str,
    target: &mut Value,
    reader: &mut Reader,
) -> Result<(), Error> {
    let Value::Array(items) = value else {
        let named = element.split_once('=').map(|(_, name)| format!("[]{name}"));
        reader.mismatch(value, named.as_deref().unwrap_or(type_name));
        return Ok(());
    };
    let mut list = Vec::with_capacity(items.len());
    for item in items {
        let mut read = Value::Null;
        read_value(item, element, &mut read, reader)?;
        list.push(read);
    }
    *target = Value::Array(list);
    Ok(())
}

fn read_map(
    value: &Value,
    element: &'static str,
    target: &mut Value,
    reader: &mut Reader,
) -> Result<(), Error> {
    let Value::Object(entries) = value else {
        // The only maps of something else than text are lists of resources, which have a name.
        let named = if element == "string" {
            "map[string]string"
        } else {
            "v1.ResourceList"
        };
        reader.mismatch(value, named);
        return Ok(());
    };
    let map = object_of(target);
    for (key, item) in entries {
        let mut read = Value::Null;
        read_value(item, element, &mut read, reader)?;
        map.insert(key.clone(), read);
    }
    Ok(())
}

fn read_scalar(value: &Value, type_name: &'static str, target: &mut Value, reader: &mut Reader) {
    let (kind, named) = type_name.split_once('=').unwrap_or((type_name, type_name));
    match (kind, value) {
        ("string", Value::String(_)) | ("bool", Value::Bool(_)) => target.clone_from(value),
        ("int32" | "int64", Value::Number(_)) => {
            let text = json_text(value);
            let number = text.parse::<i64>().ok();
            let fitting = number.filter(|number| kind == "int64" || i32::try_from(*number).is_ok());
            if let Some(number) = fitting {
                *target = number.into();
            } else {
                let error = reader.mismatch_of(&format!("number {text}"), named);
                reader.report(error.to_string());
            }
        }
        _ => reader.mismatch(value, named),
    }
}

/// What a type that reads itself makes of a value.
fn read_itself(value: &Value, type_name: &str) -> Result<Value, String> {
    if type_name == "resource.Quantity" {
        let text = match value {
            Value::String(text) => text.clone(),
            other => json_text(other),
        };
        return quantity::canonical(text.trim())
            .map(Value::from)
            .map_err(|error| error.to_string());
    }
    unstructured::read_itself(value, type_name).map(|()| value.clone())
}

fn json_text(value: &Value) -> String {
    // Data that came from text can always be written again.
    goyaml::json::to_string(value, Escape::Html).unwrap_or_default()
}
