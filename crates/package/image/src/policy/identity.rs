//! Whether the name that was signed is the name that was asked for.

use serde::Deserialize;

use crate::reference::{self, Reference};

/// The rule by which a signature's name has to fit the image's.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum SignedIdentity {
    /// The same name; for an image asked for by digest, any tag of the same repository.
    #[serde(rename = "matchRepoDigestOrExact")]
    RepositoryDigestOrExact {},
    /// The same name, tag or digest included.
    #[serde(rename = "matchExact")]
    Exact {},
    /// Any version of the same repository.
    #[serde(rename = "matchRepository")]
    Repository {},
    /// One given name.
    #[serde(rename_all = "camelCase")]
    ExactReference { docker_reference: String },
    /// Any version of one given repository.
    #[serde(rename_all = "camelCase")]
    ExactRepository { docker_repository: String },
    /// Another name in place of a prefix, for mirrors.
    #[serde(rename_all = "camelCase")]
    RemapIdentity { prefix: String, signed_prefix: String },
}

impl Default for SignedIdentity {
    fn default() -> Self {
        Self::RepositoryDigestOrExact {}
    }
}

// The variants without fields are written with braces, because only then serde refuses fields that they don't have.
impl SignedIdentity {
    /// Checks what the rule's own fields say.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            Self::RepositoryDigestOrExact {} | Self::Exact {} | Self::Repository {} => Ok(()),
            Self::ExactReference { docker_reference } => {
                let parsed = Reference::parse_normalized(docker_reference).map_err(|error| {
                    format!("Invalid format of dockerReference {docker_reference:?}: {error}")
                })?;
                if parsed.tag().is_none() && parsed.digest().is_none() {
                    return Err(format!(
                        "dockerReference {docker_reference:?} contains neither a tag nor digest"
                    ));
                }
                Ok(())
            }
            Self::ExactRepository { docker_repository } => Reference::parse_normalized(docker_repository)
                .map(drop)
                .map_err(|error| {
                    format!("Invalid format of dockerRepository {docker_repository:?}: {error}")
                }),
            Self::RemapIdentity {
                prefix,
                signed_prefix,
            } => {
                for prefix in [prefix, signed_prefix] {
                    let is_repository =
                        Reference::parse_normalized(prefix).is_ok_and(|parsed| parsed.name() == *prefix);
                    if !reference::is_host(prefix) && !is_repository {
                        return Err(format!("prefix {prefix:?} is not valid"));
                    }
                }
                Ok(())
            }
        }
    }

    /// Returns whether a signature for `signed` counts for the image that was asked for.
    pub(super) fn accepts(&self, intended: &Reference, signed: &str) -> bool {
        let Ok(signed) = Reference::parse_normalized(signed) else {
            return false;
        };
        let intended = versioned(intended);
        match self {
            Self::RepositoryDigestOrExact {} => repository_digest_or_exact(&intended, &signed),
            Self::Exact {} => exact(&intended, &signed),
            Self::Repository {} => intended.name() == signed.name(),
            Self::ExactReference { docker_reference } => {
                Reference::parse_normalized(docker_reference).is_ok_and(|given| exact(&given, &signed))
            }
            Self::ExactRepository { docker_repository } => Reference::parse_normalized(docker_repository)
                .is_ok_and(|given| given.name() == signed.name()),
            Self::RemapIdentity {
                prefix,
                signed_prefix,
            } => remapped(&intended, prefix, signed_prefix)
                .is_some_and(|other| repository_digest_or_exact(&other, &signed)),
        }
    }
}

/// The name that decides what is fetched: the digest alone where there is one, otherwise a tag.
pub(super) fn versioned(reference: &Reference) -> Reference {
    match reference.digest() {
        Some(digest) => reference.with_digest(digest),
        None => reference.or_latest(),
    }
}

fn is_versioned(reference: &Reference) -> bool {
    reference.tag().is_some() || reference.digest().is_some()
}

fn exact(intended: &Reference, signed: &Reference) -> bool {
    is_versioned(intended) && is_versioned(signed) && intended == signed
}

fn repository_digest_or_exact(intended: &Reference, signed: &Reference) -> bool {
    if !is_versioned(signed) {
        return false;
    }
    match (intended.tag(), intended.digest()) {
        (Some(_), _) => intended == signed,
        (None, Some(_)) => intended.name() == signed.name(),
        (None, None) => false,
    }
}

