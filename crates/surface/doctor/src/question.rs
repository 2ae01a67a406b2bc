//! What is asked of the API server, and what of an answer is kept.
//!
//! First come the lists that every report needs. What they say leads to further questions: the pods of what isn't ready,
//! the Services behind webhooks, the custom resources of operators.

use std::collections::BTreeSet;

use api::keys as extension_keys;
use apply::object::{label, text};
use chart::release::SECRET_TYPE;
use classic::keys;
use classic::kind::Naming;
use deploy::component::Component;
use helm_operator::roster;
use install_plan::source::is_healthy;
use release::readiness::{self, Readiness};
use serde_json::Value;

use crate::kinds;
use crate::picture::Picture;
use crate::rules::custom_resources::Operators;
use crate::rules::webhooks::served_by;

/// The label of an EndpointSlice with the Service that it belongs to.
pub(crate) const SERVICE_NAME: &str = "kubernetes.io/service-name";

/// How many namespaces an archive holds the pods, events and settings of.
const MOST_NAMESPACES: usize = 100;

/// The Secrets that an archive has no use for: records of releases, and the objects of revisions.
const BULKY_SECRETS: &str = "type!=helm.sh/release.v1,type!=olm.operatorframework.io/object-data";

/// The releases that count: what was there before isn't looked after any more.
const CURRENT_RELEASES: &str = "owner=helm,status notin (superseded,uninstalled)";

/// The programs of upstream's OLM v0, by the label that its manifests give them.
const UPSTREAM_CLASSIC: &str = "app in (olm-operator,catalog-operator,packageserver)";

/// A list that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Question {
    /// The group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The name in paths.
    pub plural: String,
    /// Whether the kind's objects are in namespaces.
    pub is_namespaced: bool,
    /// The namespace; none for all.
    pub namespace: Option<String>,
    /// The label selector; empty for all.
    pub labels: String,
    /// The field selector; empty for all.
    pub fields: String,
    /// Whether nothing but the metadata is wanted.
    pub is_metadata_only: bool,
}

impl Question {
    /// Asks for all objects of a kind.
    pub fn of(kind: Naming) -> Self {
        Self {
            api_version: kind.api_version.to_owned(),
            kind: kind.kind.to_owned(),
            plural: kind.plural.to_owned(),
            is_namespaced: kind.is_namespaced,
            namespace: None,
            labels: String::new(),
            fields: String::new(),
            is_metadata_only: false,
        }
    }

    /// Asks for the objects of one namespace.
    pub fn within(mut self, namespace: &str) -> Self {
        self.namespace = Some(namespace.to_owned());
        self
    }

    /// Asks for those that a label selector picks.
    pub fn labelled(mut self, selector: impl Into<String>) -> Self {
        self.labels = selector.into();
        self
    }

    /// Asks for the object of this name.
    pub fn named(mut self, name: &str) -> Self {
        self.fields = format!("metadata.name={name}");
        self
    }

    fn with_field(mut self, selector: impl Into<String>) -> Self {
        self.fields = selector.into();
        self
    }

    fn metadata_only(mut self) -> Self {
        self.is_metadata_only = true;
        self
    }

    /// Returns whether the answer holds an object, if it is there.
    pub(crate) fn covers(&self, kind: Naming, namespace: &str, name: &str) -> bool {
        let is_within = self.namespace.as_deref().is_none_or(|within| within == namespace);
        let picks = self.fields.is_empty() || self.fields == format!("metadata.name={name}");
        self.is_about(kind) && is_within && picks && self.labels.is_empty()
    }

    /// Returns whether the answer holds every object of a kind in a namespace.
    pub(crate) fn covers_all(&self, kind: Naming, namespace: &str) -> bool {
        self.covers(kind, namespace, "") && self.fields.is_empty()
    }

    fn is_about(&self, kind: Naming) -> bool {
        (self.api_version.as_str(), self.kind.as_str()) == (kind.api_version, kind.kind)
    }

    /// Returns what is asked for, in words.
    pub fn words(&self) -> String {
        let mut words = self.plural.clone();
        if let Some(namespace) = &self.namespace {
            words.extend([" in namespace ", namespace]);
        }
        for selector in [&self.labels, &self.fields] {
            if !selector.is_empty() {
                words.extend([" with ", selector]);
            }
        }
        words
    }
}

