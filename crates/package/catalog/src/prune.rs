//! A catalog cut down to some of its packages, channels and versions.
//!
//! What is cut away must not cost customers their upgrades: an entry that followed a removed version takes over what
//! that version followed, and follows the removed one itself, by `skips`.

use std::collections::{BTreeMap, BTreeSet};

use version::Range;

use crate::edges::{BundleVersions, ChannelEdges};
use crate::nearest::did_you_mean;
use crate::objects::{Catalog, Channel, ChannelEntry};

/// What to keep of a catalog.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// The packages to keep, each with what to keep of it.
    pub packages: BTreeMap<String, PackageSelection>,
}

/// What to keep of a package.
#[derive(Debug, Clone, Default)]
pub struct PackageSelection {
    /// The channels to keep; all when empty.
    pub channels: BTreeSet<String>,
    /// The versions to keep; all when there is none.
    pub versions: Option<Range>,
    /// Whether to keep only the head of each channel.
    pub heads_only: bool,
}

/// Why a catalog can't be cut down as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PruneError {
    /// A package that should be kept isn't there.
    #[error("package {name:?} is not in the catalog; {}", instead(name, known))]
    UnknownPackage {
        /// The name that was asked for.
        name: String,
        /// The packages there are.
        known: Vec<String>,
    },
    /// A channel that should be kept isn't there.
    #[error("package {package:?} has no channel {name:?}; {}", instead(name, known))]
    UnknownChannel {
        /// The package.
        package: String,
        /// The name that was asked for.
        name: String,
        /// The channels there are.
        known: Vec<String>,
    },
    /// No version of a package would be left.
    #[error("no version of package {0:?} would be left: widen the version range or the channels")]
    NothingLeft(String),
}

/// The most names that a message lists: who has more wants to know which look like the one that was given.
const MAXIMUM_LISTED: usize = 20;

/// What there is instead of a name.
fn instead(name: &str, known: &[String]) -> String {
    match (did_you_mean(name, known.iter().map(String::as_str)), known.len()) {
        (Some(meant), _) => meant,
        (None, 0) => "it has none".to_owned(),
        (None, 1..=MAXIMUM_LISTED) => format!("it has {}", known.join(", ")),
        (None, many) => format!("it has {many} others"),
    }
}

/// Cuts a catalog down to a selection; objects of other schemas stay with their package.
///
/// When the default channel goes, the channel with the highest head becomes the default.
///
/// # Errors
///
/// When the selection names what isn't there, or leaves nothing of a package.
pub fn prune(catalog: &Catalog, selection: &Selection) -> Result<Catalog, PruneError> {
    let mut pruned = Catalog::default();
    for (name, keep) in &selection.packages {
        prune_package(catalog, name, keep, &mut pruned)?;
    }
    pruned.others = catalog
        .others
        .iter()
        .filter(|meta| meta.package.is_empty() || selection.packages.contains_key(&meta.package))
        .cloned()
        .collect();
    Ok(pruned)
}

