//! Which catalogs are asked.

use kinds::label_selector::{LabelSelector, SelectorError};
use serde_json::Value;
use thiserror::Error;

/// A selector of catalogs that can't be read; the words are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("desired catalog selector is invalid: {0}")]
pub struct SelectionError(#[from] SelectorError);

/// Selects catalogs by their labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection(LabelSelector);

impl Selection {
    /// Reads `spec.source.catalog.selector`; without one, every catalog is asked.
    ///
    /// # Errors
    ///
    /// If it isn't a selector.
    pub fn read(selector: &Value) -> Result<Selection, SelectionError> {
        Ok(Selection(if selector.is_null() {
            LabelSelector::everything()
        } else {
            LabelSelector::from_object(selector)?
        }))
    }

    /// Returns whether a catalog with these labels (`metadata.labels`) is asked.
    pub fn includes(&self, labels: &Value) -> bool {
        self.0.matches(labels)
    }
}
