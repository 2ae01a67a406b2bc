//! How a command ends when it does not succeed.

use std::io;

use chart::diagnosis::{Diagnosis, Excerpt};

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something is wrong; the text is what follows `Error: `, in Helm's words where Helm has the same error.
    Message {
        text: String,
        /// What baton knows beyond the text: where it happened and where the value came from.
        diagnosis: Diagnosis,
    },
    /// What is wrong was printed already, in the form that was asked for.
    Told,
    /// What was to be judged can't be looked at: neither good nor bad is known of it.
    Undecided(String),
    /// Whoever reads the output has gone away.
    OutputClosed,
}

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::Message {
            text: text.into(),
            diagnosis: Diagnosis::default(),
        }
    }

    pub(crate) fn with_diagnosis(text: impl Into<String>, diagnosis: Diagnosis) -> Self {
        Self::Message {
            text: text.into(),
            diagnosis,
        }
    }

    pub(crate) fn with_hint(text: impl Into<String>, hint: &str) -> Self {
        let diagnosis = Diagnosis {
            hints: vec![hint.to_owned()],
            ..Diagnosis::default()
        };
        Self::with_diagnosis(text, diagnosis)
    }

    /// The same failure, with lines shown that it is about.
    pub(crate) fn showing(mut self, excerpts: impl IntoIterator<Item = Excerpt>) -> Self {
        if let Self::Message { diagnosis, .. } = &mut self {
            diagnosis.excerpts.extend(excerpts);
        }
        self
    }

    /// The same failure, with what was being done said before it.
    pub(crate) fn within(self, doing: impl std::fmt::Display) -> Self {
        match self {
            Self::Message { text, diagnosis } => Self::Message {
                text: format!("{doing}: {text}"),
                diagnosis,
            },
            Self::Undecided(text) => Self::Undecided(format!("{doing}: {text}")),
            other => other,
        }
    }

    /// What is wrong, in one text.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Message { text, .. } | Self::Undecided(text) => text,
            Self::Told => "failed".to_owned(),
            Self::OutputClosed => "standard output was closed".to_owned(),
        }
    }

    /// A failure to write to standard output.
    pub(crate) fn output(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::OutputClosed
        } else {
            Self::new(format!("cannot write to standard output: {error}"))
        }
    }
}

/// What the system says about a file, in the words in which Go programs say it.
pub(crate) fn system_reason(error: &io::Error) -> String {
    let text = error.to_string();
    let Some(code) = error.raw_os_error() else {
        return text;
    };
    let text = text.strip_suffix(&format!(" (os error {code})")).unwrap_or(&text);
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}
