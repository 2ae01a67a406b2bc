//! Which objects a request is about: label selectors and field selectors.
//!
//! ```text
//! labels      app=web,tier in (front, back),!canary    any object, by its labels: the language is that of `kinds`
//! fields      metadata.name=web,status.phase!=Running  any object, by a few of its fields
//! selectable  which fields those are, for each kind
//! ```
//!
//! The texts of errors are Kubernetes' own; the answer to all of them is 400, `BadRequest`.

pub mod fields;
pub mod selectable;

pub use fields::FieldSelector;
pub use kinds::label_selector::{LabelSelector, SelectorError};
pub use selectable::SelectableFields;

impl kinds::label_selector::Labels for crate::store::Labels {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key)
    }
}

/// Returns a selector object in the language of `labelSelector` parameters, as scales show it; empty if it is none.
///
/// What ReplicationControllers have is a plain map of labels.
pub fn to_text(selector: &serde_json::Value) -> String {
    if let Some(labels) = selector
        .as_object()
        .filter(|labels| labels.values().all(serde_json::Value::is_string))
    {
        return LabelSelector::from_map(labels).to_string();
    }
    LabelSelector::from_object(selector)
        .map(|selector| selector.to_string())
        .unwrap_or_default()
}
