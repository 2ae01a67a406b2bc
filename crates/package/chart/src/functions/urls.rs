//! URLs taken apart and put together, by the rules of Go's `net/url`; and names of hosts.

use gotemplate::format::quote;
use gotemplate::{Failure, Function, Map, Text, Type, Value};

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("urlParse", &[Type::String], |call| {
        let url = Url::parse(&call.text(0)).map_err(|error| format!("unable to parse url: {error}"))?;
        let userinfo = url.user.as_ref().map(UserInfo::to_text).unwrap_or_default();
        let hostname = url.hostname().to_vec();
        Ok(Value::map([
            ("scheme", Value::string(url.scheme)),
            ("host", Value::string(url.host)),
            ("hostname", Value::string(hostname)),
            ("path", Value::string(url.path)),
            ("query", Value::string(url.query)),
            ("opaque", Value::string(url.opaque)),
            ("fragment", Value::string(url.fragment)),
            ("userinfo", Value::string(userinfo)),
        ]))
    }),
    Function::new("urlJoin", &[Type::Map], |call| {
        let parts = call.map(0);
        let part = |key: &str| part_of(parts.as_ref(), key);
        let mut url = Url {
            scheme: part("scheme")?.to_vec(),
            host: part("host")?.to_vec(),
            path: part("path")?.to_vec(),
            query: part("query")?.to_vec(),
            opaque: part("opaque")?.to_vec(),
            fragment: part("fragment")?.to_vec(),
            user: None,
        };
        let userinfo = part("userinfo")?;
        if !userinfo.is_empty() {
            let whole = [b"proto://", &*userinfo, b"@host"].concat();
            url.user = Url::parse(&whole)
                .map_err(|error| format!("unable to parse userinfo in dict: {error}"))?
                .user;
        }
        Ok(Value::string(url.to_text()))
    }),
    // Names of hosts are not looked up, as in Helm without `--enable-dns`: a render must not depend on the network.
    Function::new("getHostByName", &[Type::String], |_| Ok(Value::string(""))),
];

fn part_of(parts: Option<&Map>, key: &str) -> Result<Text, Failure> {
    match parts.and_then(|parts| parts.get(key)) {
        None => Ok(Text::default()),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Nil) => Err("runtime error: invalid memory address or nil pointer dereference".into()),
        Some(value) => {
            let kind = value.kind().name();
            Err(format!("unable to parse {key} key, must be of type string, but {kind} found").into())
        }
    }
}

/// The parts of a URL, decoded but for query and opaque part.
#[derive(Debug, Default)]
struct Url {
    scheme: Vec<u8>,
    opaque: Vec<u8>,
    user: Option<UserInfo>,
    host: Vec<u8>,
    path: Vec<u8>,
    query: Vec<u8>,
    fragment: Vec<u8>,
}

/// A user's name and maybe password, decoded.
#[derive(Debug)]
struct UserInfo {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

/// A part of a URL, which decides on the characters that it may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Host,
    Zone,
    Path,
    User,
    Fragment,
}

impl Url {
    /// Takes a URL apart, with the errors of Go's `url.Parse`.
    fn parse(text: &[u8]) -> Result<Url, String> {
        let (main, fragment) = cut(text, b'#');
        let failed = |text: &[u8], error: String| format!("parse {}: {error}", shown(text));
        let mut url = Url::parse_main(main).map_err(|error| failed(main, error))?;
        if let Some(fragment) = fragment.filter(|fragment| !fragment.is_empty()) {
            url.fragment = decode(fragment, Part::Fragment).map_err(|error| failed(text, error))?;
        }
        Ok(url)
    }

