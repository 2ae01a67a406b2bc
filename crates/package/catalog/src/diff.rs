//! What customers would see change between two catalogs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::edges::{BundleVersions, ChannelEdges};
use crate::objects::{Bundle, Catalog, Channel, Property};

/// Everything that differs between two catalogs, by package; packages without a difference are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CatalogDiff {
    /// The packages that differ, by name.
    pub packages: BTreeMap<String, PackageDiff>,
}

/// What became of a thing that has a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Presence {
    /// Only the new catalog has it.
    Added,
    /// Only the old catalog has it.
    Removed,
    /// Both have it.
    #[default]
    Kept,
}

/// What differs in one package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageDiff {
    /// Whether the package is new, gone or in both.
    pub presence: Presence,
    /// The default channel before and after, where it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_channel: Option<Change>,
    /// The channels that differ.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub channels: BTreeMap<String, ChannelDiff>,
    /// Bundles that only the new catalog has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added_bundles: Vec<String>,
    /// Bundles that only the old catalog has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed_bundles: Vec<String>,
    /// Bundles of the same name with another content.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub changed_bundles: BTreeMap<String, Vec<String>>,
    /// Versions that were in some channel and are in none any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreachable: Vec<String>,
}

/// A value before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The old value.
    pub old: String,
    /// The new value.
    pub new: String,
}

/// What differs in one channel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChannelDiff {
    /// Whether the channel is new, gone or in both.
    pub presence: Presence,
    /// The channel's head before and after, where it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<Change>,
    /// Versions that entered the channel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added_entries: Vec<String>,
    /// Versions that left the channel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed_entries: Vec<String>,
    /// For a customer on each of these versions: what is offered next changes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub customers: BTreeMap<String, OfferDiff>,
}

/// What changes for a customer on one version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OfferDiff {
    /// Versions that are offered now, with the rule that leads there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub gained: BTreeMap<String, String>,
    /// Versions that aren't offered any more, with the rule that led there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lost: BTreeMap<String, String>,
    /// Whether the customer could get to the channel's head before and can't now.
    pub stranded: bool,
}

impl OfferDiff {
    fn is_empty(&self) -> bool {
        self.gained.is_empty() && self.lost.is_empty() && !self.stranded
    }
}

/// Compares two catalogs as customers see them.
#[must_use]
pub fn diff(old: &Catalog, new: &Catalog) -> CatalogDiff {
    let names: BTreeSet<&str> = old
        .packages
        .iter()
        .chain(&new.packages)
        .map(|package| package.name.as_str())
        .collect();
    let packages = names
        .into_iter()
        .map(|name| {
            (
                name.to_owned(),
                package_diff(&PackageView::of(old, name), &PackageView::of(new, name)),
            )
        })
        .filter(|(_, diff)| *diff != PackageDiff::default())
        .collect();
    CatalogDiff { packages }
}

impl CatalogDiff {
    /// Whether customers would see no change at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packages.is_empty()
    }
}

/// The objects of one package in one catalog.
pub(crate) struct PackageView<'a> {
    pub(crate) exists: bool,
    pub(crate) default_channel: &'a str,
    pub(crate) channels: BTreeMap<&'a str, &'a Channel>,
    pub(crate) bundles: BTreeMap<&'a str, &'a Bundle>,
    pub(crate) versions: BundleVersions<'a>,
}

impl<'a> PackageView<'a> {
    pub(crate) fn of(catalog: &'a Catalog, name: &str) -> Self {
        let package = catalog.packages.iter().find(|package| package.name == name);
        let channels = catalog.channels.iter().filter(|channel| channel.package == name);
        let bundles = catalog.bundles.iter().filter(|bundle| bundle.package == name);
        Self {
            exists: package.is_some(),
            default_channel: package.map_or("", |package| package.default_channel.as_str()),
            channels: channels.map(|channel| (channel.name.as_str(), channel)).collect(),
            bundles: bundles.map(|bundle| (bundle.name.as_str(), bundle)).collect(),
            versions: BundleVersions::of(catalog, name),
        }
    }

    fn entries(&self) -> BTreeSet<&'a str> {
        self.channels
            .values()
            .flat_map(|channel| channel.entries.iter().flatten())
            .map(|entry| entry.name.as_str())
            .collect()
    }
}

fn presence(old: bool, new: bool) -> Presence {
    match (old, new) {
        (false, true) => Presence::Added,
        (true, false) => Presence::Removed,
        _ => Presence::Kept,
    }
}

