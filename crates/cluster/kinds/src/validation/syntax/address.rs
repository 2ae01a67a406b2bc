//! IP addresses and ranges, as Go's lenient parser reads them: numbers may have leading zeros.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::super::report::{Errors, Path};

/// Returns the IPv4 address of four decimal numbers.
fn four_numbers(text: &str) -> Option<Ipv4Addr> {
    let mut numbers = [0_u8; 4];
    let mut parts = text.split('.');
    for number in &mut numbers {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = part
            .trim_start_matches('0')
            .parse()
            .or_else(|_| {
                if part.bytes().all(|byte| byte == b'0') {
                    Ok(0)
                } else {
                    Err(())
                }
            })
            .ok()?;
    }
    parts.next().is_none().then(|| Ipv4Addr::from(numbers))
}

/// Returns the address that a text means.
pub(in super::super) fn parse(text: &str) -> Option<IpAddr> {
    if let Some(address) = four_numbers(text) {
        return Some(IpAddr::V4(address));
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Some(IpAddr::V6(address));
    }
    // An IPv4 address at the end of an IPv6 one may have leading zeros too.
    let (front, last) = text.rsplit_once(':')?;
    let last = four_numbers(last)?;
    format!("{front}:{last}").parse().ok().map(IpAddr::V6)
}

/// Returns whether an address is one of IPv6. IPv4 in IPv6 is IPv4.
pub(in super::super) fn is_six(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(_) => false,
        IpAddr::V6(address) => address.to_ipv4_mapped().is_none(),
    }
}

/// Returns an address in the form that everybody should write.
pub(in super::super) fn canonical(address: IpAddr) -> String {
    match address {
        IpAddr::V6(six) => six
            .to_ipv4_mapped()
            .map_or_else(|| six.to_string(), |four| four.to_string()),
        IpAddr::V4(four) => four.to_string(),
    }
}

/// Returns whether both IPv4 and IPv6 are among the addresses; `None` where one can't be read.
pub(in super::super) fn is_dual_stack<'a>(addresses: impl Iterator<Item = &'a str>) -> Option<bool> {
    let (mut four, mut six) = (false, false);
    for address in addresses {
        if is_six(parse(address)?) {
            six = true;
        } else {
            four = true;
        }
    }
    Some(four && six)
}

const RULE: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

/// Checks an address; one that the object had before may be written in ways that are no longer allowed.
pub(in super::super) fn check<'a>(
    errors: &mut Errors,
    path: &Path<'_>,
    text: &str,
    mut known: impl Iterator<Item = &'a str>,
) -> bool {
    // What is right needn't be looked for in what was there, which may be long; nor what is only counted.
    let mut faults = Errors::default();
    let is_right = read(&mut faults, path, text).is_some();
    if is_right || (!errors.is_full() && known.any(|one| one == text)) {
        return true;
    }
    errors.append(faults.into_faults());
    false
}

fn read(errors: &mut Errors, path: &Path<'_>, text: &str) -> Option<IpAddr> {
    let Some(address) = parse(text) else {
        errors.invalid(path, text, RULE);
        return None;
    };
    if text.parse::<IpAddr>().is_err() {
        errors.invalid(path, text, "must not have leading 0s");
        return None;
    }
    if is_four_in_six(address) {
        errors.invalid(path, text, "must not be an IPv4-mapped IPv6 address");
        return None;
    }
    Some(address)
}

fn is_four_in_six(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(six) if six.to_ipv4_mapped().is_some())
}

/// Checks an address that must be written in its usual form.
pub(in super::super) fn check_strictly(errors: &mut Errors, path: &Path<'_>, text: &str) -> bool {
    let Some(address) = read(errors, path, text) else {
        return false;
    };
    let usual = canonical(address);
    if usual != text {
        errors.invalid(path, text, format!("must be in canonical form (\"{usual}\")"));
    }
    usual == text
}

