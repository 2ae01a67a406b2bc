//! Which version may follow which, and where a customer on a version can get to.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use goyaml::typed;
use version::{Range, VersionRelease};

use crate::objects::properties::PackageProperty;
use crate::objects::{Bundle, Catalog, Channel, ChannelEntry};

/// The rule by which one version follows another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The newer entry `replaces` the older one.
    Replaces,
    /// The newer entry lists the older one in `skips`.
    Skips,
    /// The older version lies in the newer entry's `skipRange`.
    SkipRange,
}

impl Rule {
    /// The rule's name as it stands in a channel entry.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Replaces => "replaces",
            Self::Skips => "skips",
            Self::SkipRange => "skipRange",
        }
    }
}

/// The versions of a package's bundles, by bundle name.
///
/// A bundle whose version can't be read is left out; validation says so, and no range can hold it.
#[derive(Debug, Clone, Default)]
pub struct BundleVersions<'a>(BTreeMap<&'a str, VersionRelease>);

impl<'a> BundleVersions<'a> {
    /// Reads the versions of every bundle of `package`.
    #[must_use]
    pub fn of(catalog: &'a Catalog, package: &str) -> Self {
        let bundles = catalog.bundles.iter().filter(|bundle| bundle.package == package);
        Self(
            bundles
                .filter_map(|bundle| Some((bundle.name.as_str(), bundle_version(bundle)?)))
                .collect(),
        )
    }

    /// The version of the bundle called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&VersionRelease> {
        self.0.get(name)
    }

    /// Orders bundle names by version, names without one first, ties by name.
    #[must_use]
    pub fn compare(&self, left: &str, right: &str) -> std::cmp::Ordering {
        let versions = match (self.get(left), self.get(right)) {
            (Some(left), Some(right)) => left.precedence(right),
            (left, right) => left.is_some().cmp(&right.is_some()),
        };
        versions.then_with(|| left.cmp(right))
    }
}

/// The version that a bundle's `olm.package` property states; none when there is no readable one.
#[must_use]
pub fn bundle_version(bundle: &Bundle) -> Option<VersionRelease> {
    let property = bundle
        .properties
        .iter()
        .find(|property| property.kind == "olm.package")?;
    let value = serde_json::from_str(property.value.get()).ok()?;
    let stated: PackageProperty = typed::decode(&value).ok()?;
    VersionRelease::from_fields(&stated.version, &stated.release).ok()
}

/// The upgrade graph of one channel.
#[derive(Debug)]
pub struct ChannelEdges<'a> {
    entries: BTreeMap<&'a str, (&'a ChannelEntry, Option<Range>)>,
    versions: &'a BundleVersions<'a>,
    /// The entries with a way to a head, found once: asking for each entry would walk the graph for each.
    leading: OnceCell<BTreeSet<&'a str>>,
}

impl<'a> ChannelEdges<'a> {
    /// Reads a channel's entries. A `skipRange` that can't be parsed leads nowhere; validation reports it.
    #[must_use]
    pub fn new(channel: &'a Channel, versions: &'a BundleVersions<'a>) -> Self {
        let range = |entry: &ChannelEntry| {
            Some(&entry.skip_range)
                .filter(|text| !text.is_empty())
                .and_then(|text| Range::parse(text).ok())
        };
        let entries = channel
            .entries
            .iter()
            .flatten()
            .map(|entry| (entry.name.as_str(), (entry, range(entry))))
            .collect();
        Self {
            entries,
            versions,
            leading: OnceCell::new(),
        }
    }

