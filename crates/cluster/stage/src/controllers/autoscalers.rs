//! `HorizontalPodAutoscalers`: what they say about their target, and the bounds they keep it in.
//!
//! Nothing measures Pods here, so that no metric can be read; as on a cluster without a metrics server, the status says so.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::conditions;
use super::disruption::go_selector;
use super::work::{Affected, Controller, Item, Next, itself};
use crate::api::Place;
use crate::client::{Client, Named};
use crate::events::{Note, Reporter};
use crate::object::{Object, map_of, timestamp};
use crate::status::Status;
use crate::store::ResourceKey;

/// The resource of `HorizontalPodAutoscalers`.
pub const AUTOSCALERS: Named<'static> = ("autoscaling", "horizontalpodautoscalers");

/// How often an autoscaler looks at its target.
const PERIOD: Duration = Duration::from_secs(15);

/// Keeps the status of autoscalers, and their targets within bounds.
#[derive(Debug)]
pub struct Autoscalers {
    reporter: Reporter,
}

impl Default for Autoscalers {
    fn default() -> Self {
        Self {
            reporter: Reporter::controller("horizontal-pod-autoscaler"),
        }
    }
}

impl Controller for Autoscalers {
    const NAME: &'static str = "horizontal-pod-autoscaler";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![(ResourceKey::new(AUTOSCALERS.0, AUTOSCALERS.1), itself)]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(scaler) = client.get(AUTOSCALERS, &item.namespace, &item.name)? else {
            return Ok(Next::Wait);
        };
        let target = scale_of(client, &scaler).await;
        let scale = match &target {
            Ok((_, scale)) => Ok(scale),
            Err(why) => Err(why.as_str()),
        };
        let mut plan = decide(&scaler, scale, Timestamp::now());
        if let (Some(replicas), Ok((place, _))) = (plan.rescale, &target) {
            let written = client.rescale(place, replicas).await;
            finish_rescale(
                &mut plan,
                replicas,
                written.map_err(|refusal| refusal.to_string()),
                Timestamp::now(),
            );
        }
        self.reporter.tell(client, &scaler, &plan.notes);
        if plan.scaler != scaler {
            client.update_status(AUTOSCALERS, plan.scaler).await?;
        }
        Ok(Next::After(PERIOD))
    }
}

/// Returns where the target of an autoscaler is, and its scale.
async fn scale_of(client: &Client, scaler: &Value) -> Result<(Place, Value), String> {
    let target = &scaler["spec"]["scaleTargetRef"];
    let text = |name: &str| target[name].as_str().unwrap_or_default();
    let served = client.api().resources.now();
    let (group, version) = crate::resource::split_api_version(text("apiVersion"));
    let Some(resource) = served.of_kind(text("apiVersion"), text("kind")) else {
        let group = if group.is_empty() {
            String::new()
        } else {
            format!(".{group}")
        };
        return Err(format!(
            "unable to determine resource for scale target reference: no matches for kind \"{}\" in group \"{}\"",
            text("kind"),
            group.trim_start_matches('.')
        )
        .replace("in group \"\"", &format!("in version \"{version}\"")));
    };
    let place = Place {
        resource: resource.clone(),
        namespace: scaler.namespace().to_owned(),
        name: text("name").to_owned(),
        subresource: String::new(),
    };
    if resource.subresource("scale").is_none() {
        return Err("the server could not find the requested resource".to_owned());
    }
    let scale = client
        .api()
        .scale(&place)
        .await
        .map_err(|refusal| refusal.to_string())?;
    Ok((place, scale))
}

/// What has to be done.
#[derive(Debug)]
struct Plan {
    scaler: Value,
    rescale: Option<i64>,
    reason: &'static str,
    notes: Vec<Note>,
}

fn decide(scaler: &Value, scale: Result<&Value, &str>, now: Timestamp) -> Plan {
    let mut plan = Plan {
        scaler: scaler.clone(),
        rescale: None,
        reason: "",
        notes: Vec::new(),
    };
    let status = map_of(map_of(&mut plan.scaler).entry("status").or_insert(Value::Null));
    status.entry("currentMetrics").or_insert(Value::Null);
    status.entry("desiredReplicas").or_insert_with(|| 0.into());
    let scale = match scale {
        Ok(scale) => scale,
        Err(why) => {
            plan.notes.push(Note::warning("FailedGetScale", why));
            let text = format!("the HPA controller was unable to get the target's current scale: {why}");
            plan.set("AbleToScale", "False", "FailedGetScale", &text, now);
            return plan;
        }
    };
    let text = "the HPA controller was able to get the target's current scale";
    plan.set("AbleToScale", "True", "SucceededGetScale", text, now);
    let current = scale["spec"]["replicas"].as_i64().unwrap_or(0);
    let least = scaler["spec"]["minReplicas"].as_i64().unwrap_or(1);
    let most = scaler["spec"]["maxReplicas"].as_i64().unwrap_or(1);
    let desired = if current == 0 && least != 0 {
        let text = "scaling is disabled since the replica count of the target is zero";
        plan.set("ScalingActive", "False", "ScalingDisabled", text, now);
        0
    } else if current > most {
        plan.reason = "Current number of replicas above Spec.MaxReplicas";
        most
    } else if current < least {
        plan.reason = "Current number of replicas below Spec.MinReplicas";
        least
    } else {
        measure(&mut plan, scaler, scale, current, now);
        return plan;
    };
    let status = map_of(map_of(&mut plan.scaler).entry("status").or_insert(Value::Null));
    status.insert("desiredReplicas".into(), desired.into());
    set_current(&mut plan.scaler, current, Value::Null);
    if desired == current {
        let text = "recommended size matches current size";
        plan.set("AbleToScale", "True", "ReadyForNewScale", text, now);
    } else {
        plan.rescale = Some(desired);
    }
    plan
}

