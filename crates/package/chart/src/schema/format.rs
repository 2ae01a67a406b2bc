//! The formats that text may be asked to have.

use std::net::IpAddr;

use super::email::is_address;
use crate::go_expression::Expression;
use crate::go_url::Url;
use crate::lock::days_in_month;

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
        "date-time" => |text| is_time(text) || is_date(text) || is_date_time(text),
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

/// Cuts a number of a fixed or, with `short`, also smaller count of digits off the start.
fn number<'a>(text: &mut &'a str, digits: usize, short: bool) -> Option<u32> {
    let found = text.bytes().take(digits).take_while(u8::is_ascii_digit).count();
    if found == 0 || found < digits && !short {
        return None;
    }
    let (number, rest): (&'a str, &'a str) = text.split_at(found);
    *text = rest;
    number.parse().ok()
}

fn literal(text: &mut &str, expected: char) -> Option<()> {
    *text = text.strip_prefix(expected)?;
    Some(())
}

fn date(text: &mut &str) -> Option<()> {
    let year = number(text, 4, false)?;
    literal(text, '-')?;
    let month = number(text, 2, false)?;
    literal(text, '-')?;
    let day = number(text, 2, false)?;
    ((1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month)).then_some(())
}

/// A time of day; Go takes an hour of one digit, and a fraction of seconds after a point or comma.
fn time_of_day(text: &mut &str) -> Option<()> {
    let hour = number(text, 2, true)?;
    literal(text, ':')?;
    let minute = number(text, 2, false)?;
    literal(text, ':')?;
    let second = number(text, 2, false)?;
    if let Some(rest) = text.strip_prefix(['.', ','])
        && rest.starts_with(|character: char| character.is_ascii_digit())
    {
        *text = rest.trim_start_matches(|character: char| character.is_ascii_digit());
    }
    (hour < 24 && minute < 60 && second < 60).then_some(())
}

fn zone(text: &mut &str) -> Option<()> {
    if let Some(rest) = text.strip_prefix('Z') {
        *text = rest;
        return Some(());
    }
    *text = text.strip_prefix(['+', '-'])?;
    let hours = number(text, 2, false)?;
    literal(text, ':')?;
    let minutes = number(text, 2, false)?;
    (hours <= 24 && minutes <= 60).then_some(())
}

fn is_date(mut text: &str) -> bool {
    date(&mut text).is_some() && text.is_empty()
}

fn is_time(mut text: &str) -> bool {
    time_of_day(&mut text).is_some() && (text.is_empty() || zone(&mut text).is_some() && text.is_empty())
}

fn is_date_time(mut text: &str) -> bool {
    let text = &mut text;
    let parsed = date(text)
        .and_then(|()| literal(text, 'T'))
        .and_then(|()| time_of_day(text))
        .and_then(|()| zone(text));
    parsed.is_some() && text.is_empty()
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
