//! What holds for every version and for every text that is none.

use proptest::prelude::*;
use version::{Constraint, Edition, MAX_CONSTRAINT_BYTES, Range, Release, Spelled, Version, VersionRelease};

/// A version, often close to others so that every rule of the order is met.
fn version() -> impl Strategy<Value = String> {
    let number = || prop_oneof![4 => (0u64..3).boxed(), 1 => any::<u64>().boxed()];
    let identifier = prop_oneof![
        (0u64..12).prop_map(|number| number.to_string()),
        "[a-cA-C-][0-9a-c-]{0,2}"
    ];
    let identifiers = || prop::collection::vec(identifier.clone(), 0..3).prop_map(|list| list.join("."));
    (number(), number(), number(), identifiers(), identifiers()).prop_map(
        |(major, minor, patch, prerelease, build)| {
            let hyphen = if prerelease.is_empty() { "" } else { "-" };
            let plus = if build.is_empty() { "" } else { "+" };
            format!("{major}.{minor}.{patch}{hyphen}{prerelease}{plus}{build}")
        },
    )
}

/// A text made of what versions, ranges and constraints are made of, or of anything.
fn scramble() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        8 => "[0-9]{1,2}", 6 => Just(".".to_owned()), 4 => "[<>=!~^|,-]{1,2}", 3 => "[xX*v+ \t-]",
        2 => Just(" || ".to_owned()), 2 => Just(" - ".to_owned()), 2 => version(), 1 => "\\PC{0,3}", 1 => "[0-9]{19,22}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_the_same(text in version()) {
        let version = Version::parse(&text).unwrap();
        prop_assert_eq!(version.to_string(), text.clone());
        prop_assert_eq!(&Version::parse_tolerant(&text).unwrap(), &version);
        for edition in [Edition::V3_3, Edition::V3_5] {
            prop_assert_eq!(Spelled::parse(&text, edition).unwrap().into_version(), version.clone());
            prop_assert_eq!(Spelled::parse_strict(&text, edition).unwrap().into_version(), version.clone());
        }
    }

    #[test]
    fn precedence_is_an_order_and_the_full_order_refines_it(texts in prop::array::uniform3(version())) {
        let [a, b, c] = texts.map(|text| Version::parse(&text).unwrap());
        prop_assert_eq!(a.precedence(&b), b.precedence(&a).reverse());
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a.cmp(&b).is_eq(), a == b);
        if a.precedence(&b).is_ne() {
            prop_assert_eq!(a.precedence(&b), a.cmp(&b));
        }
        if a.precedence(&b).is_le() && b.precedence(&c).is_le() {
            prop_assert!(a.precedence(&c).is_le());
        }
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
        prop_assert!(a.precedence(&a.without_build()).is_eq());
    }

    #[test]
    fn comparators_agree_with_precedence(limit in version(), text in version()) {
        let [limit, version] = [limit, text].map(|text| Version::parse(&text).unwrap());
        let order = version.precedence(&limit);
        for (operator, expected) in [
            ("", order.is_eq()), ("=", order.is_eq()), ("!=", order.is_ne()), ("<", order.is_lt()),
            ("<=", order.is_le()), (">", order.is_gt()), (">=", order.is_ge()),
        ] {
            // The letter x makes a wildcard of a pre-release, which the versions above never have.
            let range = Range::parse(&format!("{operator}{limit}")).unwrap();
            prop_assert_eq!(range.matches(&version), expected, "{} {}", range, version);
            let constraint = Constraint::parse(&format!("{operator}{limit}"), Edition::V3_5).unwrap();
            let constraint = constraint.including_prereleases();
            prop_assert_eq!(constraint.check(&version), expected, "{} {}", constraint, version);
        }
    }

    #[test]
    fn checking_and_validating_agree(text in scramble(), version in version()) {
        let version = Version::parse(&version).unwrap();
        if let Ok(constraint) = Constraint::parse(&text, Edition::V3_5) {
            let validated = constraint.validate(&version);
            prop_assert_eq!(constraint.check(&version), validated.is_ok());
            prop_assert!(validated.err().is_none_or(|refusals| !refusals.is_empty()));
        }
    }

    #[test]
    fn a_constraint_is_read_back_from_what_it_displays(text in scramble(), version in version()) {
        let version = Version::parse(&version).unwrap();
        for edition in [Edition::V3_3, Edition::V3_5] {
            let Ok(constraint) = Constraint::parse(&text, edition) else { continue };
            // What is displayed may be longer than what was read, and then too long.
            let displayed = constraint.to_string();
            if displayed.len() <= MAX_CONSTRAINT_BYTES {
                let again = Constraint::parse(&displayed, edition).unwrap();
                prop_assert_eq!(again.check(&version), constraint.check(&version));
            }
        }
    }

    #[test]
    fn no_text_makes_any_reader_panic(text in scramble(), version in version()) {
        let version = Version::parse(&version).unwrap();
        let strict = Version::parse(&text);
        prop_assert!(strict.is_err() || Version::parse_tolerant(&text).is_ok());
        VersionRelease::from_build_metadata(&text).ok();
        Release::parse(&text).map_err(|error| error.to_string()).ok();
        Range::parse(&text).map(|range| range.matches(&version)).map_err(|error| error.to_string()).ok();
        for edition in [Edition::V3_3, Edition::V3_5] {
            Spelled::parse(&text, edition).map(|read| read.next_patch()).map_err(|error| error.to_string()).ok();
            Spelled::parse_strict(&text, edition).map(|read| read.next_major()).ok();
            if let Ok(constraint) = Constraint::parse(&text, edition) {
                constraint.validate(&version).map_err(|refusals| refusals.iter().map(ToString::to_string).count()).ok();
            }
        }
    }
}
