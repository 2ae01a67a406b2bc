//! The types that queries about a catalog are checked against.

use std::collections::BTreeMap;

use super::document::TypeReference;
use super::inference::{CatalogShape, FieldShape};
use super::names::{root_field_name, type_name};
use super::parser::type_reference;

/// The type that queries begin at.
pub(super) const QUERY: &str = "Query";

/// The types with values of their own.
const SCALARS: [(&str, &str); 4] = [
    (
        "Boolean",
        "The `Boolean` scalar type represents `true` or `false`.",
    ),
    (
        "Float",
        "The `Float` scalar type represents signed double-precision fractional values as specified by \
         [IEEE 754](http://en.wikipedia.org/wiki/IEEE_floating_point). ",
    ),
    (
        "Int",
        "The `Int` scalar type represents non-fractional signed whole numeric values. Int can represent values between \
         -(2^31) and 2^31 - 1. ",
    ),
    (
        "String",
        "The `String` scalar type represents textual data, represented as UTF-8 character sequences. The String type is \
         most often used by GraphQL to represent free-form human-readable text.",
    ),
];

/// The fields of the types that describe types.
const DESCRIBING: [(&str, &[(&str, &str)]); 6] = [
    (
        "__Schema",
        &[
            ("types", "[__Type!]!"),
            ("queryType", "__Type!"),
            ("mutationType", "__Type"),
            ("subscriptionType", "__Type"),
            ("directives", "[__Directive!]!"),
        ],
    ),
    (
        "__Type",
        &[
            ("kind", "__TypeKind!"),
            ("name", "String"),
            ("description", "String"),
            ("fields", "[__Field!]"),
            ("interfaces", "[__Type!]"),
            ("possibleTypes", "[__Type!]"),
            ("enumValues", "[__EnumValue!]"),
            ("inputFields", "[__InputValue!]"),
            ("ofType", "__Type"),
        ],
    ),
    (
        "__Field",
        &[
            ("name", "String!"),
            ("description", "String"),
            ("args", "[__InputValue!]!"),
            ("type", "__Type!"),
            ("isDeprecated", "Boolean!"),
            ("deprecationReason", "String"),
        ],
    ),
    (
        "__InputValue",
        &[
            ("name", "String!"),
            ("description", "String"),
            ("type", "__Type!"),
            ("defaultValue", "String"),
        ],
    ),
    (
        "__EnumValue",
        &[
            ("name", "String!"),
            ("description", "String"),
            ("isDeprecated", "Boolean!"),
            ("deprecationReason", "String"),
        ],
    ),
    (
        "__Directive",
        &[
            ("name", "String!"),
            ("description", "String"),
            ("locations", "[__DirectiveLocation!]!"),
            ("args", "[__InputValue!]!"),
            ("onOperation", "Boolean!"),
            ("onFragment", "Boolean!"),
            ("onField", "Boolean!"),
        ],
    ),
];

/// The values of the enumerations that describe types.
const ENUMERATIONS: [(&str, &[&str]); 2] = [
    (
        "__TypeKind",
        &[
            "SCALAR",
            "OBJECT",
            "INTERFACE",
            "UNION",
            "ENUM",
            "INPUT_OBJECT",
            "LIST",
            "NON_NULL",
        ],
    ),
    (
        "__DirectiveLocation",
        &[
            "QUERY",
            "MUTATION",
            "SUBSCRIPTION",
            "FIELD",
            "FRAGMENT_DEFINITION",
            "FRAGMENT_SPREAD",
            "INLINE_FRAGMENT",
            "SCHEMA",
            "SCALAR",
            "OBJECT",
            "FIELD_DEFINITION",
            "ARGUMENT_DEFINITION",
            "INTERFACE",
            "UNION",
            "ENUM",
            "ENUM_VALUE",
            "INPUT_OBJECT",
            "INPUT_FIELD_DEFINITION",
        ],
    ),
];

/// A directive that queries may know of.
#[derive(Debug)]
pub(super) struct DirectiveDefinition {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) locations: &'static [&'static str],
    pub(super) argument: ArgumentDefinition,
}

