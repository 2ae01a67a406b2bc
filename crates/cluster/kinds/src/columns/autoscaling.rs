//! The row of a `HorizontalPodAutoscaler`: what is measured, and what it should be.

use serde_json::{Value, json};

use super::cells::{Cells, at, items_at, quantity_text, text_at};

const UNKNOWN: &str = "<unknown>";

/// How many metrics are shown.
const SHOWN: usize = 2;

pub(super) fn horizontal_pod_autoscaler(cells: &Cells<'_>) -> Vec<Value> {
    let autoscaler = cells.object();
    let reference = format!(
        "{}/{}",
        text_at(autoscaler, "spec.scaleTargetRef.kind"),
        text_at(autoscaler, "spec.scaleTargetRef.name")
    );
    let least = at(autoscaler, "spec.minReplicas").map_or("<unset>".to_owned(), Value::to_string);
    vec![
        cells.name(),
        reference.into(),
        metrics(autoscaler).into(),
        least.into(),
        cells.number("spec.maxReplicas"),
        cells.number("status.currentReplicas"),
        cells.age(),
    ]
}

fn metrics(autoscaler: &Value) -> String {
    // The first version of the kind knows the use of the processor only.
    let old_target = at(autoscaler, "spec.targetCPUUtilizationPercentage").map(|percent| {
        json!({"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": percent}}})
    });
    let old_current = at(autoscaler, "status.currentCPUUtilizationPercentage")
        .map(|percent| json!({"resource": {"current": {"averageUtilization": percent}}}));
    let targets: Vec<&Value> = items_at(autoscaler, "spec.metrics")
        .iter()
        .chain(&old_target)
        .collect();
    let currents: Vec<&Value> = items_at(autoscaler, "status.currentMetrics")
        .iter()
        .chain(&old_current)
        .collect();
    if targets.is_empty() {
        return "<none>".to_owned();
    }
    let texts: Vec<String> = targets
        .iter()
        .enumerate()
        .map(|(index, target)| metric(target, currents.get(index).copied()))
        .collect();
    let shown = texts.get(..SHOWN).unwrap_or(&texts).join(", ");
    if texts.len() > SHOWN {
        format!("{shown} + {} more...", texts.len() - SHOWN)
    } else {
        shown
    }
}

/// Returns what a metric is, and what it should be.
fn metric(target: &Value, current: Option<&Value>) -> String {
    let source = match text_at(target, "type") {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let spec = target.get(source).unwrap_or(&Value::Null);
    let current = current
        .and_then(|current| at(current, source))
        .map(|status| at(status, "current"));
    let measured = |field: &str| current.map(|current| current.and_then(|current| at(current, field)));
    // A status without the value is a quantity of nothing for upstream, where the value isn't a pointer.
    let quantity = |field: &str| measured(field).map_or(UNKNOWN.to_owned(), quantity_text);
    let present_quantity = |field: &str| {
        measured(field)
            .flatten()
            .map_or(UNKNOWN.to_owned(), |value| quantity_text(Some(value)))
    };
    let average = at(spec, "target.averageValue");
    match source {
        "pods" => format!("{}/{}", quantity("averageValue"), quantity_text(average)),
        "resource" | "containerResource" => {
            let name = text_at(spec, "name");
            if average.is_some() {
                return format!("{name}: {}/{}", quantity("averageValue"), quantity_text(average));
            }
            let percent = |value: Option<&Value>, otherwise: &str| match value {
                Some(value) => format!("{}%", value.as_i64().unwrap_or_default()),
                None => otherwise.to_owned(),
            };
            format!(
                "{name}: {}/{}",
                percent(measured("averageUtilization").flatten(), UNKNOWN),
                percent(at(spec, "target.averageUtilization"), "<auto>")
            )
        }
        _ if average.is_some() => format!(
            "{}/{} (avg)",
            present_quantity("averageValue"),
            quantity_text(average)
        ),
        _ => format!(
            "{}/{}",
            quantity("value"),
            quantity_text(at(spec, "target.value"))
        ),
    }
}
