//! Every pod acts as a ServiceAccount, which must be there, and gets its token unless someone says otherwise.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Operation, Review};
use crate::api::create::generated_name;
use crate::object::{Object, map_of};
use crate::status::Status;
use crate::store::{Key, ResourceKey};

/// The ServiceAccount of pods that name none; a controller makes it in every namespace.
const DEFAULT: &str = "default";

/// Where the token is mounted.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// How the names of token volumes begin.
const TOKEN_VOLUME: &str = "kube-api-access-";

/// How long the token is good; it is renewed long before.
const TOKEN_SECONDS: i64 = 3607;

/// The annotation of a ServiceAccount whose pods may use no secrets but its own.
const ENFORCE_MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";

/// The annotation of pods that only mirror what a node runs by itself.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// How long a pod waits for the default ServiceAccount of a namespace that was made just now.
const PATIENCE: Duration = Duration::from_millis(1_400);

/// How often the account is looked for meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Gives a new pod its ServiceAccount, the account's pull secrets and its token.
pub async fn admit(review: &mut Review<'_>) -> Result<(), Status> {
    if review.operation != Operation::Create || is_of_no_interest(review) {
        return Ok(());
    }
    let Some(pod) = review.object.as_mut() else {
        return Ok(());
    };
    if pod.annotation(MIRROR).is_some() {
        return validate(review).await;
    }
    let spec = map_of(&mut pod["spec"]);
    if account_name(spec.get("serviceAccountName")).is_empty() {
        spec.insert("serviceAccountName".into(), DEFAULT.into());
        spec.insert("serviceAccount".into(), DEFAULT.into());
    }
    let account = account(review).await?;
    let Some(pod) = review.object.as_mut() else {
        return Ok(());
    };
    let spec = &mut pod["spec"];
    let automount = |object: &Value| {
        object
            .get("automountServiceAccountToken")
            .and_then(Value::as_bool)
    };
    if automount(spec).or_else(|| automount(&account)).unwrap_or(true) {
        mount_token(spec);
    }
    let pulls = spec.get("imagePullSecrets").and_then(Value::as_array);
    if pulls.is_none_or(Vec::is_empty)
        && let Some(secrets) = account.get("imagePullSecrets").and_then(Value::as_array)
        && !secrets.is_empty()
    {
        let names: Vec<Value> = secrets
            .iter()
            .map(|secret| json!({"name": secret["name"].as_str().unwrap_or_default()}))
            .collect();
        map_of(spec).insert("imagePullSecrets".into(), names.into());
    }
    validate(review).await
}

/// Refuses a pod whose ServiceAccount isn't there or doesn't allow the pod's secrets.
pub async fn validate(review: &Review<'_>) -> Result<(), Status> {
    if is_of_no_interest(review) {
        return Ok(());
    }
    let Some(pod) = review.object.as_ref() else {
        return Ok(());
    };
    let ephemeral = review.place.subresource == "ephemeralcontainers";
    match review.operation {
        Operation::Create => {}
        Operation::Update if ephemeral => {}
        _ => return Ok(()),
    }
    let spec = &pod["spec"];
    let name = account_name(spec.get("serviceAccountName"));
    if !ephemeral && pod.annotation(MIRROR).is_some() {
        return mirror_problem(spec).map_or(Ok(()), |why| Err(review.forbidden(why)));
    }
    if name.is_empty() {
        let why = format!(
            "no service account specified for pod {}/{}",
            review.place.namespace,
            pod.name()
        );
        return Err(review.forbidden(why));
    }
    let account = account(review).await?;
    let enforced = account.annotation(ENFORCE_MOUNTABLE);
    if !enforced.is_some_and(|value| matches!(value, "1" | "t" | "T" | "TRUE" | "true" | "True")) {
        return Ok(());
    }
    let problem = if ephemeral {
        let allowed = names(&account, "secrets");
        container_problem(
            spec,
            "ephemeralContainers",
            "ephemeral container",
            &allowed,
            account.name(),
        )
    } else {
        secret_problem(spec, &account)
    };
    problem.map_or(Ok(()), |why| Err(review.forbidden(why)))
}

fn is_of_no_interest(review: &Review<'_>) -> bool {
    let place = review.place;
    !place.resource.is("", "pods")
        || !matches!(place.subresource.as_str(), "" | "ephemeralcontainers")
        // Nobody makes ServiceAccounts for an API that is alone.
        || review.api.options.without_controllers
}

