//! Names of hosts, their addresses, and mail addresses.

use super::address::Address;
use super::{Verdict, quoted_character, refuse, whole_number};

pub(super) fn check_ipv4(text: &str) -> Verdict {
    let groups: Vec<&str> = text.split('.').collect();
    if groups.len() != 4 {
        return refuse("expected four decimals");
    }
    for group in groups {
        if group.len() > 1 && group.starts_with('0') {
            return refuse("leading zeros");
        }
        if !(0..=255).contains(&whole_number(group)?) {
            return refuse("decimal must be between 0 and 255");
        }
    }
    Ok(())
}

pub(super) fn check_ipv6(text: &str) -> Verdict {
    if !text.contains(':') {
        return refuse("missing colon");
    }
    if Address::parse(text)?.has_zone {
        return refuse("zone id is not a part of ipv6 address");
    }
    Ok(())
}

pub(super) fn check_hostname(text: &str) -> Verdict {
    let name = text.strip_suffix('.').unwrap_or(text);
    if name.len() > 253 {
        return refuse("more than 253 characters long");
    }
    for label in name.split('.') {
        if !(1..=63).contains(&label.len()) {
            return refuse("label must be 1 to 63 characters long");
        }
        if label.starts_with('-') {
            return refuse("label starts with hyphen");
        }
        if label.ends_with('-') {
            return refuse("label ends with hyphen");
        }
        let is_allowed = |character: char| character.is_ascii_alphanumeric() || character == '-';
        check_characters(label, is_allowed)?;
    }
    Ok(())
}

fn check_characters(text: &str, is_allowed: impl Fn(char) -> bool) -> Verdict {
    match text.chars().find(|character| !is_allowed(*character)) {
        None => Ok(()),
        Some(other) => Err(format!("invalid character {}", quoted_character(other))),
    }
}

pub(super) fn check_email(text: &str) -> Verdict {
    if text.len() > 254 {
        return refuse("more than 255 characters long");
    }
    let Some((local, domain)) = text.rsplit_once('@') else {
        return refuse("missing @");
    };
    if local.len() > 64 {
        return refuse("local part more than 64 characters long");
    }
    if local.len() > 1 && local.starts_with('"') {
        // The library does not look whether a quote ends it too.
        let inside = &local.as_bytes()[1..local.len() - 1];
        if inside.contains(&b'\\') || inside.contains(&b'"') {
            return refuse("backslash and quote are not allowed within quoted local part");
        }
    } else {
        check_local_part(local)?;
    }
    if let Some(address) = domain
        .strip_prefix('[')
        .and_then(|domain| domain.strip_suffix(']'))
    {
        return match address.strip_prefix("IPv6:") {
            Some(address) => check_ipv6(address).map_err(|error| format!("invalid ipv6 address: {error}")),
            None => check_ipv4(address).map_err(|error| format!("invalid ipv4 address: {error}")),
        };
    }
    check_hostname(domain).map_err(|error| format!("invalid domain: {error}"))
}

fn check_local_part(local: &str) -> Verdict {
    if local.starts_with('.') {
        return refuse("starts with dot");
    }
    if local.ends_with('.') {
        return refuse("ends with dot");
    }
    if local.contains("..") {
        return refuse("consecutive dots");
    }
    let is_allowed =
        |character: char| character.is_ascii_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(character);
    check_characters(local, is_allowed)
}
