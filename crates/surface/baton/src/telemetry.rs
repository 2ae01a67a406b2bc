//! What a command that keeps running tells of its work: a log on standard error, traces for a collector, and profiles.
//!
//! ```text
//! spans of work (reconcile, pull, resolve, apply) ─┬─► traces ─► OTLP over HTTP ─► collector     with --otlp-endpoint
//!                                                  └─► profile ─► /debug/pprof/profile           with --pprof-bind-address
//! events ─► log ─► standard error
//! ```
//!
//! Without the two flags nobody is interested in spans of work: they are never made, and cost a look at a number each.

mod figures;
mod profile;
mod traces;

use std::net::SocketAddr;
use std::sync::Arc;

use clap::Args;
use tracing::{Level, Metadata};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{FilterFn, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use self::profile::Profiler;
use self::traces::Traces;
use crate::failure::Failure;
use crate::listening;
use crate::logging::{self, LogFlags};
use crate::served_router::ServedRouter;

/// The target of spans of work: what is traced and profiled, and isn't repeated in every line of the log.
const WORK: &str = "baton::work";

/// What is told beside the log.
#[derive(Debug, Args)]
#[command(next_help_heading = "Telemetry")]
pub(crate) struct TelemetryFlags {
    #[expect(clippy::doc_markdown, reason = "a terminal shows it as it stands here")]
    /// Send traces to this collector, as OTLP over HTTP, such as http://collector:4318; without it, none are made
    #[arg(long, value_name = "URL", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    otlp_endpoint: Option<String>,
    /// Which part of all traces is sent, from 0 to 1
    #[arg(long, value_name = "RATIO", default_value_t = 1.0, requires = "otlp_endpoint")]
    otlp_ratio: f64,
    /// Serve profiles and figures of this process at a loopback address; 0 serves none
    #[arg(long, value_name = "ADDRESS", visible_alias = "profiling-bind-address", default_value = "0",
        value_parser = optional_address)]
    pprof_bind_address: OptionalAddress,
}

/// An address, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OptionalAddress(Option<SocketAddr>);

/// Reads an address; `0` is none, as upstream has it.
fn optional_address(text: &str) -> Result<OptionalAddress, String> {
    if text == "0" {
        return Ok(OptionalAddress(None));
    }
    let address = text.parse();
    address
        .map(|address| OptionalAddress(Some(address)))
        .map_err(|error| format!("{error}; give an address with a port such as 127.0.0.1:6060, or 0"))
}

/// What is told of the work of this process, as long as this lives.
pub(crate) struct Telemetry {
    traces: Option<Traces>,
    profiles: Option<ServedRouter>,
}

impl TelemetryFlags {
    /// Refuses what can't be, before anything is started.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if !(0.0..=1.0).contains(&self.otlp_ratio) {
            return Err(Failure::new(format!(
                "--otlp-ratio {} is no part of all traces: give a number from 0 to 1",
                self.otlp_ratio
            )));
        }
        // Whatever --allow-remote says: profiles tell what runs here, and are for who is on this machine.
        match self.pprof_bind_address.0 {
            Some(address) if !address.ip().to_canonical().is_loopback() => Err(Failure::new(format!(
                "cannot serve profiles on {address}: they are for this machine alone; give a loopback address such as \
                 127.0.0.1:{}, and reach it by kubectl port-forward",
                address.port()
            ))),
            _ => Ok(()),
        }
    }

    /// Starts telling; once in a process, within a Tokio runtime.
    pub(crate) async fn start(&self, log: &LogFlags, service: &str) -> Result<Telemetry, Failure> {
        let traces = match &self.otlp_endpoint {
            Some(endpoint) => Some(Traces::open(endpoint, self.otlp_ratio, service)?),
            None => None,
        };
        let served = match self.pprof_bind_address.0 {
            Some(address) => Some((
                listening::bind(address, "--pprof-bind-address").await?,
                Arc::new(Profiler::default()),
            )),
            None => None,
        };
        let tracing = traces.as_ref().map(|traces| {
            let layer = tracing_opentelemetry::layer().with_tracer(traces.tracer());
            let layer = layer.with_location(false).with_threads(false).with_target(false);
            layer.with_filter(up_to(Level::INFO, is_traced))
        });
        let profiling = served.as_ref().map(|(_, profiler)| {
            let layer = profile::SpanTimes::new(Arc::clone(profiler));
            layer.with_filter(up_to(Level::INFO, is_work))
        });
        tracing_subscriber::registry()
            .with(log.layer().with_filter(is_logged(log.level())))
            .with(tracing)
            .with(profiling)
            .init();
        let profiles = served.map(|(listener, profiler)| {
            if let Ok(address) = listener.local_addr() {
                tracing::info!("profiles are served at http://{address}/debug/pprof/");
            }
            ServedRouter::start_with(listener, None, figures::router(profiler))
        });
        Ok(Telemetry { traces, profiles })
    }
}

