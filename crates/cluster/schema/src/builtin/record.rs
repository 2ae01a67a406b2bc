//! How Go holds the values of a definition: what a server writes, and how it words a mistake, depends on it.

use crate::{Reference, Schema, Type};

/// A struct.
#[derive(Debug)]
pub(crate) struct Record {
    /// The name of the definition.
    pub(crate) definition: &'static str,
    /// Sorted by name.
    fields: Vec<Field>,
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// Nothing is told from the type's zero.
    pub(crate) pointer: bool,
    /// Not written when it is empty.
    pub(crate) omit_empty: bool,
    /// Not written when it is the type's zero.
    pub(crate) omit_zero: bool,
    /// The embedded structs that the field comes from, separated by dots; empty for a field of the struct itself.
    pub(crate) inside: &'static str,
    pub(crate) held: Held,
}

/// A type.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) form: Form,
    /// The type's name where the form doesn't tell it, such as `v1.PullPolicy` for a string.
    named: Option<&'static str>,
}

/// What a type is made of.
#[derive(Debug)]
pub(crate) enum Form {
    Record(&'static str),
    List(Box<Held>),
    Map(Box<Held>),
    Bytes,
    Text,
    Integer32,
    Integer64,
    Number,
    Boolean,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// Any JSON, kept as it is.
    Raw,
    /// A schema of a custom resource, or whether anything is allowed.
    SchemaOrBoolean,
    /// A schema of a custom resource, or several.
    SchemaOrList,
    /// A schema of a custom resource, or the names of fields.
    SchemaOrNames,
}

impl Record {
    /// Reads how the fields are held; what they are made of is in the definition's schema.
    pub(super) fn read(definition: &'static str, fields: &'static str) -> Self {
        let schema = super::definition(definition);
        let mut fields: Vec<Field> = fields
            .split(' ')
            .filter_map(|field| {
                let mut parts = field.split(':');
                let name = parts.next()?;
                let flags = parts.next().unwrap_or_default();
                let inside = parts.next().unwrap_or_default();
                let named = [parts.next().unwrap_or_default(), parts.next().unwrap_or_default()];
                let place = schema?.properties.get(name)?;
                Some(Field {
                    name,
                    pointer: flags.contains('p'),
                    omit_empty: flags.contains('o'),
                    omit_zero: flags.contains('z'),
                    inside,
                    held: Held::read(place, &named),
                })
            })
            .collect();
        fields.sort_unstable_by_key(|field| field.name);
        Self { definition, fields }
    }

    /// Returns where the field with this name stands among the fields.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.fields.binary_search_by(|field| field.name.cmp(name)).ok()
    }

    /// Returns the fields, sorted by name.
    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the type's name without its package.
    pub(crate) fn name(&self) -> &'static str {
        self.definition.rsplit('.').next().unwrap_or_default()
    }
}

impl Held {
    /// Returns the type of this form that has no name of its own.
    pub(crate) fn of(form: Form) -> Self {
        Self { form, named: None }
    }

    fn read(place: &Reference, names: &[&'static str]) -> Self {
        let (own, inner) = names
            .split_first()
            .map_or((&"", names), |(own, inner)| (own, inner));
        let form = match place {
            Reference::Inline(schema) => Form::of_schema(schema, inner),
            Reference::Definition { name, .. } => Form::of_definition(name),
        };
        Self {
            form,
            named: (!own.is_empty()).then_some(*own),
        }
    }

    /// Returns the type's name as Go prints it, such as `[]v1.Container`.
    pub(crate) fn type_name(&self) -> String {
        if let Some(named) = self.named {
            return named.to_owned();
        }
        match &self.form {
            Form::Record(definition) => {
                let mut parts = definition.rsplit('.');
                let name = parts.next().unwrap_or_default();
                format!("{}.{name}", parts.next().unwrap_or_default())
            }
            Form::List(items) => format!("[]{}", items.type_name()),
            Form::Map(values) => format!("map[string]{}", values.type_name()),
            Form::Bytes => "[]uint8".into(),
            Form::Text => "string".into(),
            Form::Integer32 => "int32".into(),
            Form::Integer64 => "int64".into(),
            Form::Number => "float64".into(),
            Form::Boolean => "bool".into(),
            Form::Time => "v1.Time".into(),
            Form::MicroTime => "v1.MicroTime".into(),
            Form::Quantity => "resource.Quantity".into(),
            Form::IntOrString => "intstr.IntOrString".into(),
            Form::Raw => "v1.JSON".into(),
            Form::SchemaOrBoolean => "v1.JSONSchemaPropsOrBool".into(),
            Form::SchemaOrList => "v1.JSONSchemaPropsOrArray".into(),
            Form::SchemaOrNames => "v1.JSONSchemaPropsOrStringArray".into(),
        }
    }
}

impl Form {
    fn of_schema(schema: &Schema, names: &[&'static str]) -> Self {
        match (schema.value_type, schema.format.as_deref()) {
            (Type::String, Some("byte")) => Self::Bytes,
            (Type::String, _) => Self::Text,
            (Type::Integer, Some("int32")) => Self::Integer32,
            (Type::Integer, _) => Self::Integer64,
            (Type::Number, _) => Self::Number,
            (Type::Boolean, _) => Self::Boolean,
            (Type::Array, _) => match &schema.items {
                Some(items) => Self::List(Box::new(Held::read(items, names))),
                None => Self::Raw,
            },
            (Type::Object, _) => match &schema.additional_properties {
                Some(values) => Self::Map(Box::new(Held::read(values, names))),
                None => Self::Raw,
            },
            (Type::Any | Type::IntegerOrString, _) => Self::Raw,
        }
    }

    fn of_definition(name: &str) -> Self {
        match name {
            super::QUANTITY => Self::Quantity,
            super::INT_OR_STRING => Self::IntOrString,
            super::TIME => Self::Time,
            super::MICRO_TIME => Self::MicroTime,
            super::JSON_SCHEMA_OR_BOOLEAN => Self::SchemaOrBoolean,
            super::JSON_SCHEMA_OR_LIST => Self::SchemaOrList,
            super::JSON_SCHEMA_OR_NAMES => Self::SchemaOrNames,
            _ => match super::INDEX.entry(name) {
                Some(entry)
                    if super::definition(name).is_some_and(|schema| !schema.preserve_unknown_fields) =>
                {
                    Self::Record(entry.name)
                }
                _ => Self::Raw,
            },
        }
    }
}
