//! Rendered files taken apart into objects and hooks, in the order in which they are installed.
//!
//! Documents are slices of the rendered bytes; of their content only the head is looked at.

mod head;
mod heads;
mod hook;
mod order;
mod split;

use std::io;

use bytes::Bytes;
use gotemplate::format::quoted;
use thiserror::Error;

pub use head::Head;
pub use heads::Heads;
pub use hook::{Hook, HookEvent, HookExecution};
pub use order::{INSTALL_ORDER, UNINSTALL_ORDER, compare_kinds};
pub use split::{split, trim_space};

use crate::metadata::base_name;
use crate::warning::{Warning, WarningSink};

/// An object, as it was rendered.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The template that it came from, such as `chart/templates/service.yaml`.
    pub name: String,
    /// Its YAML.
    pub content: Bytes,
    /// What it is.
    pub head: Head,
}

/// Rendered files, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Sorted {
    /// Hooks, by kind in install order.
    pub hooks: Vec<Hook>,
    /// Everything else, by kind in install order.
    pub manifests: Vec<Manifest>,
}

/// A rendered file that is no YAML, or no Kubernetes object.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("YAML parse error on {file}: {message}")]
pub struct ManifestError {
    /// The template that it came from.
    pub file: String,
    /// What is wrong with it, in Go's words.
    pub message: String,
}

/// Takes rendered files apart; partials and empty files are skipped.
pub fn sort<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a Bytes)>,
    order: &[&str],
    heads: &Heads,
    warn: WarningSink<'_>,
) -> Result<Sorted, ManifestError> {
    let mut files: Vec<(&str, &Bytes)> = files.into_iter().collect();
    files.sort_by_key(|(name, _)| *name);
    let mut sorted = Sorted::default();
    for (name, content) in files {
        if base_name(name).starts_with('_') || trim_space(content).is_empty() {
            continue;
        }
        for document in split(content) {
            sort_document(name, document, heads, &mut sorted, warn)?;
        }
    }
    sorted
        .hooks
        .sort_by(|left, right| compare_kinds(&left.kind, &right.kind, order));
    sorted
        .manifests
        .sort_by(|left, right| compare_kinds(&left.head.kind, &right.head.kind, order));
    Ok(sorted)
}

fn sort_document(
    file: &str,
    content: Bytes,
    heads: &Heads,
    sorted: &mut Sorted,
    warn: WarningSink<'_>,
) -> Result<(), ManifestError> {
    let head = heads.read(&content).map_err(|message| ManifestError {
        file: file.to_owned(),
        message,
    })?;
    let Some(events) = head.annotations.get(hook::EVENT_ANNOTATION) else {
        sorted.manifests.push(Manifest {
            name: file.to_owned(),
            content,
            head,
        });
        return Ok(());
    };
    match Hook::new(file, content, &head) {
        Some(hook) => sorted.hooks.push(hook),
        None => warn(Warning::new(
            "manifest_sorter.go:190",
            format!("info: skipping unknown hook: {}", quoted(events)),
        )),
    }
    Ok(())
}

/// Writes a document the way Helm joins them into one stream.
pub fn write_document(output: &mut impl io::Write, source: &str, content: &[u8]) -> io::Result<()> {
    write!(output, "---\n# Source: {source}\n")?;
    output.write_all(content)?;
    output.write_all(b"\n")
}
