//! The canonical form of a catalog object: compact JSON with sorted keys, as catalogd stores it.
//!
//! Go reads an object into a map and writes the map: keys are sorted, of a repeated key the last counts, numbers
//! pass through a float, and nothing is escaped for HTML. One scan finds which parts of a text are canonical
//! already; those are copied as they are, and only the others are written anew.

mod head;
mod refusal;
pub(crate) mod scan;
pub(crate) mod text;
mod write;

use thiserror::Error;

pub use head::{Head, HeadError};
pub(crate) use refusal::indented;
use scan::Scan;

/// How large one object may be, in bytes. The largest real bundle, with all of its manifests inside, has a seventh; an
/// object's structure may take several times its size in memory.
pub const MAX_OBJECT_BYTES: usize = 64 << 20;

/// Why a text has no canonical form.
#[derive(Debug, Error)]
pub enum Error {
    /// The text is not one JSON value. Usual for hand-written files.
    #[error("{0}")]
    Syntax(goyaml::Error),
    /// The text is JSON, but not an object, or it has a number that no float can hold.
    #[error("{0}")]
    Mismatch(String),
    /// The object is larger than any sensible one; split the file, or look for what was put into it by mistake.
    #[error(
        "object of {0} bytes exceeds the limit of {MAX_OBJECT_BYTES} bytes for one catalog object; \
         look for data in it that does not belong into a catalog"
    )]
    TooLarge(usize),
    /// The fields that an object is found by are not what they should be.
    #[error(transparent)]
    Head(#[from] HeadError),
}

/// Where reading JSON text has to stop; Go's words for it are found by reading once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// The text ends inside of the value.
    Truncated,
    /// Something stands at this index where it must not.
    Syntax(usize),
}

/// A number that no float can hold.
#[derive(Debug, Clone)]
pub(crate) struct OutOfRange {
    /// The number as it is written.
    pub(crate) number: String,
    /// The index behind it.
    pub(crate) end: usize,
}

/// Appends the canonical form of the object in `object`, without a final newline, to `out`.
///
/// `null` is taken for an object without fields, as Go does, and stays `null`.
pub fn append(object: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let mut scan = Scan::default();
    let value = scan_whole(object, &mut scan)?;
    scan.write(value, out);
    Ok(())
}

/// Reads the three fields that an object is found by, whatever the case of their keys.
///
/// Two keys that differ only in case are an error, wherever they stand in the outermost object.
pub fn head(object: &[u8]) -> Result<Head<'_>, Error> {
    let mut scan = Scan::default();
    let value = scan_whole(object, &mut scan)?;
    Ok(Head::of(&scan, value)?)
}

/// Scans a text that is one object, and returns the object without white space around it.
fn scan_whole<'a>(text: &'a [u8], scan: &mut Scan) -> Result<&'a [u8], Error> {
    let value = text.trim_ascii_start();
    if value.len() > MAX_OBJECT_BYTES {
        return Err(Error::TooLarge(value.len()));
    }
    let whole = scan
        .value(value, 0)
        .is_ok_and(|end| value.get(end..).is_some_and(is_white_space));
    if !whole {
        return Err(syntax_error(text));
    }
    let value = value.trim_ascii_end();
    refusal::check(scan, value)?;
    Ok(value)
}

fn is_white_space(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// Go's words for what is wrong with a text that the scanner refused.
pub(crate) fn syntax_error(text: &[u8]) -> Error {
    match goyaml::json::to_value(text, goyaml::ReadOptions::default()) {
        Err(error) => Error::Syntax(error),
        Ok(_) => Error::Mismatch("unexpected end of JSON input".to_owned()),
    }
}

/// Checks what Go can read into a map: an object, or null, with numbers that a float can hold.
pub(crate) fn check_readable(scan: &Scan, value: &[u8]) -> Result<(), Error> {
    refusal::check(scan, value)
}
