//! JSON patch (RFC 6902): a list of operations, each applied to what the one before it left.
//!
//! The API server has its own reading of the RFC, which clients rely on: indices may be negative, a field needn't be
//! there to be replaced, a value that isn't given is null, and two scalars are the same if their texts are.

mod node;
mod operation;
mod target;

use serde_json::Value;

use crate::PatchError;
use crate::document;
use node::Node;
use operation::Operation;

/// How many operations one patch may have. Applying them is linear in their number, so that a small body could
/// otherwise keep the server busy for long.
pub const MAX_OPERATIONS: usize = 10_000;

/// How many bytes the `copy` operations of one patch may add, so that a few bytes can't become gigabytes.
pub const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// A JSON patch that has been read.
#[derive(Debug, Clone)]
pub struct JsonPatch {
    operations: Vec<Operation>,
    findings: Vec<String>,
}

impl JsonPatch {
    /// Reads the body of a `application/json-patch+json` request.
    ///
    /// `strict` is whether the request's field validation is `Strict` or `Warn`, when the body is also read strictly.
    pub fn read(body: &[u8], strict: bool) -> Result<Self, PatchError> {
        let mut findings = Vec::new();
        if strict {
            findings = operation::read_strictly(body)
                .map_err(|text| PatchError::BadRequest(format!("error decoding patch: {text}")))?;
        }
        let operations = operation::read(body).map_err(PatchError::BadRequest)?;
        if operations.len() > MAX_OPERATIONS {
            return Err(PatchError::TooLarge(format!(
                "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
                operations.len()
            )));
        }
        Ok(Self { operations, findings })
    }

    /// Returns what is wrong with the patch for a strict reader, such as `json patch unknown field "[0].foo"`.
    pub fn findings(&self) -> &[String] {
        &self.findings
    }

    /// Applies all operations, or none.
    pub fn apply(&self, object: Value) -> Result<Value, PatchError> {
        let mut root = Node::Stored(object);
        let mut copied = 0;
        for operation in &self.operations {
            operation.apply(&mut root, &mut copied)?;
        }
        root.into_value().map_err(PatchError::Internal)
    }
}

/// Applies the body of a `application/json-patch+json` request that is read leniently.
pub fn apply(object: Value, body: &[u8]) -> Result<Value, PatchError> {
    JsonPatch::read(body, false)?.apply(object)
}

/// Reads a text that is part of a valid body.
fn value_of(text: &str) -> Result<Value, String> {
    document::read(text.as_bytes())
}

#[cfg(test)]
mod tests;
