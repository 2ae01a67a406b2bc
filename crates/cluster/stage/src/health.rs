//! How the server is: its version, its health, what it counts.

use std::fmt::Write as _;
use std::sync::Arc;

use http::{Response, StatusCode};
use serde_json::{Value, json};

use crate::api::Api;
use crate::fairness::{Count, Level};
use crate::store::DiskTrouble;
use crate::wire::{Asked, Body, bytes_response, paths};

/// The release of Kubernetes whose API is served.
pub const KUBERNETES_VERSION: &str = "1.36.3";

/// Returns `/version`.
pub fn version() -> Value {
    let mut parts = KUBERNETES_VERSION.split('.');
    let (major, minor) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    json!({
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": "35",
        "gitVersion": format!("v{KUBERNETES_VERSION}"),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, architecture()),
    })
}

fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// The checks that `/healthz`, `/livez` and `/readyz` make one by one. A disk that takes nothing is no reason to start the server
/// anew, and everything can still be read: it is only not ready.
const CHECKS: [&str; 2] = ["ping", STORAGE];

/// Whether what is written can be kept.
const STORAGE: &str = "storage";

/// Answers a question about health.
pub fn answer(api: &Arc<Api>, asked: &Asked, endpoint: &str, check: &[&str]) -> Response<Body> {
    let excluded = asked.query.all("exclude");
    let trouble = api.store.disk_trouble().filter(|_| endpoint == "readyz");
    let failing = |name: &str| {
        let trouble = trouble.filter(|_| name == STORAGE)?;
        Some(match trouble {
            DiskTrouble::Full => "no space left on the device; free some space",
            DiskTrouble::Fails => "the device fails; the log of the server says how",
        })
    };
    if let [name] = check {
        if !CHECKS.contains(name) {
            return paths::page_not_found();
        }
        return match failing(name) {
            Some(why) => paths::text(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("internal server error: {name} check failed: {why}\n"),
            ),
            None => paths::text(StatusCode::OK, "ok"),
        };
    }
    let mut report = String::new();
    let mut healthy = true;
    for name in CHECKS {
        if excluded.contains(&name) {
            let _ = writeln!(report, "[+]{name} excluded: ok");
        } else if let Some(why) = failing(name) {
            healthy = false;
            let _ = writeln!(report, "[-]{name} failed: {why}");
        } else {
            let _ = writeln!(report, "[+]{name} ok");
        }
    }
    if !healthy {
        let _ = writeln!(report, "{endpoint} check failed");
        return paths::text(StatusCode::INTERNAL_SERVER_ERROR, report);
    }
    if asked.query.has("verbose") {
        let _ = writeln!(report, "{endpoint} check passed");
        return paths::text(StatusCode::OK, report);
    }
    paths::text(StatusCode::OK, "ok")
}

/// Answers `/metrics`: what the store holds.
pub fn metrics(api: &Arc<Api>) -> Response<Body> {
    let mut text = String::new();
    let statistics = api.store.statistics();
    text.push_str("# HELP apiserver_resource_objects Number of stored objects by resource.\n");
    text.push_str("# TYPE apiserver_resource_objects gauge\n");
    for (resource, count) in api.store.counts() {
        let _ = writeln!(
            text,
            "apiserver_resource_objects{{group=\"{}\",resource=\"{}\"}} {count}",
            resource.group(),
            resource.plural()
        );
    }
    for (name, help, value) in [
        (
            "stage_store_revision",
            "The revision of the last write.",
            statistics.revision,
        ),
        (
            "stage_store_history_bytes",
            "Bytes of replaced versions that are still kept.",
            statistics.history_bytes as u64,
        ),
        (
            "stage_watchers",
            "Number of watchers.",
            statistics.watchers as u64,
        ),
    ] {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
    }
    for (name, kind, help, of) in [
        (
            "apiserver_flowcontrol_current_executing_requests",
            "gauge",
            "Number of requests that compute, by priority level.",
            (|count| count.seated as u64) as fn(&Count) -> u64,
        ),
        (
            "apiserver_flowcontrol_current_inqueue_requests",
            "gauge",
            "Number of requests that wait for their turn, by priority level.",
            |count| count.waiting as u64,
        ),
        (
            "apiserver_flowcontrol_rejected_requests_total",
            "counter",
            "Number of requests that were asked to come again, by priority level.",
            |count| count.refused,
        ),
    ] {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for level in Level::ALL {
            let value = of(&api.door.count(level));
            let _ = writeln!(text, "{name}{{priority_level=\"{}\"}} {value}", level.name());
        }
    }
    bytes_response(
        StatusCode::OK,
        text.into(),
        "text/plain; version=0.0.4; charset=utf-8",
    )
}

/// Returns the components that `kubectl get componentstatuses` shows.
pub fn components() -> Vec<Value> {
    ["controller-manager", "etcd-0", "scheduler"]
        .iter()
        .filter_map(|name| component(name))
        .collect()
}

/// Returns one of the components.
pub fn component(name: &str) -> Option<Value> {
    matches!(name, "controller-manager" | "etcd-0" | "scheduler").then(|| {
        json!({
            "apiVersion": "v1", "kind": "ComponentStatus", "metadata": {"name": name},
            "conditions": [{"type": "Healthy", "status": "True", "message": "ok"}],
        })
    })
}
