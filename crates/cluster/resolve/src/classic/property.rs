//! Properties: what a bundle says of itself, each a type and a JSON text.

use goyaml::json::{Escape, to_string};
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use thiserror::Error;

use super::api_set::ApiSet;

/// The annotation in which a ClusterServiceVersion carries the properties of the bundle that it came from.
pub const PROPERTIES_ANNOTATION: &str = "operatorframework.io/properties";

pub(super) const PACKAGE: &str = "olm.package";
pub(super) const KIND: &str = "olm.gvk";
pub(super) const LABEL: &str = "olm.label";
pub(super) const DEPRECATED: &str = "olm.deprecated";
pub(super) const KIND_REQUIRED: &str = "olm.gvk.required";
pub(super) const PACKAGE_REQUIRED: &str = "olm.package.required";
pub(super) const LABEL_REQUIRED: &str = "olm.label.required";
pub(super) const CONSTRAINT: &str = "olm.constraint";

/// One thing that a bundle says of itself, as catalogs send it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Property {
    /// The type, such as `olm.package`.
    pub kind: String,
    /// The value, as JSON text.
    pub value: String,
}

impl Property {
    /// Returns a property.
    pub fn new(kind: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            value: value.into(),
        }
    }
}

/// Properties that can't be read from an annotation, or written to one.
#[derive(Debug, Error)]
pub enum AnnotationError {
    /// The annotation isn't JSON of the expected form.
    #[error("failed to unmarshal properties annotation: {0}")]
    Read(String),
    /// The value of a property isn't JSON.
    #[error("failed to marshal properties annotation: property {kind} isn't JSON: {cause}")]
    Write {
        /// The type of the property.
        kind: String,
        /// What is wrong with it.
        cause: serde_json::Error,
    },
}

/// Reads properties from the annotation of a ClusterServiceVersion.
pub fn from_annotation(text: &str) -> Result<Vec<Property>, AnnotationError> {
    #[derive(serde::Deserialize)]
    struct One<'a> {
        #[serde(rename = "type", default)]
        kind: String,
        #[serde(borrow, default)]
        value: Option<&'a RawValue>,
    }
    #[derive(serde::Deserialize)]
    struct All<'a> {
        #[serde(borrow, default)]
        properties: Option<Vec<One<'a>>>,
    }
    let all: All<'_> =
        serde_json::from_str(text).map_err(|error| AnnotationError::Read(error.to_string()))?;
    let property = |one: One<'_>| Property::new(one.kind, one.value.map_or("null", RawValue::get));
    Ok(all.properties.into_iter().flatten().map(property).collect())
}

/// Writes properties as the annotation of a ClusterServiceVersion, byte for byte as upstream does.
pub fn to_annotation(properties: &[Property]) -> Result<String, AnnotationError> {
    let mut text = String::from("{");
    for (index, property) in properties.iter().enumerate() {
        text.push_str(if index == 0 { "\"properties\":[" } else { "," });
        let fault = |cause| AnnotationError::Write {
            kind: property.kind.clone(),
            cause,
        };
        serde_json::from_str::<IgnoredAny>(&property.value).map_err(fault)?;
        text.push_str("{\"type\":");
        text.push_str(&written(&property.kind));
        text.push_str(",\"value\":");
        compact(&property.value, &mut text);
        text.push('}');
    }
    text.push_str(if properties.is_empty() { "}" } else { "]}" });
    Ok(text)
}

/// Appends valid JSON as Go embeds it: without blanks between tokens, and with HTML's characters escaped.
fn compact(json: &str, into: &mut String) {
    let (mut in_text, mut escaped) = (false, false);
    for character in json.chars() {
        match character {
            '<' => into.push_str("\\u003c"),
            '>' => into.push_str("\\u003e"),
            '&' => into.push_str("\\u0026"),
            '\u{2028}' => into.push_str("\\u2028"),
            '\u{2029}' => into.push_str("\\u2029"),
            ' ' | '\t' | '\r' | '\n' if !in_text => {}
            other => into.push(other),
        }
        in_text ^= character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
    }
}

fn written<T: Serialize + ?Sized>(value: &T) -> String {
    to_string(value, Escape::Html).unwrap_or_default()
}

/// Returns an `olm.package` property.
pub(super) fn package(name: &str, version: &str) -> Property {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Written<'a> {
        package_name: &'a str,
        version: &'a str,
    }
    let written = written(&Written {
        package_name: name,
        version,
    });
    Property::new(PACKAGE, written)
}

/// Returns `olm.gvk` properties for what is provided.
pub(super) fn provided(apis: &ApiSet) -> Vec<Property> {
    #[derive(Serialize)]
    struct Written<'a> {
        group: &'a str,
        kind: &'a str,
        version: &'a str,
    }
    kinds(KIND, apis, |group, version, kind| {
        written(&Written { group, kind, version })
    })
}

/// Returns `olm.gvk.required` properties for what is required.
pub(super) fn required(apis: &ApiSet) -> Vec<Property> {
    kinds(KIND_REQUIRED, apis, required_kind)
}

/// Returns the value of an `olm.gvk.required` property.
pub(super) fn required_kind(group: &str, version: &str, kind: &str) -> String {
    #[derive(Serialize)]
    struct Written<'a> {
        group: &'a str,
        version: &'a str,
        kind: &'a str,
    }
    written(&Written { group, version, kind })
}

/// Returns the value of an `olm.package.required` property.
pub(super) fn required_package(name: &str, range: &str) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Written<'a> {
        package_name: &'a str,
        version_range: &'a str,
    }
    written(&Written {
        package_name: name,
        version_range: range,
    })
}

fn kinds(property: &str, apis: &ApiSet, value: impl Fn(&str, &str, &str) -> String) -> Vec<Property> {
    let mut properties: Vec<Property> = apis
        .iter()
        .map(|api| Property::new(property, value(&api.group, &api.version, &api.kind)))
        .collect();
    properties.sort_by(|one, other| one.value.cmp(&other.value));
    properties
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_is_written_as_go_writes_it_and_read_back() {
        let properties = [
            Property::new(
                "olm.package",
                "{ \"packageName\": \"a b\",\n\"version\":\"1.0.0\"}",
            ),
            Property::new(
                "olm.package.required",
                r#"{"packageName":"c","versionRange":">=1.0.0 \"<"}"#,
            ),
        ];
        let text = to_annotation(&properties).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"properties":[{"type":"olm.package","value":{"packageName":"a b","version":"1.0.0"}},"#,
                r#"{"type":"olm.package.required","value":{"packageName":"c","versionRange":"\u003e=1.0.0 \"\u003c"}}]}"#
            )
        );
        assert_eq!(to_annotation(&from_annotation(&text).unwrap()).unwrap(), text);
        assert_eq!(to_annotation(&[]).unwrap(), "{}");
    }

    #[test]
    fn a_value_that_is_no_json_is_refused() {
        assert!(to_annotation(&[Property::new("a", "{")]).is_err());
        assert!(from_annotation("[").is_err());
    }
}
