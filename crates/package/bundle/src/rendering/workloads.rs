//! The operator's deployments, and the manifests that are installed as they are.

use serde_json::{Map, Value, json};

use super::certificates::{CertificateSecret, ServingCertificate};
use super::{RenderError, RenderOptions, list, object, text};
use super::{deployment_config, quantity};
use crate::registry::{RegistryBundle, object_of};
use crate::supported_kinds::{Scope, scope};

/// Where an operator finds the certificate of its webhooks: controller-runtime's place, and the one of API servers.
const CERTIFICATE_VOLUMES: [CertificateVolume; 2] = [
    CertificateVolume {
        name: "webhook-cert",
        path: "/tmp/k8s-webhook-server/serving-certs",
        certificate: "tls.crt",
        private_key: "tls.key",
    },
    CertificateVolume {
        name: "apiservice-cert",
        path: "/apiserver.local.config/certificates",
        certificate: "apiserver.crt",
        private_key: "apiserver.key",
    },
];

struct CertificateVolume {
    name: &'static str,
    path: &'static str,
    certificate: &'static str,
    private_key: &'static str,
}

pub(super) fn other_manifests(
    bundle: &RegistryBundle,
    options: &RenderOptions<'_>,
) -> Result<Vec<Value>, RenderError> {
    let place = |manifest: &Value| {
        let kind = text(manifest, "kind");
        let mut manifest = manifest.clone();
        match scope(kind) {
            Some(Scope::Cluster) => {}
            Some(Scope::Namespaced) => {
                let metadata = object_of(object_of(&mut manifest).entry("metadata").or_insert(Value::Null));
                metadata.insert("namespace".to_owned(), options.install_namespace.as_str().into());
            }
            None => {
                let name = text(&manifest["metadata"], "name").to_owned();
                return Err(RenderError::UnsupportedKind {
                    name,
                    kind: kind.to_owned(),
                });
            }
        }
        Ok(manifest)
    };
    bundle.others.iter().map(place).collect()
}

pub(super) fn deployments(
    bundle: &RegistryBundle,
    options: &RenderOptions<'_>,
) -> Result<Vec<Value>, RenderError> {
    let serves_webhooks = |name: &str| {
        list(bundle, "/spec/webhookdefinitions")
            .iter()
            .any(|webhook| text(webhook, "deploymentName") == name)
    };
    let annotations = bundle
        .cluster_service_version
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    let deployment = |described: &Value| {
        let name = text(described, "name");
        let mut deployment = object("apps/v1", "Deployment", name, &options.install_namespace);
        if described["label"]
            .as_object()
            .is_some_and(|labels| !labels.is_empty())
        {
            deployment["metadata"]["labels"] = described["label"].clone();
        }
        let mut spec = without_nulls(described["spec"].clone());
        annotate_pods(&mut spec, annotations, options);
        object_of(&mut spec).insert("revisionHistoryLimit".to_owned(), json!(1));
        deployment["spec"] = spec;
        write_quantities_as_kubernetes(pod_spec(&mut deployment));
        if let Some(provider) = options.certificates.filter(|_| serves_webhooks(name)) {
            let certificate = ServingCertificate::for_deployment(name, &options.install_namespace);
            mount_certificate(&mut deployment, &provider.secret(&certificate));
        }
        if let Some(config) = &options.deployment_config {
            deployment_config::apply(&mut deployment, &without_nulls(config.clone()));
        }
        deployment
    };
    Ok(list(bundle, "/spec/install/spec/deployments")
        .iter()
        .map(deployment)
        .collect())
}

/// Writes what containers ask for as a cluster would write it back, so that comparing with the cluster finds no change.
///
/// What is no quantity stays: the API server says so, with the place.
fn write_quantities_as_kubernetes(pod: &mut Map<String, Value>) {
    let containers = ["containers", "initContainers"]
        .map(|kind| pod.get(kind).is_some_and(Value::is_array).then_some(kind));
    for kind in containers.into_iter().flatten() {
        for container in list_of(pod, kind) {
            for part in ["limits", "requests"] {
                let Some(Value::Object(amounts)) = container.pointer_mut(&format!("/resources/{part}"))
                else {
                    continue;
                };
                for amount in amounts.values_mut() {
                    let text = match &*amount {
                        Value::String(text) => text.clone(),
                        Value::Number(number) => number.to_string(),
                        _ => continue,
                    };
                    if let Ok(canonical) = quantity::canonical(&text) {
                        *amount = canonical.into();
                    }
                }
            }
        }
    }
}

