//! What the cluster holds, as far as OLM v0 looks at it: fed by watches, asked without a request.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apply::object::{label, text};
use apply::owners;
use bundle::cluster_service_version::GroupVersionKind;
use serde_json::Value;

use crate::components;
use crate::copied::is_copy;
use crate::kind::Kind;

/// The label with the name of what an object was made for.
pub const OWNER: &str = "olm.owner";

/// The label with the namespace of what an object was made for.
pub const OWNER_NAMESPACE: &str = "olm.owner.namespace";

/// The label with the kind of what an object was made for.
pub const OWNER_KIND: &str = "olm.owner.kind";

/// An object by its kind, namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The kind.
    pub kind: Kind,
    /// The namespace; empty for none.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Key {
    /// Makes a key.
    pub fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        Self {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Reads the key of an object; none if its kind is not kept.
    pub fn of(object: &Value) -> Option<Self> {
        let kind = Kind::named(text(object, "/kind"))?;
        Some(Self::new(
            kind,
            text(object, "/metadata/namespace"),
            text(object, "/metadata/name"),
        ))
    }
}

/// Everything that decisions look at.
#[derive(Debug, Clone, Default)]
pub struct World {
    objects: BTreeMap<Key, Arc<Value>>,
    /// Objects by what their owner labels name.
    labelled: BTreeMap<Key, BTreeSet<Key>>,
    /// Versions that are no copies: a cluster may have thousands of copies for each of them.
    originals: BTreeSet<Key>,
    /// Versions by the one that they say they replace.
    replacing: BTreeMap<Key, BTreeSet<Key>>,
    /// Objects by the labels that make them components of Operators.
    components: BTreeMap<String, BTreeSet<Key>>,
    /// Objects by the identities of those that they name as their owners.
    owned: BTreeMap<String, BTreeSet<Key>>,
    /// The kinds that the API server serves.
    pub served: BTreeSet<GroupVersionKind>,
    /// The version of the API server, such as `v1.36.3`.
    pub server_version: String,
}

impl World {
    /// Keeps an object; returns what it replaces. Objects of other kinds are left out.
    pub fn put(&mut self, object: Value) -> Option<Arc<Value>> {
        let key = Key::of(&object)?;
        let before = self.remove(&key);
        if let Some(owner) = labelled_owner(&object) {
            self.labelled.entry(owner).or_default().insert(key.clone());
        }
        if key.kind == Kind::ClusterServiceVersion && !is_copy(&object) {
            self.originals.insert(key.clone());
        }
        if let Some(replaced) = replaced(&key, &object) {
            self.replacing.entry(replaced).or_default().insert(key.clone());
        }
        for label in components::labels(&object) {
            let members = self.components.entry(label.to_owned()).or_default();
            members.insert(key.clone());
        }
        for owner in owner_identities(&object) {
            let owned = self.owned.entry(owner.to_owned()).or_default();
            owned.insert(key.clone());
        }
        self.objects.insert(key, Arc::new(object));
        before
    }

    /// Forgets an object; returns it.
    pub fn remove(&mut self, key: &Key) -> Option<Arc<Value>> {
        let before = self.objects.remove(key)?;
        if let Some(owner) = labelled_owner(&before) {
            leave(&mut self.labelled, &owner, key);
        }
        self.originals.remove(key);
        if let Some(replaced) = replaced(key, &before) {
            leave(&mut self.replacing, &replaced, key);
        }
        for label in components::labels(&before) {
            leave(&mut self.components, label, key);
        }
        for owner in owner_identities(&before) {
            leave(&mut self.owned, owner, key);
        }
        Some(before)
    }

    /// Returns an object.
    pub fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        self.objects.get(&Key::new(kind, namespace, name))
    }

    /// Returns all objects of a kind, by namespace and name.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = &Arc<Value>> {
        self.objects
            .range(Key::new(kind, "", "")..)
            .take_while(move |(key, _)| key.kind == kind)
            .map(|(_, object)| object)
    }

    /// Returns the objects of a kind in one namespace, by name.
    pub fn in_namespace<'a>(
        &'a self,
        kind: Kind,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Value>> + 'a {
        self.objects
            .range(Key::new(kind, namespace, "")..)
            .take_while(move |(key, _)| key.kind == kind && key.namespace == namespace)
            .map(|(_, object)| object)
    }

    /// Returns the objects whose owner labels name `owner`.
    pub fn labelled_with(&self, owner: &Key) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        let keys = self.labelled.get(owner).into_iter().flatten();
        keys.filter_map(|key| self.objects.get_key_value(key))
    }

    /// Returns the versions that are no copies of others, by namespace and name.
    pub fn originals(&self) -> impl Iterator<Item = &Arc<Value>> {
        self.originals.iter().filter_map(|key| self.objects.get(key))
    }

    /// Returns the versions of a namespace that are no copies of others, by name.
    pub fn originals_in<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Value>> + 'a {
        self.originals
            .range(Key::new(Kind::ClusterServiceVersion, namespace, "")..)
            .take_while(move |key| key.namespace == namespace)
            .filter_map(|key| self.objects.get(key))
    }

    /// Returns the versions of a namespace that say they replace the one of a name, by name.
    pub fn replacing(&self, namespace: &str, name: &str) -> impl DoubleEndedIterator<Item = &Arc<Value>> {
        let replaced = Key::new(Kind::ClusterServiceVersion, namespace, name);
        let keys = self.replacing.get(&replaced).into_iter().flatten();
        keys.filter_map(|key| self.objects.get(key))
    }

    /// Returns the objects that name an identity among their owners.
    pub fn owned_by(&self, identity: &str) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        let keys = self.owned.get(identity).into_iter().flatten();
        keys.filter_map(|key| self.objects.get_key_value(key))
    }

    /// Returns the objects with a label that makes them components of an Operator.
    pub fn components(&self, label: &str) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        let keys = self.components.get(label).into_iter().flatten();
        keys.filter_map(|key| self.objects.get_key_value(key))
    }
}

