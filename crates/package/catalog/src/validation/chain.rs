//! The rules for how the entries of a channel follow each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::objects::ChannelEntry;

/// Finds the head of a channel: the only entry that no entry replaces or skips, itself included.
pub(crate) fn head<'a>(
    entries: impl Iterator<Item = &'a ChannelEntry> + Clone,
) -> Result<&'a ChannelEntry, String> {
    let followed: BTreeSet<&str> = entries
        .clone()
        .flat_map(|entry| {
            let replaced = Some(entry.replaces.as_str()).filter(|name| !name.is_empty());
            replaced.into_iter().chain(entry.skips.iter().map(String::as_str))
        })
        .collect();
    let mut heads: Vec<&ChannelEntry> = entries
        .filter(|entry| !followed.contains(entry.name.as_str()))
        .collect();
    match heads.as_slice() {
        [] => Err("no channel head found in graph".to_owned()),
        [head] => Ok(head),
        _ => {
            heads.sort_by(|a, b| a.name.cmp(&b.name));
            let names: Vec<&str> = heads.iter().map(|head| head.name.as_str()).collect();
            Err(format!(
                "multiple channel heads found in graph: {}",
                names.join(", ")
            ))
        }
    }
}

/// Checks that replacements lead from the head to every entry that is not skipped, without a cycle.
///
/// A replacement of a skipped entry is not followed. The last entry may replace one that is not in the channel.
pub(super) fn check<'a>(entries: impl Iterator<Item = &'a ChannelEntry> + Clone) -> Result<(), String> {
    let head = head(entries.clone())?;
    let by_name: BTreeMap<&str, &ChannelEntry> = entries
        .clone()
        .map(|entry| (entry.name.as_str(), entry))
        .collect();
    let skipped: BTreeSet<&str> = entries
        .flat_map(|entry| entry.skips.iter().map(String::as_str))
        .collect();
    let mut chain = vec![head.name.as_str()];
    let mut visited = BTreeSet::from([head.name.as_str()]);
    let mut current = Some(head);
    while let Some(entry) = current {
        let replaced = entry.replaces.as_str();
        if skipped.contains(replaced) {
            break;
        }
        chain.push(replaced);
        if !visited.insert(replaced) {
            let start = chain
                .iter()
                .position(|name| *name == replaced)
                .unwrap_or_default();
            return Err(format!(
                "detected cycle in replaces chain of upgrade graph: {}",
                chain.get(start..).unwrap_or_default().join(" -> ")
            ));
        }
        current = by_name.get(replaced).copied();
    }
    let stranded: Vec<&str> = by_name
        .keys()
        .filter(|name| !visited.contains(*name) && !skipped.contains(*name))
        .copied()
        .collect();
    if stranded.is_empty() {
        return Ok(());
    }
    Err(format!(
        "channel contains one or more stranded bundles: {}",
        stranded.join(", ")
    ))
}
