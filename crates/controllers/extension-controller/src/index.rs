//! What the cluster holds of extensions, revisions and catalogs: fed by watches, asked without a request.
//!
//! Each change comes in with the object as it was, so that what it concerns is known at once and nothing else is looked
//! at again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use api::condition::find;
use api::{ClusterCatalog, ClusterExtension, ClusterObjectSet, keys};
use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::watcher::Event;

/// What has to be looked at again.
#[derive(Debug, Clone, PartialEq)]
pub enum Concern {
    /// An extension.
    Extension(String),
    /// A revision.
    ObjectSet(String),
    /// Every extension that uses a catalog, as it was or as it is.
    Catalog {
        /// As it was.
        before: Option<Arc<ClusterCatalog>>,
        /// As it is.
        after: Option<Arc<ClusterCatalog>>,
    },
}

/// Objects of one kind by their names.
#[derive(Debug)]
struct Kept<K> {
    objects: BTreeMap<String, Arc<K>>,
    /// While all objects are listed anew: the names that were seen so far.
    listed: Option<BTreeSet<String>>,
}

impl<K> Default for Kept<K> {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            listed: None,
        }
    }
}

/// An object before and after a change; none where it wasn't there.
type Difference<K> = (Option<Arc<K>>, Option<Arc<K>>);

impl<K: Metadata<Ty = ObjectMeta>> Kept<K> {
    fn take(&mut self, event: Event<K>) -> Vec<Difference<K>> {
        match event {
            Event::Apply(object) => self.put(object).into_iter().collect(),
            Event::Delete(object) => {
                let before = self.objects.remove(name(&object));
                before.map(|before| (Some(before), None)).into_iter().collect()
            }
            Event::Init => {
                self.listed = Some(BTreeSet::new());
                Vec::new()
            }
            Event::InitApply(object) => {
                if let Some(listed) = &mut self.listed {
                    listed.insert(name(&object).to_owned());
                }
                self.put(object).into_iter().collect()
            }
            Event::InitDone => {
                let listed = self.listed.take().unwrap_or_default();
                let gone: Vec<String> = self
                    .objects
                    .keys()
                    .filter(|name| !listed.contains(*name))
                    .cloned()
                    .collect();
                let gone = gone.into_iter().filter_map(|name| self.objects.remove(&name));
                gone.map(|before| (Some(before), None)).collect()
            }
        }
    }

    /// Keeps an object, unless what is known of it is newer.
    fn put(&mut self, object: K) -> Option<Difference<K>> {
        let name = name(&object).to_owned();
        let before = self.objects.get(&name).cloned();
        if let Some(before) = &before
            && before.metadata().uid == object.metadata().uid
            && version(before.metadata()) > version(object.metadata())
        {
            return None;
        }
        let after = Arc::new(object);
        self.objects.insert(name, Arc::clone(&after));
        Some((before, Some(after)))
    }
}

fn name<K: Metadata<Ty = ObjectMeta>>(object: &K) -> &str {
    object.metadata().name.as_deref().unwrap_or_default()
}

