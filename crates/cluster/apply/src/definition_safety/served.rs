//! Whether what one served version takes, the next one takes too: nothing converts between them but the API server.

use super::definition::{Definition, Version};
use super::properties::{self, Issue};

/// Returns the issues between the new definition's served versions that the old definition doesn't have already.
pub(crate) fn compare(old: &Definition, new: &Definition) -> Vec<(String, Issue)> {
    if new.converts {
        return Vec::new();
    }
    let known = between(old);
    let mut issues = between(new);
    issues.retain(|issue| !known.contains(issue));
    issues
}

fn between(definition: &Definition) -> Vec<(String, Issue)> {
    let mut served: Vec<&Version> = definition
        .versions
        .iter()
        .filter(|version| version.served)
        .collect();
    served.sort_by(|one, other| version::api_version_priority(&other.name, &one.name));
    let flat: Vec<_> = served
        .iter()
        .map(|version| (&version.name, version.properties()))
        .collect();
    let mut issues = Vec::new();
    for (index, (old_name, old)) in flat.iter().enumerate() {
        for (new_name, new) in flat.iter().skip(index + 1) {
            let pair = format!("{old_name} -> {new_name}");
            let found = properties::compare(old, new);
            issues.extend(found.into_iter().map(|issue| (pair.clone(), issue)));
        }
    }
    issues
}
