//! The documents of a manifest: the objects that a release has.

use std::sync::Arc;

use apply::object::ObjectId;
use serde_json::Value;
use thiserror::Error;

/// The most objects of a release; a list in a list could hold any number.
const MOST_DOCUMENTS: usize = 20_000;

/// How deep lists of objects may lie in each other.
const DEEPEST_LIST: usize = 8;

/// An object of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// What it is; its namespace is empty if it names none.
    pub id: ObjectId,
    /// The object.
    pub object: Arc<Value>,
}

impl Document {
    /// Takes an object for a document.
    pub fn of(object: Value) -> Self {
        Self {
            id: ObjectId::of(&object),
            object: Arc::new(object),
        }
    }
}

/// A manifest that can't be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// A document is no YAML.
    #[error("error parsing : {0}")]
    Syntax(String),
    /// A document is no object.
    #[error("error validating \"\": error validating data: {0}")]
    NoObject(&'static str),
    /// There are more objects than any release has.
    #[error("the manifest has more than {MOST_DOCUMENTS} objects")]
    TooMany,
}

/// Reads the objects of a manifest; lists are taken apart.
pub fn read(manifest: &str) -> Result<Vec<Document>, DocumentError> {
    let mut documents = Vec::new();
    for document in split(manifest) {
        let value = goyaml::to_value(document.as_bytes())
            .map_err(|error| DocumentError::Syntax(error.in_sigs_words()))?;
        take_apart(value, 0, &mut documents)?;
    }
    Ok(documents)
}

/// Splits a manifest into its documents as Kubernetes' clients do: whole lines, so that a text at the end of a document
/// keeps its last line break.
fn split(manifest: &str) -> Vec<&str> {
    let mut documents = Vec::new();
    let (mut begin, mut end) = (0, 0);
    for line in manifest.split_inclusive('\n') {
        let next = end + line.len();
        let is_separator = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('#'));
        if is_separator {
            documents.push(&manifest[begin..end]);
            begin = next;
        }
        end = next;
    }
    documents.push(&manifest[begin..]);
    documents.retain(|document| !document.trim().is_empty());
    documents
}

/// Takes objects for documents; lists are taken apart.
pub fn of_objects(objects: Vec<Value>) -> Result<Vec<Document>, DocumentError> {
    let mut documents = Vec::new();
    for object in objects {
        take_apart(object, 0, &mut documents)?;
    }
    Ok(documents)
}

fn take_apart(value: Value, depth: usize, documents: &mut Vec<Document>) -> Result<(), DocumentError> {
    let mut object = match value {
        Value::Null => return Ok(()),
        Value::Object(object) => object,
        _ => return Err(DocumentError::NoObject("invalid object to validate")),
    };
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    if kind.is_empty() {
        return Err(DocumentError::NoObject("kind not set"));
    }
    let version = object.get("apiVersion").and_then(Value::as_str);
    if version.unwrap_or_default().is_empty() {
        return Err(DocumentError::NoObject("apiVersion not set"));
    }
    if kind.ends_with("List")
        && depth < DEEPEST_LIST
        && let Some(Value::Array(items)) = object.get_mut("items")
    {
        for item in std::mem::take(items) {
            take_apart(item, depth + 1, documents)?;
        }
        return Ok(());
    }
    if documents.len() >= MOST_DOCUMENTS {
        return Err(DocumentError::TooMany);
    }
    documents.push(Document::of(Value::Object(object)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(manifest: &str) -> Result<Vec<String>, DocumentError> {
        let documents = read(manifest)?;
        Ok(documents.into_iter().map(|document| document.id.name).collect())
    }

    #[test]
    fn lists_are_taken_apart_and_empty_documents_skipped() {
        let manifest = "---\n# Source: a\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n# nothing\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n- {apiVersion: v1, kind: ConfigMapList, items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}]}\n";
        assert_eq!(
            names(manifest),
            Ok(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()])
        );
    }

    #[test]
    fn a_text_at_the_end_of_a_document_keeps_its_line_breaks() {
        let object = "apiVersion: v1\nkind: ConfigMap\ndata:\n";
        for (text, expected) in [
            ("  a: |\n    one\n", "one\n"),
            ("  a: |-\n    one\n", "one"),
            ("  a: |+\n    one\n\n", "one\n\n"),
            ("  a: |\n    one", "one"),
        ] {
            for rest in ["---\n", "--- # more\n", "---  \n# Source: b\n"] {
                let end = if text.ends_with('\n') { "" } else { "\n" };
                let manifest = format!("---\n{object}{text}{end}{rest}");
                let documents = read(&manifest).expect(&manifest);
                assert_eq!(documents.len(), 1, "{manifest}");
                let expected = if end.is_empty() { expected } else { "one\n" };
                assert_eq!(documents[0].object["data"]["a"], expected, "{manifest}");
            }
        }
        let documents = read(&format!("{object}  a: |\n    one")).expect("a document");
        assert_eq!(documents[0].object["data"]["a"], "one");
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for (manifest, text) in [
            (
                "a",
                "error validating \"\": error validating data: invalid object to validate",
            ),
            (
                "kind: A",
                "error validating \"\": error validating data: apiVersion not set",
            ),
            (
                "apiVersion: v1",
                "error validating \"\": error validating data: kind not set",
            ),
        ] {
            assert_eq!(names(manifest).expect_err(manifest).to_string(), text);
        }
        assert!(matches!(
            names("a: [").expect_err("no YAML"),
            DocumentError::Syntax(_)
        ));
    }
}
