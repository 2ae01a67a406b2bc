//! Mail and web addresses, as the validator accepts them that Helm lints with.

use std::sync::LazyLock;

use regex::Regex;

use crate::go_url::Url;

/// The longest address of a page, in characters; and the shortest, in bytes.
const URL_LENGTHS: (usize, usize) = (2083, 3);

/// Letters beyond ASCII that both kinds of addresses may have.
const OTHER: &str = r"\x{00A0}-\x{D7FF}\x{F900}-\x{FDCF}\x{FDF0}-\x{FFEF}";

static EMAIL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let word = format!(r"[a-zA-Z0-9!#$%&'*+\-/=?^_`{{|}}~{OTHER}]+");
    let space = r"(?:(?:[ \t]*\r\n)?[ \t]+)?";
    let quoted = format!(
        r"\x22(?:{space}(?:[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]|\x21|[\x23-\x5b]|[\x5d-\x7e]|[{OTHER}]|\(?:[\x01-\x09\x0b\x0c\x0d-\x7f]|[{OTHER}]))*{space}\x22"
    )
    .replace(r"\(?:[", r"\([");
    let letter = format!("a-zA-Z{OTHER}");
    let label = format!(r"(?:[{letter}0-9]|[{letter}0-9][{letter}0-9\-._~]*[{letter}0-9])");
    let top = format!(r"(?:[{letter}]|[{letter}][{letter}0-9\-_~]*[{letter}])");
    Regex::new(&format!(
        r"^(?:{word}(?:\.{word})*|{quoted})@(?:{label}\.)+{top}\.?$"
    ))
    .ok()
});

static URL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let scheme = r"(?:(?:ftp|tcp|udp|wss?|https?)://)";
    let user = r"(?:[^\t\n\x0C\r ]+(?::[^\t\n\x0C\r ]*)?@)";
    let path = r"(?:[/?#][^\t\n\x0C\r ]*)";
    let port = r"(?::[0-9]{1,5})";
    let octet = r"(?:[0-9]{1,2}|1[0-9][0-9]|2[0-4][0-9]|25[0-5])";
    let ipv4 = format!(
        r"(?:[1-9][0-9]?|1[0-9][0-9]|2[01][0-9]|22[0-3]|24[0-9]|25[0-5])(?:\.{octet}){{2}}(?:\.(?:[0-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|25[0-5]))"
    );
    let ipv6 = r"\[[0-9a-fA-F:.%]*:[0-9a-zA-Z:.%]*\]";
    let subdomain = r"(?:(?:www\.)|(?:[a-zA-Z0-9]+(?:[-_.]?[a-zA-Z0-9])*[a-zA-Z0-9]\.[a-zA-Z0-9]+))";
    let letter = r"a-zA-Z\x{00a1}-\x{ffff}";
    let host = format!(
        r"(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9\-_]+)?[a-zA-Z0-9](?:[-.][a-zA-Z0-9]+)*)|{subdomain}?)?(?:(?:[{letter}0-9]+-?-?)*[{letter}0-9]+)(?:\.[{letter}]{{1,}})?"
    );
    Regex::new(&format!(
        r"^{scheme}?{user}?(?:{ipv4}|{ipv6}|{host})\.?{port}?{path}?$"
    ))
    .ok()
});

/// Tells whether text is a mail address with a domain.
pub(super) fn is_email(text: &str) -> bool {
    EMAIL.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Tells whether text is the address of a page; the scheme may be missing.
pub(super) fn is_url(text: &str) -> bool {
    let (most, least) = URL_LENGTHS;
    if text.chars().count() >= most || text.len() <= least || text.starts_with('.') {
        return false;
    }
    // A colon without a scheme is taken for that of a port.
    let with_scheme;
    let address = if text.contains(':') && !text.contains("://") {
        with_scheme = format!("http://{text}");
        &with_scheme
    } else {
        text
    };
    let Ok(url) = Url::parse(address) else {
        return false;
    };
    if url.host.starts_with(b".") || url.host.is_empty() && !url.path.is_empty() && !url.path.contains(&b'.')
    {
        return false;
    }
    URL.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Tells whether text is an address with a scheme.
pub(super) fn is_request_url(text: &str) -> bool {
    Url::parse_request(text).is_ok_and(|url| !url.scheme.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_compile() {
        assert!(EMAIL.is_some() && URL.is_some());
    }

    #[test]
    fn addresses_are_told_from_other_text() {
        for address in ["a@b.co", "first.last+tag@sub.example.org", "ü@example.com"] {
            assert!(is_email(address), "{address}");
        }
        for text in ["a", "a@b", "a@@b.co", "a b@c.de", "@b.co", "a@b.c1"] {
            assert!(!is_email(text), "{text}");
        }
        for address in [
            "https://example.com",
            "example.com",
            "http://localhost:8080/x?y#z",
            "http://1.2.3.4",
            "a.io:80",
        ] {
            assert!(is_url(address), "{address}");
        }
        for text in ["http://", "foo", ".com", "x y.com", "http://a b", "mailto:x@y.z "] {
            assert!(!is_url(text), "{text}");
        }
        assert!(is_request_url("https://x/y") && is_request_url("data:image/png;base64,AA"));
        assert!(!is_request_url("x/y") && !is_request_url("/x") && !is_request_url(""));
    }
}
