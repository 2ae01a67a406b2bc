//! Field selectors: `metadata.name=web,status.phase!=Running`.

use std::fmt;

use serde_json::Value;

use super::{SelectableFields, SelectorError};

/// What is asked of one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRequirement {
    /// The field's name, such as `metadata.name`.
    pub field: String,
    /// Whether the field must have the value; else it must not.
    pub equal: bool,
    /// The value.
    pub value: String,
}

/// What some fields of an object must be; all requirements must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldSelector {
    requirements: Vec<FieldRequirement>,
}

impl FieldSelector {
    /// Reads a selector as `fieldSelector` parameters have it; the empty text selects everything.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut terms = split_terms(text);
        terms.sort_unstable();
        let mut requirements = Vec::new();
        for term in terms.into_iter().filter(|term| !term.is_empty()) {
            let (field, equal, value) = split_term(term).ok_or_else(|| {
                SelectorError(format!("invalid selector: '{text}'; can't understand '{term}'"))
            })?;
            let value = unescaped(value)?;
            // A term without a field and a value asks for nothing.
            if field.is_empty() && value.is_empty() {
                continue;
            }
            requirements.push(FieldRequirement {
                field: field.to_owned(),
                equal,
                value,
            });
        }
        Ok(Self { requirements })
    }

    /// Returns the requirements, in the order of their texts.
    pub fn requirements(&self) -> &[FieldRequirement] {
        &self.requirements
    }

    /// Returns whether every object is selected.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns the value that a field must have, where the selector says so.
    pub fn required_value(&self, field: &str) -> Option<&str> {
        let requirement = self
            .requirements
            .iter()
            .find(|one| one.equal && one.field == field)?;
        Some(&requirement.value)
    }

    /// Returns the selector with the names that the kind has for its fields, or why it can't be selected by one.
    pub fn for_kind(mut self, selectable: &SelectableFields) -> Result<Self, SelectorError> {
        for requirement in &mut self.requirements {
            let field = selectable.resolve(&requirement.field)?;
            field.clone_into(&mut requirement.field);
        }
        Ok(self)
    }

    /// Returns whether an object is selected; the selector must have been made [for its kind](Self::for_kind).
    pub fn matches(&self, object: &Value, selectable: &SelectableFields) -> bool {
        self.requirements
            .iter()
            .all(|one| (selectable.value(object, &one.field) == one.value) == one.equal)
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            if index > 0 {
                formatter.write_str(",")?;
            }
            let operator = if requirement.equal { "=" } else { "!=" };
            let value = requirement
                .value
                .replace('\\', "\\\\")
                .replace(',', "\\,")
                .replace('=', "\\=");
            write!(formatter, "{}{operator}{value}", requirement.field)?;
        }
        Ok(())
    }
}

/// Splits at the commas that aren't escaped.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut escaped = false;
    for (index, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(text.get(start..index).unwrap_or_default());
                start = index + 1;
            }
            _ => {}
        }
    }
    terms.push(text.get(start..).unwrap_or_default());
    terms
}

/// Splits at the first operator.
fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let place = term.char_indices().map(|(index, _)| index).find_map(|index| {
        let rest = term.get(index..)?;
        [("!=", false), ("==", true), ("=", true)]
            .into_iter()
            .find_map(|(operator, equal)| Some((index, equal, rest.strip_prefix(operator)?)))
    });
    let (index, equal, value) = place?;
    Some((term.get(..index)?, equal, value))
}

fn unescaped(value: &str) -> Result<String, SelectorError> {
    let bad_escape = |sequence: String| {
        SelectorError(format!(
            "invalid field selector: invalid escape sequence: {sequence}"
        ))
    };
    let mut out = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => out.push(escaped),
                Some(other) => return Err(bad_escape(format!("\\{other}"))),
                None => return Err(bad_escape("\\".to_owned())),
            },
            // Upstream prints the character's number.
            ',' | '=' => {
                return Err(SelectorError(format!(
                    "invalid field selector: unescaped character in value: {}",
                    character as u32
                )));
            }
            other => out.push(other),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
