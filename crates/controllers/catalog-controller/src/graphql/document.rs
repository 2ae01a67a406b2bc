//! A query as a tree.

/// All operations and fragments of a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Document {
    pub(super) operations: Vec<Operation>,
    pub(super) fragments: Vec<Fragment>,
}

/// Something that can be executed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Operation {
    pub(super) kind: OperationKind,
    pub(super) name: Option<Name>,
    pub(super) variables: Vec<VariableDefinition>,
    pub(super) directives: Vec<Directive>,
    pub(super) selections: Vec<Selection>,
    pub(super) at: usize,
}

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationKind {
    Query,
    Mutation,
    Subscription,
}

/// Selections with a name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fragment {
    pub(super) name: Name,
    pub(super) condition: Name,
    pub(super) directives: Vec<Directive>,
    pub(super) selections: Vec<Selection>,
    pub(super) at: usize,
}

/// A name and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) at: usize,
}

/// What is wanted of an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Selection {
    Field(Field),
    Spread(Spread),
    Inline(Inline),
}

/// A field that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Field {
    pub(super) alias: Option<Name>,
    pub(super) name: Name,
    pub(super) arguments: Vec<Argument>,
    pub(super) directives: Vec<Directive>,
    pub(super) selections: Option<Vec<Selection>>,
    pub(super) selections_at: usize,
    pub(super) at: usize,
}

impl Field {
    /// The key that the field has in the answer.
    pub(super) fn key(&self) -> &str {
        &self.alias.as_ref().unwrap_or(&self.name).text
    }
}

/// The selections of a fragment, in its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Spread {
    pub(super) name: Name,
    pub(super) directives: Vec<Directive>,
    pub(super) at: usize,
}

/// Selections for objects of one type.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Inline {
    pub(super) condition: Option<Name>,
    pub(super) directives: Vec<Directive>,
    pub(super) selections: Vec<Selection>,
    pub(super) at: usize,
}

/// An argument of a field or directive.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Argument {
    pub(super) name: Name,
    pub(super) value: Literal,
    pub(super) at: usize,
}

/// `@include` and its like.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Directive {
    pub(super) name: Name,
    pub(super) arguments: Vec<Argument>,
    pub(super) at: usize,
}

/// A variable that an operation has.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct VariableDefinition {
    pub(super) name: Name,
    pub(super) kind: TypeReference,
    pub(super) kind_at: usize,
    pub(super) default: Option<Literal>,
    pub(super) at: usize,
}

/// A value as it is written, and where.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Literal {
    pub(super) value: LiteralValue,
    pub(super) at: usize,
}

/// A value as it is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LiteralValue {
    Variable(String),
    Int(String),
    Float(String),
    Text(String),
    Boolean(bool),
    Enum(String),
    List(Vec<Literal>),
    Object(Vec<(Name, Literal)>),
}

impl Literal {
    /// The value as upstream prints it in messages.
    pub(super) fn printed(&self) -> String {
        match &self.value {
            LiteralValue::Variable(name) => format!("${name}"),
            LiteralValue::Int(text) | LiteralValue::Float(text) | LiteralValue::Enum(text) => text.clone(),
            LiteralValue::Text(text) => format!("\"{text}\""),
            LiteralValue::Boolean(value) => value.to_string(),
            LiteralValue::List(items) => {
                let items: Vec<String> = items.iter().map(Self::printed).collect();
                format!("[{}]", items.join(", "))
            }
            LiteralValue::Object(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{}: {}", name.text, value.printed()))
                    .collect();
                format!("{{{}}}", fields.join(", "))
            }
        }
    }

    /// The variables within the value.
    pub(super) fn variables<'a>(&'a self, found: &mut Vec<(&'a str, usize)>) {
        match &self.value {
            LiteralValue::Variable(name) => found.push((name, self.at)),
            LiteralValue::List(items) => items.iter().for_each(|item| item.variables(found)),
            LiteralValue::Object(fields) => fields.iter().for_each(|(_, value)| value.variables(found)),
            _ => {}
        }
    }
}

/// A type as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypeReference {
    Named(String),
    List(Box<TypeReference>),
    NonNull(Box<TypeReference>),
}

impl TypeReference {
    /// The name at the core.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::List(inner) | Self::NonNull(inner) => inner.name(),
        }
    }

    /// The same type without the promise that there is a value.
    pub(super) fn nullable(&self) -> &Self {
        match self {
            Self::NonNull(inner) => inner,
            other => other,
        }
    }
}

impl std::fmt::Display for TypeReference {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(name) => formatter.write_str(name),
            Self::List(inner) => write!(formatter, "[{inner}]"),
            Self::NonNull(inner) => write!(formatter, "{inner}!"),
        }
    }
}

impl Document {
    /// The fragment with a name; of several, the last.
    pub(super) fn fragment(&self, name: &str) -> Option<&Fragment> {
        self.fragments
            .iter()
            .rev()
            .find(|fragment| fragment.name.text == name)
    }
}
