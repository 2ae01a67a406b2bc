//! Addresses of hosts and networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use gotemplate::format::quoted;

use super::Function;
use crate::value::{Failure, Outcome, Value};

pub(super) fn overload(id: &str) -> Option<Function> {
    Some(match id {
        "string_to_ip" => |arguments| Ok(Value::Ip(parse(text(arguments)?).map_err(Failure::new)?)),
        "is_ip" => |arguments| Ok(Value::Bool(parse(text(arguments)?).is_ok())),
        "ip_is_canonical" => |arguments| {
            let text = text(arguments)?;
            Ok(Value::Bool(
                parse(text).map_err(Failure::new)?.to_string() == text,
            ))
        },
        "ip_family" => |arguments| match arguments {
            [Value::Ip(address)] => Ok(Value::Int(if address.is_ipv4() { 4 } else { 6 })),
            _ => Err(Failure::no_such_overload()),
        },
        "ip_is_unspecified" => |arguments| test(arguments, IpAddr::is_unspecified),
        "ip_is_loopback" => |arguments| test(arguments, IpAddr::is_loopback),
        "ip_is_link_local_multicast" => |arguments| test(arguments, is_link_local_multicast),
        "ip_is_link_local_unicast" => |arguments| test(arguments, is_link_local_unicast),
        "ip_is_global_unicast" => |arguments| test(arguments, is_global_unicast),
        "string_to_cidr" => |arguments| cidr(text(arguments)?),
        "is_cidr" => |arguments| Ok(Value::Bool(parse_cidr(text(arguments)?).is_ok())),
        "cidr_contains_ip_string" | "cidr_contains_ip_ip" => contains_ip,
        "cidr_contains_cidr_string" | "cidr_contains_cidr" => contains_cidr,
        "cidr_ip" => |arguments| match arguments {
            [Value::Cidr { address, .. }] => Ok(Value::Ip(*address)),
            _ => Err(Failure::no_such_overload()),
        },
        "cidr_prefix_length" => |arguments| match arguments {
            [Value::Cidr { bits, .. }] => Ok(Value::Int(i64::from(*bits))),
            _ => Err(Failure::no_such_overload()),
        },
        "cidr_masked" => |arguments| match arguments {
            [Value::Cidr { address, bits }] => Ok(Value::Cidr {
                address: masked(*address, *bits),
                bits: *bits,
            }),
            _ => Err(Failure::no_such_overload()),
        },
        _ => return None,
    })
}

fn text<'b>(arguments: &'b [Value<'_>]) -> Result<&'b str, Failure> {
    match arguments {
        [Value::String(text)] => Ok(text),
        _ => Err(Failure::no_such_overload()),
    }
}

fn test<'a>(arguments: &[Value<'a>], holds: fn(&IpAddr) -> bool) -> Outcome<'a> {
    match arguments {
        [Value::Ip(address)] => Ok(Value::Bool(holds(address))),
        _ => Err(Failure::no_such_overload()),
    }
}

fn is_link_local_multicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => matches!(address.octets(), [224, 0, 0, _]),
        IpAddr::V6(address) => {
            let [first, second, ..] = address.octets();
            first == 0xff && second & 0x0f == 0x02
        }
    }
}

fn is_link_local_unicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

fn is_global_unicast(address: &IpAddr) -> bool {
    let broadcast = *address == IpAddr::V4(Ipv4Addr::BROADCAST);
    !(broadcast
        || address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || is_link_local_unicast(address))
}

fn contains_ip<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::Cidr { address, bits }, other] = arguments else {
        return Err(Failure::no_such_overload());
    };
    let other = match other {
        Value::Ip(other) => *other,
        Value::String(text) => match parse(text) {
            Ok(other) => other,
            // Upstream loses the cause here.
            Err(_) => return Err(Failure::no_such_overload()),
        },
        _ => return Err(Failure::no_such_overload()),
    };
    Ok(Value::Bool(in_network(*address, *bits, other)))
}

