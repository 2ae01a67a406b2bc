//! Addresses as Go's `net/url` reads, resolves and writes them.

mod escape;
mod resolve;
#[cfg(test)]
mod tests;

use std::fmt;

use gotemplate::format::quoted;

use self::escape::{Part, decode, encode, is_encoded};

/// The parts of an address, decoded but for query and opaque part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// The scheme in lower case, such as `https`; empty if there is none.
    pub scheme: Vec<u8>,
    /// What follows a scheme without a slash, as in `mailto:someone`.
    pub opaque: Vec<u8>,
    /// Who asks.
    pub user: Option<UserInfo>,
    /// The host, with its port.
    pub host: Vec<u8>,
    /// The path.
    pub path: Vec<u8>,
    /// What follows the question mark, as written.
    pub query: Vec<u8>,
    /// What follows the hash sign.
    pub fragment: Vec<u8>,
    /// How path and fragment were written, where that is not how they would be encoded.
    written_path: Option<Vec<u8>>,
    written_fragment: Option<Vec<u8>>,
    /// Whether a question mark stands at the end, without a query.
    has_empty_query: bool,
    /// Whether the path followed the scheme without the slashes of a host.
    omits_host: bool,
}

/// A user's name and maybe password, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserInfo {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

/// Where an address stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Anywhere,
    /// In an HTTP request, which has it absolute, or a path from the root.
    Request,
}

impl Url {
    /// Takes an address apart, with the errors of Go's `url.Parse`.
    ///
    /// # Errors
    ///
    /// What Go says of text that is no address.
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Url, String> {
        let text = text.as_ref();
        let (main, fragment) = cut(text, b'#');
        let mut url = Url::parse_main(main, Place::Anywhere).map_err(|error| failed(main, &error))?;
        if let Some(fragment) = fragment.filter(|fragment| !fragment.is_empty()) {
            (url.fragment, url.written_fragment) =
                read(fragment, Part::Fragment).map_err(|error| failed(text, &error))?;
        }
        Ok(url)
    }

    /// Takes an address apart as it stands in an HTTP request: absolute, or a path from the root.
    ///
    /// # Errors
    ///
    /// What Go's `url.ParseRequestURI` says of text that is no such address.
    pub fn parse_request(text: impl AsRef<[u8]>) -> Result<Url, String> {
        let text = text.as_ref();
        Url::parse_main(text, Place::Request).map_err(|error| failed(text, &error))
    }

    fn parse_main(text: &[u8], place: Place) -> Result<Url, String> {
        if text.iter().any(u8::is_ascii_control) {
            return Err("net/url: invalid control character in URL".into());
        }
        if text.is_empty() && place == Place::Request {
            return Err("empty url".into());
        }
        let mut url = Url::default();
        if text == b"*" {
            url.path = b"*".to_vec();
            return Ok(url);
        }
        let (scheme, rest) = cut_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (mut rest, query) = cut(rest, b'?');
        url.has_empty_query = query.is_some_and(<[u8]>::is_empty);
        url.query = query.unwrap_or_default().to_vec();
        if !rest.starts_with(b"/") {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_vec();
                return Ok(url);
            }
            if place == Place::Request {
                return Err("invalid URI for request".into());
            }
            if has_colon_in_first_segment(rest) {
                return Err("first path segment in URL cannot contain colon".into());
            }
        }
        let may_have_host = !url.scheme.is_empty() || place == Place::Anywhere && !rest.starts_with(b"///");
        if let Some(after) = rest.strip_prefix(b"//").filter(|_| may_have_host) {
            let end = after.iter().position(|byte| *byte == b'/').unwrap_or(after.len());
            let (authority, path) = after.split_at(end);
            (url.user, url.host) = parse_authority(authority)?;
            rest = path;
        } else {
            url.omits_host = !url.scheme.is_empty();
        }
        url.set_path(rest)?;
        Ok(url)
    }

    fn set_path(&mut self, written: &[u8]) -> Result<(), String> {
        (self.path, self.written_path) = read(written, Part::Path)?;
        Ok(())
    }

    /// Returns the path as it stands in the address, encoded.
    pub fn encoded_path(&self) -> Vec<u8> {
        match &self.written_path {
            Some(written) if is_encoded(written, Part::Path) => written.clone(),
            _ if self.path == b"*" => self.path.clone(),
            _ => encode(&self.path, Part::Path),
        }
    }

    /// Returns the path as it was written, where that is not how it would be encoded: Go's `RawPath`.
    pub(crate) fn written_path(&self) -> Option<&[u8]> {
        self.written_path.as_deref()
    }

    /// Returns whether the address stands for itself, without a base.
    pub(crate) fn is_absolute(&self) -> bool {
        !self.scheme.is_empty()
    }

    /// Returns the host without port and brackets.
    pub fn hostname(&self) -> &[u8] {
        let host = self.host.as_slice();
        let host = match host.iter().rposition(|byte| *byte == b':') {
            Some(colon) if is_optional_port(&host[colon..]) => &host[..colon],
            _ => host,
        };
        host.strip_prefix(b"[")
            .and_then(|host| host.strip_suffix(b"]"))
            .unwrap_or(host)
    }

    /// Puts the address together, as Go's `URL.String` does.
    pub(crate) fn to_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        if !self.scheme.is_empty() {
            text.extend_from_slice(&self.scheme);
            text.push(b':');
        }
        if self.opaque.is_empty() {
            let has_authority = !self.host.is_empty() || self.user.is_some();
            if has_authority || !self.scheme.is_empty() && !self.path.is_empty() && !self.omits_host {
                text.extend_from_slice(b"//");
            }
            if let Some(user) = &self.user {
                text.extend(user.to_text());
                text.push(b'@');
            }
            text.extend(encode(&self.host, Part::Host));
            let path = self.encoded_path();
            if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
                text.push(b'/');
            }
            // Without this, a colon in the first segment would make it a scheme.
            if text.is_empty() && has_colon_in_first_segment(&path) {
                text.extend_from_slice(b"./");
            }
            text.extend(path);
        } else {
            text.extend_from_slice(&self.opaque);
        }
        if self.has_empty_query || !self.query.is_empty() {
            text.push(b'?');
            text.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            text.push(b'#');
            match &self.written_fragment {
                Some(written) if is_encoded(written, Part::Fragment) => text.extend_from_slice(written),
                _ => text.extend(encode(&self.fragment, Part::Fragment)),
            }
        }
        text
    }
}

