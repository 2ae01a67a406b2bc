//! Room on the stack for recursion whose depth the input decides.

/// When less than this is left, more is taken; larger than any single step between two checks needs.
const RED_ZONE_BYTES: usize = 256 << 10;
/// How much more is taken at a time.
const SEGMENT_BYTES: usize = 4 << 20;

/// Runs `work` with enough stack for one more level of recursion.
pub(crate) fn with_room<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE_BYTES, SEGMENT_BYTES, work)
}