fn prune_package(
    catalog: &Catalog,
    name: &str,
    keep: &PackageSelection,
    pruned: &mut Catalog,
) -> Result<(), PruneError> {
    let mut package = catalog
        .packages
        .iter()
        .find(|package| package.name == name)
        .cloned()
        .ok_or_else(|| PruneError::UnknownPackage {
            name: name.to_owned(),
            known: catalog
                .packages
                .iter()
                .map(|package| package.name.clone())
                .collect(),
        })?;
    let versions = BundleVersions::of(catalog, name);
    let channels: Vec<&Channel> = catalog
        .channels
        .iter()
        .filter(|channel| channel.package == name)
        .collect();
    if let Some(unknown) = keep
        .channels
        .iter()
        .find(|wanted| !channels.iter().any(|channel| channel.name == **wanted))
    {
        return Err(PruneError::UnknownChannel {
            package: name.to_owned(),
            name: unknown.clone(),
            known: channels.iter().map(|channel| channel.name.clone()).collect(),
        });
    }
    let mut kept: Vec<Channel> = channels
        .into_iter()
        .filter(|channel| keep.channels.is_empty() || keep.channels.contains(&channel.name))
        .map(|channel| prune_channel(channel, keep, &versions))
        .filter(|channel| {
            channel
                .entries
                .as_ref()
                .is_some_and(|entries| !entries.is_empty())
        })
        .collect();
    if !kept.iter().any(|channel| channel.name == package.default_channel) {
        let highest = kept.iter().max_by(|left, right| {
            let head = |channel| {
                ChannelEdges::new(channel, &versions)
                    .heads()
                    .pop()
                    .unwrap_or_default()
                    .to_owned()
            };
            versions.compare(&head(left), &head(right))
        });
        let highest = highest.ok_or_else(|| PruneError::NothingLeft(name.to_owned()))?;
        package.default_channel.clone_from(&highest.name);
    }
    let names: BTreeSet<&str> = kept
        .iter()
        .flat_map(|channel| channel.entries.iter().flatten())
        .map(|entry| entry.name.as_str())
        .collect();
    let bundles = catalog
        .bundles
        .iter()
        .filter(|bundle| bundle.package == name && names.contains(bundle.name.as_str()));
    pruned.bundles.extend(bundles.cloned());
    let channel_names: BTreeSet<&str> = kept.iter().map(|channel| channel.name.as_str()).collect();
    for deprecations in catalog
        .deprecations
        .iter()
        .filter(|deprecations| deprecations.package == name)
    {
        let mut deprecations = deprecations.clone();
        deprecations
            .entries
            .retain(|entry| match entry.reference.schema.as_str() {
                "olm.bundle" => names.contains(entry.reference.name.as_str()),
                "olm.channel" => channel_names.contains(entry.reference.name.as_str()),
                _ => true,
            });
        if !deprecations.entries.is_empty() {
            pruned.deprecations.push(deprecations);
        }
    }
    pruned.packages.push(package);
    pruned.channels.append(&mut kept);
    Ok(())
}

fn prune_channel(channel: &Channel, keep: &PackageSelection, versions: &BundleVersions<'_>) -> Channel {
    let entries: BTreeMap<&str, &ChannelEntry> = channel
        .entries
        .iter()
        .flatten()
        .map(|entry| (entry.name.as_str(), entry))
        .collect();
    let heads = ChannelEdges::new(channel, versions).heads();
    let wanted = |name: &str| {
        let in_range = keep.versions.as_ref().is_none_or(|range| {
            versions
                .get(name)
                .is_some_and(|version| range.matches(&version.version))
        });
        in_range && (!keep.heads_only || heads.contains(&name))
    };
    let mut kept: Vec<ChannelEntry> = channel
        .entries
        .iter()
        .flatten()
        .filter(|entry| wanted(&entry.name))
        .map(|entry| bridge(entry, &entries, &wanted))
        .collect();
    join_heads(&mut kept, versions);
    Channel {
        entries: Some(kept),
        ..channel.clone()
    }
}

/// An entry that follows, besides what it followed, everything that the removed entries below it followed.
fn bridge(
    entry: &ChannelEntry,
    entries: &BTreeMap<&str, &ChannelEntry>,
    wanted: &dyn Fn(&str) -> bool,
) -> ChannelEntry {
    let mut bridged = entry.clone();
    let mut passed = BTreeSet::new();
    while let Some(removed) = entries.get(bridged.replaces.as_str())
        && !wanted(&removed.name)
        && passed.insert(removed.name.as_str())
    {
        for skipped in std::iter::once(&removed.name).chain(&removed.skips) {
            if !bridged.skips.contains(skipped) {
                bridged.skips.push(skipped.clone());
            }
        }
        if !removed.skip_range.is_empty() && bridged.skip_range != removed.skip_range {
            let both = [bridged.skip_range.as_str(), &removed.skip_range];
            bridged.skip_range = both
                .into_iter()
                .filter(|range| !range.is_empty())
                .collect::<Vec<_>>()
                .join(" || ");
        }
        bridged.replaces.clone_from(&removed.replaces);
    }
    bridged
}

