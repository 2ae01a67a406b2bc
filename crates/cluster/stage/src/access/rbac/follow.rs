//! Keeps the policy as the store has it: a binding holds as soon as its write is answered.

use super::policy::Policy;
use crate::store::{Derived, Followed, Key, ResourceKey, Store, Stored};

/// The API group of roles and bindings.
pub const GROUP: &str = "rbac.authorization.k8s.io";

/// What the policy is made of.
const RESOURCES: [&str; 4] = ["clusterroles", "roles", "clusterrolebindings", "rolebindings"];

/// Returns the policy of a store.
pub fn policy(store: &Store) -> Followed<Policy> {
    let resources = RESOURCES.map(|plural| ResourceKey::new(GROUP, plural));
    Followed::new(store, resources.into(), Policy::default())
}

fn is_role(key: &Key) -> bool {
    matches!(key.resource.plural(), "clusterroles" | "roles")
}

impl Derived for Policy {
    fn clear(&mut self) {
        *self = Self::default();
    }

    fn apply(&mut self, before: Option<&Stored>, after: Option<&Stored>) {
        if let Some(stored) = after {
            let (key, value) = (&stored.key, stored.value());
            if is_role(key) {
                self.put_role(&key.namespace, &key.name, &value);
            } else {
                self.put_binding(&key.namespace, &key.name, &value);
            }
        } else if let Some(Stored { key, .. }) = before {
            if is_role(key) {
                self.remove_role(&key.namespace, &key.name);
            } else {
                self.remove_binding(&key.namespace, &key.name);
            }
        }
    }
}
