//! Regular expressions as Go has them, compiled when they are first needed.

use std::sync::{Arc, OnceLock};

use chart::go_expression::{Expression, SyntaxError};

/// A regular expression of a schema. It is compiled at its first use, and a copy shares the compiled form.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: Box<str>,
    compiled: Arc<OnceLock<Result<Expression, SyntaxError>>>,
}

impl Pattern {
    /// Takes a regular expression without compiling it.
    pub fn new(source: &str) -> Self {
        Self {
            source: source.into(),
            compiled: Arc::default(),
        }
    }

    /// Returns the regular expression as it is written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Returns whether a part of the text matches.
    ///
    /// # Errors
    ///
    /// What Go says of an expression that it can't use.
    pub fn is_match(&self, text: &str) -> Result<bool, &SyntaxError> {
        self.expression()
            .map(|expression| expression.is_match(text.as_bytes()))
    }

    /// Returns the compiled form.
    ///
    /// # Errors
    ///
    /// What Go says of an expression that it can't use.
    pub fn expression(&self) -> Result<&Expression, &SyntaxError> {
        self.compiled
            .get_or_init(|| Expression::new(self.source.as_bytes()))
            .as_ref()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}
