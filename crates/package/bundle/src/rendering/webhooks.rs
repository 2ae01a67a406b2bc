//! Webhooks: their configurations, the conversions of CRDs, the services in front of them, and their certificates.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::certificates::ServingCertificate;
use super::{RenderError, RenderOptions, list, object, text};
use crate::registry::{RegistryBundle, object_of};

const DEFINITIONS: &str = "/spec/webhookdefinitions";

/// The port of a webhook's service when the bundle says none: the one the API server calls by default.
const DEFAULT_PORT: i64 = 443;

/// The type of webhook definitions that convert custom resources.
pub(super) const CONVERSION: &str = "ConversionWebhook";

fn inject(options: &RenderOptions<'_>, object: &mut Value, certificate: &ServingCertificate) {
    if let Some(provider) = options.certificates {
        provider.inject_authority(object, certificate);
    }
}

fn of_type<'a>(bundle: &'a RegistryBundle, kind: &str) -> impl Iterator<Item = &'a Value> {
    list(bundle, DEFINITIONS)
        .iter()
        .filter(move |webhook| text(webhook, "type") == kind)
}

fn serving_certificate(webhook: &Value, options: &RenderOptions<'_>) -> ServingCertificate {
    ServingCertificate::for_deployment(text(webhook, "deploymentName"), &options.install_namespace)
}

/// The service that the API server calls for a webhook.
fn service_reference(webhook: &Value, service: &str, namespace: &str, path: &Value) -> Value {
    let mut reference = json!({ "name": service, "namespace": namespace });
    // A port that the bundle doesn't say stays away: upstream writes 0, which no API server takes.
    if let Some(port) = stated_port(webhook) {
        reference["port"] = port.into();
    }
    if !path.is_null() {
        reference["path"] = path.clone();
    }
    reference
}

fn stated_port(webhook: &Value) -> Option<i64> {
    webhook["containerPort"].as_i64().filter(|port| *port > 0)
}

