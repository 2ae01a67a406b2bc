//! Addresses.

use std::sync::Arc;

pub(crate) use chart::go_url::Url;

use super::Function;
use crate::value::map::Entries;
use crate::value::{Failure, Map, Outcome, Value};

pub(super) fn overload(id: &str) -> Option<Function> {
    Some(match id {
        "string_to_url" => |arguments| {
            let [Value::String(text)] = arguments else {
                return Err(Failure::no_such_overload());
            };
            // An address must stand on its own, but only the general reading knows fragments.
            let parsed = Url::parse_request(&**text).and_then(|_| Url::parse(&**text));
            match parsed {
                Ok(url) => Ok(Value::Url(Arc::new(url))),
                Err(cause) => Err(Failure::new(format!(
                    "URL parse error during conversion from string: {cause}"
                ))),
            }
        },
        "is_url_string" => |arguments| match arguments {
            [Value::String(text)] => Ok(Value::Bool(Url::parse_request(&**text).is_ok())),
            _ => Err(Failure::no_such_overload()),
        },
        "url_get_scheme" => |arguments| part(arguments, |url| url.scheme.clone()),
        "url_get_host" => |arguments| part(arguments, |url| url.host.clone()),
        "url_get_hostname" => |arguments| part(arguments, |url| url.hostname().to_vec()),
        "url_get_port" => |arguments| part(arguments, port),
        "url_get_escaped_path" => |arguments| part(arguments, Url::encoded_path),
        "url_get_query" => query,
        _ => return None,
    })
}

fn part<'a>(arguments: &[Value<'a>], read: fn(&Url) -> Vec<u8>) -> Outcome<'a> {
    match arguments {
        [Value::Url(url)] => Ok(Value::string(String::from_utf8_lossy(&read(url)))),
        _ => Err(Failure::no_such_overload()),
    }
}

fn port(url: &Url) -> Vec<u8> {
    let host = url.host.as_slice();
    let Some(colon) = host.iter().rposition(|byte| *byte == b':') else {
        return Vec::new();
    };
    let port = host.get(colon + 1..).unwrap_or_default();
    if port.iter().all(u8::is_ascii_digit) {
        port.to_vec()
    } else {
        Vec::new()
    }
}

fn query<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::Url(url)] = arguments else {
        return Err(Failure::no_such_overload());
    };
    let query = String::from_utf8_lossy(&url.query);
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for pair in query
        .split('&')
        .filter(|pair| !pair.is_empty() && !pair.contains(';'))
    {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (Some(key), Some(value)) = (decode(key), decode(value)) else {
            continue;
        };
        match found.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => found.push((key, vec![value])),
        }
    }
    let mut entries = Entries::default();
    for (key, values) in found {
        entries.set(Value::string(key), Value::strings(values));
    }
    Ok(Value::Map(Map::of(entries)))
}

/// Decodes a part of a query; `None` when its escapes are broken.
fn decode(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                (digit(bytes.next()?)? * 16 + digit(bytes.next()?)?) as u8
            }
            other => other,
        });
    }
    Some(String::from_utf8_lossy(&decoded).into_owned())
}
