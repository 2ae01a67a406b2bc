//! What was probably meant by names in a catalog that nothing has.
//!
//! Upstream's words say that a rule is broken; where a slip is the reason, this says which.

use std::collections::BTreeSet;

use crate::nearest::did_you_mean;
use crate::objects::{Catalog, Channel, Deprecations};

/// How many slips are told; who makes more starts with these.
const MAXIMUM_SUGGESTIONS: usize = 20;

/// What was probably meant by each name in a catalog that nothing has, where something looks like it.
///
/// It is of help for a catalog that isn't valid: a valid one may follow versions that it doesn't have.
#[must_use]
pub fn suggestions(catalog: &Catalog) -> Vec<String> {
    let names = Names { catalog };
    let mut said = Vec::new();
    for package in &catalog.packages {
        let channels = names.channels(&package.name);
        said.extend(unknown(
            &format!("package {:?}", package.name),
            "channel",
            &package.default_channel,
            &channels,
        ));
    }
    for channel in &catalog.channels {
        names.of_channel(channel, &mut said);
    }
    for bundle in &catalog.bundles {
        let place = format!("bundle {:?}", bundle.name);
        said.extend(unknown(&place, "package", &bundle.package, &names.packages()));
    }
    for deprecations in &catalog.deprecations {
        names.of_deprecations(deprecations, &mut said);
    }
    said.truncate(MAXIMUM_SUGGESTIONS);
    said
}

struct Names<'c> {
    catalog: &'c Catalog,
}

impl<'c> Names<'c> {
    fn packages(&self) -> Vec<&'c str> {
        let packages = self.catalog.packages.iter();
        packages.map(|package| package.name.as_str()).collect()
    }

    fn channels(&self, package: &str) -> Vec<&'c str> {
        let of_package = self.catalog.channels.iter();
        of_package
            .filter(|channel| channel.package == package)
            .map(|channel| channel.name.as_str())
            .collect()
    }

    fn bundles(&self, package: &str) -> Vec<&'c str> {
        let of_package = self.catalog.bundles.iter();
        of_package
            .filter(|bundle| bundle.package == package)
            .map(|bundle| bundle.name.as_str())
            .collect()
    }

    /// The entries of all channels of a package.
    fn entries(&self, package: &str) -> BTreeSet<&'c str> {
        let of_package = self.catalog.channels.iter();
        of_package
            .filter(|channel| channel.package == package)
            .flat_map(|channel| channel.entries.iter().flatten())
            .map(|entry| entry.name.as_str())
            .collect()
    }

    fn of_channel(&self, channel: &Channel, said: &mut Vec<String>) {
        let place = format!("package {:?}, channel {:?}", channel.package, channel.name);
        said.extend(unknown(&place, "package", &channel.package, &self.packages()));
        let entries: Vec<&str> = channel
            .entries
            .iter()
            .flatten()
            .map(|entry| entry.name.as_str())
            .collect();
        // All names of a package look alike: what was meant is one that no channel has.
        let bundles = self.bundles(&channel.package);
        let in_channels = self.entries(&channel.package);
        let left: Vec<&str> = bundles
            .iter()
            .copied()
            .filter(|bundle| !in_channels.contains(bundle))
            .collect();
        for entry in entries.iter().filter(|entry| !bundles.contains(entry)) {
            said.extend(unknown(&place, "bundle", entry, &left));
        }
        // Likewise, a version that is followed and isn't there may be one that nothing follows.
        let all = || channel.entries.iter().flatten();
        let followed: BTreeSet<&str> = all()
            .flat_map(|entry| std::iter::once(&entry.replaces).chain(&entry.skips))
            .map(String::as_str)
            .collect();
        let heads: Vec<&str> = entries
            .iter()
            .copied()
            .filter(|entry| !followed.contains(entry))
            .collect();
        if heads.len() < 2 {
            return;
        }
        for entry in all().filter(|entry| !entry.replaces.is_empty()) {
            let others: Vec<&str> = heads.iter().copied().filter(|head| *head != entry.name).collect();
            if !entries.contains(&entry.replaces.as_str()) {
                let place = format!("{place}, {:?} replaces", entry.name);
                said.extend(unknown(&place, "entry", &entry.replaces, &others));
            }
        }
    }

    fn of_deprecations(&self, deprecations: &Deprecations, said: &mut Vec<String>) {
        let place = format!("deprecations of package {:?}", deprecations.package);
        said.extend(unknown(
            &place,
            "package",
            &deprecations.package,
            &self.packages(),
        ));
        for entry in &deprecations.entries {
            let (what, known) = match entry.reference.schema.as_str() {
                "olm.bundle" => ("bundle", self.bundles(&deprecations.package)),
                "olm.channel" => ("channel", self.channels(&deprecations.package)),
                _ => continue,
            };
            said.extend(unknown(&place, what, &entry.reference.name, &known));
        }
    }
}

