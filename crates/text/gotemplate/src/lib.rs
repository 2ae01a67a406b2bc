//! Go's text/template language over values that alias and mutate.
//!
//! ```text
//! text ─ lex ─► tokens ─ parse ─► Template (shared, immutable) ─► Templates (a set, cheap to extend)
//!                                                                     │
//! Value (Go's kinds) ────────────────────────────────────────► Executor ─► bytes, or ExecutionError
//!                                     Function (signature + body) ──┘
//! ```
//! The crate knows nothing of Helm: functions, host state and options come from outside.

mod builtins;
mod compare;
mod constant;
mod containers;
pub mod error;
pub mod escape;
mod evaluate;
pub mod execute;
pub mod format;
pub mod function;
pub mod functions;
mod lex;
pub mod mentions;
mod node;
pub mod object;
mod parse;
pub mod serialize;
mod stack;
pub mod templates;
mod text;
pub mod types;
pub mod value;
mod work;

pub use error::{Cause, ExecutionError, Place};
pub use execute::{
    Dialect, Executor, Interrupt, MAX_OUTPUT_BYTES, MAX_STEPS, MAX_TEMPLATE_DEPTH, MissingKey, Observer,
    Options,
};
pub use function::{Call, Failure, Function};
pub use functions::Functions;
pub use mentions::{Mention, Mentioned};
pub use object::{Json, Object};
pub use parse::{MAX_NESTING, MAX_SOURCE_BYTES, ParseError};
pub use templates::{Parsed, Template, Templates};
pub use types::{IntegerKind, Kind, NamedType, Type};
pub use value::{Integer, List, Map, Text, Value};
pub use work::Effort;
