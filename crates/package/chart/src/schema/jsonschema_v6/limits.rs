//! How much work a schema may be; it comes from whoever wrote the chart.

use crate::schema::SchemaError;

/// How many times a schema may be held against a value, for the schema file and again for the values. Schemas that each
/// refer twice to the next multiply.
const MAX_STEPS: usize = 2_000_000;

/// How deep a schema file may be nested, which is as deep as values may be.
pub(super) const MAX_NESTING: usize = 1_000;

/// How deep judging may go: values inside values, and schemas that stand for schemas. A schema file's own schema takes
/// several steps for each of its levels.
const MAX_DEPTH: usize = 10_000;

/// How many bytes may be said about values that break rules. Alternatives inside alternatives multiply what is said.
const MAX_TEXT_BYTES: usize = 16 << 20;

/// How many schemas a file may consist of, what it refers to included.
pub(super) const MAX_SCHEMAS: usize = 200_000;

/// When less stack than this is left, more is taken; larger than any single level needs.
const STACK_RED_ZONE_BYTES: usize = 128 << 10;
/// How much more is taken at a time.
const STACK_SEGMENT_BYTES: usize = 2 << 20;

/// Goes one level deeper, with room for it on the stack.
pub(super) fn with_stack<T>(walk: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, walk)
}

/// What has been used up.
#[derive(Debug, Default)]
pub(super) struct Budget {
    steps: usize,
    depth: usize,
    text_bytes: usize,
}

impl Budget {
    /// Takes a number of steps.
    pub(super) fn take_steps(&mut self, steps: usize) -> Result<(), SchemaError> {
        self.steps += steps;
        if self.steps > MAX_STEPS {
            return Err(SchemaError::Unusable(format!("more than {MAX_STEPS} steps")));
        }
        Ok(())
    }

    /// Takes room for something that is said.
    pub(super) fn take_text(&mut self, bytes: usize) -> Result<(), SchemaError> {
        self.text_bytes += bytes;
        if self.text_bytes > MAX_TEXT_BYTES {
            return Err(SchemaError::Unusable(format!(
                "more than {MAX_TEXT_BYTES} bytes of complaints"
            )));
        }
        Ok(())
    }

    /// Goes one level deeper.
    pub(super) fn descend(&mut self) -> Result<(), SchemaError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(SchemaError::Unusable(format!("more than {MAX_DEPTH} levels")));
        }
        Ok(())
    }

    /// Comes back from a level.
    pub(super) fn ascend(&mut self) {
        self.depth -= 1;
    }
}
