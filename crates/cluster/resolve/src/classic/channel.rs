//! The order of a channel: from its head along `replaces` to its tail.

use std::collections::{HashMap, HashSet};

use gotemplate::format::quoted;
use thiserror::Error;

use super::entry::Entry;

/// Why the entries of a channel have no order. The words are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChannelError {
    /// Every entry is replaced by another.
    #[error(
        "no channel heads (entries not replaced by another entry) found in channel {} of package {}",
        quoted(.channel), quoted(.package)
    )]
    NoHead {
        /// The channel.
        channel: String,
        /// Its package.
        package: String,
    },
    /// The way from the head leads back to where it has been.
    #[error(
        "a cycle exists in the chain of replacement beginning with {} in channel {} of package {}",
        quoted(.head), quoted(.channel), quoted(.package)
    )]
    Cycle {
        /// The head.
        head: String,
        /// The channel.
        channel: String,
        /// Its package.
        package: String,
    },
    /// There are several heads.
    #[error(
        "a unique replacement chain within a channel is required to determine the relative order between channel entries, \
         but {} replacement chains were found in channel {} of package {}: {}",
        .chains.len(), quoted(.channel), quoted(.package), .chains.join(", ")
    )]
    SeveralChains {
        /// The channel.
        channel: String,
        /// Its package.
        package: String,
        /// The chains, each as its first and last entry.
        chains: Vec<String>,
    },
}

/// Returns the positions of the entries of one channel, from head to tail. Those that another one skips are left out.
pub fn sort_channel(entries: &[&Entry]) -> Result<Vec<usize>, ChannelError> {
    let Some(first) = entries.first() else {
        return Ok(Vec::new());
    };
    let (channel, package) = (&first.channel, &first.package);
    let by_name: HashMap<&str, usize> = entries
        .iter()
        .enumerate()
        .map(|(position, entry)| (entry.name.as_str(), position))
        .collect();
    let mut is_replaced = vec![false; entries.len()];
    let mut is_skipped = vec![false; entries.len()];
    let mut replaces: Vec<Option<usize>> = vec![None; entries.len()];
    for (position, entry) in entries.iter().enumerate() {
        if !entry.replaces.is_empty()
            && let Some(&replaced) = by_name.get(entry.replaces.as_str())
        {
            is_replaced[replaced] = true;
            replaces[position] = Some(replaced);
        }
        for skipped in entry.skips.iter().filter_map(|name| by_name.get(name.as_str())) {
            is_replaced[*skipped] = true;
            is_skipped[*skipped] = true;
        }
    }
    let heads: Vec<usize> = (0..entries.len())
        .filter(|&position| !is_replaced[position])
        .collect();
    if heads.is_empty() {
        return Err(ChannelError::NoHead {
            channel: channel.clone(),
            package: package.clone(),
        });
    }
    let mut chains = Vec::with_capacity(heads.len());
    for head in heads {
        let mut chain = Vec::new();
        let mut seen = HashSet::new();
        let mut next = Some(head);
        while let Some(position) = next {
            if !seen.insert(position) {
                return Err(ChannelError::Cycle {
                    head: entries[head].name.clone(),
                    channel: channel.clone(),
                    package: package.clone(),
                });
            }
            if !is_skipped[position] {
                chain.push(position);
            }
            next = replaces[position];
        }
        chains.push(chain);
    }
    if chains.len() > 1 {
        let described = |chain: &Vec<usize>| match chain.as_slice() {
            [] => "[]".to_owned(),
            [only] => entries[*only].name.clone(),
            [first, .., last] => format!("{}...{}", entries[*first].name, entries[*last].name),
        };
        return Err(ChannelError::SeveralChains {
            channel: channel.clone(),
            package: package.clone(),
            chains: chains.iter().map(described).collect(),
        });
    }
    Ok(chains.swap_remove(0))
}
