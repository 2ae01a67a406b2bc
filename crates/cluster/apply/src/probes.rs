//! Probes: what an object must show before the next phase begins.

mod assertion;
mod defaults;
mod workload;

use api::cluster_object_set::{ProbeSelector, ProgressionProbe};
use kinds::label_selector::LabelSelector;
use serde_json::Value;

use crate::object::{ObjectId, generation};
use assertion::Assertion;
pub use defaults::default_probes;

/// Whether an object passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeStatus {
    /// It does.
    True,
    /// It does not.
    False,
    /// It can't be told yet.
    Unknown,
}

/// Whether an object passes, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeResult {
    /// Whether it does.
    pub status: ProbeStatus,
    /// Why, each part for itself.
    pub messages: Vec<String>,
}

impl ProbeResult {
    /// Returns the result of an object that nothing is asked of.
    pub fn passed() -> Self {
        Self {
            status: ProbeStatus::True,
            messages: Vec::new(),
        }
    }

    fn new(status: ProbeStatus, message: String) -> Self {
        Self {
            status,
            messages: vec![message],
        }
    }

    /// Joins results: one that can't be told outweighs failures, and a failure outweighs the rest.
    pub fn all(results: impl IntoIterator<Item = Self>) -> Self {
        let mut joined = Self::passed();
        for result in results {
            if result.status == joined.status {
                joined.messages.extend(result.messages);
            } else if weight(result.status) > weight(joined.status) {
                joined = result;
            }
        }
        joined
    }
}

fn weight(status: ProbeStatus) -> u8 {
    match status {
        ProbeStatus::True => 0,
        ProbeStatus::False => 1,
        ProbeStatus::Unknown => 2,
    }
}

/// Why the probes of a revision can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// There is no such selector.
    #[error("unknown progressionProbe selector type: {0}")]
    Selector(String),
    /// There is no such assertion.
    #[error("unknown progressionProbe assertion probe type: {0}")]
    Assertion(String),
    /// The labels of a selector are none.
    #[error("invalid label selector in progressionProbe ({selector}): {cause}")]
    Labels {
        /// The selector, as upstream prints it.
        selector: String,
        /// What is wrong with it.
        cause: String,
    },
}

/// The probes of a revision, ready to be asked.
#[derive(Debug, Clone, Default)]
pub struct Probes(Vec<Probe>);

#[derive(Debug, Clone)]
struct Probe {
    selector: Selector,
    assertions: Vec<Assertion>,
}

#[derive(Debug, Clone)]
enum Selector {
    GroupKind { group: String, kind: String },
    Labels(LabelSelector),
}

impl Probes {
    /// Reads the probes of a revision.
    pub fn read(probes: &[ProgressionProbe]) -> Result<Self, ProbeError> {
        let read = |probe: &ProgressionProbe| {
            let assertions = probe
                .assertions
                .iter()
                .map(Assertion::read)
                .collect::<Result<_, _>>();
            Ok(Probe {
                assertions: assertions?,
                selector: Selector::read(&probe.selector)?,
            })
        };
        probes.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Returns whether an object passes all probes that select it.
    pub fn ask(&self, object: &Value) -> ProbeResult {
        ProbeResult::all(self.0.iter().map(|probe| {
            up_to_date(object, || {
                if !probe.selector.selects(object) {
                    return ProbeResult::passed();
                }
                ProbeResult::all(probe.assertions.iter().map(|assertion| assertion.ask(object)))
            })
        }))
    }
}

/// Asks only if the object's status speaks of the object's present spec.
fn up_to_date(object: &Value, ask: impl FnOnce() -> ProbeResult) -> ProbeResult {
    let observed = object
        .pointer("/status/observedGeneration")
        .and_then(Value::as_i64);
    if observed.is_some_and(|observed| observed != generation(object)) {
        return ProbeResult::new(ProbeStatus::Unknown, ".status outdated".to_owned());
    }
    ask()
}

impl Selector {
    fn read(selector: &ProbeSelector) -> Result<Self, ProbeError> {
        match selector.kind.as_str() {
            "GroupKind" => {
                let wanted = selector.group_kind.clone().unwrap_or_default();
                Ok(Self::GroupKind {
                    group: wanted.group,
                    kind: wanted.kind,
                })
            }
            "Label" => {
                let labels = selector.label.clone().unwrap_or_default();
                let object = serde_json::to_value(&labels).unwrap_or_default();
                LabelSelector::from_object(&object)
                    .map(Self::Labels)
                    .map_err(|cause| ProbeError::Labels {
                        selector: printed(&object),
                        cause: cause.to_string(),
                    })
            }
            other => Err(ProbeError::Selector(other.to_owned())),
        }
    }

