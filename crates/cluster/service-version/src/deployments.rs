//! The Deployments of a version as they shall be.

use apply::object::{annotation, as_map, at, label, set_metadata_entry, text};
use classic::components;
use classic::hashes::{self, Shape};
use classic::{Kind, World, keys};
use serde_json::{Map, Value, json};

use crate::overrides;
use crate::ownership;
use crate::version::ServiceVersion;

/// The certificate that a Deployment serves with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serving {
    /// The Secret with the certificate.
    pub secret: String,
    /// The hash of the authority's certificate, which makes pods start again when it changes.
    pub authority_hash: String,
}

/// Returns one of the deployments that a version describes, as an object.
pub fn expected(
    world: &World,
    version: ServiceVersion<'_>,
    description: &Value,
    serving: Option<&Serving>,
) -> Value {
    let mut object = ownership::managed(Kind::Deployment, version.namespace(), text(description, "/name"));
    if let Some(labels) = description.get("label").and_then(Value::as_object) {
        let own = as_map(&mut object["metadata"]["labels"]);
        for (key, value) in labels {
            own.entry(key.as_str()).or_insert_with(|| value.clone());
        }
    }
    ownership::add_labels(&mut object, &version.key());
    object["metadata"]["ownerReferences"] = json!([ownership::reference(version.object, false)]);
    object["spec"] = description.get("spec").cloned().unwrap_or_else(|| json!({}));
    if let Some(serving) = serving {
        serve(&mut object, serving);
    }
    let annotations = version
        .object
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    for (key, value) in annotations.into_iter().flatten() {
        set_template_annotation(&mut object, key, value);
    }
    let config = overrides::subscription(world, version.namespace(), version.name())
        .and_then(|subscription| at(subscription, "/spec/config"));
    if let Some(config) = config {
        overrides::apply(&mut object, config);
    }
    if let Some(pod) = overrides::pod_of(&mut object) {
        let variable = json!({"name": keys::OPERATOR_CONDITION_NAME, "value": version.name()});
        overrides::set_environment(pod, &[variable]);
    }
    // Upgrades are not undone by going back to an older ReplicaSet, so one of them is enough.
    object["spec"]["revisionHistoryLimit"] = Value::from(1);
    let hash = hashes::deep_hash(Shape::DeploymentSpec, &object["spec"]);
    set_metadata_entry(&mut object, "labels", keys::DEPLOYMENT_SPEC_HASH, &hash);
    object
}

/// Makes a Deployment a component of the Operators of its version, and of those that one it is written over belongs to.
///
/// Otherwise its label would be put back right after. Kubernetes notes that a rollout began when it has seen the first of two
/// such writes, and doesn't note it again when the second keeps it from writing that down; then it never says that the
/// rollout takes too long.
pub fn join(world: &World, version: ServiceVersion<'_>, deployment: &mut Value) {
    let place = |field: &str| text(deployment, field).to_owned();
    let (namespace, name) = (place("/metadata/namespace"), place("/metadata/name"));
    if let Some(existing) = world.get(Kind::Deployment, &namespace, &name) {
        components::join(deployment, existing);
    }
    components::join(deployment, version.object);
}

fn set_template_annotation(deployment: &mut Value, key: &str, value: &Value) {
    let Some(deployment) = deployment.as_object_mut() else {
        return;
    };
    let spec = as_map(deployment.entry("spec").or_insert(Value::Null));
    let template = as_map(spec.entry("template").or_insert(Value::Null));
    let metadata = as_map(template.entry("metadata").or_insert(Value::Null));
    as_map(metadata.entry("annotations").or_insert(Value::Null)).insert(key.to_owned(), value.clone());
}

/// Lets all containers of a Deployment read the certificate, at the places where servers of both kinds look for it.
fn serve(deployment: &mut Value, serving: &Serving) {
    if let Some(pod) = overrides::pod_of(deployment) {
        let account = pod.entry("serviceAccountName").or_insert(Value::Null);
        if account.as_str().unwrap_or_default().is_empty() {
            *account = Value::from("default");
        }
        for (name, certificate, key, path) in [
            (
                "apiservice-cert",
                "apiserver.crt",
                "apiserver.key",
                "/apiserver.local.config/certificates",
            ),
            (
                "webhook-cert",
                "tls.crt",
                "tls.key",
                "/tmp/k8s-webhook-server/serving-certs",
            ),
        ] {
            let volume = json!({"name": name, "secret": {
                "secretName": serving.secret,
                "items": [{"key": "tls.crt", "path": certificate}, {"key": "tls.key", "path": key}],
            }});
            overrides::set_volumes(pod, &[volume]);
            mount(pod, name, path);
        }
    }
    let hash = Value::from(serving.authority_hash.as_str());
    set_template_annotation(deployment, keys::CERTIFICATE_AUTHORITY_HASH, &hash);
}

