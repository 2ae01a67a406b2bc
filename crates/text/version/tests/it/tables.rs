//! The rules one by one, with the answers of the libraries that are followed.

use Edition::{V3_3, V3_5};
use version::{
    Constraint, Edition, MAX_CONSTRAINT_BYTES, MAX_OLD_CONSTRAINT_BYTES, MAX_RANGE_BYTES, MAX_SPELLED_BYTES,
    MAX_VERSION_BYTES, Range, Release, Spelled, Version, VersionRelease,
};

fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

#[test]
fn tolerant_reading_fills_and_trims_what_people_write() {
    for (text, expected) in [
        (" v1.2.3\n", "1.2.3"),
        ("1", "1.0.0"),
        ("1.2", "1.2.0"),
        ("01.002.0003-rc", "1.2.3-rc"),
        ("0.0.00-x", "0.0.0-x"),
        ("1.2.-rc", "1.2.0-rc"),
        (
            "1.2-rc",
            "Short version cannot contain PreRelease/Build meta data",
        ),
        ("1+2", "Short version cannot contain PreRelease/Build meta data"),
        ("", "strconv.ParseUint: parsing \"\": invalid syntax"),
        ("V1.0.0", "Invalid character(s) found in major number \"0V1\""),
    ] {
        let read =
            Version::parse_tolerant(text).map_or_else(|error| error.to_string(), |read| read.to_string());
        assert_eq!(read, expected, "{text:?}");
    }
}

#[test]
fn lenient_reading_words_its_errors_by_the_edition() {
    let huge = "v18446744073709551616";
    for (text, old, new) in [
        ("", "Invalid Semantic Version", "invalid semantic version"),
        ("1.2.3.4", "Invalid Semantic Version", "invalid semantic version"),
        ("1.2.3-", "Invalid Semantic Version", "invalid semantic version"),
        (
            "1.2.3-01",
            "Version segment starts with 0",
            "version segment starts with 0",
        ),
        (
            huge,
            "Error parsing version segment: strconv.ParseUint: parsing \"18446744073709551616\": value out of range",
            "error parsing version segment: strconv.ParseUint: parsing \"18446744073709551616\": value out of range",
        ),
    ] {
        assert_eq!(Spelled::parse(text, V3_3).unwrap_err().to_string(), old, "{text}");
        assert_eq!(Spelled::parse(text, V3_5).unwrap_err().to_string(), new, "{text}");
    }
}

#[test]
fn strict_reading_words_its_errors_by_the_edition() {
    for (text, old, new) in [
        ("", Err("Version string empty"), Err("version string empty")),
        (
            "1.2",
            Err("Invalid Semantic Version"),
            Err("invalid semantic version"),
        ),
        (
            "v1.2.3",
            Err("Invalid characters in version"),
            Err("invalid characters in version"),
        ),
        (
            "1.02.3",
            Err("Version segment starts with 0"),
            Err("version segment starts with 0"),
        ),
        (
            "1.2.3-a_b",
            Err("Invalid Prerelease string"),
            Err("invalid prerelease string"),
        ),
        (
            "1.2.3+a_b",
            Err("Invalid Metadata string"),
            Err("invalid metadata string"),
        ),
        ("1.2.3-", Ok("1.2.3"), Err("invalid prerelease string")),
        ("1.2.3+", Ok("1.2.3"), Err("invalid metadata string")),
        ("1.2.3-a..b", Ok("1.2.3-a..b"), Err("invalid prerelease string")),
    ] {
        for (edition, expected) in [(V3_3, old), (V3_5, new)] {
            let read = Spelled::parse_strict(text, edition).map(|read| read.to_string());
            assert_eq!(
                read.map_err(|error| error.to_string())
                    .as_deref()
                    .map_err(String::as_str),
                expected,
                "{text}"
            );
        }
    }
}

#[test]
fn raising_a_number_keeps_the_v_and_drops_the_rest() {
    let next = |text: &str| {
        let read = Spelled::parse(text, V3_3).unwrap();
        [read.next_patch(), read.next_minor(), read.next_major()]
            .map(|next| next.unwrap().original().to_owned())
    };
    assert_eq!(next("v1.2.3"), ["v1.2.4", "v1.3.0", "v2.0.0"]);
    assert_eq!(next("1.2.3-rc.1+5"), ["1.2.3", "1.3.0", "2.0.0"]);
    let greatest = "18446744073709551615.0.0";
    assert_eq!(
        Spelled::parse(greatest, V3_3)
            .unwrap()
            .next_major()
            .unwrap()
            .original(),
        "0.0.0"
    );
    let refused = Spelled::parse(greatest, V3_5).unwrap().next_major().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "major version increment would overflow uint64"
    );
}

