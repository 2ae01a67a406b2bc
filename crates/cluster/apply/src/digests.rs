//! Digests: whether a phase still holds what it held when it was first looked at.

use api::cluster_object_set::ObservedPhase;
use aws_lc_rs::digest::{SHA256, digest};
use goyaml::json::{Escape, to_string};
use serde_json::{Value, json};

/// Returns the digest of a phase, taken of its objects before anything is added to them.
///
/// No list of objects and an empty one have digests of their own.
pub fn of_phase(name: &str, objects: Option<&[Value]>) -> String {
    let phase = json!({"name": name, "objects": objects});
    let written = to_string(&phase, Escape::Html).unwrap_or_else(|_| phase.to_string());
    format!(
        "sha256:{}",
        hexadecimal(digest(&SHA256, written.as_bytes()).as_ref())
    )
}

/// Compares digests with those that were noted first, and says which differ.
pub fn check(noted: &[ObservedPhase], current: &[ObservedPhase]) -> Result<(), ContentChanged> {
    if noted.is_empty() {
        return Err(ContentChanged::NothingNoted);
    }
    if noted.len() != current.len() {
        return Err(ContentChanged::Count {
            expected: noted.len(),
            got: current.len(),
        });
    }
    let differing: Vec<String> = current
        .iter()
        .filter_map(|phase| {
            let before = noted.iter().rev().find(|noted| noted.name == phase.name)?;
            (before.digest != phase.digest).then(|| {
                format!(
                    "phase \"{}\" (expected digest {}, got {})",
                    phase.name, before.digest, phase.digest
                )
            })
        })
        .collect();
    if differing.is_empty() {
        return Ok(());
    }
    Err(ContentChanged::Phases {
        count: differing.len(),
        list: differing.join("; "),
    })
}

/// What a revision holds is no longer what it held first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContentChanged {
    /// There is nothing to compare with.
    #[error("stored observedPhases is unexpectedly empty")]
    NothingNoted,
    /// There are more phases, or fewer.
    #[error("number of phases has changed (expected {expected} phases, got {got})")]
    Count {
        /// How many there were.
        expected: usize,
        /// How many there are.
        got: usize,
    },
    /// Some phases hold something else.
    #[error(
        "resolved content of {count} phase(s) has changed: {list}; a referenced object source may have been deleted and recreated with different content"
    )]
    Phases {
        /// How many.
        count: usize,
        /// Which, with both digests.
        list: String,
    },
}

/// Writes bytes as lower-case hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
