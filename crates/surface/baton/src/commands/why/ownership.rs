//! The owners of an object, each with what it says of the next.

use std::fmt::Write as _;

use api::cluster_extension::ClusterExtension;
use api::cluster_object_set::ClusterObjectSet;
use api::{condition, keys};
use apply::engine::Engine;
use apply::object::ObjectId;
use kube::api::{Api, DynamicObject};
use kube::core::ApiResource;
use kube::{Client, ResourceExt as _};
use serde::Serialize;

use super::named;
use crate::cluster::refused;
use crate::failure::Failure;

/// How many owners above each other are followed: a loop of owners must end somewhere.
const MOST_OWNERS: usize = 20;

/// Who owns an object, from the object upwards.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Ownership {
    object: String,
    /// The owners, each owned by the next.
    owners: Vec<Owner>,
    /// Who wrote fields of the object, and how.
    writers: Vec<Writer>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Owner {
    name: String,
    /// What it is to the object below.
    because: String,
    /// What it says of itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Writer {
    manager: String,
    operation: String,
}

/// Follows the controllers of an object up to what nobody controls.
pub(super) async fn trace(
    client: &Client,
    resource: &ApiResource,
    object: &DynamicObject,
) -> Result<Ownership, Failure> {
    // Nothing is applied here, so that no namespace for Secrets is needed.
    let engine = Engine::new(client.clone(), String::new());
    let mut owners = Vec::new();
    let mut current = object.clone();
    while owners.len() < MOST_OWNERS {
        let Some(reference) = controller(&current) else {
            break;
        };
        let id = ObjectId {
            api_version: reference.api_version.clone(),
            kind: reference.kind.clone(),
            namespace: current.namespace().unwrap_or_default(),
            name: reference.name.clone(),
        };
        let Some(owner) = engine.live(&id).await? else {
            owners.push(Owner {
                name: format!("{} {}", reference.kind, reference.name),
                because: "its ownerReferences name it".to_owned(),
                state: Some("it isn't there: the garbage collector will delete what it owned".to_owned()),
            });
            break;
        };
        let owner: DynamicObject = serde_json::from_value(owner)?;
        owners.push(Owner {
            name: named(&reference.kind, &owner),
            because: "its ownerReferences name it as the controller".to_owned(),
            state: state(&reference.kind, &owner),
        });
        current = owner;
    }
    // What upstream's Helm applier or an orphaning left has labels, but perhaps no owner.
    if owners.is_empty()
        && let Some(name) = object.labels().get(keys::OWNER_NAME)
    {
        let kind = object
            .labels()
            .get(keys::OWNER_KIND)
            .map_or("ClusterExtension", String::as_str);
        let extension = Api::<ClusterExtension>::all(client.clone())
            .get_opt(name)
            .await
            .map_err(|error| refused(&format!("read {kind} {name:?}"), error))?;
        owners.push(Owner {
            name: format!("{kind} {name}"),
            because: "its labels name it, but no ownerReference does".to_owned(),
            state: Some(extension.map_or_else(
                || "it isn't there".to_owned(),
                |extension| extension_state(&extension),
            )),
        });
    }
    let mut writers: Vec<Writer> = Vec::new();
    for entry in object.metadata.managed_fields.iter().flatten() {
        let writer = Writer {
            manager: entry.manager.clone().unwrap_or_default(),
            operation: entry.operation.clone().unwrap_or_default(),
        };
        // Who writes the status too has an entry for it.
        if !writers.contains(&writer) {
            writers.push(writer);
        }
    }
    // The server's order depends on who wrote when; who applies comes first, as in the server's.
    writers.sort_by(|one, other| (&one.operation, &one.manager).cmp(&(&other.operation, &other.manager)));
    Ok(Ownership {
        object: named(&resource.kind, object),
        owners,
        writers,
    })
}

fn controller(
    object: &DynamicObject,
) -> Option<&k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference> {
    let references = object.metadata.owner_references.as_deref()?;
    references
        .iter()
        .find(|reference| reference.controller == Some(true))
        .or_else(|| references.first())
}

/// What an owner of OLM's says of itself.
fn state(kind: &str, owner: &DynamicObject) -> Option<String> {
    let whole = serde_json::to_value(owner).ok()?;
    match kind {
        "ClusterExtension" => serde_json::from_value(whole)
            .ok()
            .map(|extension| extension_state(&extension)),
        "ClusterObjectSet" => serde_json::from_value::<ClusterObjectSet>(whole)
            .ok()
            .map(|revision| {
                let annotation = |key| revision.annotations().get(key).map_or("?", String::as_str);
                format!(
                    "revision {} of package {}, bundle {} {}, from {}",
                    revision.spec.revision,
                    annotation(keys::PACKAGE_NAME),
                    annotation(keys::BUNDLE_NAME),
                    annotation(keys::BUNDLE_VERSION),
                    annotation(keys::BUNDLE_REFERENCE),
                )
            }),
        _ => None,
    }
}

fn extension_state(extension: &ClusterExtension) -> String {
    let package = extension
        .spec
        .source
        .catalog
        .as_ref()
        .map_or("?", |catalog| catalog.package_name.as_str());
    let version = match &extension.status.install {
        Some(install) => format!("version {} is installed", install.bundle.version),
        None => "nothing is installed".to_owned(),
    };
    let progress = condition::find(&extension.status.conditions, "Progressing")
        .map(|condition| format!("; {}: {}", condition.reason, condition.message));
    format!("package {package}, {version}{}", progress.unwrap_or_default())
}

/// The owners as a tree for people.
pub(super) fn told(ownership: &Ownership) -> String {
    let mut text = format!("{}\n", ownership.object);
    for (depth, owner) in ownership.owners.iter().enumerate() {
        let indent = "   ".repeat(depth);
        let _ = writeln!(text, "{indent}└─ belongs to {} ({})", owner.name, owner.because);
        if let Some(state) = &owner.state {
            let _ = writeln!(text, "{indent}   {state}");
        }
    }
    if ownership.owners.is_empty() {
        text.push_str("└─ belongs to nobody: no ownerReference and no label of an extension\n");
    }
    let writers: Vec<String> = ownership
        .writers
        .iter()
        .map(|writer| format!("{} ({})", writer.manager, writer.operation))
        .collect();
    if !writers.is_empty() {
        let _ = writeln!(text, "fields written by {}", writers.join(", "));
    }
    text
}