/// Checks that an address can be that of an endpoint.
pub(in super::super) fn check_endpoint(errors: &mut Errors, path: &Path<'_>, text: &str) {
    let Some(address) = parse(text) else {
        errors.invalid(path, text, "must be a valid IP address");
        return;
    };
    let address = match address {
        IpAddr::V6(six) => six.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    };
    if address.is_unspecified() {
        errors.invalid(path, text, format!("may not be unspecified ({text})"));
    }
    if address.is_loopback() {
        errors.invalid(
            path,
            text,
            "may not be in the loopback range (127.0.0.0/8, ::1/128)",
        );
    }
    let (is_link_local, is_link_local_group) = match address {
        IpAddr::V4(four) => (four.is_link_local(), four.octets().starts_with(&[224, 0, 0])),
        IpAddr::V6(six) => (
            six.is_unicast_link_local(),
            six.segments()
                .first()
                .is_some_and(|first| first & 0xff0f == 0xff02),
        ),
    };
    if is_link_local {
        errors.invalid(
            path,
            text,
            "may not be in the link-local range (169.254.0.0/16, fe80::/10)",
        );
    }
    if is_link_local_group {
        errors.invalid(
            path,
            text,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)",
        );
    }
}

/// A range of addresses.
#[derive(Clone, Copy)]
pub(in super::super) struct Range {
    address: IpAddr,
    /// How many bits all of its addresses share.
    pub(in super::super) prefix: u32,
}

impl Range {
    /// Reads a range such as `10.0.0.0/8`.
    pub(in super::super) fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = text.split_once('/')?;
        let address = parse(address)?;
        if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let prefix: u32 = prefix.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        (prefix <= most).then_some(Self { address, prefix })
    }

    /// Returns whether its addresses are those of IPv6.
    pub(in super::super) fn is_six(&self) -> bool {
        is_six(self.address)
    }

    fn bits(address: IpAddr) -> (u128, u32) {
        match address {
            IpAddr::V4(four) => (u128::from(u32::from(four)), 32),
            IpAddr::V6(six) => (u128::from(six), 128),
        }
    }

    fn is_at_its_start(&self) -> bool {
        let (bits, length) = Self::bits(self.address);
        let rest = length - self.prefix;
        bits.checked_shr(rest)
            .and_then(|front| front.checked_shl(rest))
            .unwrap_or(0)
            == bits
    }

    /// Returns whether another range lies in it, and is smaller.
    pub(in super::super) fn holds(&self, other: &Self) -> bool {
        let ((own, length), (its, its_length)) = (Self::bits(self.address), Self::bits(other.address));
        if length != its_length || self.prefix >= other.prefix {
            return false;
        }
        let shift = length - self.prefix;
        let cut = |bits: u128| bits.checked_shr(shift).unwrap_or(0);
        // The other range counts with its first address, which the shift of the larger range cuts off anyway.
        cut(own) == cut(its)
    }
}

/// Checks a range; one that the object had before may be written in ways that are no longer allowed.
pub(in super::super) fn check_range<'a>(
    errors: &mut Errors,
    path: &Path<'_>,
    text: &str,
    mut known: impl Iterator<Item = &'a str>,
) {
    let mut faults = Errors::default();
    read_range(&mut faults, path, text);
    if !faults.is_empty() && (errors.is_full() || !known.any(|one| one == text)) {
        errors.append(faults.into_faults());
    }
}

fn read_range(errors: &mut Errors, path: &Path<'_>, text: &str) {
    let Some(range) = Range::parse(text) else {
        errors.invalid(
            path,
            text,
            "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        );
        return;
    };
    let (address, prefix) = text.split_once('/').unwrap_or((text, ""));
    if address.parse::<IpAddr>().is_err() || (prefix.len() > 1 && prefix.starts_with('0')) {
        errors.invalid(path, text, "must not have leading 0s in IP or prefix length");
    } else if is_four_in_six(range.address) {
        errors.invalid(path, text, "must not have an IPv4-mapped IPv6 address");
    } else if !range.is_at_its_start() {
        errors.invalid(path, text, "must not have bits set beyond the prefix length");
    }
}