    fn parse_main(text: &[u8]) -> Result<Url, String> {
        if text.iter().any(u8::is_ascii_control) {
            return Err("net/url: invalid control character in URL".into());
        }
        if text == b"*" {
            return Ok(Url {
                path: b"*".to_vec(),
                ..Url::default()
            });
        }
        let (scheme, rest) = cut_scheme(text)?;
        let mut url = Url {
            scheme: scheme.to_ascii_lowercase(),
            ..Url::default()
        };
        let (mut rest, query) = cut(rest, b'?');
        url.query = query.unwrap_or_default().to_vec();
        if !rest.starts_with(b"/") {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_vec();
                return Ok(url);
            }
            if cut(rest, b'/').0.contains(&b':') {
                return Err("first path segment in URL cannot contain colon".into());
            }
        }
        if rest.starts_with(b"//") && (!url.scheme.is_empty() || !rest.starts_with(b"///")) {
            let after = &rest[2..];
            let end = after.iter().position(|byte| *byte == b'/').unwrap_or(after.len());
            let (authority, path) = after.split_at(end);
            (url.user, url.host) = parse_authority(authority)?;
            rest = path;
        }
        url.path = decode(rest, Part::Path)?;
        Ok(url)
    }

    /// Returns the host without port and brackets.
    fn hostname(&self) -> &[u8] {
        let host = self.host.as_slice();
        let host = match host.iter().rposition(|byte| *byte == b':') {
            Some(colon) if is_optional_port(&host[colon..]) => &host[..colon],
            _ => host,
        };
        host.strip_prefix(b"[")
            .and_then(|host| host.strip_suffix(b"]"))
            .unwrap_or(host)
    }

    /// Puts the URL together, as Go's `URL.String` does.
    fn to_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        if !self.scheme.is_empty() {
            text.extend_from_slice(&self.scheme);
            text.push(b':');
        }
        if self.opaque.is_empty() {
            let has_authority = !self.host.is_empty() || self.user.is_some();
            if has_authority || !self.scheme.is_empty() && !self.path.is_empty() {
                text.extend_from_slice(b"//");
            }
            if let Some(user) = &self.user {
                text.extend(user.to_text());
                text.push(b'@');
            }
            text.extend(encode(&self.host, Part::Host));
            let path = if self.path == b"*" {
                self.path.clone()
            } else {
                encode(&self.path, Part::Path)
            };
            if !path.is_empty() && !path.starts_with(b"/") && !self.host.is_empty() {
                text.push(b'/');
            }
            // Without this, a colon in the first segment would make it a scheme.
            if text.is_empty() && cut(&path, b'/').0.contains(&b':') {
                text.extend_from_slice(b"./");
            }
            text.extend(path);
        } else {
            text.extend_from_slice(&self.opaque);
        }
        if !self.query.is_empty() {
            text.push(b'?');
            text.extend_from_slice(&self.query);
        }
        if !self.fragment.is_empty() {
            text.push(b'#');
            text.extend(encode(&self.fragment, Part::Fragment));
        }
        text
    }
}

impl UserInfo {
    fn to_text(&self) -> Vec<u8> {
        let mut text = encode(&self.name, Part::User);
        if let Some(password) = &self.password {
            text.push(b':');
            text.extend(encode(password, Part::User));
        }
        text
    }
}

fn shown(text: &[u8]) -> String {
    String::from_utf8_lossy(&quote(text)).into_owned()
}

/// Cuts at the first `separator`, which belongs to neither side.
fn cut(text: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == separator) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
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
            Err(format!("invalid port {} after host", shown(port)))
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

/// Returns whether a character of a part is written as `%` and two digits.
fn is_escaped(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
        return false;
    }
    match part {
        Part::Host | Part::Zone => !b"!$&'()*+,;=:[]<>\"".contains(&byte),
        Part::Path => !b"$&+,/:;=@".contains(&byte),
        Part::User => !b"$&+,;=".contains(&byte),
        Part::Fragment => !b"$&+,/:;=?@!()*".contains(&byte),
    }
}

fn encode(text: &[u8], part: Part) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(text.len());
    for byte in text {
        if is_escaped(*byte, part) {
            encoded.extend(format!("%{byte:02X}").bytes());
        } else {
            encoded.push(*byte);
        }
    }
    encoded
}

