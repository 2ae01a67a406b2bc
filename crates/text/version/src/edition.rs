//! The releases of Masterminds/semver that differ in what users see.

/// Which release of Masterminds/semver decides about constraints and error texts.
///
/// They differ in more than wording, so whoever reads a version or a constraint says which one is meant:
///
/// | | [`V3_3`](Self::V3_3) | [`V3_5`](Self::V3_5) |
/// |---|---|---|
/// | a pre-release matches | a comparator that names a pre-release itself | any comparator beside one that does |
/// | `!=1.0.0` and `2.0.0-rc1` | matches | does not match |
/// | `1.2.3-` and `1.2.3+`, read strictly | accepted | refused |
/// | incrementing the greatest number | starts again at 0 | refused |
/// | longest version, longest constraint | ours, generous | 256 and 512 bytes, 32 alternatives |
/// | texts | `Invalid Semantic Version`, `1.0.0 is less than 2.0.0` | lower case, quoted |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edition {
    /// Release 3.3.0, which Helm 3.17 uses.
    V3_3,
    /// Release 3.5.0, which OLM v1 uses for `spec.source.catalog.version`.
    V3_5,
}
