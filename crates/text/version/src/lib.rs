//! Semantic versions, and the two languages in which operators and charts say which versions they accept.
//!
//! ```text
//! Version        1.2.3-rc.1+build, ordered by precedence      strict and tolerant reading as blang/semver does
//! Spelled        a version and the way it was written         lenient reading as Masterminds/semver does
//! Range          >=1.0.0 <1.5.0 || 2.x                        blang's language: `skipRange`, dependencies
//! Constraint     ^1.2, !=1.3.0 || 2.0 - 2.4                   Masterminds' language: Helm, `spec.version`
//! Edition        which release of Masterminds/semver to follow
//! Release        what orders two builds of one version; VersionRelease is both together
//! v1beta1        the versions of Kubernetes APIs have an order of their own: `api_version_priority`
//! ```
//!
//! Two libraries are followed because users meet both: a catalog's `skipRange` is read by blang/semver, which
//! counts a pre-release like any other version, and Helm's `kubeVersion` by Masterminds/semver, which hides
//! pre-releases from whoever does not ask for them. Results and error texts are theirs.
//!
//! Versions come from files that anyone may write, so every text has a greatest length and no number overflows.

mod api_version;
mod constraint;
mod edition;
mod identifiers;
mod number;
mod quoted;
mod range;
mod release;
mod spelled;
mod strict;
mod version;

pub use api_version::api_version_priority;
pub use constraint::{Constraint, ConstraintError, MAX_CONSTRAINT_GROUPS, MAX_OLD_CONSTRAINT_BYTES, Refusal};
pub use constraint::{MAX_CONSTRAINT_BYTES, Reason};
pub use edition::Edition;
pub use identifiers::IdentifierError;
pub use number::NumberError;
pub use range::{MAX_RANGE_BYTES, Range, RangeError};
pub use release::{MAX_RELEASE_BYTES, Release, ReleaseError, VersionRelease, VersionReleaseError};
pub use spelled::{IncrementError, MAX_SPELLED_BYTES, Spelled, SpelledError, SpelledErrorKind};
pub use strict::{MAX_VERSION_BYTES, VersionError};
pub use version::Version;
