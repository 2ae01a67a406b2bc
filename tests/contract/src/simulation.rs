//! What becomes of a Pod that nothing really runs: the annotations that tests set, read the same way by every server.

use serde_json::Value;

/// The annotation that decides what becomes of a simulated Pod.
pub const FATE_ANNOTATION: &str = "stage.baton.dev/simulate";

/// What becomes of a simulated Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It runs and is ready.
    Running,
    /// It runs and never becomes ready.
    Unready,
    /// It is never bound to a node.
    Pending,
    /// It ends well.
    Succeeded,
    /// It ends with exit code 1.
    Failed,
}

/// Reads the annotation. A Pod without one runs, unless a Job made it: then it ends well.
pub fn fate_of(pod: &Value) -> Fate {
    let annotation = pod
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get(FATE_ANNOTATION))
        .and_then(Value::as_str);
    match annotation {
        Some("pending") => Fate::Pending,
        Some("unready") => Fate::Unready,
        Some("succeed" | "succeeded") => Fate::Succeeded,
        Some("fail" | "failed") => Fate::Failed,
        Some("run" | "running") => Fate::Running,
        _ if pod
            .pointer("/metadata/ownerReferences/0/kind")
            .and_then(Value::as_str)
            == Some("Job") =>
        {
            Fate::Succeeded
        }
        _ => Fate::Running,
    }
}
