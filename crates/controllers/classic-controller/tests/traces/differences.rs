//! What is meant to differ from the recordings, one by one, with the reason.

use crate::comparing::Difference;

/// A difference that is meant.
struct Known {
    /// The flow.
    flow: &'static str,
    /// What its place begins with; `*` stands for anything.
    place: &'static str,
}

const KNOWN: &[Known] = &[
    // Upstream leaves out the rules of a service account whose Role it made itself, by accident.
    Known {
        flow: "*",
        place: "ClusterServiceVersion * /status/requirementStatus/*/dependents",
    },
];

/// Returns whether a difference is meant.
pub(crate) fn is_known(flow: &str, difference: &Difference) -> bool {
    let place = difference.place();
    KNOWN
        .iter()
        .any(|known| (known.flow == flow || known.flow == "*") && matches(known.place, &place))
}

/// Returns whether a text begins with a pattern.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => text.starts_with(pattern),
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            (0..=tail.len())
                .filter(|position| tail.is_char_boundary(*position))
                .any(|position| matches(rest, &tail[position..]))
        }),
    }
}
