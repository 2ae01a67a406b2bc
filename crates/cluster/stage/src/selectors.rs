//! Which objects a request is about: label selectors and field selectors.
//!
//! ```text
//! labels        app=web,tier in (front, back),!canary    any object, by its labels
//! label_object  {matchLabels: …, matchExpressions: …}    the same, as kinds hold it
//! fields        metadata.name=web,status.phase!=Running  any object, by a few of its fields
//! selectable    which fields those are, for each kind
//! ```
//!
//! The texts of errors are Kubernetes' own; the answer to all of them is 400, `BadRequest`.

pub mod fields;
mod label_object;
mod label_syntax;
pub mod labels;
pub mod selectable;

pub use fields::FieldSelector;
pub use labels::LabelSelector;
pub use selectable::SelectableFields;

/// Why a text is no selector, or not one for this kind. The answer is 400, `BadRequest`, with this text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelectorError(pub(crate) String);

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
