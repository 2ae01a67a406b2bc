//! Which fields of a kind can be selected by, and what an object has there.

use std::borrow::Cow;

use serde_json::Value;

use super::SelectorError;

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";

/// What is said about a field that can't be selected by.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Refusal {
    /// The kind has only the fields that all kinds have.
    OnlyMetadata,
    /// The kind has fields of its own.
    NotSupported,
    /// As `NotSupported`, in the words for Jobs.
    NotSupportedForJob,
    /// As `NotSupported`, with the kind.
    NotSupportedForKind(String),
}

/// The fields of a kind that can be selected by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectableFields {
    /// The names in selectors, and those that the server has for them.
    names: Vec<(Cow<'static, str>, Cow<'static, str>)>,
    refusal: Refusal,
}

/// The kinds with fields of their own: group, kind, names.
///
/// A kind that isn't listed has the name and the namespace; one that is has what is listed.
const KINDS: &[(&str, &str, &[&str])] = &[
    (
        "",
        "Pod",
        &[
            NAME,
            NAMESPACE,
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
    ),
    ("", "Node", &[NAME, "spec.unschedulable"]),
    ("", "ReplicationController", &[NAME, NAMESPACE, "status.replicas"]),
    (
        "",
        "Event",
        &[
            NAME,
            NAMESPACE,
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
    ),
    ("", "Namespace", &[NAME, "status.phase"]),
    ("", "Secret", &[NAME, NAMESPACE, "type"]),
    ("", "Service", &[NAME, NAMESPACE, "spec.clusterIP", "spec.type"]),
    ("events.k8s.io", "Event", &[NAME, NAMESPACE, "reason", "type"]),
    ("batch", "Job", &[NAME, NAMESPACE, "status.successful"]),
    (
        "certificates.k8s.io",
        "CertificateSigningRequest",
        &[NAME, "spec.signerName"],
    ),
    (
        "certificates.k8s.io",
        "ClusterTrustBundle",
        &[NAME, "spec.signerName"],
    ),
    (
        "certificates.k8s.io",
        "PodCertificateRequest",
        &[NAME, "spec.signerName", "spec.podName", "spec.nodeName"],
    ),
    (
        "resource.k8s.io",
        "ResourceSlice",
        &[NAME, "spec.nodeName", "spec.driver"],
    ),
];

/// Names that stand for others.
const ALIASES: &[(&str, &str, &str, &str)] = &[
    ("", "Pod", "spec.host", "spec.nodeName"),
    ("events.k8s.io", "Event", "regarding.kind", "involvedObject.kind"),
    (
        "events.k8s.io",
        "Event",
        "regarding.namespace",
        "involvedObject.namespace",
    ),
    ("events.k8s.io", "Event", "regarding.name", "involvedObject.name"),
    ("events.k8s.io", "Event", "regarding.uid", "involvedObject.uid"),
    (
        "events.k8s.io",
        "Event",
        "regarding.apiVersion",
        "involvedObject.apiVersion",
    ),
    (
        "events.k8s.io",
        "Event",
        "regarding.resourceVersion",
        "involvedObject.resourceVersion",
    ),
    (
        "events.k8s.io",
        "Event",
        "regarding.fieldPath",
        "involvedObject.fieldPath",
    ),
    (
        "events.k8s.io",
        "Event",
        "reportingController",
        "reportingComponent",
    ),
];

impl SelectableFields {
    /// Returns the fields of a built-in kind.
    pub fn of_kind(group: &str, version: &str, kind: &str) -> Self {
        let own = KINDS
            .iter()
            .find(|(a_group, a_kind, _)| *a_group == group && *a_kind == kind);
        let names = own.map_or(&[NAME, NAMESPACE] as &[&str], |(_, _, names)| names);
        let mut names: Vec<_> = names
            .iter()
            .map(|name| (Cow::from(*name), Cow::from(*name)))
            .collect();
        for (_, _, alias, name) in ALIASES
            .iter()
            .filter(|(a_group, a_kind, ..)| *a_group == group && *a_kind == kind)
        {
            names.push((Cow::from(*alias), Cow::from(*name)));
        }
        let refusal = match (group, kind) {
            ("batch", "Job") => Refusal::NotSupportedForJob,
            ("resource.k8s.io", "ResourceSlice") => {
                Refusal::NotSupportedForKind(format!("{group}/{version}, Kind={kind}"))
            }
            _ if own.is_some() => Refusal::NotSupported,
            _ => Refusal::OnlyMetadata,
        };
        Self { names, refusal }
    }

    /// Returns the fields of a custom resource: `paths` are the `jsonPath` of its version's `selectableFields`.
    pub fn of_custom_resource<'a>(namespaced: bool, paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names = vec![(Cow::from(NAME), Cow::from(NAME))];
        if namespaced {
            names.push((Cow::from(NAMESPACE), Cow::from(NAMESPACE)));
        }
        for path in paths {
            let name = path.strip_prefix('.').unwrap_or(path).to_owned();
            names.push((Cow::from(name.clone()), Cow::from(name)));
        }
        Self {
            names,
            refusal: Refusal::NotSupported,
        }
    }

    /// Returns the server's name of a field, or why it can't be selected by.
    pub fn resolve(&self, field: &str) -> Result<&str, SelectorError> {
        if let Some((_, name)) = self.names.iter().find(|(name, _)| name == field) {
            return Ok(name);
        }
        let quoted = schema::field_error::shown(&Value::String(field.to_owned()));
        Err(SelectorError(match &self.refusal {
            Refusal::OnlyMetadata => {
                format!("{quoted} is not a known field selector: only \"{NAME}\", \"{NAMESPACE}\"")
            }
            Refusal::NotSupported => format!("field label not supported: {field}"),
            Refusal::NotSupportedForJob => format!("field label {quoted} not supported for Job"),
            Refusal::NotSupportedForKind(kind) => format!("field label not supported for {kind}: {field}"),
        }))
    }

    /// Returns what an object has at a field, as text; what isn't there is what Go has for it.
    pub fn value<'a>(&self, object: &'a Value, field: &str) -> Cow<'a, str> {
        let at = |path: &str| found(object, path);
        match field {
            "status.podIPs" => Cow::from(""),
            "status.podIP" => text(
                object
                    .pointer("/status/podIPs/0/ip")
                    .or_else(|| at("status.podIP")),
            ),
            "status.successful" => at("status.succeeded").map_or(Cow::from("0"), |value| text(Some(value))),
            "status.replicas" => at(field).map_or(Cow::from("0"), |value| text(Some(value))),
            "spec.unschedulable" | "spec.hostNetwork" => {
                at(field).map_or(Cow::from("false"), |value| text(Some(value)))
            }
            // An Event is one object under two names.
            "source" => {
                let component = text(at("source.component").or_else(|| at("deprecatedSource.component")));
                if component.is_empty() {
                    reporting(object)
                } else {
                    component
                }
            }
            "reportingComponent" => reporting(object),
            _ => match field.strip_prefix("involvedObject.") {
                Some(part) => text(at(field).or_else(|| object.get("regarding")?.get(part))),
                None => text(at(field)),
            },
        }
    }
}

fn reporting(object: &Value) -> Cow<'_, str> {
    text(
        object
            .get("reportingComponent")
            .or_else(|| object.get("reportingController")),
    )
}

fn found<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(object, |value, part| value.get(part))
}

fn text(value: Option<&Value>) -> Cow<'_, str> {
    match value {
        None | Some(Value::Null) => Cow::from(""),
        Some(Value::String(text)) => Cow::from(text),
        Some(other) => Cow::from(other.to_string()),
    }
}