/// Returns the lists that every report needs: of one namespace, or of all.
pub fn first(namespace: Option<&str>) -> Vec<Question> {
    let owned = |kind| Question::of(kind).labelled(extension_keys::OWNER_KIND);
    let managed = |kind| Question::of(kind).labelled(format!("{}={}", keys::MANAGED, keys::MANAGED_VALUE));
    let part_of = deploy::component::PART_OF;
    let mut questions = vec![
        Question::of(kinds::CLUSTER_CATALOG),
        Question::of(kinds::CLUSTER_EXTENSION),
        Question::of(kinds::CLUSTER_OBJECT_SET),
        Question::of(kinds::CATALOG_SOURCE),
        Question::of(kinds::SUBSCRIPTION),
        Question::of(kinds::INSTALL_PLAN),
        // Copies say nothing that the original doesn't.
        Question::of(kinds::SERVICE_VERSION).labelled(format!("!{}", keys::COPIED_FROM)),
        Question::of(kinds::OPERATOR_GROUP),
        Question::of(kinds::OPERATOR_CONDITION),
        Question::of(kinds::OLM_CONFIG),
        Question::of(kinds::DEFINITION),
        Question::of(kinds::API_SERVICE),
        Question::of(kinds::MUTATING_WEBHOOK),
        Question::of(kinds::VALIDATING_WEBHOOK),
        Question::of(kinds::LEASE),
        owned(kinds::DEPLOYMENT),
        managed(kinds::DEPLOYMENT),
        Question::of(kinds::DEPLOYMENT).labelled(format!("{}={}", part_of.0, part_of.1)),
        Question::of(kinds::DEPLOYMENT).labelled(UPSTREAM_CLASSIC),
        Question::of(kinds::RESOURCE_QUOTA),
        Question::of(kinds::DISRUPTION_BUDGET),
        Question::of(kinds::SECRET)
            .labelled(CURRENT_RELEASES)
            .with_field(format!("type={SECRET_TYPE}"))
            .metadata_only(),
        managed(kinds::SECRET).with_field("type=kubernetes.io/tls"),
        owned(kinds::CERTIFICATE),
    ];
    match namespace {
        None => questions.push(Question::of(kinds::NAMESPACE)),
        Some(namespace) => {
            for question in questions.iter_mut().filter(|question| question.is_namespaced) {
                question.namespace = Some(namespace.to_owned());
            }
            questions.push(Question::of(kinds::NAMESPACE).named(namespace));
        }
    }
    questions
}

/// Returns the lists that say who leads, and whether anybody is missed where nobody does.
pub fn of_leaders() -> Vec<Question> {
    let mut questions: Vec<Question> = Component::ALL
        .iter()
        .map(|component| Question::of(kinds::LEASE).named(component.lease()))
        .collect();
    let work = [
        kinds::CLUSTER_CATALOG,
        kinds::CLUSTER_EXTENSION,
        kinds::CLUSTER_OBJECT_SET,
        kinds::CATALOG_SOURCE,
        kinds::SUBSCRIPTION,
        kinds::NAMESPACE,
    ];
    questions.extend(work.map(|kind| Question::of(kind).metadata_only()));
    questions.push(Question::of(kinds::DEPLOYMENT).labelled(UPSTREAM_CLASSIC));
    questions
}

/// Returns what the answers to the first questions lead to.
pub fn further(picture: &Picture) -> Vec<Question> {
    let mut questions = BTreeSet::new();
    questions.extend(pods_of_workloads(picture));
    questions.extend(pods_of_catalogs(picture));
    for service in served_by(picture) {
        questions.insert(
            Question::of(kinds::SERVICE)
                .within(&service.namespace)
                .named(&service.name),
        );
        questions.insert(endpoints(&service.namespace, &service.name));
    }
    questions.extend(Operators::of(picture).questions(picture));
    questions.retain(|question| !picture.is_answered(question));
    questions.into_iter().collect()
}

/// Returns what an archive needs beyond a report: what lies in the namespaces of controllers and operators, and which of
/// these there is no room for.
pub fn for_archive(picture: &Picture) -> (Vec<Question>, Vec<String>) {
    let inhabited = [kinds::DEPLOYMENT, kinds::CATALOG_SOURCE, kinds::SUBSCRIPTION]
        .into_iter()
        .flat_map(|kind| picture.all(kind))
        .chain(picture.all(kinds::LEASE).filter(|lease| is_roster_lease(lease)));
    let namespaces: BTreeSet<&str> = inhabited
        .map(|object| text(object, "/metadata/namespace"))
        .collect();
    let questions = namespaces.iter().take(MOST_NAMESPACES).flat_map(|namespace| {
        [
            Question::of(kinds::POD),
            Question::of(kinds::EVENT),
            Question::of(kinds::SERVICE),
            Question::of(kinds::CONFIG_MAP),
            Question::of(kinds::SECRET).with_field(BULKY_SECRETS),
        ]
        .map(|question| question.within(namespace))
    });
    let beyond = namespaces.iter().skip(MOST_NAMESPACES);
    (
        questions.collect(),
        beyond.map(|name| (*name).to_owned()).collect(),
    )
}

/// Asks for the addresses behind a Service.
pub(crate) fn endpoints(namespace: &str, service: &str) -> Question {
    Question::of(kinds::ENDPOINT_SLICE)
        .within(namespace)
        .labelled(format!("{SERVICE_NAME}={service}"))
}

