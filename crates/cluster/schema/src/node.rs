//! One node of a type: what a value at this place may be, and how two of them merge.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

/// What values a place may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Type {
    /// Anything: the schema names no type (and, in a custom resource, keeps unknown fields).
    #[default]
    Any,
    /// A JSON object.
    Object,
    /// A JSON array.
    Array,
    /// A string.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// A whole number or a string, such as a port or a percentage.
    IntegerOrString,
}

/// How the items of a list are told apart when two lists merge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ListType {
    /// The list is one value: who writes it owns all of it.
    #[default]
    Atomic,
    /// The items are scalars, each at most once.
    Set,
    /// The items are objects, told apart by these fields.
    Map(Vec<Box<str>>),
}

/// Whether the fields of an object are owned one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MapType {
    /// Each field has its own owner.
    #[default]
    Granular,
    /// The object is one value: who writes it owns all of it.
    Atomic,
}

/// How a strategic merge patch treats a field (`x-kubernetes-patch-strategy`, `x-kubernetes-patch-merge-key`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PatchStrategy {
    /// Lists merge item by item.
    pub merge: bool,
    /// Fields that the patch doesn't name in `$retainKeys` are removed.
    pub retain_keys: bool,
    /// The field that tells the items of a merged list apart; `None` for lists of scalars.
    pub merge_key: Option<Box<str>>,
}

/// A schema inside another one.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// Written in place, as in every CustomResourceDefinition.
    Inline(Arc<Schema>),
    /// A definition of the built-in kinds, such as `io.k8s.api.core.v1.Container`. The definitions hold each other in
    /// circles (`JSONSchemaProps`), so they are resolved when they are reached.
    Definition {
        /// The definition's name.
        name: Arc<str>,
        /// What the place of the reference says beyond the definition: a default, or how a list merges.
        beside: Arc<Schema>,
    },
}

impl Reference {
    /// Returns the schema that is meant. A name that no definition has gives a schema that allows anything.
    pub fn schema(&self) -> &Schema {
        match self {
            Self::Inline(schema) => schema,
            Self::Definition { name, .. } => crate::builtin::definition(name).unwrap_or(&ANYTHING),
        }
    }
}

static ANYTHING: Schema = Schema::anything();

/// One node of a type.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Schema {
    /// What values are allowed.
    pub value_type: Type,
    /// The `format`, such as `int32`, `date-time`, `byte`.
    pub format: Option<Box<str>>,
    /// Whether `null` is allowed.
    pub nullable: bool,
    /// The fields of an object.
    pub properties: BTreeMap<Box<str>, Reference>,
    /// The schema of the fields that `properties` doesn't name: the values of a map.
    pub additional_properties: Option<Reference>,
    /// The schema of an array's items.
    pub items: Option<Reference>,
    /// The fields that an object must have.
    pub required: Vec<Box<str>>,
    /// How lists merge.
    pub list_type: ListType,
    /// How objects merge.
    pub map_type: MapType,
    /// How a strategic merge patch treats the field.
    pub patch_strategy: Option<Box<PatchStrategy>>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown_fields: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded_resource: bool,
    /// What the field is when it isn't written.
    pub default: Option<Value>,
    /// What else a custom resource's schema demands.
    pub demands: Option<Box<crate::structural::Demands>>,
}

impl Schema {
    /// Returns the schema that allows anything.
    pub const fn anything() -> Self {
        Self {
            value_type: Type::Any,
            format: None,
            nullable: false,
            properties: BTreeMap::new(),
            additional_properties: None,
            items: None,
            required: Vec::new(),
            list_type: ListType::Atomic,
            map_type: MapType::Granular,
            patch_strategy: None,
            preserve_unknown_fields: false,
            embedded_resource: false,
            default: None,
            demands: None,
        }
    }

    /// Returns the schema of the field `name` of an object: its own property, else the one for all others.
    pub fn field(&self, name: &str) -> Option<&Schema> {
        self.properties
            .get(name)
            .or(self.additional_properties.as_ref())
            .map(Reference::schema)
    }
}
