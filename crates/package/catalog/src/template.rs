//! Catalog templates: `olm.semver`, basic and substitutes.
