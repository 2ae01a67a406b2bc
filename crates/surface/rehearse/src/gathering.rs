//! What is read from the live cluster, and brought to the stage before the upgrade is played.

use std::collections::{BTreeMap, BTreeSet};

use api::cluster_object_set::LifecycleState;
use api::{ClusterExtension, ClusterObjectSet, keys};
use apply::engine::content_of;
use apply::object::{ObjectId, label, text};
use helm_operator::watches::Kind;
use kube::api::ApiResource;
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use crate::copies::without_objects;
use crate::copying::{Copier, definition_named};
use crate::impossible::Impossible;
use crate::operators::Account;

/// More of one kind than any cluster has whose upgrade is rehearsed; a list must end somewhere.
const MOST_OBJECTS: usize = 20_000;

/// What a rehearsal asks of the live cluster.
pub(crate) struct Wanted<'a> {
    /// The extension, as it would be asked for.
    pub(crate) extension: &'a ClusterExtension,
    /// The objects of the new bundle.
    pub(crate) objects: &'a [Value],
    /// The kinds that the new operators look after.
    pub(crate) watched: BTreeSet<Kind>,
    /// Who the new operators are.
    pub(crate) accounts: BTreeSet<Account>,
    /// How many resources of a kind are copied.
    pub(crate) sample: usize,
    /// The namespace of the Secrets of revisions.
    pub(crate) system_namespace: &'a str,
}

/// What was read.
#[derive(Default)]
pub(crate) struct Gathered {
    /// The definitions of the extension's kinds as the live cluster has them, by name.
    pub(crate) definitions: BTreeMap<String, Value>,
    /// The custom resources of the extension.
    pub(crate) resources: Vec<Resources>,
    /// The objects of the installed bundle, as the bundle has them.
    pub(crate) installed: Vec<Value>,
    /// Whether it is known who may do what.
    pub(crate) rights_are_known: bool,
}

/// Custom resources of one kind.
pub(crate) struct Resources {
    /// The name of their definition.
    pub(crate) definition: String,
    /// The group of their kind.
    pub(crate) group: String,
    /// Their kind.
    pub(crate) kind: String,
    /// The resources, in the version that is stored.
    pub(crate) objects: Vec<Value>,
    /// How many were left out.
    pub(crate) left_out: usize,
}

/// Copies what the upgrade may touch.
pub(crate) async fn gather(
    copier: &mut Copier,
    live: &kube::Client,
    wanted: &Wanted<'_>,
) -> Result<Gathered, Impossible> {
    let mut gathered = Gathered::default();
    for catalog in every(copier, (keys::GROUP, "v1", "ClusterCatalog")).await? {
        copier.put(catalog).await?;
    }
    let mut extension = serde_json::to_value(wanted.extension)
        .map_err(|fault| Impossible::stage("copy the ClusterExtension", fault))?;
    extension["apiVersion"] = json!(format!("{}/v1", keys::GROUP));
    extension["kind"] = json!("ClusterExtension");
    copier.put(extension).await?;
    gathered.installed = revisions(copier, live, wanted).await?;
    let objects = gathered.installed.iter().chain(wanted.objects);
    let ids: BTreeSet<ObjectId> = objects.map(ObjectId::of).collect();
    copier.bring(ids).await?;
    gathered.rights_are_known = rights(copier, &wanted.accounts).await?;
    for name in owned_definitions(copier, &gathered, wanted).await? {
        let Some(definition) = copier.read(&definition_named(&name)).await? else {
            continue;
        };
        gathered
            .resources
            .extend(resources(copier, &definition, wanted.sample).await?);
        gathered.definitions.insert(name, definition);
    }
    Ok(gathered)
}

/// All objects of a kind in the whole cluster.
async fn every(
    copier: &mut Copier,
    (group, version, kind): (&str, &str, &str),
) -> Result<Vec<Value>, Impossible> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let listed = copier.list(&resource, None, "", MOST_OBJECTS).await?;
    if listed.is_forbidden {
        return Err(Impossible::Live {
            doing: format!("list {}", resource.plural),
            cause: "the server forbids it".to_owned(),
            is_forbidden: true,
        });
    }
    Ok(listed.objects)
}

/// Brings the revisions with what keeps their objects; returns the objects of those that are installed.
async fn revisions(
    copier: &mut Copier,
    live: &kube::Client,
    wanted: &Wanted<'_>,
) -> Result<Vec<Value>, Impossible> {
    let mut installed = Vec::new();
    for revision in every(copier, (keys::GROUP, "v1", "ClusterObjectSet")).await? {
        if label(&revision, keys::OWNER_NAME) != Some(wanted.extension.name()) {
            copier.put(without_objects(revision)).await?;
            continue;
        }
        copier.put(revision.clone()).await?;
        let unreadable = |cause: String| Impossible::Live {
            doing: format!("read ClusterObjectSet {:?}", text(&revision, "/metadata/name")),
            cause,
            is_forbidden: false,
        };
        let set: ClusterObjectSet =
            serde_json::from_value(revision.clone()).map_err(|fault| unreadable(fault.to_string()))?;
        let secrets = apply::content::secrets_of(&set, wanted.system_namespace);
        let secrets = secrets.into_iter().map(|(namespace, name)| ObjectId {
            api_version: "v1".to_owned(),
            kind: "Secret".to_owned(),
            namespace,
            name,
        });
        copier.bring(secrets).await?;
        if set.spec.lifecycle_state != LifecycleState::Active {
            continue;
        }
        let content = content_of(live, &set, wanted.system_namespace)
            .await
            .map_err(|fault| unreadable(fault.to_string()))?;
        let objects = content.phases.into_iter().flat_map(|phase| phase.objects);
        installed.extend(objects.map(|wanted| wanted.object));
    }
    Ok(installed)
}

