//! What the objects of a catalog look like, found by looking at all of them.

use std::collections::BTreeMap;

use catalog::store::{Query, Store, StoreError};
use goyaml::{Numbers, ReadOptions};
use serde_json::{Map, Value};

use super::names::field_name;

/// How many elements of a list are looked at, as upstream has it.
const MAX_SAMPLES: usize = 10;

/// The objects of a catalog, by their schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CatalogShape {
    /// What each schema's objects look like.
    pub schemas: BTreeMap<String, SchemaShape>,
}

/// The objects of a schema.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchemaShape {
    /// The fields by their name in queries.
    pub fields: BTreeMap<String, FieldShape>,
    /// How many objects there are.
    pub objects: usize,
}

/// A field of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldShape {
    /// Its name in the catalog.
    pub original: String,
    /// What its value is, or the elements of its value; objects and lists within are texts.
    pub scalar: Scalar,
    /// Whether it holds a list.
    pub is_list: bool,
    /// The fields of its elements, when these are objects.
    pub elements: BTreeMap<String, FieldShape>,
}

/// What a single value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalar {
    /// A text.
    String,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// Yes or no.
    Boolean,
}

impl Scalar {
    /// The name of the type in queries.
    pub fn name(self) -> &'static str {
        match self {
            Self::String => "String",
            Self::Int => "Int",
            Self::Float => "Float",
            Self::Boolean => "Boolean",
        }
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) => match number.as_f64() {
                Some(number) if number == number as i64 as f64 => Self::Int,
                _ => Self::Float,
            },
            // What is null here is mostly a text elsewhere, and objects and lists are given as text.
            _ => Self::String,
        }
    }
}

/// Reads an object as upstream does: every number is a float.
pub(super) fn object(blob: &[u8]) -> Option<Map<String, Value>> {
    let options = ReadOptions {
        numbers: Numbers::Float64,
        ..ReadOptions::default()
    };
    match goyaml::json::to_value(blob, options) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

impl CatalogShape {
    /// Looks at every object of a store.
    pub fn of(store: &Store) -> Result<Self, StoreError> {
        let mut shape = Self::default();
        for meta in store.metas(Query::default()) {
            if !meta.schema().is_empty() {
                shape.add(meta.schema(), meta.blob()?);
            }
        }
        Ok(shape)
    }

    /// Adds an object.
    pub fn add(&mut self, schema: &str, blob: &[u8]) {
        if !self.schemas.contains_key(schema) {
            self.schemas.insert(schema.to_owned(), SchemaShape::default());
        }
        if let (Some(shape), Some(object)) = (self.schemas.get_mut(schema), object(blob)) {
            shape.objects += 1;
            shape.add(object);
        }
    }
}

impl SchemaShape {
    fn add(&mut self, object: Map<String, Value>) {
        for (key, value) in object {
            let name = field_name(&key);
            let found = FieldShape::of(key, &value);
            match self.fields.get_mut(&name) {
                None => {
                    self.fields.insert(name, found);
                }
                // The first object says what a field is; later ones only add what elements have.
                Some(known) => merge(&mut known.elements, found.elements),
            }
        }
    }
}

impl FieldShape {
    fn of(original: String, value: &Value) -> Self {
        let Value::Array(items) = value else {
            return Self {
                original,
                scalar: Scalar::of(value),
                is_list: false,
                elements: BTreeMap::new(),
            };
        };
        let samples: Vec<&Value> = items
            .iter()
            .take(MAX_SAMPLES)
            .filter(|item| !item.is_null())
            .collect();
        let mut elements = BTreeMap::new();
        for object in samples.iter().filter_map(|sample| sample.as_object()) {
            merge(&mut elements, element_fields(object));
        }
        let first = samples.first().copied().unwrap_or(&Value::Null);
        let are_alike = samples.iter().all(|sample| kind(sample) == kind(first));
        let has_objects = samples.iter().any(|sample| sample.is_object());
        let scalar = if are_alike || has_objects {
            Scalar::of(first)
        } else {
            Scalar::String
        };
        Self {
            original,
            scalar,
            is_list: true,
            elements,
        }
    }
}

/// The fields of an object within a list; what lies deeper is text.
fn element_fields(object: &Map<String, Value>) -> BTreeMap<String, FieldShape> {
    let mut fields = BTreeMap::new();
    for (key, value) in object {
        let (scalar, is_list) = match value {
            Value::Array(items) => (Scalar::of(items.first().unwrap_or(&Value::Null)), true),
            single => (Scalar::of(single), false),
        };
        fields.insert(
            field_name(key),
            FieldShape {
                original: key.clone(),
                scalar,
                is_list,
                elements: BTreeMap::new(),
            },
        );
    }
    fields
}

fn merge(known: &mut BTreeMap<String, FieldShape>, found: BTreeMap<String, FieldShape>) {
    for (name, field) in found {
        known.entry(name).or_insert(field);
    }
}

fn kind(value: &Value) -> std::mem::Discriminant<Value> {
    std::mem::discriminant(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(objects: &[&str]) -> SchemaShape {
        let mut catalog = CatalogShape::default();
        for object in objects {
            catalog.add("x", object.as_bytes());
        }
        catalog.schemas.remove("x").expect("the schema")
    }

    fn described(shape: &SchemaShape, field: &str) -> String {
        let field = &shape.fields[field];
        let elements: Vec<&str> = field.elements.keys().map(String::as_str).collect();
        let list = if field.is_list { "[]" } else { "" };
        format!("{list}{}{{{}}}", field.scalar.name(), elements.join(","))
    }

    #[test]
    fn elements_are_the_union_of_ten_and_mixed_values_are_texts() {
        let many: Vec<String> = (0..12).map(|number| format!("{{\"k{number}\": 1}}")).collect();
        let shape = shape(&[&format!(
            "{{\"mixed\": [1, \"a\"], \"objects\": [{}], \"null\": [null, 1.5], \"empty\": [{{}}], \"both\": [1, {{\"a\": 1}}]}}",
            many.join(",")
        )]);
        assert_eq!(described(&shape, "mixed"), "[]String{}");
        assert_eq!(
            described(&shape, "objects"),
            "[]String{k0,k1,k2,k3,k4,k5,k6,k7,k8,k9}"
        );
        assert_eq!(described(&shape, "null"), "[]Float{}");
        assert_eq!(described(&shape, "empty"), "[]String{}");
        assert_eq!(described(&shape, "both"), "[]Int{a}");
    }

    #[test]
    fn the_first_object_decides_and_later_ones_add() {
        let shape = shape(&[
            "{\"a\": 1, \"list\": [{\"x\": 1}]}",
            "{\"a\": \"text\", \"b\": true, \"list\": [{\"y\": 1}]}",
            "not json",
        ]);
        assert_eq!(described(&shape, "a"), "Int{}");
        assert_eq!(described(&shape, "b"), "Boolean{}");
        assert_eq!(described(&shape, "list"), "[]String{x,y}");
        assert_eq!(shape.objects, 2);
    }
}
