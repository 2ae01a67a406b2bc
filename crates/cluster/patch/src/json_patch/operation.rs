//! One operation of a JSON patch: how it is read, and what it does.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::node::{Node, Shape};
use super::target::{self, missing};
use super::{MAX_COPIED_BYTES, value_of};
use crate::PatchError;
use crate::document::{self, Findings, Place};

/// The fields of an operation; the last one of a name counts.
#[derive(Debug, Clone)]
pub(super) struct Operation(BTreeMap<String, Box<RawValue>>);

/// Reads a patch as the library does: a list of objects with any fields.
pub(super) fn read(body: &[u8]) -> Result<Vec<Operation>, String> {
    let whole = document::read(body)?;
    let items = match &whole {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) => items,
        other => return Err(document::does_not_fit(other, "jsonpatch.Patch")),
    };
    if let Some(wrong) = items
        .iter()
        .find(|item| !matches!(item, Value::Object(_) | Value::Null))
    {
        return Err(document::does_not_fit(wrong, "jsonpatch.Operation"));
    }
    let text = String::from_utf8_lossy(body);
    let operations: Vec<Option<BTreeMap<String, Box<RawValue>>>> =
        serde_json::from_str(&text).map_err(|error| error.to_string())?;
    Ok(operations
        .into_iter()
        .map(|operation| Operation(operation.unwrap_or_default()))
        .collect())
}

/// Reads a patch strictly: operations with exactly the fields of RFC 6902. Returns the findings.
pub(super) fn read_strictly(body: &[u8]) -> Result<Vec<String>, String> {
    const TEXT_FIELDS: [&str; 3] = ["op", "path", "from"];
    let whole = document::read(body)?;
    let items = match &whole {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) => items,
        other => return Err(document::does_not_fit(other, "[]handlers.jsonPatchOp")),
    };
    for item in items {
        let fields = match item {
            Value::Null => continue,
            Value::Object(fields) => fields,
            other => return Err(document::does_not_fit(other, "handlers.jsonPatchOp")),
        };
        for name in TEXT_FIELDS {
            if let Some(value) = fields.get(name)
                && !matches!(value, Value::String(_) | Value::Null)
            {
                let word = goyaml::json::kind_word(value);
                return Err(format!(
                    "json: cannot unmarshal {word} into Go struct field jsonPatchOp.{name} of type string"
                ));
            }
        }
    }
    let mut findings = Findings::default();
    document::visit_fields(body, |place, repeated| {
        // Inside of a field that an operation doesn't have, nothing is looked at.
        let unknown = matches!(place, [_, Place::Object { key, .. }, ..] if key != "value" && !TEXT_FIELDS.contains(&key.as_str()));
        if unknown && place.len() == 2 {
            findings.add(format!(
                "json patch unknown field \"{}\"",
                document::path_of(place)
            ));
        } else if repeated && !unknown {
            findings.add(format!(
                "json patch duplicate field \"{}\"",
                document::path_of(place)
            ));
        }
    });
    Ok(findings.into_texts())
}

impl Operation {
    /// Returns a field that is a text, or why it isn't.
    fn text(&self, name: &str) -> Result<String, String> {
        let lacking = if name == "path" {
            "operation missing path field"
        } else {
            "operation, missing from field"
        };
        let Some(raw) = self.0.get(name).filter(|raw| raw.get() != "null") else {
            return Err(missing(lacking));
        };
        match value_of(raw.get())? {
            Value::String(text) => Ok(text),
            other => Err(document::does_not_fit(&other, "string")),
        }
    }

    /// Returns the value to write; `None` where the operation has none.
    fn value(&self) -> Option<Node> {
        let raw = self.0.get("value")?;
        Some(if raw.get() == "null" {
            Node::WrittenNull
        } else {
            Node::of_text(raw)
        })
    }

    fn kind(&self) -> String {
        self.text("op").unwrap_or_else(|_| "unknown".to_owned())
    }

    /// Applies the operation to the object.
    pub(super) fn apply(&self, root: &mut Node, copied: &mut usize) -> Result<(), PatchError> {
        let done = match self.kind().as_str() {
            "add" => self.add(root),
            "remove" => self.remove(root),
            "replace" => return self.replace(root),
            "move" => self.relocate(root),
            "test" => return self.test(root),
            "copy" => self.duplicate(root, copied),
            other => Err(format!("Unexpected kind: {other}")),
        };
        done.map_err(PatchError::Unprocessable)
    }

    fn add(&self, root: &mut Node) -> Result<(), String> {
        let path = self
            .text("path")
            .map_err(|_| missing("add operation failed to decode path"))?;
        let mut place = target::find(root, &path).ok_or_else(|| {
            missing(&format!(
                "add operation does not apply: doc is missing path: \"{path}\""
            ))
        })?;
        let value = self.value().unwrap_or(Node::Null);
        place
            .add(value)
            .map_err(|cause| format!("error in add for path: '{path}': {cause}"))
    }

