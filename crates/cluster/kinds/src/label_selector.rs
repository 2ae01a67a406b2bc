//! Which labels an object must have, as text and as kinds hold it.
//!
//! ```text
//! syntax   app=web,tier in (front, back),!canary
//! object   {matchLabels: …, matchExpressions: …}
//! ```

mod object;
mod syntax;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schema::structural::name_rules::{label_key, label_value};
use schema::{FieldError, FieldErrors, FieldPath};
use serde_json::{Map, Value};

/// Why a text or an object is no selector, in Kubernetes' words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub String);

/// Labels that a selector can be held against.
pub trait Labels {
    /// Returns the value of a label.
    fn label(&self, key: &str) -> Option<&str>;
}

impl Labels for BTreeMap<String, String> {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).map(String::as_str)
    }
}

impl Labels for Map<String, Value> {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }
}

/// The labels as `metadata.labels` has them; what is no object has no labels.
impl Labels for Value {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Self::as_str)
    }
}

impl<L: Labels> Labels for Option<&L> {
    fn label(&self, key: &str) -> Option<&str> {
        (*self)?.label(key)
    }
}

/// What a requirement asks of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `key`
    Exists,
    /// `!key`
    DoesNotExist,
    /// `key=value`
    Equals,
    /// `key==value`
    DoubleEquals,
    /// `key!=value`; also where the label isn't there.
    NotEquals,
    /// `key in (a,b)`
    In,
    /// `key notin (a,b)`; also where the label isn't there.
    NotIn,
    /// `key>1`
    GreaterThan,
    /// `key<1`
    LessThan,
}

/// What is asked of one label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

impl Requirement {
    /// Checks and returns a requirement; `values` are kept in the order given.
    pub fn new(key: &str, operator: Operator, values: Vec<String>) -> Result<Self, SelectorError> {
        let mut errors = FieldErrors::default();
        let invalid = |path: FieldPath, value: &str, detail: String| {
            FieldError::invalid(path, &Value::String(value.to_owned()), detail)
        };
        let problems = label_key(key);
        if !problems.is_empty() {
            errors.push(invalid(FieldPath::new("key"), key, problems.join("; ")));
        }
        let path = FieldPath::new("values");
        let wrong_count = match operator {
            Operator::In | Operator::NotIn if values.is_empty() => {
                Some("for 'in', 'notin' operators, values set can't be empty")
            }
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if values.len() != 1 => {
                Some("exact-match compatibility requires one single value")
            }
            Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
                Some("values set must be empty for exists and does not exist")
            }
            Operator::GreaterThan | Operator::LessThan if values.len() != 1 => {
                Some("for 'Gt', 'Lt' operators, exactly one value is required")
            }
            _ => None,
        };
        if let Some(detail) = wrong_count {
            // A list that was never written is null for upstream.
            let shown = if values.is_empty() {
                Value::Null
            } else {
                Value::from(values.clone())
            };
            errors.push(FieldError::invalid(path.clone(), &shown, detail));
        }
        for (index, value) in values.iter().enumerate() {
            if matches!(operator, Operator::GreaterThan | Operator::LessThan) && value.parse::<i64>().is_err()
            {
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer".to_owned();
                errors.push(invalid(path.index(index), value, detail));
            }
        }
        for (index, value) in values.iter().enumerate() {
            let problems = label_value(value);
            if !problems.is_empty() {
                errors.push(invalid(path.index(index).key(key), value, problems.join("; ")));
            }
        }
        match aggregate(&errors) {
            Some(text) => Err(SelectorError(text)),
            None => Ok(Self {
                key: key.to_owned(),
                operator,
                values,
            }),
        }
    }

    /// Returns the label's key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns what is asked of the label.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// Returns the values that the operator compares with.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Returns whether the labels are as asked.
    pub fn matches(&self, labels: &impl Labels) -> bool {
        let value = labels.label(&self.key);
        let listed = || value.is_some_and(|value| self.values.iter().any(|one| one == value));
        match self.operator {
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Equals | Operator::DoubleEquals | Operator::In => listed(),
            Operator::NotEquals | Operator::NotIn => !listed(),
            Operator::GreaterThan | Operator::LessThan => {
                let bound = self.values.first().and_then(|bound| bound.parse::<i64>().ok());
                let number = value.and_then(|value| value.parse::<i64>().ok());
                match (number, bound) {
                    (Some(number), Some(bound)) if self.operator == Operator::GreaterThan => number > bound,
                    (Some(number), Some(bound)) => number < bound,
                    _ => false,
                }
            }
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut values = self.values.clone();
        values.sort();
        let values = values.join(",");
        let key = &self.key;
        match self.operator {
            Operator::Exists => write!(formatter, "{key}"),
            Operator::DoesNotExist => write!(formatter, "!{key}"),
            Operator::Equals => write!(formatter, "{key}={values}"),
            Operator::DoubleEquals => write!(formatter, "{key}=={values}"),
            Operator::NotEquals => write!(formatter, "{key}!={values}"),
            Operator::In => write!(formatter, "{key} in ({values})"),
            Operator::NotIn => write!(formatter, "{key} notin ({values})"),
            Operator::GreaterThan => write!(formatter, "{key}>{values}"),
            Operator::LessThan => write!(formatter, "{key}<{values}"),
        }
    }
}

