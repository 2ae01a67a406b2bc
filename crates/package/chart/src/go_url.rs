//! Addresses as Go's `net/url` reads, resolves and writes them.

use std::fmt::{self, Write as _};

use crate::go_format::quote;

/// A parsed address. Its parts are kept in the escaped form in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) scheme: String,
    opaque: String,
    user: Option<String>,
    pub(crate) host: String,
    path: String,
    force_query: bool,
    query: String,
    fragment: String,
    omit_host: bool,
}

/// Which characters a part of an address may have unescaped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Path,
    Host,
    Fragment,
}

impl Url {
    /// Parses an address; the error is Go's text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let failed = |reason: String| format!("parse {}: {reason}", quote(text));
        let (address, fragment) = text
            .split_once('#')
            .map_or((text, None), |(address, rest)| (address, Some(rest)));
        let mut url = Self::parse_without_fragment(address, false).map_err(failed)?;
        if let Some(fragment) = fragment {
            url.fragment = normalize(fragment, Mode::Fragment).map_err(failed)?;
        }
        Ok(url)
    }

    /// Parses an address as it stands in an HTTP request: absolute, or a path from the root.
    pub(crate) fn parse_request(text: &str) -> Result<Self, String> {
        Self::parse_without_fragment(text, true).map_err(|reason| format!("parse {}: {reason}", quote(text)))
    }

    fn parse_without_fragment(text: &str, is_request: bool) -> Result<Self, String> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() && is_request {
            return Err("empty url".to_owned());
        }
        let mut url = Self::default();
        if text == "*" {
            "*".clone_into(&mut url.path);
            return Ok(url);
        }
        let (scheme, mut rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        if rest.ends_with('?') && rest.matches('?').count() == 1 {
            url.force_query = true;
            rest = &rest[..rest.len() - 1];
        } else if let Some((before, query)) = rest.split_once('?') {
            query.clone_into(&mut url.query);
            rest = before;
        }
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                rest.clone_into(&mut url.opaque);
                return Ok(url);
            }
            if is_request {
                return Err("invalid URI for request".to_owned());
            }
            if rest
                .split('/')
                .next()
                .is_some_and(|segment| segment.contains(':'))
            {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        if (!url.scheme.is_empty() || !is_request && !rest.starts_with("///"))
            && let Some(authority) = rest.strip_prefix("//")
        {
            let (authority, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
            url.set_authority(authority)?;
            rest = path;
        } else if !url.scheme.is_empty() && rest.starts_with('/') {
            url.omit_host = true;
        }
        url.path = normalize(rest, Mode::Path)?;
        Ok(url)
    }

    fn set_authority(&mut self, authority: &str) -> Result<(), String> {
        let (user, host) = authority
            .rsplit_once('@')
            .map_or((None, authority), |(user, host)| (Some(user), host));
        self.host = parse_host(host)?;
        if let Some(user) = user {
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
            if !user.bytes().all(legal) {
                return Err("net/url: invalid userinfo".to_owned());
            }
            unescape(user, Mode::Path)?;
            self.user = Some(user.to_owned());
        }
        Ok(())
    }

    /// The path, with its escapes resolved.
    pub(crate) fn decoded_path(&self) -> String {
        unescape(&self.path, Mode::Path).unwrap_or_default()
    }

    /// The fragment, with its escapes resolved.
    pub(crate) fn decoded_fragment(&self) -> String {
        unescape(&self.fragment, Mode::Fragment).unwrap_or_default()
    }

    pub(crate) fn without_fragment(&self) -> Self {
        Self {
            fragment: String::new(),
            ..self.clone()
        }
    }

    /// The address that `reference` means where this one is the base.
    pub(crate) fn resolve(&self, reference: &Self) -> Self {
        let mut url = reference.clone();
        if reference.scheme.is_empty() {
            url.scheme.clone_from(&self.scheme);
        }
        if !reference.scheme.is_empty() || !reference.host.is_empty() || reference.user.is_some() {
            url.path = resolve_path(&reference.path, "");
            return url;
        }
        if !reference.opaque.is_empty() {
            return url;
        }
        if reference.path.is_empty() && !reference.force_query && reference.query.is_empty() {
            url.query.clone_from(&self.query);
            if reference.fragment.is_empty() {
                url.fragment.clone_from(&self.fragment);
            }
        }
        if reference.path.is_empty() && !self.opaque.is_empty() {
            url.opaque.clone_from(&self.opaque);
            return url;
        }
        url.host.clone_from(&self.host);
        url.user.clone_from(&self.user);
        url.path = resolve_path(&self.path, &reference.path);
        url
    }
}

