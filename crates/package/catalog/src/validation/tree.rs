//! What is wrong, as a tree.

use std::fmt;

/// Something that is wrong, with what is wrong inside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong, or where.
    pub message: String,
    /// What exactly is wrong there; empty when the message says it.
    pub causes: Vec<Problem>,
}

impl Problem {
    /// A problem without inner ones.
    pub(super) fn leaf(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            causes: Vec::new(),
        }
    }

    /// The place of problems, if there are any.
    pub(super) fn of(message: impl FnOnce() -> String, causes: Vec<Self>) -> Option<Self> {
        (!causes.is_empty()).then(|| Self {
            message: message(),
            causes,
        })
    }

    fn write(&self, prefix: &str, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        if !self.causes.is_empty() {
            formatter.write_str(":")?;
        }
        for (index, cause) in self.causes.iter().enumerate() {
            let last = index + 1 == self.causes.len();
            let (branch, continuation) = if last {
                ("└── ", "    ")
            } else {
                ("├── ", "│   ")
            };
            write!(formatter, "\n{prefix}{branch}")?;
            cause.write(&format!("{prefix}{continuation}"), formatter)?;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write("", formatter)
    }
}