    /// The entries' names, in lexical order.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.entries.keys().copied()
    }

    /// Whether the channel has an entry called `name`.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// By which rule `newer` follows `older`, where it does.
    #[must_use]
    pub fn rule(&self, older: &str, newer: &str) -> Option<Rule> {
        let (entry, range) = self.entries.get(newer).filter(|_| older != newer)?;
        if entry.replaces == older {
            Some(Rule::Replaces)
        } else if entry.skips.iter().any(|skipped| skipped == older) {
            Some(Rule::Skips)
        } else {
            // An older version in the range must not pull a newer one back down.
            let (from, to) = (self.versions.get(older)?, self.versions.get(newer));
            let forward = to.is_none_or(|to| from.precedence(to).is_lt());
            (forward && range.as_ref()?.matches(&from.version)).then_some(Rule::SkipRange)
        }
    }

    /// What a customer on `name` is offered next, with the rule for each, in lexical order.
    #[must_use]
    pub fn successors(&self, name: &str) -> BTreeMap<&'a str, Rule> {
        self.names()
            .filter_map(|newer| Some((newer, self.rule(name, newer)?)))
            .collect()
    }

    /// The entries that nothing replaces or skips; a valid channel has exactly one.
    #[must_use]
    pub fn heads(&self) -> Vec<&'a str> {
        let followed: BTreeSet<&str> = self
            .entries
            .values()
            .flat_map(|(entry, _)| {
                std::iter::once(entry.replaces.as_str()).chain(entry.skips.iter().map(String::as_str))
            })
            .collect();
        self.names().filter(|name| !followed.contains(name)).collect()
    }

    /// Every version that a customer on `name` can get to in any number of steps, `name` itself not included.
    #[must_use]
    pub fn reachable(&self, name: &str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&str> = self.successors(name).into_keys().collect();
        while let Some(next) = open.pop() {
            if let Some((&next, _)) = self.entries.get_key_value(next)
                && reached.insert(next)
            {
                open.extend(self.successors(next).into_keys());
            }
        }
        reached
    }

    /// Whether a customer on `name` is at the channel's head or can get there.
    #[must_use]
    pub fn leads_to_head(&self, name: &str) -> bool {
        let leading = self.leading.get_or_init(|| self.entries_leading_to_a_head());
        // A version that left the channel may still be followed by one that is in it.
        leading.contains(name) || self.successors(name).keys().any(|next| leading.contains(next))
    }

    fn entries_leading_to_a_head(&self) -> BTreeSet<&'a str> {
        let mut followed_by = BTreeMap::<&str, Vec<&'a str>>::new();
        for older in self.names() {
            for newer in self.successors(older).into_keys() {
                followed_by.entry(newer).or_default().push(older);
            }
        }
        let mut leading = BTreeSet::new();
        let mut open = self.heads();
        while let Some(name) = open.pop() {
            if leading.insert(name) {
                open.extend(followed_by.get(name).into_iter().flatten());
            }
        }
        leading
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::world;

    #[test]
    fn a_version_follows_by_replaces_skips_and_range() {
        let catalog = world(
            "stable: 1.0.0 | 1.1.0 <- 1.0.0 | 1.2.0 <- 1.1.0 skips 1.0.0 | 2.0.0 <- 1.2.0 range <1.2.0",
        );
        let versions = BundleVersions::of(&catalog, "stack");
        let edges = ChannelEdges::new(&catalog.channels[0], &versions);
        let successors: Vec<_> = edges.successors("stack.v1.0.0").into_iter().collect();
        assert_eq!(
            successors,
            [
                ("stack.v1.1.0", Rule::Replaces),
                ("stack.v1.2.0", Rule::Skips),
                ("stack.v2.0.0", Rule::SkipRange)
            ]
        );
        assert_eq!(edges.heads(), ["stack.v2.0.0"]);
        assert!(edges.leads_to_head("stack.v1.0.0"));
        assert!(edges.leads_to_head("stack.v2.0.0"));
        assert!(
            !edges.leads_to_head("stack.v0.9.0"),
            "a version nobody knows leads nowhere"
        );
    }

    #[test]
    fn a_range_never_leads_back_to_an_older_version() {
        let catalog = world("stable: 1.0.0 range <3.0.0 | 2.0.0 <- 1.0.0");
        let versions = BundleVersions::of(&catalog, "stack");
        let edges = ChannelEdges::new(&catalog.channels[0], &versions);
        assert_eq!(edges.rule("stack.v2.0.0", "stack.v1.0.0"), None);
    }

    #[test]
    fn a_version_is_read_whatever_the_case_of_its_key() {
        let mut bundle = crate::diff::tests::bundle("1.0.0");
        let value = r#"{"PackageName":"stack","Version":"1.2.3"}"#.to_owned();
        bundle.properties[0].value = serde_json::value::RawValue::from_string(value).expect("JSON");
        let version = bundle_version(&bundle).map(|version| version.version.to_string());
        assert_eq!(
            version.as_deref(),
            Some("1.2.3"),
            "as everything else in a catalog is read"
        );
    }

    #[test]
    fn a_circle_ends() {
        let catalog = world("stable: 1.0.0 <- 2.0.0 | 2.0.0 <- 1.0.0");
        let versions = BundleVersions::of(&catalog, "stack");
        let edges = ChannelEdges::new(&catalog.channels[0], &versions);
        assert_eq!(edges.reachable("stack.v1.0.0").len(), 2);
    }
}
