//! The formats that a custom resource's schema may ask of text, and what text has them.

mod addresses;
mod numbers_of_people;
mod times;

use std::sync::LazyLock;

use chart::go_expression::Expression;
use chart::go_url::Url;

/// The longest name that `k8s-long-name` allows.
const LONG_NAME_BYTES: usize = 253;
/// The longest name that `k8s-short-name` allows, and the longest label of a host name.
const LABEL_BYTES: usize = 63;
/// The longest host name.
const HOST_NAME_BYTES: usize = 255;
/// The digits of a BSON object ID.
const OBJECT_ID_DIGITS: usize = 24;

/// Decides whether text has a format.
pub type Check = fn(&str) -> bool;

/// Returns how text is checked against a format of strings; `None` for formats that aren't enforced.
///
/// Dashes don't count: `date-time` and `datetime` are one.
pub fn check(format: &str) -> Option<Check> {
    // The names are short; only those with a dash need a copy.
    if format.contains('-') {
        return check_plain(&format.replace('-', ""));
    }
    check_plain(format)
}

fn check_plain(format: &str) -> Option<Check> {
    Some(match format {
        "bsonobjectid" => |text| text.len() == OBJECT_ID_DIGITS && is_hexadecimal(text),
        "uri" => |text| Url::parse_request(text).is_ok(),
        "email" => |text| bundle::validation::mail_address::fault(text).is_none(),
        "hostname" => is_host_name,
        "ipv4" => addresses::is_ipv4,
        "ipv6" => addresses::is_ipv6,
        "cidr" => addresses::is_cidr,
        "mac" => addresses::is_mac,
        "uuid" => |text| is_uuid(text, None),
        "uuid3" => |text| is_uuid(text, Some('3')),
        "uuid4" => |text| is_uuid(text, Some('4')),
        "uuid5" => |text| is_uuid(text, Some('5')),
        "isbn" => |text| numbers_of_people::is_isbn10(text) || numbers_of_people::is_isbn13(text),
        "isbn10" => numbers_of_people::is_isbn10,
        "isbn13" => numbers_of_people::is_isbn13,
        "creditcard" => numbers_of_people::is_credit_card,
        "ssn" => numbers_of_people::is_social_security_number,
        "hexcolor" => is_hexadecimal_color,
        "rgbcolor" => |text| matches(&RGB_COLOR, text),
        "byte" => is_base64,
        "password" => |_| true,
        "date" => times::is_date,
        "duration" => times::is_duration,
        "datetime" => times::is_date_time,
        "k8sshortname" => |text| text.len() <= LABEL_BYTES && is_short_name(text),
        "k8slongname" => |text| text.len() <= LONG_NAME_BYTES && text.split('.').all(is_short_name),
        _ => return None,
    })
}

/// Returns whether text matches a regular expression of these files; a test compiles each.
fn matches(expression: &LazyLock<Option<Expression>>, text: &str) -> bool {
    expression
        .as_ref()
        .is_some_and(|expression| expression.is_match(text.as_bytes()))
}

fn constant(expression: &str) -> Option<Expression> {
    Expression::new(expression.as_bytes()).ok()
}

static RGB_COLOR: LazyLock<Option<Expression>> = LazyLock::new(|| {
    let part = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*";
    constant(&format!(r"^rgb\({part},{part},{part}\)$"))
});

static HOST_NAME: LazyLock<Option<Expression>> = LazyLock::new(|| {
    let sign = r"a-zA-Z0-9\p{S}\p{L}";
    constant(&format!(
        r"^([{sign}]((-?[{sign}]{{0,62}})?)|([{sign}](([{sign}\-]{{0,61}}[{sign}])?)\.){{1,}}[a-zA-Z\p{{L}}]{{2,63}})$"
    ))
});

fn is_host_name(text: &str) -> bool {
    text.len() <= HOST_NAME_BYTES
        && text.split('.').all(|label| label.len() <= LABEL_BYTES)
        && matches(&HOST_NAME, text)
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_hexadecimal_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && is_hexadecimal(digits)
}

/// The dashes may be left out, each by itself.
fn is_uuid(text: &str, version: Option<char>) -> bool {
    let mut rest = text;
    for (place, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if place > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(length) else {
            return false;
        };
        if !is_hexadecimal(group) {
            return false;
        }
        let fits = match (place, version) {
            (2, Some(version)) => group.starts_with(version),
            (3, Some('4' | '5')) => group.starts_with(['8', '9', 'a', 'b', 'A', 'B']),
            _ => true,
        };
        if !fits {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

/// Empty text isn't base64 here, nor is text without its padding.
fn is_base64(text: &str) -> bool {
    let length = text.len();
    if length == 0 || !length.is_multiple_of(4) {
        return false;
    }
    let digits = text.trim_end_matches('=');
    length - digits.len() <= 2
        && digits
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

fn is_short_name(text: &str) -> bool {
    let is_sign = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    match text.as_bytes() {
        [] => false,
        [only] => is_sign(only),
        [first, middle @ .., last] => {
            is_sign(first) && is_sign(last) && middle.iter().all(|byte| is_sign(byte) || *byte == b'-')
        }
    }
}

#[cfg(test)]
mod tests;
