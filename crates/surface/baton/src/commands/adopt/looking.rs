//! What there is of an operator of OLM v0: what was made for it, and everything that gives its service accounts rights.

use std::collections::BTreeSet;

use ::classic::{Kind, keys};
use apply::engine::Engine;
use apply::object::{ObjectId, label, text};
use apply::refusal::is_not_found;
use extension_controller::adoption::classic::rights::{self, Account};
use kube::Client;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::cluster::{lacks_kind, refused};
use crate::failure::Failure;

/// The kinds that OLM v0 makes for a ClusterServiceVersion beside roles and their bindings.
const MADE_BY_CLASSIC: [Kind; 5] = [
    Kind::Deployment,
    Kind::ServiceAccount,
    Kind::Service,
    Kind::ValidatingWebhookConfiguration,
    Kind::MutatingWebhookConfiguration,
];

/// The kinds that say who may do what: OLM v0 makes them in the namespaces that are watched too.
const RIGHTS: [Kind; 4] = [
    Kind::ClusterRole,
    Kind::ClusterRoleBinding,
    Kind::Role,
    Kind::RoleBinding,
];

/// The namespace where OLM v0 lets those who serve APIs read how requests are authenticated.
const KUBE_SYSTEM: &str = "kube-system";

/// A way to the objects of a kind, in one namespace or in all where none is named.
fn objects(client: &Client, kind: Kind, namespace: &str) -> Api<DynamicObject> {
    let naming = kind.naming();
    let (group, version) = naming
        .api_version
        .split_once('/')
        .unwrap_or(("", naming.api_version));
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, naming.kind), naming.plural);
    if naming.is_namespaced && !namespace.is_empty() {
        Api::namespaced_with(client.clone(), namespace, &resource)
    } else {
        Api::all_with(client.clone(), &resource)
    }
}

/// Items of lists don't say what they are.
fn of_kind(object: DynamicObject, kind: Kind) -> Result<Value, Failure> {
    let naming = kind.naming();
    let mut object = serde_json::to_value(object)?;
    object["apiVersion"] = json!(naming.api_version);
    object["kind"] = json!(naming.kind);
    Ok(object)
}

/// Reads an object of OLM v0.
pub(super) async fn read(client: &Client, kind: Kind, namespace: &str, name: &str) -> Result<Value, Failure> {
    let naming = kind.naming();
    let object = objects(client, kind, namespace)
        .get(name)
        .await
        .map_err(|error| match &error {
            error if lacks_kind(error) => Failure::new(format!(
                "the cluster has no {}: OLM v0 isn't on it, and there is nothing to take over; `baton install` installs a package",
                naming.plural
            )),
            error if is_not_found(error) => Failure::new(format!(
                "{} {namespace}/{name} isn't there; `kubectl get {}.operators.coreos.com --all-namespaces` lists what there is",
                naming.kind, naming.plural
            )),
            _ => refused(&format!("read {} {namespace}/{name}", naming.kind), error),
        })?;
    of_kind(object, kind)
}

/// Lists the objects of a kind.
pub(super) async fn list(
    client: &Client,
    kind: Kind,
    namespace: &str,
    labels: &str,
) -> Result<Vec<Value>, Failure> {
    let listed = objects(client, kind, namespace)
        .list(&ListParams::default().labels(labels))
        .await;
    let listed = listed.map_err(|error| refused(&format!("list {}", kind.naming().plural), error))?;
    listed.into_iter().map(|object| of_kind(object, kind)).collect()
}

/// What there is of an operator.
pub(super) struct Found {
    /// What OLM v0 made for it, and what the extension wants and is there.
    pub(super) objects: Vec<Value>,
    /// Bindings of others, and the roles of others that any of the bindings name.
    pub(super) rights_of_others: Vec<Value>,
}

/// Looks at everything that the plan depends on. `watched` is the namespace that the operator watches, if it is one.
pub(super) async fn look(
    client: &Client,
    engine: &Engine,
    (namespace, service_version): (&str, &str),
    watched: Option<&str>,
    wanted: &[Value],
) -> Result<Found, Failure> {
    let mut found = Vec::new();
    let owned = format!(
        "{}={service_version},{}={namespace}",
        keys::OWNER,
        keys::OWNER_NAMESPACE
    );
    for kind in MADE_BY_CLASSIC {
        found.extend(list(client, kind, namespace, &owned).await?);
    }
    for object in wanted {
        found.extend(engine.live(&ObjectId::of(object)).await?);
    }
    let mut all = Vec::new();
    for kind in RIGHTS {
        all.extend(list(client, kind, "", "").await?);
    }
    let is_made = |object: &Value| {
        label(object, keys::OWNER) == Some(service_version)
            && match label(object, keys::OWNER_NAMESPACE) {
                Some(owner) if owner == namespace => true,
                // What is in the watched namespace belongs to the copy of the version there.
                Some(owner) => watched == Some(owner) && label(object, keys::COPIED_FROM) == Some(namespace),
                None => false,
            }
    };
    let (made, others): (Vec<Value>, Vec<Value>) = all.into_iter().partition(is_made);
    found.extend(made);
    let accounts = rights::accounts(found.iter().chain(wanted));
    let (bindings, roles): (Vec<Value>, Vec<Value>) = others
        .into_iter()
        .partition(|object| object.get("roleRef").is_some());
    let names_them = |binding: &Value| !rights::accounts([binding]).is_disjoint(&accounts);
    let (readers, bindings): (Vec<Value>, Vec<Value>) = bindings
        .into_iter()
        .filter(|binding| names_them(binding))
        .partition(|binding| is_reader(binding, &accounts));
    found.extend(readers);
    let named: BTreeSet<_> = found
        .iter()
        .chain(wanted)
        .chain(&bindings)
        .filter_map(role_of)
        .collect();
    let roles = roles.into_iter().filter(|role| {
        let kind = text(role, "/kind").to_owned();
        let place = text(role, "/metadata/namespace").to_owned();
        named.contains(&(kind, place, text(role, "/metadata/name").to_owned()))
    });
    Ok(Found {
        rights_of_others: roles.chain(bindings).collect(),
        objects: found,
    })
}

/// Whether a binding is what OLM v0 makes in `kube-system`, where it can't name its owner.
fn is_reader(binding: &Value, accounts: &BTreeSet<Account>) -> bool {
    text(binding, "/metadata/namespace") == KUBE_SYSTEM
        && label(binding, keys::MANAGED) == Some(keys::MANAGED_VALUE)
        && rights::accounts([binding]).is_subset(accounts)
}

/// The role that a binding names: its kind, namespace and name.
fn role_of(binding: &Value) -> Option<(String, String, String)> {
    binding.get("roleRef")?;
    let kind = text(binding, "/roleRef/kind");
    let place = if kind == "ClusterRole" {
        ""
    } else {
        text(binding, "/metadata/namespace")
    };
    Some((
        kind.to_owned(),
        place.to_owned(),
        text(binding, "/roleRef/name").to_owned(),
    ))
}
