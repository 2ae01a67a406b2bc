//! What a configuration breaks of its schema, and how OLM v1 tells it.

use gotemplate::format::quoted;

use super::numbers;

/// A rule that a value breaks, with the broken rules that it is made of.
#[derive(Debug)]
pub(super) struct Violation {
    /// The JSON pointer of the value; empty is the whole configuration.
    pub(super) place: String,
    pub(super) rule: Rule,
    pub(super) causes: Vec<Violation>,
}

/// The rules, as far as they are worded differently.
#[derive(Debug)]
pub(super) enum Rule {
    /// Several rules of one schema.
    Several,
    /// Rules of a schema that another one refers to.
    Reference,
    AnyOf,
    Required(Vec<String>),
    Additional(Vec<String>),
    Type {
        got: &'static str,
        want: String,
    },
    Format {
        text: String,
    },
    MinimumLength {
        got: usize,
        want: usize,
    },
    MaximumLength {
        got: usize,
        want: usize,
    },
    Pattern {
        got: String,
        want: String,
    },
    /// Any other rule, in the words of the schema library.
    Other(String),
}

impl Rule {
    /// How the schema library words the rule.
    fn library_text(&self) -> String {
        let list = |names: &[String]| {
            let names: Vec<_> = names.iter().map(|name| quote(name)).collect();
            names.join(", ")
        };
        match self {
            Self::Several | Self::Reference => "validation failed".to_owned(),
            Self::AnyOf => "'anyOf' failed".to_owned(),
            Self::Required(names) if names.len() == 1 => format!("missing property {}", list(names)),
            Self::Required(names) => format!("missing properties {}", list(names)),
            Self::Additional(names) => format!("additional properties {} not allowed", list(names)),
            Self::Type { got, want } => format!("got {got}, want {want}"),
            Self::Format { text } | Self::Other(text) => text.clone(),
            Self::MinimumLength { got, want } => {
                format!(
                    "minLength: got {}, want {}",
                    numbers::count(*got),
                    numbers::count(*want)
                )
            }
            Self::MaximumLength { got, want } => {
                format!(
                    "maxLength: got {}, want {}",
                    numbers::count(*got),
                    numbers::count(*want)
                )
            }
            Self::Pattern { got, want } => format!("{} does not match pattern {}", quote(got), quote(want)),
        }
    }

    /// How OLM v1 words the rule for the value at `place`.
    fn told(&self, place: &str) -> String {
        let field = place.strip_prefix('/').unwrap_or(place).replace('/', ".");
        let named = quoted(&field);
        let library = self.library_text();
        if matches!(self, Self::Required(_) | Self::Additional(_)) {
            let name = first_quoted(&library);
            return match (self, name.is_empty()) {
                (Self::Required(_), false) => format!("required field {} is missing", quoted(name)),
                (Self::Required(_), true) => "required field is missing".to_owned(),
                (_, false) => format!("unknown field {}", quoted(name)),
                (_, true) => "unknown field".to_owned(),
            };
        }
        if field.is_empty() {
            return match self {
                Self::Type { .. } => format!("invalid type: {library}"),
                Self::Format { .. } => format!("invalid format: {library}"),
                Self::AnyOf => "invalid value".to_owned(),
                _ => library,
            };
        }
        match self {
            Self::Type { got: "null", .. } => format!("required field {named} is missing"),
            Self::Type { .. } => format!("invalid type for field {named}: {library}"),
            Self::Format { .. } => format!("invalid format for field {named}: {library}"),
            Self::AnyOf => format!("invalid value for field {named}"),
            Self::MinimumLength { got, want } => {
                format!("field {named} must have minimum length of {want} (len={got})")
            }
            Self::MaximumLength { got, want } => {
                format!("field {named} must have maximum length of {want} (len={got})")
            }
            Self::Pattern { want, .. } => format!("field {named} must match pattern {}", quoted(want)),
            _ => library,
        }
    }
}

impl Violation {
    /// The whole of it in the words of OLM v1.
    pub(super) fn message(&self) -> String {
        let mut messages = Vec::new();
        for violation in self.listed() {
            violation.list(&mut messages);
        }
        match messages.as_slice() {
            [single] => single.clone(),
            _ => format!("multiple errors found:\n  - {}", messages.join("\n  - ")),
        }
    }

    /// Every value that breaks a rule, with the rule: what [`Violation::message`] leaves out behind references.
    pub(super) fn details(&self) -> Vec<String> {
        let mut details = Vec::new();
        self.detail(&mut details);
        details
    }

    fn detail(&self, details: &mut Vec<String>) {
        if self.causes.is_empty() {
            let field = self.place.strip_prefix('/').unwrap_or_default().replace('/', ".");
            let field = if field.is_empty() {
                "the configuration"
            } else {
                &field
            };
            details.push(format!("{field}: {}", self.rule.library_text()));
        }
        for cause in &self.causes {
            cause.detail(details);
        }
    }

    /// What stands at the top: several rules have no line of their own there.
    fn listed(&self) -> &[Self] {
        match self.rule {
            Rule::Several => &self.causes,
            _ => std::slice::from_ref(self),
        }
    }

    fn list(&self, messages: &mut Vec<String>) {
        messages.push(self.rule.told(&self.place));
        // A reference with a single cause takes the cause's line, but keeps its own words: so does upstream's library.
        if matches!(self.rule, Rule::Reference) && self.causes.len() == 1 {
            return;
        }
        for cause in &self.causes {
            cause.list(messages);
        }
    }
}

/// Text in single quotes, escaped as the schema library does it.
pub(super) fn quote(text: &str) -> String {
    let escaped = quoted(text).replace("\\\"", "\"").replace('\'', "\\'");
    let inner = escaped
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .unwrap_or(&escaped);
    format!("'{inner}'")
}

/// What stands between the first two single quotes, which is where OLM v1 looks for a field's name.
fn first_quoted(text: &str) -> &str {
    text.split('\'').nth(1).unwrap_or_default()
}
