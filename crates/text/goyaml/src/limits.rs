//! The bounds that keep hostile input from exhausting memory or the stack.

/// The largest input that is read, in bytes.
///
/// Positions are kept in 32 bits; the largest catalogs that exist are below half of this.
pub const MAX_INPUT_BYTES: usize = 256 << 20;

/// How many flow collections (`[`, `{`) may be open at once while scanning, as in go-yaml.
pub const MAX_FLOW_LEVEL: usize = 10_000;

/// How many block collections may be open at once while scanning, as in go-yaml.
pub const MAX_BLOCK_INDENTS: usize = 10_000;

/// How many characters a key written without `?` may have, up to its colon, as in go-yaml.
pub const MAX_SIMPLE_KEY_CHARS: u32 = 1024;

/// How deep a value that is built, read into a type, or written may be nested.
///
/// Building, visiting and dropping a value recurse, and a worker thread's stack has 2 MiB; go-yaml would
/// accept ten times as much. It also ends the writing of a value that contains itself.
pub const MAX_VALUE_DEPTH: usize = 1_000;

/// How deep JSON text may be nested before it is a syntax error, as in Go's encoding/json.
pub const MAX_JSON_DEPTH: usize = 10_000;

/// Up to this many decoding steps, nearly all may come from aliases, as in go-yaml.
pub const ALIAS_RATIO_RANGE_LOW: usize = 400_000;

/// From this many decoding steps on, only a tenth may come from aliases, as in go-yaml.
pub const ALIAS_RATIO_RANGE_HIGH: usize = 4_000_000;
