//! What an operator says of itself, such as that it must not be upgraded now: its OperatorCondition.

use apply::object::{ObjectId, as_map, at, generation, text};
use apply::owners;
use classic::{Decision, Kind, World, Write, components, keys};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::deployments::condition;
use crate::overrides;
use crate::ownership;
use crate::progress::written;
use crate::version::ServiceVersion;

/// Checks that the operator of a version lets itself be upgraded.
///
/// # Errors
///
/// Why not, in upstream's words.
pub fn check_upgradeable(world: &World, version: ServiceVersion<'_>) -> Result<(), String> {
    let Some(object) = world.get(Kind::OperatorCondition, version.namespace(), version.name()) else {
        return Ok(());
    };
    let refused = |condition: &Value| {
        Err(format!(
            "the operator is not upgradeable: {}",
            text(condition, "/message")
        ))
    };
    let overrides = at(object, "/spec/overrides").and_then(Value::as_array);
    let overridden = overrides
        .into_iter()
        .flatten()
        .find(|condition| text(condition, "/type") == "Upgradeable");
    if let Some(overridden) = overridden {
        return match text(overridden, "/status") {
            "True" => Ok(()),
            _ => refused(overridden),
        };
    }
    let Some(found) = condition(object, "Upgradeable") else {
        return Ok(());
    };
    let status = text(found, "/status");
    let observed = found
        .get("observedGeneration")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    if observed != generation(object) {
        return Err(format!(
            "the operatorcondition status \"Upgradeable\"=\"{status}\" is outdated"
        ));
    }
    if status == "False" {
        return refused(found);
    }
    Ok(())
}

/// Decides about the OperatorCondition of a name: that there is one for its version, that its service accounts may write
/// it, and that its status is what they wrote.
pub fn decide(world: &World, namespace: &str, name: &str, now: Timestamp) -> Decision {
    if let Some(version) = ServiceVersion::find(world, namespace, name)
        && !version.is_copy()
        && !version.is_terminating()
        && let Some(write) = generated(world, version)
    {
        // What follows needs its identity, or its new version.
        return Decision {
            writes: vec![write],
            ..Decision::default()
        };
    }
    let mut writes: Vec<Write> = Vec::new();
    if let Some(condition) = world.get(Kind::OperatorCondition, namespace, name) {
        writes.extend(role(world, condition));
        writes.extend(binding(world, condition));
        writes.extend(environment(world, condition));
        writes.extend(status(condition, now));
    }
    Decision {
        writes,
        ..Decision::default()
    }
}

fn generated(world: &World, version: ServiceVersion<'_>) -> Option<Write> {
    let accounts: Vec<&str> = version
        .cluster_permissions()
        .iter()
        .chain(version.permissions())
        .map(|permission| text(permission, "/serviceAccountName"))
        .filter(|name| !name.is_empty())
        .collect();
    let accounts = if accounts.is_empty() {
        vec!["default"]
    } else {
        accounts
    };
    let deployments: Vec<&str> = version
        .deployments()
        .iter()
        .map(|description| text(description, "/name"))
        .filter(|name| !name.is_empty())
        .collect();
    let owners = json!([ownership::reference(version.object, true)]);
    let Some(existing) = world.get(Kind::OperatorCondition, version.namespace(), version.name()) else {
        let naming = Kind::OperatorCondition.naming();
        let mut object = json!({
            "apiVersion": naming.api_version,
            "kind": naming.kind,
            "metadata": {
                "name": version.name(), "namespace": version.namespace(), "ownerReferences": owners,
            },
            "spec": {"serviceAccounts": accounts, "deployments": deployments},
        });
        components::join(&mut object, version.object);
        return Some(Write::Create {
            object,
            or_update: false,
        });
    };
    let (accounts, deployments) = (json!(accounts), json!(deployments));
    let same = |pointer: &str, wanted: &Value| at(existing, pointer).unwrap_or(&Value::Null) == wanted;
    let has_deployments = same("/spec/deployments", &deployments)
        || deployments == json!([]) && at(existing, "/spec/deployments").is_none();
    if has_deployments
        && same("/spec/serviceAccounts", &accounts)
        && same("/metadata/ownerReferences", &owners)
    {
        return None;
    }
    Some(Write::Merge {
        id: ObjectId::of(existing),
        patch: json!({
            "metadata": {"ownerReferences": owners},
            "spec": {"serviceAccounts": accounts, "deployments": deployments},
        }),
    })
}

/// Makes a Role or a binding of the same name as a condition, owned by it.
fn beside(kind: Kind, condition: &Value) -> Value {
    let (namespace, name) = (
        text(condition, "/metadata/namespace"),
        text(condition, "/metadata/name"),
    );
    let mut object = ownership::managed(kind, namespace, name);
    object["metadata"]["ownerReferences"] = json!([ownership::reference(condition, true)]);
    object
}