/// The pods of Deployments that aren't ready: of those that are, nobody needs to hear.
fn pods_of_workloads(picture: &Picture) -> impl Iterator<Item = Question> {
    picture
        .all(kinds::DEPLOYMENT)
        .filter(|deployment| readiness::of(deployment) != Readiness::Ready)
        .filter_map(|deployment| {
            let selector = deployment.pointer("/spec/selector/matchLabels")?.as_object()?;
            let selector: Vec<String> = selector
                .iter()
                .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
                .collect();
            let question = Question::of(kinds::POD).within(text(deployment, "/metadata/namespace"));
            (!selector.is_empty()).then(|| question.labelled(selector.join(",")))
        })
}

/// The pods of catalogs that aren't well; catalogs that baton serves have none.
fn pods_of_catalogs(picture: &Picture) -> impl Iterator<Item = Question> {
    picture
        .all(kinds::CATALOG_SOURCE)
        .filter(|source| {
            !is_healthy(source) || text(source, "/status/connectionState/lastObservedState") != "READY"
        })
        .map(|source| {
            Question::of(kinds::POD)
                .within(text(source, "/metadata/namespace"))
                .labelled(format!(
                    "{}={}",
                    keys::CATALOG_SOURCE,
                    text(source, "/metadata/name")
                ))
        })
}

/// Returns what is kept of an object: rules need little of what is large.
pub fn reduced(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(keys::LAST_APPLIED);
        }
    }
    match text(&object, "/kind") {
        "CustomResourceDefinition" => {
            let versions = object.pointer_mut("/spec/versions").and_then(Value::as_array_mut);
            for version in versions.into_iter().flatten() {
                forget(version, &["schema", "additionalPrinterColumns"]);
            }
        }
        "ClusterServiceVersion" => {
            if let Some(spec) = object.get_mut("spec") {
                forget(
                    spec,
                    &["icon", "description", "links", "maintainers", "relatedImages"],
                );
            }
            if let Some(annotations) = object.pointer_mut("/metadata/annotations") {
                forget(annotations, &["alm-examples", keys::PROPERTIES]);
            }
        }
        "ClusterObjectSet" => {
            if let Some(spec) = object.get_mut("spec") {
                forget(spec, &["phases"]);
            }
        }
        "InstallPlan" => {
            let steps = object.pointer_mut("/status/plan").and_then(Value::as_array_mut);
            for step in steps.into_iter().flatten() {
                if let Some(resource) = step.get_mut("resource") {
                    forget(resource, &["manifest"]);
                }
            }
        }
        "Secret" => {
            if let Some(data) = object.get_mut("data").and_then(Value::as_object_mut) {
                // A certificate is public; nothing else of a Secret is looked at.
                data.retain(|key, _| key == "tls.crt");
            }
        }
        _ => {}
    }
    object
}

fn forget(object: &mut Value, fields: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        object.retain(|field, _| !fields.contains(&field.as_str()));
    }
}

/// Returns whether a Lease is the sign of life of a Helm operator.
pub(crate) fn is_roster_lease(lease: &Value) -> bool {
    label(lease, roster::LABEL).is_some()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;

    #[test]
    fn one_namespace_is_all_that_is_asked_for() {
        for question in first(Some("models")) {
            let is_limited = question.namespace.as_deref() == Some("models");
            assert_eq!(question.is_namespaced, is_limited, "{}", question.words());
        }
        assert!(first(None).iter().all(|question| question.namespace.is_none()));
    }

    #[test]
    fn pods_are_asked_for_where_a_deployment_is_not_ready() {
        let mut picture = Picture::new(Timestamp::UNIX_EPOCH, None);
        for (name, available) in [("well", "True"), ("ill", "False")] {
            picture.put(json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": name, "namespace": "a", "generation": 1},
                "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}},
                "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1,
                    "availableReplicas": i32::from(available == "True"), "readyReplicas": 1,
                    "conditions": [{"type": "Available", "status": available},
                        {"type": "Progressing", "status": "True"}]},
            }));
        }
        let asked: Vec<String> = further(&picture).iter().map(Question::words).collect();
        assert_eq!(asked, ["pods in namespace a with app=ill"]);
    }

    #[test]
    fn little_is_kept_of_what_is_large_or_secret() {
        let secret = reduced(json!({"kind": "Secret", "data": {"tls.crt": "a", "tls.key": "b"},
            "metadata": {"managedFields": [1], "annotations": {keys::LAST_APPLIED: "{}", "a": "b"}}}));
        assert_eq!(
            secret,
            json!({"kind": "Secret", "data": {"tls.crt": "a"}, "metadata": {"annotations": {"a": "b"}}})
        );
        let plan = reduced(json!({"kind": "InstallPlan",
            "status": {"plan": [{"resource": {"kind": "Secret", "manifest": "password"}}]}}));
        assert!(!plan.to_string().contains("password"));
        let definition = reduced(json!({"kind": "CustomResourceDefinition",
            "spec": {"versions": [{"name": "v1", "served": true, "schema": {}}]}}));
        assert_eq!(
            definition["spec"]["versions"],
            json!([{"name": "v1", "served": true}])
        );
    }
}