fn contains_cidr<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::Cidr { address, bits }, other] = arguments else {
        return Err(Failure::no_such_overload());
    };
    let (other, other_bits) = match other {
        Value::Cidr { address, bits } => (*address, *bits),
        Value::String(text) => match cidr(text)? {
            Value::Cidr { address, bits } => (address, bits),
            _ => return Err(Failure::no_such_overload()),
        },
        _ => return Err(Failure::no_such_overload()),
    };
    Ok(Value::Bool(
        *bits <= other_bits && in_network(*address, *bits, other),
    ))
}

fn in_network(network: IpAddr, bits: u8, address: IpAddr) -> bool {
    network.is_ipv4() == address.is_ipv4() && masked(network, bits) == masked(address, bits)
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
        }
    }
}

fn cidr<'a>(text: &str) -> Outcome<'a> {
    match parse_cidr(text) {
        Ok((address, bits)) => Ok(Value::Cidr { address, bits }),
        Err(cause) => Err(Failure::new(format!(
            "network address parse error during conversion from string: {cause}"
        ))),
    }
}

fn parse_cidr(text: &str) -> Result<(IpAddr, u8), String> {
    let wrong = |cause: &str| {
        format!(
            "network address parse error during conversion from string: netip.ParsePrefix({}): {cause}",
            quoted(text)
        )
    };
    let (address, bits_text) = text.rsplit_once('/').ok_or_else(|| wrong("no '/'"))?;
    let (address, zone) = read(address).map_err(|cause| wrong(&cause))?;
    if zone {
        return Err(wrong("IPv6 zones cannot be present in a prefix"));
    }
    let bad = || wrong(&format!("bad bits after slash: {}", quoted(bits_text)));
    if bits_text.len() > 1 && !bits_text.starts_with(|first: char| ('1'..='9').contains(&first)) {
        return Err(bad());
    }
    let bits = gotemplate::format::parse_int(bits_text, 10).map_err(|_| bad())?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    if !(0..=most).contains(&bits) {
        return Err(wrong("prefix length out of range"));
    }
    if is_mapped(address) {
        return Err(format!(
            "IPv4-mapped IPv6 address {} is not allowed",
            quoted(text)
        ));
    }
    Ok((address, bits as u8))
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

fn parse(text: &str) -> Result<IpAddr, String> {
    let (address, zone) = read(text).map_err(|cause| {
        format!(
            "IP Address {} parse error during conversion from string: {cause}",
            quoted(text)
        )
    })?;
    if zone {
        return Err(format!(
            "IP address {} with zone value is not allowed",
            quoted(text)
        ));
    }
    if is_mapped(address) {
        return Err(format!(
            "IPv4-mapped IPv6 address {} is not allowed",
            quoted(text)
        ));
    }
    Ok(address)
}

/// Reads an address with the errors of Go's `netip`, and says whether it has a zone.
fn read(text: &str) -> Result<(IpAddr, bool), String> {
    let wrong = |cause: &str| format!("ParseAddr({}): {cause}", quoted(text));
    let wrong_at = |cause: &str, at: &str| {
        if at.is_empty() {
            wrong(cause)
        } else {
            format!("{} (at {})", wrong(cause), quoted(at))
        }
    };
    match text.bytes().find(|byte| matches!(byte, b'.' | b':' | b'%')) {
        Some(b'.') => {
            let fields = read_v4(text).map_err(|(cause, at)| wrong_at(cause, at))?;
            Ok((IpAddr::V4(Ipv4Addr::from(fields)), false))
        }
        Some(b':') => {
            let (main, zone) = match text.split_once('%') {
                Some((_, "")) => return Err(wrong("zone must be a non-empty string")),
                Some((main, _)) => (main, true),
                None => (text, false),
            };
            let address = read_v6(main).map_err(|(cause, at)| wrong_at(cause, at))?;
            Ok((IpAddr::V6(Ipv6Addr::from(address)), zone))
        }
        Some(_) => Err(wrong("missing IPv6 address")),
        None => Err(wrong("unable to parse IP")),
    }
}

type Wrong<'t> = (&'static str, &'t str);

fn read_v4(text: &str) -> Result<[u8; 4], Wrong<'_>> {
    let mut fields = [0_u8; 4];
    let (mut value, mut digits, mut position) = (0_u32, 0, 0);
    let bytes = text.as_bytes();
    for (index, byte) in bytes.iter().enumerate() {
        let at = text.get(index..).unwrap_or_default();
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(("IPv4 field has octet with leading zero", ""));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(("IPv4 field has value >255", ""));
                }
            }
            b'.' => {
                let after_dot = index
                    .checked_sub(1)
                    .is_none_or(|before| bytes.get(before) == Some(&b'.'));
                if after_dot || index + 1 == bytes.len() {
                    return Err(("IPv4 field must have at least one digit", at));
                }
                if position == 3 {
                    return Err(("IPv4 address too long", ""));
                }
                if let Some(field) = fields.get_mut(position) {
                    *field = value as u8;
                }
                position += 1;
                (value, digits) = (0, 0);
            }
            _ => return Err(("unexpected character", at)),
        }
    }
    if position < 3 {
        return Err(("IPv4 address too short", ""));
    }
    fields[3] = value as u8;
    Ok(fields)
}

