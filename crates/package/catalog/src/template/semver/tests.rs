//! The linker by tables, and what holds for every set of versions.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::prelude::*;
use version::Version;

use super::{Grade, Stream, Versions, channels, links};
use crate::objects::{Bundle, Catalog, Channel, Package, Property, raw};
use crate::validation;

/// Versions of the three grades, each by the texts of its versions.
fn versions(candidate: &[&str], fast: &[&str], stable: &[&str]) -> [Versions; 3] {
    [candidate, fast, stable].map(|texts| {
        let named = texts
            .iter()
            .map(|text| (format!("a-v{text}"), Version::parse(text).expect("a version")));
        named.collect()
    })
}

/// Every entry with edges, one on each line, without the names' prefix.
fn edges(channels: &[Channel]) -> String {
    let mut out = String::new();
    for channel in channels {
        write!(out, "{}:", channel.name).expect("text");
        for entry in channel.entries.iter().flatten() {
            write!(out, " | {}", entry.name).expect("text");
            if !entry.replaces.is_empty() {
                write!(out, " replaces {}", entry.replaces).expect("text");
            }
            if !entry.skips.is_empty() {
                write!(out, " skips {}", entry.skips.join(" ")).expect("text");
            }
        }
        out.push('\n');
    }
    out.replace("a-v", "")
}

