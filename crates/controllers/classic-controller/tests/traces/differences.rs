//! What is meant to differ from the recordings, one by one, with the reason.

mod endings;
mod known;

use crate::comparing::Difference;
use crate::recording::Recording;

pub(crate) use endings::{Ending, ending, is_in_vain, rests_differently};
use known::KNOWN;

/// Why something may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// It differs in every run, mostly since ours does better: where it no longer does, the entry has to go.
    Always,
    /// It depends on the moment here, so that some runs are as recorded.
    Chance,
}

/// Differences that are meant, for one reason.
struct Known {
    why: Why,
    reason: &'static str,
    /// The flows, and what the places in them begin with; there, `*` stands for anything.
    places: &'static [(&'static str, &'static [&'static str])],
}

impl Known {
    /// What the places in a flow begin with.
    fn places_in(&self, flow: &str) -> impl Iterator<Item = &'static str> {
        let of_flow = self.places.iter().filter(move |(known, _)| *known == flow);
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
    let lasting = KNOWN.iter().filter(|known| known.why == Why::Always);
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

/// Returns what is said of flows that there are not, or of objects that come and go in none of their recordings: no run would
/// find out.
pub(crate) fn of_nothing(flows: &[Recording]) -> Vec<String> {
    let named = |name: &str| flows.iter().find(|recording| recording.name == name);
    let mut found: Vec<String> = endings::flows()
        .filter(|flow| named(flow).is_none())
        .map(|flow| format!("{flow} is no flow"))
        .collect();
    for known in KNOWN {
        for (flow, places) in known.places {
            let Some(recording) = named(flow) else {
                found.push(format!("{flow} is no flow: {}", known.reason));
                continue;
            };
            let stories: Vec<String> = recording
                .sights
                .keys()
                .map(|(kind, namespace, name)| format!("{kind} {namespace}/{name} "))
                .collect();
            // Those that always differ are missed by each run.
            let places = places.iter().filter(|_| known.why == Why::Chance);
            let strangers = places.filter(|place| !stories.iter().any(|subject| place.starts_with(subject)));
            found.extend(strangers.map(|place| format!("{flow} has nothing like {place}")));
        }
    }
    found
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