impl fmt::Display for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&String::from_utf8_lossy(&self.to_text()))
    }
}

impl UserInfo {
    /// Puts name and password together, as Go's `Userinfo.String` does.
    #[must_use]
    pub fn to_text(&self) -> Vec<u8> {
        let mut text = encode(&self.name, Part::User);
        if let Some(password) = &self.password {
            text.push(b':');
            text.extend(encode(password, Part::User));
        }
        text
    }
}

/// Writes one segment of a path with its escapes, as Go's `url.PathEscape` does.
pub(crate) fn escape_segment(segment: &str) -> String {
    String::from_utf8_lossy(&encode(segment.as_bytes(), Part::Segment)).into_owned()
}

/// Resolves the escapes in a path, as Go's `url.PathUnescape` does.
pub(crate) fn unescape_path(path: &str) -> Result<String, String> {
    let decoded = decode(path.as_bytes(), Part::Segment)?;
    Ok(String::from_utf8_lossy(&decoded).into_owned())
}

fn failed(text: &[u8], error: &str) -> String {
    format!("parse {}: {error}", quoted(text))
}

/// Decodes a part; returns also how it was written where encoding it would not write it so again.
fn read(written: &[u8], part: Part) -> Result<(Vec<u8>, Option<Vec<u8>>), String> {
    let decoded = decode(written, part)?;
    let differs = encode(&decoded, part) != written;
    Ok((decoded, differs.then(|| written.to_vec())))
}

/// Cuts at the first `separator`, which belongs to neither side.
fn cut(text: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == separator) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

fn has_colon_in_first_segment(path: &[u8]) -> bool {
    cut(path, b'/').0.contains(&b':')
}

fn cut_scheme(text: &[u8]) -> Result<(&[u8], &[u8]), String> {
    for (index, byte) in text.iter().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            b':' if index == 0 => return Err("missing protocol scheme".into()),
            b':' => return Ok((&text[..index], &text[index + 1..])),
            _ => break,
        }
    }
    Ok((&[], text))
}

fn parse_authority(authority: &[u8]) -> Result<(Option<UserInfo>, Vec<u8>), String> {
    let Some(at) = authority.iter().rposition(|byte| *byte == b'@') else {
        return Ok((None, parse_host(authority)?));
    };
    let host = parse_host(&authority[at + 1..])?;
    let userinfo = &authority[..at];
    let valid = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(byte);
    if !userinfo.iter().all(valid) {
        return Err("net/url: invalid userinfo".into());
    }
    let (name, password) = cut(userinfo, b':');
    let name = decode(name, Part::User)?;
    let password = password
        .map(|password| decode(password, Part::User))
        .transpose()?;
    Ok((Some(UserInfo { name, password }), host))
}

fn parse_host(host: &[u8]) -> Result<Vec<u8>, String> {
    let check_port = |port: &[u8]| {
        if is_optional_port(port) {
            Ok(())
        } else {
            Err(format!("invalid port {} after host", quoted(port)))
        }
    };
    if host.starts_with(b"[") {
        let close = host
            .iter()
            .rposition(|byte| *byte == b']')
            .ok_or("missing ']' in host")?;
        check_port(&host[close + 1..])?;
        // The zone of an IPv6 address may have characters that a host may not.
        if let Some(zone) = host[..close].windows(3).position(|window| window == b"%25") {
            let parts = [
                decode(&host[..zone], Part::Host)?,
                decode(&host[zone..close], Part::Zone)?,
                decode(&host[close..], Part::Host)?,
            ];
            return Ok(parts.concat());
        }
    } else if let Some(colon) = host.iter().rposition(|byte| *byte == b':') {
        check_port(&host[colon..])?;
    }
    decode(host, Part::Host)
}

fn is_optional_port(port: &[u8]) -> bool {
    match port {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}
