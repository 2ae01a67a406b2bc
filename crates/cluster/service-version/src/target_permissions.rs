//! The permissions of an operator in the namespaces it looks after, beyond its own.

use apply::object::{at, text};
use apply::owners;
use classic::{Kind, World, Write, keys};
use serde_json::{Value, json};

use crate::api_roles::VIEW;
use crate::ownership;
use crate::requirements;
use crate::version::ServiceVersion;

/// Returns the objects of a kind in the namespace of a version that name it as their owner.
fn owned<'a>(world: &'a World, version: ServiceVersion<'_>, kind: Kind) -> Vec<&'a Value> {
    let namespace = version.namespace();
    let key = version.key();
    let found = world.labelled_with(&key);
    found
        .filter(|(key, _)| key.kind == kind && key.namespace == namespace)
        .map(|(_, object)| &**object)
        .collect()
}

/// Lifts the roles of a version that looks after all namespaces to the whole cluster.
///
/// # Errors
///
/// Upstream's text where there is nothing to lift.
pub fn everywhere(world: &World, version: ServiceVersion<'_>) -> Result<Vec<Write>, String> {
    let check = requirements::permissions_everywhere(world, version).map_err(|error| error.to_string())?;
    if check.are_met {
        return Ok(Vec::new());
    }
    let roles = owned(world, version, Kind::Role);
    if roles.is_empty() {
        return Err("no owned roles found".to_owned());
    }
    let create = |object: Value| Write::Create {
        object,
        or_update: false,
    };
    let mut writes = Vec::new();
    for role in roles {
        let name = text(role, "/metadata/name");
        if world.get(Kind::ClusterRole, "", name).is_some() {
            continue;
        }
        let mut rules = role["rules"].as_array().cloned().unwrap_or_default();
        rules.push(json!({"verbs": VIEW, "apiGroups": [""], "resources": ["namespaces"]}));
        let mut object = ownership::managed(Kind::ClusterRole, "", name);
        object["metadata"]["labels"] = role["metadata"]["labels"].clone();
        object["rules"] = Value::Array(rules);
        writes.push(create(object));
    }
    let bindings = owned(world, version, Kind::RoleBinding);
    if bindings.is_empty() {
        return Err("no owned rolebindings found".to_owned());
    }
    for binding in bindings {
        let name = text(binding, "/metadata/name");
        if world.get(Kind::ClusterRoleBinding, "", name).is_some() {
            continue;
        }
        let mut object = ownership::managed(Kind::ClusterRoleBinding, "", name);
        object["metadata"]["labels"] = binding["metadata"]["labels"].clone();
        object["subjects"] = binding["subjects"].clone();
        object["roleRef"] = json!({
            "apiGroup": binding["roleRef"]["apiGroup"],
            "kind": "ClusterRole",
            "name": binding["roleRef"]["name"],
        });
        writes.push(create(object));
    }
    Ok(writes)
}

/// Clones the roles of a version to a namespace that it looks after, owned by its copy there.
///
/// # Errors
///
/// Upstream's text where there is nothing to clone.
pub fn in_namespace(
    world: &World,
    version: ServiceVersion<'_>,
    target: &str,
    copy: &Value,
) -> Result<Vec<Write>, String> {
    let check = requirements::permissions(world, version, target).map_err(|error| error.to_string())?;
    if check.are_met || target == version.namespace() {
        return Ok(Vec::new());
    }
    let roles = owned(world, version, Kind::Role);
    if roles.is_empty() {
        return Err("owned roles not found in cache".to_owned());
    }
    let mut writes = Vec::new();
    let bindings = owned(world, version, Kind::RoleBinding);
    for (kind, object) in roles
        .into_iter()
        .map(|role| (Kind::Role, role))
        .chain(bindings.into_iter().map(|binding| (Kind::RoleBinding, binding)))
    {
        // The label may be anybody's; the reference is the version's.
        if !owners::is_owned_by(object, version.object) {
            continue;
        }
        let name = text(object, "/metadata/name");
        let existing = world
            .get(kind, target, name)
            .filter(|existing| owners::is_owned_by(existing, copy));
        match existing {
            Some(existing) if kind == Kind::Role && existing["rules"] != object["rules"] => {
                let mut updated = (**existing).clone();
                updated["rules"] = object["rules"].clone();
                writes.push(Write::Update(updated));
            }
            Some(_) => {}
            None => writes.push(Write::Create {
                object: cloned(object, version, target, copy),
                or_update: true,
            }),
        }
    }
    Ok(writes)
}

fn cloned(object: &Value, version: ServiceVersion<'_>, target: &str, copy: &Value) -> Value {
    let mut clone = object.clone();
    clone["metadata"] = json!({
        "name": object["metadata"]["name"],
        "namespace": target,
        "labels": object["metadata"]["labels"],
        "ownerReferences": [ownership::reference(copy, false)],
    });
    if let Some(annotations) = at(object, "/metadata/annotations") {
        clone["metadata"]["annotations"] = annotations.clone();
    }
    let owner = classic::Key::new(Kind::ClusterServiceVersion, target, version.name());
    ownership::add_labels(&mut clone, &owner);
    clone["metadata"]["labels"][keys::COPIED_FROM] = Value::from(version.namespace());
    ownership::add_managed(&mut clone);
    clone
}
