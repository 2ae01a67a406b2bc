//! The grammar itself, read in one pass without copying, because a catalog holds tens of thousands of pull specs.

use std::borrow::Cow;

use super::DEFAULT_REGISTRY;

/// The longest name, host included, that upstream accepts.
const NAME_LENGTH_LIMIT: usize = 255;

/// The longest tag.
const TAG_LENGTH_LIMIT: usize = 128;

/// The shortest run of digits that is taken for a digest at all.
const DIGEST_DIGITS_MINIMUM: usize = 32;

/// A name of Docker Hub from before it was called docker.io.
const LEGACY_DEFAULT_REGISTRY: &str = "index.docker.io";

/// Where Docker Hub keeps images whose name has no namespace.
const OFFICIAL_NAMESPACE: &str = "library";

/// The rule of the grammar that a text breaks. The messages are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrammarError {
    /// 64 hexadecimal digits: the identifier of a local image, not a name.
    #[error("invalid repository name ({0}), cannot specify 64-byte hexadecimal strings")]
    Identifier(String),
    /// A capital letter in the repository.
    #[error("invalid reference format: repository name must be lowercase")]
    UppercaseRepository,
    /// A character that is only valid once it is lowered.
    #[error("repository name must be lowercase")]
    Uppercase,
    /// Anything else that doesn't match.
    #[error("invalid reference format")]
    Format,
    /// Host and repository are longer than a registry takes.
    #[error("repository name must not be more than {NAME_LENGTH_LIMIT} characters")]
    NameTooLong,
    /// The digest's algorithm exists, but the digits are malformed.
    #[error("invalid checksum digest format")]
    DigestFormat,
    /// The digest has too few or too many digits for its algorithm.
    #[error("invalid checksum digest length")]
    DigestLength,
    /// The digest's algorithm is unknown.
    #[error("unsupported digest algorithm")]
    DigestAlgorithm,
}

/// Which hosts are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hosts {
    /// Names and IPv4 addresses, as containers/image has it.
    NamesOnly,
    /// Also IPv6 addresses in brackets, as Docker has it.
    WithIpv6,
}

/// A reference, cut into its parts.
pub(super) struct Parts<'text> {
    /// Absent when the first part of the name was taken for a host but isn't one.
    pub(super) domain: Option<&'text str>,
    pub(super) path: Cow<'text, str>,
    pub(super) tag: Option<&'text str>,
    pub(super) digest: Option<&'text str>,
}

/// Cuts `text` into parts after the rules for names as they are typed.
pub(super) fn parse(text: &str, hosts: Hosts) -> Result<Parts<'_>, GrammarError> {
    if text.len() == 64 && text.bytes().all(is_lower_hex) {
        return Err(GrammarError::Identifier(text.to_owned()));
    }
    let (domain, remainder, official) = split_domain(text);
    let name_end = remainder.find([':', '@']).unwrap_or(remainder.len());
    let before_colon = remainder.find(':').map_or(remainder, |colon| &remainder[..colon]);
    if before_colon.chars().any(changes_when_lowered) {
        return Err(GrammarError::UppercaseRepository);
    }
    let (path, version) = remainder.split_at(name_end);
    let domain_is_host = is_domain(domain, hosts);
    let matched = (domain_is_host || is_path_component(domain)) && path.split('/').all(is_path_component);
    let versions = matched.then(|| split_version(version)).flatten();
    let Some((tag, digest)) = versions else {
        return Err(refusal(text, hosts));
    };

    let prefix = if official { OFFICIAL_NAMESPACE.len() + 1 } else { 0 };
    if domain.len() + 1 + prefix + path.len() > NAME_LENGTH_LIMIT {
        return Err(GrammarError::NameTooLong);
    }
    if let Some(digest) = digest {
        check_digest(digest)?;
    }
    let path = match (domain_is_host, official) {
        (true, true) => Cow::Owned(format!("{OFFICIAL_NAMESPACE}/{path}")),
        (true, false) => Cow::Borrowed(path),
        (false, _) => Cow::Owned(format!("{domain}/{path}")),
    };
    Ok(Parts {
        domain: domain_is_host.then_some(domain),
        path,
        tag,
        digest,
    })
}

/// Upstream tries again with small letters, and says so when that helps.
fn refusal(text: &str, hosts: Hosts) -> GrammarError {
    if !text.chars().any(changes_when_lowered) {
        return GrammarError::Format;
    }
    let lowered: String = text.chars().map(lowered).collect();
    match parse(&lowered, hosts) {
        Err(GrammarError::Format | GrammarError::Identifier(_)) => GrammarError::Format,
        _ => GrammarError::Uppercase,
    }
}

