//! Profiles and figures of this process, served over HTTP to who is on this machine.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use serde_json::{Value, json};
use tokio::runtime::Handle;

use super::profile::Profiler;

/// How long a profile takes where nobody says, as upstream has it.
const USUAL_SECONDS: u64 = 30;

/// How long a profile may take.
const MOST_SECONDS: u64 = 600;

/// What there is, for who doesn't know what to ask for.
const INDEX: &str = "\
/debug/pprof/profile?seconds=30  processor time by kind of work (reconcile, pull, resolve, apply), for go tool pprof
/debug/figures                   tasks, threads, memory and open files, as JSON
";

/// The routes of profiles and figures.
pub(super) fn router(profiler: Arc<Profiler>) -> Router {
    Router::new()
        .route("/debug/pprof/", get(async || INDEX))
        .route("/debug/pprof/profile", get(profile))
        .route("/debug/figures", get(async || axum_json(&figures())))
        .with_state(profiler)
}

/// How long a profile shall take, as a query says.
fn length(query: Option<&str>) -> Result<Duration, String> {
    let said = query
        .unwrap_or_default()
        .split('&')
        .find_map(|pair| pair.strip_prefix("seconds="));
    let seconds = said.map_or(Ok(USUAL_SECONDS), str::parse);
    match seconds {
        Ok(seconds) if (1..=MOST_SECONDS).contains(&seconds) => Ok(Duration::from_secs(seconds)),
        _ => Err(format!(
            "seconds is {:?}: give a number from 1 to {MOST_SECONDS}\n",
            said.unwrap_or_default()
        )),
    }
}

async fn profile(State(profiler): State<Arc<Profiler>>, RawQuery(query): RawQuery) -> Response {
    let length = match length(query.as_deref()) {
        Ok(length) => length,
        Err(text) => return (StatusCode::BAD_REQUEST, text).into_response(),
    };
    match profiler.profile(length).await {
        Some(bytes) => (
            [
                (CONTENT_TYPE, "application/octet-stream"),
                (CONTENT_DISPOSITION, "attachment; filename=\"profile\""),
            ],
            bytes,
        )
            .into_response(),
        None => (
            StatusCode::CONFLICT,
            "another profile is being made; wait until it is done\n",
        )
            .into_response(),
    }
}

fn axum_json(value: &Value) -> Response {
    ([(CONTENT_TYPE, "application/json")], format!("{value:#}\n")).into_response()
}

/// What the runtime and the system know of this process.
fn figures() -> Value {
    let runtime = Handle::current().metrics();
    let workers: Vec<Value> = (0..runtime.num_workers())
        .map(|worker| json!({"busySeconds": runtime.worker_total_busy_duration(worker).as_secs_f64()}))
        .collect();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let files = std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    json!({
        "tasks": runtime.num_alive_tasks(),
        "waitingTasks": runtime.global_queue_depth(),
        "workers": workers,
        "threads": of_status(&status, "Threads"),
        "residentBytes": of_status(&status, "VmRSS").map(|kilobytes| kilobytes * 1024),
        "largestResidentBytes": of_status(&status, "VmHWM").map(|kilobytes| kilobytes * 1024),
        "openFiles": files,
    })
}

/// A number of `/proc/self/status`.
fn of_status(status: &str, name: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_takes_as_long_as_was_asked_for_within_limits() {
        for (query, seconds) in [
            (None, 30),
            (Some("seconds=5"), 5),
            (Some("debug=0&seconds=600"), 600),
        ] {
            assert_eq!(length(query), Ok(Duration::from_secs(seconds)));
        }
        for query in ["seconds=0", "seconds=601", "seconds=x", "seconds=-1"] {
            assert!(length(Some(query)).is_err(), "{query}");
        }
    }

    #[test]
    fn numbers_of_the_system_are_read() {
        let status = "Name:\tbaton\nVmHWM:\t  200 kB\nVmRSS:\t  100 kB\nThreads:\t7\n";
        assert_eq!(of_status(status, "VmRSS"), Some(100));
        assert_eq!(of_status(status, "Threads"), Some(7));
        assert_eq!(of_status(status, "Vm"), None);
    }
}
