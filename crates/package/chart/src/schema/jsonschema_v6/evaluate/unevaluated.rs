//! The properties and items that no rule has looked at yet.

use std::collections::BTreeSet;

use crate::schema::jsonschema_v6::json::Json;
use crate::schema::jsonschema_v6::node::Rules;

/// What is left; nothing where nobody asks.
#[derive(Debug, Default)]
pub(super) struct Unevaluated<'v> {
    pub(super) properties: BTreeSet<&'v str>,
    pub(super) items: BTreeSet<usize>,
}

impl<'v> Unevaluated<'v> {
    /// What is left before a schema is applied, if that schema or the one that led to it asks.
    pub(super) fn new(value: &'v Json, rules: &Rules, is_needed: bool) -> Self {
        let mut unevaluated = Self::default();
        match value {
            Json::Object(entries)
                if (is_needed || rules.unevaluated_properties.is_some())
                    && !rules.evaluate_all_properties() =>
            {
                unevaluated.properties = entries.keys().map(String::as_str).collect();
            }
            Json::Array(items) if is_needed || rules.unevaluated_items.is_some() => {
                if let Some(evaluated) = rules.evaluated_items() {
                    unevaluated.items = (evaluated..items.len()).collect();
                }
            }
            _ => {}
        }
        unevaluated
    }

    pub(super) fn is_empty(&self) -> bool {
        self.properties.is_empty() && self.items.is_empty()
    }

    /// Takes away what a schema for the same value has looked at.
    pub(super) fn merge(&mut self, other: &Unevaluated<'_>) {
        self.properties.retain(|name| other.properties.contains(name));
        self.items.retain(|index| other.items.contains(index));
    }
}
