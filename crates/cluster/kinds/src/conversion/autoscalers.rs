//! Autoscalers: version 1 has a field for the utilization of the processor and annotations for all else.

use serde_json::{Value, json};

use super::go_json::{self, Struct};
use super::metrics::{self, Role};
use crate::defaults::{AUTOSCALER_ANNOTATIONS, PROCESSOR_PERCENT, processor_metric};
use crate::tree::{Fields, Tree};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

/// Makes an autoscaler of version 2 one of version 1.
pub(super) fn to_first(autoscaler: &mut Fields) {
    drop_annotations(autoscaler);
    let mut annotations: Vec<(&str, String)> = Vec::new();
    if let Some(spec) = autoscaler.part_mut("spec") {
        let mut others = Vec::new();
        let mut percent = None;
        for metric in spec.items("metrics") {
            match metrics::processor_utilization(metric, Role::Wanted) {
                Some(utilization) => percent = percent.or_else(|| Some(utilization.clone())),
                None => others.push(metrics::written(metric, Role::Wanted)),
            }
        }
        if !others.is_empty() {
            annotations.push((METRICS, go_json::list(others, |metric| metric)));
        }
        if let Some(behavior) = spec.part("behavior") {
            annotations.push((BEHAVIOR, written_behavior(behavior)));
        }
        spec.remove("metrics");
        spec.remove("behavior");
        if let Some(percent) = percent {
            spec.set("targetCPUUtilizationPercentage", percent);
        }
    }
    let status = autoscaler.part_or_new("status");
    let current: Vec<String> = status
        .items("currentMetrics")
        .map(|metric| metrics::written(metric, Role::Measured))
        .collect();
    let percent = status
        .items("currentMetrics")
        .filter_map(|metric| metrics::processor_utilization(metric, Role::Measured))
        .last()
        .cloned();
    if !current.is_empty() {
        annotations.push((CURRENT_METRICS, go_json::list(current, |metric| metric)));
    }
    if !status.is_zero("conditions") {
        let conditions = go_json::list(status.items("conditions"), written_condition);
        annotations.push((CONDITIONS, conditions));
    }
    status.remove("currentMetrics");
    status.remove("conditions");
    status.set_if_unset("currentReplicas", 0);
    status.set_if_unset("desiredReplicas", 0);
    if let Some(percent) = percent {
        status.set("currentCPUUtilizationPercentage", percent);
    }
    if !annotations.is_empty() {
        let all = autoscaler.part_or_new("metadata").part_or_new("annotations");
        for (name, text) in annotations {
            all.set(name, text);
        }
    }
}

/// Writes the behavior, whose fields have the names that Go's code gives them.
fn written_behavior(behavior: &Fields) -> String {
    let rules = |name: &str| {
        behavior
            .part(name)
            .map_or_else(|| "null".to_owned(), written_rules)
    };
    Struct::default()
        .written("ScaleUp", &rules("scaleUp"))
        .written("ScaleDown", &rules("scaleDown"))
        .end()
}

fn written_rules(rules: &Fields) -> String {
    let value = |name: &str| rules.get(name).unwrap_or(&Value::Null);
    let policies = if rules.is_unset("policies") {
        "null".to_owned()
    } else {
        go_json::list(rules.items("policies"), |policy| {
            Struct::default()
                .field("Type", &json!(policy.text("type")))
                .field("Value", &json!(policy.number("value")))
                .field("PeriodSeconds", &json!(policy.number("periodSeconds")))
                .end()
        })
    };
    Struct::default()
        .field("StabilizationWindowSeconds", value("stabilizationWindowSeconds"))
        .field("SelectPolicy", value("selectPolicy"))
        .written("Policies", &policies)
        .field("Tolerance", value("tolerance"))
        .end()
}

fn written_condition(condition: &Fields) -> String {
    let text = |name: &str| condition.get(name).filter(|_| !condition.is_zero(name));
    let time = condition.get("lastTransitionTime").unwrap_or(&Value::Null);
    Struct::default()
        .field("type", &json!(condition.text("type")))
        .field("status", &json!(condition.text("status")))
        .field("lastTransitionTime", time)
        .field_if_set("reason", text("reason"))
        .field_if_set("message", text("message"))
        .end()
}

