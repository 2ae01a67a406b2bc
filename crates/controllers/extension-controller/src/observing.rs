//! Reads what decisions are made of, and only reads.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use api::cluster_catalog::AvailabilityMode;
use api::cluster_object_set::LifecycleState;
use api::condition::is_true;
use api::{ClusterCatalog, ClusterExtension, ClusterObjectSet, keys};
use apply::definition_safety;
use apply::engine::content_of;
use apply::refusal::words;
use apply::revision::conclusion::collides;
use catalog::objects::Property;
use image::reference::Reference;
use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, ListParams};
use kube::runtime::watcher::Event;
use resolve::dependencies::{DEPENDENCY_PROPERTIES, GroupVersionKind, Inventory, Present};
use resolve::resolution::BrokenCatalogs;
use resolve::selection::Selection;
use serde_json::Value;
use version::Version;

use crate::bundles::Bundles;
use crate::catalogs::{Catalogs, ContentError};
use crate::choosing::{Choice, Target};
use crate::deciding::change;
use crate::failure::Failure;
use crate::index::Index;
use crate::packages::Packages;
use crate::preflight;
use crate::revisions::Change;
use crate::snapshot::{Content, NoContent, SeenCatalog, SeenPackage, Snapshot};
use crate::standing::{Bundle, Revision};
use crate::status::SUCCEEDED;

/// What is needed to look at an extension.
pub struct Observer<C> {
    /// The way to the cluster.
    pub client: kube::Client,
    /// What the cluster holds of extensions, revisions and catalogs.
    pub index: Index,
    /// Gives the content of catalogs.
    pub catalogs: C,
    /// Fetches bundles.
    pub bundles: Bundles,
    /// What a catalog that can't be asked does to the others.
    pub broken_catalogs: BrokenCatalogs,
    /// The namespace that the Secrets of revisions are in.
    pub system_namespace: String,
    /// The extensions, by their unique ids, that are known to have no Helm release.
    pub(crate) without_release: Mutex<HashSet<String>>,
    /// By the extension: what was chosen when the newest revision was found to hold it.
    settled: Mutex<HashMap<String, Settled>>,
    /// What was read of catalogs.
    packages: Packages,
}

/// What the comparison of a bundle with the newest revision depends on: as long as it stays, so does the answer.
#[derive(Debug, Clone, PartialEq)]
struct Settled {
    bundle: Bundle,
    extension: (Option<String>, i64, BTreeMap<String, String>),
    revision: ObjectMeta,
    /// Whether the revision collides with objects of others, which it may be allowed to take over by now.
    collides: bool,
}

impl Settled {
    /// Returns it for an image that can't become another one, and an extension that has a revision.
    fn of(snapshot: &Snapshot, choice: &Choice) -> Option<Self> {
        let Target::Bundle(bundle) = &choice.target else {
            return None;
        };
        Reference::parse(&bundle.image).ok()?.digest()?;
        let newest = snapshot.object_sets.last()?;
        let metadata = &newest.metadata;
        let mut annotations = snapshot.annotations();
        annotations.remove(keys::WAITING);
        Some(Self {
            bundle: bundle.clone(),
            extension: (
                snapshot.extension.metadata.uid.clone(),
                snapshot.extension.generation(),
                annotations,
            ),
            revision: ObjectMeta {
                // It moves with the status, which is no part of the comparison.
                resource_version: None,
                ..metadata.clone()
            },
            collides: collides(&newest.status.conditions),
        })
    }
}

impl<C: Catalogs> Observer<C> {
    /// Makes an observer that has seen nothing yet.
    pub fn new(
        client: kube::Client,
        catalogs: C,
        bundles: Bundles,
        broken_catalogs: BrokenCatalogs,
        system_namespace: String,
    ) -> Self {
        Self {
            client,
            index: Index::default(),
            catalogs,
            bundles,
            broken_catalogs,
            system_namespace,
            without_release: Mutex::default(),
            settled: Mutex::default(),
            packages: Packages::default(),
        }
    }

    /// Reads all extensions, revisions and catalogs once, for whoever looks without watching.
    ///
    /// # Errors
    ///
    /// If the API server doesn't answer.
    pub async fn fill(&self) -> Result<(), kube::Error> {
        let all = ListParams::default();
        let extensions: Api<ClusterExtension> = Api::all(self.client.clone());
        for extension in extensions.list(&all).await?.items {
            self.index.extension_seen(Event::Apply(extension));
        }
        let object_sets: Api<ClusterObjectSet> = Api::all(self.client.clone());
        for object_set in object_sets.list(&all).await?.items {
            self.index.object_set_seen(Event::Apply(object_set));
        }
        let catalogs: Api<ClusterCatalog> = Api::all(self.client.clone());
        for catalog in catalogs.list(&all).await?.items {
            self.index.catalog_seen(Event::Apply(catalog));
        }
        Ok(())
    }