/// Returns the host, what follows it, and whether Docker Hub's own namespace belongs in between.
fn split_domain(text: &str) -> (&str, &str, bool) {
    let (domain, remainder) = match text.split_once('/') {
        Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (first, rest),
        _ => (DEFAULT_REGISTRY, text),
    };
    let domain = if domain == LEGACY_DEFAULT_REGISTRY {
        DEFAULT_REGISTRY
    } else {
        domain
    };
    let official = domain == DEFAULT_REGISTRY && !remainder.contains('/');
    (domain, remainder, official)
}

/// Reads `:tag`, `@digest`, both or neither; nothing when there is anything else.
fn split_version(version: &str) -> Option<(Option<&str>, Option<&str>)> {
    let (before, digest) = match version.split_once('@') {
        Some((before, digest)) => (before, Some(digest)),
        None => (version, None),
    };
    let tag = match before.strip_prefix(':') {
        Some(tag) => Some(tag),
        None if before.is_empty() => None,
        None => return None,
    };
    (tag.is_none_or(is_tag) && digest.is_none_or(looks_like_digest)).then_some((tag, digest))
}

/// Returns whether `text` is a host, with or without a port.
pub(super) fn is_domain(text: &str, hosts: Hosts) -> bool {
    let (host, port) = match text.rfind(':') {
        Some(colon) if !text[colon..].contains(']') => (&text[..colon], Some(&text[colon + 1..])),
        _ => (text, None),
    };
    if port.is_some_and(|port| port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit())) {
        return false;
    }
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(address) = address {
        return hosts == Hosts::WithIpv6
            && !address.is_empty()
            && address
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b':');
    }
    host.split('.').all(|component| {
        component
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !component.is_empty()
            && !component.starts_with('-')
            && !component.ends_with('-')
    })
}

/// Runs of small letters and digits, with `.`, `_`, `__` or any number of `-` between them.
fn is_path_component(text: &str) -> bool {
    let is_alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut rest = text.as_bytes();
    loop {
        let run = rest.iter().take_while(|byte| is_alphanumeric(byte)).count();
        if run == 0 {
            return false;
        }
        rest = &rest[run..];
        if rest.is_empty() {
            return true;
        }
        let separator = rest.iter().take_while(|byte| !is_alphanumeric(byte)).count();
        let (between, after) = rest.split_at(separator);
        if !matches!(between, b"." | b"_" | b"__") && !between.iter().all(|byte| *byte == b'-') {
            return false;
        }
        rest = after;
    }
}

/// Returns whether `text` may stand behind the colon of a reference.
pub(super) fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= TAG_LENGTH_LIMIT
        && text.bytes().next().is_some_and(is_word)
        && text
            .bytes()
            .all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

fn looks_like_digest(text: &str) -> bool {
    let Some((algorithm, digits)) = text.split_once(':') else {
        return false;
    };
    algorithm.split(['-', '_', '+', '.']).all(|component| {
        component.starts_with(|first: char| first.is_ascii_alphabetic())
            && component.bytes().all(|byte| byte.is_ascii_alphanumeric())
    }) && digits.len() >= DIGEST_DIGITS_MINIMUM
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Checks a digest of which only the outer form is known to be right.
fn check_digest(digest: &str) -> Result<(), GrammarError> {
    let (algorithm, digits) = digest.split_once(':').ok_or(GrammarError::DigestFormat)?;
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ if algorithm.bytes().any(|byte| byte.is_ascii_uppercase()) => {
            return Err(GrammarError::DigestFormat);
        }
        _ => return Err(GrammarError::DigestAlgorithm),
    };
    if digits.len() != length {
        return Err(GrammarError::DigestLength);
    }
    if !digits.bytes().all(is_lower_hex) {
        return Err(GrammarError::DigestFormat);
    }
    Ok(())
}

fn is_lower_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'a'..=b'f')
}

/// Go lowers character by character: each becomes exactly one.
fn lowered(character: char) -> char {
    if character.is_ascii() {
        return character.to_ascii_lowercase();
    }
    character.to_lowercase().next().unwrap_or(character)
}

