//! The webhooks that a version serves: their configurations, and the conversion of custom resources.

use std::collections::BTreeSet;

use apply::object::{ObjectId, at, label, set_metadata_entry, text};
use classic::hashes::{self, Shape};
use classic::{Kind, World, Write, keys, names};
use serde_json::{Map, Value, json};

use crate::certificates::{bytes, encoded};
use crate::install_modes::InstallModes;
use crate::ownership;
use crate::version::ServiceVersion;

/// Why a webhook is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWebhook {
    /// Two have the same name.
    #[error("CSV contains repeated WebhookDescription name")]
    Repeated,
    /// It would be asked about everything.
    #[error("webhook rules cannot include all groups")]
    AllGroups,
    /// It would be asked about what installs it.
    #[error("webhook rules cannot include the OLM group")]
    OwnGroup,
    /// It would be asked about itself.
    #[error(
        "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources"
    )]
    Webhooks,
}

/// Checks the names and the rules of the webhooks of a version.
///
/// # Errors
///
/// The first that is not accepted.
pub fn check_descriptions(version: ServiceVersion<'_>) -> Result<(), InvalidWebhook> {
    let mut seen = BTreeSet::new();
    for webhook in version.webhooks() {
        if !seen.insert(text(webhook, "/generateName")) {
            return Err(InvalidWebhook::Repeated);
        }
        let rules = webhook.get("rules").and_then(Value::as_array);
        for rule in rules.into_iter().flatten() {
            let has = |field: &str, wanted: &str| {
                let listed = rule.get(field).and_then(Value::as_array);
                listed.is_some_and(|listed| listed.iter().any(|one| one.as_str() == Some(wanted)))
            };
            if has("apiGroups", "*") {
                return Err(InvalidWebhook::AllGroups);
            }
            if has("apiGroups", "operators.coreos.com") {
                return Err(InvalidWebhook::OwnGroup);
            }
            let resources = [
                "*",
                "MutatingWebhookConfiguration",
                "ValidatingWebhookConfiguration",
            ];
            if has("apiGroups", "admissionregistration.k8s.io")
                && resources.iter().any(|resource| has("resources", resource))
            {
                return Err(InvalidWebhook::Webhooks);
            }
        }
    }
    Ok(())
}

const CONVERSION: &str = "ConversionWebhook";

/// Returns the kind of the configuration of a webhook; none for one that converts.
fn configuration_kind(webhook: &Value) -> Option<Kind> {
    match text(webhook, "/type") {
        "ValidatingAdmissionWebhook" => Some(Kind::ValidatingWebhookConfiguration),
        "MutatingAdmissionWebhook" => Some(Kind::MutatingWebhookConfiguration),
        _ => None,
    }
}

/// Returns the configurations of a kind that were made for a version, or for one of its webhooks.
fn configurations<'a>(
    world: &'a World,
    version: ServiceVersion<'_>,
    kind: Kind,
    webhook: Option<&str>,
) -> Vec<&'a Value> {
    world
        .labelled_with(&version.key())
        .filter(|(key, _)| key.kind == kind)
        .map(|(_, object)| &**object)
        .filter(|object| webhook.is_none_or(|name| label(object, keys::WEBHOOK_GENERATE_NAME) == Some(name)))
        .collect()
}

/// Returns the custom resources that a webhook converts.
fn converted(webhook: &Value) -> impl Iterator<Item = &str> {
    let listed = webhook.get("conversionCRDs").and_then(Value::as_array);
    listed.into_iter().flatten().filter_map(Value::as_str)
}

/// Returns the certificate of the authority that a webhook is trusted by.
pub fn authority(world: &World, version: ServiceVersion<'_>, webhook: &Value) -> Option<Vec<u8>> {
    if let Some(kind) = configuration_kind(webhook) {
        let found = configurations(world, version, kind, Some(text(webhook, "/generateName")));
        return bytes(found.first()?, "/webhooks/0/clientConfig/caBundle");
    }
    converted(webhook)
        .filter_map(|name| world.get(Kind::CustomResourceDefinition, "", name))
        .find_map(|definition| bytes(definition, "/spec/conversion/webhook/clientConfig/caBundle"))
}

/// Whether the webhooks of a version are configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Configured {
    /// They are.
    Yes,
    /// One of them is not.
    No,
    /// A conversion is not, and installing again helps.
    Broken(String),
}

