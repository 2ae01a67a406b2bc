//! The rows of what a cluster is made of: nodes, events, quotas, priorities and the like.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cells::{Cells, at, items_at, number_at, or, quantity_text, text_at};

pub(super) fn config_map(cells: &Cells<'_>) -> Vec<Value> {
    let count = |path: &str| cells.count(path).as_u64().unwrap_or_default();
    vec![
        cells.name(),
        (count("data") + count("binaryData")).into(),
        cells.age(),
    ]
}

pub(super) fn secret(cells: &Cells<'_>) -> Vec<Value> {
    vec![cells.name(), cells.text("type"), cells.count("data"), cells.age()]
}

fn node_roles(node: &Value) -> String {
    const PREFIX: &str = "node-role.kubernetes.io/";
    let mut roles: BTreeSet<&str> = BTreeSet::new();
    for (key, value) in at(node, "metadata.labels")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let role = match key.strip_prefix(PREFIX) {
            Some(role) => role,
            None if key == "kubernetes.io/role" => value.as_str().unwrap_or_default(),
            None => continue,
        };
        if !role.is_empty() {
            roles.insert(role);
        }
    }
    or(&roles.into_iter().collect::<Vec<_>>().join(","), "<none>").to_owned()
}

pub(super) fn node(cells: &Cells<'_>) -> Vec<Value> {
    let node = cells.object();
    let ready = items_at(node, "status.conditions")
        .iter()
        .rfind(|condition| text_at(condition, "type") == "Ready");
    let mut status = match ready.map(|ready| text_at(ready, "status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if at(node, "spec.unschedulable").and_then(Value::as_bool) == Some(true) {
        status.push_str(",SchedulingDisabled");
    }
    let address = |address_type: &str| -> Value {
        let found = items_at(node, "status.addresses")
            .iter()
            .find(|address| text_at(address, "type") == address_type);
        found
            .map_or("<none>", |address| text_at(address, "address"))
            .into()
    };
    let mut kernel = or(text_at(node, "status.nodeInfo.kernelVersion"), "<unknown>").to_owned();
    let architecture = text_at(node, "status.nodeInfo.architecture");
    if !architecture.is_empty() {
        kernel = format!("{kernel} ({architecture})");
    }
    vec![
        cells.name(),
        status.into(),
        node_roles(node).into(),
        cells.age(),
        cells.text("status.nodeInfo.kubeletVersion"),
        address("InternalIP"),
        address("ExternalIP"),
        cells.text_or("status.nodeInfo.osImage", "<unknown>"),
        kernel.into(),
        cells.text_or("status.nodeInfo.containerRuntimeVersion", "<unknown>"),
    ]
}

pub(super) fn component_status(cells: &Cells<'_>) -> Vec<Value> {
    let healthy = items_at(cells.object(), "conditions")
        .iter()
        .find(|condition| text_at(condition, "type") == "Healthy");
    let status = match healthy.map(|condition| text_at(condition, "status")) {
        Some("True") => "Healthy",
        Some(_) => "Unhealthy",
        None => "Unknown",
    };
    let field = |name: &str| -> Value { healthy.map_or("", |condition| text_at(condition, name)).into() };
    vec![cells.name(), status.into(), field("message"), field("error")]
}

pub(super) fn event(cells: &Cells<'_>) -> Vec<Value> {
    let event = cells.object();
    // The core group and the events group have different names for the same fields.
    let either = |one: &str, other: &str| or(text_at(event, one), text_at(event, other));
    let first = either("firstTimestamp", "deprecatedFirstTimestamp");
    let first = cells.since_text(or(first, text_at(event, "eventTime")));
    let last = match either("lastTimestamp", "deprecatedLastTimestamp") {
        "" => first.clone(),
        last => cells.since_text(last),
    };
    let count = number_at(event, "count").max(number_at(event, "deprecatedCount"));
    let (last, count) = match at(event, "series") {
        Some(series) => (
            cells.since_text(text_at(series, "lastObservedTime")),
            number_at(series, "count"),
        ),
        None => (last, if count == 0 { 1 } else { count }),
    };
    let kind = either("involvedObject.kind", "regarding.kind").to_lowercase();
    let name = either("involvedObject.name", "regarding.name");
    let target = if name.is_empty() {
        kind
    } else {
        format!("{kind}/{name}")
    };
    let component = or(
        either("source.component", "deprecatedSource.component"),
        either("reportingComponent", "reportingController"),
    );
    let instance = or(
        either("source.host", "deprecatedSource.host"),
        text_at(event, "reportingInstance"),
    );
    let source = if instance.is_empty() {
        component.to_owned()
    } else {
        format!("{component}, {instance}")
    };
    vec![
        last.into(),
        cells.text("type"),
        cells.text("reason"),
        target.into(),
        either("involvedObject.fieldPath", "regarding.fieldPath").into(),
        source.into(),
        either("message", "note").trim().into(),
        first.into(),
        count.into(),
        cells.name(),
    ]
}

pub(super) fn resource_quota(cells: &Cells<'_>) -> Vec<Value> {
    let quota = cells.object();
    let (mut requests, mut limits): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let used = at(quota, "status.used");
    for (name, hard) in at(quota, "status.hard")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let used = quantity_text(used.and_then(|used| used.get(name)));
        let text = format!("{name}: {used}/{}", quantity_text(Some(hard)));
        let column = if name.starts_with("limits.") {
            &mut limits
        } else {
            &mut requests
        };
        column.push(text);
    }
    vec![
        cells.name(),
        requests.join(", ").into(),
        limits.join(", ").into(),
        cells.age(),
    ]
}

