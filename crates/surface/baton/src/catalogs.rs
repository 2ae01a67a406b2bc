//! Catalogs of a cluster, as commands name them.

use api::ClusterCatalog;
use kube::Client;
use kube::api::{Api, ListParams};

use crate::cluster::{is_forbidden, refused};
use crate::failure::Failure;
use crate::known_names;

/// Fails where the cluster has no catalog of a name, with the names that it has.
pub(crate) async fn check_named(client: &Client, name: &str) -> Result<(), Failure> {
    let catalogs: Api<ClusterCatalog> = Api::all(client.clone());
    match catalogs.get_opt(name).await {
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(unknown(&catalogs, name).await?),
        // Whoever may not look at catalogs may still name one.
        Err(error) if is_forbidden(&error) => Ok(()),
        Err(error) => Err(refused(&format!("read ClusterCatalog {name:?}"), error)),
    }
}

/// What is said of a catalog that isn't there.
pub(crate) async fn unknown(catalogs: &Api<ClusterCatalog>, name: &str) -> Result<Failure, Failure> {
    let listed = catalogs.list(&ListParams::default()).await;
    let listed = listed.map_err(|error| refused("list ClusterCatalogs", error))?;
    let names: Vec<String> = listed.iter().map(kube::ResourceExt::name_any).collect();
    Ok(not_among(name, &names))
}

/// What is said of a catalog that isn't one of those that are there.
pub(crate) fn not_among(name: &str, names: &[String]) -> Failure {
    known_names::unknown("ClusterCatalog", name, names, "`baton catalog add` adds one")
}
