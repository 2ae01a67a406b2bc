//! Addresses of hosts as Go's `net/netip` reads them, with its errors.

use gotemplate::format::quoted;

/// What is known of an address that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// Whether it is one of IPv4.
    pub(super) is_four: bool,
    /// Whether it names a network interface, as in `fe80::1%eth0`.
    pub(super) has_zone: bool,
}

/// What is wrong, and the rest of the text from where it is wrong.
struct Fault<'a> {
    message: &'static str,
    rest: &'a [u8],
}

fn fault<'a, T>(message: &'static str, rest: &'a [u8]) -> Result<T, Fault<'a>> {
    Err(Fault { message, rest })
}

impl Address {
    /// Reads an address of either family.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let bytes = text.as_bytes();
        let first = bytes.iter().find(|byte| matches!(byte, b'.' | b':' | b'%'));
        let read = match first {
            Some(b'.') => read_four(bytes).map(|()| false),
            Some(b':') => read_sixteen(bytes),
            Some(_) => fault("missing IPv6 address", &[]),
            None => fault("unable to parse IP", &[]),
        };
        match read {
            Ok(has_zone) => Ok(Self {
                is_four: first == Some(&b'.'),
                has_zone,
            }),
            Err(fault) => {
                let at = if fault.rest.is_empty() {
                    String::new()
                } else {
                    format!(" (at {})", quoted(fault.rest))
                };
                Err(format!("ParseAddr({}): {}{at}", quoted(text), fault.message))
            }
        }
    }
}

/// Reads the four numbers of an IPv4 address.
fn read_four(text: &[u8]) -> Result<(), Fault<'_>> {
    let (mut value, mut digits, mut fields) = (0_u32, 0, 0);
    for (index, byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return fault("IPv4 field has octet with leading zero", &[]);
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return fault("IPv4 field has value >255", &[]);
                }
            }
            b'.' => {
                if index == 0 || index == text.len() - 1 || text[index - 1] == b'.' {
                    return fault("IPv4 field must have at least one digit", &text[index..]);
                }
                if fields == 3 {
                    return fault("IPv4 address too long", &[]);
                }
                (value, digits) = (0, 0);
                fields += 1;
            }
            _ => return fault("unexpected character", &text[index..]),
        }
    }
    if fields < 3 {
        return fault("IPv4 address too short", &[]);
    }
    Ok(())
}

/// Reads the groups of an IPv6 address; tells whether it has a zone.
fn read_sixteen(text: &[u8]) -> Result<bool, Fault<'_>> {
    let (mut rest, zone) = match text.iter().position(|byte| *byte == b'%') {
        Some(percent) => (&text[..percent], Some(&text[percent + 1..])),
        None => (text, None),
    };
    if zone.is_some_and(<[u8]>::is_empty) {
        return fault("zone must be a non-empty string", &[]);
    }
    let mut has_ellipsis = false;
    if let Some(after) = rest.strip_prefix(b"::") {
        has_ellipsis = true;
        rest = after;
        if rest.is_empty() {
            return Ok(zone.is_some());
        }
    }
    let mut bytes = 0;
    while bytes < 16 {
        let digits = group_length(rest)?;
        if rest.get(digits) == Some(&b'.') {
            if !has_ellipsis && bytes != 12 {
                return fault(
                    "embedded IPv4 address must replace the final 2 fields of the address",
                    rest,
                );
            }
            if bytes + 4 > 16 {
                return fault(
                    "too many hex fields to fit an embedded IPv4 at the end of the address",
                    rest,
                );
            }
            read_four(rest)?;
            rest = &[];
            bytes += 4;
            break;
        }
        bytes += 2;
        rest = &rest[digits..];
        match rest {
            [] => break,
            [b':'] => return fault("colon must be followed by more characters", rest),
            [b':', b':', after @ ..] => {
                if has_ellipsis {
                    return fault("multiple :: in address", &rest[1..]);
                }
                has_ellipsis = true;
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
            [b':', after @ ..] => rest = after,
            _ => return fault("unexpected character, want colon", rest),
        }
    }
    if !rest.is_empty() {
        return fault("trailing garbage after address", rest);
    }
    match (bytes < 16, has_ellipsis) {
        (true, false) => fault("address string too short", &[]),
        (false, true) => fault("the :: must expand to at least one field of zeros", &[]),
        _ => Ok(zone.is_some()),
    }
}

/// The number of digits of the group at the start.
fn group_length(text: &[u8]) -> Result<usize, Fault<'_>> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    match digits {
        0 => fault("each colon-separated field must have at least one digit", text),
        1..=4 => Ok(digits),
        _ => fault("each group must have 4 or less digits", text),
    }
}
