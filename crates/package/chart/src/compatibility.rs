//! Whether a version is in a range, as Helm 3.17 decides it.

use version::{Constraint, Edition, Spelled};

/// The release of the version library that Helm 3.17 uses.
pub(crate) const EDITION: Edition = Edition::V3_3;

/// Tells whether `text` is a semantic version, in the lenient reading that charts are used to.
pub(crate) fn is_semantic_version(text: &str) -> bool {
    Spelled::parse(text, EDITION).is_ok()
}

/// Tells whether `version` is in the range `constraint`; false where one of them cannot be read.
pub(crate) fn is_compatible_range(constraint: &str, version: &str) -> bool {
    match (
        Spelled::parse(version, EDITION),
        Constraint::parse(constraint, EDITION),
    ) {
        (Ok(version), Ok(constraint)) => constraint.check(version.version()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_helm_reads_them() {
        for (constraint, version, expected) in [
            ("v2.0.0-alpha.4", "v2.0.0-alpha.4", true),
            ("1.2.3", "1.2.3", true),
            ("~1.2.0", "1.2.5", true),
            (">=1.20", "1.33.4-gke.1", false),
            (">=1.20.0-0", "1.33.4-gke.1", true),
            ("", "1.0.0", false),
            ("*", "1.0.0", true),
            ("nonsense!", "1.0.0", false),
            ("1.x", "nonsense", false),
        ] {
            assert_eq!(
                is_compatible_range(constraint, version),
                expected,
                "{constraint} {version}"
            );
        }
    }
}
