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
        Self { record, cleaned: without_no_value(&record.output), removed, found: HashMap::new() }
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
            let before = self.removed.partition_point(|removed| *removed < at || (with && *removed == at));
            at + before * NO_VALUE.len()
        };
        let place = printed(start, true)..printed(start + content.len(), false);
        self.found.insert(content.to_vec(), place);
    }

    /// Tells what is known about a document that was found.
    pub(super) fn explain(&self, content: &[u8], values: &Table, provenance: &Provenance) -> Option<Explained> {
        let place = self.found.get(content)?;
        let writes = &self.record.writes;
        let before = writes.partition_point(|write| write.offset <= place.start);
        let write = before.checked_sub(1).and_then(|last| writes.get(last));
        Some(Explained {
            place: write.map(|write| (write.file.to_string(), write.line(place.start))),
            used: used_values(self.reads_in(place), values, provenance),
        })
    }

    fn reads_in(&self, place: &Range<usize>) -> impl Iterator<Item = &Read> {
        let output = &self.record.output;
        let mut known: BTreeMap<usize, bool> = BTreeMap::new();
        let place = place.clone();
        // What decides about a document stands before its separator, what decides about nothing more at its end.
        let last = self.found.values().map(|found| found.start).max() == Some(place.start);
        self.record.reads.iter().filter(move |read| {
            *known.entry(read.offset).or_insert_with(|| {
                let content = next_content(output, read.offset);
                place.contains(&content) || (last && content >= place.end)
            })
        })
    }
}

/// The next offset with something that is neither space nor a separator.
fn next_content(output: &[u8], from: usize) -> usize {
    let mut at = from.min(output.len());
    loop {
        at += output[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let starts_line = at == 0 || output.get(at.wrapping_sub(1)) == Some(&b'\n');
        if !(starts_line && output[at..].starts_with(b"---")) {
            return at;
        }
        at += 3;
    }
}

/// Keeps the reads that no other read goes through, with what is known about each value.
fn used_values<'read>(
    reads: impl Iterator<Item = &'read Read>,
    values: &Table,
    provenance: &Provenance,
) -> Vec<UsedValue> {
    let mut paths: BTreeMap<Vec<String>, Option<&Value>> = BTreeMap::new();
    for read in reads {
        let mut path = read.table.to_vec();
        path.push(read.key.clone());
        let changed = paths.entry(path).or_default();
        *changed = changed.or(read.changed.as_ref());
    }
    let passed: BTreeSet<Vec<String>> = paths
        .keys()
        .flat_map(|path| (1..path.len()).map(|length| path[..length].to_vec()))
        .collect();
    paths
        .into_iter()
        .filter(|(path, _)| !passed.contains(path))
        .map(|(path, changed)| {
            if let Some(changed) = changed {
                return UsedValue { path, value: Some(changed.clone()), setter: Setter::Template };
            }
            let value = value_at(values, &path).cloned();
            let setter = if value.is_some() { setter(&path, provenance) } else { Setter::Unknown };
            UsedValue { path, value, setter }
        })
        .collect()
}

/// Finds the value at a path.
pub(super) fn value_at<'values>(values: &'values Table, path: &[String]) -> Option<&'values Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(values.get(first)?, |value, key| match value {
        Value::Array(items) => key.trim_matches(['[', ']']).parse::<usize>().ok().and_then(|at| items.get(at)),
        value => value.get(key),
    })
}

/// Who set a value. What a subchart sees as global may have been set at the top, which wins over its own.
fn setter(path: &[String], provenance: &Provenance) -> Setter {
    let keys: Vec<&str> = path.iter().map(String::as_str).collect();
    let global = keys.iter().position(|key| *key == GLOBAL_KEY).filter(|at| *at > 0);
    let shared = global.and_then(|at| provenance.origin_of(&keys[at..]));
    match shared.or_else(|| provenance.origin_of(&keys)) {
        Some(origin) => Setter::Origin(super::secrecy::shown_origin(origin)),
        None => Setter::Unknown,
    }
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
            assert_eq!(next_content(output.as_bytes(), from), expected, "{output:?} from {from}");
        }
    }
}
