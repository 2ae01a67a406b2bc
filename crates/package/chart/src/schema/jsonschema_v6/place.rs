//! Where a schema stands: the address of its document, and a JSON pointer into it.

use std::fmt;

use gotemplate::format::quoted;

use super::json::Json;
use crate::go_url::{Url, escape_segment, unescape_path};
use crate::schema::SchemaError;

/// A schema's document and the way to it from there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) url: String,
    pub(super) pointer: String,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}#{}", self.url, encoded(&self.pointer))
    }
}

impl Place {
    /// Finds what stands here.
    pub(super) fn find<'j>(&self, document: &'j Json) -> Result<&'j Json, SchemaError> {
        let mut here = document;
        for token in self.pointer.split('/').skip(1) {
            let Some(token) = unescaped(token) else {
                let place = quoted(self.to_string());
                return Err(SchemaError::Faulty(format!("invalid json-pointer {place}")));
            };
            let found = match here {
                Json::Object(entries) => entries.get(&token),
                Json::Array(items) => gotemplate::format::parse_int(&token, 10)
                    .ok()
                    .and_then(|index| items.get(usize::try_from(index).ok()?)),
                _ => None,
            };
            here = found.ok_or_else(|| {
                let place = quoted(self.to_string());
                SchemaError::Faulty(format!("json-pointer in {place} not found"))
            })?;
        }
        Ok(here)
    }
}

/// Adds a step to a JSON pointer.
pub(super) fn append(pointer: &str, token: &str) -> String {
    format!("{pointer}/{}", token.replace('~', "~0").replace('/', "~1"))
}

fn unescaped(token: &str) -> Option<String> {
    let is_sound = token
        .split('~')
        .skip(1)
        .all(|rest| rest.starts_with('0') || rest.starts_with('1'));
    is_sound.then(|| token.replace("~1", "/").replace("~0", "~"))
}

/// A pointer or anchor as it stands behind the hash sign of an address.
pub(super) fn encoded(fragment: &str) -> String {
    let segments: Vec<String> = fragment.split('/').map(escape_segment).collect();
    segments.join("/")
}

/// What stands behind the hash sign of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fragment {
    Pointer(String),
    Anchor(String),
}

impl Fragment {
    fn new(decoded: String) -> Self {
        if decoded.is_empty() || decoded.starts_with('/') {
            Fragment::Pointer(decoded)
        } else {
            Fragment::Anchor(decoded)
        }
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Fragment::Pointer(text) | Fragment::Anchor(text) => text,
        }
    }
}

/// Cuts an address at its hash sign.
pub(super) fn split(address: &str) -> (&str, &str) {
    address.split_once('#').unwrap_or((address, ""))
}

/// Cuts an address at its hash sign, and decodes what follows.
pub(super) fn split_fragment(address: &str) -> Result<(&str, Fragment), SchemaError> {
    let (url, fragment) = split(address);
    match unescape_path(fragment) {
        Ok(decoded) => Ok((url, Fragment::new(decoded))),
        Err(error) => Err(unreadable(address, &error)),
    }
}

fn unreadable(address: &str, error: &str) -> SchemaError {
    SchemaError::Faulty(format!("error in parsing {}: {error}", quoted(address)))
}

/// Works out what a reference means below a base address.
pub(super) fn join(base: &str, reference: &str) -> Result<(String, Fragment), SchemaError> {
    let parse = |address: &str| Url::parse(address).map_err(|error| unreadable(address, &error));
    let base = parse(base)?;
    let (reference, fragment) = split_fragment(reference)?;
    let reference = parse(reference)?;
    let mut resolved = base.resolve(&reference);
    // Go forgets what follows the scheme here, and the library brings it back.
    if !reference.is_absolute() && !base.opaque.is_empty() {
        resolved.opaque.clone_from(&base.opaque);
    }
    Ok((resolved.to_string(), fragment))
}
