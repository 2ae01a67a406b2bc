//! Addresses of machines, as Go's `net` reads them.

use std::net::Ipv6Addr;

/// Reads a decimal number of at most `maximum`; leading zeros are allowed, signs are not.
fn small_number(text: &str, maximum: u32) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    text.bytes().try_fold(0u32, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u32::from(byte - b'0'))?;
        let number = number * 10 + digit;
        (number <= maximum).then_some(number)
    })
}

/// Reads four decimal numbers, with the leading zeros that Go once allowed.
fn ipv4(text: &str) -> Option<[u32; 4]> {
    let mut groups = text.split('.').map(|group| small_number(group, 255));
    let address = [groups.next()??, groups.next()??, groups.next()??, groups.next()??];
    groups.next().is_none().then_some(address)
}

/// Reads an IPv6 address whose last two groups may be an IPv4 address with leading zeros.
fn is_sloppy_ipv6(text: &str) -> bool {
    let Some((front, tail)) = text.rsplit_once(':') else {
        return false;
    };
    if !tail.contains('.') {
        return text.parse::<Ipv6Addr>().is_ok();
    }
    let Some([a, b, c, d]) = ipv4(tail) else {
        return false;
    };
    format!("{front}:{:x}:{:x}", a << 8 | b, c << 8 | d)
        .parse::<Ipv6Addr>()
        .is_ok()
}

/// Which of the two stands first decides how an address is read.
fn is_ip(text: &str) -> bool {
    match text.find(['.', ':']) {
        Some(place) if text.as_bytes().get(place) == Some(&b'.') => ipv4(text).is_some(),
        Some(_) => is_sloppy_ipv6(text),
        None => false,
    }
}

/// An IPv6 address that ends in an IPv4 address counts.
pub(super) fn is_ipv4(text: &str) -> bool {
    text.contains('.') && is_ip(text)
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.contains(':') && text.parse::<Ipv6Addr>().is_ok()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    if ipv4(address).is_some() {
        small_number(bits, 32).is_some()
    } else {
        is_sloppy_ipv6(address) && small_number(bits, 128).is_some()
    }
}

/// Addresses of 6, 8 and 20 bytes: pairs of digits between colons or dashes, or fours between dots.
pub(super) fn is_mac(text: &str) -> bool {
    let (separator, digits) = match text.as_bytes() {
        [_, _, separator @ (b':' | b'-'), ..] => (*separator, 2),
        [_, _, _, _, b'.', ..] => (b'.', 4),
        _ => return false,
    };
    let mut bytes = 0;
    for group in text.as_bytes().split(|byte| *byte == separator) {
        if group.len() != digits || !group.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        bytes += digits / 2;
    }
    matches!(bytes, 6 | 8 | 20)
}
