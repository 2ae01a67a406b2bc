//! Which resource a page is about, as it stands in its address.

use apply::refusal::is_not_found;
use futures_util::stream::BoxStream;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::core::{DynamicResourceScope, PartialObjectMeta};
use kube::discovery::{ApiCapabilities, Scope, pinned_kind};
use kube::runtime::watcher;
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Api, Client, Resource};

use crate::changes::changes_of;
use crate::fault::Fault;
use crate::page::path;

/// What stands in an address for the group without a name.
const CORE: &str = "core";

/// What stands in an address for no namespace.
const NO_NAMESPACE: &str = "-";

/// The longest part of a name that Kubernetes allows.
const LONGEST_PART: usize = 253;

/// A resource by its kind, namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ResourceName {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    /// Empty for none.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl ResourceName {
    /// Reads the parts of an address.
    pub(crate) fn read(
        group: &str,
        version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Self, Fault> {
        let (group, version, kind) = read_kind(group, version, kind)?;
        Ok(Self {
            group,
            version,
            kind,
            namespace: match part(namespace)? {
                NO_NAMESPACE => String::new(),
                namespace => namespace.to_owned(),
            },
            name: part(name)?.to_owned(),
        })
    }

    /// The address of the resource's page.
    pub(crate) fn path(&self) -> String {
        let namespace = match self.namespace.as_str() {
            "" => NO_NAMESPACE,
            namespace => namespace,
        };
        let kind = kind_path(&self.group, &self.version, &self.kind);
        format!("{kind}{}", path([namespace, &self.name]))
    }

    /// How pages call it.
    pub(crate) fn words(&self) -> String {
        format!("{} {}", self.kind, self.full_name())
    }

    /// Its name, with the namespace if it has one.
    pub(crate) fn full_name(&self) -> String {
        match self.namespace.as_str() {
            "" => self.name.clone(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }

    /// The way to the resource and its neighbours, whole or as far as their metadata goes.
    pub(crate) async fn api<K>(&self, client: &Client) -> Result<Api<K>, Fault>
    where
        K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    {
        let (resource, capabilities) = served(client, &self.group, &self.version, &self.kind).await?;
        Ok(match capabilities.scope {
            Scope::Cluster => Api::all_with(client.clone(), &resource),
            Scope::Namespaced => Api::namespaced_with(client.clone(), &self.namespace, &resource),
        })
    }

    /// Happens with every change of the resource.
    pub(crate) async fn changes(&self, client: &Client) -> Result<BoxStream<'static, ()>, Fault> {
        let only = watcher::Config::default().fields(&format!("metadata.name={}", self.name));
        let objects: Api<PartialObjectMeta<DynamicObject>> = self.api(client).await?;
        let seen = watch(objects, only);
        Ok(changes_of(seen.default_backoff()))
    }
}

/// The address of the list of a kind.
pub(super) fn kind_path(group: &str, version: &str, kind: &str) -> String {
    let group = if group.is_empty() { CORE } else { group };
    path(["resources", group, version, kind])
}

/// Reads the parts of an address that name a kind.
pub(super) fn read_kind(group: &str, version: &str, kind: &str) -> Result<(String, String, String), Fault> {
    let group = match part(group)? {
        CORE => "",
        group => group,
    };
    Ok((
        group.to_owned(),
        part(version)?.to_owned(),
        part(kind)?.to_owned(),
    ))
}

/// Refuses what is no part of any name, before it becomes part of a request.
fn part(text: &str) -> Result<&str, Fault> {
    let is_sound = !text.is_empty()
        && text.len() <= LONGEST_PART
        && !matches!(text, "." | "..")
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':' | b'_'));
    if is_sound {
        return Ok(text);
    }
    Err(Fault::bad_request(
        "a part of the address is no name that Kubernetes knows; follow the links of the list of resources",
    ))
}

/// Finds out how the cluster serves a kind.
pub(super) async fn served(
    client: &Client,
    group: &str,
    version: &str,
    kind: &str,
) -> Result<(ApiResource, ApiCapabilities), Fault> {
    let wanted = GroupVersionKind::gvk(group, version, kind);
    pinned_kind(client, &wanted).await.map_err(|error| {
        if is_not_found(&error) || matches!(error, kube::Error::Discovery(_)) {
            return Fault::not_found(format!(
                "the cluster has no kind {kind} in {group}/{version}; `kubectl api-resources` lists those that it has"
            ));
        }
        Fault::refused(&format!("find the kind {kind} of {group}/{version}"), &error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_from_the_address_that_it_makes() {
        let name = ResourceName {
            group: String::new(),
            version: "v1".to_owned(),
            kind: "Thing".to_owned(),
            namespace: String::new(),
            name: "a.b".to_owned(),
        };
        assert_eq!(name.path(), "/resources/core/v1/Thing/-/a.b");
        assert_eq!(
            ResourceName::read("core", "v1", "Thing", "-", "a.b").ok(),
            Some(name)
        );
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in ["", "..", "a/b", "a?b", "ä", &"a".repeat(300)] {
            assert!(ResourceName::read("g", "v1", "K", "n", text).is_err(), "{text:?}");
        }
    }
}