fn read_v6(text: &str) -> Result<[u8; 16], Wrong<'_>> {
    let mut bytes: Vec<u8> = Vec::with_capacity(16);
    let mut gap = None;
    let mut left = text;
    if let Some(rest) = left.strip_prefix("::") {
        gap = Some(0);
        left = rest;
        if left.is_empty() {
            return Ok([0; 16]);
        }
    }
    while bytes.len() < 16 {
        let digits = left.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return Err(("each group must have 4 or less digits", left));
        }
        if digits == 0 {
            return Err(("each colon-separated field must have at least one digit", left));
        }
        let (group, rest) = left.split_at_checked(digits).unwrap_or((left, ""));
        if rest.starts_with('.') {
            if gap.is_none() && bytes.len() != 12 {
                return Err((
                    "embedded IPv4 address must replace the final 2 fields of the address",
                    left,
                ));
            }
            if bytes.len() + 4 > 16 {
                return Err((
                    "too many hex fields to fit an embedded IPv4 at the end of the address",
                    left,
                ));
            }
            bytes.extend(read_v4(left)?);
            left = "";
            break;
        }
        let value = u16::from_str_radix(group, 16).unwrap_or_default();
        bytes.extend(value.to_be_bytes());
        left = rest;
        if left.is_empty() {
            break;
        }
        let Some(rest) = left.strip_prefix(':') else {
            return Err(("unexpected character, want colon", left));
        };
        if rest.is_empty() {
            return Err(("colon must be followed by more characters", left));
        }
        left = rest;
        if let Some(rest) = left.strip_prefix(':') {
            if gap.is_some() {
                return Err(("multiple :: in address", left));
            }
            gap = Some(bytes.len());
            left = rest;
            if left.is_empty() {
                break;
            }
        }
    }
    if !left.is_empty() {
        return Err(("trailing garbage after address", left));
    }
    let missing = 16 - bytes.len().min(16);
    match (missing, gap) {
        (0, Some(_)) => return Err(("the :: must expand to at least one field of zeros", "")),
        (0, None) => {}
        (_, None) => return Err(("address string too short", "")),
        (missing, Some(gap)) => {
            bytes.splice(gap..gap, std::iter::repeat_n(0, missing));
        }
    }
    let mut address = [0; 16];
    for (to, from) in address.iter_mut().zip(bytes) {
        *to = from;
    }
    Ok(address)
}