impl Telemetry {
    /// Sends what isn't sent yet, and ends.
    pub(crate) async fn stop(self) {
        if let Some(profiles) = self.profiles {
            profiles.stop().await;
        }
        if let Some(traces) = self.traces {
            traces.stop().await;
        }
    }
}

fn is_work(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && *metadata.level() <= Level::INFO && metadata.target() == WORK
}

/// Whether something is part of traces: work, and what went wrong meanwhile.
fn is_traced(metadata: &Metadata<'_>) -> bool {
    is_work(metadata)
        || metadata.is_event() && *metadata.level() <= Level::WARN && !logging::is_repeated(metadata)
}

/// Lets the log have everything up to a level but spans of work, and what it would have again and again.
fn is_logged(level: Level) -> FilterFn<impl Fn(&Metadata<'_>) -> bool> {
    up_to(level, move |metadata| {
        *metadata.level() <= level && !is_work(metadata) && !logging::is_repeated(metadata)
    })
}

/// Lets through what a filter does, which is nothing beyond a level: places that tell of less are then never asked.
fn up_to<F: Fn(&Metadata<'_>) -> bool>(level: Level, filter: F) -> FilterFn<F> {
    filter_fn(filter).with_max_level_hint(level)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        telemetry: TelemetryFlags,
    }

    fn parsed(arguments: &[&str]) -> Result<TelemetryFlags, String> {
        let words = std::iter::once("baton").chain(arguments.iter().copied());
        let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
        command.telemetry.check().map_err(Failure::text)?;
        Ok(command.telemetry)
    }

    #[test]
    fn profiles_are_served_on_loopback_or_not_at_all() {
        assert_eq!(
            parsed(&[]).expect("flags").pprof_bind_address,
            OptionalAddress(None)
        );
        for right in ["127.0.0.1:6060", "[::1]:0"] {
            let flags = parsed(&["--pprof-bind-address", right]).expect(right);
            assert_eq!(flags.pprof_bind_address, OptionalAddress(right.parse().ok()));
        }
        for (wrong, said) in [
            ("0.0.0.0:6060", "for this machine alone"),
            (":6060", "give an address with a port"),
        ] {
            let error = parsed(&["--profiling-bind-address", wrong]).expect_err(wrong);
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn spans_of_work_are_made_only_for_who_asks_for_them() {
        let is_left_out = || tracing::info_span!(target: "baton::work", "reconcile").is_disabled();
        let log = tracing_subscriber::fmt::layer().with_writer(std::io::sink);
        let silent = tracing_subscriber::registry().with(log.with_filter(is_logged(Level::DEBUG)));
        tracing::subscriber::with_default(silent, || {
            assert!(is_left_out(), "nobody asked");
            assert!(
                !tracing::debug_span!("another").is_disabled(),
                "the log has others"
            );
            assert!(tracing::trace_span!("too much").is_disabled(), "below the level");
        });
        let times = profile::SpanTimes::new(Arc::default());
        let asked = tracing_subscriber::registry().with(times.with_filter(up_to(Level::INFO, is_work)));
        tracing::subscriber::with_default(asked, || assert!(!is_left_out(), "somebody asked"));
    }

    #[test]
    fn a_ratio_is_between_none_and_all() {
        let error = parsed(&["--otlp-endpoint", "http://a:4318", "--otlp-ratio", "2"]).expect_err("too much");
        assert!(error.contains("from 0 to 1"), "{error}");
    }
}
