//! What a schema means for ownership: which values are leaves, and how the children of the others are told apart.
//!
//! A place may allow a scalar, a list and an object at once (`Any`, or a custom resource that keeps unknown fields); the
//! value then decides which of them counts. Where a schema says nothing at all the shape is deduced: objects are
//! granular, lists are atomic.

use std::sync::LazyLock;

use schema::{ListType, MapType, Reference, Schema, Type};
use serde_json::Value;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// A quantity is a number or text, though its definition doesn't say so in a form that merging understands.
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
/// What a raw extension holds belongs to whoever wrote it, as a whole.
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

static TEXT: LazyLock<Schema> = LazyLock::new(|| Schema {
    value_type: Type::String,
    ..Schema::anything()
});

/// The shape of the values at one place.
#[derive(Debug, Clone, Copy)]
pub enum Shape<'a> {
    /// The schema doesn't have this place.
    Undeclared,
    /// Any value, owned as a whole.
    Untyped,
    /// Any value; objects are owned field by field.
    Deduced,
    /// A scalar of any type.
    Scalar,
    /// What a schema says.
    Declared {
        /// The schema.
        schema: &'a Schema,
        /// Whether a schema around this one keeps unknown fields: what it holds then does, too.
        keeps_unknown: bool,
        /// Whether the place says that the value is one, whatever its own schema says.
        atomic: bool,
        /// Whether the value is a whole object, with a kind and metadata.
        resource: bool,
    },
}

/// The scalars that a place allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarKind {
    /// A number.
    Numeric,
    /// Text.
    Text,
    /// True or false.
    Boolean,
    /// Any of them.
    Any,
}

/// How the items of a list are told apart.
#[derive(Debug, Clone, Copy)]
pub enum ItemNames<'a> {
    /// They aren't: the list is one value.
    Atomic,
    /// By their value.
    Value,
    /// By these fields.
    Keys(&'a [Box<str>]),
}

/// A list and its items.
#[derive(Debug, Clone, Copy)]
pub struct ListShape<'a> {
    /// How items are told apart.
    pub names: ItemNames<'a>,
    /// The shape of each.
    pub item: Item<'a>,
}

/// The shape of a list's items, looked up when it is needed.
#[derive(Debug, Clone, Copy)]
pub enum Item<'a> {
    /// No schema says.
    Untyped,
    /// This one does.
    Declared {
        /// The schema of the items.
        reference: &'a Reference,
        /// Whether the list stands where unknown fields are kept.
        keeps_unknown: bool,
    },
}

/// An object and its fields.
#[derive(Debug, Clone, Copy)]
pub struct MapShape<'a> {
    /// Whether the object is one value.
    pub atomic: bool,
    fields: Fields<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Fields<'a> {
    Untyped,
    Deduced,
    Declared {
        schema: &'a Schema,
        keeps_unknown: bool,
        resource: bool,
    },
}

/// Everything that a place allows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Atom<'a> {
    /// The scalars.
    pub scalar: Option<ScalarKind>,
    /// The lists.
    pub list: Option<ListShape<'a>>,
    /// The objects.
    pub map: Option<MapShape<'a>>,
}

impl<'a> Atom<'a> {
    /// Returns only what allows this value; everything if nothing does, or if it is null.
    pub fn deduced(self, value: Option<&Value>) -> Self {
        match value {
            Some(Value::Number(_) | Value::String(_) | Value::Bool(_)) if self.scalar.is_some() => Self {
                scalar: self.scalar,
                ..Self::default()
            },
            Some(Value::Array(_)) if self.list.is_some() => Self {
                list: self.list,
                ..Self::default()
            },
            Some(Value::Object(_)) if self.map.is_some() => Self {
                map: self.map,
                ..Self::default()
            },
            _ => self,
        }
    }

    /// Returns whether two atoms of the same place allow the same kinds of values.
    pub fn allows_same(&self, other: &Self) -> bool {
        self.scalar.is_some() == other.scalar.is_some()
            && self.list.is_some() == other.list.is_some()
            && self.map.is_some() == other.map.is_some()
    }