/// Pods carry the ClusterServiceVersion's annotations, their own, and which namespaces the operator watches.
fn annotate_pods(spec: &mut Value, annotations: Option<&Map<String, Value>>, options: &RenderOptions<'_>) {
    let template = object_of(object_of(spec).entry("template").or_insert(Value::Null));
    let metadata = object_of(template.entry("metadata").or_insert(Value::Null));
    let mut merged = annotations.cloned().unwrap_or_default();
    merged.append(object_of(metadata.entry("annotations").or_insert(Value::Null)));
    merged.insert(
        "olm.targetNamespaces".to_owned(),
        options.target_namespaces.join(",").into(),
    );
    merged.insert(
        "olm.operatorNamespace".to_owned(),
        options.install_namespace.as_str().into(),
    );
    metadata.insert("annotations".to_owned(), merged.into());
}

/// Mounts the certificate where operators look for it, in place of whatever was mounted there.
fn mount_certificate(deployment: &mut Value, secret: &CertificateSecret) {
    let pod = pod_spec(deployment);
    let mut replaced: Vec<String> = CERTIFICATE_VOLUMES
        .iter()
        .map(|volume| volume.name.to_owned())
        .collect();
    for mount in items(pod, "containers")
        .iter()
        .flat_map(|container| items_of(container, "volumeMounts"))
    {
        if CERTIFICATE_VOLUMES
            .iter()
            .any(|volume| mount["mountPath"] == volume.path)
        {
            replaced.push(text(mount, "name").to_owned());
        }
    }
    let stays = |item: &Value| !replaced.iter().any(|name| item["name"] == name.as_str());
    let volumes = list_of(pod, "volumes");
    volumes.retain(stays);
    volumes.extend(CERTIFICATE_VOLUMES.iter().map(|volume| {
        json!({ "name": volume.name, "secret": { "secretName": secret.name, "items": [
            { "key": secret.certificate_key, "path": volume.certificate },
            { "key": secret.private_key_key, "path": volume.private_key },
        ] } })
    }));
    for container in containers(pod) {
        let mounts = list_of(object_of(container), "volumeMounts");
        mounts.retain(stays);
        mounts.extend(
            CERTIFICATE_VOLUMES
                .iter()
                .map(|volume| json!({ "name": volume.name, "mountPath": volume.path })),
        );
    }
}

/// The pod specification of a deployment; an empty one is put where there is none.
pub(super) fn pod_spec(deployment: &mut Value) -> &mut Map<String, Value> {
    let spec = object_of(object_of(deployment).entry("spec").or_insert(Value::Null));
    let template = object_of(spec.entry("template").or_insert(Value::Null));
    object_of(template.entry("spec").or_insert(Value::Null))
}

/// The containers of a pod specification.
pub(super) fn containers(pod: &mut Map<String, Value>) -> &mut [Value] {
    pod.get_mut("containers")
        .and_then(Value::as_array_mut)
        .map_or(&mut [], Vec::as_mut_slice)
}

/// A list field, made where there is none.
pub(super) fn list_of<'a>(object: &'a mut Map<String, Value>, field: &str) -> &'a mut Vec<Value> {
    let value = object.entry(field).or_insert(Value::Null);
    if !value.is_array() {
        *value = json!([]);
    }
    match value {
        Value::Array(items) => items,
        _ => unreachable!("the value was just made a list"),
    }
}

fn items<'a>(object: &'a Map<String, Value>, field: &str) -> &'a [Value] {
    object
        .get(field)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn items_of<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

/// A value without fields that are null: they say nothing, and typed clients don't write them.
pub(super) fn without_nulls(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(object) => {
                object.retain(|_, value| !value.is_null());
                object.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut value);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_written_as_a_cluster_writes_them() {
        let mut deployment = json!({ "spec": { "template": { "spec": {
            "containers": [{ "resources": { "limits": { "cpu": 0.5, "memory": "1024Mi" }, "requests": { "cpu": "lots" } } }],
        } } } });
        write_quantities_as_kubernetes(pod_spec(&mut deployment));
        let resources = deployment.pointer("/spec/template/spec/containers/0/resources");
        let expected = json!({ "limits": { "cpu": "500m", "memory": "1Gi" }, "requests": { "cpu": "lots" } });
        assert_eq!(resources, Some(&expected));
    }
}