/// Returns how new an object is; Kubernetes promises that these numbers grow.
fn version(metadata: &ObjectMeta) -> u64 {
    let text = metadata.resource_version.as_deref();
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Revisions by their names, and by the extensions that they belong to.
#[derive(Debug, Default)]
struct Revisions {
    kept: Kept<ClusterObjectSet>,
    /// The numbers and names of the revisions of each extension.
    of: BTreeMap<String, BTreeSet<(i64, String)>>,
}

impl Revisions {
    fn take(&mut self, event: Event<ClusterObjectSet>) -> Vec<Difference<ClusterObjectSet>> {
        let changes = self.kept.take(event);
        for (before, after) in &changes {
            if let Some(before) = before {
                self.forget(before);
            }
            if let Some(after) = after
                && let Some(owner) = owner_of(after)
            {
                let of_owner = self.of.entry(owner.to_owned()).or_default();
                of_owner.insert(number_and_name(after));
            }
        }
        changes
    }

    fn forget(&mut self, object_set: &ClusterObjectSet) {
        let Some(owner) = owner_of(object_set) else {
            return;
        };
        if let Some(of_owner) = self.of.get_mut(owner) {
            of_owner.remove(&number_and_name(object_set));
            if of_owner.is_empty() {
                self.of.remove(owner);
            }
        }
    }
}

fn number_and_name(object_set: &ClusterObjectSet) -> (i64, String) {
    (object_set.spec.revision, object_set.name().to_owned())
}

/// What the cluster holds.
#[derive(Debug, Default)]
pub struct Index {
    extensions: RwLock<Kept<ClusterExtension>>,
    object_sets: RwLock<Revisions>,
    catalogs: RwLock<Kept<ClusterCatalog>>,
    /// The revisions that were made, or perhaps made, and didn't get their Secrets yet.
    without_secrets: RwLock<BTreeSet<String>>,
}

impl Index {
    /// Takes note that a revision is being made, and that its Secrets are its own only later.
    pub fn secrets_are_owed_to(&self, revision: &str) {
        let mut owed = self
            .without_secrets
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        owed.insert(revision.to_owned());
    }

    /// Takes note that a revision got its Secrets.
    pub fn secrets_are_given_to(&self, revision: &str) {
        let mut owed = self
            .without_secrets
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        owed.remove(revision);
    }

    /// Returns the revisions that have still to get their Secrets.
    pub fn revisions_without_secrets(&self) -> Vec<String> {
        let owed = self
            .without_secrets
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        owed.iter().cloned().collect()
    }

    /// Takes what a watch of extensions saw.
    pub fn extension_seen(&self, event: Event<ClusterExtension>) -> Vec<Concern> {
        let mut kept = self.extensions.write().unwrap_or_else(PoisonError::into_inner);
        let changes = kept.take(event).into_iter();
        let concerns = changes.filter_map(|(before, after)| {
            let after = after?;
            let is_new = before.is_none_or(|before| !is_same_wish(&before, &after));
            is_new.then(|| Concern::Extension(after.name().to_owned()))
        });
        concerns.collect()
    }

    /// Takes what a watch of revisions saw.
    pub fn object_set_seen(&self, event: Event<ClusterObjectSet>) -> Vec<Concern> {
        let mut revisions = self.object_sets.write().unwrap_or_else(PoisonError::into_inner);
        let changes = revisions.take(event);
        changes.iter().flat_map(concerns_of_object_set).collect()
    }

    /// Takes what a watch of catalogs saw.
    pub fn catalog_seen(&self, event: Event<ClusterCatalog>) -> Vec<Concern> {
        let mut kept = self.catalogs.write().unwrap_or_else(PoisonError::into_inner);
        let changes = kept.take(event).into_iter();
        let changes = changes.filter(|(before, after)| match (before, after) {
            (Some(before), Some(after)) => !is_same_offer(before, after),
            _ => true,
        });
        changes
            .map(|(before, after)| Concern::Catalog { before, after })
            .collect()
    }

    /// Returns an extension.
    pub fn extension(&self, name: &str) -> Option<Arc<ClusterExtension>> {
        let kept = self.extensions.read().unwrap_or_else(PoisonError::into_inner);
        kept.objects.get(name).cloned()
    }

    /// Returns every extension, in the order of their names.
    pub fn extensions(&self) -> Vec<Arc<ClusterExtension>> {
        let kept = self.extensions.read().unwrap_or_else(PoisonError::into_inner);
        kept.objects.values().cloned().collect()
    }

    /// Returns every catalog, in the order of their names.
    pub fn catalogs(&self) -> Vec<Arc<ClusterCatalog>> {
        let kept = self.catalogs.read().unwrap_or_else(PoisonError::into_inner);
        kept.objects.values().cloned().collect()
    }

    /// Returns a revision.
    pub fn object_set(&self, name: &str) -> Option<Arc<ClusterObjectSet>> {
        let revisions = self.object_sets.read().unwrap_or_else(PoisonError::into_inner);
        revisions.kept.objects.get(name).cloned()
    }

    /// Returns every revision, in the order of their names.
    pub fn object_sets(&self) -> Vec<Arc<ClusterObjectSet>> {
        let revisions = self.object_sets.read().unwrap_or_else(PoisonError::into_inner);
        revisions.kept.objects.values().cloned().collect()
    }

    /// Returns the revisions of an extension, the oldest first.
    pub fn revisions_of(&self, extension: &str) -> Vec<Arc<ClusterObjectSet>> {
        let revisions = self.object_sets.read().unwrap_or_else(PoisonError::into_inner);
        let of_extension = revisions.of.get(extension).into_iter().flatten();
        of_extension
            .filter_map(|(_, name)| revisions.kept.objects.get(name).cloned())
            .collect()
    }
}

/// Returns the extension that a revision belongs to.
pub fn owner_of(object_set: &ClusterObjectSet) -> Option<&str> {
    let labels = object_set.metadata.labels.as_ref()?;
    labels.get(keys::OWNER_NAME).map(String::as_str)
}

/// Returns whether nothing changed of an extension but what this controller writes itself.
fn is_same_wish(before: &ClusterExtension, after: &ClusterExtension) -> bool {
    let essence = |metadata: &ObjectMeta| {
        let mut annotations = metadata.annotations.clone().unwrap_or_default();
        annotations.remove(keys::WAITING);
        (
            metadata.uid.clone(),
            metadata.generation,
            metadata.deletion_timestamp.is_some(),
            metadata.finalizers.clone(),
            annotations,
        )
    };
    essence(&before.metadata) == essence(&after.metadata)
}

/// Returns whether a catalog offers the same content to the same extensions.
fn is_same_offer(before: &ClusterCatalog, after: &ClusterCatalog) -> bool {
    let serving =
        |catalog: &ClusterCatalog| find(&catalog.status.conditions, "Serving").map(|said| said.status);
    before.resolved_reference() == after.resolved_reference()
        && before.metadata.labels == after.metadata.labels
        && before.spec.priority == after.spec.priority
        && before.spec.availability_mode == after.spec.availability_mode
        && before.status.urls == after.status.urls
        && serving(before) == serving(after)
}

fn concerns_of_object_set(change: &Difference<ClusterObjectSet>) -> Vec<Concern> {
    let wish = |object_set: &ClusterObjectSet| {
        let metadata = &object_set.metadata;
        (
            metadata.uid.clone(),
            metadata.generation,
            metadata.deletion_timestamp.is_some(),
            metadata.finalizers.clone(),
            metadata.annotations.clone(),
            metadata.labels.clone(),
        )
    };
    let (before, after) = (change.0.as_deref(), change.1.as_deref());
    let wish_changed = before.map(wish) != after.map(wish);
    let state_changed = before.map(|before| &before.status) != after.map(|after| &after.status);
    let mut concerns = Vec::new();
    if let Some(after) = after
        && wish_changed
    {
        concerns.push(Concern::ObjectSet(after.name().to_owned()));
    }
    if wish_changed || state_changed {
        let owners: BTreeSet<&str> = before.into_iter().chain(after).filter_map(owner_of).collect();
        concerns.extend(
            owners
                .into_iter()
                .map(|owner| Concern::Extension(owner.to_owned())),
        );
    }
    concerns
}

#[cfg(test)]
mod tests {
    use api::cluster_extension::ClusterExtensionSpec;
    use api::cluster_object_set::{ClusterObjectSetSpec, CollisionProtection, LifecycleState};
    use api::condition::{ConditionStatus, Statement, set};

    use super::*;

    fn extension(version: &str, generation: i64) -> ClusterExtension {
        let mut extension = ClusterExtension::new("a", ClusterExtensionSpec::default());
        extension.metadata.resource_version = Some(version.to_owned());
        extension.metadata.generation = Some(generation);
        extension
    }

    fn object_set(version: &str) -> ClusterObjectSet {
        let spec = ClusterObjectSetSpec {
            lifecycle_state: LifecycleState::Active,
            revision: 1,
            collision_protection: CollisionProtection::Prevent,
            phases: Vec::new(),
            progress_deadline_minutes: None,
            progression_probes: Vec::new(),
        };
        let mut object_set = ClusterObjectSet::new("a-1", spec);
        object_set.metadata.resource_version = Some(version.to_owned());
        object_set.metadata.labels = Some(BTreeMap::from([(keys::OWNER_NAME.to_owned(), "a".to_owned())]));
        object_set
    }

    #[test]
    fn a_status_that_was_written_here_concerns_nobody() {
        let index = Index::default();
        let seen = index.extension_seen(Event::Apply(extension("1", 1)));
        assert_eq!(seen, [Concern::Extension("a".to_owned())]);
        assert_eq!(index.extension_seen(Event::Apply(extension("2", 1))), []);
        let seen = index.extension_seen(Event::Apply(extension("3", 2)));
        assert_eq!(seen, [Concern::Extension("a".to_owned())]);
    }

    #[test]
    fn what_is_older_than_what_is_known_is_passed_over() {
        let index = Index::default();
        index.extension_seen(Event::Apply(extension("10", 2)));
        assert_eq!(index.extension_seen(Event::Apply(extension("9", 1))), []);
        assert_eq!(index.extension("a").expect("there").generation(), 2);
    }

    #[test]
    fn what_is_missing_from_a_new_list_is_gone() {
        let index = Index::default();
        index.extension_seen(Event::Apply(extension("1", 1)));
        index.object_set_seen(Event::Apply(object_set("1")));
        index.object_set_seen(Event::Init);
        let gone = index.object_set_seen(Event::InitDone);
        assert_eq!(gone, [Concern::Extension("a".to_owned())]);
        assert_eq!(index.revisions_of("a").len(), 0);
    }

    #[test]
    fn the_revisions_of_an_extension_are_found_in_their_order_whoever_they_belonged_to_before() {
        let index = Index::default();
        let of = |name: &str, number: i64, owner: &str, version: &str| {
            let mut object_set = object_set(version);
            object_set.metadata.name = Some(name.to_owned());
            object_set.spec.revision = number;
            let labels = BTreeMap::from([(keys::OWNER_NAME.to_owned(), owner.to_owned())]);
            object_set.metadata.labels = Some(labels).filter(|_| !owner.is_empty());
            object_set
        };
        let see = |object_set| {
            index.object_set_seen(Event::Apply(object_set));
        };
        let names = |extension: &str| -> Vec<String> {
            let revisions = index.revisions_of(extension);
            revisions.iter().map(|one| one.name().to_owned()).collect()
        };
        see(of("a-10", 10, "a", "1"));
        see(of("a-9", 9, "a", "2"));
        see(of("b-1", 1, "b", "3"));
        see(of("nobodys", 1, "", "4"));
        assert_eq!(names("a"), ["a-9", "a-10"]);
        // Another owner, another number, the same again, and none of all.
        see(of("b-1", 11, "a", "5"));
        assert_eq!((names("a").len(), names("b").len()), (3, 0));
        see(of("a-9", 12, "a", "6"));
        see(of("a-9", 12, "a", "7"));
        assert_eq!(names("a"), ["a-10", "b-1", "a-9"]);
        index.object_set_seen(Event::Delete(of("a-9", 12, "a", "8")));
        see(of("a-10", 10, "", "9"));
        assert_eq!(names("a"), ["b-1"]);
        assert_eq!(names(""), Vec::<String>::new());
    }

    #[test]
    fn what_a_revision_says_of_itself_concerns_its_extension_alone() {
        let index = Index::default();
        let seen = index.object_set_seen(Event::Apply(object_set("1")));
        let both = [
            Concern::ObjectSet("a-1".to_owned()),
            Concern::Extension("a".to_owned()),
        ];
        assert_eq!(seen, both);
        let mut succeeded = object_set("2");
        let statement = Statement::new("Succeeded", ConditionStatus::True, "Succeeded", "");
        set(
            &mut succeeded.status.conditions,
            statement,
            1,
            jiff::Timestamp::UNIX_EPOCH,
        );
        let seen = index.object_set_seen(Event::Apply(succeeded));
        assert_eq!(seen, [Concern::Extension("a".to_owned())]);
    }
}
