//! Why an execution failed, where, and through which calls.

use std::fmt;

use crate::format;
use crate::function::Failure;

/// A failed execution; prints as Go's text/template does.
#[derive(Debug)]
pub struct ExecutionError {
    /// Where it happened; none where no node was being executed.
    pub place: Option<Place>,
    /// What happened.
    pub cause: Cause,
}

/// A place in a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The source that the template stands in.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 0, as Go counts.
    pub column: usize,
    /// The name of the template that was executing.
    pub template: String,
    /// The node, as Go prints it.
    pub node: String,
}

/// What went wrong at a place.
#[derive(Debug)]
pub enum Cause {
    /// The language does not allow it.
    Message(String),
    /// A function or method failed.
    Call {
        /// Its name.
        function: String,
        /// What it said.
        failure: Box<Failure>,
    },
}

/// How long an error may be: templates can put values of any size into one, which ends in logs and conditions.
pub const MAX_MESSAGE_BYTES: usize = 64 << 10;

/// How long what is said of one cause may be: with the places around it, it still is no longer than an error may be.
pub const MAX_CAUSE_BYTES: usize = 48 << 10;

/// How long a name may be in a message. Errors of templates within templates each have their own.
const MAX_NAME_BYTES: usize = 4 << 10;

/// Returns an error's text, without its middle where it is too long: both ends say what went wrong where.
pub fn shortened(message: String) -> String {
    cut(message, MAX_MESSAGE_BYTES)
}

/// Returns what is said of one cause, without its middle where it is too long.
pub(crate) fn shortened_cause(message: String) -> String {
    cut(message, MAX_CAUSE_BYTES)
}

fn cut(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let start = text.floor_char_boundary(most / 2);
    let end = text.ceil_char_boundary(text.len() - most / 2);
    let left_out = end - start;
    format!(
        "{}… ({left_out} bytes left out) …{}",
        &text[..start],
        &text[end..]
    )
}

impl Cause {
    /// Cuts what is too long.
    pub(crate) fn shortened(self) -> Cause {
        match self {
            Cause::Message(message) => Cause::Message(shortened_cause(message)),
            Cause::Call { function, failure } => Cause::Call {
                function,
                failure: Box::new(match *failure {
                    Failure::Message(message) => Failure::Message(shortened_cause(message)),
                    Failure::Execution { prefix, error } => Failure::Execution {
                        prefix: cut(prefix, MAX_NAME_BYTES),
                        error,
                    },
                }),
            },
        }
    }
}

impl Place {
    /// Cuts what is too long.
    pub(crate) fn shortened(self) -> Place {
        Place {
            file: cut(self.file, MAX_NAME_BYTES),
            template: cut(self.template, MAX_NAME_BYTES),
            node: cut(self.node, MAX_NAME_BYTES),
            ..self
        }
    }
}

impl ExecutionError {
    /// Returns an error that belongs to no node.
    pub fn without_place(message: impl Into<String>) -> ExecutionError {
        ExecutionError {
            place: None,
            cause: Cause::Message(shortened_cause(message.into())),
        }
    }

    /// Returns the error at the end of the chain of `include` and `tpl` calls: the one that started it.
    pub fn innermost(&self) -> &ExecutionError {
        let mut error = self;
        while let Cause::Call { failure, .. } = &error.cause {
            match failure.as_ref() {
                Failure::Execution { error: inner, .. } => error = inner,
                Failure::Message(_) => break,
            }
        }
        error
    }
}

impl fmt::Display for ExecutionError {
    /// Goes along the chain in a loop: a recursion of templates can be thousands of errors long.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut error = self;
        loop {
            formatter.write_str("template: ")?;
            if let Some(place) = &error.place {
                let Place {
                    file,
                    line,
                    column,
                    template,
                    node,
                } = place;
                let template = format::quoted(template);
                write!(
                    formatter,
                    "{file}:{line}:{column}: executing {template} at <{node}>: "
                )?;
            }
            match &error.cause {
                Cause::Message(message) => return formatter.write_str(message),
                Cause::Call { function, failure } => {
                    write!(formatter, "error calling {function}: ")?;
                    match failure.as_ref() {
                        Failure::Message(message) => return formatter.write_str(message),
                        Failure::Execution { prefix, error: inner } => {
                            formatter.write_str(prefix)?;
                            error = inner;
                        }
                    }
                }
            }
        }
    }
}

impl ExecutionError {
    /// Takes the next error of the chain out.
    fn take_inner(&mut self) -> Option<Box<ExecutionError>> {
        match std::mem::replace(&mut self.cause, Cause::Message(String::new())) {
            Cause::Call { failure, .. } => match *failure {
                Failure::Execution { error, .. } => Some(error),
                Failure::Message(_) => None,
            },
            Cause::Message(_) => None,
        }
    }
}

/// Drops the chain in a loop, for the same reason as it is printed in one.
impl Drop for ExecutionError {
    fn drop(&mut self) {
        let mut next = self.take_inner();
        while let Some(mut error) = next {
            next = error.take_inner();
        }
    }
}

impl std::error::Error for ExecutionError {}
