//! Queries about a catalog's objects, in a schema that is inferred from them.
//!
//! ```text
//! store ─ inference ─► shape ─ types ─► Types ─┐
//! text ─ lexer, parser ─► document ─► limits ─► validation ─► execution ─► Answer
//! ```
//!
//! Names, types, limits and texts are those of catalogd and of the library behind it. Two things differ: lists of plain
//! values are lists, where upstream fails, and names that collide keep a catalog from being queried, not from being served.

mod answer;
mod description;
mod document;
mod execution;
mod inference;
mod lexer;
mod limits;
mod merging;
pub mod names;
mod parser;
mod suggestion;
mod types;
mod validation;
mod variables;

use std::time::Instant;

use catalog::store::Store;

pub use answer::{Answer, Location, QueryError};
pub use execution::DeadlineExceeded;
pub use inference::{CatalogShape, FieldShape, Scalar, SchemaShape};
pub use types::{TypeError, Types};

use document::Document;
use parser::ReadError;

/// A query that is read and within the limits, but not yet checked against a catalog.
#[derive(Debug, Clone)]
pub struct ParsedQuery {
    source: String,
    document: Document,
}

impl ParsedQuery {
    /// Reads a query. What is wrong with it is the answer.
    pub fn read(source: &str) -> Result<Self, Answer> {
        let refusal = |message: String| Answer::refusal(vec![QueryError::new(message)]);
        let document = Document::read(source).map_err(|error| {
            refusal(match error {
                ReadError::Syntax(error) => format!("query parse error: {}", error.message(source)),
                ReadError::TooDeep => limits::too_deep(),
            })
        })?;
        limits::check(&document).map_err(refusal)?;
        Ok(Self {
            source: source.to_owned(),
            document,
        })
    }

    /// Answers the query from a store whose types are given. Blocks until the deadline at most.
    pub fn answer(
        &self,
        types: &Types,
        store: &Store,
        deadline: Instant,
    ) -> Result<Answer, DeadlineExceeded> {
        let errors = validation::check(&self.source, &self.document, types);
        if !errors.is_empty() {
            return Ok(Answer::refusal(errors));
        }
        execution::execute(&self.source, &self.document, types, store, deadline)
    }
}
