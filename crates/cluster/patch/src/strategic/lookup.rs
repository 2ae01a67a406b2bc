//! What the type says about a field: how it merges, and what is inside.

use schema::node::{PatchStrategy, Reference, Schema, Type};

use crate::PatchError;
use crate::go_text::quoted;

/// A place in a type.
#[derive(Clone, Copy)]
pub(super) struct Lookup<'a> {
    /// The type of what is merged here: of the object, or of the items of the list.
    reference: Option<&'a Reference>,
    strategy: Option<&'a PatchStrategy>,
}

impl<'a> Lookup<'a> {
    /// Returns the place of an object of this type.
    pub(super) fn new(definition: &'a Reference) -> Self {
        Self {
            reference: Some(definition),
            strategy: None,
        }
    }

    /// Returns whether the patch takes the object's place.
    ///
    /// A strategy that is written down but neither merges nor retains keys is `replace`.
    pub(super) fn replaces(&self) -> bool {
        self.strategy
            .is_some_and(|strategy| !strategy.merge && !strategy.retain_keys)
    }

    /// Returns whether the lists merge item by item.
    pub(super) fn merges(&self) -> bool {
        self.strategy.is_some_and(|strategy| strategy.merge)
    }

    /// Returns the field that tells the items of the list apart; empty if there is none.
    pub(super) fn merge_key(&self) -> &'a str {
        self.strategy
            .and_then(|strategy| strategy.merge_key.as_deref())
            .unwrap_or_default()
    }

    /// Returns the place of a field that is an object.
    pub(super) fn object(self, name: &str) -> Result<Self, PatchError> {
        let field = self.field(name)?;
        Ok(Self {
            reference: Some(field),
            strategy: strategy_of(field),
        })
    }

    /// Returns the place of the items of a field that is a list.
    pub(super) fn list(self, name: &str) -> Result<Self, PatchError> {
        let field = self.field(name)?;
        let schema = field.schema();
        if schema.value_type != Type::Array {
            return Err(PatchError::Internal(
                "expected slice or array type, but got: struct".to_owned(),
            ));
        }
        let items = schema.items.as_ref();
        if items.is_some_and(|items| items.schema().value_type == Type::Array) {
            return Err(PatchError::Internal("unexpected slice of slice".to_owned()));
        }
        Ok(Self {
            reference: items,
            strategy: strategy_of(field),
        })
    }

    /// Returns the kind of Go type that the value here has.
    pub(super) fn kind(&self) -> &'static str {
        let Some(reference) = self.reference else {
            return "interface";
        };
        let schema = reference.schema();
        match (reference, schema.value_type) {
            (Reference::Definition { .. }, Type::Object | Type::Any | Type::IntegerOrString) => "struct",
            (Reference::Definition { .. }, Type::String) if schema.format.is_some() => "struct",
            (_, Type::Object) if !schema.properties.is_empty() => "struct",
            (_, Type::Object) => "map",
            (_, Type::Array) => "slice",
            (_, Type::String) => "string",
            (_, Type::Integer) if schema.format.as_deref() == Some("int64") => "int64",
            (_, Type::Integer) => "int32",
            (_, Type::Number) => "float64",
            (_, Type::Boolean) => "bool",
            (_, Type::Any | Type::IntegerOrString) => "interface",
        }
    }

    /// Returns the name of the Go type: the last part of the definition's.
    fn type_name(&self) -> &'a str {
        match self.reference {
            Some(Reference::Definition { name, .. }) => {
                name.rsplit_once('.').map_or(&**name, |(_, last)| last)
            }
            _ => "",
        }
    }

    fn field(self, name: &str) -> Result<&'a Reference, PatchError> {
        let kind = self.kind();
        let Some(schema) = self.reference.map(Reference::schema).filter(|_| kind == "struct") else {
            return Err(PatchError::Internal(format!(
                "merging an object in json but data type is not struct, instead is: {kind}"
            )));
        };
        field_of(schema, name).ok_or_else(|| {
            PatchError::Internal(format!(
                "unable to find api field in struct {} for the json field {}",
                self.type_name(),
                quoted(name)
            ))
        })
    }
}

/// Returns the field of this name, or else the one that has it in other letter case, as Go's JSON finds it.
fn field_of<'a>(schema: &'a Schema, name: &str) -> Option<&'a Reference> {
    schema.properties.get(name).or_else(|| {
        let (_, field) = schema
            .properties
            .iter()
            .find(|(candidate, _)| candidate.eq_ignore_ascii_case(name))?;
        Some(field)
    })
}

/// Returns how a field merges: what is said beside a reference counts, not what the definition says about itself.
fn strategy_of(field: &Reference) -> Option<&PatchStrategy> {
    let schema = match field {
        Reference::Inline(schema) => schema,
        Reference::Definition { beside, .. } => beside,
    };
    schema.patch_strategy.as_deref()
}
