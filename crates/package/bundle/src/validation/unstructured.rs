//! Objects without a type, and how Kubernetes gives them one: strictly by key, in the order of the type's fields.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::object_metadata::{is_rfc3339, time_fault};

/// The Go types that a `ClusterServiceVersion` is made of: a line with a type's name, then a line per field with key and
/// type. `@` is a field whose own fields stand in its place, `!` a type that reads itself.
const TYPES: &str = include_str!("cluster_service_version.types.txt");

/// The type that [`convert`] gives an object.
const CLUSTER_SERVICE_VERSION: &str = "v1alpha1.ClusterServiceVersion";

type Fields = Vec<(&'static str, &'static str)>;

static STRUCTS: LazyLock<HashMap<&'static str, Fields>> = LazyLock::new(|| {
    let mut structs: HashMap<&str, Fields> = HashMap::new();
    let mut current = "";
    for line in TYPES.lines() {
        match line.strip_prefix(' ') {
            None => current = line,
            Some(field) => {
                if let Some(field) = field.split_once(' ') {
                    structs.entry(current).or_default().push(field);
                }
            }
        }
    }
    structs
});

/// The fields of a Go type, each with its key and its type; none for what is no struct in the table.
pub(crate) fn fields(type_name: &str) -> &'static [(&'static str, &'static str)] {
    STRUCTS.get(type_name).map(Vec::as_slice).unwrap_or_default()
}

/// What became of an object that was given a type.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Converted {
    /// What was taken over, up to the first fault.
    pub(super) object: Value,
    /// The first fault, in the words of Kubernetes.
    pub(super) fault: Option<String>,
}

/// Gives an object the type of a `ClusterServiceVersion`, as `DefaultUnstructuredConverter` does.
pub(super) fn convert(object: &Value) -> Converted {
    let mut taken = Map::new();
    let fault = structure(object, CLUSTER_SERVICE_VERSION, &mut taken).err();
    Converted {
        object: Value::Object(taken),
        fault,
    }
}

fn structure(value: &Value, name: &str, taken: &mut Map<String, Value>) -> Result<(), String> {
    let Value::Object(entries) = value else {
        return Err(format!("cannot restore struct from: {}", kind(value)));
    };
    for (key, type_name) in fields(name) {
        if *key == "@" {
            structure(value, type_name, taken)?;
            continue;
        }
        let Some(item) = entries.get(*key).filter(|item| !item.is_null()) else {
            continue;
        };
        let mut target = Value::Null;
        let result = fill(item, type_name, &mut target);
        // What was read before a fault stays, as it does in Go.
        if !target.is_null() {
            taken.insert((*key).to_owned(), target);
        }
        result?;
    }
    Ok(())
}

fn fill(value: &Value, type_name: &str, target: &mut Value) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    if let Some(pointee) = type_name.strip_prefix('*') {
        return fill(value, pointee, target);
    }
    if let Some(own_reader) = type_name.strip_prefix('!') {
        read_itself(value, own_reader)?;
        target.clone_from(value);
        return Ok(());
    }
    if let Some(element) = type_name.strip_prefix("[]") {
        if element == "uint8" && value.is_string() {
            target.clone_from(value);
            return Ok(());
        }
        let Value::Array(items) = value else {
            return Err(format!("cannot restore slice from {}", kind(value)));
        };
        // The list has its full length from the start; what comes after a fault stays empty.
        let mut list = vec![Value::Null; items.len()];
        let result = items
            .iter()
            .zip(&mut list)
            .try_for_each(|(item, slot)| fill(item, element, slot));
        *target = Value::Array(list);
        return result;
    }
    if let Some(element) = type_name.strip_prefix("map:") {
        let Value::Object(entries) = value else {
            return Err(format!("cannot restore map from {}", kind(value)));
        };
        let mut map = Map::new();
        let result = entries.iter().try_for_each(|(key, item)| {
            let mut element_value = Value::Null;
            fill(item, element, &mut element_value)?;
            map.insert(key.clone(), element_value);
            Ok(())
        });
        *target = Value::Object(map);
        return result;
    }
    if STRUCTS.contains_key(type_name) {
        let mut map = Map::new();
        let result = structure(value, type_name, &mut map);
        *target = Value::Object(map);
        return result;
    }
    scalar(value, type_name)?;
    target.clone_from(value);
    Ok(())
}

