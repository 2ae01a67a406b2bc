//! What keeps pods running or runs them once: their numbers, their strategies, their histories.

use serde_json::{Value, json};

use super::{pods, volumes};
use crate::tree::{Fields, Tree};

/// Where a `DaemonSet` keeps the generation of its template, which once was a field.
pub(crate) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// Where a `Deployment` keeps the revision to return to, which once was a field.
const ROLL_BACK_TO: &str = "deprecated.deployment.rollback.to";

/// How many old revisions are kept.
const KEPT_REVISIONS: i64 = 10;

/// Fills in a Deployment.
pub(super) fn deployment(deployment: &mut Fields) {
    let spec = deployment.part_or_new("spec");
    spec.set_if_unset("replicas", 1);
    let strategy = spec.part_or_new("strategy");
    strategy.set_if_zero("type", "RollingUpdate");
    if strategy.text("type") == "RollingUpdate" {
        let rolling = strategy.part_or_new("rollingUpdate");
        rolling.set_if_unset("maxUnavailable", "25%");
        rolling.set_if_unset("maxSurge", "25%");
    }
    spec.set_if_unset("revisionHistoryLimit", KEPT_REVISIONS);
    spec.set_if_unset("progressDeadlineSeconds", 600);
    pods::template(spec.part_or_new("template"));
    if let Some(metadata) = deployment.part_mut("metadata")
        && let Some(annotations) = metadata.part_mut("annotations")
        && annotations.contains_key(ROLL_BACK_TO)
    {
        as_number(annotations, ROLL_BACK_TO);
        if annotations.is_zero(ROLL_BACK_TO) {
            annotations.remove(ROLL_BACK_TO);
        }
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}

/// Fills in a `ReplicaSet`.
pub(super) fn replica_set(set: &mut Fields) {
    let spec = set.part_or_new("spec");
    spec.set_if_unset("replicas", 1);
    pods::template(spec.part_or_new("template"));
}

/// Fills in a `DaemonSet`.
pub(super) fn daemon_set(set: &mut Fields) {
    let spec = set.part_or_new("spec");
    let strategy = spec.part_or_new("updateStrategy");
    strategy.set_if_zero("type", "RollingUpdate");
    if strategy.text("type") == "RollingUpdate" {
        let rolling = strategy.part_or_new("rollingUpdate");
        rolling.set_if_unset("maxUnavailable", 1);
        rolling.set_if_unset("maxSurge", 0);
    }
    spec.set_if_unset("revisionHistoryLimit", KEPT_REVISIONS);
    pods::template(spec.part_or_new("template"));
    let annotations = set.part_or_new("metadata").part_or_new("annotations");
    annotations.set_if_unset(TEMPLATE_GENERATION, "0");
    as_number(annotations, TEMPLATE_GENERATION);
}

/// Writes an annotation that once was a number as numbers are written.
fn as_number(annotations: &mut Fields, name: &str) {
    let text = annotations.text(name);
    if let Ok(number) = text.parse::<i64>()
        && text != number.to_string()
    {
        annotations.set(name, number.to_string());
    }
}

/// Fills in a `StatefulSet`.
pub(super) fn stateful_set(set: &mut Fields) {
    let spec = set.part_or_new("spec");
    spec.set_if_zero("podManagementPolicy", "OrderedReady");
    let strategy = spec.part_or_new("updateStrategy");
    if strategy.is_zero("type") {
        strategy.set("type", "RollingUpdate");
        strategy.part_or_new("rollingUpdate");
    }
    if strategy.text("type") == "RollingUpdate"
        && let Some(rolling) = strategy.part_mut("rollingUpdate")
    {
        rolling.set_if_unset("partition", 0);
    }
    let retention = spec.part_or_new("persistentVolumeClaimRetentionPolicy");
    retention.set_if_zero("whenDeleted", "Retain");
    retention.set_if_zero("whenScaled", "Retain");
    spec.set_if_unset("replicas", 1);
    spec.set_if_unset("revisionHistoryLimit", KEPT_REVISIONS);
    pods::template(spec.part_or_new("template"));
    for claim in spec.items_mut("volumeClaimTemplates") {
        volumes::claim(claim);
        claim.set("apiVersion", "v1");
        claim.set("kind", "PersistentVolumeClaim");
    }
}

/// Fills in a `ReplicationController`.
pub(super) fn replication_controller(controller: &mut Fields) {
    let spec = controller.part_or_new("spec");
    spec.set_if_unset("replicas", 1);
    let labels = spec.part("template").and_then(labels_of);
    if let Some(template) = spec.part_mut("template") {
        pods::template(template);
    }
    if let Some(labels) = labels {
        spec.set_if_zero("selector", labels.clone());
        controller.part_or_new("metadata").set_if_zero("labels", labels);
    }
}

fn labels_of(template: &Fields) -> Option<Value> {
    let labels = template.part("metadata")?.part("labels")?;
    (!labels.is_empty()).then(|| Value::Object(labels.clone()))
}

/// Fills in a Job.
pub(super) fn job(job: &mut Fields) {
    let spec = job.part_or_new("spec");
    job_spec(spec);
    spec.set_if_unset("suspend", false);
    spec.set_if_unset("completionMode", "NonIndexed");
    spec.set_if_unset("manualSelector", false);
    if spec.is_unset("completions") && spec.is_unset("parallelism") {
        spec.set("completions", 1);
    }
    spec.set_if_unset("parallelism", 1);
    let failures = if spec.is_unset("backoffLimitPerIndex") {
        6
    } else {
        i64::from(i32::MAX)
    };
    spec.set_if_unset("backoffLimit", failures);
    let replacement = if spec.is_unset("podFailurePolicy") {
        "TerminatingOrFailed"
    } else {
        "Failed"
    };
    spec.set_if_unset("podReplacementPolicy", replacement);
}

/// Fills in what a Job and the template of a `CronJob`'s Jobs have in common.
fn job_spec(spec: &mut Fields) {
    pods::template(spec.part_or_new("template"));
    if let Some(policy) = spec.part_mut("podFailurePolicy") {
        for rule in policy.items_mut("rules") {
            for pattern in rule.items_mut("onPodConditions") {
                pattern.set_if_zero("status", "True");
            }
        }
    }
}

/// Fills in a `CronJob`.
pub(super) fn cron_job(cron_job: &mut Fields) {
    let spec = cron_job.part_or_new("spec");
    spec.set_if_zero("concurrencyPolicy", "Allow");
    spec.set_if_unset("suspend", false);
    spec.set_if_unset("successfulJobsHistoryLimit", 3);
    spec.set_if_unset("failedJobsHistoryLimit", 1);
    job_spec(spec.part_or_new("jobTemplate").part_or_new("spec"));
}

/// Fills in a `PodTemplate`.
pub(super) fn pod_template(template: &mut Fields) {
    pods::template(template.part_or_new("template"));
}

/// Fills in a `HorizontalPodAutoscaler` of version 1; its processor is filled in when it is stored.
pub(super) fn autoscaler_v1(autoscaler: &mut Fields) {
    autoscaler.part_or_new("spec").set_if_unset("minReplicas", 1);
}

/// Annotations that carry what version 1 of an autoscaler has no fields for. Version 2 has, so it drops them.
pub(crate) const AUTOSCALER_ANNOTATIONS: [&str; 6] = [
    "autoscaling.alpha.kubernetes.io/metrics",
    "autoscaling.alpha.kubernetes.io/behavior",
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
    "autoscaling.alpha.kubernetes.io/current-metrics",
    "autoscaling.alpha.kubernetes.io/conditions",
];

/// Returns the metric that an autoscaler without any goes by.
pub(crate) fn processor_metric(percent: &Value) -> Value {
    json!({
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}},
    })
}