/// Lets the highest of several heads follow the others: they were joined by a version that was cut away above them.
fn join_heads(entries: &mut [ChannelEntry], versions: &BundleVersions<'_>) {
    let followed: BTreeSet<String> = entries
        .iter()
        .flat_map(|entry| std::iter::once(&entry.replaces).chain(&entry.skips))
        .cloned()
        .collect();
    let mut heads: Vec<String> = entries
        .iter()
        .map(|entry| entry.name.clone())
        .filter(|name| !followed.contains(name))
        .collect();
    heads.sort_by(|left, right| versions.compare(left, right));
    if let Some(highest) = heads.pop()
        && let Some(entry) = entries.iter_mut().find(|entry| entry.name == highest)
    {
        entry.skips.extend(heads);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::world;

    fn keep(channels: &[&str], versions: &str, heads_only: bool) -> Selection {
        let selection = PackageSelection {
            channels: channels.iter().map(|name| (*name).to_owned()).collect(),
            versions: (!versions.is_empty()).then(|| Range::parse(versions).expect("a range")),
            heads_only,
        };
        Selection {
            packages: BTreeMap::from([("stack".to_owned(), selection)]),
        }
    }

    fn drawn(catalog: &Catalog) -> String {
        let short = |name: &str| name.replace("stack.v", "");
        let mut text = format!("default {}\n", catalog.packages[0].default_channel);
        for channel in &catalog.channels {
            let entries = channel.entries.iter().flatten().map(|entry| {
                let skips = entry
                    .skips
                    .iter()
                    .map(|name| short(name))
                    .collect::<Vec<_>>()
                    .join(",");
                format!(
                    "{} <- {} [{skips}] {}",
                    short(&entry.name),
                    short(&entry.replaces),
                    entry.skip_range
                )
            });
            let entries: Vec<_> = entries.collect();
            text += &[&channel.name, ": ", &entries.join(" | "), "\n"].concat();
        }
        text += &catalog
            .bundles
            .iter()
            .map(|bundle| short(&bundle.name))
            .collect::<Vec<_>>()
            .join(" ");
        text
    }

    const FULL: &str = "stable-v1: 1.0.0 | 1.1.0 <- 1.0.0 range <1.0.0 | 1.2.0 | 1.2.1 <- 1.1.0 skips 1.0.0,1.2.0\nstable-v2: 2.0.0";

    #[test]
    fn a_channel_can_be_kept_alone() {
        insta::assert_snapshot!(drawn(&prune(&world(FULL), &keep(&["stable-v2"], "", false)).expect("pruned")), @r"
        default stable-v2
        stable-v2: 2.0.0 <-  [] 
        2.0.0
        ");
    }

    #[test]
    fn removed_versions_are_bridged_so_that_their_customers_can_upgrade() {
        insta::assert_snapshot!(drawn(&prune(&world(FULL), &keep(&[], "", true)).expect("pruned")), @r"
        default stable-v1
        stable-v1: 1.2.1 <-  [1.0.0,1.2.0,1.1.0] <1.0.0
        stable-v2: 2.0.0 <-  [] 
        1.2.1 2.0.0
        ");
    }

    #[test]
    fn a_cut_above_leaves_one_head() {
        insta::assert_snapshot!(drawn(&prune(&world(FULL), &keep(&["stable-v1"], "<=1.2.0", false)).expect("pruned")), @r"
        default stable-v1
        stable-v1: 1.0.0 <-  []  | 1.1.0 <- 1.0.0 [] <1.0.0 | 1.2.0 <-  [1.1.0] 
        1.0.0 1.1.0 1.2.0
        ");
    }

    #[test]
    fn what_is_not_there_can_not_be_kept() {
        let told = |selection| prune(&world(FULL), &selection).expect_err("refused").to_string();
        assert_eq!(
            told(keep(&["beta"], "", false)),
            r#"package "stack" has no channel "beta"; it has stable-v1, stable-v2"#
        );
        assert_eq!(
            told(keep(&["stable-v3"], "", false)),
            r#"package "stack" has no channel "stable-v3"; did you mean "stable-v1" or "stable-v2"?"#
        );
        assert_eq!(
            told(keep(&[], ">3.0.0", false)),
            r#"no version of package "stack" would be left: widen the version range or the channels"#
        );
        let other = Selection {
            packages: BTreeMap::from([("other".to_owned(), PackageSelection::default())]),
        };
        assert_eq!(
            told(other),
            r#"package "other" is not in the catalog; it has stack"#
        );
    }
}