fn change(old: &str, new: &str) -> Option<Change> {
    (old != new).then(|| Change {
        old: old.to_owned(),
        new: new.to_owned(),
    })
}

/// What is only on the left, in the right order for people: by version.
fn only<'a>(
    left: impl Iterator<Item = &'a str>,
    right: &BTreeSet<&str>,
    versions: &BundleVersions<'_>,
) -> Vec<String> {
    let mut names: Vec<_> = left.filter(|name| !right.contains(name)).collect();
    names.sort_by(|left, right| versions.compare(left, right));
    names.into_iter().map(str::to_owned).collect()
}

fn package_diff(old: &PackageView<'_>, new: &PackageView<'_>) -> PackageDiff {
    let channel_names: BTreeSet<&str> = old.channels.keys().chain(new.channels.keys()).copied().collect();
    let (old_bundles, new_bundles) = (
        old.bundles.keys().copied().collect(),
        new.bundles.keys().copied().collect(),
    );
    let both = old
        .bundles
        .iter()
        .filter_map(|(name, bundle)| Some((*name, *bundle, *new.bundles.get(name)?)));
    PackageDiff {
        presence: presence(old.exists, new.exists),
        default_channel: if old.exists && new.exists {
            change(old.default_channel, new.default_channel)
        } else {
            None
        },
        channels: channel_names
            .into_iter()
            .map(|name| (name.to_owned(), channel_diff(name, old, new)))
            .filter(|(_, diff)| *diff != ChannelDiff::default())
            .collect(),
        added_bundles: only(new.bundles.keys().copied(), &old_bundles, &new.versions),
        removed_bundles: only(old.bundles.keys().copied(), &new_bundles, &old.versions),
        changed_bundles: both
            .map(|(name, old, new)| (name.to_owned(), bundle_changes(old, new)))
            .filter(|(_, changes)| !changes.is_empty())
            .collect(),
        unreachable: only(old.entries().into_iter(), &new.entries(), &old.versions),
    }
}

fn channel_diff(name: &str, old: &PackageView<'_>, new: &PackageView<'_>) -> ChannelDiff {
    let nothing = Channel::default();
    let (old_channel, new_channel) = (old.channels.get(name).copied(), new.channels.get(name).copied());
    let old_edges = ChannelEdges::new(old_channel.unwrap_or(&nothing), &old.versions);
    let new_edges = ChannelEdges::new(new_channel.unwrap_or(&nothing), &new.versions);
    let (old_names, new_names) = (old_edges.names().collect(), new_edges.names().collect());
    let (old_heads, new_heads) = (old_edges.heads().join(", "), new_edges.heads().join(", "));
    let customers = old_edges
        .names()
        .map(|installed| {
            (
                installed.to_owned(),
                offer_diff(installed, &old_edges, &new_edges),
            )
        })
        .filter(|(_, offer)| new_channel.is_some() && !offer.is_empty())
        .collect();
    ChannelDiff {
        presence: presence(old_channel.is_some(), new_channel.is_some()),
        head: change(&old_heads, &new_heads),
        added_entries: only(new_edges.names(), &old_names, &new.versions),
        removed_entries: only(old_edges.names(), &new_names, &old.versions),
        customers,
    }
}

fn offer_diff(installed: &str, old: &ChannelEdges<'_>, new: &ChannelEdges<'_>) -> OfferDiff {
    let (before, after) = (old.successors(installed), new.successors(installed));
    let only = |left: &BTreeMap<&str, crate::edges::Rule>, right: &BTreeMap<&str, crate::edges::Rule>| {
        left.iter()
            .filter(|(name, _)| !right.contains_key(*name))
            .map(|(name, rule)| ((*name).to_owned(), rule.field().to_owned()))
            .collect()
    };
    OfferDiff {
        gained: only(&after, &before),
        lost: only(&before, &after),
        stranded: old.leads_to_head(installed) && !new.leads_to_head(installed),
    }
}