/// Returns several errors as one text: alone as it is, else in brackets, each text once.
fn aggregate(errors: &FieldErrors) -> Option<String> {
    let mut seen = BTreeSet::new();
    let more = (errors.left_out() > 0).then(|| format!("and {} more problems", errors.left_out()));
    let texts: Vec<String> = errors
        .told()
        .iter()
        .map(ToString::to_string)
        .filter(|text| seen.insert(text.clone()))
        .chain(more)
        .collect();
    match texts.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

/// Which labels an object must have; all requirements must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelSelector {
    requirements: Vec<Requirement>,
    nothing: bool,
}

impl LabelSelector {
    /// Reads a selector as `labelSelector` parameters have it; the empty text selects everything.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        syntax::parse(text).map(Self::of)
    }

    /// Reads a selector object; `null` selects nothing, and one without requirements everything.
    pub fn from_object(selector: &Value) -> Result<Self, SelectorError> {
        if selector.is_null() {
            return Ok(Self::nothing());
        }
        object::requirements(selector).map(Self::of)
    }

    /// Returns the selector for objects with exactly these values, as Services and ReplicationControllers select.
    pub fn from_map(labels: &Map<String, Value>) -> Self {
        let requirements = labels.iter().map(|(key, value)| Requirement {
            key: key.clone(),
            operator: Operator::Equals,
            values: vec![value.as_str().unwrap_or_default().to_owned()],
        });
        Self::of(requirements.collect())
    }

    /// Returns the selector that selects every object.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Returns the selector that selects no object.
    pub fn nothing() -> Self {
        Self {
            requirements: Vec::new(),
            nothing: true,
        }
    }

    fn of(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|left, right| left.key.cmp(&right.key));
        Self {
            requirements,
            nothing: false,
        }
    }

    /// Returns whether every object is selected.
    pub fn is_everything(&self) -> bool {
        !self.nothing && self.requirements.is_empty()
    }

    /// Returns the requirements, sorted by key.
    pub fn requirements(&self) -> &[Requirement] {
        &self.requirements
    }

    /// Returns whether an object with these labels is selected.
    pub fn matches(&self, labels: &impl Labels) -> bool {
        !self.nothing
            && self
                .requirements
                .iter()
                .all(|requirement| requirement.matches(labels))
    }

    /// Returns whether the object is selected.
    pub fn matches_object(&self, object: &Value) -> bool {
        self.matches(&object.pointer("/metadata/labels"))
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                formatter.write_str(",")?;
            }
            write!(formatter, "{requirement}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
