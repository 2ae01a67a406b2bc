//! One thing that must hold of an object.

use api::cluster_object_set::{self, ConditionEqual, FieldValue, FieldsEqual};
use gotemplate::format::quoted;
use goyaml::json::{Escape, go_type, to_string};
use serde_json::Value;

use super::workload;
use super::{ProbeError, ProbeResult, ProbeStatus};
use crate::object::generation;

/// One thing that must hold of an object.
#[derive(Debug, Clone)]
pub(super) enum Assertion {
    Condition(ConditionEqual),
    Fields(FieldsEqual),
    Value(FieldValue),
}

impl Assertion {
    pub(super) fn read(assertion: &cluster_object_set::Assertion) -> Result<Self, ProbeError> {
        Ok(match assertion.kind.as_str() {
            "ConditionEqual" => Self::Condition(assertion.condition_equal.clone().unwrap_or_default()),
            "FieldsEqual" => Self::Fields(assertion.fields_equal.clone().unwrap_or_default()),
            "FieldValue" => Self::Value(assertion.field_value.clone().unwrap_or_default()),
            other => return Err(ProbeError::Assertion(other.to_owned())),
        })
    }

    pub(super) fn ask(&self, object: &Value) -> ProbeResult {
        match self {
            Self::Condition(wanted) => condition(object, wanted),
            Self::Fields(wanted) => fields(object, wanted),
            Self::Value(wanted) => value(object, wanted),
        }
    }
}

fn condition(object: &Value, wanted: &ConditionEqual) -> ProbeResult {
    let ConditionEqual { kind, status } = wanted;
    let unknown = |message: String| ProbeResult::new(ProbeStatus::Unknown, message);
    let is = |found: &str| {
        let holds = if found == status {
            ProbeStatus::True
        } else {
            ProbeStatus::False
        };
        ProbeResult::new(holds, format!(".status.condition[\"{kind}\"] is {found}"))
    };
    let derived = || workload::derived_condition(object, kind).map(is);
    let conditions = match object.get("status").and_then(|status| status.get("conditions")) {
        Some(Value::Array(conditions)) => conditions,
        Some(_) => return unknown("malformed .status.conditions".to_owned()),
        None => return derived().unwrap_or_else(|| unknown("missing .status.conditions".to_owned())),
    };
    for condition in conditions {
        let Some(condition) = condition.as_object() else {
            return unknown("malformed .status.conditions".to_owned());
        };
        if condition.get("type").and_then(Value::as_str) != Some(kind) {
            continue;
        }
        let observed = condition.get("observedGeneration").and_then(Value::as_i64);
        if observed.is_some_and(|observed| observed != generation(object)) {
            return unknown(format!(".status.condition[\"{kind}\"] outdated"));
        }
        return match condition.get("status") {
            Some(Value::String(found)) => is(found),
            other => is(&other.map(Value::to_string).unwrap_or_default()),
        };
    }
    derived().unwrap_or_else(|| unknown(format!("missing .status.condition[\"{kind}\"]")))
}

fn fields(object: &Value, wanted: &FieldsEqual) -> ProbeResult {
    let FieldsEqual { field_a, field_b } = wanted;
    let missing = |field: &str| ProbeResult::new(ProbeStatus::False, format!("\"{field}\" missing"));
    let found = |field: &str| match at(object, field) {
        Ok(Some(value)) => Some(value.clone()),
        _ => workload::unwritten_count(object, field),
    };
    let Some(left) = found(field_a) else {
        return missing(field_a);
    };
    let Some(right) = found(field_b) else {
        return missing(field_b);
    };
    if left == right {
        return ProbeResult::new(ProbeStatus::True, format!("\"{field_a}\" == \"{field_b}\""));
    }
    ProbeResult::new(
        ProbeStatus::False,
        format!(
            "\"{field_a}\" != \"{field_b}\" expected: {} got: {}",
            as_json(&left),
            as_json(&right)
        ),
    )
}

fn value(object: &Value, wanted: &FieldValue) -> ProbeResult {
    let FieldValue { field_path, value } = wanted;
    let path = quoted(field_path);
    let (status, message) = match at(object, field_path) {
        Err(error) => (ProbeStatus::False, format!("error locating key {path}; {error}")),
        Ok(None) => (ProbeStatus::False, format!("missing key: {path}")),
        Ok(Some(Value::String(found))) if found == value => (
            ProbeStatus::True,
            format!("value at key {path} == {}", quoted(value)),
        ),
        Ok(Some(found)) => (
            ProbeStatus::False,
            format!(
                "value at key {path} != {}; expected: {} got: {}",
                quoted(value),
                as_json(&Value::from(value.as_str())),
                as_json(found)
            ),
        ),
    };
    ProbeResult::new(status, message)
}

/// Follows a path of field names with dots between them; a dot at either end counts for nothing.
fn at<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut found = object;
    let mut passed = String::new();
    for field in path.trim_matches('.').split('.') {
        passed.push('.');
        passed.push_str(field);
        found = match found {
            Value::Null => return Ok(None),
            Value::Object(map) => match map.get(field) {
                Some(value) => value,
                None => return Ok(None),
            },
            other => {
                return Err(format!(
                    "{passed} accessor error: {} is of the type {}, expected map[string]interface{{}}",
                    other.as_str().map_or_else(|| as_json(other), str::to_owned),
                    go_type(other)
                ));
            }
        };
    }
    Ok(Some(found))
}

fn as_json(value: &Value) -> String {
    to_string(value, Escape::Html).unwrap_or_else(|_| value.to_string())
}