/// Takes a key out of a group, and the group away with its last one.
fn leave<G: Ord + Borrow<B>, B: Ord + ?Sized>(groups: &mut BTreeMap<G, BTreeSet<Key>>, group: &B, key: &Key) {
    if let Some(members) = groups.get_mut(group) {
        members.remove(key);
        if members.is_empty() {
            groups.remove(group);
        }
    }
}

/// Reads which version a version says it replaces.
fn replaced(key: &Key, object: &Value) -> Option<Key> {
    if key.kind != Kind::ClusterServiceVersion {
        return None;
    }
    let name = text(object, "/spec/replaces");
    (!name.is_empty()).then(|| Key::new(key.kind, &key.namespace, name))
}

/// Returns the identities of those that an object names as its owners.
fn owner_identities(object: &Value) -> impl Iterator<Item = &str> {
    let references = owners::references(object).iter();
    references.map(|reference| text(reference, "/uid"))
}

/// Reads whom the labels of an object name as its owner.
pub fn labelled_owner(object: &Value) -> Option<Key> {
    let name = label(object, OWNER)?;
    let kind = Kind::named(label(object, OWNER_KIND)?)?;
    let namespace = label(object, OWNER_NAMESPACE).unwrap_or_default();
    Some(Key::new(kind, namespace, name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_an_owner_has_is_found_until_it_leaves() {
        let role = |owners: &[&str]| {
            let owners: Vec<Value> = owners.iter().map(|uid| json!({"uid": uid})).collect();
            json!({"kind": "Role", "metadata": {"name": "r", "namespace": "n", "ownerReferences": owners}})
        };
        let mut world = World::default();
        let names = |world: &World, owner: &str| -> Vec<String> {
            world.owned_by(owner).map(|(key, _)| key.name.clone()).collect()
        };
        world.put(role(&["a", "b"]));
        assert_eq!((names(&world, "a").len(), names(&world, "b").len()), (1, 1));
        world.put(role(&["b"]));
        assert_eq!((names(&world, "a").len(), names(&world, "b").len()), (0, 1));
        world.remove(&Key::new(Kind::Role, "n", "r"));
        assert!(world.owned.is_empty(), "nothing is kept for owners of nothing");
    }

    #[test]
    fn originals_are_found_in_their_namespace_until_they_go_or_become_copies() {
        let version = |namespace: &str, name: &str, labels: Value| json!({"kind": "ClusterServiceVersion", "metadata": {"name": name, "namespace": namespace, "labels": labels}});
        let mut world = World::default();
        world.put(version("n", "a", json!({})));
        world.put(version("n", "b", json!({"olm.copiedFrom": "m"})));
        world.put(version("nn", "c", json!({})));
        world.put(
            json!({"kind": "ClusterServiceVersion", "metadata": {"name": "d", "namespace": "n"},
            "status": {"reason": "Copied"}}),
        );
        let names = |found: Vec<&Arc<Value>>| -> Vec<String> {
            let names = found.into_iter().map(|object| text(object, "/metadata/name"));
            names.map(str::to_owned).collect()
        };
        assert_eq!(names(world.originals().collect()), ["a", "c"]);
        assert_eq!(names(world.originals_in("n").collect()), ["a"]);
        world.put(version("n", "a", json!({"olm.copiedFrom": "m"})));
        world.remove(&Key::new(Kind::ClusterServiceVersion, "nn", "c"));
        assert!(world.originals.is_empty());
    }

    #[test]
    fn what_replaces_a_version_is_found_in_its_namespace_until_it_replaces_another() {
        let version = |namespace: &str, name: &str, replaces: &str| {
            json!({"kind": "ClusterServiceVersion", "metadata": {"name": name, "namespace": namespace},
                "spec": {"replaces": replaces}})
        };
        let mut world = World::default();
        let names = |world: &World, replaced: &str| -> Vec<String> {
            let found = world.replacing("n", replaced);
            found
                .map(|object| text(object, "/metadata/name").to_owned())
                .collect()
        };
        world.put(version("n", "c", "a"));
        world.put(version("n", "b", "a"));
        world.put(version("other", "d", "a"));
        world.put(version("n", "a", ""));
        assert_eq!(names(&world, "a"), ["b", "c"]);
        assert!(names(&world, "").is_empty(), "a first version replaces none");
        world.put(version("n", "c", "b"));
        assert_eq!(
            (names(&world, "a"), names(&world, "b")),
            (vec!["b".to_owned()], vec!["c".to_owned()])
        );
        for (namespace, name) in [("n", "b"), ("n", "c"), ("other", "d")] {
            world.remove(&Key::new(Kind::ClusterServiceVersion, namespace, name));
        }
        assert!(world.replacing.is_empty(), "nothing is kept of what is gone");
    }
}
