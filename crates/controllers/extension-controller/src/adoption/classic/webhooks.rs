//! What becomes of the webhooks of an operator: the old ones stay until somebody answers the new ones.

use apply::object::{at, label, text};
use classic::keys;
use serde::Serialize;
use serde_json::Value;

/// The kinds of objects by which the API server calls an operator's webhooks.
const CONFIGURATIONS: [(&str, &str); 2] = [
    ("ValidatingAdmissionWebhook", "ValidatingWebhookConfiguration"),
    ("MutatingAdmissionWebhook", "MutatingWebhookConfiguration"),
];

/// A webhook of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// What the ClusterServiceVersion calls it.
    pub name: String,
    /// Its type, such as `ValidatingAdmissionWebhook`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The objects by which it is called now, as `KIND NAME`.
    pub before: Vec<String>,
    /// The objects by which it will be called.
    pub after: Vec<String>,
}

/// Lists the webhooks of a ClusterServiceVersion with the objects that call them, before and after.
pub(super) fn compare(service_version: &Value, objects: &[Value], wanted: &[Value]) -> Vec<Webhook> {
    let described = at(service_version, "/spec/webhookdefinitions").and_then(Value::as_array);
    let webhook = |described: &Value| {
        let name = text(described, "/generateName");
        let kind = text(described, "/type");
        let called_by = |objects: &[Value]| -> Vec<String> {
            let calling = objects
                .iter()
                .filter(|object| is_called_by(described, kind, name, object));
            calling.map(told).collect()
        };
        Webhook {
            name: name.to_owned(),
            kind: kind.to_owned(),
            before: called_by(objects),
            after: called_by(wanted),
        }
    };
    described.into_iter().flatten().map(webhook).collect()
}

/// Returns the object that takes over the calls of a webhook configuration that OLM v0 made.
pub(super) fn successor<'a>(configuration: &Value, wanted: &'a [Value]) -> Option<&'a Value> {
    let generated = label(configuration, keys::WEBHOOK_GENERATE_NAME)?;
    wanted.iter().find(|object| {
        text(object, "/kind") == text(configuration, "/kind")
            && text(object, "/metadata/name") == rendered_name(generated)
    })
}

/// How the API server's call of a webhook is called in the plan.
pub(super) fn told(object: &Value) -> String {
    format!("{} {}", text(object, "/kind"), text(object, "/metadata/name"))
}

/// Takes the namespace from a configuration of webhooks: the kind has none, and bundles are rendered with one as upstream
/// renders them.
pub fn without_namespace(mut object: Value) -> Value {
    let kind = text(&object, "/kind");
    if CONFIGURATIONS
        .iter()
        .any(|(_, configuration)| *configuration == kind)
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.remove("namespace");
    }
    object
}

/// Whether the API server calls webhooks because of this object.
pub fn calls_webhooks(object: &Value) -> bool {
    let kind = text(object, "/kind");
    CONFIGURATIONS
        .iter()
        .any(|(_, configuration)| *configuration == kind)
        || text(object, "/spec/conversion/strategy") == "Webhook"
}

/// Says what is missing until the webhooks that an object calls are answered; none where they are.
///
/// `endpoint_slices` are those of the namespaces of their Services.
pub fn unanswered(object: &Value, endpoint_slices: &[Value]) -> Option<String> {
    let webhooks = at(object, "/webhooks").and_then(Value::as_array);
    let conversion = at(object, "/spec/conversion/webhook");
    let clients = webhooks
        .into_iter()
        .flatten()
        .chain(conversion)
        .filter_map(|called| called.get("clientConfig"));
    for client in clients {
        if text(client, "/caBundle").is_empty() {
            return Some(format!(
                "{} has no clientConfig.caBundle yet: the authority of its certificate isn't injected",
                told(object)
            ));
        }
        let (namespace, service) = (text(client, "/service/namespace"), text(client, "/service/name"));
        if !service.is_empty() && !has_ready_endpoint(namespace, service, endpoint_slices) {
            return Some(format!(
                "Service {namespace}/{service}, which {} calls, has no ready endpoint",
                told(object)
            ));
        }
    }
    None
}

/// Returns the namespaces of the Services that an object calls.
pub fn called_namespaces(object: &Value) -> Vec<&str> {
    let webhooks = at(object, "/webhooks").and_then(Value::as_array);
    let conversion = at(object, "/spec/conversion/webhook");
    let called = webhooks.into_iter().flatten().chain(conversion);
    let mut namespaces: Vec<&str> = called
        .map(|called| text(called, "/clientConfig/service/namespace"))
        .filter(|namespace| !namespace.is_empty())
        .collect();
    namespaces.sort_unstable();
    namespaces.dedup();
    namespaces
}

fn has_ready_endpoint(namespace: &str, service: &str, endpoint_slices: &[Value]) -> bool {
    let of_service = endpoint_slices.iter().filter(|slice| {
        text(slice, "/metadata/namespace") == namespace
            && label(slice, "kubernetes.io/service-name") == Some(service)
    });
    let mut endpoints = of_service
        .filter_map(|slice| slice.get("endpoints").and_then(Value::as_array))
        .flatten();
    // What isn't said counts as ready, as it does for kube-proxy.
    endpoints.any(|endpoint| at(endpoint, "/conditions/ready") != Some(&Value::Bool(false)))
}

