//! How opm's commands end when something is wrong: each of them has one of three ways to say so.

use std::fmt::Write as _;

use crate::commands::bundle::validate::now;
use crate::failure::Failure;
use crate::terminal::Terminal;

use super::command::Found;
use super::usage;

/// Why a command stopped, and how that is said.
#[derive(Debug)]
pub(super) enum Ending {
    /// `Error: …`, and then how the command is used.
    Usage(String),
    /// `Error: …` alone.
    Refusal(String),
    /// A line with the time.
    Log(String),
    /// A line of keys and values.
    Logger(String),
    /// Something about the output, which opm says nothing about.
    Output(Failure),
}

impl From<Failure> for Ending {
    /// For failures to print, which every command may meet.
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Message { text, .. } => Self::Refusal(text),
            other => Self::Output(other),
        }
    }
}

impl Ending {
    fn of(failure: impl Into<Failure>, make: impl FnOnce(String) -> Self) -> Self {
        match failure.into() {
            failure @ Failure::Message { .. } => make(failure.text()),
            other => Self::Output(other),
        }
    }

    pub(super) fn usage(failure: impl Into<Failure>) -> Self {
        Self::of(failure, Self::Usage)
    }

    pub(super) fn log(failure: impl Into<Failure>) -> Self {
        Self::of(failure, Self::Log)
    }

    pub(super) fn logger(failure: impl Into<Failure>) -> Self {
        Self::of(failure, Self::Logger)
    }

    /// Says what is wrong.
    pub(super) fn tell(self, found: &Found<'_>, terminal: &mut Terminal) -> Result<(), Failure> {
        match self {
            Self::Usage(text) => {
                terminal.remark(format!("Error: {text}"));
                terminal.remark(usage::usage(found));
            }
            Self::Refusal(text) => terminal.remark(format!("Error: {text}")),
            Self::Log(text) => {
                let time = jiff::Zoned::now().strftime("%Y/%m/%d %H:%M:%S");
                terminal.remark(format!("{time} {}", text.trim_end_matches('\n')));
            }
            Self::Logger(text) => terminal.remark(log_line("fatal", &text, &[])),
            Self::Output(failure) => return Err(failure),
        }
        Err(Failure::Told)
    }
}

/// A line as opm's logger writes it now; `fields` are in the order of their names.
pub(super) fn log_line(level: &str, message: &str, fields: &[(&str, &str)]) -> String {
    let mut line = bundle::validation::log_line(&now(), level, message);
    for (name, value) in fields {
        // Writing to a String can't fail.
        let _ = write!(line, " {name}={}", bundle::validation::log_value(value));
    }
    line
}
