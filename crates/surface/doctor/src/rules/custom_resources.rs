//! Custom resources of Helm operators: refused, failed, or with labels that no running operator picks.

use std::collections::{BTreeMap, BTreeSet};

use apply::object::{annotation, is_terminating, text};
use helm_operator::resource::CustomResource;
use helm_operator::roster;
use helm_operator::routing::{Operator, Role, role};
use serde_json::Value;

use crate::conditions::{Said, condition};
use crate::finding::Finding;
use crate::finding::Severity::{Broken, Risky};
use crate::kinds;
use crate::moment::{FIRST_LOOK_SECONDS, seconds_since};
use crate::picture::Picture;
use crate::question::{Question, is_roster_lease};
use crate::rules::leases::{Holder, holder};
use crate::rules::releases::owner;
use crate::subject::Subject;

/// A group and a kind.
type GroupKind = (String, String);

/// The Helm operators that run, and the kinds that they look after.
pub(crate) struct Operators {
    running: BTreeMap<GroupKind, Vec<Operator>>,
    /// The kinds of resources that own releases, too: upstream's operators don't say that they run.
    kinds: BTreeSet<GroupKind>,
}

impl Operators {
    /// Reads who runs from the Leases and releases of a picture.
    pub(crate) fn of(picture: &Picture) -> Self {
        let mut running: BTreeMap<GroupKind, Vec<Operator>> = BTreeMap::new();
        let mut kinds = BTreeSet::new();
        let leases = picture.all(kinds::LEASE).filter(|lease| is_roster_lease(lease));
        for lease in leases {
            let id = format!(
                "{}/{}",
                text(lease, "/metadata/namespace"),
                text(lease, "/metadata/name")
            );
            let watches = annotation(lease, roster::ANNOTATION).unwrap_or_default();
            let is_silent = matches!(holder(picture, lease), Holder::Silent(..));
            for operator in roster::read(&id, watches).unwrap_or_default() {
                let kind = (operator.group.clone(), operator.kind.clone());
                kinds.insert(kind.clone());
                if !is_silent {
                    running.entry(kind).or_default().push(operator);
                }
            }
        }
        let owners = picture.all(kinds::SECRET).filter_map(owner);
        kinds.extend(owners.map(|owner| (owner.group, owner.kind)));
        Self { running, kinds }
    }

    /// Asks for the resources of the operators, in a version that is served.
    pub(crate) fn questions(&self, picture: &Picture) -> Vec<Question> {
        self.kinds
            .iter()
            .filter_map(|(group, kind)| {
                let definition = picture.all(kinds::DEFINITION).find(|definition| {
                    text(definition, "/spec/group") == group && text(definition, "/spec/names/kind") == kind
                })?;
                let versions = definition.pointer("/spec/versions")?.as_array()?;
                let is = |version: &Value, field: &str| version.get(field) == Some(&Value::Bool(true));
                let version = versions
                    .iter()
                    .find(|version| is(version, "storage") && is(version, "served"))
                    .or_else(|| versions.iter().find(|version| is(version, "served")))?;
                let is_namespaced = text(definition, "/spec/scope") == "Namespaced";
                Some(Question {
                    api_version: format!("{group}/{}", text(version, "/name")),
                    kind: kind.clone(),
                    plural: text(definition, "/spec/names/plural").to_owned(),
                    is_namespaced,
                    namespace: picture.namespace.clone().filter(|_| is_namespaced),
                    labels: String::new(),
                    fields: String::new(),
                    is_metadata_only: false,
                })
            })
            .collect()
    }
}

/// Looks at all custom resources of Helm operators.
pub fn look(picture: &Picture) -> Vec<Finding> {
    let operators = Operators::of(picture);
    let mut findings = Vec::new();
    for kind in &operators.kinds {
        let running = operators.running.get(kind).map(Vec::as_slice).unwrap_or_default();
        for resource in picture.of_kind(&kind.0, &kind.1) {
            findings.extend(judge(picture, running, resource));
        }
    }
    findings
}