#[test]
fn other_identifiers_can_be_set_and_removed() {
    let read = Spelled::parse("v1.2.3-rc.1+5", V3_3).unwrap();
    assert_eq!(read.with_prerelease("rc.2").unwrap().original(), "v1.2.3-rc.2+5");
    assert_eq!(read.with_prerelease("").unwrap().original(), "v1.2.3+5");
    assert_eq!(read.with_build("").unwrap().original(), "v1.2.3-rc.1");
    assert_eq!(
        read.with_prerelease("01").unwrap_err().to_string(),
        "Version segment starts with 0"
    );
    assert_eq!(
        read.with_build("a b").unwrap_err().to_string(),
        "Invalid Metadata string"
    );
}

#[test]
fn a_prerelease_is_looked_for_by_comparator_or_by_alternative() {
    for (constraint, candidate, old, new) in [
        (">=1.0.0", "1.5.0-rc1", false, false),
        (">=1.0.0-0", "1.5.0-rc1", true, true),
        (">=1.0.0-0 <2.0.0", "1.5.0-rc1", false, true),
        (">=1.0.0-0 <2.0.0 || 9.0.0", "1.5.0-rc1", false, true),
        ("9.0.0-0 || >=1.0.0", "1.5.0-rc1", false, false),
        ("!=1.0.0", "2.0.0-rc1", true, false),
        ("!=1.0.x", "2.0.0-rc1", false, false),
        ("*", "2.0.0-rc1", false, false),
        ("*-0", "2.0.0-rc1", true, true),
    ] {
        for (edition, expected) in [(V3_3, old), (V3_5, new)] {
            let read = Constraint::parse(constraint, edition).unwrap();
            assert_eq!(
                read.check(&version(candidate)),
                expected,
                "{constraint} {candidate} {edition:?}"
            );
        }
    }
    let included = Constraint::parse(">=1.0.0 <2.0.0", V3_5)
        .unwrap()
        .including_prereleases();
    assert!(included.check(&version("1.5.0-rc1")));
}

#[test]
fn refusals_say_what_is_wrong() {
    for (constraint, candidate, expected) in [
        ("=1.0.0", "1.0.1", "1.0.1 is not equal to 1.0.0"),
        ("!=1.0.x", "1.0.1", "1.0.1 is equal to 1.0.x"),
        (">2", "2.9.0", "2.9.0 is less than or equal to 2"),
        (">= 2.0.0", "1.2.3", "1.2.3 is less than 2.0.0"),
        ("<v2", "2.0.0", "2.0.0 is greater than or equal to v2"),
        ("=<1.2", "1.3.0", "1.3.0 is greater than 1.2"),
        ("~1.2", "2.2.0", "2.2.0 does not have same major version as 1.2"),
        (
            "~>1.2.3",
            "1.3.0",
            "1.3.0 does not have same major and minor version as 1.2.3",
        ),
        ("^1.2", "2.0.0", "2.0.0 does not have same major version as 1.2"),
        (
            "^0.2.3",
            "0.3.0",
            "0.3.0 does not have same minor version as 0.2.3. Expected minor versions to match when constraint major \
             version is 0",
        ),
        (
            "^0.0.3",
            "0.1.0",
            "0.1.0 does not have same minor version as 0.0.3",
        ),
        (
            "^0.0.3",
            "0.0.4",
            "0.0.4 does not equal 0.0.3. Expect version and constraint to equal when major and minor versions are 0",
        ),
        (
            ">1.0.0 <2.0.0",
            "1.5.0-rc1",
            "1.5.0-rc1 is a prerelease version and the constraint is only looking for release versions",
        ),
    ] {
        let refusals = Constraint::parse(constraint, V3_3)
            .unwrap()
            .validate(&version(candidate))
            .unwrap_err();
        let [refusal] = &refusals[..] else {
            panic!("{constraint}: {refusals:?}")
        };
        assert_eq!(refusal.to_string(), expected);
    }
    let refusals = Constraint::parse(">=2 || <1.0.0", V3_5)
        .unwrap()
        .validate(&version("1.2.3"))
        .unwrap_err();
    let texts: Vec<String> = refusals.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "\"1.2.3\" is less than \"2\"",
            "\"1.2.3\" is greater than or equal to \"1.0.0\""
        ]
    );
}