    /// Returns the one kind of value that counts: an object before a scalar before a list.
    pub fn chosen(self) -> Chosen<'a> {
        match self {
            Self { map: Some(map), .. } => Chosen::Map(map),
            Self {
                scalar: Some(scalar), ..
            } => Chosen::Scalar(scalar),
            Self { list: Some(list), .. } => Chosen::List(list),
            _ => Chosen::Nothing,
        }
    }
}

/// The one kind of value that counts at a place.
#[derive(Debug, Clone, Copy)]
pub enum Chosen<'a> {
    /// An object.
    Map(MapShape<'a>),
    /// A scalar.
    Scalar(ScalarKind),
    /// A list.
    List(ListShape<'a>),
    /// The place isn't declared.
    Nothing,
}

impl<'a> Shape<'a> {
    /// Returns the shape of whole objects with this schema.
    pub fn of_resource(schema: &'a Schema) -> Self {
        let says_nothing = schema.value_type == Type::Any
            && schema.properties.is_empty()
            && schema.additional_properties.is_none()
            && !schema.preserve_unknown_fields;
        if says_nothing {
            return Self::Deduced;
        }
        let keeps_unknown = schema.preserve_unknown_fields;
        Self::Declared {
            schema,
            keeps_unknown,
            atomic: false,
            resource: true,
        }
    }

    fn of(reference: &'a Reference, keeps_unknown: bool) -> Self {
        match reference {
            Reference::Inline(schema) => Self::Declared {
                schema,
                keeps_unknown: keeps_unknown || schema.preserve_unknown_fields,
                atomic: false,
                resource: schema.embedded_resource,
            },
            Reference::Definition { name, .. } if **name == *QUANTITY => Self::Scalar,
            Reference::Definition { name, .. } if **name == *RAW_EXTENSION => Self::Untyped,
            Reference::Definition { beside, .. } => {
                let schema = reference.schema();
                Self::Declared {
                    schema,
                    keeps_unknown: schema.preserve_unknown_fields,
                    atomic: beside.map_type == MapType::Atomic,
                    resource: false,
                }
            }
        }
    }

    fn of_schema(schema: &'a Schema) -> Self {
        Self::Declared {
            schema,
            keeps_unknown: false,
            atomic: false,
            resource: false,
        }
    }

    /// Returns everything that the place allows.
    pub fn atom(self) -> Atom<'a> {
        let (schema, keeps_unknown, atomic, resource) = match self {
            Self::Undeclared => return Atom::default(),
            Self::Scalar => {
                return Atom {
                    scalar: Some(ScalarKind::Any),
                    ..Atom::default()
                };
            }
            Self::Untyped => {
                return Atom {
                    scalar: Some(ScalarKind::Any),
                    list: Some(ListShape {
                        names: ItemNames::Atomic,
                        item: Item::Untyped,
                    }),
                    map: Some(MapShape {
                        atomic: true,
                        fields: Fields::Untyped,
                    }),
                };
            }
            Self::Deduced => return deduced_atom(),
            Self::Declared {
                schema,
                keeps_unknown,
                atomic,
                resource,
            } => (schema, keeps_unknown, atomic, resource),
        };
        let map = || MapShape {
            atomic: atomic || schema.map_type == MapType::Atomic,
            fields: Fields::Declared {
                schema,
                keeps_unknown,
                resource,
            },
        };
        let list = || ListShape {
            names: if atomic {
                ItemNames::Atomic
            } else {
                item_names(schema)
            },
            item: match &schema.items {
                Some(reference) => Item::Declared {
                    reference,
                    keeps_unknown,
                },
                None => Item::Untyped,
            },
        };
        let scalar = |kind| Atom {
            scalar: Some(kind),
            ..Atom::default()
        };
        match schema.value_type {
            Type::Any => Atom {
                scalar: Some(ScalarKind::Any),
                list: Some(list()),
                map: Some(map()),
            },
            Type::IntegerOrString => deduced_atom(),
            Type::Object => Atom {
                map: Some(map()),
                ..Atom::default()
            },
            Type::Array => Atom {
                list: Some(list()),
                ..Atom::default()
            },
            Type::Integer | Type::Number => scalar(ScalarKind::Numeric),
            Type::Boolean => scalar(ScalarKind::Boolean),
            Type::String => scalar(match schema.format.as_deref() {
                None | Some("" | "byte") => ScalarKind::Text,
                Some(_) => ScalarKind::Any,
            }),
        }
    }
}