/// Finds out whether the webhooks of a version are configured as it describes them.
pub fn configured(world: &World, version: ServiceVersion<'_>) -> Configured {
    for webhook in version.webhooks() {
        if let Some(kind) = configuration_kind(webhook) {
            let hash = hashes::deep_hash(Shape::WebhookDescription, webhook);
            let found = configurations(world, version, kind, Some(text(webhook, "/generateName")));
            let mut found = found.into_iter();
            if !found.any(|object| label(object, keys::WEBHOOK_HASH) == Some(&hash)) {
                return Configured::No;
            }
            continue;
        }
        let mut is_any = false;
        for name in converted(webhook) {
            let Some(definition) = world.get(Kind::CustomResourceDefinition, "", name) else {
                return Configured::Broken(format!(
                    "customresourcedefinitions.apiextensions.k8s.io \"{name}\" not found"
                ));
            };
            if text(definition, "/spec/conversion/strategy") != "Webhook"
                || text(definition, "/spec/conversion/webhook/clientConfig/caBundle").is_empty()
            {
                return Configured::Broken("conversionWebhook not ready".to_owned());
            }
            is_any = true;
        }
        if !is_any {
            return Configured::No;
        }
    }
    Configured::Yes
}

/// Deletes the configurations of webhooks that a version no longer has.
pub fn removals(world: &World, version: ServiceVersion<'_>) -> Vec<Write> {
    let wanted: BTreeSet<&str> = version
        .webhooks()
        .iter()
        .map(|webhook| text(webhook, "/generateName"))
        .collect();
    [
        Kind::ValidatingWebhookConfiguration,
        Kind::MutatingWebhookConfiguration,
    ]
    .into_iter()
    .flat_map(|kind| configurations(world, version, kind, None))
    .filter(|object| !wanted.contains(label(object, keys::WEBHOOK_GENERATE_NAME).unwrap_or_default()))
    .map(|object| Write::Delete {
        id: ObjectId::of(object),
        uid: None,
    })
    .collect()
}

/// Returns what must be written for a webhook.
///
/// # Errors
///
/// Upstream's text where it can't be.
pub fn writes(
    world: &World,
    version: ServiceVersion<'_>,
    webhook: &Value,
    authority: &[u8],
) -> Result<Vec<Write>, String> {
    let groups: Vec<_> = world
        .in_namespace(Kind::OperatorGroup, version.namespace())
        .collect();
    let [group] = groups.as_slice() else {
        return Err("error retrieving OperatorGroup info".to_owned());
    };
    match configuration_kind(webhook) {
        Some(kind) => Ok(configuration_writes(
            world, version, webhook, kind, group, authority,
        )),
        None if text(webhook, "/type") == CONVERSION => conversion_writes(world, version, webhook, authority),
        None => Ok(Vec::new()),
    }
}

fn configuration_writes(
    world: &World,
    version: ServiceVersion<'_>,
    webhook: &Value,
    kind: Kind,
    group: &Value,
    authority: &[u8],
) -> Vec<Write> {
    let name = text(webhook, "/generateName");
    let entry = configuration_entry(version, webhook, kind, group, authority);
    let hash = hashes::deep_hash(Shape::WebhookDescription, webhook);
    let finish = |object: &mut Value| {
        object["webhooks"] = json!([entry]);
        set_metadata_entry(object, "labels", keys::WEBHOOK_GENERATE_NAME, name);
        set_metadata_entry(object, "labels", keys::WEBHOOK_HASH, &hash);
        ownership::add_managed(object);
    };
    let existing = configurations(world, version, kind, Some(name));
    if existing.is_empty() {
        let naming = kind.naming();
        let beginning = format!("{name}-");
        let thing = format!("{}/{}/{}", naming.kind, version.namespace(), version.name());
        let mut object = json!({
            "apiVersion": naming.api_version,
            "kind": naming.kind,
            "metadata": {"generateName": beginning, "name": names::made_up(&beginning, &thing)},
        });
        ownership::add_labels(&mut object, &version.key());
        finish(&mut object);
        return vec![Write::Create {
            object,
            // One of this name that isn't known lost its labels, or was made by somebody else at this moment.
            or_update: true,
        }];
    }
    existing
        .into_iter()
        .map(|found| {
            let mut object = found.clone();
            finish(&mut object);
            Write::Update(object)
        })
        .collect()
}