fn is_called_by(described: &Value, kind: &str, name: &str, object: &Value) -> bool {
    let configuration = CONFIGURATIONS.iter().find(|(of_type, _)| *of_type == kind);
    let object_kind = text(object, "/kind");
    let object_name = text(object, "/metadata/name");
    if let Some((_, configuration)) = configuration {
        return object_kind == *configuration
            && (label(object, keys::WEBHOOK_GENERATE_NAME) == Some(name)
                || object_name == rendered_name(name));
    }
    let converted = described.get("conversionCRDs").and_then(Value::as_array);
    object_kind == "CustomResourceDefinition"
        && converted
            .into_iter()
            .flatten()
            .any(|converted| converted == object_name)
}

/// The name that the extension's configuration has.
fn rendered_name(generated: &str) -> &str {
    generated.strip_suffix('-').unwrap_or(generated)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn webhooks_are_listed_with_who_calls_them_before_and_after() {
        let version = json!({"spec": {"webhookdefinitions": [
            {"type": "ValidatingAdmissionWebhook", "generateName": "check.example.com"},
            {"type": "ConversionWebhook", "generateName": "convert.example.com", "conversionCRDs": ["webs.example.com"]},
        ]}});
        let old = json!({"kind": "ValidatingWebhookConfiguration", "metadata": {
            "name": "check.example.com-x7k2p", "labels": {keys::WEBHOOK_GENERATE_NAME: "check.example.com"},
        }});
        let definition =
            json!({"kind": "CustomResourceDefinition", "metadata": {"name": "webs.example.com"}});
        let new =
            json!({"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "check.example.com"}});
        let other =
            json!({"kind": "MutatingWebhookConfiguration", "metadata": {"name": "check.example.com"}});
        let wanted = [other, new.clone(), definition.clone()];
        assert_eq!(successor(&old, &wanted), Some(&new));
        let mut rendered = new.clone();
        rendered["metadata"]["namespace"] = "ns".into();
        assert_eq!(without_namespace(rendered), new);
        let found = compare(&version, &[old, definition], &wanted);
        assert_eq!(
            found,
            [
                Webhook {
                    name: "check.example.com".to_owned(),
                    kind: "ValidatingAdmissionWebhook".to_owned(),
                    before: vec!["ValidatingWebhookConfiguration check.example.com-x7k2p".to_owned()],
                    after: vec!["ValidatingWebhookConfiguration check.example.com".to_owned()],
                },
                Webhook {
                    name: "convert.example.com".to_owned(),
                    kind: "ConversionWebhook".to_owned(),
                    before: vec!["CustomResourceDefinition webs.example.com".to_owned()],
                    after: vec!["CustomResourceDefinition webs.example.com".to_owned()],
                },
            ]
        );
    }

    #[test]
    fn a_webhook_is_answered_when_its_authority_is_known_and_an_endpoint_is_ready() {
        let client =
            |bundle: &str| json!({"service": {"name": "web-service", "namespace": "ns"}, "caBundle": bundle});
        let configuration = |bundle: &str| {
            json!({"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "check"},
                "webhooks": [{"clientConfig": client(bundle)}]})
        };
        let slice = |namespace: &str, ready: Value| {
            json!({"metadata": {"namespace": namespace, "labels": {"kubernetes.io/service-name": "web-service"}},
                "endpoints": [{"conditions": {"ready": ready}}]})
        };
        let lacks_authority = "ValidatingWebhookConfiguration check has no clientConfig.caBundle yet: the authority of its \
                               certificate isn't injected";
        let lacks_endpoint =
            "Service ns/web-service, which ValidatingWebhookConfiguration check calls, has no ready endpoint";
        for (bundle, slices, expected) in [
            ("", vec![slice("ns", json!(true))], Some(lacks_authority)),
            ("QQ==", Vec::new(), Some(lacks_endpoint)),
            ("QQ==", vec![slice("ns", json!(false))], Some(lacks_endpoint)),
            ("QQ==", vec![slice("other", json!(true))], Some(lacks_endpoint)),
            (
                "QQ==",
                vec![slice("ns", json!(false)), slice("ns", json!(true))],
                None,
            ),
            ("QQ==", vec![slice("ns", Value::Null)], None),
        ] {
            let configuration = configuration(bundle);
            assert_eq!(unanswered(&configuration, &slices).as_deref(), expected);
            assert_eq!(called_namespaces(&configuration), ["ns"]);
        }
        let conversion = json!({"kind": "CustomResourceDefinition", "metadata": {"name": "webs"},
            "spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client("")}}}});
        assert!(calls_webhooks(&conversion) && unanswered(&conversion, &[]).is_some());
        let plain = json!({"kind": "CustomResourceDefinition", "metadata": {"name": "webs"},
            "spec": {"conversion": {"strategy": "None"}}});
        assert!(!calls_webhooks(&plain) && unanswered(&plain, &[]).is_none());
    }
}
