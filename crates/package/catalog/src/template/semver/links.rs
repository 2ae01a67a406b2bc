//! Upgrade edges between versions.

use std::collections::BTreeSet;

use version::Version;

use super::channels::{Grown, Place};
use crate::objects::{Channel, ChannelEntry};

/// Links versions as opm 1.61 and later do.
///
/// The last version of every minor version replaces the last one of the minor version before it, also where that
/// stands in another channel, and skips all else that came before within the major version. A new grade, stream or
/// major version starts afresh.
pub(super) fn across_channels(grown: Grown) -> Vec<Channel> {
    let Grown {
        mut channels,
        mut places,
        ..
    } = grown;
    places.sort_by(|one, other| {
        (one.grade, one.stream)
            .cmp(&(other.grade, other.stream))
            .then_with(|| one.version.precedence(&other.version))
    });
    let starts_afresh = |one: &Place, other: &Place| {
        (one.grade, one.stream, one.version.major()) != (other.grade, other.stream, other.version.major())
    };
    for line in places.chunk_by(|one, other| !starts_afresh(one, other)) {
        let mut before: BTreeSet<&str> = BTreeSet::new();
        let mut last_of_minor = "";
        for minor in line.chunk_by(|one, other| one.version.minor() == other.version.minor()) {
            let Some((head, lower)) = minor.split_last() else {
                continue;
            };
            before.extend(lower.iter().map(|place| place.name.as_str()));
            let entries = channels
                .get_mut(&head.channel)
                .and_then(|channel| channel.entries.as_mut());
            if let Some(entry) = entries.and_then(|entries| entries.get_mut(head.index)) {
                last_of_minor.clone_into(&mut entry.replaces);
                let skips = before.iter().filter(|name| **name != last_of_minor);
                entry.skips = skips.map(|name| (*name).to_owned()).collect();
            }
            before.insert(&head.name);
            last_of_minor = &head.name;
        }
    }
    channels.into_values().collect()
}

/// Links versions as opm 1.37 to 1.56 do: every channel by itself.
///
/// The last version of every minor version replaces the last one of the minor version before it, if that is in the
/// same channel, and skips it as well, and the lower versions of its own minor version.
pub(super) fn within_channels(grown: Grown) -> Vec<Channel> {
    let Grown {
        mut channels, places, ..
    } = grown;
    let minor = |version: &Version| (version.major(), version.minor());
    for (name, channel) in &mut channels {
        let Some(entries) = &mut channel.entries else {
            continue;
        };
        let minors: Vec<(u64, u64)> = places
            .iter()
            .filter(|place| place.channel == *name)
            .map(|place| minor(&place.version))
            .collect();
        link(entries, &minors);
    }
    channels.into_values().collect()
}

/// Links the entries of one channel, whose minor versions are `minors`.
fn link(entries: &mut [ChannelEntry], minors: &[(u64, u64)]) {
    let mut previous: Option<String> = None;
    let mut rest = entries;
    for minor in minors.chunk_by(|one, other| one == other) {
        let Some((same, after)) = rest.split_at_mut_checked(minor.len()) else {
            return;
        };
        rest = after;
        let Some((head, lower)) = same.split_last_mut() else {
            continue;
        };
        if let Some(previous) = previous.replace(head.name.clone()) {
            head.skips.push(previous.clone());
            head.replaces = previous;
        }
        head.skips.extend(lower.iter().map(|entry| entry.name.clone()));
    }
}