fn judge(picture: &Picture, running: &[Operator], resource: &Value) -> Option<Finding> {
    let subject = Subject::of(resource);
    let describe = subject.describe();
    if let Some(message) = unpicked(running, resource) {
        return Some(
            Finding::new(Broken, "resource-without-operator", resource)
                .at("metadata.labels")
                .because(message)
                .next(format!(
                    "kubectl label {} operatorVersion=VERSION --overwrite",
                    subject.for_kubectl()
                )),
        );
    }
    if is_terminating(resource) {
        return None;
    }
    let wrong = [
        ("Valid", false),
        ("Irreconcilable", true),
        ("ReleaseFailed", true),
    ]
    .into_iter()
    .find_map(|(kind, bad)| {
        let said = condition(resource, kind)?;
        let is_bad = if bad { said.is_true() } else { said.is_false() };
        is_bad.then_some((kind, said))
    });
    if let Some((kind, said)) = wrong {
        return Some(
            Finding::new(Broken, "resource-refused", resource)
                .at_condition(kind)
                .because(match kind {
                    "Valid" => format!("its chart doesn't allow what it says: {}", said.words()),
                    "ReleaseFailed" => format!("its release failed: {}", said.words()),
                    _ => format!("it can't be made true: {}", said.words()),
                })
                .next(format!("put its spec right: {describe}")),
        );
    }
    let unready = condition(resource, "Ready").filter(Said::is_false)?;
    let age = unready
        .since
        .map(|since| picture.now.as_second() - since.as_second())
        .or_else(|| seconds_since(resource, "/metadata/creationTimestamp", picture.now))?;
    (age > FIRST_LOOK_SECONDS).then(|| {
        Finding::new(Risky, "resource-not-ready", resource)
            .at_condition("Ready")
            .because(format!("what it made doesn't work yet: {}", unready.words()))
            .next(format!("baton why {}; {describe}", why(&subject)))
    })
}

/// How `baton why` is told of a resource.
fn why(subject: &Subject) -> String {
    match subject.namespace.as_str() {
        "" => format!("{}/{}", subject.kind.to_lowercase(), subject.name),
        namespace => format!("{}/{} -n {namespace}", subject.kind.to_lowercase(), subject.name),
    }
}

/// What the newest operator says of a resource that nobody picks; none where somebody does, or nobody runs.
fn unpicked(running: &[Operator], resource: &Value) -> Option<String> {
    if running.is_empty() {
        return None;
    }
    let resource = CustomResource::read(resource.clone());
    running
        .iter()
        .find_map(|operator| match role(operator, running, &resource) {
            Role::Herald { message } => Some(message),
            _ => None,
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture, told};

    fn lease() -> Value {
        let watches = json!([{"group": "doublewordai.co", "kind": "InferenceStack", "chart": "inference-stack",
            "version": "2.0.0", "selector": {"matchLabels": {"operatorVersion": "v2"}}}]);
        object(
            "coordination.k8s.io/v1",
            "Lease",
            "models",
            "baton-helm-operator-1",
            json!({
            "metadata": {"labels": {roster::LABEL: "true"}, "annotations": {roster::ANNOTATION: watches.to_string()}},
            "spec": {"holderIdentity": "stack-0"}}),
        )
    }

    fn definition() -> Value {
        object(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "",
            "inferencestacks.doublewordai.co",
            json!({
            "spec": {"group": "doublewordai.co", "scope": "Namespaced",
                "names": {"kind": "InferenceStack", "plural": "inferencestacks"},
                "versions": [{"name": "v1alpha1", "served": true, "storage": true}]}}),
        )
    }

    fn resource(label: &str, conditions: Value) -> Value {
        object(
            "doublewordai.co/v1alpha1",
            "InferenceStack",
            "models",
            "stack",
            json!({
            "metadata": {"labels": {"operatorVersion": label}}, "status": {"conditions": conditions}}),
        )
    }

    #[test]
    fn resources_of_operators_are_asked_for() {
        let picture = picture([lease(), definition()]);
        let asked: Vec<String> = Operators::of(&picture)
            .questions(&picture)
            .iter()
            .map(Question::words)
            .collect();
        assert_eq!(asked, ["inferencestacks"]);
    }

    #[test]
    fn a_resource_is_looked_after_and_works() {
        let said = |kind: &str, status: &str| json!([{"type": kind, "status": status, "message": "told", "lastTransitionTime": "2026-06-01T10:00:00Z"}]);
        for (resource, expected) in [
            (resource("v2", json!([])), None),
            (
                resource("v9", json!([])),
                Some(
                    "broken resource-without-operator InferenceStack models/stack: no running operator looks after this resource: it has operatorVersion=v9; running operators look after operatorVersion=v2 (inference-stack 2.0.0); set the label of one of them",
                ),
            ),
            (
                resource("v2", said("Irreconcilable", "True")),
                Some("broken resource-refused InferenceStack models/stack: it can't be made true: told"),
            ),
            (
                resource("v2", said("Valid", "False")),
                Some(
                    "broken resource-refused InferenceStack models/stack: its chart doesn't allow what it says: told",
                ),
            ),
            (
                resource("v2", said("Ready", "False")),
                Some(
                    "risky resource-not-ready InferenceStack models/stack: what it made doesn't work yet: told",
                ),
            ),
        ] {
            let findings = told(&look(&picture([lease(), definition(), resource])));
            assert_eq!(findings, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
