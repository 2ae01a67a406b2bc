//! Completion indexes, written as `0-3,5`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::object::Object;

/// The annotation and label with a Pod's completion index.
pub(super) const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// Returns the index of a Pod.
pub(super) fn index_of(pod: &Value) -> Option<i64> {
    pod.annotation(INDEX)?.parse().ok().filter(|&index| index >= 0)
}

/// Reads indexes below a number; what can't be read is left out.
pub(super) fn read(text: &str, below: i64) -> BTreeSet<i64> {
    let mut out = BTreeSet::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) else {
            return out;
        };
        out.extend(first.max(0)..=last.min(below - 1));
    }
    out
}

/// Writes indexes, with a dash for three or more that follow each other.
pub(super) fn write(indexes: &BTreeSet<i64>) -> String {
    let mut runs: Vec<(i64, i64)> = Vec::new();
    for &index in indexes {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            _ => runs.push((index, index)),
        }
    }
    let mut parts = Vec::with_capacity(runs.len());
    for (first, last) in runs {
        match last - first {
            0 => parts.push(first.to_string()),
            1 => parts.push(format!("{first},{last}")),
            _ => parts.push(format!("{first}-{last}")),
        }
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_read_and_written() {
        for text in ["", "0", "1,2", "0-2,4,6-9", "0,2,4,5"] {
            assert_eq!(write(&read(text, 10)), text);
        }
        assert_eq!(write(&read("2-5,8", 4)), "2,3");
        assert_eq!(write(&read("0,x,3", 10)), "0");
    }
}
