//! Schemas of custom resources, as far as other rules look into them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use goyaml::go_struct;
use goyaml::typed::{GoType, Reader};
use serde_json::Value;

use crate::validation::printed::printed_struct;

/// A schema in the third version of `OpenAPI`.
#[expect(clippy::struct_excessive_bools, reason = "the fields are OpenAPI's")]
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Schema {
    id: String,
    dialect: String,
    reference: Option<String>,
    description: String,
    pub(super) kind: String,
    nullable: bool,
    format: String,
    title: String,
    default: Option<Value>,
    maximum: Option<f64>,
    exclusive_maximum: bool,
    minimum: Option<f64>,
    exclusive_minimum: bool,
    max_length: Option<i64>,
    min_length: Option<i64>,
    pattern: String,
    max_items: Option<i64>,
    min_items: Option<i64>,
    unique_items: bool,
    multiple_of: Option<f64>,
    enumeration: Vec<Value>,
    max_properties: Option<i64>,
    min_properties: Option<i64>,
    required: Vec<String>,
    items: Option<SchemaOrArray>,
    all_of: Vec<Schema>,
    one_of: Vec<Schema>,
    any_of: Vec<Schema>,
    not: Option<Box<Schema>>,
    pub(super) properties: BTreeMap<String, Schema>,
    pub(super) additional_properties: Option<SchemaOrBool>,
    pattern_properties: BTreeMap<String, Schema>,
    dependencies: BTreeMap<String, SchemaOrStrings>,
    additional_items: Option<SchemaOrBool>,
    definitions: BTreeMap<String, Schema>,
    external_docs: Option<ExternalDocumentation>,
    example: Option<Value>,
    preserve_unknown_fields: Option<bool>,
    embedded_resource: bool,
    int_or_string: bool,
    list_map_keys: Vec<String>,
    list_type: Option<String>,
    map_type: Option<String>,
    validations: Vec<ValidationRule>,
}
go_struct!(Schema, "v1.JSONSchemaProps", {
    "id" => id, "$schema" => dialect, "$ref" => reference, "description" => description, "type" => kind,
    "format" => format, "title" => title, "default" => default, "maximum" => maximum,
    "exclusiveMaximum" => exclusive_maximum, "minimum" => minimum, "exclusiveMinimum" => exclusive_minimum,
    "maxLength" => max_length, "minLength" => min_length, "pattern" => pattern, "maxItems" => max_items,
    "minItems" => min_items, "uniqueItems" => unique_items, "multipleOf" => multiple_of, "enum" => enumeration,
    "maxProperties" => max_properties, "minProperties" => min_properties, "required" => required, "items" => items,
    "allOf" => all_of, "oneOf" => one_of, "anyOf" => any_of, "not" => not, "properties" => properties,
    "additionalProperties" => additional_properties, "patternProperties" => pattern_properties,
    "dependencies" => dependencies, "additionalItems" => additional_items, "definitions" => definitions,
    "externalDocs" => external_docs, "example" => example, "nullable" => nullable,
    "x-kubernetes-preserve-unknown-fields" => preserve_unknown_fields,
    "x-kubernetes-embedded-resource" => embedded_resource, "x-kubernetes-int-or-string" => int_or_string,
    "x-kubernetes-list-map-keys" => list_map_keys, "x-kubernetes-list-type" => list_type,
    "x-kubernetes-map-type" => map_type, "x-kubernetes-validations" => validations,
});
printed_struct!(Schema, {
    "ID" => id, "Schema" => dialect, "Ref" => reference, "Description" => description, "Type" => kind,
    "Nullable" => nullable, "Format" => format, "Title" => title, "Default" => default, "Maximum" => maximum,
    "ExclusiveMaximum" => exclusive_maximum, "Minimum" => minimum, "ExclusiveMinimum" => exclusive_minimum,
    "MaxLength" => max_length, "MinLength" => min_length, "Pattern" => pattern, "MaxItems" => max_items,
    "MinItems" => min_items, "UniqueItems" => unique_items, "MultipleOf" => multiple_of, "Enum" => enumeration,
    "MaxProperties" => max_properties, "MinProperties" => min_properties, "Required" => required, "Items" => items,
    "AllOf" => all_of, "OneOf" => one_of, "AnyOf" => any_of, "Not" => not, "Properties" => properties,
    "AdditionalProperties" => additional_properties, "PatternProperties" => pattern_properties,
    "Dependencies" => dependencies, "AdditionalItems" => additional_items, "Definitions" => definitions,
    "ExternalDocs" => external_docs, "Example" => example, "XPreserveUnknownFields" => preserve_unknown_fields,
    "XEmbeddedResource" => embedded_resource, "XIntOrString" => int_or_string, "XListMapKeys" => list_map_keys,
    "XListType" => list_type, "XMapType" => map_type, "XValidations" => validations,
});