fn decode(text: &[u8], part: Part) -> Result<Vec<u8>, String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        if first != b'%' {
            if matches!(part, Part::Host | Part::Zone) && first < 0x80 && is_escaped(first, part) {
                return Err(format!("invalid character {} in host name", shown(&[first])));
            }
            decoded.push(first);
            rest = after;
            continue;
        }
        let invalid = |escape: &[u8]| format!("invalid URL escape {}", shown(escape));
        let digit = |at: usize| rest.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let (Some(high), Some(low)) = (digit(1), digit(2)) else {
            return Err(invalid(rest.get(..3).unwrap_or(rest)));
        };
        let byte = (high << 4 | low) as u8;
        // A host may escape what is not ASCII, and the percent sign of a zone; a zone also a space.
        let refused = match part {
            Part::Host => high < 8 && byte != b'%',
            Part::Zone => byte != b'%' && byte != b' ' && is_escaped(byte, Part::Host),
            Part::Path | Part::User | Part::Fragment => false,
        };
        if refused {
            return Err(invalid(&rest[..3]));
        }
        decoded.push(byte);
        rest = &rest[3..];
    }
    Ok(decoded)
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn urls_are_taken_apart_and_put_together_as_in_helm() {
        check(&[
            (
                r#"{{ urlParse "http://user:p%40ss@host:80/p%20a/th?q=1&r=2#fr%20ag" | toJson }}"#,
                Ok(
                    r#"{"fragment":"fr ag","host":"host:80","hostname":"host","opaque":"","path":"/p a/th","query":"q=1\u0026r=2","scheme":"http","userinfo":"user:p%40ss"}"#,
                ),
            ),
            (
                r#"{{ urlParse "//host/path" | toJson }}{{ urlParse "mailto:a@b.c?x=y" | toJson }}{{ urlParse "/a/b?c" | toJson }}{{ urlParse "" | toJson }}{{ urlParse "*" | toJson }}{{ urlParse "http://[::1%25eth0]:8080/x" | toJson }}{{ urlParse "HTTP://A.b/?" | toJson }}"#,
                Ok(
                    r#"{"fragment":"","host":"host","hostname":"host","opaque":"","path":"/path","query":"","scheme":"","userinfo":""}{"fragment":"","host":"","hostname":"","opaque":"a@b.c","path":"","query":"x=y","scheme":"mailto","userinfo":""}{"fragment":"","host":"","hostname":"","opaque":"","path":"/a/b","query":"c","scheme":"","userinfo":""}{"fragment":"","host":"","hostname":"","opaque":"","path":"","query":"","scheme":"","userinfo":""}{"fragment":"","host":"","hostname":"","opaque":"","path":"*","query":"","scheme":"","userinfo":""}{"fragment":"","host":"[::1%eth0]:8080","hostname":"::1%eth0","opaque":"","path":"/x","query":"","scheme":"http","userinfo":""}{"fragment":"","host":"A.b","hostname":"A.b","opaque":"","path":"/","query":"","scheme":"http","userinfo":""}"#,
                ),
            ),
            (
                r#"{{ urlParse "http://a b.com/" }}"#,
                Err(r#"unable to parse url: parse "http://a b.com/": invalid character " " in host name"#),
            ),
            (
                r#"{{ urlParse "http://a:x/" }}"#,
                Err(r#"unable to parse url: parse "http://a:x/": invalid port ":x" after host"#),
            ),
            (
                r#"{{ urlParse ":foo" }}"#,
                Err(r#"unable to parse url: parse ":foo": missing protocol scheme"#),
            ),
            (
                r#"{{ urlParse "a:b:c/d" | toJson }}"#,
                Ok(
                    r#"{"fragment":"","host":"","hostname":"","opaque":"b:c/d","path":"","query":"","scheme":"a","userinfo":""}"#,
                ),
            ),
            (
                r#"{{ urlParse "1a:b" }}"#,
                Err(r#"unable to parse url: parse "1a:b": first path segment in URL cannot contain colon"#),
            ),
            (
                r#"{{ urlParse "http://[::1" }}"#,
                Err(r#"unable to parse url: parse "http://[::1": missing ']' in host"#),
            ),
            (
                r#"{{ urlParse "http://a/%zz" }}"#,
                Err(r#"unable to parse url: parse "http://a/%zz": invalid URL escape "%zz""#),
            ),
            (
                r#"{{ urlParse "http://a/%z" }}"#,
                Err(r#"unable to parse url: parse "http://a/%z": invalid URL escape "%z""#),
            ),
            (
                r#"{{ urlParse "http://a/#%zz" }}"#,
                Err(r#"unable to parse url: parse "http://a/#%zz": invalid URL escape "%zz""#),
            ),
            (
                r#"{{ urlParse "http://us er@a/" }}"#,
                Err(r#"unable to parse url: parse "http://us er@a/": net/url: invalid userinfo"#),
            ),
            (
                r#"{{ urlParse "http://a%20b/" }}"#,
                Err(r#"unable to parse url: parse "http://a%20b/": invalid URL escape "%20""#),
            ),
            (
                r#"{{ urlParse "http://a\u0001b/" }}"#,
                Err(
                    r#"unable to parse url: parse "http://a\x01b/": net/url: invalid control character in URL"#,
                ),
            ),
            (
                r#"{{ urlParse "http://a/é ü?é#é" | toJson }}"#,
                Ok(
                    r#"{"fragment":"é","host":"a","hostname":"a","opaque":"","path":"/é ü","query":"é","scheme":"http","userinfo":""}"#,
                ),
            ),
            (
                r#"{{ urlJoin (urlParse "http://user:p%40ss@host:80/p%20a/th?q=1&r=2#fr%20ag") }}"#,
                Ok("http://user:p%40ss@host:80/p%20a/th?q=1&r=2#fr%20ag"),
            ),
            (
                r#"{{ urlJoin (dict "scheme" "http" "host" "h" "path" "a b/c?d" "query" "x=y z" "fragment" "f g#h" "userinfo" "u:p") }}{{ urlJoin (dict) }}{{ urlJoin (dict "path" "a:b/c") }}{{ urlJoin (dict "scheme" "mailto" "opaque" "a@b") }}{{ urlJoin (dict "host" "h" "path" "p") }}{{ urlJoin (dict "scheme" "http" "path" "/p") }}{{ urlJoin (dict "userinfo" "u" "path" "/p") }}{{ urlJoin (dict "scheme" "x") }}{{ urlJoin (dict "path" "*") }}"#,
                Ok("http://u:p@h/a%20b/c%3Fd?x=y z#f%20g%23h./a:b/cmailto:a@b//h/phttp:///p//u@/px:*"),
            ),
            (
                r#"{{ urlJoin (dict "host" 1) }}"#,
                Err("unable to parse host key, must be of type string, but int found"),
            ),
            (
                r#"{{ urlJoin (dict "host" nil) }}"#,
                Err("runtime error: invalid memory address or nil pointer dereference"),
            ),
            (
                r#"{{ urlJoin (dict "userinfo" "a b") }}"#,
                Err(
                    r#"unable to parse userinfo in dict: parse "proto://a b@host": net/url: invalid userinfo"#,
                ),
            ),
            ("{{ urlJoin nil }}", Ok("")),
            (r#"{{ getHostByName "localhost" }}"#, Ok("")),
        ]);
    }
}
