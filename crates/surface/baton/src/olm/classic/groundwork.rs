//! What a cluster needs before OLM v0 can work, and what upstream's installation makes beyond that.

use api::definitions;
use apply::refusal::is_already_there;
use classic::Kind;
use classic_controller::watching::resource;
use deploy::classic::OPERATORS_NAMESPACE;
use futures_util::future::try_join_all;
use kube::Client;
use kube::api::{Api, DynamicObject, PostParams};
use serde_json::Value;

use crate::cluster::{FIELD_MANAGER, make_namespace, refused};
use crate::failure::Failure;
use crate::olm::groundwork::{apply, define};

/// How much is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The namespace of global catalogs alone: somebody else has written the rest.
    Namespace,
    /// What OLM v0 needs.
    Needed,
    /// That, and the namespace for operators of all namespaces with the groups that upstream's installation makes.
    AsUpstream,
}

/// Writes what is missing or old. What people may have changed is left as it is.
pub(crate) async fn lay(client: &Client, namespace: &str, extent: Extent) -> Result<(), Failure> {
    make_namespace(client, namespace).await?;
    if extent == Extent::Namespace {
        return Ok(());
    }
    let roles = deploy::classic::roles();
    let roles = roles.iter().map(|role| {
        let name = role["metadata"]["name"].as_str().unwrap_or_default();
        apply(client, "ClusterRole", name, role)
    });
    tokio::try_join!(define(client, &definitions::OLM_V0), try_join_all(roles))?;
    make(client, Kind::OlmConfig, deploy::classic::configuration()).await?;
    if extent == Extent::AsUpstream {
        make_namespace(client, OPERATORS_NAMESPACE).await?;
        for group in deploy::classic::groups(namespace) {
            make(client, Kind::OperatorGroup, group).await?;
        }
    }
    Ok(())
}

/// Makes an object that isn't there.
async fn make(client: &Client, kind: Kind, object: Value) -> Result<(), Failure> {
    let naming = kind.naming();
    let object: DynamicObject = serde_json::from_value(object)?;
    let objects: Api<DynamicObject> = match &object.metadata.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource(kind)),
        None => Api::all_with(client.clone(), &resource(kind)),
    };
    let parameters = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    match objects.create(&parameters, &object).await {
        Err(error) if !is_already_there(&error) => {
            let name = object.metadata.name.unwrap_or_default();
            Err(refused(&format!("make {} {name:?}", naming.kind), error))
        }
        _ => Ok(()),
    }
}
