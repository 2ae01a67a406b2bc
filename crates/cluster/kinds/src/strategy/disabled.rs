//! Fields that the types have but the server, as it is set up when nothing is said, doesn't.
//!
//! They belong to features that are off in Kubernetes 1.36. What has such a field already keeps it.

use serde_json::Value;

use crate::tree::{Fields, Tree};

/// Drops the fields from a new object.
pub(super) fn drop_on_create(group: &str, kind: &str, object: &mut Fields) {
    drop_fields(group, kind, object, &Fields::new());
}

/// Drops the fields from an object that hadn't got them.
pub(super) fn drop_on_update(group: &str, kind: &str, new: &mut Fields, old: &Fields) {
    drop_fields(group, kind, new, old);
}

fn drop_fields(group: &str, kind: &str, new: &mut Fields, old: &Fields) {
    match (group, kind) {
        ("", "Pod") => in_pod(new.part_mut("spec"), old.part("spec")),
        ("", "PodTemplate") => in_template(new, Some(old)),
        ("", "ReplicationController")
        | ("apps", "Deployment" | "ReplicaSet" | "DaemonSet")
        | ("batch", "Job") => in_spec(new, old),
        ("apps", "StatefulSet") => {
            in_spec(new, old);
            let rolling = ["spec", "updateStrategy", "rollingUpdate"];
            drop_unless_used(new, old, &rolling, "maxUnavailable");
        }
        ("batch", "CronJob") => {
            let path = ["spec", "jobTemplate", "spec"];
            let old_job = at(old, &path);
            if let Some(job) = at_mut(new, &path) {
                in_template(job, old_job);
            }
        }
        ("coordination.k8s.io", "Lease") => {
            drop_unless_used(new, old, &["spec"], "strategy");
            drop_unless_used(new, old, &["spec"], "preferredHolder");
        }
        ("storage.k8s.io", "CSIDriver") => {
            drop_unless_used(new, old, &["spec"], "preventPodSchedulingIfMissing");
        }
        _ => {}
    }
}

fn at<'a>(object: &'a Fields, path: &[&str]) -> Option<&'a Fields> {
    path.iter().try_fold(object, |part, name| part.part(name))
}

fn at_mut<'a>(object: &'a mut Fields, path: &[&str]) -> Option<&'a mut Fields> {
    path.iter().try_fold(object, |part, name| part.part_mut(name))
}

fn drop_unless_used(new: &mut Fields, old: &Fields, path: &[&str], field: &str) {
    if at(old, path).is_none_or(|part| part.is_unset(field))
        && let Some(part) = at_mut(new, path)
    {
        part.remove(field);
    }
}

fn in_spec(new: &mut Fields, old: &Fields) {
    if let Some(spec) = new.part_mut("spec") {
        in_template(spec, old.part("spec"));
    }
}

fn in_template(holder: &mut Fields, old: Option<&Fields>) {
    let old_spec = old.and_then(|old| at(old, &["template", "spec"]));
    in_pod(at_mut(holder, &["template", "spec"]), old_spec);
}

const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

fn in_pod(spec: Option<&mut Fields>, old: Option<&Fields>) {
    let Some(spec) = spec else { return };
    if old.is_none_or(|old| old.is_unset("schedulingGroup")) {
        spec.remove("schedulingGroup");
    }
    let uses_signals = |spec: &Fields| {
        CONTAINERS.iter().any(|list| {
            spec.items(list).any(|container| {
                container
                    .part("lifecycle")
                    .is_some_and(|lifecycle| !lifecycle.is_unset("stopSignal"))
            })
        })
    };
    if uses_signals(spec) && !old.is_some_and(uses_signals) {
        for list in CONTAINERS {
            for container in spec.items_mut(list) {
                let is_empty = container.part_mut("lifecycle").is_some_and(|lifecycle| {
                    lifecycle.remove("stopSignal").is_some() && lifecycle.is_empty()
                });
                if is_empty {
                    container.remove("lifecycle");
                }
            }
        }
    }
    for field in ["clusterTrustBundle", "podCertificate"] {
        let uses = |spec: &Fields| {
            spec.items("volumes").any(|volume| {
                volume
                    .part("projected")
                    .is_some_and(|projected| projected.items("sources").any(|source| !source.is_unset(field)))
            })
        };
        if uses(spec) && !old.is_some_and(uses) {
            drop_projection(spec, field);
        }
    }
}

fn drop_projection(spec: &mut Fields, field: &str) {
    for volume in spec.items_mut("volumes") {
        let Some(projected) = volume.part_mut("projected") else {
            continue;
        };
        if let Some(sources) = projected.get_mut("sources").and_then(Value::as_array_mut) {
            for source in sources.iter_mut().filter_map(Value::as_object_mut) {
                source.remove(field);
            }
        }
    }
}