fn ensure(world: &World, kind: Kind, condition: &Value, object: Value, fields: &[&str]) -> Option<Write> {
    let existing = world.get(
        kind,
        text(&object, "/metadata/namespace"),
        text(&object, "/metadata/name"),
    );
    let is_there = existing.is_some_and(|existing| {
        owners::is_owned_by(existing, condition)
            && fields
                .iter()
                .all(|field| existing.get(field) == object.get(field))
    });
    (!is_there).then_some(Write::Create {
        object,
        or_update: true,
    })
}

fn role(world: &World, condition: &Value) -> Option<Write> {
    let mut object = beside(Kind::Role, condition);
    object["rules"] = json!([{
        "verbs": ["get", "update", "patch"],
        "apiGroups": ["operators.coreos.com"],
        "resources": ["operatorconditions"],
        "resourceNames": [text(condition, "/metadata/name")],
    }]);
    ensure(world, Kind::Role, condition, object, &["rules"])
}

fn binding(world: &World, condition: &Value) -> Option<Write> {
    let mut object = beside(Kind::RoleBinding, condition);
    let accounts = condition
        .pointer("/spec/serviceAccounts")
        .and_then(Value::as_array);
    let subjects: Vec<Value> = accounts
        .into_iter()
        .flatten()
        .map(|name| json!({"kind": "ServiceAccount", "name": name}))
        .collect();
    object["subjects"] = json!(subjects);
    object["roleRef"] = json!({
        "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": text(condition, "/metadata/name"),
    });
    ensure(
        world,
        Kind::RoleBinding,
        condition,
        object,
        &["roleRef", "subjects"],
    )
}

/// Tells the Deployments of an operator which condition is theirs.
fn environment(world: &World, condition: &Value) -> Vec<Write> {
    let (namespace, name) = (
        text(condition, "/metadata/namespace"),
        text(condition, "/metadata/name"),
    );
    let deployments = at(condition, "/spec/deployments").and_then(Value::as_array);
    let mut writes = Vec::new();
    for deployment in deployments.into_iter().flatten().filter_map(Value::as_str) {
        let Some(found) = world.get(Kind::Deployment, namespace, deployment) else {
            continue;
        };
        if owners::names(found, "ClusterServiceVersion").next() != Some(name) {
            continue;
        }
        let mut object = (**found).clone();
        let Some(pod) = overrides::pod_of(&mut object) else {
            continue;
        };
        let containers = pod.get_mut("containers").and_then(Value::as_array_mut);
        let mut is_missing = false;
        for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
            let variables = container.get("env").and_then(Value::as_array);
            let has = variables.into_iter().flatten().any(|variable| {
                text(variable, "/name") == keys::OPERATOR_CONDITION_NAME && text(variable, "/value") == name
            });
            is_missing |= !has;
        }
        if is_missing {
            let variable = json!({"name": keys::OPERATOR_CONDITION_NAME, "value": name});
            overrides::set_environment(pod, &[variable]);
            writes.push(Write::Update(object));
        }
    }
    writes
}

/// Copies what the operator wrote to the status, with the generation that was seen.
fn status(object: &Value, now: Timestamp) -> Option<Write> {
    let seen = generation(object);
    let wanted = at(object, "/spec/conditions").and_then(Value::as_array)?;
    let mut changed = object.clone();
    let mut is_changed = false;
    for given in wanted {
        let kind = text(given, "/type");
        let known = condition(&changed, kind).cloned();
        let same_status = known
            .as_ref()
            .is_some_and(|known| text(known, "/status") == text(given, "/status"));
        let observed = known
            .as_ref()
            .and_then(|known| known.get("observedGeneration"))
            .and_then(Value::as_i64);
        if same_status && observed == Some(seen) {
            continue;
        }
        is_changed = true;
        let mut entry = given.clone();
        entry["observedGeneration"] = Value::from(seen);
        // Kubernetes' rule: the time is that of the last change of the status.
        if same_status && let Some(known) = &known {
            entry["lastTransitionTime"] = known["lastTransitionTime"].clone();
        } else if text(&entry, "/lastTransitionTime").is_empty() {
            entry["lastTransitionTime"] = Value::from(written(now));
        }
        let status = as_map(as_map(&mut changed).entry("status").or_insert(Value::Null));
        let list = status.entry("conditions").or_insert_with(|| json!([]));
        if !list.is_array() {
            *list = json!([]);
        }
        if let Value::Array(list) = list {
            match list.iter_mut().find(|known| text(known, "/type") == kind) {
                Some(known) => *known = entry,
                None => list.push(entry),
            }
        }
    }
    is_changed.then_some(Write::UpdateStatus(changed))
}
