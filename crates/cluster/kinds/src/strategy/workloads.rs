//! What the server decides about `DaemonSets` and Jobs.

use crate::defaults::TEMPLATE_GENERATION;
use crate::tree::{Fields, Tree, same};

/// Starts counting the changes of a `DaemonSet`'s template.
pub(super) fn start_template_generation(set: &mut Fields) {
    let generation = template_generation(set).max(1);
    set_template_generation(set, generation);
}

/// Counts a change of a `DaemonSet`'s template.
pub(super) fn raise_template_generation(new: &mut Fields, old: &Fields) {
    let template = |set: &'_ Fields| set.part("spec").and_then(|spec| spec.get("template").cloned());
    let mut generation = template_generation(old);
    if !same(template(new).as_ref(), template(old).as_ref()) {
        generation = generation.saturating_add(1);
    }
    set_template_generation(new, generation);
}

/// Keeps the count in a write to the status, to which it belongs as little as the template does.
pub(super) fn keep_template_generation(new: &mut Fields, old: &Fields) {
    set_template_generation(new, template_generation(old));
}

fn template_generation(set: &Fields) -> i64 {
    set.part("metadata")
        .and_then(|metadata| metadata.part("annotations"))
        .and_then(|annotations| annotations.text(TEMPLATE_GENERATION).parse().ok())
        .unwrap_or(0)
}

fn set_template_generation(set: &mut Fields, generation: i64) {
    set.part_or_new("metadata")
        .part_or_new("annotations")
        .set(TEMPLATE_GENERATION, generation.to_string());
}

/// Labels a Job without labels like its pods.
///
/// This is a default, but one that the labels which the server gives the pods are part of.
pub(super) fn label_job_like_its_pods(job: &mut Fields) {
    let labels = job
        .part("spec")
        .and_then(|spec| spec.part("template")?.part("metadata")?.get("labels"))
        .filter(|labels| labels.as_object().is_some_and(|labels| !labels.is_empty()))
        .cloned();
    if let Some(labels) = labels {
        job.part_or_new("metadata").set_if_zero("labels", labels);
    }
}

/// Labels a Job's pods with its name and uid and selects them by it, unless its author does that.
pub(super) fn select_pods_of_job(job: &mut Fields) {
    let metadata = job.part_or_new("metadata");
    let name = metadata.text("name").to_owned();
    let uid = metadata.text("uid").to_owned();
    let spec = job.part_or_new("spec");
    if spec.flag("manualSelector") {
        return;
    }
    let labels = spec
        .part_or_new("template")
        .part_or_new("metadata")
        .part_or_new("labels");
    for label in ["job-name", "batch.kubernetes.io/job-name"] {
        labels.set_if_unset(label, name.as_str());
    }
    for label in ["controller-uid", "batch.kubernetes.io/controller-uid"] {
        labels.set_if_unset(label, uid.as_str());
    }
    spec.part_or_new("selector")
        .part_or_new("matchLabels")
        .set_if_unset("batch.kubernetes.io/controller-uid", uid);
}
