//! What a command that keeps running tells on standard error about its work.

use std::io::IsTerminal as _;

use clap::{Args, ValueEnum};
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

/// How much is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

/// In which form it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// A JSON object in each line, for programs.
    Json,
}

/// What is told on standard error.
#[derive(Debug, Args)]
pub(crate) struct LogFlags {
    /// How much is told on standard error
    #[arg(long, value_enum, value_name = "LEVEL", default_value = "info")]
    log_level: LogLevel,
    /// In which form it is told: text for people, or json with an object in each line
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
}

impl LogLevel {
    const fn level(self) -> tracing::Level {
        match self {
            Self::Error => tracing::Level::ERROR,
            Self::Warn => tracing::Level::WARN,
            Self::Info => tracing::Level::INFO,
            Self::Debug => tracing::Level::DEBUG,
        }
    }

    /// Starts telling; once in a process.
    pub(crate) fn start(self) {
        tracing_subscriber::fmt()
            .with_max_level(self.level())
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal())
            .with_target(false)
            .init();
    }
}

impl LogFlags {
    /// How much is told.
    pub(crate) fn level(&self) -> tracing::Level {
        self.log_level.level()
    }

    /// What writes it.
    pub(crate) fn layer<S>(&self) -> Box<dyn Layer<S> + Send + Sync>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    {
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal())
            .with_target(false);
        match self.log_format {
            LogFormat::Text => lines.boxed(),
            LogFormat::Json => lines.json().flatten_event(true).boxed(),
        }
    }
}