    fn remove(&self, root: &mut Node) -> Result<(), String> {
        let path = self
            .text("path")
            .map_err(|_| missing("remove operation failed to decode path"))?;
        let mut place = target::find(root, &path).ok_or_else(|| {
            missing(&format!(
                "remove operation does not apply: doc is missing path: \"{path}\""
            ))
        })?;
        place
            .remove()
            .map(drop)
            .map_err(|cause| format!("error in remove for path: '{path}': {cause}"))
    }

    fn replace(&self, root: &mut Node) -> Result<(), PatchError> {
        let path = self.text("path").map_err(|cause| {
            PatchError::Unprocessable(format!("replace operation failed to decode path: {cause}"))
        })?;
        if path.is_empty() {
            let mut value = self.value().ok_or_else(PatchError::panicked)?;
            if matches!(value.open(), Shape::Leaf) {
                // Upstream formats an error that it doesn't have.
                let text = "replace operation value must be object or array: %!w(<nil>)";
                return Err(PatchError::Unprocessable(text.to_owned()));
            }
            *root = value;
            return Ok(());
        }
        let lacking = |what: &str| {
            PatchError::Unprocessable(missing(&format!(
                "replace operation does not apply: doc is missing {what}: {path}"
            )))
        };
        let mut place = target::find(root, &path).ok_or_else(|| lacking("path"))?;
        if place.get().is_err() {
            return Err(lacking("key"));
        }
        place.set(self.value().unwrap_or(Node::Null)).map_err(|cause| {
            PatchError::Unprocessable(format!("error in remove for path: '{path}': {cause}"))
        })
    }

    fn relocate(&self, root: &mut Node) -> Result<(), String> {
        let from = self
            .text("from")
            .map_err(|cause| format!("move operation failed to decode from: {cause}"))?;
        let mut place = target::find(root, &from).ok_or_else(|| {
            missing(&format!(
                "move operation does not apply: doc is missing from path: {from}"
            ))
        })?;
        let key = place.key().to_owned();
        place
            .get()
            .map_err(|cause| format!("error in move for path: '{key}': {cause}"))?;
        let value = place
            .remove()
            .map_err(|cause| format!("error in move for path: '{key}': {cause}"))?;
        let path = self
            .text("path")
            .map_err(|cause| format!("move operation failed to decode path: {cause}"))?;
        let mut place = target::find(root, &path).ok_or_else(|| {
            missing(&format!(
                "move operation does not apply: doc is missing destination path: {path}"
            ))
        })?;
        place
            .add(value)
            .map_err(|cause| format!("error in move for path: '{path}': {cause}"))
    }

    fn duplicate(&self, root: &mut Node, copied: &mut usize) -> Result<(), String> {
        let from = self
            .text("from")
            .map_err(|cause| format!("copy operation failed to decode from: {cause}"))?;
        let mut place = target::find(root, &from).ok_or_else(|| {
            missing(&format!(
                "copy operation does not apply: doc is missing from path: {from}"
            ))
        })?;
        let value = place
            .get()
            .map_err(|cause| format!("error in copy for from: '{from}': {cause}"))?;
        let copy = value.map(|value| value.copied());
        let path = self
            .text("path")
            .map_err(|_| missing("copy operation failed to decode path"))?;
        let mut place = target::find(root, &path).ok_or_else(|| {
            missing(&format!(
                "copy operation does not apply: doc is missing destination path: {path}"
            ))
        })?;
        let (copy, size) = copy
            .unwrap_or(Ok((Node::Null, 0)))
            .map_err(|cause| format!("error while performing deep copy: {cause}"))?;
        *copied += size;
        if *copied > MAX_COPIED_BYTES {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {MAX_COPIED_BYTES}"
            ));
        }
        place
            .add(copy)
            .map_err(|cause| format!("error while adding value during copy: {cause}"))
    }

    fn test(&self, root: &mut Node) -> Result<(), PatchError> {
        let refuse = PatchError::Unprocessable;
        let path = self
            .text("path")
            .map_err(|cause| refuse(format!("test operation failed to decode path: {cause}")))?;
        let failed = || refuse(format!("testing value {path} failed: test failed"));
        let expected = self.value();
        if path.is_empty() {
            let mut expected = expected.ok_or_else(PatchError::panicked)?;
            let same = root.same(&mut expected).ok_or_else(PatchError::panicked)?;
            return if same { Ok(()) } else { Err(failed()) };
        }
        let mut place = target::find(root, &path).ok_or_else(|| {
            refuse(missing(&format!(
                "test operation does not apply: is missing path: {path}"
            )))
        })?;
        let actual = place
            .get()
            .map_err(|cause| refuse(format!("error in test for path: '{path}': {cause}")))?;
        let same = match (actual, expected) {
            (None | Some(Node::Null), None | Some(Node::WrittenNull)) => true,
            (None | Some(Node::Null), Some(_)) | (Some(_), None) => false,
            (Some(actual), Some(mut expected)) => {
                actual.same(&mut expected).ok_or_else(PatchError::panicked)?
            }
        };
        if same { Ok(()) } else { Err(failed()) }
    }
}
