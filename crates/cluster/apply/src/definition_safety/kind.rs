//! The Go types that a definition's schema is made of, as tables.
//!
//! Upstream tells changes that no check knows by printing both schemas as Go does. To say the same, the names, the
//! order and the types of the fields must be known here.

/// What a value is in Go.
#[derive(Debug, PartialEq)]
pub(crate) enum Kind {
    /// `bool`.
    Bool,
    /// `int64`.
    Integer,
    /// `float64`.
    Float,
    /// A string; the name is that of its type.
    Text(&'static str),
    /// One byte of a `[]uint8`.
    Byte,
    /// A pointer.
    Pointer(&'static Kind),
    /// A slice; the name is that of its type.
    List(&'static str, &'static Kind),
    /// A map with texts as keys; the name is that of its type.
    Map(&'static str, &'static Kind),
    /// A struct.
    Structure(&'static Structure),
}

/// A struct.
#[derive(Debug)]
pub(crate) struct Structure {
    /// Its name without its package.
    pub(crate) name: &'static str,
    /// How it is written in JSON.
    pub(crate) form: Form,
    /// Its fields as declared.
    pub(crate) fields: &'static [Field],
}

impl PartialEq for Structure {
    fn eq(&self, other: &Structure) -> bool {
        // The tables refer to each other in circles, so they are compared by name.
        self.name == other.name
    }
}

/// How a struct is written in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As an object with the keys of its fields.
    Object,
    /// As the JSON that its only field holds.
    Raw,
    /// As a schema, or as `true` or `false`.
    SchemaOrBool,
    /// As a schema, or as a list of schemas.
    SchemaOrList,
    /// As a schema, or as a list of texts.
    SchemaOrTexts,
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    /// Its name in Go.
    pub(crate) name: &'static str,
    /// Its key in JSON.
    pub(crate) key: &'static str,
    /// What it holds.
    pub(crate) kind: &'static Kind,
}

impl Kind {
    /// Returns the type as Go writes it.
    pub(crate) fn type_name(&self) -> String {
        match self {
            Kind::Bool => "bool".into(),
            Kind::Integer => "int64".into(),
            Kind::Float => "float64".into(),
            Kind::Byte => "uint8".into(),
            Kind::Text(name) | Kind::List(name, _) | Kind::Map(name, _) => (*name).into(),
            Kind::Pointer(to) => format!("*{}", to.type_name()),
            Kind::Structure(structure) => format!("v1.{}", structure.name),
        }
    }
}

impl Structure {
    /// Returns where a field stands.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}

const fn field(name: &'static str, key: &'static str, kind: &'static Kind) -> Field {
    Field { name, key, kind }
}

static BOOL: Kind = Kind::Bool;
static TEXT: Kind = Kind::Text("string");
static TEXTS: Kind = Kind::List("[]string", &TEXT);
static BYTES: Kind = Kind::List("[]uint8", &Kind::Byte);
static SCHEMA_KIND: Kind = Kind::Structure(&SCHEMA);
static SCHEMAS: Kind = Kind::List("[]v1.JSONSchemaProps", &SCHEMA_KIND);
static NAMED_SCHEMAS: Kind = Kind::Map("map[string]v1.JSONSchemaProps", &SCHEMA_KIND);
static JSON: Kind = Kind::Structure(&Structure {
    name: "JSON",
    form: Form::Raw,
    fields: &[field("Raw", "", &BYTES)],
});
static SCHEMA_POINTER: Kind = Kind::Pointer(&SCHEMA_KIND);
static JSON_POINTER: Kind = Kind::Pointer(&JSON);
static BOOL_POINTER: Kind = Kind::Pointer(&BOOL);
static TEXT_POINTER: Kind = Kind::Pointer(&TEXT);
static INTEGER_POINTER: Kind = Kind::Pointer(&Kind::Integer);
static FLOAT_POINTER: Kind = Kind::Pointer(&Kind::Float);

static SCHEMA_OR_LIST: Kind = Kind::Pointer(&Kind::Structure(&Structure {
    name: "JSONSchemaPropsOrArray",
    form: Form::SchemaOrList,
    fields: &[
        field("Schema", "", &SCHEMA_POINTER),
        field("JSONSchemas", "", &SCHEMAS),
    ],
}));
static SCHEMA_OR_BOOL: Kind = Kind::Pointer(&Kind::Structure(&Structure {
    name: "JSONSchemaPropsOrBool",
    form: Form::SchemaOrBool,
    fields: &[field("Allows", "", &BOOL), field("Schema", "", &SCHEMA_POINTER)],
}));
static SCHEMA_OR_TEXTS: Kind = Kind::Structure(&Structure {
    name: "JSONSchemaPropsOrStringArray",
    form: Form::SchemaOrTexts,
    fields: &[
        field("Schema", "", &SCHEMA_POINTER),
        field("Property", "", &TEXTS),
    ],
});
static EXTERNAL_DOCUMENTATION: Kind = Kind::Pointer(&Kind::Structure(&Structure {
    name: "ExternalDocumentation",
    form: Form::Object,
    fields: &[
        field("Description", "description", &TEXT),
        field("URL", "url", &TEXT),
    ],
}));
static RULE: Kind = Kind::Structure(&Structure {
    name: "ValidationRule",
    form: Form::Object,
    fields: &[
        field("Rule", "rule", &TEXT),
        field("Message", "message", &TEXT),
        field("MessageExpression", "messageExpression", &TEXT),
        field(
            "Reason",
            "reason",
            &Kind::Pointer(&Kind::Text("v1.FieldValueErrorReason")),
        ),
        field("FieldPath", "fieldPath", &TEXT),
        field("OptionalOldSelf", "optionalOldSelf", &BOOL_POINTER),
    ],
});

/// A schema: `JSONSchemaProps`.
pub(crate) static SCHEMA: Structure = Structure {
    name: "JSONSchemaProps",
    form: Form::Object,
    fields: &[
        field("ID", "id", &TEXT),
        field("Schema", "$schema", &Kind::Text("v1.JSONSchemaURL")),
        field("Ref", "$ref", &TEXT_POINTER),
        field("Description", "description", &TEXT),
        field("Type", "type", &TEXT),
        field("Format", "format", &TEXT),
        field("Title", "title", &TEXT),
        field("Default", "default", &JSON_POINTER),
        field("Maximum", "maximum", &FLOAT_POINTER),
        field("ExclusiveMaximum", "exclusiveMaximum", &BOOL),
        field("Minimum", "minimum", &FLOAT_POINTER),
        field("ExclusiveMinimum", "exclusiveMinimum", &BOOL),
        field("MaxLength", "maxLength", &INTEGER_POINTER),
        field("MinLength", "minLength", &INTEGER_POINTER),
        field("Pattern", "pattern", &TEXT),
        field("MaxItems", "maxItems", &INTEGER_POINTER),
        field("MinItems", "minItems", &INTEGER_POINTER),
        field("UniqueItems", "uniqueItems", &BOOL),
        field("MultipleOf", "multipleOf", &FLOAT_POINTER),
        field("Enum", "enum", &Kind::List("[]v1.JSON", &JSON)),
        field("MaxProperties", "maxProperties", &INTEGER_POINTER),
        field("MinProperties", "minProperties", &INTEGER_POINTER),
        field("Required", "required", &TEXTS),
        field("Items", "items", &SCHEMA_OR_LIST),
        field("AllOf", "allOf", &SCHEMAS),
        field("OneOf", "oneOf", &SCHEMAS),
        field("AnyOf", "anyOf", &SCHEMAS),
        field("Not", "not", &SCHEMA_POINTER),
        field("Properties", "properties", &NAMED_SCHEMAS),
        field("AdditionalProperties", "additionalProperties", &SCHEMA_OR_BOOL),
        field("PatternProperties", "patternProperties", &NAMED_SCHEMAS),
        field(
            "Dependencies",
            "dependencies",
            &Kind::Map("v1.JSONSchemaDependencies", &SCHEMA_OR_TEXTS),
        ),
        field("AdditionalItems", "additionalItems", &SCHEMA_OR_BOOL),
        field(
            "Definitions",
            "definitions",
            &Kind::Map("v1.JSONSchemaDefinitions", &SCHEMA_KIND),
        ),
        field("ExternalDocs", "externalDocs", &EXTERNAL_DOCUMENTATION),
        field("Example", "example", &JSON_POINTER),
        field("Nullable", "nullable", &BOOL),
        field(
            "XPreserveUnknownFields",
            "x-kubernetes-preserve-unknown-fields",
            &BOOL_POINTER,
        ),
        field("XEmbeddedResource", "x-kubernetes-embedded-resource", &BOOL),
        field("XIntOrString", "x-kubernetes-int-or-string", &BOOL),
        field("XListMapKeys", "x-kubernetes-list-map-keys", &TEXTS),
        field("XListType", "x-kubernetes-list-type", &TEXT_POINTER),
        field("XMapType", "x-kubernetes-map-type", &TEXT_POINTER),
        field(
            "XValidations",
            "x-kubernetes-validations",
            &Kind::List("v1.ValidationRules", &RULE),
        ),
    ],
};