/// An argument of a field or directive.
#[derive(Debug, Clone)]
pub(super) struct ArgumentDefinition {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) kind: TypeReference,
    /// The default as it is written in a query.
    pub(super) default: Option<&'static str>,
}

/// A field of a type.
#[derive(Debug, Clone)]
pub(super) struct FieldDefinition {
    pub(super) kind: TypeReference,
    pub(super) arguments: Vec<ArgumentDefinition>,
    pub(super) deprecated: Option<&'static str>,
    /// The name that the field has in the catalog.
    pub(super) original: String,
}

/// A type with a name.
#[derive(Debug)]
pub(super) enum TypeDefinition {
    Scalar(&'static str),
    Enumeration(&'static [&'static str]),
    Object(BTreeMap<String, FieldDefinition>),
}

/// All types of a catalog, and where each root field leads.
#[derive(Debug)]
pub struct Types {
    pub(super) named: BTreeMap<String, TypeDefinition>,
    pub(super) directives: Vec<DirectiveDefinition>,
    /// The schema that each root field lists.
    pub(super) roots: BTreeMap<String, String>,
    pub(super) shape: CatalogShape,
}

/// Why a catalog's objects can't be queried: two of their names become one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// Two schemas have the same type.
    #[error(
        "type name collision: schemas {} and {} both sanitize to GraphQL type {}",
        gotemplate::format::quoted(first),
        gotemplate::format::quoted(second),
        gotemplate::format::quoted(name)
    )]
    Type {
        /// One schema.
        first: String,
        /// The other.
        second: String,
        /// Their type.
        name: String,
    },
    /// Two schemas have the same root field.
    #[error(
        "query field collision: schemas {} and {} both map to field {}",
        gotemplate::format::quoted(first),
        gotemplate::format::quoted(second),
        gotemplate::format::quoted(name)
    )]
    Field {
        /// One schema.
        first: String,
        /// The other.
        second: String,
        /// Their field.
        name: String,
    },
    /// A schema's type has the name of another type.
    #[error(
        "failed to create GraphQL schema: schema must contain unique named types, but several are called {}",
        gotemplate::format::quoted(.0)
    )]
    Taken(String),
    /// A schema's name begins with a digit.
    #[error(
        "failed to create GraphQL schema: Names must match /^[_a-zA-Z][_a-zA-Z0-9]*$/ but {} does not.",
        gotemplate::format::quoted(.0)
    )]
    Name(String),
}

/// Reads one of the types above; each of them is a type.
fn reference(text: &str) -> TypeReference {
    type_reference(text).unwrap_or_else(|| TypeReference::Named(text.to_owned()))
}

fn list_of(name: String) -> TypeReference {
    TypeReference::List(Box::new(TypeReference::Named(name)))
}

fn plain(kind: &str) -> FieldDefinition {
    FieldDefinition {
        kind: reference(kind),
        arguments: Vec::new(),
        deprecated: None,
        original: String::new(),
    }
}

fn argument(name: &'static str, kind: &str, default: &'static str) -> ArgumentDefinition {
    ArgumentDefinition {
        name,
        description: match name {
            "limit" => "Maximum number of items to return",
            "offset" => "Number of items to skip",
            _ => "",
        },
        kind: reference(kind),
        default: Some(default),
    }
}

impl Types {
    /// Makes the types of a catalog.
    pub fn of(shape: CatalogShape) -> Result<Self, TypeError> {
        let mut types = Self {
            named: BTreeMap::new(),
            directives: directives(),
            roots: BTreeMap::new(),
            shape: CatalogShape::default(),
        };
        types.add_fixed();
        Self::check_names(&shape)?;
        let mut root = BTreeMap::from([("summary".to_owned(), plain("CatalogSummary"))]);
        for (schema, objects) in &shape.schemas {
            let name = type_name(schema);
            let mut fields = BTreeMap::new();
            for (field, found) in &objects.fields {
                fields.insert(field.clone(), types.field(&name, field, found)?);
            }
            types.add(&name, TypeDefinition::Object(fields))?;
            let field = root_field_name(schema);
            if field.starts_with(|first: char| first.is_ascii_digit()) {
                return Err(TypeError::Name(field));
            }
            root.insert(
                field.clone(),
                FieldDefinition {
                    kind: list_of(name),
                    arguments: vec![argument("limit", "Int", "100"), argument("offset", "Int", "0")],
                    deprecated: None,
                    original: String::new(),
                },
            );
            types.roots.insert(field, schema.clone());
        }
        types.add(QUERY, TypeDefinition::Object(root))?;
        types.shape = shape;
        Ok(types)
    }

