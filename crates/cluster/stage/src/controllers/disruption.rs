//! PodDisruptionBudgets: how many of the selected Pods may go at present.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::conditions;
use super::fractions::scaled;
use super::ownership::selector_of;
use super::pods::{self, PODS};
use super::work::{Affected, Controller, Item, Next, itself};
use crate::api::{Api, Place};
use crate::client::{Client, Named};
use crate::events::{EventType, Reporter};
use crate::object::{Object, map_of, timestamp};
use crate::status::Status;
use crate::store::{Event, Labels, ResourceKey};

/// The resource of PodDisruptionBudgets.
pub const BUDGETS: Named<'static> = ("policy", "poddisruptionbudgets");

/// How long a Pod that was evicted may take until its deletion is seen; then it counts again.
const DELETION_TIMEOUT: SignedDuration = SignedDuration::from_mins(2);

/// Keeps the status of PodDisruptionBudgets.
#[derive(Debug)]
pub struct Disruption {
    reporter: Reporter,
}

impl Default for Disruption {
    fn default() -> Self {
        Self {
            reporter: Reporter::controller("controllermanager"),
        }
    }
}

/// Returns the key of the budgets in the store.
pub fn budgets_key() -> ResourceKey {
    ResourceKey::new(BUDGETS.0, BUDGETS.1)
}

fn budgets_of_pod(api: &Api, event: &Event) -> Vec<Item> {
    let namespace = &event.object.key.namespace;
    let before = event.previous.as_ref().map(|previous| &previous.labels);
    let labels: Vec<&Labels> = before.into_iter().chain([&event.object.labels]).collect();
    let names = api.indices.budgets.ask(|budgets| budgets.of(namespace, &labels));
    names
        .into_iter()
        .map(|name| Item {
            namespace: namespace.clone(),
            name,
        })
        .collect()
}

impl Controller for Disruption {
    const NAME: &'static str = "disruption-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (budgets_key(), itself),
            (ResourceKey::new(PODS.0, PODS.1), budgets_of_pod),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(budget) = client.get(BUDGETS, &item.namespace, &item.name)? else {
            return Ok(Next::Wait);
        };
        let selected = client.list_selected(PODS, &item.namespace, &selector_of(&budget))?;
        if selected.is_empty() {
            self.reporter.note(
                client,
                &budget,
                EventType::Normal,
                "NoPods",
                "No matching pods found",
            );
        }
        let now = Timestamp::now();
        let scale = match expected_scale(client, &selected).await {
            Ok((scale, unmanaged)) => {
                self.warn_of_unmanaged(client, &budget, &unmanaged);
                scale
            }
            Err(_) if needs_no_scale(&budget) => 0,
            Err(why) => {
                let text = format!("Failed to calculate the number of expected pods: {why}");
                self.reporter.note(
                    client,
                    &budget,
                    EventType::Warning,
                    "CalculateExpectedPodCountFailed",
                    &text,
                );
                let wanted = with_failure(&budget, &why, now);
                if wanted != budget {
                    client.update_status(BUDGETS, wanted).await?;
                }
                return Ok(Next::After(Duration::from_secs(10)));
            }
        };
        let (wanted, next) = decide(&budget, &selected, scale, now);
        if wanted != budget {
            client.update_status(BUDGETS, wanted).await?;
        }
        Ok(next)
    }
}

impl Disruption {
    fn warn_of_unmanaged(&self, client: &Client, budget: &Value, unmanaged: &[String]) {
        if unmanaged.is_empty() || needs_no_scale(budget) {
            return;
        }
        let text = format!(
            "Pods selected by this PodDisruptionBudget (selector: {}) were found to be unmanaged. As a result, the status \
             of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods \
             please set \".spec.minAvailable\" field of the PDB to an integer value.",
            go_selector(&budget["spec"]["selector"])
        );
        self.reporter
            .note(client, budget, EventType::Warning, "UnmanagedPods", &text);
    }
}

/// Writes a selector as Go's formatting does.
pub(super) fn go_selector(selector: &Value) -> String {
    let labels: Vec<String> = selector["matchLabels"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}: {},", value.as_str().unwrap_or_default()))
        .collect();
    let expressions: Vec<String> = selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| {
            let text = |name: &str| one[name].as_str().unwrap_or_default();
            let values: Vec<&str> = one["values"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let (key, operator, values) = (text("key"), text("operator"), values.join(" "));
            format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
        })
        .collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{}}},MatchExpressions:[]LabelSelectorRequirement{{{}}},}}",
        labels.concat(),
        expressions.concat()
    )
}

/// Returns whether a budget counts Pods alone, not what their controllers want.
fn needs_no_scale(budget: &Value) -> bool {
    budget["spec"]["maxUnavailable"].is_null() && !budget["spec"]["minAvailable"].is_string()
}

