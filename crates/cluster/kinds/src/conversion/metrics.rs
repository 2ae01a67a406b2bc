//! The metrics of an autoscaler, as version 2 has them in fields and version 1 in annotations.

use serde_json::{Value, json};

use super::go_json::Struct;
use crate::quantity::Quantity;
use crate::tree::{Fields, Tree};

/// The kinds of metrics, in the order in which version 1 writes them.
const KINDS: [&str; 5] = ["object", "pods", "resource", "containerResource", "external"];

/// Whether a metric is one that is wanted or one that was measured, and what its fields are called in version 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// In the spec.
    Wanted,
    /// In the status.
    Measured,
}

impl Role {
    /// Where version 2 has the numbers.
    const fn numbers(self) -> &'static str {
        match self {
            Self::Wanted => "target",
            Self::Measured => "current",
        }
    }

    const fn value(self) -> &'static str {
        match self {
            Self::Wanted => "targetValue",
            Self::Measured => "currentValue",
        }
    }

    const fn average_value(self) -> &'static str {
        match self {
            Self::Wanted => "targetAverageValue",
            Self::Measured => "currentAverageValue",
        }
    }

    const fn average_utilization(self) -> &'static str {
        match self {
            Self::Wanted => "targetAverageUtilization",
            Self::Measured => "currentAverageUtilization",
        }
    }
}

/// Returns the utilization of the processor that version 1 has a field for, if the metric is that.
pub(super) fn processor_utilization(metric: &Fields, role: Role) -> Option<&Value> {
    if metric.text("type") != "Resource" {
        return None;
    }
    let resource = metric
        .part("resource")
        .filter(|resource| resource.text("name") == "cpu")?;
    let utilization = resource.part(role.numbers())?.get("averageUtilization")?;
    (!utilization.is_null()).then_some(utilization)
}

/// Writes a metric as version 1 has it.
pub(super) fn written(metric: &Fields, role: Role) -> String {
    let mut whole = Struct::default().field("type", &json!(metric.text("type")));
    for kind in KINDS {
        if let Some(source) = metric.part(kind) {
            whole = whole.written(kind, &written_source(kind, source, role));
        }
    }
    whole.end()
}

fn written_source(kind: &str, source: &Fields, role: Role) -> String {
    let empty = Fields::new();
    let numbers = source.part(role.numbers()).unwrap_or(&empty);
    let metric = source.part("metric").unwrap_or(&empty);
    let nothing = json!("0");
    let name = json!(metric.text("name"));
    let selector = metric.part("selector").map(written_selector);
    let or_nothing = |field: &str| {
        numbers
            .get(field)
            .filter(|value| !value.is_null())
            .unwrap_or(&nothing)
    };
    let fields = Struct::default();
    match kind {
        "object" => fields
            .written("target", &written_reference(source.part("describedObject")))
            .field("metricName", &name)
            .field(role.value(), or_nothing("value"))
            .written_if_set("selector", selector)
            .field_if_set("averageValue", numbers.get("averageValue")),
        "pods" => fields
            .field("metricName", &name)
            .field(role.average_value(), or_nothing("averageValue"))
            .written_if_set("selector", selector),
        "external" => {
            let fields = fields
                .field("metricName", &name)
                .written_if_set("metricSelector", selector);
            let fields = match role {
                Role::Wanted => fields.field_if_set(role.value(), numbers.get("value")),
                Role::Measured => fields.field(role.value(), or_nothing("value")),
            };
            fields.field_if_set(role.average_value(), numbers.get("averageValue"))
        }
        _ => {
            let fields = fields
                .field("name", &json!(source.text("name")))
                .field_if_set(role.average_utilization(), numbers.get("averageUtilization"));
            let fields = match role {
                Role::Wanted => fields.field_if_set(role.average_value(), numbers.get("averageValue")),
                Role::Measured => fields.field(role.average_value(), or_nothing("averageValue")),
            };
            if kind == "containerResource" {
                fields.field("container", &json!(source.text("container")))
            } else {
                fields
            }
        }
    }
    .end()
}

fn written_reference(reference: Option<&Fields>) -> String {
    let empty = Fields::new();
    let reference = reference.unwrap_or(&empty);
    let version = reference.get("apiVersion").filter(|version| *version != "");
    Struct::default()
        .field("kind", &json!(reference.text("kind")))
        .field("name", &json!(reference.text("name")))
        .field_if_set("apiVersion", version)
        .end()
}