/// Which parts of a bundle differ: `image`, `relatedImages`, and each property type whose values differ.
///
/// A catalog may carry a bundle's manifests whole (`olm.bundle.object`) or as an extract (`olm.csv.metadata`); changing
/// from one form to the other changes no bundle, so these are compared only where both sides use the same form.
#[must_use]
pub fn bundle_changes(old: &Bundle, new: &Bundle) -> Vec<String> {
    let mut changes = Vec::new();
    if old.image != new.image {
        changes.push("image".to_owned());
    }
    let images = |bundle: &Bundle| {
        let mut images: Vec<_> = bundle
            .related_images
            .iter()
            .map(|related| (related.name.clone(), related.image.clone()))
            .collect();
        images.sort();
        images
    };
    if images(old) != images(new) {
        changes.push("relatedImages".to_owned());
    }
    let values = |bundle: &Bundle| {
        let mut values = BTreeMap::<String, Vec<String>>::new();
        for Property { kind, value } in &bundle.properties {
            values
                .entry(kind.clone())
                .or_default()
                .push(sorted_keys(value.get()));
        }
        for sorted in values.values_mut() {
            sorted.sort();
        }
        values
    };
    let (old, new) = (values(old), values(new));
    let forms = ["olm.bundle.object", "olm.csv.metadata"];
    let other_form = forms
        .iter()
        .any(|form| old.contains_key(*form) != new.contains_key(*form));
    let kinds: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for kind in kinds {
        if old.get(kind) != new.get(kind) && !(other_form && forms.contains(&kind.as_str())) {
            changes.push(format!("property {kind}"));
        }
    }
    changes
}

/// A JSON text whose objects have their keys in order, so that equal values are equal texts.
fn sorted_keys(text: &str) -> String {
    serde_json::from_str::<serde_json::Value>(text)
        .map_or_else(|_| text.to_owned(), |value| value.to_string())
}

impl fmt::Display for CatalogDiff {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return formatter.write_str("customers see no change\n");
        }
        for (name, package) in &self.packages {
            writeln!(formatter, "{} package {name}", sign(package.presence))?;
            if let Some(Change { old, new }) = &package.default_channel {
                writeln!(
                    formatter,
                    "  ~ default channel {} → {}",
                    or_none(old),
                    or_none(new)
                )?;
            }
            for (name, channel) in &package.channels {
                channel.write(formatter, name)?;
            }
            for name in &package.added_bundles {
                writeln!(formatter, "  + bundle {name}")?;
            }
            for name in &package.removed_bundles {
                writeln!(formatter, "  - bundle {name}")?;
            }
            for (name, changes) in &package.changed_bundles {
                writeln!(formatter, "  ~ bundle {name}: {} changed", changes.join(", "))?;
            }
            for name in &package.unreachable {
                writeln!(
                    formatter,
                    "  ! {name} is in no channel any more: it can't be installed or upgraded to"
                )?;
            }
        }
        Ok(())
    }
}

impl ChannelDiff {
    fn write(&self, formatter: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        writeln!(formatter, "  {} channel {name}", sign(self.presence))?;
        if let Some(Change { old, new }) = &self.head {
            writeln!(formatter, "    ~ head {} → {}", or_none(old), or_none(new))?;
        }
        for name in &self.added_entries {
            writeln!(formatter, "    + {name}")?;
        }
        for name in &self.removed_entries {
            writeln!(formatter, "    - {name}")?;
        }
        for (installed, offer) in &self.customers {
            let mut line = format!("    on {installed}:");
            for (name, rule) in &offer.gained {
                let _ = write!(line, " +{name} ({rule})");
            }
            for (name, rule) in &offer.lost {
                let _ = write!(line, " -{name} ({rule})");
            }
            if offer.stranded {
                line.push_str(" stranded: no way to the head any more");
            }
            writeln!(formatter, "{line}")?;
        }
        Ok(())
    }
}

fn sign(presence: Presence) -> char {
    match presence {
        Presence::Added => '+',
        Presence::Removed => '-',
        Presence::Kept => '~',
    }
}