impl fmt::Display for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.scheme.is_empty() {
            write!(formatter, "{}:", self.scheme)?;
        }
        if self.opaque.is_empty() {
            let has_authority = !self.scheme.is_empty() || !self.host.is_empty() || self.user.is_some();
            let omits = self.omit_host && self.host.is_empty() && self.user.is_none();
            if has_authority && !omits {
                if !self.host.is_empty() || !self.path.is_empty() || self.user.is_some() {
                    formatter.write_str("//")?;
                }
                if let Some(user) = &self.user {
                    write!(formatter, "{user}@")?;
                }
                formatter.write_str(&self.host)?;
            }
            if !self.path.is_empty() && !self.path.starts_with('/') && !self.host.is_empty() {
                formatter.write_str("/")?;
            }
            if !has_authority
                && self
                    .path
                    .split('/')
                    .next()
                    .is_some_and(|segment| segment.contains(':'))
            {
                formatter.write_str("./")?;
            }
            formatter.write_str(&self.path)?;
        } else {
            formatter.write_str(&self.opaque)?;
        }
        if self.force_query || !self.query.is_empty() {
            write!(formatter, "?{}", self.query)?;
        }
        if !self.fragment.is_empty() {
            write!(formatter, "#{}", self.fragment)?;
        }
        Ok(())
    }
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn parse_host(host: &str) -> Result<String, String> {
    let check_port = |port: &str| {
        let is_port = port.is_empty()
            || port
                .strip_prefix(':')
                .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        if is_port {
            Ok(())
        } else {
            Err(format!("invalid port {} after host", quote(port)))
        }
    };
    if host.starts_with('[') {
        let end = host.rfind(']').ok_or_else(|| "missing ']' in host".to_owned())?;
        check_port(&host[end + 1..])?;
    } else if let Some(colon) = host.rfind(':') {
        check_port(&host[colon..])?;
    }
    unescape(host, Mode::Host)?;
    Ok(host.to_owned())
}

/// Resolves escapes; bytes that are no UTF-8 become replacement characters.
fn unescape(text: &str, mode: Mode) -> Result<String, String> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%' {
            let digit = |offset: usize| {
                bytes
                    .get(at + offset)
                    .and_then(|byte| char::from(*byte).to_digit(16))
            };
            let (Some(high), Some(low)) = (digit(1), digit(2)) else {
                let end = (at + 3).min(bytes.len());
                let escape = String::from_utf8_lossy(&bytes[at..end]);
                return Err(format!("invalid URL escape {}", quote(&escape)));
            };
            if mode == Mode::Host && high < 8 && &bytes[at..at + 3] != b"%25" {
                let escape = String::from_utf8_lossy(&bytes[at..at + 3]);
                return Err(format!("invalid URL escape {}", quote(&escape)));
            }
            decoded.push((high * 16 + low) as u8);
            at += 3;
        } else {
            if mode == Mode::Host && bytes[at].is_ascii() && must_escape(bytes[at], mode) {
                let character = char::from(bytes[at]).to_string();
                return Err(format!("invalid character {} in host name", quote(&character)));
            }
            decoded.push(bytes[at]);
            at += 1;
        }
    }
    Ok(String::from_utf8_lossy(&decoded).into_owned())
}

fn must_escape(byte: u8, mode: Mode) -> bool {
    match byte {
        b'-' | b'_' | b'.' | b'~' => false,
        _ if byte.is_ascii_alphanumeric() => false,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'[' | b']'
        | b'<' | b'>' | b'"'
            if mode == Mode::Host =>
        {
            false
        }
        b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'@' => mode == Mode::Host,
        b'?' | b'!' | b'(' | b')' | b'*' => mode != Mode::Fragment,
        _ => true,
    }
}

/// Brings a part into the form in which Go writes it: as it is where that is valid, else escaped anew.
fn normalize(text: &str, mode: Mode) -> Result<String, String> {
    let decoded = unescape(text, mode)?;
    let is_valid = text
        .bytes()
        .all(|byte| b"!$&'()*+,;=:@[]%".contains(&byte) || !must_escape(byte, mode));
    if is_valid {
        return Ok(text.to_owned());
    }
    let mut escaped = String::with_capacity(decoded.len());
    for byte in decoded.bytes() {
        if must_escape(byte, mode) {
            // Writing to a String cannot fail.
            let _ = write!(escaped, "%{byte:02X}");
        } else {
            escaped.push(char::from(byte));
        }
    }
    Ok(escaped)
}

/// Joins a path to its base and resolves `.` and `..`.
fn resolve_path(base: &str, reference: &str) -> String {
    let full = if reference.is_empty() {
        base.to_owned()
    } else if reference.starts_with('/') {
        reference.to_owned()
    } else {
        format!("{}{reference}", &base[..base.rfind('/').map_or(0, |at| at + 1)])
    };
    if full.is_empty() {
        return full;
    }
    let mut elements: Vec<&str> = Vec::new();
    let mut last = "";
    for element in full.split('/') {
        last = element;
        match element {
            "." => {}
            ".." => {
                // The empty element before a leading slash stays.
                if elements.len() > 1 || elements.first().is_some_and(|first| !first.is_empty()) {
                    elements.pop();
                }
            }
            _ => elements.push(element),
        }
    }
    if matches!(last, "." | "..") {
        elements.push("");
    }
    let joined = elements.join("/");
    let joined = joined.trim_start_matches('/');
    // Go writes every resolved path with exactly one leading slash, but for one that never had any.
    if full.starts_with('/') || !base.is_empty() && base.starts_with('/') {
        format!("/{joined}")
    } else {
        joined.to_owned()
    }
}