fn account_name(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// Returns the ServiceAccount of the reviewed pod.
async fn account(review: &Review<'_>) -> Result<Value, Status> {
    let spec = review.object.as_ref().map(|pod| &pod["spec"]);
    let name = account_name(spec.and_then(|spec| spec.get("serviceAccountName")));
    let namespace = &review.place.namespace;
    let key = Key::new(&ResourceKey::new("", "serviceaccounts"), namespace, name);
    let begun = tokio::time::Instant::now();
    loop {
        if let Some(stored) = review.api.store.get(&key) {
            return Ok(stored.value());
        }
        if name != DEFAULT || begun.elapsed() > PATIENCE {
            return Err(review.forbidden(format_args!(
                "error looking up service account {namespace}/{name}: serviceaccount \"{name}\" not found"
            )));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Mounts the account's token into every container that has nothing at its place.
fn mount_token(spec: &mut Value) {
    let known = spec["volumes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|volume| volume["name"].as_str())
        .find(|name| name.starts_with(TOKEN_VOLUME))
        .map(ToOwned::to_owned);
    let name = known.clone().unwrap_or_else(|| generated_name(TOKEN_VOLUME));
    let mut mounted = false;
    for list in ["initContainers", "containers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            if !container.is_object() {
                continue;
            }
            let mounts = map_of(container)
                .entry("volumeMounts")
                .or_insert_with(|| json!([]));
            if mounts.is_null() {
                *mounts = json!([]);
            }
            let Some(mounts) = mounts.as_array_mut() else {
                continue;
            };
            if mounts.iter().all(|mount| mount["mountPath"] != TOKEN_PATH) {
                mounts.push(json!({"name": name, "readOnly": true, "mountPath": TOKEN_PATH}));
                mounted = true;
            }
        }
    }
    if known.is_some() || !mounted {
        return;
    }
    let volumes = map_of(spec).entry("volumes").or_insert_with(|| json!([]));
    if volumes.is_null() {
        *volumes = json!([]);
    }
    if let Some(volumes) = volumes.as_array_mut() {
        volumes.push(json!({"name": name, "projected": {
            "defaultMode": 0o644,
            "sources": [
                {"serviceAccountToken": {"path": "token", "expirationSeconds": TOKEN_SECONDS}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [
                    {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
                ]}},
            ],
        }}));
    }
}

fn names(object: &Value, list: &str) -> Vec<String> {
    let listed = object[list].as_array().into_iter().flatten();
    listed
        .filter_map(|one| one["name"].as_str())
        .map(ToOwned::to_owned)
        .collect()
}

/// Returns why a pod that mirrors another may not be as it is.
fn mirror_problem(spec: &Value) -> Option<&'static str> {
    if !account_name(spec.get("serviceAccountName")).is_empty() {
        return Some("a mirror pod may not reference service accounts");
    }
    let volumes = || spec["volumes"].as_array().into_iter().flatten();
    let has_secrets = volumes().any(|volume| volume.get("secret").is_some())
        || !names(spec, "imagePullSecrets").is_empty()
        || ["initContainers", "containers", "ephemeralContainers"]
            .iter()
            .any(|list| container_problem(spec, list, "", &[], "").is_some());
    if has_secrets {
        return Some("a mirror pod may not reference secrets");
    }
    let projects_token = volumes()
        .flat_map(|volume| volume["projected"]["sources"].as_array().into_iter().flatten())
        .any(|source| source.get("serviceAccountToken").is_some());
    projects_token.then_some("a mirror pod may not use ServiceAccountToken volume projections")
}

/// Returns which secret a pod uses that its ServiceAccount doesn't name.
fn secret_problem(spec: &Value, account: &Value) -> Option<String> {
    let allowed = names(account, "secrets");
    let name = account.name();
    for volume in spec["volumes"].as_array().into_iter().flatten() {
        if let Some(secret) = volume.get("secret") {
            let secret = secret["secretName"].as_str().unwrap_or_default();
            if !allowed.iter().any(|one| one == secret) {
                return Some(format!(
                    "volume with secret.secretName=\"{secret}\" is not allowed because service account {name} does not \
                     reference that secret"
                ));
            }
        }
    }
    if let Some(problem) = container_problem(spec, "initContainers", "init container", &allowed, name)
        .or_else(|| container_problem(spec, "containers", "container", &allowed, name))
    {
        return Some(problem);
    }
    let pulls = names(account, "imagePullSecrets");
    for (index, pull) in names(spec, "imagePullSecrets").iter().enumerate() {
        if !pulls.contains(pull) {
            return Some(format!(
                "imagePullSecrets[{index}].name=\"{pull}\" is not allowed because service account {name} does not \
                 reference that imagePullSecret"
            ));
        }
    }
    None
}

fn container_problem(
    spec: &Value,
    list: &str,
    called: &str,
    allowed: &[String],
    account: &str,
) -> Option<String> {
    for container in spec[list].as_array().into_iter().flatten() {
        let own = container["name"].as_str().unwrap_or_default();
        for variable in container["env"].as_array().into_iter().flatten() {
            if let Some(secret) = variable["valueFrom"].get("secretKeyRef") {
                let secret = secret["name"].as_str().unwrap_or_default();
                if !allowed.iter().any(|one| one == secret) {
                    return Some(format!(
                        "{called} {own} with envVar {} referencing secret.secretName=\"{secret}\" is not allowed because \
                         service account {account} does not reference that secret",
                        variable["name"].as_str().unwrap_or_default()
                    ));
                }
            }
        }
        for source in container["envFrom"].as_array().into_iter().flatten() {
            if let Some(secret) = source.get("secretRef") {
                let secret = secret["name"].as_str().unwrap_or_default();
                if !allowed.iter().any(|one| one == secret) {
                    return Some(format!(
                        "{called} {own} with envFrom referencing secret.secretName=\"{secret}\" is not allowed because \
                         service account {account} does not reference that secret"
                    ));
                }
            }
        }
    }
    None
}