/// Returns how many Pods the controllers of the Pods want together, and the Pods that have none.
async fn expected_scale(client: &Client, selected: &[Value]) -> Result<(i64, Vec<String>), String> {
    let mut scales: HashMap<String, i64> = HashMap::new();
    let mut seen: HashSet<String> = HashSet::new();
    let mut unmanaged = Vec::new();
    for pod in selected {
        let Some(owner) = pod.controller() else {
            unmanaged.push(pod.name().to_owned());
            continue;
        };
        if !seen.insert(owner["uid"].as_str().unwrap_or_default().to_owned()) {
            continue;
        }
        let (uid, scale) = scale_of(client, pod.namespace(), owner)
            .await?
            .ok_or_else(|| format!("found no controllers for pod \"{}\"", pod.name()))?;
        scales.insert(uid, scale);
    }
    Ok((scales.values().sum(), unmanaged))
}

/// Returns the uid and the wanted number of Pods of a controller, or of the Deployment behind it.
async fn scale_of(client: &Client, namespace: &str, owner: &Value) -> Result<Option<(String, i64)>, String> {
    let mut owner = owner.clone();
    loop {
        let text = |name: &str| owner[name].as_str().unwrap_or_default();
        let served = client.api().resources.now();
        let Some(resource) = served.of_kind(text("apiVersion"), text("kind")) else {
            return Ok(None);
        };
        if resource.subresource("scale").is_none() {
            return Err(format!(
                "{} does not implement the scale subresource",
                resource.group_resource()
            ));
        }
        let place = Place {
            resource: resource.clone(),
            namespace: namespace.to_owned(),
            name: text("name").to_owned(),
            subresource: String::new(),
        };
        let Ok(found) = client.api().get(&place) else {
            return Ok(None);
        };
        if *found.uid != *text("uid") {
            return Ok(None);
        }
        let above = found.value().controller().cloned();
        if let Some(above) =
            above.filter(|above| text("kind") == "ReplicaSet" && above["kind"] == "Deployment")
        {
            owner = above;
        } else {
            let scale = client
                .api()
                .scale(&place)
                .await
                .map_err(|status| status.to_string())?;
            let wanted = scale["spec"]["replicas"].as_i64().unwrap_or(0);
            return Ok(Some((found.uid.to_string(), wanted)));
        }
    }
}

/// Returns the budget with its new status, and when to look again.
fn decide(budget: &Value, selected: &[Value], scale: i64, now: Timestamp) -> (Value, Next) {
    let spec = &budget["spec"];
    let present = i64::try_from(selected.len()).unwrap_or(i64::MAX);
    let (expected, desired) = if !spec["maxUnavailable"].is_null() {
        (
            scale,
            (scale - scaled(&spec["maxUnavailable"], scale, true)).max(0),
        )
    } else if let Some(least) = spec["minAvailable"].as_i64() {
        (present, least)
    } else if spec["minAvailable"].is_string() {
        (scale, scaled(&spec["minAvailable"], scale, true))
    } else {
        (0, 0)
    };
    let (disrupted, recheck) = still_expected(budget, selected, now);
    let healthy = selected
        .iter()
        .filter(|pod| !pod.is_being_deleted() && !disrupted.contains_key(pod.name()) && pods::is_ready(pod))
        .count();
    let healthy = i64::try_from(healthy).unwrap_or(i64::MAX);
    let allowed = if expected <= 0 {
        0
    } else {
        (healthy - desired).max(0)
    };
    let mut status = Map::new();
    status.insert("currentHealthy".into(), healthy.into());
    status.insert("desiredHealthy".into(), desired.into());
    status.insert("expectedPods".into(), expected.into());
    status.insert("disruptionsAllowed".into(), allowed.into());
    status.insert("observedGeneration".into(), budget.generation().into());
    if !disrupted.is_empty() {
        status.insert("disruptedPods".into(), json!(disrupted));
    }
    if let Some(conditions) = budget["status"].get("conditions") {
        status.insert("conditions".into(), conditions.clone());
    }
    let mut wanted = budget.clone();
    map_of(&mut wanted).insert("status".into(), Value::Object(status));
    note_allowed(&mut wanted, now);
    let next = recheck.map_or(Next::Wait, |at| {
        Next::After(
            Duration::try_from(at.duration_since(now)).unwrap_or_default() + Duration::from_millis(10),
        )
    });
    (wanted, next)
}

/// Returns the evicted Pods whose deletion is still to be seen, and when the first of them counts again.
fn still_expected<'a>(
    budget: &'a Value,
    selected: &[Value],
    now: Timestamp,
) -> (BTreeMap<&'a str, &'a str>, Option<Timestamp>) {
    let mut expected = BTreeMap::new();
    let mut recheck: Option<Timestamp> = None;
    let disrupted = budget["status"]["disruptedPods"].as_object();
    for (name, at) in disrupted.into_iter().flatten() {
        let lives = selected
            .iter()
            .any(|pod| pod.name() == name && !pod.is_being_deleted());
        let Some(text) = at.as_str().filter(|_| lives) else {
            continue;
        };
        let until = text
            .parse::<Timestamp>()
            .ok()
            .and_then(|at| at.checked_add(DELETION_TIMEOUT).ok());
        let Some(until) = until.filter(|&until| until >= now) else {
            continue;
        };
        recheck = Some(recheck.map_or(until, |known| known.min(until)));
        expected.insert(name.as_str(), text);
    }
    (expected, recheck)
}