    /// Looks at an extension.
    pub async fn observe(&self, extension: &ClusterExtension) -> Snapshot {
        let catalogs = self.catalogs_of(extension).await;
        Snapshot {
            object_sets: self.index.revisions_of(extension.name()),
            inventory: self.inventory(catalogs.as_deref().unwrap_or_default()).await,
            catalogs,
            broken_catalogs: self.broken_catalogs,
            system_namespace: self.system_namespace.clone(),
            extension: extension.clone(),
            now: Timestamp::now(),
        }
    }

    async fn catalogs_of(&self, extension: &ClusterExtension) -> Result<Vec<SeenCatalog>, String> {
        let Some(filter) = &extension.spec.source.catalog else {
            return Ok(Vec::new());
        };
        let selection = selection(extension)?;
        let mut seen = Vec::new();
        for catalog in self.index.catalogs() {
            if selection.includes(&labels_of(&catalog)) {
                seen.push(SeenCatalog {
                    name: catalog.name().to_owned(),
                    priority: catalog.spec.priority,
                    package: self.package(&catalog, &filter.package_name).await,
                });
            }
        }
        Ok(seen)
    }

    async fn package(&self, catalog: &ClusterCatalog, package: &str) -> SeenPackage {
        if catalog.spec.availability_mode == AvailabilityMode::Unavailable {
            return SeenPackage::Disabled;
        }
        let is_served =
            is_true(&catalog.status.conditions, "Serving") && catalog.resolved_reference().is_some();
        if !is_served {
            let fault = ContentError::NotServed(catalog.name().to_owned());
            return SeenPackage::Broken(fault.to_string());
        }
        match self.catalogs.content(catalog).await {
            Ok(store) => match self.packages.read(&store, package) {
                Ok(package) => SeenPackage::Read(package),
                Err(fault) => SeenPackage::Broken(fault.to_string()),
            },
            Err(fault) => SeenPackage::Broken(fault.to_string()),
        }
    }

    /// Returns what is installed in the cluster, as far as bundles ask for it.
    async fn inventory(&self, catalogs: &[SeenCatalog]) -> Inventory {
        let packages = catalogs.iter().filter_map(|catalog| match &catalog.package {
            SeenPackage::Read(package) => package.as_deref(),
            SeenPackage::Disabled | SeenPackage::Broken(_) => None,
        });
        let bundles = packages.flat_map(|package| &package.bundles);
        let needs: BTreeSet<&str> = bundles
            .flat_map(|bundle| &bundle.properties)
            .map(|property| property.kind.as_str())
            .filter(|kind| DEPENDENCY_PROPERTIES.contains(kind))
            .collect();
        let mut inventory = Inventory::default();
        if needs.is_empty() {
            return inventory;
        }
        inventory.bundles = self.installed_bundles();
        if needs.iter().any(|kind| *kind != "olm.package.required") {
            // Without an answer nothing is known to be there, and what is needed is said to be missing.
            inventory.kinds = self.served_kinds().await.unwrap_or_default();
        }
        inventory
    }

    /// Returns all that bundles may ask for: what is installed, and the kinds that the cluster serves.
    ///
    /// # Errors
    ///
    /// If the API server doesn't answer.
    pub async fn whole_inventory(&self) -> Result<Inventory, kube::Error> {
        Ok(Inventory {
            bundles: self.installed_bundles(),
            kinds: self.served_kinds().await?,
        })
    }

    fn installed_bundles(&self) -> Vec<Present> {
        let object_sets = self.index.object_sets();
        object_sets
            .iter()
            .filter_map(|object_set| present(object_set))
            .collect()
    }

    async fn served_kinds(&self) -> Result<BTreeSet<GroupVersionKind>, kube::Error> {
        let discovery = kube::Discovery::new(self.client.clone()).run().await?;
        let mut kinds = BTreeSet::new();
        for group in discovery.groups() {
            for version in group.versions() {
                for (resource, _) in group.versioned_resources(version) {
                    kinds.insert(GroupVersionKind {
                        group: resource.group.clone(),
                        version: resource.version.clone(),
                        kind: resource.kind.clone(),
                    });
                }
            }
        }
        Ok(kinds)
    }

    fn is_settled(&self, extension: &str, now: Option<&Settled>) -> bool {
        let settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        now.is_some() && settled.get(extension) == now
    }

    fn settle(&self, extension: &str, now: Option<Settled>) {
        if let Some(now) = now {
            let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
            settled.insert(extension.to_owned(), now);
        }
    }

    /// Forgets what is known of an extension that is gone.
    pub fn forget(&self, extension: &str) {
        let mut settled = self.settled.lock().unwrap_or_else(PoisonError::into_inner);
        settled.remove(extension);
    }

