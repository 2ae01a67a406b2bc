//! Addresses of documents, as Go's `net/url` reads them.

use gotemplate::format::quoted;

use super::address::Address;
use super::network::check_ipv6;
use super::{Verdict, refuse};
use crate::go_url::{Url, unescape_path};

fn parse(text: &str) -> Result<Url, String> {
    let url = Url::parse(text)?;
    check_host(&url).map_err(|error| {
        let (main, _) = text.split_once('#').unwrap_or((text, ""));
        format!("parse {}: {error}", quoted(main))
    })?;
    let host = String::from_utf8_lossy(url.hostname());
    if host.contains(':') {
        if !url.host.contains(&b'[') || !url.host.contains(&b']') {
            return Err("ipv6 address not enclosed in brackets".to_owned());
        }
        check_ipv6(&host).map_err(|error| format!("invalid ipv6 address: {error}"))?;
    }
    Ok(url)
}

/// What Go refuses since 1.26, with which Helm 4 is built: brackets around anything but an IPv6 address, and more than one
/// colon where pages are.
fn check_host(url: &Url) -> Verdict {
    let host = String::from_utf8_lossy(&url.host);
    match (host.rfind('['), host.rfind(']')) {
        (Some(0), Some(close)) => match Address::parse(&host[1..close]) {
            Ok(address) if address.is_four => refuse("invalid IP-literal"),
            Ok(_) => Ok(()),
            Err(error) => Err(format!("invalid host: {error}")),
        },
        (Some(_), _) => refuse("invalid IP-literal"),
        (None, _) => match host.split_once(':') {
            Some((name, port)) if port.contains(':') && matches!(&*url.scheme, b"http" | b"https") => {
                Err(format!(
                    "invalid port {} after host",
                    quoted(&host.as_bytes()[name.len()..])
                ))
            }
            _ => Ok(()),
        },
    }
}

pub(super) fn check(text: &str) -> Verdict {
    if parse(text)?.is_absolute() {
        Ok(())
    } else {
        refuse("relative url")
    }
}

pub(super) fn check_reference(text: &str) -> Verdict {
    if text.contains('\\') {
        return refuse("contains \\");
    }
    parse(text).map(drop)
}

pub(super) fn check_template(text: &str) -> Verdict {
    let url = parse(text)?;
    let path = String::from_utf8_lossy(url.written_path().unwrap_or_default());
    for segment in path.split('/') {
        let segment = unescape_path(segment).map_err(|error| format!("percent decode failed: {error}"))?;
        let mut is_open = false;
        for brace in segment.chars().filter(|character| matches!(character, '{' | '}')) {
            if (brace == '{') == is_open {
                return refuse("nested curly braces");
            }
            is_open = !is_open;
        }
        if is_open {
            return refuse("no matching closing brace");
        }
    }
    Ok(())
}
