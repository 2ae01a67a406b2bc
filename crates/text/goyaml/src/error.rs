//! What can go wrong, said in Go's words.

use std::fmt;

/// A 0-based place in the decoded text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Which step of reading or writing failed; it decides how sigs.k8s.io/yaml words the whole error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The text is not YAML, or its YAML has no JSON counterpart. Usual for hand-written files.
    YamlToJson,
    /// The text was understood but does not fit the type that was asked for.
    Unmarshal,
    /// The text is not JSON (only from [`crate::json`]).
    JsonSyntax,
    /// A value cannot be written, e.g. because it holds a NaN.
    Marshal,
}

/// Why a text could not be read or a value could not be written.
///
/// `Display` is the bare text of the Go library that noticed the problem, such as
/// `yaml: line 3: did not find expected key`. [`Error::in_sigs_words`] gives the longer text that the
/// functions of sigs.k8s.io/yaml return.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", .0.message)]
pub struct Error(Box<Details>);

#[derive(Debug, Clone)]
struct Details {
    stage: Stage,
    message: String,
    place: Option<Mark>,
}

impl Error {
    pub(crate) fn new(stage: Stage, message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            stage,
            message: message.into(),
            place: None,
        }))
    }

    /// An error of the YAML reader without a line in its text.
    pub(crate) fn yaml(problem: impl fmt::Display) -> Self {
        Self::new(Stage::YamlToJson, format!("yaml: {problem}"))
    }

    /// An error found while splitting text into tokens.
    ///
    /// go-yaml counts the line from one, but leaves it out on the first line.
    pub(crate) fn scanner(problem: &str, at: Mark) -> Self {
        Self::placed(problem, at, at.line + 1)
    }

    /// An error found while arranging tokens into nodes.
    ///
    /// go-yaml prints the 0-based line here, so the text points at the line before.
    pub(crate) fn parser(problem: &str, at: Mark) -> Self {
        Self::placed(problem, at, at.line)
    }

    /// The error for a document with more keys and values than the caller allows.
    pub(crate) fn too_many_values(most: usize) -> Self {
        Self::yaml(format_args!(
            "the document has more than {most} keys and values; leave out what isn't needed, or split it"
        ))
    }

    fn placed(problem: &str, at: Mark, printed_line: u32) -> Self {
        let mut error = if at.line == 0 {
            Self::yaml(problem)
        } else {
            Self::yaml(format!("line {printed_line}: {problem}"))
        };
        error.0.place = Some(at);
        error
    }

    pub(crate) fn at(mut self, place: Mark) -> Self {
        self.0.place = Some(place);
        self
    }

    /// The same error, noticed while writing.
    pub(crate) fn while_writing(mut self) -> Self {
        self.0.stage = Stage::Marshal;
        self
    }

    /// Returns which step failed.
    pub fn stage(&self) -> Stage {
        self.0.stage
    }

    /// Returns the 1-based line of the problem, where it has one.
    ///
    /// This is the true line; the number inside the text may be one less, as go-yaml prints it.
    pub fn line(&self) -> Option<usize> {
        self.0.place.map(|place| place.line as usize + 1)
    }

    /// Returns the 1-based column of the problem, in characters, where it has one.
    pub fn column(&self) -> Option<usize> {
        self.0.place.map(|place| place.column as usize + 1)
    }

    /// Returns the text that `Unmarshal` or `Marshal` of sigs.k8s.io/yaml return for this error,
    /// e.g. `error converting YAML to JSON: yaml: line 3: did not find expected key`.
    pub fn in_sigs_words(&self) -> String {
        match self.0.stage {
            Stage::YamlToJson => format!("error converting YAML to JSON: {self}"),
            Stage::Unmarshal => format!("error unmarshaling JSON: while decoding JSON: {self}"),
            // go-yaml's own refusal to write comes after the JSON.
            Stage::Marshal if self.0.message.starts_with("yaml: ") => self.0.message.clone(),
            Stage::Marshal => format!("error marshaling into JSON: {self}"),
            Stage::JsonSyntax => self.0.message.clone(),
        }
    }
}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Stage::Unmarshal, message.to_string())
    }
}

impl serde::ser::Error for Error {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(Stage::Marshal, message.to_string())
    }
}