/// Makes an autoscaler of version 1 one of version 2.
pub(super) fn to_second(autoscaler: &mut Fields) {
    let annotations = autoscaler
        .part("metadata")
        .and_then(|metadata| metadata.part("annotations"))
        .cloned()
        .unwrap_or_default();
    let read = |name: &str| -> Option<Value> { serde_json::from_str(annotations.get(name)?.as_str()?).ok() };
    let spec = autoscaler.part_or_new("spec");
    let mut wanted: Vec<Value> = match read(METRICS) {
        Some(Value::Array(all)) => all
            .iter()
            .filter_map(Value::as_object)
            .map(|metric| metrics::read(metric, Role::Wanted))
            .collect(),
        _ => Vec::new(),
    };
    if let Some(percent) = spec
        .remove("targetCPUUtilizationPercentage")
        .filter(|percent| !percent.is_null())
    {
        wanted.push(processor_metric(&percent));
    }
    if wanted.is_empty() {
        wanted.push(processor_metric(&PROCESSOR_PERCENT.into()));
    }
    spec.set("metrics", wanted);
    if let Some(Value::Object(behavior)) = read(BEHAVIOR) {
        let behavior = read_behavior(&behavior);
        if !behavior.is_empty() {
            spec.set("behavior", behavior);
        }
    }
    let status = autoscaler.part_or_new("status");
    let percent = status.remove("currentCPUUtilizationPercentage");
    if let Some(percent) = percent.filter(|percent| !percent.is_null()) {
        let current = json!([{
            "type": "Resource",
            "resource": {"name": "cpu", "current": {"averageUtilization": percent}},
        }]);
        status.set("currentMetrics", current);
    }
    if let Some(Value::Array(all)) = read(CURRENT_METRICS) {
        let current: Vec<Value> = all
            .iter()
            .filter_map(Value::as_object)
            .map(|metric| metrics::read(metric, Role::Measured))
            .collect();
        status.set("currentMetrics", current);
    }
    if let Some(conditions @ Value::Array(_)) = read(CONDITIONS) {
        status.set("conditions", conditions);
    }
    if !status.contains_key("currentMetrics") {
        status.set("currentMetrics", Value::Null);
    }
    if status.is_zero("currentReplicas") {
        status.remove("currentReplicas");
    }
    status.set_if_unset("desiredReplicas", 0);
    drop_annotations(autoscaler);
}

/// Returns a field whose name may be written in any case, as Go reads it.
fn in_any_case<'a>(fields: &'a Fields, name: &str) -> Option<&'a Value> {
    let value = fields.get(name).or_else(|| {
        fields
            .iter()
            .find(|(written, _)| written.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    })?;
    (!value.is_null()).then_some(value)
}

fn read_behavior(behavior: &Fields) -> Fields {
    let mut read = Fields::new();
    for name in ["scaleUp", "scaleDown"] {
        if let Some(rules) = in_any_case(behavior, name).and_then(Value::as_object) {
            let mut made = Fields::new();
            for field in ["stabilizationWindowSeconds", "selectPolicy", "tolerance"] {
                if let Some(value) = in_any_case(rules, field) {
                    made.set(field, value.clone());
                }
            }
            if let Some(policies) = in_any_case(rules, "policies").and_then(Value::as_array) {
                let policies: Vec<Value> = policies
                    .iter()
                    .filter_map(Value::as_object)
                    .map(read_policy)
                    .collect();
                made.set("policies", policies);
            }
            read.set(name, made);
        }
    }
    read
}

fn read_policy(policy: &Fields) -> Value {
    let number = |name: &str| {
        in_any_case(policy, name)
            .and_then(Value::as_i64)
            .unwrap_or_default()
    };
    let kind = in_any_case(policy, "type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    json!({"type": kind, "value": number("value"), "periodSeconds": number("periodSeconds")})
}

fn drop_annotations(autoscaler: &mut Fields) {
    let Some(metadata) = autoscaler.part_mut("metadata") else {
        return;
    };
    if let Some(annotations) = metadata.part_mut("annotations") {
        for name in AUTOSCALER_ANNOTATIONS {
            annotations.remove(name);
        }
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}