pub(super) fn api_service(cells: &Cells<'_>) -> Vec<Value> {
    let service = at(cells.object(), "spec.service").map_or("Local".to_owned(), |service| {
        format!("{}/{}", text_at(service, "namespace"), text_at(service, "name"))
    });
    let available = items_at(cells.object(), "status.conditions")
        .iter()
        .find(|condition| text_at(condition, "type") == "Available");
    let available = available.map_or("Unknown".to_owned(), |condition| {
        match (text_at(condition, "status"), text_at(condition, "reason")) {
            (status, reason) if status != "True" && !reason.is_empty() => format!("{status} ({reason})"),
            (status, _) => status.to_owned(),
        }
    });
    vec![cells.name(), service.into(), available.into(), cells.age()]
}

pub(super) fn priority_class(cells: &Cells<'_>) -> Vec<Value> {
    vec![
        cells.name(),
        cells.number("value"),
        cells.boolean("globalDefault", false),
        cells.age(),
        cells.text("preemptionPolicy"),
    ]
}

pub(super) fn resource_claim(cells: &Cells<'_>) -> Vec<Value> {
    let claim = cells.object();
    let mut states = Vec::new();
    if cells.is_deleted() {
        states.push("deleted");
    }
    if at(claim, "status.allocation").is_some() {
        states.push("allocated");
        if !items_at(claim, "status.reservedFor").is_empty() {
            states.push("reserved");
        }
    } else if !cells.is_deleted() {
        states.push("pending");
    }
    vec![cells.name(), states.join(",").into(), cells.age()]
}

pub(super) fn resource_slice(cells: &Cells<'_>) -> Vec<Value> {
    vec![
        cells.name(),
        cells.text("spec.nodeName"),
        cells.text("spec.driver"),
        cells.text("spec.pool.name"),
        cells.age(),
    ]
}

pub(super) fn flow_schema(cells: &Cells<'_>) -> Vec<Value> {
    let schema = cells.object();
    let dangling = items_at(schema, "status.conditions")
        .iter()
        .find(|condition| text_at(condition, "type") == "Dangling");
    let distinguisher =
        at(schema, "spec.distinguisherMethod").map_or("<none>", |method| text_at(method, "type"));
    vec![
        cells.name(),
        cells.text("spec.priorityLevelConfiguration.name"),
        cells.number("spec.matchingPrecedence"),
        distinguisher.into(),
        cells.age(),
        dangling
            .map_or("?", |condition| text_at(condition, "status"))
            .into(),
    ]
}

pub(super) fn priority_level(cells: &Cells<'_>) -> Vec<Value> {
    let level = cells.object();
    let none = || Value::from("<none>");
    let limited = at(level, "spec.limited");
    let queuing = limited.and_then(|limited| at(limited, "limitResponse.queuing"));
    let queues = |field: &str| queuing.map_or_else(none, |queuing| number_at(queuing, field).into());
    vec![
        cells.name(),
        cells.text("spec.type"),
        limited.map_or_else(none, |limited| {
            number_at(limited, "nominalConcurrencyShares").into()
        }),
        queues("queues"),
        queues("handSize"),
        queues("queueLengthLimit"),
        cells.age(),
    ]
}
