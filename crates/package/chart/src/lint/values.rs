//! Checks of `values.yaml`.

use std::path::Path;

use super::{Findings, LintInput, Severity};
use crate::go_error::system_text;
use crate::loader::decode_values;
use crate::values::{Table, coalesce_tables};
use crate::warning::WarningSink;

const FILE: &str = "values.yaml";

pub(super) fn check(directory: &Path, input: &LintInput<'_>, findings: &mut Findings, warn: WarningSink<'_>) {
    let path = directory.join(FILE);
    let exists = if path.exists() {
        Ok(())
    } else {
        Err("file does not exist".to_owned())
    };
    if findings.rule(Severity::Info, FILE, exists) {
        findings.rule(Severity::Error, FILE, content(&path, input.values, warn));
    }
}

fn content(path: &Path, overrides: &Table, warn: WarningSink<'_>) -> Result<(), String> {
    let read = |path: &Path| {
        if path.is_file() {
            std::fs::read(path).map_err(|error| format!("open {}: {}", path.display(), system_text(&error)))
        } else {
            Err(format!("read {}: is a directory", path.display()))
        }
    };
    // Here the file is read into a type of its own name.
    let unparsable = |message: String| {
        format!(
            "unable to parse YAML: {}",
            message.replace("of type map[string]interface {}", "of type chartutil.Values")
        )
    };
    let defaults = read(path)
        .and_then(|data| decode_values(&data))
        .map_err(unparsable)?
        .unwrap_or_default();
    let mut values = Table::new();
    coalesce_tables(&mut values, overrides, warn);
    coalesce_tables(&mut values, &defaults, warn);
    let Ok(schema) = read(&path.with_extension("schema.json")) else {
        return Ok(());
    };
    if schema.is_empty() {
        return Ok(());
    }
    crate::schema::validate(&schema, &values).map_err(|error| error.to_string())
}