fn set_current(scaler: &mut Value, current: i64, metrics: Value) {
    let status = map_of(map_of(scaler).entry("status").or_insert(Value::Null));
    conditions::set_count(status, "currentReplicas", current);
    status.insert("currentMetrics".into(), metrics);
}

/// Says how it went with the new size of the target.
fn finish_rescale(plan: &mut Plan, replicas: i64, written: Result<(), String>, now: Timestamp) {
    let reason = plan.reason;
    match written {
        Ok(()) => {
            let text = format!("the HPA controller was able to update the target scale to {replicas}");
            plan.set("AbleToScale", "True", "SucceededRescale", &text, now);
            let text = format!("New size: {replicas}; reason: {reason}");
            plan.notes.push(Note::normal("SuccessfulRescale", text));
            let status = map_of(map_of(&mut plan.scaler).entry("status").or_insert(Value::Null));
            status.insert("lastScaleTime".into(), timestamp(now).into());
        }
        Err(why) => {
            let text = format!("New size: {replicas}; reason: {reason}; error: {why}");
            plan.notes.push(Note::warning("FailedRescale", text));
            let text = format!("the HPA controller was unable to update the target scale: {why}");
            plan.set("AbleToScale", "False", "FailedUpdateScale", &text, now);
        }
    }
}

/// Says that no metric of the autoscaler can be read.
fn measure(plan: &mut Plan, scaler: &Value, scale: &Value, current: i64, now: Timestamp) {
    if scale["status"]["selector"].as_str().is_none_or(str::is_empty) {
        plan.notes
            .push(Note::warning("SelectorRequired", "selector is required"));
        let text = "the HPA target's scale is missing a selector";
        plan.set("ScalingActive", "False", "InvalidSelector", text, now);
        return;
    }
    let metrics = scaler["spec"]["metrics"].as_array().cloned().unwrap_or_default();
    let failures: Vec<Failure> = metrics.iter().map(|metric| failure(scaler, metric)).collect();
    for failure in &failures {
        plan.notes.push(Note::warning(failure.reason, &*failure.told));
    }
    let unread: Vec<Value> = metrics.iter().map(|_| json!({"type": ""})).collect();
    let unread = if unread.is_empty() {
        Value::Null
    } else {
        unread.into()
    };
    set_current(&mut plan.scaler, current, unread);
    if let Some(first) = failures.first() {
        let text = format!("the HPA was unable to compute the replica count: {}", first.told);
        plan.set("ScalingActive", "False", first.reason, &text, now);
        let text = format!(
            "invalid metrics ({0} invalid out of {0}), first error is: {1}",
            failures.len(),
            first.whole
        );
        plan.notes
            .push(Note::warning("FailedComputeMetricsReplicas", text));
    }
}

/// Why a metric can't be read.
struct Failure {
    reason: &'static str,
    told: String,
    whole: String,
}

