//! The formats that text may be asked to have.

use std::net::IpAddr;

use super::email::is_address;
use crate::go_expression::Expression;
use crate::go_url::Url;
use crate::time::{Location, RFC3339, Time};

/// Tells whether there is such a format; text of an unknown format is not checked.
pub(super) fn is_known(format: &str) -> bool {
    checker(format).is_some()
}

/// Tells whether text has a format.
pub(super) fn fits(format: &str, text: &str) -> bool {
    checker(format).is_none_or(|check| check(text))
}

fn checker(format: &str) -> Option<fn(&str) -> bool> {
    Some(match format {
        "date" => is_date,
        "time" => is_time,
        "date-time" => |text| is_time(text) || is_date(text) || is_time_like(text, &[RFC3339]),
        "hostname" => is_hostname,
        "email" | "idn-email" => is_address,
        "ipv4" => |text| text.contains('.') && text.parse::<IpAddr>().is_ok(),
        "ipv6" => |text| text.contains(':') && text.parse::<IpAddr>().is_ok(),
        "uri" | "iri" => {
            |text| is_reference(text) && Url::parse(text).is_ok_and(|url| !url.scheme.is_empty())
        }
        "uri-reference" | "iri-reference" => is_reference,
        "uri-template" => is_uri_template,
        "uuid" => is_uuid,
        "regex" => |text| Expression::new(text.as_bytes()).is_ok(),
        "json-pointer" => is_json_pointer,
        "relative-json-pointer" => is_relative_json_pointer,
        _ => return None,
    })
}

/// Tells whether text is a time in one of Go's layouts.
fn is_time_like(text: &str, layouts: &[&str]) -> bool {
    layouts
        .iter()
        .any(|layout| Time::parse(layout.as_bytes(), text.as_bytes(), &Location::Utc).is_ok())
}

fn is_date(text: &str) -> bool {
    is_time_like(text, &["2006-01-02"])
}

fn is_time(text: &str) -> bool {
    is_time_like(text, &["15:04:05", "15:04:05Z07:00"])
}

fn is_hostname(text: &str) -> bool {
    text.len() < 256
        && text.split('.').all(|label| {
            let bytes = label.as_bytes();
            (1..=63).contains(&bytes.len())
                && bytes
                    .iter()
                    .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        })
}

fn is_reference(text: &str) -> bool {
    !text.contains('\\') && Url::parse(text).is_ok()
}

/// A reference whose opening braces are all closed.
fn is_uri_template(text: &str) -> bool {
    if text.contains('\\') {
        return false;
    }
    let Ok(url) = Url::parse(text) else { return false };
    let mut rest = &*String::from_utf8_lossy(&url.path);
    while let Some((_, after)) = rest.split_once('{') {
        let Some((_, closed)) = after.split_once('}') else {
            return false;
        };
        rest = closed;
    }
    true
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let is_hex = |group: &str| {
        group
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12]) && groups.iter().all(|group| is_hex(group))
}

fn is_json_pointer(text: &str) -> bool {
    (text.is_empty() || text.starts_with('/'))
        && text
            .split('~')
            .skip(1)
            .all(|rest| rest.starts_with('0') || rest.starts_with('1'))
}

fn is_relative_json_pointer(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    (number == "0" || !number.is_empty() && !number.starts_with('0'))
        && (rest == "#" || is_json_pointer(rest))
}
