//! The rows of what makes pods: Deployments, Jobs and the like.

use jiff::Timestamp;
use serde_json::Value;

use super::cells::{Cells, at, human_duration, items_at, number_at, printed_selector, text_at};

const TEMPLATE_CONTAINERS: &str = "spec.template.spec.containers";

pub(super) fn pod_template(cells: &Cells<'_>) -> Vec<Value> {
    let [names, images] = cells.containers("template.spec.containers");
    vec![
        cells.name(),
        names,
        images,
        cells.labels("template.metadata.labels"),
    ]
}

pub(super) fn replication_controller(cells: &Cells<'_>) -> Vec<Value> {
    let mut out = replicas(cells);
    out.push(cells.labels("spec.selector"));
    out
}

pub(super) fn replica_set(cells: &Cells<'_>) -> Vec<Value> {
    let mut out = replicas(cells);
    out.push(cells.selector("spec.selector"));
    out
}

fn replicas(cells: &Cells<'_>) -> Vec<Value> {
    let [names, images] = cells.containers(TEMPLATE_CONTAINERS);
    vec![
        cells.name(),
        cells.number("spec.replicas"),
        cells.number("status.replicas"),
        cells.number("status.readyReplicas"),
        cells.age(),
        names,
        images,
    ]
}

/// Returns how many replicas are ready, of how many.
fn ready(cells: &Cells<'_>) -> Value {
    let (ready, wanted) = (
        number_at(cells.object(), "status.readyReplicas"),
        number_at(cells.object(), "spec.replicas"),
    );
    format!("{ready}/{wanted}").into()
}

pub(super) fn deployment(cells: &Cells<'_>) -> Vec<Value> {
    let [names, images] = cells.containers(TEMPLATE_CONTAINERS);
    let selector = at(cells.object(), "spec.selector");
    let selector = selector.map_or(Some(String::new()), printed_selector);
    vec![
        cells.name(),
        ready(cells),
        cells.number("status.updatedReplicas"),
        cells.number("status.availableReplicas"),
        cells.age(),
        names,
        images,
        selector.unwrap_or_else(|| "<invalid>".to_owned()).into(),
    ]
}

pub(super) fn stateful_set(cells: &Cells<'_>) -> Vec<Value> {
    let [names, images] = cells.containers(TEMPLATE_CONTAINERS);
    vec![cells.name(), ready(cells), cells.age(), names, images]
}

pub(super) fn daemon_set(cells: &Cells<'_>) -> Vec<Value> {
    let [names, images] = cells.containers(TEMPLATE_CONTAINERS);
    vec![
        cells.name(),
        cells.number("status.desiredNumberScheduled"),
        cells.number("status.currentNumberScheduled"),
        cells.number("status.numberReady"),
        cells.number("status.updatedNumberScheduled"),
        cells.number("status.numberAvailable"),
        cells.labels("spec.template.spec.nodeSelector"),
        cells.age(),
        names,
        images,
        cells.selector("spec.selector"),
    ]
}

pub(super) fn controller_revision(cells: &Cells<'_>) -> Vec<Value> {
    let controller = items_at(cells.object(), "metadata.ownerReferences")
        .iter()
        .find(|owner| at(owner, "controller").and_then(Value::as_bool) == Some(true));
    let name = controller.map_or("<none>".to_owned(), |owner| {
        let kind = text_at(owner, "kind").to_lowercase();
        let name = text_at(owner, "name");
        match text_at(owner, "apiVersion").split_once('/') {
            Some((group, _)) => format!("{kind}.{}/{name}", group.to_lowercase()),
            None => format!("{kind}/{name}"),
        }
    });
    vec![cells.name(), name.into(), cells.number("revision"), cells.age()]
}

pub(super) fn job(cells: &Cells<'_>) -> Vec<Value> {
    let job = cells.object();
    let succeeded = number_at(job, "status.succeeded");
    let completions = match at(job, "spec.completions").and_then(Value::as_i64) {
        Some(completions) => format!("{succeeded}/{completions}"),
        None => match number_at(job, "spec.parallelism") {
            parallelism if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
            _ => format!("{succeeded}/1"),
        },
    };
    let duration = match text_at(job, "status.startTime").parse::<Timestamp>() {
        Err(_) => String::new(),
        Ok(start) => {
            let end = text_at(job, "status.completionTime")
                .parse()
                .unwrap_or(cells.now());
            human_duration(end.as_second() - start.as_second())
        }
    };
    let has = |condition_type: &str| {
        items_at(job, "status.conditions")
            .iter()
            .find(|condition| text_at(condition, "type") == condition_type)
            .is_some_and(|condition| text_at(condition, "status") == "True")
    };
    let status = if has("Complete") {
        "Complete"
    } else if has("Failed") {
        "Failed"
    } else if cells.is_deleted() {
        "Terminating"
    } else {
        ["Suspended", "FailureTarget", "SuccessCriteriaMet"]
            .into_iter()
            .find(|one| has(one))
            .unwrap_or("Running")
    };
    let [names, images] = cells.containers(TEMPLATE_CONTAINERS);
    vec![
        cells.name(),
        status.into(),
        completions.into(),
        duration.into(),
        cells.age(),
        names,
        images,
        cells.selector("spec.selector"),
    ]
}

pub(super) fn cron_job(cells: &Cells<'_>) -> Vec<Value> {
    let job = cells.object();
    let suspend = match at(job, "spec.suspend").and_then(Value::as_bool) {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    let last = if at(job, "status.lastScheduleTime").is_some() {
        cells.since("status.lastScheduleTime")
    } else {
        "<none>".to_owned()
    };
    let [names, images] = cells.containers("spec.jobTemplate.spec.template.spec.containers");
    vec![
        cells.name(),
        cells.text("spec.schedule"),
        at(job, "spec.timeZone").map_or("<none>".into(), Value::clone),
        suspend.into(),
        cells.count("status.active"),
        last.into(),
        cells.age(),
        names,
        images,
        cells.selector("spec.jobTemplate.spec.selector"),
    ]
}

pub(super) fn pod_disruption_budget(cells: &Cells<'_>) -> Vec<Value> {
    let limit = |path: &str| -> Value {
        match at(cells.object(), path) {
            Some(Value::String(text)) => text.clone().into(),
            Some(other) => other.to_string().into(),
            None => "N/A".into(),
        }
    };
    vec![
        cells.name(),
        limit("spec.minAvailable"),
        limit("spec.maxUnavailable"),
        cells.number("status.disruptionsAllowed"),
        cells.age(),
    ]
}
