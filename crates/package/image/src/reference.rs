//! Image references: `host/namespace/name:tag@digest`, in Docker's normalised grammar.
//!
//! The grammar is the one of containers/image, which opm and Podman read with, so that what they accept is accepted
//! here and what they refuse is refused in their words ([`normalized_error`]). One thing is added, as Docker has it:
//! a host may be an IPv6 address in brackets.

use std::fmt;

use crate::digest::Digest;

mod grammar;

pub use grammar::GrammarError;

/// The registry that a name without a host is looked up in.
pub const DEFAULT_REGISTRY: &str = "docker.io";

/// The tag that a name without tag and digest stands for.
pub const DEFAULT_TAG: &str = "latest";

/// The name of an image: a registry, a repository there, and optionally a tag, a digest or both.
///
/// ```
/// # use image::reference::Reference;
/// let reference = Reference::parse("quay.io/operatorhubio/catalog:latest").unwrap();
/// assert_eq!(reference.registry(), "quay.io");
/// assert_eq!(reference.repository(), "operatorhubio/catalog");
/// assert_eq!(Reference::parse_normalized("nginx").unwrap().to_string(), "docker.io/library/nginx");
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// Why a text is not the reference of an image that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidReference {
    /// The text doesn't follow the grammar.
    #[error("{text:?} is not an image reference: {cause}; write HOST/NAMESPACE/NAME:TAG or …@sha256:DIGEST")]
    Malformed {
        /// What was to be read.
        text: String,
        /// The rule that it breaks, in upstream's words.
        cause: GrammarError,
    },
    /// The text is a short name, which means another image on another machine.
    #[error("{text:?} is not canonical: repository name must be canonical; write {canonical}")]
    NotCanonical {
        /// What was to be read.
        text: String,
        /// The full name of what was probably meant.
        canonical: String,
    },
    /// The first part of the text is neither a host nor an ordinary namespace.
    #[error("{text:?} has no registry: {host:?} is not a host name; write HOST/NAMESPACE/NAME:TAG")]
    InvalidHost {
        /// What was to be read.
        text: String,
        /// The part where the host belongs.
        host: String,
    },
    /// The digest is well-formed, but of an algorithm that isn't verified here.
    #[error("{text:?} names its image by a digest that can't be verified: {digest:?}; use a sha256 digest")]
    UnsupportedDigest {
        /// What was to be read.
        text: String,
        /// The digest within it.
        digest: String,
    },
    /// The text is not a tag.
    #[error(
        "{tag:?} is not a tag: write up to 128 letters, digits, \"_\", \".\" or \"-\", not beginning with \".\" or \"-\""
    )]
    InvalidTag {
        /// What was to be a tag.
        tag: String,
    },
}

impl Reference {
    /// Reads a fully qualified name; the error for a short one says what the full one is.
    pub fn parse(text: &str) -> Result<Self, InvalidReference> {
        let reference = Self::parse_normalized(text)?;
        let canonical = reference.to_string();
        if canonical == text {
            return Ok(reference);
        }
        Err(InvalidReference::NotCanonical {
            text: text.to_owned(),
            canonical,
        })
    }

    /// Reads a name as it is typed for Docker: `nginx` is `docker.io/library/nginx`.
    pub fn parse_normalized(text: &str) -> Result<Self, InvalidReference> {
        let parts =
            grammar::parse(text, grammar::Hosts::WithIpv6).map_err(|cause| InvalidReference::Malformed {
                text: text.to_owned(),
                cause,
            })?;
        let digest = match parts.digest {
            None => None,
            Some(digest) => Some(digest.parse().map_err(|_| InvalidReference::UnsupportedDigest {
                text: text.to_owned(),
                digest: digest.to_owned(),
            })?),
        };
        match parts.domain {
            Some(registry) => Ok(Self {
                registry: registry.to_owned(),
                repository: parts.path.into_owned(),
                tag: parts.tag.map(str::to_owned),
                digest,
            }),
            None => Err(InvalidReference::InvalidHost {
                text: text.to_owned(),
                host: parts.path.split('/').next().unwrap_or_default().to_owned(),
            }),
        }
    }

    /// The host of the registry, with its port where one is written.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The name of the repository within its registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The registry and the repository: `quay.io/operatorhubio/catalog`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }

    /// The tag, if one is written.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest, if one is written. It decides what is fetched, whatever the tag says.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// The same repository with another tag and without a digest.
    pub fn with_tag(&self, tag: &str) -> Result<Self, InvalidReference> {
        if !grammar::is_tag(tag) {
            return Err(InvalidReference::InvalidTag { tag: tag.to_owned() });
        }
        Ok(Self {
            tag: Some(tag.to_owned()),
            digest: None,
            ..self.clone()
        })
    }

