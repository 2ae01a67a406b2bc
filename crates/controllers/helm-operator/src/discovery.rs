//! What a cluster can do, as charts may ask about it.

use std::collections::BTreeSet;

use chart::capabilities::{Capabilities, KubeVersion};
use kube::Client;

/// Asks a cluster what charts may ask about it.
pub async fn capabilities_of(client: &Client) -> Result<Capabilities, kube::Error> {
    let version = client.apiserver_version().await?;
    let discovery = kube::discovery::Discovery::new(client.clone())
        .run_aggregated()
        .await?;
    let mut api_versions: BTreeSet<String> = BTreeSet::new();
    for group in discovery.groups() {
        for version in group.versions() {
            let group_version = if group.name().is_empty() || group.name() == "v1" {
                version.to_owned()
            } else {
                format!("{}/{version}", group.name())
            };
            for (resource, _) in group.versioned_resources(version) {
                api_versions.insert(format!("{group_version}/{}", resource.kind));
            }
            api_versions.insert(group_version);
        }
    }
    Ok(Capabilities {
        kube_version: KubeVersion {
            version: version.git_version,
            major: version.major,
            minor: version.minor,
        },
        api_versions: api_versions.into_iter().collect(),
    })
}
