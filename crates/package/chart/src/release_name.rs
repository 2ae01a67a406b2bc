//! Names of releases.

use gotemplate::format::quoted;
use thiserror::Error;

/// The longest name of a release: Kubernetes allows 63 characters for many names, and charts append to it.
const MAX_LENGTH: usize = 53;

/// A name that no release may have.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum InvalidReleaseName {
    /// There is none.
    #[error("release name {}: no name provided", quoted(""))]
    Missing,
    /// It is too long, or has characters that Kubernetes names do not have.
    #[error(
        "release name {}: invalid release name, must match regex \
         ^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ and the length must not be longer than \
         {MAX_LENGTH}",
        quoted(.0)
    )]
    Invalid(String),
}

/// Checks the name of a release.
pub fn validate(name: &str) -> Result<(), InvalidReleaseName> {
    if name.is_empty() {
        return Err(InvalidReleaseName::Missing);
    }
    if name.len() > MAX_LENGTH || !name.split('.').all(is_label) {
        return Err(InvalidReleaseName::Invalid(name.to_owned()));
    }
    Ok(())
}

/// Lower-case letters, digits and hyphens, with a letter or digit at both ends.
pub(crate) fn is_label(label: &str) -> bool {
    let is_alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = label.as_bytes();
    bytes.first().is_some_and(is_alphanumeric)
        && bytes.last().is_some_and(is_alphanumeric)
        && bytes.iter().all(|byte| is_alphanumeric(byte) || *byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_kubernetes() {
        for name in ["a", "a-b.c9", "0", &"a".repeat(53)] {
            assert_eq!(validate(name), Ok(()), "{name}");
        }
        for name in ["A", "a_b", "-a", "a-", "a..b", ".a", "a.", "a b", &"a".repeat(54)] {
            assert_eq!(validate(name), Err(InvalidReleaseName::Invalid(name.to_owned())));
        }
    }

    #[test]
    fn the_text_is_that_of_helm() {
        assert_eq!(
            validate("Bad").unwrap_err().to_string(),
            "release name \"Bad\": invalid release name, must match regex \
             ^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ \
             and the length must not be longer than 53"
        );
        assert_eq!(
            validate("").unwrap_err().to_string(),
            "release name \"\": no name provided"
        );
    }
}