/// Whether a value fits a simple type, which may have a name of its own after `=`.
fn scalar(value: &Value, type_name: &str) -> Result<(), String> {
    let (go_kind, go_name) = type_name.split_once('=').unwrap_or((type_name, type_name));
    let is_integer = matches!(go_kind, "int" | "int32" | "int64");
    let is_float = matches!(go_kind, "float32" | "float64");
    let fits = match value {
        Value::String(_) => go_kind == "string",
        Value::Bool(_) => go_kind == "bool",
        Value::Number(number) if number.is_f64() => {
            is_float || is_integer && number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        Value::Number(_) => is_integer || is_float,
        _ => false,
    };
    if fits {
        return Ok(());
    }
    // Go can make a string of an integer, or one number of another, but won't here; of the rest it knows nothing.
    let convertible = match kind(value) {
        "int64" => go_kind != "bool",
        "float64" => is_integer,
        _ => false,
    };
    Err(if convertible {
        format!("cannot convert {} to {go_name}", kind(value))
    } else {
        format!("unrecognized type: {go_kind}")
    })
}

/// What a type that reads itself says of a value.
pub(crate) fn read_itself(value: &Value, go_name: &str) -> Result<(), String> {
    let not_text = || {
        format!(
            "json: cannot unmarshal {} into Go value of type string",
            goyaml::json::kind_word(value)
        )
    };
    match go_name {
        "version.OperatorVersion" => {
            let text = value.as_str().ok_or_else(not_text)?;
            version::Version::parse_tolerant(text)
                .map(|_| ())
                .map_err(|error| error.to_string())
        }
        "release.OperatorRelease" => {
            let text = value.as_str().ok_or_else(not_text)?;
            text.split('.').try_for_each(release_segment)
        }
        "v1.Time" => {
            let text = value.as_str().ok_or_else(not_text)?;
            if is_rfc3339(text) {
                Ok(())
            } else {
                Err(time_fault(text))
            }
        }
        "intstr.IntOrString" => match value {
            Value::String(_) => Ok(()),
            Value::Number(number)
                if number
                    .as_i64()
                    .is_some_and(|number| i32::try_from(number).is_ok()) =>
            {
                Ok(())
            }
            _ => Err(format!(
                "json: cannot unmarshal {} into Go value of type int32",
                match value {
                    Value::Number(number) => format!("number {number}"),
                    _ => goyaml::json::kind_word(value).to_owned(),
                }
            )),
        },
        _ => Ok(()),
    }
}

/// What is wrong with one part of a release; its length is no matter here.
fn release_segment(segment: &str) -> Result<(), String> {
    // The empty text alone would be the empty release, which is fine elsewhere.
    match version::Release::parse(&format!("0.{segment}")) {
        Err(version::ReleaseError::Segments { wrong, .. }) => Err(wrong
            .first()
            .map(|(_, error)| error.to_string())
            .unwrap_or_default()),
        _ => Ok(()),
    }
}

/// The kind that Go's reflection sees in untyped data.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_fault_ends_the_reading_and_what_came_before_stays() {
        let converted = convert(&json!({
            "metadata": {"name": "a"},
            "spec": {"displayName": "A", "keywords": "x", "provider": {"name": "p"}, "minKubeVersion": "1.20.0"},
        }));
        assert_eq!(
            converted.fault.as_deref(),
            Some("cannot restore slice from string")
        );
        assert_eq!(
            converted.object,
            json!({"metadata": {"name": "a"}, "spec": {"displayName": "A", "minKubeVersion": "1.20.0"}})
        );
    }

    #[test]
    fn faults_are_worded_as_kubernetes_words_them() {
        for (spec, fault) in [
            (json!({"links": [{"name": true}]}), "unrecognized type: string"),
            (json!({"links": [{"name": 1}]}), "cannot convert int64 to string"),
            (json!({"links": [{"name": 1.5}]}), "unrecognized type: string"),
            (json!({"links": [1]}), "cannot restore struct from: int64"),
            (json!({"labels": 1}), "cannot restore map from int64"),
            (json!({"cleanup": {"enabled": "x"}}), "unrecognized type: bool"),
            (
                json!({"version": "1.0-x"}),
                "Short version cannot contain PreRelease/Build meta data",
            ),
            (json!("x"), "cannot restore struct from: string"),
            (
                json!({"installModes": [{"type": 1}]}),
                "cannot convert int64 to v1alpha1.InstallModeType",
            ),
        ] {
            assert_eq!(
                convert(&json!({"spec": spec})).fault.as_deref(),
                Some(fault),
                "{spec}"
            );
        }
        assert_eq!(convert(&json!({"Spec": 1, "kind": "x"})).fault, None);
    }
}