/// Says in a condition whether any Pod may go.
pub fn note_allowed(budget: &mut Value, now: Timestamp) {
    let allowed = budget["status"]["disruptionsAllowed"].as_i64().unwrap_or(0) > 0;
    let (status, reason) = if allowed {
        ("True", "SufficientPods")
    } else {
        ("False", "InsufficientPods")
    };
    let generation = budget["status"]["observedGeneration"].clone();
    set_allowed(budget, status, reason, "", generation, now);
}

fn set_allowed(
    budget: &mut Value,
    status: &str,
    reason: &str,
    message: &str,
    generation: Value,
    now: Timestamp,
) {
    let state = map_of(budget).entry("status").or_insert(Value::Null);
    let found = conditions::find(state, "DisruptionAllowed");
    let changed = found.filter(|one| one["status"] == status).map_or_else(
        || Value::from(timestamp(now)),
        |one| one["lastTransitionTime"].clone(),
    );
    let condition = json!({"type": "DisruptionAllowed", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": changed, "observedGeneration": generation});
    match map_of(state).get_mut("conditions").and_then(Value::as_array_mut) {
        Some(all) => match all.iter_mut().find(|one| one["type"] == "DisruptionAllowed") {
            Some(one) => *one = condition,
            None => all.push(condition),
        },
        None => conditions::put(state, condition),
    }
}

/// Returns the budget that allows nothing, because nobody knows what it should allow.
fn with_failure(budget: &Value, why: &str, now: Timestamp) -> Value {
    let mut wanted = budget.clone();
    let state = map_of(map_of(&mut wanted).entry("status").or_insert(Value::Null));
    state.insert("disruptionsAllowed".into(), 0.into());
    for name in ["currentHealthy", "desiredHealthy", "expectedPods"] {
        state.entry(name).or_insert_with(|| 0.into());
    }
    let generation = budget["status"]["observedGeneration"].clone();
    set_allowed(&mut wanted, "False", "SyncFailed", why, generation, now);
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, ready: bool) -> Value {
        let ready = if ready { "True" } else { "False" };
        json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]}})
    }

    fn budget(spec: Value) -> Value {
        json!({"metadata": {"name": "b", "generation": 1}, "spec": spec})
    }

    #[test]
    fn a_budget_counts_as_it_is_written() {
        let pods = [pod("a", true), pod("b", true), pod("c", false)];
        let table = [
            (json!({"minAvailable": 1}), 0, (2, 1, 3, 1)),
            (json!({"minAvailable": 3}), 0, (2, 3, 3, 0)),
            (json!({"minAvailable": "50%"}), 3, (2, 2, 3, 0)),
            (json!({"maxUnavailable": 1}), 3, (2, 2, 3, 0)),
            (json!({"maxUnavailable": 2}), 3, (2, 1, 3, 1)),
            (json!({"maxUnavailable": "50%"}), 3, (2, 1, 3, 1)),
        ];
        for (spec, scale, (healthy, desired, expected, allowed)) in table {
            let (wanted, next) = decide(&budget(spec), &pods, scale, Timestamp::UNIX_EPOCH);
            let status = &wanted["status"];
            assert_eq!(next, Next::Wait);
            assert_eq!(status["currentHealthy"], healthy, "{wanted}");
            assert_eq!(status["desiredHealthy"], desired, "{wanted}");
            assert_eq!(status["expectedPods"], expected, "{wanted}");
            assert_eq!(status["disruptionsAllowed"], allowed, "{wanted}");
            let reason = if allowed > 0 {
                "SufficientPods"
            } else {
                "InsufficientPods"
            };
            assert_eq!(status["conditions"][0]["reason"], reason);
        }
    }

    #[test]
    fn an_evicted_pod_does_not_count_until_its_time_is_over() {
        let mut budget = budget(json!({"minAvailable": 1}));
        budget["status"] =
            json!({"disruptedPods": {"a": "1970-01-01T00:00:00Z", "gone": "1970-01-01T00:00:00Z"}});
        let pods = [pod("a", true), pod("b", true)];
        let (wanted, next) = decide(&budget, &pods, 0, Timestamp::UNIX_EPOCH);
        assert_eq!(wanted["status"]["currentHealthy"], 1);
        assert_eq!(
            wanted["status"]["disruptedPods"],
            json!({"a": "1970-01-01T00:00:00Z"})
        );
        assert_eq!(next, Next::After(Duration::from_millis(120_010)));
        let later = Timestamp::from_second(121).expect("a time");
        assert_eq!(decide(&budget, &pods, 0, later).0["status"]["currentHealthy"], 2);
    }
}