fn failure(scaler: &Value, metric: &Value) -> Failure {
    const NO_RESOURCE_METRICS: &str = "unable to fetch metrics from resource metrics API: the server could not find the \
                                       requested resource (get pods.metrics.k8s.io)";
    const NO_CUSTOM_METRICS: &str = "unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered";
    let kind = metric["type"].as_str().unwrap_or_default();
    let of = |part: &str, name: &str| metric[part][name].as_str().unwrap_or_default().to_owned();
    let measured = |part: &str| {
        let name = of(part, "name");
        let what = if metric[part]["target"]["averageUtilization"].is_null() {
            "usage"
        } else {
            "utilization"
        };
        format!(
            "failed to get {name} {what}: unable to get metrics for resource {name}: {NO_RESOURCE_METRICS}"
        )
    };
    match kind {
        "Resource" => {
            let told = measured("resource");
            let whole = format!(
                "failed to get {} resource metric value: {told}",
                of("resource", "name")
            );
            Failure {
                reason: "FailedGetResourceMetric",
                told,
                whole,
            }
        }
        "ContainerResource" => {
            let told = measured("containerResource");
            let container = of("containerResource", "container");
            let whole = format!("failed to get {container} container metric value: {told}");
            Failure {
                reason: "FailedGetContainerResourceMetric",
                told,
                whole,
            }
        }
        "Pods" => {
            let name = metric["pods"]["metric"]["name"].as_str().unwrap_or_default();
            let told = format!("unable to get metric {name}: {NO_CUSTOM_METRICS}");
            let whole = format!("failed to get pods metric value: {told}");
            Failure {
                reason: "FailedGetPodsMetric",
                told,
                whole,
            }
        }
        "Object" => {
            let object = &metric["object"];
            let name = object["metric"]["name"].as_str().unwrap_or_default();
            let described = &object["describedObject"];
            let told = format!(
                "unable to get metric {name}: {} on {} {}/{NO_CUSTOM_METRICS}",
                described["kind"].as_str().unwrap_or_default(),
                scaler.namespace(),
                described["name"].as_str().unwrap_or_default(),
            );
            let whole = if object["target"]["averageValue"].is_null() {
                format!("failed to get object metric value: {told}")
            } else {
                format!("failed to get object metric value: failed to get {name} object metric: {told}")
            };
            Failure {
                reason: "FailedGetObjectMetric",
                told,
                whole,
            }
        }
        _ => {
            let external = &metric["external"];
            let name = external["metric"]["name"].as_str().unwrap_or_default();
            let selector = &external["metric"]["selector"];
            let selector = if selector.is_null() {
                "nil".to_owned()
            } else {
                go_selector(selector)
            };
            let told = format!(
                "unable to get external metric {}/{name}/{selector}: unable to fetch metrics from external metrics API: \
                 the server could not find the requested resource (get {name}.external.metrics.k8s.io)",
                scaler.namespace(),
            );
            let step = if external["target"]["averageValue"].is_null() {
                format!("failed to get external metric {name}")
            } else {
                format!("failed to get {name} external metric")
            };
            let whole = format!("failed to get {name} external metric value: {step}: {told}");
            Failure {
                reason: "FailedGetExternalMetric",
                told,
                whole,
            }
        }
    }
}

impl Plan {
    fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str, now: Timestamp) {
        let state = map_of(&mut self.scaler).entry("status").or_insert(Value::Null);
        let changed = conditions::find(state, kind)
            .filter(|one| one["status"] == status)
            .map_or_else(
                || Value::from(timestamp(now)),
                |one| one["lastTransitionTime"].clone(),
            );
        let condition = json!({"type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": changed});
        match map_of(state).get_mut("conditions").and_then(Value::as_array_mut) {
            Some(all) => match all.iter_mut().find(|one| one["type"] == kind) {
                Some(one) => *one = condition,
                None => all.push(condition),
            },
            None => conditions::put(state, condition),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaler(metric: Value) -> Value {
        json!({"metadata": {"name": "h", "namespace": "n"},
            "spec": {"minReplicas": 1, "maxReplicas": 3, "metrics": [metric]}})
    }

    fn scale(replicas: i64) -> Value {
        json!({"spec": {"replicas": replicas}, "status": {"selector": "a=b"}})
    }

    fn cpu() -> Value {
        json!({"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 50}}})
    }

    #[test]
    fn what_can_not_be_measured_is_told() {
        let plan = decide(&scaler(cpu()), Ok(&scale(2)), Timestamp::UNIX_EPOCH);
        let status = &plan.scaler["status"];
        assert_eq!(status["conditions"][0]["reason"], "SucceededGetScale");
        assert_eq!(status["conditions"][1]["reason"], "FailedGetResourceMetric");
        assert_eq!(status["currentMetrics"], json!([{"type": ""}]));
        assert_eq!(status["currentReplicas"], 2);
        assert_eq!(status["desiredReplicas"], 0);
        assert_eq!(plan.rescale, None);
        let texts: Vec<&str> = plan.notes.iter().map(|note| note.message.as_str()).collect();
        insta::assert_snapshot!(texts.join("\n"), @r"
        failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)
        invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)
        ");
    }

    #[test]
    fn a_target_is_kept_within_bounds() {
        for (current, wanted) in [(5, Some(3)), (3, None), (0, None)] {
            let plan = decide(&scaler(cpu()), Ok(&scale(current)), Timestamp::UNIX_EPOCH);
            assert_eq!(plan.rescale, wanted, "{current}");
        }
        let mut plan = decide(&scaler(cpu()), Ok(&scale(5)), Timestamp::UNIX_EPOCH);
        finish_rescale(&mut plan, 3, Ok(()), Timestamp::UNIX_EPOCH);
        assert_eq!(
            plan.scaler["status"]["conditions"][0]["reason"],
            "SucceededRescale"
        );
        assert_eq!(
            plan.notes[0].message,
            "New size: 3; reason: Current number of replicas above Spec.MaxReplicas"
        );
    }

    #[test]
    fn a_target_that_is_not_there_is_told() {
        let why = "deployments.apps \"nope\" not found";
        let plan = decide(&scaler(cpu()), Err(why), Timestamp::UNIX_EPOCH);
        let status = &plan.scaler["status"];
        assert_eq!(status["conditions"][0]["status"], "False");
        assert_eq!(
            status["conditions"][0]["message"],
            "the HPA controller was unable to get the target's current scale: deployments.apps \"nope\" not found"
        );
        assert_eq!(status["currentMetrics"], Value::Null);
    }
}