    /// The types that every catalog has.
    fn add_fixed(&mut self) {
        for (name, description) in SCALARS {
            self.named
                .insert(name.to_owned(), TypeDefinition::Scalar(description));
        }
        for (name, values) in ENUMERATIONS {
            self.named
                .insert(name.to_owned(), TypeDefinition::Enumeration(values));
        }
        for (name, fields) in DESCRIBING {
            let mut definitions: BTreeMap<String, FieldDefinition> = fields
                .iter()
                .map(|(field, kind)| ((*field).to_owned(), plain(kind)))
                .collect();
            for field in ["fields", "enumValues"] {
                if let Some(definition) = definitions.get_mut(field) {
                    definition.arguments = vec![argument("includeDeprecated", "Boolean", "false")];
                }
            }
            for field in ["onOperation", "onFragment", "onField"] {
                if let Some(definition) = definitions.get_mut(field) {
                    definition.deprecated = Some("Use `locations`.");
                }
            }
            self.named
                .insert(name.to_owned(), TypeDefinition::Object(definitions));
        }
        let fixed = |fields: &[(&str, &str)]| {
            let fields = fields
                .iter()
                .map(|(name, kind)| ((*name).to_owned(), plain(kind)));
            TypeDefinition::Object(fields.collect())
        };
        let summary = [("totalSchemas", "Int"), ("schemas", "[SchemaSummary]")];
        self.named.insert("CatalogSummary".to_owned(), fixed(&summary));
        let schema = [
            ("name", "String"),
            ("totalObjects", "Int"),
            ("totalFields", "Int"),
        ];
        self.named.insert("SchemaSummary".to_owned(), fixed(&schema));
    }

    fn check_names(shape: &CatalogShape) -> Result<(), TypeError> {
        let mut types: BTreeMap<String, &str> = BTreeMap::new();
        for schema in shape.schemas.keys() {
            let name = type_name(schema);
            if let Some(first) = types.insert(name.clone(), schema) {
                return Err(TypeError::Type {
                    first: first.to_owned(),
                    second: schema.clone(),
                    name,
                });
            }
        }
        let mut fields: BTreeMap<String, &str> = BTreeMap::new();
        for schema in shape.schemas.keys() {
            let name = root_field_name(schema);
            if let Some(first) = fields.insert(name.clone(), schema) {
                return Err(TypeError::Field {
                    first: first.to_owned(),
                    second: schema.clone(),
                    name,
                });
            }
        }
        Ok(())
    }

    fn field(&mut self, owner: &str, name: &str, found: &FieldShape) -> Result<FieldDefinition, TypeError> {
        let kind = if found.elements.is_empty() {
            scalar_field(found)
        } else {
            let nested = format!("{owner}{}", type_name(name));
            let fields = found.elements.iter().map(|(field, element)| {
                let definition = FieldDefinition {
                    kind: scalar_field(element),
                    arguments: Vec::new(),
                    deprecated: None,
                    original: element.original.clone(),
                };
                (field.clone(), definition)
            });
            let definition = TypeDefinition::Object(fields.collect());
            self.add(&nested, definition)?;
            list_of(nested)
        };
        Ok(FieldDefinition {
            kind,
            arguments: Vec::new(),
            deprecated: None,
            original: found.original.clone(),
        })
    }

