//! How much a template function may produce: templates are untrusted, and a few characters can ask for gigabytes.

use gotemplate::{Failure, Value};

/// The longest text that one call may return: far above any manifest, far below the memory of a small machine.
pub(crate) const MAX_TEXT_BYTES: usize = 64 * 1024 * 1024;

/// The most elements that one call may put into a list: a list in a manifest has thousands at the very most.
pub(crate) const MAX_LIST_ITEMS: usize = 1_000_000;

/// How deep a value may be nested where a function walks it: a map can contain itself through `set`, and Go's
/// process dies of its stack there.
pub(crate) const MAX_NESTING: usize = 1000;

/// The work of making a 2048-bit RSA key, in steps: so many keys that they take seconds are too many.
pub(crate) const RSA_2048_WORK: u64 = 300_000;

/// The work of making a 4096-bit RSA key or a DSA key.
pub(crate) const LARGE_KEY_WORK: u64 = 600_000;

/// The work of hashing a password so that guessing it is slow.
pub(crate) const PASSWORD_HASH_WORK: u64 = 250_000;

/// Returns a text, unless it is longer than a template may make it.
pub(crate) fn text(bytes: Vec<u8>) -> Result<Value, Failure> {
    check_text(bytes.len())?;
    Ok(Value::string(bytes))
}

/// Refuses a text of that many bytes before it is made.
pub(crate) fn check_text(bytes: usize) -> Result<(), Failure> {
    if bytes > MAX_TEXT_BYTES {
        return Err(Failure::Message(format!(
            "text of {bytes} bytes exceeds the limit of {MAX_TEXT_BYTES}"
        )));
    }
    Ok(())
}

/// Refuses a list of that many elements before it is made.
pub(crate) fn check_items(items: usize) -> Result<(), Failure> {
    if items > MAX_LIST_ITEMS {
        return Err(Failure::Message(format!(
            "list of {items} elements exceeds the limit of {MAX_LIST_ITEMS}"
        )));
    }
    Ok(())
}

/// When less stack than this is left, more is taken; larger than any single level needs.
const STACK_RED_ZONE_BYTES: usize = 128 << 10;
/// How much more is taken at a time.
const STACK_SEGMENT_BYTES: usize = 2 << 20;

/// Walks one level deeper into a value, with room for it on the stack; refuses where that is too deep.
pub(crate) fn nested<T>(depth: usize, walk: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    if depth > MAX_NESTING {
        return Err(Failure::Message(format!(
            "value is nested deeper than {MAX_NESTING} levels"
        )));
    }
    stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, walk)
}