fn unknown(place: &str, what: &str, name: &str, known: &[&str]) -> Option<String> {
    if name.is_empty() || known.contains(&name) {
        return None;
    }
    let meant = did_you_mean(name, known.iter().copied())?;
    Some(format!("{place}: there is no {what} {name:?}; {meant}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::{Bundle, ChannelEntry, Deprecation, Package};

    fn catalog() -> Catalog {
        let entry = |name: &str, replaces: &str| ChannelEntry {
            name: name.to_owned(),
            replaces: replaces.to_owned(),
            ..ChannelEntry::default()
        };
        let bundle = |name: &str| Bundle {
            name: name.to_owned(),
            package: "stack".to_owned(),
            ..Bundle::default()
        };
        let mut deprecation = Deprecation::default();
        deprecation.reference.schema = "olm.bundle".to_owned();
        deprecation.reference.name = "stack.v1.0.0".to_owned();
        let mut deprecations = Deprecations {
            package: "stack".to_owned(),
            ..Deprecations::default()
        };
        deprecations.entries = vec![deprecation].into();
        Catalog {
            packages: vec![Package {
                name: "stack".to_owned(),
                default_channel: "stable-v1".to_owned(),
                ..Package::default()
            }],
            channels: vec![Channel {
                name: "stable-v1".to_owned(),
                package: "stack".to_owned(),
                entries: Some(vec![
                    entry("stack.v1.0.0", "stack.v0.9.0"),
                    entry("stack.v1.1.0", "stack.v1.0.0"),
                ]),
                properties: Vec::new(),
            }],
            bundles: vec![bundle("stack.v1.0.0"), bundle("stack.v1.1.0")],
            deprecations: vec![deprecations],
            others: Vec::new(),
        }
    }

    #[test]
    fn a_name_that_nothing_has_is_told_with_the_one_that_was_meant() {
        type Slip = fn(&mut Catalog);
        assert_eq!(suggestions(&catalog()), Vec::<String>::new());
        let table: [(Slip, &str); 7] = [
            (
                |catalog| catalog.packages[0].default_channel = "stabel-v1".to_owned(),
                "package \"stack\": there is no channel \"stabel-v1\"; did you mean \"stable-v1\"?",
            ),
            (
                |catalog| catalog.channels[0].package = "stak".to_owned(),
                "package \"stak\", channel \"stable-v1\": there is no package \"stak\"; did you mean \"stack\"?",
            ),
            (
                |catalog| catalog.bundles[0].package = "stck".to_owned(),
                "bundle \"stack.v1.0.0\": there is no package \"stck\"; did you mean \"stack\"?",
            ),
            (
                |catalog| catalog.bundles[1].name = "stack.1.1.0".to_owned(),
                "package \"stack\", channel \"stable-v1\": there is no bundle \"stack.v1.1.0\"; did you mean \"stack.1.1.0\"?",
            ),
            (
                |catalog| {
                    let entries = catalog.channels[0].entries.as_mut().expect("entries");
                    entries[1].replaces = "stack.1.0.0".to_owned();
                },
                "package \"stack\", channel \"stable-v1\", \"stack.v1.1.0\" replaces: there is no entry \"stack.1.0.0\"; did you mean \"stack.v1.0.0\"?",
            ),
            (
                |catalog| catalog.deprecations[0].entries[0].reference.name = "stack.v1.00".to_owned(),
                "deprecations of package \"stack\": there is no bundle \"stack.v1.00\"; did you mean \"stack.v1.0.0\" or \"stack.v1.1.0\"?",
            ),
            (
                |catalog| catalog.deprecations[0].package = "stacks".to_owned(),
                "deprecations of package \"stacks\": there is no package \"stacks\"; did you mean \"stack\"?",
            ),
        ];
        for (slip, expected) in table {
            let mut catalog = catalog();
            slip(&mut catalog);
            let said = suggestions(&catalog);
            assert!(said.iter().any(|said| said == expected), "{expected}\n{said:?}");
        }
    }
}
