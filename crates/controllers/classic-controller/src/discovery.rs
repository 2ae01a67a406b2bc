//! Which kinds the API server serves, and which version it has.

use std::collections::BTreeSet;

use bundle::cluster_service_version::GroupVersionKind;
use kube::Client;
use kube::core::discovery::v2::APIGroupDiscoveryList;

/// What the API server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The kinds that it serves.
    pub served: BTreeSet<GroupVersionKind>,
    /// Its version, such as `v1.36.3`.
    pub server_version: String,
}

/// Asks the API server; three requests, however many kinds it has.
///
/// # Errors
///
/// If it can't be asked.
pub async fn discover(client: &Client) -> Result<Offer, kube::Error> {
    let server_version = client.apiserver_version().await?.git_version;
    let core = client.list_core_api_versions_aggregated().await?;
    let groups = client.list_api_groups_aggregated().await?;
    let served = [core, groups].iter().flat_map(kinds).collect();
    Ok(Offer {
        served,
        server_version,
    })
}

/// Asks the API server for the kinds of its groups alone, in one request: only those come and go while it runs.
///
/// # Errors
///
/// If it can't be asked.
pub async fn discover_groups(client: &Client) -> Result<BTreeSet<GroupVersionKind>, kube::Error> {
    let groups = client.list_api_groups_aggregated().await?;
    Ok(kinds(&groups).into_iter().collect())
}

fn kinds(list: &APIGroupDiscoveryList) -> Vec<GroupVersionKind> {
    let mut kinds = Vec::new();
    for group in &list.items {
        let name = group
            .metadata
            .as_ref()
            .and_then(|metadata| metadata.name.clone())
            .unwrap_or_default();
        for version in &group.versions {
            let Some(number) = &version.version else { continue };
            for resource in &version.resources {
                let kind = resource
                    .response_kind
                    .as_ref()
                    .and_then(|response| response.kind.clone());
                if let Some(kind) = kind {
                    kinds.push(GroupVersionKind {
                        group: name.clone(),
                        version: number.clone(),
                        kind,
                    });
                }
            }
        }
    }
    kinds
}
