//! From the text of an expression to its tree.
//!
//! - [`parse`]: the parser, which is the `cel` crate's; nothing else knows that crate
//! - [`ast`]: our own tree
//! - [`macros`]: calls that stand for comprehensions, such as `all` and `map`
//! - [`source`]: places in the text and how errors show them

pub(crate) mod ast;
pub(crate) mod macros;
pub(crate) mod parse;
pub(crate) mod source;

pub(crate) use ast::{Expression, Kind, Literal, NodeId};
pub(crate) use source::{Issue, Issues, Source};