    fn selects(&self, object: &Value) -> bool {
        match self {
            Self::GroupKind { group, kind } => {
                let id = ObjectId::of(object);
                id.group() == group && id.kind == *kind
            }
            Self::Labels(labels) => labels.matches_object(object),
        }
    }
}

/// Prints a selector as Go prints the struct.
fn printed(selector: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let labels: Vec<String> = selector["matchLabels"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}:{}", text(value)))
        .collect();
    let expressions: Vec<String> = selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|expression| {
            let values = expression["values"].as_array().into_iter().flatten().map(text);
            format!(
                "{{{} {} [{}]}}",
                text(&expression["key"]),
                text(&expression["operator"]),
                values.collect::<Vec<_>>().join(" ")
            )
        })
        .collect();
    format!("{{map[{}] [{}]}}", labels.join(" "), expressions.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn defaults() -> Probes {
        Probes::read(&default_probes()).expect("the default probes")
    }

    fn deployment(replicas: i64, status: Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"generation": 2},
            "spec": {"replicas": replicas}, "status": status})
    }

    #[test]
    fn a_deployment_passes_when_it_is_updated_and_available() {
        let available = json!([{"type": "Available", "status": "True"}]);
        let passes = |status| defaults().ask(&deployment(2, status)).status;
        assert_eq!(
            passes(
                json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 2, "conditions": available})
            ),
            ProbeStatus::True
        );
        assert_eq!(
            passes(
                json!({"observedGeneration": 2, "replicas": 2, "updatedReplicas": 1, "conditions": available})
            ),
            ProbeStatus::False
        );
        assert_eq!(
            passes(
                json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "conditions": available})
            ),
            ProbeStatus::Unknown
        );
        assert_eq!(passes(json!({})), ProbeStatus::Unknown);
    }

    #[test]
    fn a_deployment_without_replicas_passes() {
        let status =
            json!({"observedGeneration": 2, "conditions": [{"type": "Available", "status": "True"}]});
        assert_eq!(defaults().ask(&deployment(0, status)).status, ProbeStatus::True);
    }

    #[test]
    fn a_stateful_set_passes_when_it_is_updated_and_ready() {
        let set = |status: Value| {
            json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"generation": 1},
                "spec": {"replicas": 2}, "status": status})
        };
        let ask = |status| defaults().ask(&set(status));
        let counts =
            json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "availableReplicas": 2});
        assert_eq!(ask(counts).status, ProbeStatus::True);
        let waiting = ask(json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2}));
        assert_eq!(waiting.status, ProbeStatus::False);
        assert_eq!(waiting.messages, [".status.condition[\"Available\"] is False"]);
        assert_eq!(ask(json!({"replicas": 0})).status, ProbeStatus::Unknown);
    }

    #[test]
    fn unknown_words_are_refused() {
        let mut probes = default_probes();
        probes[0].selector.kind = "Name".to_owned();
        assert_eq!(
            Probes::read(&probes).expect_err("a selector").to_string(),
            "unknown progressionProbe selector type: Name"
        );
        probes[0].assertions[0].kind = "Always".to_owned();
        assert_eq!(
            Probes::read(&probes).expect_err("an assertion").to_string(),
            "unknown progressionProbe assertion probe type: Always"
        );
    }
}