/// The definitions whose resources the extension looks after: those it has, will have, or whose kinds it watches.
async fn owned_definitions(
    copier: &Copier,
    gathered: &Gathered,
    wanted: &Wanted<'_>,
) -> Result<BTreeSet<String>, Impossible> {
    let objects = gathered.installed.iter().chain(wanted.objects);
    let mut owned: BTreeSet<String> = objects
        .filter(|object| text(object, "/kind") == "CustomResourceDefinition")
        .map(|object| text(object, "/metadata/name").to_owned())
        .collect();
    for kind in &wanted.watched {
        let id = ObjectId {
            api_version: kind.api_version(),
            kind: kind.kind.clone(),
            ..ObjectId::default()
        };
        owned.extend(copier.definition_of(&id).await?);
    }
    Ok(owned)
}

/// Brings the resources of a definition, in the version in which they are stored.
async fn resources(
    copier: &mut Copier,
    definition: &Value,
    sample: usize,
) -> Result<Option<Resources>, Impossible> {
    let Some(version) = read_version(definition) else {
        return Ok(None);
    };
    let (group, kind) = (
        text(definition, "/spec/group"),
        text(definition, "/spec/names/kind"),
    );
    let resource = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(group, version, kind),
        text(definition, "/spec/names/plural"),
    );
    let listed = copier.list(&resource, None, "", sample).await?;
    for object in &listed.objects {
        copier.put(object.clone()).await?;
    }
    Ok(Some(Resources {
        definition: text(definition, "/metadata/name").to_owned(),
        group: group.to_owned(),
        kind: kind.to_owned(),
        objects: listed.objects,
        left_out: listed.left_out,
    }))
}

/// The version in which the resources of a definition are read: the one that is stored, if it is served.
fn read_version(definition: &Value) -> Option<&str> {
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    let served = || versions.iter().filter(|version| version["served"] == true);
    let stored = served().find(|version| version["storage"] == true);
    stored.or_else(|| served().next())?["name"].as_str()
}

/// Brings what gives rights to the operators' accounts; returns whether all of it may be seen.
async fn rights(copier: &mut Copier, accounts: &BTreeSet<Account>) -> Result<bool, Impossible> {
    if accounts.is_empty() {
        return Ok(true);
    }
    let mut is_known = true;
    for kind in ["ClusterRoleBinding", "RoleBinding"] {
        let gvk = GroupVersionKind::gvk("rbac.authorization.k8s.io", "v1", kind);
        let listed = copier
            .list(&ApiResource::from_gvk(&gvk), None, "", MOST_OBJECTS)
            .await?;
        is_known &= !listed.is_forbidden;
        for binding in listed.objects {
            if !accounts.iter().any(|account| binds(&binding, account)) {
                continue;
            }
            let role = ObjectId {
                api_version: "rbac.authorization.k8s.io/v1".to_owned(),
                kind: text(&binding, "/roleRef/kind").to_owned(),
                namespace: match text(&binding, "/roleRef/kind") {
                    "Role" => text(&binding, "/metadata/namespace").to_owned(),
                    _ => String::new(),
                },
                name: text(&binding, "/roleRef/name").to_owned(),
            };
            copier.bring([role]).await?;
            copier.put(binding).await?;
        }
    }
    Ok(is_known)
}

/// Whether a binding gives something to an account, by its name or as one of all accounts.
fn binds(binding: &Value, account: &Account) -> bool {
    let subjects = binding.get("subjects").and_then(Value::as_array);
    let of_namespace = format!("system:serviceaccounts:{}", account.namespace);
    subjects.into_iter().flatten().any(|subject| {
        let (kind, name) = (text(subject, "/kind"), text(subject, "/name"));
        match kind {
            "ServiceAccount" => name == account.name && text(subject, "/namespace") == account.namespace,
            "Group" => name == "system:serviceaccounts" || name == of_namespace,
            "User" => name == account.user(),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_read_in_the_version_that_is_stored() {
        let definition = |versions: Value| json!({"spec": {"versions": versions}});
        let version = |name: &str, served: bool, storage: bool| json!({"name": name, "served": served, "storage": storage});
        let rows = [
            (
                json!([version("v1", true, false), version("v2", true, true)]),
                Some("v2"),
            ),
            (
                json!([version("v1", true, false), version("v2", false, true)]),
                Some("v1"),
            ),
            (json!([version("v1", false, true)]), None),
        ];
        for (versions, expected) in rows {
            assert_eq!(
                read_version(&definition(versions.clone())),
                expected,
                "{versions}"
            );
        }
    }

    #[test]
    fn a_binding_counts_for_whom_it_names() {
        let account = Account {
            namespace: "n".to_owned(),
            name: "a".to_owned(),
        };
        let rows = [
            (
                json!({"kind": "ServiceAccount", "name": "a", "namespace": "n"}),
                true,
            ),
            (
                json!({"kind": "ServiceAccount", "name": "a", "namespace": "m"}),
                false,
            ),
            (json!({"kind": "Group", "name": "system:serviceaccounts:n"}), true),
            (json!({"kind": "Group", "name": "system:masters"}), false),
            (json!({"kind": "User", "name": "system:serviceaccount:n:a"}), true),
        ];
        for (subject, expected) in rows {
            assert_eq!(
                binds(&json!({"subjects": [subject]}), &account),
                expected,
                "{subject}"
            );
        }
    }
}
