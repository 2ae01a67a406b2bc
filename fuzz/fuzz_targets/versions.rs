//! Feeds any text to everything that reads versions, ranges and constraints.
#![no_main]

use libfuzzer_sys::fuzz_target;
use version::{Constraint, Edition, MAX_CONSTRAINT_BYTES, Range, Spelled, Version, VersionRelease};

fuzz_target!(|text: &str| {
    let (text, candidate) = text.split_once('\n').unwrap_or((text, "1.2.3-rc.1"));
    if let Ok(version) = Version::parse(text) {
        assert_eq!(version.to_string(), text);
        assert_eq!(Version::parse_tolerant(text).as_ref(), Ok(&version));
    }
    VersionRelease::from_build_metadata(text).ok();
    let candidate = Version::parse_tolerant(candidate).unwrap_or_else(|_| Version::new(1, 2, 3));
    if let Ok(range) = Range::parse(text) {
        range.matches(&candidate);
    }
    for edition in [Edition::V3_3, Edition::V3_5] {
        if let Ok(read) = Spelled::parse(text, edition) {
            assert_eq!(read.original(), text);
            read.next_patch().ok();
        }
        Spelled::parse_strict(text, edition).ok();
        if let Ok(constraint) = Constraint::parse(text, edition) {
            let accepted = constraint.check(&candidate);
            if constraint.validate(&candidate).is_ok() {
                assert!(accepted);
            }
            // What is displayed may be longer than what was read, and then too long.
            let displayed = constraint.to_string();
            if displayed.len() <= MAX_CONSTRAINT_BYTES {
                let again = Constraint::parse(&displayed, edition);
                assert_eq!(again.map(|again| again.check(&candidate)), Ok(accepted));
            }
        }
    }
});