#[test]
fn hyphen_ranges_are_rewritten_wherever_they_stand() {
    for (constraint, displayed) in [
        ("1.2 - 2.0.3", ">=1.2 <=2.0.3"),
        ("\t1 -\t2 || 3.x - 4", ">=1 <=2 || >=3.x <=4"),
        ("1.0.0-rc - 2", ">=1.0.0-rc <=2"),
        ("^1.2,!=1.3.0", "^1.2 !=1.3.0"),
    ] {
        assert_eq!(
            Constraint::parse(constraint, V3_3).unwrap().to_string(),
            displayed,
            "{constraint}"
        );
    }
    let refused = Constraint::parse("1.2.3.4 - 2.0", V3_5).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "improper constraint: \"1.>= 2.3.4, <= 2.0 \""
    );
    let refused = Constraint::parse("> 1 - 2", V3_3).unwrap_err();
    assert_eq!(refused.to_string(), "improper constraint: >>= 1, <= 2 ");
    let refused = Constraint::parse("18446744073709551616", V3_3).unwrap_err();
    assert_eq!(refused.to_string(), "constraint Parser Error");
}

#[test]
fn an_alternative_without_comparators_holds_for_nothing() {
    let range = Range::parse("1.0.0 || || 2.0.0").unwrap();
    assert!(range.matches(&version("1.0.0")));
    assert!(range.matches(&version("2.0.0")));
    assert!(!range.matches(&version("3.0.0")));
}

#[test]
fn texts_beyond_their_greatest_length_are_refused() {
    let long = |bytes: usize| format!("1.0.0-{}", "a".repeat(bytes - "1.0.0-".len()));
    Version::parse(&long(MAX_VERSION_BYTES)).unwrap();
    for refused in [
        Version::parse(&long(MAX_VERSION_BYTES + 1)),
        Version::parse_tolerant(&long(MAX_VERSION_BYTES + 1)),
    ] {
        assert_eq!(
            refused.unwrap_err().to_string(),
            "version string is too long (max 1024 bytes)"
        );
    }
    Spelled::parse(&long(MAX_SPELLED_BYTES), V3_5).unwrap();
    let refused = Spelled::parse(&long(MAX_SPELLED_BYTES + 1), V3_5).unwrap_err();
    assert_eq!(refused.to_string(), "version string is too long (max 256 bytes)");
    Spelled::parse(&long(MAX_SPELLED_BYTES + 1), V3_3).unwrap();

    let list = |bytes: usize| format!("{:<bytes$}", "1.0.0");
    Constraint::parse(&list(MAX_CONSTRAINT_BYTES), V3_5).unwrap();
    let refused = Constraint::parse(&list(MAX_CONSTRAINT_BYTES + 1), V3_5).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "constraint string is too long (max 512 bytes)"
    );
    Constraint::parse(&list(MAX_OLD_CONSTRAINT_BYTES), V3_3).unwrap();
    Constraint::parse(&list(MAX_OLD_CONSTRAINT_BYTES + 1), V3_3).unwrap_err();
    let refused = Constraint::parse(&["1"; 33].join("||"), V3_5).unwrap_err();
    assert_eq!(refused.to_string(), "too many constraint groups (max 32)");
    Range::parse(&list(MAX_RANGE_BYTES)).unwrap();
    Range::parse(&list(MAX_RANGE_BYTES + 1)).unwrap_err();
}

#[test]
fn releases_order_builds_of_one_version() {
    let ascending = ["1.0.0-rc+9", "1.0.0", "1.0.0+2", "1.0.0+10", "1.0.0+rc", "1.0.1"];
    let read = ascending.map(|text| VersionRelease::from_build_metadata(text).unwrap());
    for pair in read.windows(2) {
        assert!(pair[0].precedence(&pair[1]).is_lt(), "{pair:?}");
    }
    let spoken = VersionRelease::from_fields("1.0.0", "").unwrap();
    assert!(spoken.precedence(&read[1]).is_eq());
    assert_ne!(spoken, read[1]);
}

#[test]
fn releases_are_refused_with_the_place_of_the_mistake() {
    for (text, expected) in [
        (
            "01",
            "invalid release \"01\": segment 0: Numeric PreRelease version must not contain leading zeroes \"01\"",
        ),
        ("1..2", "invalid release \"1..2\": segment 1: Prerelease is empty"),
        (
            "a_b.00",
            "invalid release \"a_b.00\": segment 0: Invalid character(s) found in prerelease \"a_b\"\nsegment 1: Numeric \
             PreRelease version must not contain leading zeroes \"00\"",
        ),
        (
            "1234567890.1234567890",
            "invalid release \"1234567890.1234567890\": exceeds maximum length of 20 characters",
        ),
    ] {
        assert_eq!(Release::parse(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_version_and_its_release_become_part_of_a_name() {
    let name = |version, release| {
        VersionRelease::from_fields(version, release)
            .unwrap()
            .to_name_part()
    };
    assert_eq!(name("1.0.0-RC.1+Build", "2"), "1.0.0-rc.1-build-2");
    assert_eq!(name("1.0.0", ""), "1.0.0");
}
