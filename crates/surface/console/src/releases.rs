//! Which custom resources Helm operators look after: those that own a release.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, ListParams};

use crate::marks::{Pill, Tone};
use crate::resources::ResourceName;

/// What the Secrets of releases are labelled with.
pub(crate) const OWNED_BY_HELM: &str = "owner=helm";

/// The releases that count: what was there before isn't looked after any more.
const CURRENT: &str = "owner=helm,status notin (superseded,uninstalled)";

/// How many releases are read at once.
const AT_ONCE: u32 = 500;

/// How many releases are looked at: enough for every kind to be seen, few enough to answer at once.
const MOST_RELEASES: usize = 5_000;

/// A resource that owns a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) resource: ResourceName,
    pub(crate) revision: i64,
    pub(crate) status: String,
}

/// The resources that own releases.
#[derive(Debug, Clone, Default)]
pub(crate) struct Survey {
    pub(crate) owned: Vec<Owned>,
    /// Whether there are more than were looked at.
    pub(crate) is_cut: bool,
}

impl Survey {
    /// How many there are, in words.
    pub(crate) fn count(&self) -> String {
        format!("{}{}", self.owned.len(), if self.is_cut { "+" } else { "" })
    }
}

/// Looks at the releases of the whole cluster; nothing of what they hold is read.
pub(crate) async fn survey(client: &Client) -> Result<Survey, kube::Error> {
    let secrets: Api<Secret> = Api::all(client.clone());
    let mut newest: BTreeMap<ResourceName, Owned> = BTreeMap::new();
    let (mut seen, mut is_cut) = (0, false);
    let mut parameters = ListParams::default().labels(CURRENT).limit(AT_ONCE);
    loop {
        let list = secrets.list_metadata(&parameters).await?;
        seen += list.items.len();
        for owned in list.items.iter().filter_map(|secret| owned(&secret.metadata)) {
            let known = newest.get(&owned.resource);
            if known.is_none_or(|known| known.revision < owned.revision) {
                newest.insert(owned.resource.clone(), owned);
            }
        }
        let Some(next) = list.metadata.continue_.filter(|next| !next.is_empty()) else {
            break;
        };
        if seen >= MOST_RELEASES {
            is_cut = true;
            break;
        }
        parameters = parameters.continue_token(&next);
    }
    Ok(Survey {
        owned: newest.into_values().collect(),
        is_cut,
    })
}

/// The resource that owns a release; none for releases that nobody's operator made.
fn owned(metadata: &ObjectMeta) -> Option<Owned> {
    let owners = metadata.owner_references.as_deref()?;
    let owner = owners.iter().find(|owner| owner.controller == Some(true))?;
    // A record that is too long for one Secret has further ones, which are the first one's.
    if owner.kind == "Secret" {
        return None;
    }
    let label = |key: &str| metadata.labels.as_ref()?.get(key);
    let (group, version) = owner
        .api_version
        .split_once('/')
        .unwrap_or(("", &owner.api_version));
    Some(Owned {
        resource: ResourceName {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: owner.kind.clone(),
            // Owners are in the namespace of what they own, or in none; releases are where their resources are.
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: owner.name.clone(),
        },
        revision: label("version")
            .and_then(|text| text.parse().ok())
            .unwrap_or_default(),
        status: label("status").cloned().unwrap_or_default(),
    })
}

/// How a release is, in a word or two.
pub(crate) fn status_pill(status: &str) -> Pill {
    let tone = match status {
        "deployed" => Tone::Good,
        "failed" => Tone::Bad,
        "superseded" | "uninstalled" => Tone::Idle,
        status if status.starts_with("pending") || status == "uninstalling" => Tone::Busy,
        _ => Tone::Warning,
    };
    let mut letters = status.chars();
    let text: String = letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default();
    Pill::new(tone, text.replace('-', " "))
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn a_release_belongs_to_the_resource_that_controls_it() {
        let metadata: ObjectMeta = from_value(json!({
            "name": "sh.helm.release.v1.web.v3", "namespace": "shop",
            "labels": {"owner": "helm", "name": "web", "status": "deployed", "version": "3"},
            "ownerReferences": [
                {"apiVersion": "example.com/v1", "kind": "Shop", "name": "web", "uid": "1", "controller": true},
            ],
        }))
        .expect("metadata");
        let owned = owned(&metadata).expect("an owner");
        assert_eq!((owned.revision, owned.status.as_str()), (3, "deployed"));
        assert_eq!(owned.resource.path(), "/resources/example.com/v1/Shop/shop/web");
        let nobodys = ObjectMeta {
            owner_references: None,
            ..metadata
        };
        assert_eq!(super::owned(&nobodys), None, "somebody installed it by hand");
    }

    #[test]
    fn the_status_of_a_release_is_told_in_words() {
        assert_eq!(
            status_pill("pending-install"),
            Pill::new(Tone::Busy, "Pending install")
        );
        assert_eq!(status_pill("deployed"), Pill::new(Tone::Good, "Deployed"));
        assert_eq!(status_pill("odd").tone, Tone::Warning);
    }
}
