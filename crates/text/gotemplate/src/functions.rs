//! The functions that templates may call, by name.

use std::collections::HashMap;

use crate::builtins;
use crate::function::Function;

/// A table of functions; starts with Go's own.
#[derive(Clone)]
pub struct Functions {
    by_name: HashMap<&'static str, &'static Function>,
}

impl Default for Functions {
    fn default() -> Functions {
        let mut functions = Functions {
            by_name: HashMap::new(),
        };
        functions.extend(builtins::FUNCTIONS);
        functions
    }
}

impl Functions {
    /// Returns the function of that name.
    pub fn get(&self, name: &str) -> Option<&'static Function> {
        self.by_name.get(name).copied()
    }

    /// Adds functions; a later one of the same name replaces the earlier.
    pub fn extend(&mut self, functions: impl IntoIterator<Item = &'static Function>) {
        self.by_name
            .extend(functions.into_iter().map(|function| (function.name, function)));
    }

    /// Returns all names, sorted.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.by_name.keys().copied().collect();
        names.sort_unstable();
        names
    }
}
