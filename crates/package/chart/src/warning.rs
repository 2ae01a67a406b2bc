//! Warnings that Helm prints to standard error while it works.

use std::fmt;

use gotemplate::error::shortened;

/// A remark that does not stop the work; it prints as Helm's log does, with the place that it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Helm's source file and line, for readers that compare logs.
    place: &'static str,
    /// What was noticed.
    message: String,
}

/// Takes the warnings of an operation, in order.
pub type WarningSink<'a> = &'a mut dyn FnMut(Warning);

impl Warning {
    pub(crate) fn new(place: &'static str, message: String) -> Self {
        // Some show a value, which may be of any size.
        let message = shortened(message);
        Self { place, message }
    }

    /// What was noticed, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.message)
    }
}
