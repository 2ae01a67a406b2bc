//! Schemas as Helm 3.17 takes them, by the library gojsonschema: drafts 4, 6 and 7, or a mixture of them.
//!
//! ```text
//! bytes ─ documents (references made absolute) ─► compile ─► Schema ─ evaluate(values) ─► complaints
//! ```

mod compile;
mod documents;
mod email;
mod evaluate;
mod format;

pub(super) use compile::Schema;