    /// Fetches the content of what was chosen; none where it needs none, or is known to change nothing.
    pub async fn content(&self, snapshot: &Snapshot, choice: &Choice) -> Option<Result<Content, NoContent>> {
        let extension = &snapshot.extension;
        let settled = Settled::of(snapshot, choice);
        if self.is_settled(extension.name(), settled.as_ref()) {
            return None;
        }
        let content = match &choice.target {
            Target::AsItIs | Target::Unknown(_) => return None,
            Target::Bundle(bundle) => match self.bundles.fetch(&bundle.image).await {
                Ok(found) => self
                    .bundles
                    .render(extension, &found, &bundle.image, Some(bundle)),
                Err(fault) => Err(fault),
            },
            Target::Image(image) => match self.bundles.fetch(image).await {
                Ok(found) => self.bundles.render(extension, &found, image, None),
                Err(fault) => Err(fault),
            },
            Target::Again { revision, .. } => self.content_of(revision).await,
        };
        let mut content = match content {
            Ok(content) => content,
            Err(fault) => return Some(Err(fault)),
        };
        match change(snapshot, choice, &content) {
            Some(Change::Nothing) => self.settle(extension.name(), settled),
            Some(Change::Next) if preflight::is_wanted(extension) => {
                content.definitions = self.definitions(&content.objects).await;
            }
            _ => {}
        }
        Some(Ok(content))
    }

    /// Returns what a revision holds.
    async fn content_of(&self, revision: &Revision) -> Result<Content, NoContent> {
        let gone = || NoContent::Apply(Failure::passing(format!("revision {} is gone", revision.name)));
        let object_set = self.index.object_set(&revision.name).ok_or_else(gone)?;
        let objects = self
            .objects_of(&object_set)
            .await
            .map_err(|fault| NoContent::Apply(Failure::passing(fault)))?;
        let annotations = object_set.metadata.annotations.as_ref();
        Ok(Content {
            bundle: revision.bundle.clone(),
            objects,
            properties: annotations.and_then(|all| all.get(keys::PROPERTIES)).cloned(),
            signature: annotations.and_then(|all| all.get(keys::SIGNATURE)).cloned(),
            definitions: BTreeMap::new(),
        })
    }

    /// Returns the objects of a revision, from wherever they are kept.
    pub async fn objects_of(&self, object_set: &ClusterObjectSet) -> Result<Vec<Value>, String> {
        let content = content_of(&self.client, object_set, &self.system_namespace)
            .await
            .map_err(|fault| fault.to_string())?;
        let phases = content.phases.into_iter();
        Ok(phases
            .flat_map(|phase| phase.objects)
            .map(|wanted| wanted.object)
            .collect())
    }

    async fn definitions(&self, objects: &[Value]) -> BTreeMap<String, Result<Value, String>> {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let mut found = BTreeMap::new();
        for name in definition_safety::definitions(objects) {
            let definition = match definitions.get_opt(name).await {
                Ok(None) => continue,
                Ok(Some(definition)) => serde_json::to_value(definition).map_err(|fault| fault.to_string()),
                Err(fault) => Err(words(&fault)),
            };
            found.insert(name.to_owned(), definition);
        }
        found
    }
}

/// Reads which catalogs an extension uses.
///
/// # Errors
///
/// If its selector can't be read.
pub fn selection(extension: &ClusterExtension) -> Result<Selection, String> {
    let filter = extension.spec.source.catalog.as_ref();
    let selector = filter.and_then(|filter| filter.selector.as_ref());
    let selector = match selector {
        None => Value::Null,
        Some(selector) => serde_json::to_value(selector).map_err(|fault| fault.to_string())?,
    };
    Selection::read(&selector).map_err(|fault| fault.to_string())
}

/// Returns the labels of a catalog, with its own name among them even before anybody wrote it there, and whatever somebody
/// else wrote there: an extension that asks for a catalog by name must not get one that only says to be it.
pub fn labels_of(catalog: &ClusterCatalog) -> Value {
    let mut labels = catalog.metadata.labels.clone().unwrap_or_default();
    labels.insert(keys::METADATA_NAME.to_owned(), catalog.name().to_owned());
    serde_json::to_value(labels).unwrap_or(Value::Null)
}

/// Returns the bundle that a revision holds, if it is installed.
fn present(object_set: &ClusterObjectSet) -> Option<Present> {
    let is_installed = object_set.spec.lifecycle_state == LifecycleState::Active
        && is_true(&object_set.status.conditions, SUCCEEDED);
    if !is_installed {
        return None;
    }
    let revision = Revision::of(object_set);
    let version = Version::parse(&revision.bundle.metadata.version).ok()?;
    let annotations = object_set.metadata.annotations.as_ref()?;
    let properties = annotations.get(keys::PROPERTIES).map_or("[]", String::as_str);
    let properties: Vec<Property> = serde_json::from_str(properties).unwrap_or_default();
    Some(Present::new(
        &revision.bundle.package,
        &revision.bundle.metadata.name,
        version,
        &properties,
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_catalog_goes_by_its_own_name_whatever_its_label_says() {
        for labels in [json!({}), json!({keys::METADATA_NAME: "trusted", "team": "a"})] {
            let catalog: ClusterCatalog = serde_json::from_value(json!({
                "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog",
                "metadata": {"name": "other", "labels": labels},
                "spec": {"source": {"type": "Image", "image": {"ref": "registry.test/other:v1"}}},
            }))
            .expect("a catalog");
            assert_eq!(labels_of(&catalog)[keys::METADATA_NAME], "other");
        }
    }
}