pub(super) fn custom_resource_definitions(
    bundle: &RegistryBundle,
    options: &RenderOptions<'_>,
) -> Result<Vec<Value>, RenderError> {
    let mut conversions = BTreeMap::new();
    for webhook in of_type(bundle, CONVERSION) {
        for name in webhook["conversionCRDs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
        {
            if conversions.insert(name, webhook).is_some() {
                return Err(RenderError::SeveralConversions(name.to_owned()));
            }
        }
    }
    let convert = |definition: &Value| {
        let mut definition = definition.clone();
        let name = text(&definition["metadata"], "name").to_owned();
        let Some(webhook) = conversions.get(name.as_str()) else {
            return Ok(definition);
        };
        if definition["spec"]["preserveUnknownFields"] == true {
            return Err(RenderError::PreservesUnknownFields(name));
        }
        let certificate = serving_certificate(webhook, options);
        let path = match &webhook["webhookPath"] {
            Value::Null => json!("/"),
            path => path.clone(),
        };
        let reference = service_reference(webhook, &certificate.service, &options.install_namespace, &path);
        let conversion = json!({ "strategy": "Webhook", "webhook": {
            "clientConfig": { "service": reference },
            "conversionReviewVersions": webhook["admissionReviewVersions"],
        } });
        let spec = object_of(object_of(&mut definition).entry("spec").or_insert(Value::Null));
        spec.insert("conversion".to_owned(), conversion);
        inject(options, &mut definition, &certificate);
        Ok(definition)
    };
    bundle.custom_resource_definitions.iter().map(convert).collect()
}

pub(super) fn validating(
    bundle: &RegistryBundle,
    options: &RenderOptions<'_>,
) -> Result<Vec<Value>, RenderError> {
    Ok(configurations(
        bundle,
        options,
        "ValidatingAdmissionWebhook",
        "ValidatingWebhookConfiguration",
        &[],
    ))
}

pub(super) fn mutating(
    bundle: &RegistryBundle,
    options: &RenderOptions<'_>,
) -> Result<Vec<Value>, RenderError> {
    Ok(configurations(
        bundle,
        options,
        "MutatingAdmissionWebhook",
        "MutatingWebhookConfiguration",
        &["reinvocationPolicy"],
    ))
}

fn configurations(
    bundle: &RegistryBundle,
    options: &RenderOptions<'_>,
    definition: &str,
    kind: &str,
    further: &[&str],
) -> Vec<Value> {
    const COPIED: [&str; 7] = [
        "rules",
        "failurePolicy",
        "matchPolicy",
        "objectSelector",
        "sideEffects",
        "timeoutSeconds",
        "admissionReviewVersions",
    ];
    let configuration = |webhook: &Value| {
        let certificate = serving_certificate(webhook, options);
        let generated = text(webhook, "generateName");
        let name = generated.strip_suffix('-').unwrap_or(generated);
        let service = service_reference(
            webhook,
            &certificate.service,
            &options.install_namespace,
            &webhook["webhookPath"],
        );
        let mut called = Map::from_iter([
            ("name".to_owned(), json!(name)),
            ("clientConfig".to_owned(), json!({ "service": service })),
        ]);
        for field in COPIED.iter().chain(further) {
            if let Some(value) = webhook.get(*field).filter(|value| !value.is_null()) {
                called.insert((*field).to_owned(), value.clone());
            }
        }
        if !options.target_namespaces.is_empty() && !options.target_namespaces.iter().any(String::is_empty) {
            let selector = json!({ "matchExpressions": [
                { "key": "kubernetes.io/metadata.name", "operator": "In", "values": options.target_namespaces },
            ] });
            called.insert("namespaceSelector".to_owned(), selector);
        }
        // The kind has no namespaces; upstream writes one nevertheless, and comparing clusters see it.
        let mut configuration = object(
            "admissionregistration.k8s.io/v1",
            kind,
            name,
            &options.install_namespace,
        );
        configuration["webhooks"] = json!([called]);
        inject(options, &mut configuration, &certificate);
        configuration
    };
    of_type(bundle, definition).map(configuration).collect()
}

pub(super) fn services(
    bundle: &RegistryBundle,
    options: &RenderOptions<'_>,
) -> Result<Vec<Value>, RenderError> {
    let service = |deployment: &Value| {
        let name = text(deployment, "name");
        let mut ports: Vec<(i64, i64, Value)> = Vec::new();
        for webhook in list(bundle, DEFINITIONS)
            .iter()
            .filter(|webhook| text(webhook, "deploymentName") == name)
        {
            let port = stated_port(webhook).unwrap_or(DEFAULT_PORT);
            let target = Some(&webhook["targetPort"])
                .filter(|target| !target.is_null())
                .cloned()
                .unwrap_or(json!(port));
            let described = (
                port,
                number_of(&target),
                json!({ "name": port.to_string(), "port": port, "targetPort": target }),
            );
            if !ports.contains(&described) {
                ports.push(described);
            }
        }
        if ports.is_empty() {
            return None;
        }
        ports.sort_by_key(|(port, target, _)| (*port, *target));
        let certificate = ServingCertificate::for_deployment(name, &options.install_namespace);
        let mut service = object("v1", "Service", &certificate.service, &options.install_namespace);
        service["spec"] = json!({ "ports": ports.into_iter().map(|(_, _, port)| port).collect::<Vec<_>>() });
        if let Some(labels) = deployment
            .pointer("/spec/selector/matchLabels")
            .filter(|labels| !labels.is_null())
        {
            service["spec"]["selector"] = labels.clone();
        }
        inject(options, &mut service, &certificate);
        Some(service)
    };
    Ok(list(bundle, "/spec/install/spec/deployments")
        .iter()
        .filter_map(service)
        .collect())
}

/// A port as a number: a port that is named counts as zero, unless its name is a number.
fn number_of(port: &Value) -> i64 {
    port.as_i64().or_else(|| port.as_str()?.parse().ok()).unwrap_or(0)
}

pub(super) fn certificates(
    bundle: &RegistryBundle,
    options: &RenderOptions<'_>,
) -> Result<Vec<Value>, RenderError> {
    let Some(provider) = options.certificates else {
        return Ok(Vec::new());
    };
    let deployments: BTreeSet<&str> = list(bundle, DEFINITIONS)
        .iter()
        .map(|webhook| text(webhook, "deploymentName"))
        .collect();
    Ok(deployments
        .into_iter()
        .flat_map(|name| {
            provider.requests(&ServingCertificate::for_deployment(
                name,
                &options.install_namespace,
            ))
        })
        .collect())
}
