//! Where rendered documents come from: the template and line that wrote each, and who set the values that it used.
//!
//! ```text
//! render ─► Recorder (hears writes and reads) ─► location (which document?) ─► comment, with secrets left out
//!                                                    ▲
//! Provenance (who set what) ─────────────────────────┘
//! ```

mod comment;
mod location;
mod recorder;
mod secrecy;

use std::collections::BTreeMap;

use serde_json::Value;

pub use recorder::Recorder;
pub(crate) use secrecy::{HIDDEN, is_secret_name, shown_origin};

use crate::provenance::Provenance;
use crate::values::Table;
use location::LocatedFile;
use secrecy::Secrets;

/// A rendered document that is to be explained.
#[derive(Clone, Copy, Debug)]
pub struct Document<'document> {
    /// The template that it came from, such as `chart/templates/service.yaml`.
    pub source: &'document str,
    /// The kind of the object.
    pub kind: &'document str,
    /// The YAML.
    pub content: &'document [u8],
}

impl Document<'_> {
    fn is_secret(&self) -> bool {
        self.kind == "Secret"
    }
}

/// A value that a document used.
#[derive(Clone, Debug, PartialEq)]
struct UsedValue {
    /// The keys that lead to it; an element of a list is `[0]`.
    path: Vec<String>,
    value: Option<Value>,
    setter: Setter,
}

/// Who set a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Setter {
    /// A chart, a file or a flag, in words.
    Origin(String),
    /// A template, during the render.
    Template,
    /// Nobody that is known.
    Unknown,
}

/// What is known about a document.
#[derive(Clone, Debug, Default, PartialEq)]
struct Explained {
    /// The template and the line in it that wrote the document's first character.
    place: Option<(String, usize)>,
    used: Vec<UsedValue>,
}

/// Writes a comment for each document, to be put above it; empty where nothing is known about it.
pub fn explain(
    recorder: Recorder,
    documents: &[Document<'_>],
    values: &Table,
    provenance: &Provenance,
) -> Vec<String> {
    let records = recorder.into_files();
    let mut files: BTreeMap<&str, LocatedFile<'_>> = records
        .iter()
        .map(|record| (record.name.as_str(), LocatedFile::new(record)))
        .collect();
    for document in documents {
        if let Some(file) = files.get_mut(document.source) {
            file.find(document.content);
        }
    }
    let explained: Vec<Explained> = documents
        .iter()
        .map(|document| {
            files
                .get(document.source)
                .and_then(|file| file.explain(document.content, values, provenance))
        })
        .map(Option::unwrap_or_default)
        .collect();
    let all = || documents.iter().zip(&explained);
    let secrets = Secrets::of(
        all()
            .filter(|(document, _)| document.is_secret())
            .map(|(document, explained)| (document.content, &*explained.used)),
    );
    all()
        .map(|(document, explained)| comment::write(explained, document.is_secret(), &secrets))
        .collect()
}

#[cfg(test)]
mod tests;