fn remapped(reference: &Reference, prefix: &str, replacement: &str) -> Option<Reference> {
    let name = reference.name();
    let lies_within = name
        .strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if !lies_within {
        return Some(reference.clone());
    }
    Reference::parse(&reference.to_string().replacen(prefix, replacement, 1)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn rule(json: &str) -> SignedIdentity {
        let rule: SignedIdentity = serde_json::from_str(json).expect(json);
        rule.check().expect(json);
        rule
    }

    #[test]
    fn a_signature_counts_for_the_name_that_it_was_made_for() {
        let by_digest = format!("quay.io/a/b{DIGEST}");
        for (json, intended, signed, accepted) in [
            (
                r#"{"type":"matchRepoDigestOrExact"}"#,
                "quay.io/a/b:1",
                "quay.io/a/b:1",
                true,
            ),
            (
                r#"{"type":"matchRepoDigestOrExact"}"#,
                "quay.io/a/b:1",
                "quay.io/a/b:2",
                false,
            ),
            (
                r#"{"type":"matchRepoDigestOrExact"}"#,
                "quay.io/a/b:1",
                "quay.io/a/b",
                false,
            ),
            (
                r#"{"type":"matchRepoDigestOrExact"}"#,
                &by_digest,
                "quay.io/a/b:2",
                true,
            ),
            (
                r#"{"type":"matchRepoDigestOrExact"}"#,
                &by_digest,
                "quay.io/a/b",
                false,
            ),
            (
                r#"{"type":"matchRepoDigestOrExact"}"#,
                &by_digest,
                "quay.io/a/c:2",
                false,
            ),
            (r#"{"type":"matchExact"}"#, &by_digest, "quay.io/a/b:2", false),
            (r#"{"type":"matchExact"}"#, "docker.io/library/b:1", "b:1", true),
            (
                r#"{"type":"matchRepository"}"#,
                "quay.io/a/b:1",
                "quay.io/a/b",
                true,
            ),
            (
                r#"{"type":"matchRepository"}"#,
                "quay.io/a/b:1",
                "quay.io/a/c",
                false,
            ),
            (
                r#"{"type":"matchRepository"}"#,
                "quay.io/a/b:1",
                "Not A Name",
                false,
            ),
            (
                r#"{"type":"exactReference","dockerReference":"x.io/y:1"}"#,
                "quay.io/a/b:1",
                "x.io/y:1",
                true,
            ),
            (
                r#"{"type":"exactReference","dockerReference":"x.io/y:1"}"#,
                "quay.io/a/b:1",
                "quay.io/a/b:1",
                false,
            ),
            (
                r#"{"type":"exactRepository","dockerRepository":"x.io/y"}"#,
                "quay.io/a/b:1",
                "x.io/y:9",
                true,
            ),
            (
                r#"{"type":"remapIdentity","prefix":"mirror.io/quay","signedPrefix":"quay.io"}"#,
                "mirror.io/quay/a:1",
                "quay.io/a:1",
                true,
            ),
            (
                r#"{"type":"remapIdentity","prefix":"mirror.io/quay","signedPrefix":"quay.io"}"#,
                "mirror.io/quayside/a:1",
                "quay.io/a:1",
                false,
            ),
            (
                r#"{"type":"remapIdentity","prefix":"mirror.io/quay","signedPrefix":"quay.io"}"#,
                "other.io/a:1",
                "other.io/a:1",
                true,
            ),
        ] {
            let intended_reference = Reference::parse(intended).expect(intended);
            assert_eq!(
                rule(json).accepts(&intended_reference, signed),
                accepted,
                "{json} {intended} {signed}"
            );
        }
    }

    #[test]
    fn rules_with_unusable_names_are_refused() {
        for json in [
            r#"{"type":"exactReference","dockerReference":"x.io/y"}"#,
            r#"{"type":"exactReference","dockerReference":"x.io/Y:1"}"#,
            r#"{"type":"exactRepository","dockerRepository":""}"#,
            r#"{"type":"remapIdentity","prefix":"a/b","signedPrefix":"quay.io"}"#,
            r#"{"type":"remapIdentity","prefix":"quay.io","signedPrefix":"quay.io/a:1"}"#,
        ] {
            let rule: SignedIdentity = serde_json::from_str(json).expect(json);
            assert!(rule.check().is_err(), "{json}");
        }
        for json in [
            r#"{"type":"matchExact","extra":1}"#,
            r#"{"type":"matchAll"}"#,
            r#"{"type":"exactReference"}"#,
            "{}",
        ] {
            assert!(serde_json::from_str::<SignedIdentity>(json).is_err(), "{json}");
        }
    }
}