#[test]
fn major_channels_are_linked_from_minor_to_minor() {
    let stable = [
        "0.1.0",
        "0.1.1",
        "1.1.0",
        "1.2.1",
        "1.3.1-alpha",
        "1.3.1-beta",
        "1.3.1",
        "1.4.1-beta1",
        "1.4.1-beta2",
        "1.4.1",
        "2.1.0",
        "2.1.1",
        "2.3.1",
        "2.3.2",
        "3.1.0",
        "3.1.1",
    ];
    let grown = channels::grow("a", &versions(&[], &[], &stable), &[Stream::Major], Stream::Major);
    assert_eq!(grown.default_channel, "stable-v3");
    insta::assert_snapshot!(edges(&links::across_channels(grown)), @r"
    stable-v0: | 0.1.0 | 0.1.1 skips 0.1.0
    stable-v1: | 1.1.0 | 1.2.1 replaces 1.1.0 | 1.3.1-alpha | 1.3.1-beta | 1.3.1 replaces 1.2.1 skips 1.1.0 1.3.1-alpha 1.3.1-beta | 1.4.1-beta1 | 1.4.1-beta2 | 1.4.1 replaces 1.3.1 skips 1.1.0 1.2.1 1.3.1-alpha 1.3.1-beta 1.4.1-beta1 1.4.1-beta2
    stable-v2: | 2.1.0 | 2.1.1 skips 2.1.0 | 2.3.1 | 2.3.2 replaces 2.1.1 skips 2.1.0 2.3.1
    stable-v3: | 3.1.0 | 3.1.1 skips 3.1.0
    ");
}

fn three_grades() -> [Versions; 3] {
    versions(
        &[
            "0.1.0", "0.1.1", "0.1.2", "0.1.3", "0.2.0", "0.2.1", "0.2.2", "0.3.0", "1.0.0", "1.0.1", "1.1.0",
        ],
        &["0.2.1", "0.2.2", "0.3.0", "1.0.1", "1.1.0"],
        &["1.0.1"],
    )
}

#[test]
fn minor_channels_are_linked_across_each_other() {
    let grown = channels::grow("a", &three_grades(), &[Stream::Minor], Stream::Minor);
    assert_eq!(grown.default_channel, "stable-v1.0");
    insta::assert_snapshot!(edges(&links::across_channels(grown)), @r"
    candidate-v0.1: | 0.1.0 | 0.1.1 | 0.1.2 | 0.1.3 skips 0.1.0 0.1.1 0.1.2
    candidate-v0.2: | 0.2.0 | 0.2.1 | 0.2.2 replaces 0.1.3 skips 0.1.0 0.1.1 0.1.2 0.2.0 0.2.1
    candidate-v0.3: | 0.3.0 replaces 0.2.2 skips 0.1.0 0.1.1 0.1.2 0.1.3 0.2.0 0.2.1
    candidate-v1.0: | 1.0.0 | 1.0.1 skips 1.0.0
    candidate-v1.1: | 1.1.0 replaces 1.0.1 skips 1.0.0
    fast-v0.2: | 0.2.1 | 0.2.2 skips 0.2.1
    fast-v0.3: | 0.3.0 replaces 0.2.2 skips 0.2.1
    fast-v1.0: | 1.0.1
    fast-v1.1: | 1.1.0 replaces 1.0.1
    stable-v1.0: | 1.0.1
    ");
}

#[test]
fn opm_1_51_links_every_channel_by_itself_and_skips_what_it_replaces() {
    let streams = [Stream::Major, Stream::Minor];
    let grown = channels::grow("a", &three_grades(), &streams, Stream::Minor);
    insta::assert_snapshot!(edges(&links::within_channels(grown)), @r"
    candidate-v0: | 0.1.0 | 0.1.1 | 0.1.2 | 0.1.3 skips 0.1.0 0.1.1 0.1.2 | 0.2.0 | 0.2.1 | 0.2.2 replaces 0.1.3 skips 0.1.3 0.2.0 0.2.1 | 0.3.0 replaces 0.2.2 skips 0.2.2
    candidate-v0.1: | 0.1.0 | 0.1.1 | 0.1.2 | 0.1.3 skips 0.1.0 0.1.1 0.1.2
    candidate-v0.2: | 0.2.0 | 0.2.1 | 0.2.2 skips 0.2.0 0.2.1
    candidate-v0.3: | 0.3.0
    candidate-v1: | 1.0.0 | 1.0.1 skips 1.0.0 | 1.1.0 replaces 1.0.1 skips 1.0.1
    candidate-v1.0: | 1.0.0 | 1.0.1 skips 1.0.0
    candidate-v1.1: | 1.1.0
    fast-v0: | 0.2.1 | 0.2.2 skips 0.2.1 | 0.3.0 replaces 0.2.2 skips 0.2.2
    fast-v0.2: | 0.2.1 | 0.2.2 skips 0.2.1
    fast-v0.3: | 0.3.0
    fast-v1: | 1.0.1 | 1.1.0 replaces 1.0.1 skips 1.0.1
    fast-v1.0: | 1.0.1
    fast-v1.1: | 1.1.0
    stable-v1: | 1.0.1
    stable-v1.0: | 1.0.1
    ");
}

#[test]
fn the_default_channel_starts_with_the_highest_version_of_the_most_stable_grade() {
    for (versions, streams, preferred, expected) in [
        (
            versions(&["3.0.0"], &["2.0.0"], &["1.0.0"]),
            vec![Stream::Major],
            Stream::Major,
            "stable-v1",
        ),
        (
            versions(&["3.0.0"], &["2.0.0"], &[]),
            vec![Stream::Minor],
            Stream::Minor,
            "fast-v2.0",
        ),
        (
            versions(&[], &[], &["1.0.0"]),
            vec![Stream::Major, Stream::Minor],
            Stream::Major,
            "stable-v1",
        ),
        (
            versions(&[], &[], &["1.0.0"]),
            vec![Stream::Major, Stream::Minor],
            Stream::Minor,
            "stable-v1.0",
        ),
        // The second minor channel starts with a higher version than the major one, whatever is preferred.
        (
            versions(&[], &[], &["1.0.0", "1.1.0"]),
            vec![Stream::Major, Stream::Minor],
            Stream::Major,
            "stable-v1.1",
        ),
    ] {
        let grown = channels::grow("a", &versions, &streams, preferred);
        assert_eq!(grown.default_channel, expected, "{versions:?}");
    }
}

/// The catalog of linked channels, with a bundle for every version.
fn catalog(versions: &[Versions; 3], default_channel: String, channels: Vec<Channel>) -> Catalog {
    let all: BTreeMap<&String, &Version> = versions.iter().flatten().collect();
    let bundles = all.into_iter().map(|(name, version)| Bundle {
        name: name.clone(),
        package: "a".to_owned(),
        image: format!("registry.example.com/{name}"),
        properties: vec![Property {
            kind: "olm.package".to_owned(),
            value: raw(format!(r#"{{"packageName":"a","version":"{version}"}}"#)),
        }],
        related_images: Vec::new(),
    });
    Catalog {
        packages: vec![Package {
            name: "a".to_owned(),
            default_channel,
            ..Package::default()
        }],
        channels,
        bundles: bundles.collect(),
        ..Catalog::default()
    }
}

fn any_version() -> impl Strategy<Value = Version> {
    let prerelease = prop_oneof![4 => Just(String::new()), 1 => "-(alpha|beta|rc\\.[0-9])"];
    (0..3_u64, 0..4_u64, 0..4_u64, prerelease).prop_map(|(major, minor, patch, prerelease)| {
        Version::parse(&format!("{major}.{minor}.{patch}{prerelease}"))
            .unwrap_or_else(|_| Version::new(0, 0, 0))
    })
}

fn any_versions() -> impl Strategy<Value = Versions> {
    prop::collection::vec(any_version(), 0..12).prop_map(|list| {
        list.into_iter()
            .map(|version| (format!("a-v{version}"), version))
            .collect()
    })
}

proptest! {
    #[test]
    fn every_channel_that_is_made_is_valid(
        candidate in any_versions(),
        fast in any_versions(),
        stable in any_versions(),
        streams in prop::sample::select(vec![
            vec![Stream::Major],
            vec![Stream::Minor],
            vec![Stream::Major, Stream::Minor],
        ]),
        preferred in prop::sample::select(vec![Stream::Major, Stream::Minor]),
        old in any::<bool>(),
    ) {
        let versions = [candidate, fast, stable];
        prop_assume!(versions.iter().any(|versions| !versions.is_empty()));
        let grown = channels::grow("a", &versions, &streams, preferred);
        let default_channel = grown.default_channel.clone();
        // A channel that starts below 0.0.0 is never the default, also where it is the only one.
        prop_assume!(!default_channel.is_empty());
        let linked = if old { links::within_channels(grown) } else { links::across_channels(grown) };
        prop_assert!(linked.iter().any(|channel| channel.name == default_channel));
        for (grade, versions) in Grade::ALL.into_iter().zip(&versions) {
            let entries = linked
                .iter()
                .filter(|channel| channel.name.starts_with(grade.name()))
                .flat_map(|channel| channel.entries.iter().flatten())
                .count();
            prop_assert_eq!(entries, versions.len() * streams.len());
        }
        let catalog = catalog(&versions, default_channel, linked);
        if let Err(error) = validation::validate(&catalog) {
            prop_assert!(false, "{}\n{}", error, edges(&catalog.channels));
        }
    }
}
