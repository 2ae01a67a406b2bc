//! What the cluster holds, as far as OLM v0 looks at it: fed by watches, asked without a request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use apply::object::{label, text};
use bundle::cluster_service_version::GroupVersionKind;
use serde_json::Value;

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
    /// Objects by the labels that make them components of Operators.
    components: BTreeMap<String, BTreeSet<Key>>,
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
        for label in component_labels(&object) {
            let members = self.components.entry(label.to_owned()).or_default();
            members.insert(key.clone());
        }
        self.objects.insert(key, Arc::new(object));
        before
    }

    /// Forgets an object; returns it.
    pub fn remove(&mut self, key: &Key) -> Option<Arc<Value>> {
        let before = self.objects.remove(key)?;
        if let Some(owner) = labelled_owner(&before)
            && let Some(owned) = self.labelled.get_mut(&owner)
        {
            owned.remove(key);
            if owned.is_empty() {
                self.labelled.remove(&owner);
            }
        }
        for label in component_labels(&before) {
            if let Some(members) = self.components.get_mut(label) {
                members.remove(key);
                if members.is_empty() {
                    self.components.remove(label);
                }
            }
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

    /// Returns the objects with a label that makes them components of an Operator.
    pub fn components(&self, label: &str) -> impl Iterator<Item = (&Key, &Arc<Value>)> {
        let keys = self.components.get(label).into_iter().flatten();
        keys.filter_map(|key| self.objects.get_key_value(key))
    }
}

/// Returns the labels of an object that make it a component of Operators.
pub fn component_labels(object: &Value) -> impl Iterator<Item = &str> {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    labels
        .into_iter()
        .flat_map(|labels| labels.keys())
        .map(String::as_str)
        .filter(|key| key.starts_with(crate::keys::COMPONENT_PREFIX))
}

/// Reads whom the labels of an object name as its owner.
pub fn labelled_owner(object: &Value) -> Option<Key> {
    let name = label(object, OWNER)?;
    let kind = Kind::named(label(object, OWNER_KIND)?)?;
    let namespace = label(object, OWNER_NAMESPACE).unwrap_or_default();
    Some(Key::new(kind, namespace, name))
}