fn or_none(name: &str) -> &str {
    if name.is_empty() { "(none)" } else { name }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::objects::{ChannelEntry, Package};

    /// A catalog of one package, `stack`, from lines such as `stable: 1.0.0 | 1.1.0 <- 1.0.0 skips 1.0.1 range <1.1.0`.
    pub(crate) fn world(text: &str) -> Catalog {
        let mut catalog = Catalog::default();
        let name = |version: &str| format!("stack.v{version}");
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let (channel, entries) = line.split_once(':').expect("a channel");
            let mut read = Vec::new();
            for entry in entries.split('|') {
                let mut words = entry.split_whitespace();
                let version = words.next().expect("a version");
                let mut entry = ChannelEntry {
                    name: name(version),
                    ..ChannelEntry::default()
                };
                while let Some(word) = words.next() {
                    let value = words.next().expect("a value");
                    match word {
                        "<-" => entry.replaces = name(value),
                        "skips" => entry.skips.extend(value.split(',').map(name)),
                        "range" => value.clone_into(&mut entry.skip_range),
                        other => panic!("{other}"),
                    }
                }
                if !catalog.bundles.iter().any(|bundle| bundle.name == entry.name) {
                    catalog.bundles.push(bundle(version));
                }
                read.push(entry);
            }
            catalog.channels.push(Channel {
                name: channel.trim().to_owned(),
                package: "stack".to_owned(),
                entries: Some(read),
                properties: Vec::new(),
            });
        }
        let default_channel = catalog.channels[0].name.clone();
        catalog.packages.push(Package {
            name: "stack".to_owned(),
            default_channel,
            ..Package::default()
        });
        catalog
    }

    pub(crate) fn bundle(version: &str) -> Bundle {
        let value = format!(r#"{{"packageName":"stack","version":"{version}"}}"#);
        Bundle {
            name: format!("stack.v{version}"),
            package: "stack".to_owned(),
            image: format!("registry.example/stack-bundle:{version}"),
            properties: vec![Property {
                kind: "olm.package".to_owned(),
                value: RawValue::from_string(value).expect("JSON"),
            }],
            related_images: Vec::new(),
        }
    }

    #[test]
    fn equal_catalogs_differ_in_nothing() {
        let catalog = world("stable-v1: 1.0.0 | 1.1.0 <- 1.0.0");
        assert!(diff(&catalog, &catalog).is_empty());
        insta::assert_snapshot!(diff(&catalog, &catalog), @"customers see no change");
    }

    #[test]
    fn a_new_version_is_told_to_the_customers_of_the_old_ones() {
        let old = world("stable-v1: 1.0.0 | 1.1.0 <- 1.0.0");
        let new = world("stable-v1: 1.0.0 | 1.1.0 <- 1.0.0 | 1.2.0 <- 1.1.0 skips 1.0.0\nstable-v2: 2.0.0");
        insta::assert_snapshot!(diff(&old, &new), @r"
        ~ package stack
          ~ channel stable-v1
            ~ head stack.v1.1.0 → stack.v1.2.0
            + stack.v1.2.0
            on stack.v1.0.0: +stack.v1.2.0 (skips)
            on stack.v1.1.0: +stack.v1.2.0 (replaces)
          + channel stable-v2
            ~ head (none) → stack.v2.0.0
            + stack.v2.0.0
          + bundle stack.v1.2.0
          + bundle stack.v2.0.0
        ");
    }

    #[test]
    fn lost_versions_and_stranded_customers_are_named() {
        let old = world("stable-v1: 1.0.0 | 1.1.0 <- 1.0.0 | 1.2.0 <- 1.1.0\nfast: 1.0.0");
        let mut new = world("stable-v1: 1.0.0 | 1.2.0");
        new.bundles[0].image.push_str("-changed");
        insta::assert_snapshot!(diff(&old, &new), @r"
        ~ package stack
          - channel fast
            ~ head stack.v1.0.0 → (none)
            - stack.v1.0.0
          ~ channel stable-v1
            ~ head stack.v1.2.0 → stack.v1.0.0, stack.v1.2.0
            - stack.v1.1.0
            on stack.v1.0.0: -stack.v1.1.0 (replaces)
            on stack.v1.1.0: -stack.v1.2.0 (replaces) stranded: no way to the head any more
          - bundle stack.v1.1.0
          ~ bundle stack.v1.0.0: image changed
          ! stack.v1.1.0 is in no channel any more: it can't be installed or upgraded to
        ");
    }

    #[test]
    fn another_form_of_the_same_manifests_is_no_change() {
        let property = |kind: &str, value: &str| Property {
            kind: kind.to_owned(),
            value: RawValue::from_string(value.to_owned()).expect("JSON"),
        };
        let (mut old, mut new) = (bundle("1.0.0"), bundle("1.0.0"));
        old.properties
            .push(property("olm.bundle.object", r#"{"data":"e30="}"#));
        new.properties.push(property("olm.csv.metadata", "{}"));
        assert_eq!(bundle_changes(&old, &new), Vec::<String>::new());
        old.properties
            .push(property("olm.csv.metadata", r#"{"displayName":"x"}"#));
        new.properties
            .push(property("olm.bundle.object", r#"{"data":"e30="}"#));
        assert_eq!(bundle_changes(&old, &new), ["property olm.csv.metadata"]);
    }
}
