//! What is meant to differ from the recordings, one by one, with the reason.

mod endings;
mod known;

use crate::comparing::Difference;

pub(crate) use endings::{Ending, ending, is_in_vain, rests_differently};
use known::KNOWN;

/// Why something may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// Ours does better, always: where it no longer differs, the entry has to go.
    Better,
    /// It depends on the moment, on one side or on both.
    Chance,
}

/// Differences that are meant, for one reason.
struct Known {
    why: Why,
    reason: &'static str,
    /// The flows, `*` for all, and what the places in them begin with; there, `*` stands for anything.
    places: &'static [(&'static str, &'static [&'static str])],
}

impl Known {
    /// What the places in a flow begin with.
    fn places_in(&self, flow: &str) -> impl Iterator<Item = &'static str> {
        let flows = self.places.iter();
        let of_flow = flows.filter(move |(known, _)| *known == flow || *known == "*");
        of_flow.flat_map(|(_, places)| places.iter().copied())
    }
}

/// Returns whether a difference is meant.
pub(crate) fn is_known(flow: &str, difference: &Difference) -> bool {
    let place = difference.place();
    KNOWN
        .iter()
        .flat_map(|known| known.places_in(flow))
        .any(|known| matches(known, &place))
}

/// Returns what is wrong with the differences of a flow: those that nobody knows of, and those that are known and not there.
pub(crate) fn judge(flow: &str, differences: &[Difference]) -> Vec<String> {
    let unknown = differences
        .iter()
        .filter(|difference| !is_known(flow, difference));
    let found: Vec<String> = differences.iter().map(Difference::place).collect();
    let lasting = KNOWN.iter().filter(|known| known.why == Why::Better);
    let missing = lasting.flat_map(|known| {
        let places = known.places_in(flow);
        let missing = places.filter(|place| !found.iter().any(|found| matches(place, found)));
        missing.map(|place| {
            format!(
                "  {place} no longer differs, take it from the list: {}",
                known.reason
            )
        })
    });
    unknown.map(ToString::to_string).chain(missing).collect()
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
