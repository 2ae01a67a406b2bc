//! Requests that hold only for some versions of what they ask for, evaluated as Go's file server does.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE};

use crate::encoding::Encoding;

/// Which version of a catalog is served.
#[derive(Debug, Clone)]
pub(super) struct Version {
    /// The digest of its image.
    pub(super) digest: String,
    /// When it was unpacked, in whole seconds.
    pub(super) modified: SystemTime,
}

/// What the conditions of a request come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// They hold.
    Holds,
    /// The client has this version already.
    NotModified,
    /// The client wants another version.
    Failed,
    /// A date isn't one.
    Malformed,
}

impl Version {
    /// The version's tag. Each form of the same content has its own, because their bytes differ.
    pub(super) fn tag(&self, encoding: Option<Encoding>) -> String {
        match encoding {
            None => format!("\"{}\"", self.digest),
            Some(encoding) => format!("\"{}-{}\"", self.digest, encoding.token()),
        }
    }

    /// The date of the version as HTTP writes it.
    pub(super) fn date(&self) -> String {
        httpdate::fmt_http_date(self.modified)
    }

    fn is_tagged(&self, tag: &str) -> bool {
        tag == self.tag(None)
            || Encoding::ALL
                .iter()
                .any(|encoding| tag == self.tag(Some(*encoding)))
    }

    /// Evaluates the conditions in the order of RFC 9110. A date that isn't one is ignored, unless it is to be refused.
    pub(super) fn check(&self, headers: &HeaderMap, refuses_dates: bool) -> Verdict {
        let text = |name| {
            headers
                .get(name)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
        };
        let if_match = text(IF_MATCH);
        let may_go_on = if if_match.is_empty() {
            httpdate::parse_http_date(text(IF_UNMODIFIED_SINCE)).map_or(true, |date| self.modified <= date)
        } else {
            any_tag(if_match, |tag| tag == "*" || self.is_tagged(tag))
        };
        if !may_go_on {
            return Verdict::Failed;
        }
        let if_none_match = text(IF_NONE_MATCH);
        if !if_none_match.is_empty() {
            let has_it = any_tag(if_none_match, |tag| {
                tag == "*" || self.is_tagged(tag.strip_prefix("W/").unwrap_or(tag))
            });
            return if has_it {
                Verdict::NotModified
            } else {
                Verdict::Holds
            };
        }
        let since = text(IF_MODIFIED_SINCE);
        match httpdate::parse_http_date(since) {
            _ if since.is_empty() => Verdict::Holds,
            Ok(date) if self.modified <= date => Verdict::NotModified,
            Err(_) if refuses_dates => Verdict::Malformed,
            Ok(_) | Err(_) => Verdict::Holds,
        }
    }

    /// Whether a request for ranges means ranges of this version.
    pub(super) fn allows_ranges(&self, headers: &HeaderMap) -> bool {
        let condition = headers.get(IF_RANGE).and_then(|value| value.to_str().ok());
        match condition.filter(|condition| !condition.is_empty()) {
            None => true,
            // Ranges are always cut from the content as it is, so that only its own tag counts.
            Some(tag) if tag.starts_with('"') || tag.starts_with("W/") => tag == self.tag(None),
            Some(date) => httpdate::parse_http_date(date).is_ok_and(|date| date == self.modified),
        }
    }
}

/// Brings a moment to whole seconds, which is all that HTTP's dates have.
pub(super) fn whole_seconds(seconds: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

/// Whether one of the tags in a list fulfils a condition. The list ends where it stops being one.
fn any_tag(list: &str, fulfils: impl Fn(&str) -> bool) -> bool {
    let mut rest = list;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n', ',']);
        if rest.starts_with('*') {
            return fulfils("*");
        }
        let Some(length) = tag_length(rest) else {
            return false;
        };
        let (tag, after) = rest.split_at(length);
        if fulfils(tag) {
            return true;
        }
        rest = after;
    }
}

/// How long the tag at the beginning of a text is, if there is one.
fn tag_length(text: &str) -> Option<usize> {
    let opened = text.strip_prefix("W/").unwrap_or(text).strip_prefix('"')?;
    let end = opened.find('"')?;
    let is_valid = |byte: u8| byte == 0x21 || (0x23..=0x7e).contains(&byte) || byte >= 0x80;
    let inner = opened.get(..end)?;
    inner
        .bytes()
        .all(is_valid)
        .then(|| text.len() - opened.len() + end + 1)
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;

    fn version() -> Version {
        Version {
            digest: "sha256:ab".to_owned(),
            modified: whole_seconds(1_000_000_000),
        }
    }

    fn verdict(name: HeaderName, value: &str) -> Verdict {
        let headers = HeaderMap::from_iter([(name, value.parse().expect("a value"))]);
        version().check(&headers, false)
    }

    #[test]
    fn tags_decide_before_dates() {
        for (name, value, expected) in [
            (IF_NONE_MATCH, "\"sha256:ab\"", Verdict::NotModified),
            (IF_NONE_MATCH, "W/\"sha256:ab\"", Verdict::NotModified),
            (IF_NONE_MATCH, "\"x\", \"sha256:ab-gzip\"", Verdict::NotModified),
            (IF_NONE_MATCH, "*", Verdict::NotModified),
            (IF_NONE_MATCH, "\"x\"", Verdict::Holds),
            (IF_NONE_MATCH, "nonsense", Verdict::Holds),
            (IF_MATCH, "\"sha256:ab\"", Verdict::Holds),
            (IF_MATCH, "W/\"sha256:ab\"", Verdict::Failed),
            (IF_MATCH, "*", Verdict::Holds),
            (IF_MATCH, "\"x\"", Verdict::Failed),
            (
                IF_MODIFIED_SINCE,
                "Sun, 09 Sep 2001 01:46:40 GMT",
                Verdict::NotModified,
            ),
            (IF_MODIFIED_SINCE, "Sun, 09 Sep 2001 01:46:39 GMT", Verdict::Holds),
            (IF_MODIFIED_SINCE, "yesterday", Verdict::Holds),
            (
                IF_UNMODIFIED_SINCE,
                "Sun, 09 Sep 2001 01:46:40 GMT",
                Verdict::Holds,
            ),
            (
                IF_UNMODIFIED_SINCE,
                "Sun, 09 Sep 2001 01:46:39 GMT",
                Verdict::Failed,
            ),
            (IF_UNMODIFIED_SINCE, "yesterday", Verdict::Holds),
        ] {
            assert_eq!(verdict(name.clone(), value), expected, "{name}: {value}");
        }
    }

    #[test]
    fn ranges_are_of_the_version_that_was_meant() {
        let allows = |value: &str| {
            let headers = HeaderMap::from_iter([(IF_RANGE, value.parse().expect("a value"))]);
            version().allows_ranges(&headers)
        };
        assert!(version().allows_ranges(&HeaderMap::new()));
        assert!(allows("\"sha256:ab\"") && allows("Sun, 09 Sep 2001 01:46:40 GMT"));
        assert!(!allows("\"sha256:ab-gzip\"") && !allows("W/\"sha256:ab\"") && !allows("\"x\""));
        assert!(!allows("Sun, 09 Sep 2001 01:46:41 GMT") && !allows("yesterday"));
    }
}
