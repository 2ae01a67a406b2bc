//! The names in a registry's addresses: repositories, tags, and what a manifest is asked for by.

use std::fmt;

use super::content_digest::{ContentDigest, UnusableDigest};

/// The longest name of a repository: clients limit host and name together to 255 characters, and a name is a path on
/// disk whose parts must each fit into a file name.
pub const MAX_REPOSITORY_NAME_BYTES: usize = 255;

/// The longest tag, as the distribution specification says.
pub const MAX_TAG_BYTES: usize = 128;

/// Why a text in an address names nothing that could be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidName {
    /// The name of a repository breaks the specification's grammar.
    #[error(
        "{0:?} is not a repository name: use lower-case letters and digits, joined by '.', '_', '__' or '-', in parts separated by '/'"
    )]
    Repository(String),
    /// The name of a repository is longer than clients can use.
    #[error("the repository name is {0} bytes long: use at most {MAX_REPOSITORY_NAME_BYTES}")]
    RepositoryTooLong(usize),
    /// The tag breaks the specification's grammar.
    #[error(
        "{0:?} is not a tag: use at most {MAX_TAG_BYTES} letters, digits, '_', '.' and '-', beginning with a letter, a digit or '_'"
    )]
    Tag(String),
    /// The digest can't be verified.
    #[error(transparent)]
    Digest(#[from] UnusableDigest),
}

/// The name of a repository, such as `team/operator-bundle`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct RepositoryName(String);

impl RepositoryName {
    /// Reads a name by the specification's grammar.
    pub(super) fn parse(text: &str) -> Result<Self, InvalidName> {
        if text.len() > MAX_REPOSITORY_NAME_BYTES {
            return Err(InvalidName::RepositoryTooLong(text.len()));
        }
        if text.split('/').all(is_component) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidName::Repository(text.to_owned()))
        }
    }

    /// The name as it is written.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RepositoryName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn is_component(text: &str) -> bool {
    let is_word = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    let is_separator = |run: &str| matches!(run, "." | "_" | "__") || run.bytes().all(|byte| byte == b'-');
    text.starts_with(is_word)
        && text.ends_with(is_word)
        && text
            .split(is_word)
            .filter(|run| !run.is_empty())
            .all(is_separator)
}

/// A tag: a name that a repository gives to one of its manifests.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Tag(String);

impl Tag {
    /// Reads a tag by the specification's grammar.
    pub(super) fn parse(text: &str) -> Result<Self, InvalidName> {
        let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let rest_allowed = text
            .chars()
            .all(|character| is_word(character) || matches!(character, '.' | '-'));
        if text.len() <= MAX_TAG_BYTES && text.starts_with(is_word) && rest_allowed {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidName::Tag(text.to_owned()))
        }
    }

    /// The tag as it is written.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What a manifest is asked for by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum ManifestReference {
    /// The name that the repository gives to it at the moment.
    Tag(Tag),
    /// Its bytes.
    Digest(ContentDigest),
}

impl ManifestReference {
    /// Reads a tag or a digest; a colon tells them apart.
    pub(super) fn parse(text: &str) -> Result<Self, InvalidName> {
        if text.contains(':') {
            Ok(Self::Digest(text.parse()?))
        } else {
            Tag::parse(text).map(Self::Tag)
        }
    }
}

impl fmt::Display for ManifestReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tag(tag) => tag.fmt(formatter),
            Self::Digest(digest) => digest.fmt(formatter),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn repository_names_follow_the_grammar() {
        for good in ["a", "0", "a/b", "a.b_c__d-e---f/g1", "library/inference-stack"] {
            assert!(RepositoryName::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "", "/", "a/", "/a", "a//b", "A", "a..b", "a.-b", "a___b", "-a", "a-", "_a", "a/_tags", "..",
            "a/../b", "ä", "a b", "a\0",
        ] {
            assert!(RepositoryName::parse(bad).is_err(), "{bad}");
        }
        let long = "a".repeat(MAX_REPOSITORY_NAME_BYTES);
        assert!(RepositoryName::parse(&long).is_ok());
        assert_eq!(
            RepositoryName::parse(&format!("{long}a")),
            Err(InvalidName::RepositoryTooLong(MAX_REPOSITORY_NAME_BYTES + 1))
        );
    }

    #[test]
    fn tags_follow_the_grammar() {
        for good in [
            "latest",
            "v1.0.0",
            "_",
            "1",
            "A-b.C_d",
            &"t".repeat(MAX_TAG_BYTES),
        ] {
            assert!(Tag::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "-a",
            "a/b",
            "a+b",
            "ä",
            &"t".repeat(MAX_TAG_BYTES + 1),
        ] {
            assert!(Tag::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn the_grammar_is_the_specification_s_expression(text in "[a-z0-9A-Z._/-]{0,24}") {
            let expression = regex::Regex::new(
                r"^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$",
            ).unwrap();
            prop_assert_eq!(RepositoryName::parse(&text).is_ok(), expression.is_match(&text));
        }

        #[test]
        fn every_text_is_a_name_or_an_error(text in ".*") {
            let _ = RepositoryName::parse(&text);
            let _ = ManifestReference::parse(&text);
            if let Ok(tag) = Tag::parse(&text) {
                prop_assert_eq!(tag.as_str(), &text);
            }
        }
    }
}
