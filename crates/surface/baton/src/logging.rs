//! What a command that keeps running tells on standard error about its work.

use std::io::IsTerminal as _;

use clap::{Args, ValueEnum};
use tracing::{Level, Metadata};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterFn, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Where the library that talks to clusters tells of certificates.
const CERTIFICATES: &str = "kube_client::client::tls";

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
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal())
            .with_target(false);
        tracing_subscriber::registry()
            .with(lines.with_filter(up_to(self.level())))
            .init();
    }
}

/// Lets everything up to a level into a log but what would be in it again and again.
pub(crate) fn up_to(level: Level) -> FilterFn<impl Fn(&Metadata<'_>) -> bool> {
    let is_told = move |metadata: &Metadata<'_>| *metadata.level() <= level && !is_repeated(metadata);
    filter_fn(is_told).with_max_level_hint(level)
}

/// Whether something is told at each handshake with a server whose certificate isn't checked. It is told once, with the server, where
/// the way to it is made.
pub(crate) fn is_repeated(metadata: &Metadata<'_>) -> bool {
    // Of what is told there, it alone has nothing but its words.
    metadata.target().starts_with(CERTIFICATES) && metadata.is_event() && metadata.fields().len() == 1
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