/// How busy processors are kept when nothing else is said, in percent.
pub(crate) const PROCESSOR_PERCENT: i64 = 80;

/// Fills in a `HorizontalPodAutoscaler` of version 2.
pub(super) fn autoscaler(autoscaler: &mut Fields) {
    if let Some(metadata) = autoscaler.part_mut("metadata")
        && let Some(annotations) = metadata.part_mut("annotations")
    {
        for name in AUTOSCALER_ANNOTATIONS {
            annotations.remove(name);
        }
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
    let spec = autoscaler.part_or_new("spec");
    spec.set_if_unset("minReplicas", 1);
    if spec.is_zero("metrics") {
        spec.set("metrics", vec![processor_metric(&PROCESSOR_PERCENT.into())]);
    }
    if let Some(behavior) = spec.part_mut("behavior") {
        let up = behavior.part_or_new("scaleUp");
        up.set_if_unset("stabilizationWindowSeconds", 0);
        up.set_if_unset("selectPolicy", "Max");
        if up.is_unset("policies") {
            up.set(
                "policies",
                json!([
                    {"type": "Pods", "value": 4, "periodSeconds": 15},
                    {"type": "Percent", "value": 100, "periodSeconds": 15},
                ]),
            );
        }
        let down = behavior.part_or_new("scaleDown");
        down.set_if_unset("selectPolicy", "Max");
        if down.is_unset("policies") {
            down.set(
                "policies",
                json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]),
            );
        }
    }
}
