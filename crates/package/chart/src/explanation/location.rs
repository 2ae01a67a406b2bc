//! Finds documents in rendered files, and the writes and reads that belong to each.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use memchr::memmem;
use serde_json::Value;

use super::recorder::{FileRecord, Read};
use super::{Explained, Setter, UsedValue};
use crate::engine::without_no_value;
use crate::provenance::Provenance;
use crate::values::{GLOBAL_KEY, Table};

/// What Go prints for no value, and Helm takes out of rendered files.
const NO_VALUE: &[u8] = b"<no value>";

/// A rendered file, and where in it documents were found.
pub(super) struct LocatedFile<'record> {
    record: &'record FileRecord,
    /// The output as Helm goes on with it, where that differs from what was printed.
    cleaned: Option<Vec<u8>>,
    /// Where marks of missing values started, in the cleaned output.
    removed: Vec<usize>,
    /// The documents, by content, as ranges of what was printed.
    found: HashMap<Vec<u8>, Range<usize>>,
}

impl<'record> LocatedFile<'record> {
    pub(super) fn new(record: &'record FileRecord) -> Self {
        let removed = memmem::find_iter(&record.output, NO_VALUE)
            .enumerate()
            .map(|(count, at)| at - count * NO_VALUE.len())
            .collect();
        Self {
            record,
            cleaned: without_no_value(&record.output),
            removed,
            found: HashMap::new(),
        }
    }

    /// Looks for a document and remembers its place.
    pub(super) fn find(&mut self, content: &[u8]) {
        if self.found.contains_key(content) {
            return;
        }
        let output = self.cleaned.as_deref().unwrap_or(&self.record.output);
        let start = memmem::find_iter(output, content).find(|at| {
            let before = output[..*at].trim_ascii_end();
            before.is_empty() || before.ends_with(b"---")
        });
        let Some(start) = start else { return };
        // A mark at the very start belongs to the document, one at the very end does not.
        let printed = |at: usize, with: bool| {
            let before = self
                .removed
                .partition_point(|removed| *removed < at || (with && *removed == at));
            at + before * NO_VALUE.len()
        };
        let place = printed(start, true)..printed(start + content.len(), false);
        self.found.insert(content.to_vec(), place);
    }

    /// Tells what is known about a document that was found.
    pub(super) fn explain(
        &self,
        content: &[u8],
        values: &Table,
        provenance: &Provenance,
    ) -> Option<Explained> {
        let place = self.found.get(content)?;
        let writes = &self.record.writes;
        let before = writes.partition_point(|write| write.offset <= place.start);
        let write = before.checked_sub(1).and_then(|last| writes.get(last));
        Some(Explained {
            place: write.map(|write| (write.file.to_string(), write.line(place.start))),
            used: self.used_in(place.start, values, provenance),
        })
    }

    /// The values that were used for the document that starts at an offset.
    fn used_in(&self, start: usize, values: &Table, provenance: &Provenance) -> Vec<UsedValue> {
        let starts: BTreeSet<usize> = self.found.values().map(|place| place.start).collect();
        let mut used: BTreeMap<Vec<String>, UsedValue> = BTreeMap::new();
        for reads in self
            .record
            .reads
            .chunk_by(|left, right| left.offset == right.offset)
        {
            let Some(offset) = reads.first().map(|read| read.offset) else {
                continue;
            };
            let content = next_content(&self.record.output, offset);
            let owner_of = |offset: usize| {
                starts
                    .range(..=offset)
                    .next_back()
                    .or_else(|| starts.first())
                    .copied()
            };
            let (before, after) = (owner_of(offset), owner_of(content));
            if before != Some(start) && after != Some(start) {
                continue;
            }
            for value in used_values(reads, values, provenance) {
                // Between two documents, what led to nothing ends the first one, and what led on starts the second.
                let owner = if value.value.as_ref().is_some_and(is_true) {
                    after
                } else {
                    before
                };
                if owner == Some(start) {
                    used.insert(value.path.clone(), value);
                }
            }
        }
        let passed = passed_tables(used.keys());
        used.into_iter()
            .filter(|(path, _)| !passed.contains(path))
            .map(|(_, value)| value)
            .collect()
    }
}

/// What a condition makes of a value.
fn is_true(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(table) => !table.is_empty(),
    }
}

/// The tables that paths lead through.
fn passed_tables<'path>(paths: impl Iterator<Item = &'path Vec<String>>) -> BTreeSet<Vec<String>> {
    paths
        .flat_map(|path| (1..path.len()).map(|length| path[..length].to_vec()))
        .collect()
}

/// The next offset with something that is neither space nor a separator.
fn next_content(output: &[u8], from: usize) -> usize {
    let mut at = from.min(output.len());
    loop {
        at += output[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace())
            .count();
        let starts_line = at == 0 || output.get(at.wrapping_sub(1)) == Some(&b'\n');
        if !(starts_line && output[at..].starts_with(b"---")) {
            return at;
        }
        at += 3;
    }
}

/// Keeps the reads that no other read goes through, with what is known about each value.
fn used_values(reads: &[Read], values: &Table, provenance: &Provenance) -> Vec<UsedValue> {
    let mut paths: BTreeMap<Vec<String>, Option<&Value>> = BTreeMap::new();
    for read in reads {
        let mut path = read.table.to_vec();
        path.push(read.key.clone());
        let changed = paths.entry(path).or_default();
        *changed = changed.or(read.changed.as_ref());
    }
    let passed = passed_tables(paths.keys());
    paths
        .into_iter()
        .filter(|(path, _)| !passed.contains(path))
        .map(|(path, changed)| {
            if let Some(changed) = changed {
                return UsedValue {
                    path,
                    value: Some(changed.clone()),
                    setter: Setter::Template,
                };
            }
            let value = value_at(values, &path).cloned();
            let setter = if value.is_some() {
                setter(&path, provenance)
            } else {
                Setter::Unknown
            };
            UsedValue { path, value, setter }
        })
        .collect()
}

/// Finds the value at a path.
pub(super) fn value_at<'values>(values: &'values Table, path: &[String]) -> Option<&'values Value> {
    let (first, rest) = path.split_first()?;
    rest.iter()
        .try_fold(values.get(first)?, |value, key| match value {
            Value::Array(items) => key
                .trim_matches(['[', ']'])
                .parse::<usize>()
                .ok()
                .and_then(|at| items.get(at)),
            value => value.get(key),
        })
}

/// Who set a value, or what is in it. What a subchart sees as global may have been set at the top, which wins over its
/// own.
fn setter(path: &[String], provenance: &Provenance) -> Setter {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    let global = keys
        .iter()
        .position(|key| *key == GLOBAL_KEY)
        .filter(|at| *at > 0);
    let mut origins = global
        .map(|at| provenance.origins_in(&keys[at..]))
        .unwrap_or_default();
    if origins.is_empty() {
        origins = provenance.origins_in(&keys);
    }
    if origins.is_empty() {
        return Setter::Unknown;
    }
    let shown: Vec<String> = origins.into_iter().map(super::shown_origin).collect();
    Setter::Origin(shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_and_space_are_skipped_to_the_next_content() {
        for (output, from, expected) in [
            ("a: 1\n---\nb: 2", 3, 3),
            ("a: 1\n---\nb: 2", 4, 9),
            ("a: 1\n---\n---\n b", 4, 14),
            ("a: ---", 3, 3),
            ("---\n", 0, 4),
            ("", 0, 0),
            ("a", 7, 1),
        ] {
            assert_eq!(
                next_content(output.as_bytes(), from),
                expected,
                "{output:?} from {from}"
            );
        }
    }
}