fn written_selector(selector: &Fields) -> String {
    let expressions = (!selector.is_zero("matchExpressions")).then(|| {
        super::go_json::list(selector.items("matchExpressions"), |requirement| {
            let values = requirement
                .get("values")
                .filter(|_| !requirement.is_zero("values"));
            Struct::default()
                .field("key", &json!(requirement.text("key")))
                .field("operator", &json!(requirement.text("operator")))
                .field_if_set("values", values)
                .end()
        })
    });
    let labels = selector
        .get("matchLabels")
        .filter(|_| !selector.is_zero("matchLabels"));
    Struct::default()
        .field_if_set("matchLabels", labels)
        .written_if_set("matchExpressions", expressions)
        .end()
}

/// Reads a metric as version 1 has it.
pub(super) fn read(metric: &Fields, role: Role) -> Value {
    let mut read = json!({"type": metric.text("type")});
    if let Some(fields) = read.as_object_mut() {
        for kind in KINDS {
            if let Some(source) = metric.part(kind) {
                fields.set(kind, read_source(kind, source, role));
            }
        }
    }
    read
}

fn read_source(kind: &str, source: &Fields, role: Role) -> Fields {
    let mut read = Fields::new();
    let mut numbers = Fields::new();
    let take = |numbers: &mut Fields, from: &str, to: &str| {
        if let Some(value) = source.get(from).filter(|value| !value.is_null()) {
            numbers.set(to, amount(value));
        }
    };
    let selector = if kind == "external" {
        "metricSelector"
    } else {
        "selector"
    };
    if matches!(kind, "object" | "pods" | "external") {
        let metric = read.part_or_new("metric");
        metric.set("name", source.text("metricName"));
        if let Some(selector) = source.part(selector) {
            metric.set("selector", selector.clone());
        }
    } else {
        read.set("name", source.text("name"));
    }
    match kind {
        "object" => {
            let target = source.part("target");
            let described = read.part_or_new("describedObject");
            for field in ["kind", "name"] {
                described.set(field, target.map_or("", |target| target.text(field)));
            }
            if let Some(version) = target.and_then(|target| target.get("apiVersion")) {
                described.set("apiVersion", version.clone());
            }
            take(&mut numbers, "averageValue", "averageValue");
            numbers.set("value", amount(source.get(role.value()).unwrap_or(&Value::Null)));
            // Version 1 can't leave the value out, so that of an average means nothing when it is 0.
            if role == Role::Wanted
                && numbers.contains_key("averageValue")
                && !Quantity::read(numbers.text("value")).is_set()
            {
                numbers.remove("value");
            }
        }
        "pods" => numbers.set(
            "averageValue",
            amount(source.get(role.average_value()).unwrap_or(&Value::Null)),
        ),
        "external" => {
            take(&mut numbers, role.average_value(), "averageValue");
            if role == Role::Measured || !source.is_unset(role.value()) {
                numbers.set("value", amount(source.get(role.value()).unwrap_or(&Value::Null)));
            }
        }
        _ => {
            if kind == "containerResource" {
                read.set("container", source.text("container"));
            }
            if let Some(percent) = source
                .get(role.average_utilization())
                .filter(|value| !value.is_null())
            {
                numbers.set("averageUtilization", percent.clone());
            }
            if role == Role::Measured || !source.is_unset(role.average_value()) {
                let average = source.get(role.average_value()).unwrap_or(&Value::Null);
                numbers.set("averageValue", amount(average));
            }
        }
    }
    if role == Role::Wanted {
        let target_type = match kind {
            "object" if !numbers.contains_key("averageValue") => "Value",
            "external" if numbers.contains_key("value") => "Value",
            "resource" | "containerResource" if numbers.contains_key("averageUtilization") => "Utilization",
            _ => "AverageValue",
        };
        numbers.set("type", target_type);
    }
    read.set(role.numbers(), numbers);
    read
}

/// Returns a quantity in the one form it is written in; nothing is 0.
fn amount(value: &Value) -> Value {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => "0".to_owned(),
    };
    bundle::rendering::quantity::canonical(&text)
        .unwrap_or(text)
        .into()
}