fn changes_when_lowered(character: char) -> bool {
    lowered(character) != character
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::Regex;

    use super::*;

    fn error(text: &str) -> Option<String> {
        parse(text, Hosts::NamesOnly).err().map(|error| error.to_string())
    }

    /// The grammar as upstream writes it down, to compare with.
    struct Upstream {
        reference: Regex,
    }

    impl Upstream {
        fn new() -> Self {
            let component = "[a-z0-9]+(?:(?:[._]|__|[-]*)[a-z0-9]+)*";
            let label = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
            let domain = format!(r"{label}(?:\.{label})*(?::[0-9]+)?");
            let tag = "[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}";
            let digest = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*[:][0-9A-Fa-f]{32,}";
            let pattern =
                format!("^((?:{domain}/)?{component}(?:/{component})*)(?::({tag}))?(?:@({digest}))?$");
            Self {
                reference: Regex::new(&pattern).expect("a regular expression"),
            }
        }

        fn accepts(&self, text: &str) -> bool {
            let (domain, remainder, official) = split_domain(text);
            let middle = if official { "library/" } else { "" };
            let before_colon = remainder.split(':').next().unwrap_or_default();
            before_colon.to_lowercase() == before_colon
                && self
                    .reference
                    .captures(&format!("{domain}/{middle}{remainder}"))
                    .is_some_and(|captures| {
                        captures[1].len() <= NAME_LENGTH_LIMIT
                            && captures
                                .get(3)
                                .is_none_or(|digest| check_digest(digest.as_str()).is_ok())
                    })
        }
    }

    proptest! {
        #[test]
        fn the_parser_accepts_what_upstreams_expression_accepts(text in "[ab0Z._:/@-]{0,14}") {
            prop_assert_eq!(error(&text).is_none(), Upstream::new().accepts(&text), "{}", text);
        }

        #[test]
        fn plausible_references_are_judged_alike(
            text in "([a-b]{1,3}(\\.|:|-|_)?[a-b0-9]{0,3}/){0,3}[a-bA]{0,3}(\\.|_|__|-|--|___)?[a-b]{0,2}(:[a-zA-Z0-9_.-]{0,4})?(@(sha256|SHA256|sha-2|md5):([0-9a-f]{32}){1,3})?"
        ) {
            prop_assert_eq!(error(&text).is_none(), Upstream::new().accepts(&text), "{}", text);
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC{0,40}") {
            let _ = parse(&text, Hosts::WithIpv6);
        }
    }

    #[test]
    fn the_refusals_are_upstreams() {
        let hex = "ab".repeat(32);
        let long = "a".repeat(256);
        for (text, expected) in [
            ("", "invalid reference format"),
            (
                &hex,
                &*format!("invalid repository name ({hex}), cannot specify 64-byte hexadecimal strings"),
            ),
            ("docker://quay.io/foo/bar:1", "invalid reference format"),
            (
                "quay.io/A/b:1",
                "invalid reference format: repository name must be lowercase",
            ),
            (
                "A/b",
                "invalid reference format: repository name must be lowercase",
            ),
            ("quay.io/foo/bar 1", "invalid reference format"),
            ("quay.io/foo/bar:", "invalid reference format"),
            ("quay.io/foo/bar@", "invalid reference format"),
            ("quay.io/foo/bar@sha256:abc", "invalid reference format"),
            ("[::1]:5000/foo", "invalid reference format"),
            ("quay.io/foo:\u{212a}", "repository name must be lowercase"),
            ("quay.io/foo:\u{212a}/", "invalid reference format"),
            (
                &format!("quay.io/{long}"),
                "repository name must not be more than 255 characters",
            ),
            (
                &format!("quay.io/foo@sha256:{}", "a".repeat(63)),
                "invalid checksum digest length",
            ),
            (
                &format!("quay.io/foo@sha256:{}", "A".repeat(64)),
                "invalid checksum digest format",
            ),
            (
                &format!("quay.io/foo@SHA256:{}", "a".repeat(64)),
                "invalid reference format: repository name must be lowercase",
            ),
            (
                &format!("quay.io/foo:1@sha256:{}", "A".repeat(64)),
                "invalid checksum digest format",
            ),
            (
                &format!("quay.io/foo@md5:{}", "a".repeat(32)),
                "unsupported digest algorithm",
            ),
            (
                &format!("quay.io/foo:1@MD5:{}", "a".repeat(32)),
                "invalid checksum digest format",
            ),
        ] {
            assert_eq!(error(text).as_deref(), Some(expected), "{text}");
        }
    }
}