fn deduced_atom<'a>() -> Atom<'a> {
    Atom {
        scalar: Some(ScalarKind::Any),
        list: Some(ListShape {
            names: ItemNames::Atomic,
            item: Item::Untyped,
        }),
        map: Some(MapShape {
            atomic: false,
            fields: Fields::Deduced,
        }),
    }
}

fn item_names(schema: &Schema) -> ItemNames<'_> {
    match (&schema.list_type, &schema.patch_strategy) {
        (ListType::Set, _) => ItemNames::Value,
        (ListType::Map(keys), _) => ItemNames::Keys(keys),
        // Types older than list types say how a strategic merge patch treats the list, and mean the same.
        (ListType::Atomic, Some(strategy)) if strategy.merge => match &strategy.merge_key {
            Some(key) => ItemNames::Keys(std::slice::from_ref(key)),
            None => ItemNames::Value,
        },
        (ListType::Atomic, _) => ItemNames::Atomic,
    }
}

impl<'a> Item<'a> {
    /// Returns the shape of the items.
    pub fn shape(self) -> Shape<'a> {
        match self {
            Self::Untyped => Shape::Untyped,
            Self::Declared {
                reference,
                keeps_unknown,
            } => Shape::of(reference, keeps_unknown),
        }
    }
}

impl<'a> MapShape<'a> {
    /// Returns the shape of a field that the schema names.
    pub fn named(&self, name: &str) -> Option<Shape<'a>> {
        let Fields::Declared {
            schema,
            keeps_unknown,
            resource,
        } = self.fields
        else {
            return None;
        };
        let declared = schema.properties.get(name);
        if resource {
            match (name, declared) {
                ("apiVersion" | "kind", _) => return Some(Shape::of_schema(&TEXT)),
                ("metadata", Some(Reference::Definition { .. })) => {}
                // Whatever a custom resource's schema says of metadata, it is every object's metadata.
                ("metadata", _) => {
                    return Some(
                        schema::builtin::definition(OBJECT_META).map_or(Shape::Deduced, Shape::of_schema),
                    );
                }
                _ => {}
            }
        }
        declared.map(|reference| Shape::of(reference, keeps_unknown))
    }

    /// Returns the shape of the fields that the schema doesn't name.
    pub fn unnamed(&self) -> Shape<'a> {
        let Fields::Declared {
            schema,
            keeps_unknown,
            resource,
        } = self.fields
        else {
            return match self.fields {
                Fields::Untyped => Shape::Untyped,
                _ => Shape::Deduced,
            };
        };
        match &schema.additional_properties {
            Some(reference) => Shape::of(reference, keeps_unknown),
            None if keeps_unknown || (schema.properties.is_empty() && !resource) => Shape::Deduced,
            None => Shape::Undeclared,
        }
    }

    /// Returns the shape of the field `name`.
    pub fn field(&self, name: &str) -> Shape<'a> {
        self.named(name).unwrap_or_else(|| self.unnamed())
    }

    /// Returns the default of the field `name`.
    pub fn default_of(&self, name: &str) -> Option<&'a Value> {
        let Fields::Declared { schema, .. } = self.fields else {
            return None;
        };
        let default = match schema.properties.get(name)? {
            Reference::Inline(schema) => schema.default.as_ref(),
            Reference::Definition { beside, .. } => beside.default.as_ref(),
        };
        default.filter(|default| !default.is_null())
    }

    /// Returns whether nothing is said about the object's fields.
    pub fn is_deduced(&self) -> bool {
        match self.fields {
            Fields::Untyped => false,
            Fields::Deduced => true,
            Fields::Declared { schema, resource, .. } => {
                schema.properties.is_empty() && schema.additional_properties.is_none() && !resource
            }
        }
    }
}
