//! Limits of real containers, where control groups of this machine may be written.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use kinds::quantity::Quantity;
use serde_json::Value;

use super::Shared;
use crate::events::EventType;
use crate::object::Object;

/// The period over which processor time is counted, in microseconds: the kernel's usual one.
const PERIOD: i64 = 100_000;

/// Returns the control group of a container with its limits set; `None` where it has no limits, or where they can't be
/// kept, which the pod is told once.
pub(super) fn of_container(shared: &Shared, pod: &Value, container: &Value) -> Option<PathBuf> {
    let limits = container["resources"]["limits"]
        .as_object()
        .filter(|limits| !limits.is_empty())?;
    let limit = |name: &str| limits.get(name).and_then(Value::as_str).map(Quantity::read);
    let settings = settings(limit("memory"), limit("cpu"));
    if settings.is_empty() {
        return None;
    }
    let name = container["name"].as_str().unwrap_or_default();
    let made =
        parent().and_then(|parent| make(&parent.join(format!("baton-{}-{name}", pod.uid())), &settings));
    if made.is_none() && !shared.limits_told.swap(true, Ordering::Relaxed) {
        shared.tell(|recorder| {
            recorder.tell(
                pod,
                EventType::Warning,
                "LimitsNotEnforced",
                "Limits of containers are not enforced: the control groups of this machine cannot be written by this user",
            );
        });
    }
    made
}

/// Returns the files of a control group and what they should say.
fn settings(memory: Option<Quantity>, processors: Option<Quantity>) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    if let Some(memory) = memory {
        all.push(("memory.max", memory.whole().to_string()));
    }
    if let Some(processors) = processors {
        let time = processors.thousandths().saturating_mul(PERIOD) / 1000;
        all.push(("cpu.max", format!("{} {PERIOD}", time.max(1000))));
    }
    all
}

/// Returns the control group of this process, below which others are made.
fn parent() -> Option<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new("/sys/fs/cgroup").join(path))
}

fn make(group: &Path, settings: &[(&'static str, String)]) -> Option<PathBuf> {
    fs::create_dir_all(group).ok()?;
    for (file, text) in settings {
        if fs::write(group.join(file), text).is_err() {
            let _ = fs::remove_dir(group);
            return None;
        }
    }
    Some(group.to_owned())
}

/// Removes the control groups of a pod whose processes are gone.
pub(super) fn remove(pod: &Value) {
    let Some(parent) = parent() else { return };
    for container in super::requests::items(&pod["spec"]["containers"]) {
        let name = container["name"].as_str().unwrap_or_default();
        let _ = fs::remove_dir(parent.join(format!("baton-{}-{name}", pod.uid())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_written_as_the_kernel_reads_them() {
        let amount = |text| Some(Quantity::read(text));
        assert_eq!(
            settings(amount("64Mi"), amount("1500m")),
            [
                ("memory.max", "67108864".to_owned()),
                ("cpu.max", "150000 100000".to_owned()),
            ]
        );
        assert_eq!(
            settings(None, amount("1m")),
            [("cpu.max", "1000 100000".to_owned())]
        );
        assert!(settings(None, None).is_empty());
    }
}