fn configuration_entry(
    version: ServiceVersion<'_>,
    webhook: &Value,
    kind: Kind,
    group: &Value,
    authority: &[u8],
) -> Value {
    let mut entry = Map::new();
    let mut fields = vec![
        "rules",
        "failurePolicy",
        "matchPolicy",
        "objectSelector",
        "sideEffects",
        "timeoutSeconds",
        "admissionReviewVersions",
    ];
    if kind == Kind::MutatingWebhookConfiguration {
        fields.push("reinvocationPolicy");
    }
    for field in fields {
        if let Some(value) = webhook.get(field).filter(|value| !value.is_null()) {
            entry.insert(field.to_owned(), value.clone());
        }
    }
    entry.insert("name".to_owned(), webhook["generateName"].clone());
    if let Some(selector) = namespace_selector(group) {
        entry.insert("namespaceSelector".to_owned(), selector);
    }
    let mut service = json!({
        "name": names::webhook_service(text(webhook, "/deploymentName")),
        "namespace": version.namespace(),
        "port": webhook.get("containerPort").and_then(Value::as_i64).unwrap_or_default(),
    });
    if let Some(path) = webhook.get("webhookPath").filter(|path| !path.is_null()) {
        service["path"] = path.clone();
    }
    entry.insert(
        "clientConfig".to_owned(),
        json!({"service": service, "caBundle": encoded(authority)}),
    );
    Value::Object(entry)
}

/// Selects the namespaces of an OperatorGroup; none selects all.
fn namespace_selector(group: &Value) -> Option<Value> {
    let targets = at(group, "/spec/targetNamespaces").and_then(Value::as_array);
    if targets.is_none_or(Vec::is_empty) {
        return group
            .pointer("/spec/selector")
            .filter(|selector| !selector.is_null())
            .cloned();
    }
    let key = format!(
        "{}{}",
        keys::OPERATOR_GROUP_IDENTITY_PREFIX,
        text(group, "/metadata/uid")
    );
    Some(json!({"matchLabels": {key: ""}}))
}

fn conversion_writes(
    world: &World,
    version: ServiceVersion<'_>,
    webhook: &Value,
    authority: &[u8],
) -> Result<Vec<Write>, String> {
    let modes = version
        .object
        .pointer("/spec/installModes")
        .unwrap_or(&Value::Null);
    if !InstallModes::read(modes).is_ok_and(|modes| modes.is_all_namespaces_only()) {
        return Err(
            "unable to manage conversion webhook: CSVs with conversion webhooks must support only AllNamespaces"
                .to_owned(),
        );
    }
    let mut writes = Vec::new();
    for name in converted(webhook) {
        let Some(definition) = world.get(Kind::CustomResourceDefinition, "", name) else {
            return Err(format!(
                "unable to get CRD {name} specified in Conversion Webhook: \
                 customresourcedefinitions.apiextensions.k8s.io \"{name}\" not found"
            ));
        };
        if !version.owns_definition(name) {
            return Err(format!("csv {} does not own CRD {name}", version.name()));
        }
        if at(definition, "/spec/preserveUnknownFields") == Some(&Value::Bool(true)) {
            return Err(
                "crd.Spec.PreserveUnknownFields must be false to let API Server call webhook to do the conversion"
                    .to_owned(),
            );
        }
        let path = webhook.get("webhookPath").and_then(Value::as_str).unwrap_or("/");
        // Only the conversion is sent: the picture of the cluster has definitions without their schemas.
        writes.push(Write::Merge {
            id: ObjectId::of(definition),
            patch: json!({"spec": {"conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {
                        "service": {
                            "namespace": version.namespace(),
                            "name": names::webhook_service(text(webhook, "/deploymentName")),
                            "path": path,
                            "port": webhook.get("containerPort").and_then(Value::as_i64).unwrap_or_default(),
                        },
                        "caBundle": encoded(authority),
                    },
                    "conversionReviewVersions": webhook["admissionReviewVersions"],
                },
            }}}),
        });
    }
    if writes.is_empty() {
        return Err(
            "unable to manager conversion webhook: conversion webhook must have at least one CRD specified"
                .to_owned(),
        );
    }
    Ok(writes)
}

/// Takes the conversion away from custom resources whose converter goes; else nobody could read them any more.
pub fn undo_conversions(world: &World, version: ServiceVersion<'_>) -> Vec<Write> {
    version
        .webhooks()
        .iter()
        .filter(|webhook| text(webhook, "/type") == CONVERSION)
        .flat_map(converted)
        .filter_map(|name| world.get(Kind::CustomResourceDefinition, "", name))
        .filter(|definition| text(definition, "/spec/conversion/strategy") == "Webhook")
        .map(|definition| Write::Merge {
            id: ObjectId::of(definition),
            patch: json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}}),
        })
        .collect()
}