    fn add(&mut self, name: &str, definition: TypeDefinition) -> Result<(), TypeError> {
        match self.named.insert(name.to_owned(), definition) {
            None => Ok(()),
            Some(_) => Err(TypeError::Taken(name.to_owned())),
        }
    }

    /// The fields of a type; none if it has no fields.
    pub(super) fn fields(&self, name: &str) -> Option<&BTreeMap<String, FieldDefinition>> {
        match self.named.get(name)? {
            TypeDefinition::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// A field of a type, or one that every type has.
    pub(super) fn field_of(&self, parent: &str, name: &str) -> Option<std::borrow::Cow<'_, FieldDefinition>> {
        use std::borrow::Cow;
        if let Some(field) = self.fields(parent)?.get(name) {
            return Some(Cow::Borrowed(field));
        }
        match name {
            "__typename" => Some(Cow::Owned(plain("String!"))),
            "__schema" if parent == QUERY => Some(Cow::Owned(plain("__Schema!"))),
            "__type" if parent == QUERY => {
                let mut field = plain("__Type");
                field.arguments.push(ArgumentDefinition {
                    name: "name",
                    description: "",
                    kind: reference("String!"),
                    default: None,
                });
                Some(Cow::Owned(field))
            }
            _ => None,
        }
    }
}

fn scalar_field(found: &FieldShape) -> TypeReference {
    let name = found.scalar.name().to_owned();
    if found.is_list {
        list_of(name)
    } else {
        TypeReference::Named(name)
    }
}

/// Where directives about selections may stand.
const SELECTIONS: &[&str] = &["FIELD", "FRAGMENT_SPREAD", "INLINE_FRAGMENT"];

fn directives() -> Vec<DirectiveDefinition> {
    let condition = |description| ArgumentDefinition {
        name: "if",
        description,
        kind: reference("Boolean!"),
        default: None,
    };
    vec![
        DirectiveDefinition {
            name: "include",
            description: "Directs the executor to include this field or fragment only when the `if` argument is true.",
            locations: SELECTIONS,
            argument: condition("Included when true."),
        },
        DirectiveDefinition {
            name: "skip",
            description: "Directs the executor to skip this field or fragment when the `if` argument is true.",
            locations: SELECTIONS,
            argument: condition("Skipped when true."),
        },
        DirectiveDefinition {
            name: "deprecated",
            description: "Marks an element of a GraphQL schema as no longer supported.",
            locations: &["FIELD_DEFINITION", "ENUM_VALUE"],
            argument: ArgumentDefinition {
                name: "reason",
                description: "Explains why this element was deprecated, usually also including a suggestion for how to \
                              access supported similar data. Formatted in \
                              [Markdown](https://daringfireball.net/projects/markdown/).",
                kind: reference("String"),
                default: Some("\"No longer supported\""),
            },
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(objects: &[(&str, &str)]) -> Result<Types, String> {
        let mut shape = CatalogShape::default();
        for (schema, object) in objects {
            shape.add(schema, object.as_bytes());
        }
        Types::of(shape).map_err(|error| error.to_string())
    }

    #[test]
    fn names_that_become_one_are_refused_with_both() {
        let refusal = |objects: &[(&str, &str)]| types(objects).expect_err("refused");
        insta::assert_snapshot!(
            [
                refusal(&[("a.b", "{}"), ("a-b", "{}")]),
                refusal(&[("ab", "{}"), ("a.b", "{}")]),
                refusal(&[("a", "{\"b\": [{\"x\": 1}]}"), ("a.b", "{}")]),
                refusal(&[("query", "{}")]),
                refusal(&[("1a", "{}")]),
            ]
            .join("\n"),
            @r#"
        type name collision: schemas "a-b" and "a.b" both sanitize to GraphQL type "AB"
        query field collision: schemas "a.b" and "ab" both map to field "abs"
        failed to create GraphQL schema: schema must contain unique named types, but several are called "AB"
        failed to create GraphQL schema: schema must contain unique named types, but several are called "Query"
        failed to create GraphQL schema: Names must match /^[_a-zA-Z][_a-zA-Z0-9]*$/ but "1as" does not.
        "#
        );
    }
}