    /// The same repository by digest alone: the name of content that never changes.
    pub fn with_digest(&self, digest: Digest) -> Self {
        Self {
            tag: None,
            digest: Some(digest),
            ..self.clone()
        }
    }

    /// The repository alone, without tag and digest.
    pub fn without_version(&self) -> Self {
        Self {
            tag: None,
            digest: None,
            ..self.clone()
        }
    }

    /// The same reference, with the tag `latest` where neither a tag nor a digest is written.
    pub fn or_latest(&self) -> Self {
        let mut reference = self.clone();
        if reference.tag.is_none() && reference.digest.is_none() {
            reference.tag = Some(DEFAULT_TAG.to_owned());
        }
        reference
    }

    /// The short form that Docker shows: without `docker.io/` and `library/`.
    pub fn familiar(&self) -> String {
        let full = self.to_string();
        let Some(short) = full.strip_prefix("docker.io/") else {
            return full;
        };
        match short.strip_prefix("library/") {
            Some(official) if !official.contains('/') => official.to_owned(),
            _ => short.to_owned(),
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(formatter, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(formatter, "@{digest}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Returns whether a text is the host of a registry, with or without a port.
pub(crate) fn is_host(text: &str) -> bool {
    grammar::is_domain(text, grammar::Hosts::WithIpv6)
}

/// Returns what upstream says about a pull spec that it can't read, and nothing about one that it can.
pub fn normalized_error(text: &str) -> Option<String> {
    grammar::parse(text, grammar::Hosts::NamesOnly)
        .err()
        .map(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn a_short_name_becomes_the_full_one() {
        for (short, full) in [
            ("nginx", "docker.io/library/nginx"),
            ("nginx:1.25", "docker.io/library/nginx:1.25"),
            ("tytn/x:1", "docker.io/tytn/x:1"),
            ("docker.io/nginx", "docker.io/library/nginx"),
            ("index.docker.io/nginx", "docker.io/library/nginx"),
            ("index.docker.io/a/b", "docker.io/a/b"),
            ("localhost/x", "localhost/x"),
            ("localhost:5000/x", "localhost:5000/x"),
            ("foo:5000/x", "foo:5000/x"),
            ("Example.COM/x", "Example.COM/x"),
            ("[::1]:5000/x:y", "[::1]:5000/x:y"),
            ("quay.io/a/b__c/d--e/f.g_h", "quay.io/a/b__c/d--e/f.g_h"),
        ] {
            let reference = Reference::parse_normalized(short).expect(short);
            assert_eq!(reference.to_string(), full);
            assert_eq!(Reference::parse(full), Ok(reference));
        }
    }

    #[test]
    fn the_short_form_is_the_full_one_without_what_docker_leaves_out() {
        for text in ["nginx", "nginx:1", "tytn/x", "quay.io/a/b:c", "library/a/b"] {
            assert_eq!(Reference::parse_normalized(text).expect(text).familiar(), text);
        }
    }

    #[test]
    fn a_tag_and_a_digest_may_stand_together() {
        let text = format!("quay.io/a/b:v1@sha256:{HEX}");
        let reference = Reference::parse(&text).expect("both");
        assert_eq!(reference.tag(), Some("v1"));
        assert_eq!(reference.digest(), Some(Digest::of(b"")));
        assert_eq!(reference.name(), "quay.io/a/b");
        assert_eq!(reference.to_string(), text);
        assert_eq!(
            reference.with_tag("v2").expect("a tag").to_string(),
            "quay.io/a/b:v2"
        );
        assert_eq!(
            reference.with_digest(Digest::of(b"")).to_string(),
            format!("quay.io/a/b@sha256:{HEX}")
        );
        assert_eq!(
            reference.without_version().or_latest().to_string(),
            "quay.io/a/b:latest"
        );
        assert_eq!(reference.or_latest(), reference);
        assert!(reference.with_tag("-v").is_err());
    }

    #[test]
    fn the_error_for_a_short_name_says_the_full_one() {
        let errors: Vec<String> = [
            "tytn/x:1",
            "nginx",
            "index.docker.io/a/b",
            "quay.io/Foo/bar:1",
            "Foo/bar",
            "a_b.c/foo",
            "",
            "quay.io/foo/bar 1",
            HEX,
            &format!("quay.io/a/b@sha512:{HEX}{HEX}"),
            &format!("quay.io/a/b@sha512:{HEX}"),
        ]
        .iter()
        .map(|text| Reference::parse(text).expect_err(text).to_string())
        .collect();
        insta::assert_snapshot!(errors.join("\n"));
    }
}
