//! One thing that is wrong, with its cause and the next step.

use serde::Serialize;
use serde_json::Value;

use crate::subject::Subject;

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know, and as somebody wanted it.
    Note,
    /// It works, but it may stop to.
    Risky,
    /// It doesn't work.
    Broken,
}

impl Severity {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Risky => "risky",
            Self::Broken => "broken",
        }
    }
}

/// Something that is wrong with an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The rule that found it: a word that stays the same from version to version.
    pub rule: &'static str,
    /// Where it was found.
    pub object: Subject,
    /// The field or condition of the object that says so.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
    /// Why, in a person's words.
    pub cause: String,
    /// What to do next; a command where there is one.
    pub next: String,
    /// What else is wrong because of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leads_to: Vec<Finding>,
    /// What may be the cause of it: the first of these that something is wrong with.
    #[serde(skip)]
    pub suspects: Vec<Subject>,
}

impl Finding {
    /// Says what is wrong with an object; the rest is said by the methods.
    pub fn new(severity: Severity, rule: &'static str, object: &Value) -> Self {
        Self::about(severity, rule, Subject::of(object))
    }

    /// Says what is wrong with what is named.
    pub fn about(severity: Severity, rule: &'static str, object: Subject) -> Self {
        Self {
            severity,
            rule,
            object,
            field: String::new(),
            cause: String::new(),
            next: String::new(),
            leads_to: Vec::new(),
            suspects: Vec::new(),
        }
    }

    /// Names the field or condition.
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field = field.into();
        self
    }

    /// Names the condition.
    pub fn at_condition(self, kind: &str) -> Self {
        self.at(format!("status.conditions[{kind}]"))
    }

    /// Says why.
    pub fn because(mut self, cause: impl Into<String>) -> Self {
        self.cause = cause.into();
        self
    }

    /// Says what to do next.
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = next.into();
        self
    }

    /// Names what may be the cause.
    pub fn suspecting(mut self, suspects: impl IntoIterator<Item = Subject>) -> Self {
        self.suspects.extend(suspects);
        self
    }

    /// Returns how bad the worst is of this and all that it leads to.
    pub fn worst(&self) -> Severity {
        let below = self.leads_to.iter().map(Self::worst);
        below.fold(self.severity, Severity::max)
    }
}