/// Where to read more about a field.
#[derive(Debug, Clone, Default, PartialEq)]
struct ExternalDocumentation {
    description: String,
    url: String,
}
go_struct!(ExternalDocumentation, "v1.ExternalDocumentation", { "description" => description, "url" => url });
printed_struct!(ExternalDocumentation, { "Description" => description, "URL" => url });

/// A rule in CEL.
#[derive(Debug, Clone, Default, PartialEq)]
struct ValidationRule {
    rule: String,
    message: String,
    message_expression: String,
    reason: Option<String>,
    field_path: String,
    optional_old_self: Option<bool>,
}
go_struct!(ValidationRule, "v1.ValidationRule", {
    "rule" => rule, "message" => message, "messageExpression" => message_expression, "reason" => reason,
    "fieldPath" => field_path, "optionalOldSelf" => optional_old_self,
});
printed_struct!(ValidationRule, {
    "Rule" => rule, "Message" => message, "MessageExpression" => message_expression, "Reason" => reason,
    "FieldPath" => field_path, "OptionalOldSelf" => optional_old_self,
});

/// One schema for all items, or one for each.
#[derive(Debug, Clone, Default, PartialEq)]
struct SchemaOrArray {
    schema: Option<Box<Schema>>,
    schemas: Vec<Schema>,
}
printed_struct!(SchemaOrArray, { "Schema" => schema, "JSONSchemas" => schemas });

impl GoType for SchemaOrArray {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("v1.JSONSchemaPropsOrArray")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), goyaml::Error> {
        match value {
            Value::Object(_) => self.schema.read(value, reader),
            Value::Array(_) => self.schemas.read(value, reader),
            _ => Ok(()),
        }
    }
}

/// A schema for what has none, or whether it may be there.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct SchemaOrBool {
    allows: bool,
    pub(super) schema: Option<Box<Schema>>,
}
printed_struct!(SchemaOrBool, { "Allows" => allows, "Schema" => schema });

impl GoType for SchemaOrBool {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("v1.JSONSchemaPropsOrBool")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), goyaml::Error> {
        match value {
            Value::Object(_) => {
                self.allows = true;
                self.schema.read(value, reader)
            }
            Value::Bool(allows) => {
                self.allows = *allows;
                Ok(())
            }
            _ => Err(reader.stop("boolean or JSON schema expected".to_owned())),
        }
    }
}

/// A schema that applies when a field is there, or the fields that must then be there too.
#[derive(Debug, Clone, Default, PartialEq)]
struct SchemaOrStrings {
    schema: Option<Box<Schema>>,
    property: Vec<String>,
}
printed_struct!(SchemaOrStrings, { "Schema" => schema, "Property" => property });

impl GoType for SchemaOrStrings {
    fn go_name() -> Cow<'static, str> {
        Cow::Borrowed("v1.JSONSchemaPropsOrStringArray")
    }

    fn read(&mut self, value: &Value, reader: &mut Reader) -> Result<(), goyaml::Error> {
        match value {
            Value::Object(_) => self.schema.read(value, reader),
            Value::Array(_) => self.property.read(value, reader),
            _ => Ok(()),
        }
    }
}

impl Schema {
    /// Whether a default is given anywhere in the schema.
    pub(super) fn has_defaults(&self) -> bool {
        let deep = |schema: &Option<Box<Schema>>| schema.as_ref().is_some_and(|schema| schema.has_defaults());
        self.default.is_some()
            || self
                .items
                .as_ref()
                .is_some_and(|items| deep(&items.schema) || items.schemas.iter().any(Self::has_defaults))
            || [&self.all_of, &self.any_of, &self.one_of]
                .into_iter()
                .flatten()
                .any(Self::has_defaults)
            || deep(&self.not)
            || [&self.properties, &self.pattern_properties, &self.definitions]
                .into_iter()
                .flat_map(BTreeMap::values)
                .any(Self::has_defaults)
            || [&self.additional_properties, &self.additional_items]
                .into_iter()
                .flatten()
                .any(|either| deep(&either.schema))
            || self.dependencies.values().any(|either| deep(&either.schema))
    }

    /// What keeps the schema from being a structural one at all, as far as its form goes.
    pub(super) fn is_convertible(&self) -> bool {
        self.id.is_empty()
            && self.dialect.is_empty()
            && self.reference.is_none()
            && self.pattern_properties.is_empty()
            && self.dependencies.is_empty()
            && self.additional_items.is_none()
            && self.definitions.is_empty()
            && self.items.as_ref().is_none_or(|items| {
                items.schemas.is_empty() && items.schema.as_ref().is_none_or(|schema| schema.is_convertible())
            })
            && self.properties.values().all(Self::is_convertible)
            && self
                .additional_properties
                .as_ref()
                .and_then(|either| either.schema.as_ref())
                .is_none_or(|schema| schema.is_convertible())
    }
}
