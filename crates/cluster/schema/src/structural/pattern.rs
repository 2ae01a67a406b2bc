//! Regular expressions as Go has them, compiled when they are first needed.

use std::sync::{Arc, OnceLock};

use regex::Regex;

/// A regular expression of a schema. It is compiled at its first use, and a copy shares the compiled form.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: Box<str>,
    compiled: Arc<OnceLock<Option<Regex>>>,
}

impl Pattern {
    /// Takes a regular expression without compiling it.
    pub fn new(source: &str) -> Self {
        Self { source: source.into(), compiled: Arc::default() }
    }

    /// Returns the regular expression as it is written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Returns the compiled form; `None` when the expression isn't valid.
    pub fn regex(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| Regex::new(&self.source).ok()).as_ref()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}