/// Mounts a volume in all containers; a mount of the same name stays, one at the same place goes.
fn mount(pod: &mut Map<String, Value>, name: &str, path: &str) {
    let containers = pod.get_mut("containers").and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
        let mounts = container.entry("volumeMounts").or_insert(Value::Null);
        if !mounts.is_array() {
            *mounts = json!([]);
        }
        let Value::Array(mounts) = mounts else { continue };
        let found = mounts
            .iter_mut()
            .find(|mount| text(mount, "/name") == name || text(mount, "/mountPath") == path);
        let wanted = json!({"name": name, "mountPath": path});
        match found {
            Some(mount) if text(mount, "/name") == name => {}
            Some(mount) => *mount = wanted,
            None => mounts.push(wanted),
        }
    }
}

/// What keeps a Deployment from being fine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// It will not become fine by itself.
    Hopeless(String),
    /// It is not as it shall be, so that it must be written again.
    Drift(String),
    /// It is missing, or not yet ready.
    Waiting(String),
}

/// Checks that the Deployments of a version are there, ready, and as they shall be.
///
/// # Errors
///
/// The first that is not.
pub fn check(world: &World, version: ServiceVersion<'_>, expected: &[Value]) -> Result<(), Trouble> {
    for wanted in expected {
        let name = text(wanted, "/metadata/name");
        let found = world
            .get(Kind::Deployment, version.namespace(), name)
            .filter(|found| ownership::is_labelled_with(found, &version.key()));
        let Some(found) = found else {
            return Err(Trouble::Waiting(format!("missing deployment with name={name}")));
        };
        check_ready(found, name)?;
        check_annotations(found, version)?;
        let drift = |message: String| Err(Trouble::Drift(message));
        let Some(hash) = label(found, keys::DEPLOYMENT_SPEC_HASH) else {
            return drift(format!("deployment {name} doesn't have a spec hash, update it"));
        };
        let wanted = label(wanted, keys::DEPLOYMENT_SPEC_HASH).unwrap_or_default();
        if hash != wanted {
            return drift(format!("deployment changed old hash={hash}, new hash={wanted}"));
        }
    }
    Ok(())
}

fn check_ready(deployment: &Value, name: &str) -> Result<(), Trouble> {
    let number = |pointer: &str| {
        deployment
            .pointer(pointer)
            .and_then(Value::as_i64)
            .unwrap_or_default()
    };
    let waiting = |why: String| {
        Err(Trouble::Waiting(format!(
            "waiting for deployment {name} to become ready: {why}"
        )))
    };
    if number("/metadata/generation") > number("/status/observedGeneration") {
        return waiting(format!(
            "waiting for spec update of deployment \"{name}\" to be observed..."
        ));
    }
    let progressing = condition(deployment, "Progressing");
    if progressing.is_some_and(|found| text(found, "/reason") == "ProgressDeadlineExceeded") {
        return Err(Trouble::Hopeless(format!(
            "deployment {name} not ready before timeout: deployment \"{name}\" exceeded its progress deadline"
        )));
    }
    let outdated = number("/status/replicas") - number("/status/updatedReplicas");
    if outdated > 0 {
        return waiting(format!(
            "deployment \"{name}\" waiting for {outdated} outdated replica(s) to be terminated"
        ));
    }
    match condition(deployment, "Available") {
        Some(available) if text(available, "/status") == "True" => Ok(()),
        Some(available) => waiting(format!(
            "deployment \"{name}\" not available: {}",
            text(available, "/message")
        )),
        None => waiting(format!(
            "deployment \"{name}\" not available: missing condition \"Available\""
        )),
    }
}

/// Returns a condition of an object.
pub fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = at(object, "/status/conditions")?.as_array()?;
    conditions
        .iter()
        .find(|condition| text(condition, "/type") == kind)
}

fn check_annotations(deployment: &Value, version: ServiceVersion<'_>) -> Result<(), Trouble> {
    let drift = |message: String| Err(Trouble::Drift(message));
    let wanted = version
        .object
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
        return Ok(());
    };
    let Some(template) = at(deployment, "/spec/template") else {
        return drift("no annotations found on deployment".to_owned());
    };
    if template
        .pointer("/metadata/annotations")
        .is_none_or(Value::is_null)
    {
        return drift("no annotations found on deployment".to_owned());
    }
    for (key, value) in wanted {
        let value = value.as_str().unwrap_or_default();
        match annotation(template, key) {
            None => {
                return drift(format!(
                    "annotations on deployment does not contain expected key: {key}"
                ));
            }
            Some(found) if found != value => {
                return drift(format!(
                    "unexpected annotation on deployment. Expected {key}:{value}, found {key}:{found}"
                ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deployment_is_a_component_where_its_version_or_the_one_before_is_one() {
        let mut world = World::default();
        world.put(json!({"kind": "Deployment", "metadata": {
            "name": "a", "namespace": "n", "labels": {"operators.coreos.com/a.n": "", "of": "somebody"},
        }}));
        let mut deployment =
            json!({"metadata": {"name": "a", "namespace": "n", "labels": {"olm.managed": "true"}}});
        world.put(json!({"kind": "ClusterServiceVersion", "metadata": {
            "name": "v", "namespace": "n", "labels": {"operators.coreos.com/b.n": ""},
        }}));
        let version = ServiceVersion::find(&world, "n", "v").expect("there");
        join(&world, version, &mut deployment);
        assert_eq!(
            deployment["metadata"]["labels"],
            json!({"olm.managed": "true", "operators.coreos.com/a.n": "", "operators.coreos.com/b.n": ""})
        );
    }
}
