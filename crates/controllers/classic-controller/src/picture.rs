//! The picture of the cluster that all decisions look at: fed by watches and by our own writes, whichever is newer.
//!
//! A write that was answered is in the picture before the next decision is made, so that none is made on what was true
//! before it; the watch brings the same later, and it changes nothing then.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use apply::object::text;
use bundle::cluster_service_version::GroupVersionKind;
use classic::{Key, Kind, World};
use serde_json::Value;

use crate::pruning::pruned;

/// An object before and after a change; none where it wasn't there.
#[derive(Debug, Clone)]
pub struct Change {
    /// The object.
    pub key: Key,
    /// As it was.
    pub before: Option<Arc<Value>>,
    /// As it is.
    pub after: Option<Arc<Value>>,
}

impl Change {
    /// Returns the object as it is, or as it was when it is gone.
    pub fn latest(&self) -> Option<&Arc<Value>> {
        self.after.as_ref().or(self.before.as_ref())
    }
}

/// The picture.
#[derive(Debug, Default)]
pub struct Picture {
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    world: World,
    /// What is gone, by its identity, which no other object ever gets: news of it that come late are passed over.
    gone: HashSet<String>,
    /// The same, the oldest first.
    gone_in_order: VecDeque<String>,
}

/// How many objects that are gone are remembered: news come late by seconds.
const MAX_GONE: usize = 10_000;

impl State {
    /// Returns whether an object is newer than what is known of it, and not one that is gone.
    fn lacks(&self, key: &Key, object: &Value) -> bool {
        let known = self.world.get(key.kind, &key.namespace, &key.name);
        let is_known = known.is_some_and(|known| version(known) >= version(object) && version(object) != 0);
        !is_known && !self.gone.contains(text(object, "/metadata/uid"))
    }

    fn remember_gone(&mut self, identity: &str) {
        if identity.is_empty() || !self.gone.insert(identity.to_owned()) {
            return;
        }
        self.gone_in_order.push_back(identity.to_owned());
        while self.gone_in_order.len() > MAX_GONE {
            if let Some(oldest) = self.gone_in_order.pop_front() {
                self.gone.remove(&oldest);
            }
        }
    }
}

/// What was there when a list began, with the version that it had.
pub type Present = BTreeMap<Key, u64>;

impl Picture {
    /// Looks at the picture. Nobody changes it meanwhile, so a look is short.
    pub fn look(&self) -> Look<'_> {
        Look(self.reading())
    }

    fn reading(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an object as it is now; none if what is known of it is as new, or if it is none that is looked at.
    pub fn take(&self, object: Value) -> Option<Change> {
        let key = Key::of(&object)?;
        // Watches bring what was written here once more, and pruning may take longer than to see that.
        if !self.reading().lacks(&key, &object) {
            return None;
        }
        let object = pruned(key.kind, object)?;
        let mut state = self.writing();
        if !state.lacks(&key, &object) {
            return None;
        }
        let before = state.world.put(object);
        let after = state.world.get(key.kind, &key.namespace, &key.name).cloned();
        drop(state);
        Some(Change { key, before, after })
    }

    /// Takes the news of a watch that an object is gone.
    pub fn gone(&self, object: &Value) -> Option<Change> {
        let key = Key::of(object)?;
        let uid = text(object, "/metadata/uid");
        let mut state = self.writing();
        state.remember_gone(uid);
        let known = state.world.get(key.kind, &key.namespace, &key.name)?;
        // Another one of that name may be there already.
        if text(known, "/metadata/uid") != uid {
            return None;
        }
        let before = state.world.remove(&key);
        Some(Change {
            key,
            before,
            after: None,
        })
    }

    /// Forgets an object that was deleted here.
    pub fn deleted(&self, key: &Key) -> Option<Change> {
        let mut state = self.writing();
        let before = state.world.remove(key)?;
        state.remember_gone(text(&before, "/metadata/uid"));
        Some(Change {
            key: key.clone(),
            before: Some(before),
            after: None,
        })
    }

    /// Returns what is there of a kind as a list begins; `is_listed` says which objects the list is about.
    pub fn present(&self, kind: Kind, is_listed: impl Fn(&Value) -> bool) -> Present {
        let state = self.reading();
        let objects = state.world.all(kind).filter(|object| is_listed(object));
        objects
            .filter_map(|object| Some((Key::of(object)?, version(object))))
            .collect()
    }

    /// Forgets what was there when a list began, has not changed since, and is not in the list.
    pub fn missing(&self, present: Present, listed: &BTreeSet<Key>) -> Vec<Change> {
        let mut state = self.writing();
        let mut changes = Vec::new();
        for (key, seen) in present {
            let known = state.world.get(key.kind, &key.namespace, &key.name);
            if !listed.contains(&key) && known.is_some_and(|known| version(known) == seen) {
                let before = state.world.remove(&key);
                changes.push(Change {
                    key,
                    before,
                    after: None,
                });
            }
        }
        changes
    }

    /// Keeps which kinds the API server serves and which version it has; returns whether that is new.
    pub fn serves(&self, served: BTreeSet<GroupVersionKind>, server_version: String) -> bool {
        let mut state = self.writing();
        let world = &mut state.world;
        let is_new = world.served != served || world.server_version != server_version;
        world.served = served;
        world.server_version = server_version;
        is_new
    }

    /// Keeps which kinds the groups of the API server have, beside those without a group; returns whether that is new.
    pub fn groups_serve(&self, mut served: BTreeSet<GroupVersionKind>) -> bool {
        let mut state = self.writing();
        let world = &mut state.world;
        served.extend(world.served.iter().filter(|kind| kind.group.is_empty()).cloned());
        let is_new = world.served != served;
        world.served = served;
        is_new
    }
}

/// A look at the picture.
pub struct Look<'a>(RwLockReadGuard<'a, State>);

impl std::ops::Deref for Look<'_> {
    type Target = World;

    fn deref(&self) -> &World {
        &self.0.world
    }
}

/// Returns the version of an object as a number, which all servers that exist make it; 0 where it has none.
pub fn version(object: &Value) -> u64 {
    text(object, "/metadata/resourceVersion").parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn group(uid: &str, version: &str) -> Value {
        json!({
            "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": "g", "namespace": "n", "uid": uid, "resourceVersion": version},
        })
    }

    fn known(picture: &Picture) -> Option<String> {
        let world = picture.look();
        let found = world.get(Kind::OperatorGroup, "n", "g");
        found.map(|found| text(found, "/metadata/resourceVersion").to_owned())
    }

    #[test]
    fn what_was_written_here_is_not_overwritten_by_older_news() {
        let picture = Picture::default();
        assert!(picture.take(group("a", "1")).is_some());
        assert!(picture.take(group("a", "3")).is_some(), "written here");
        assert!(picture.take(group("a", "2")).is_none(), "the watch is behind");
        assert!(picture.take(group("a", "3")).is_none(), "and catches up");
        assert_eq!(known(&picture).as_deref(), Some("3"));
    }

    #[test]
    fn what_was_deleted_here_does_not_come_back_by_older_news() {
        let picture = Picture::default();
        picture.take(group("a", "1"));
        let key = Key::new(Kind::OperatorGroup, "n", "g");
        assert!(picture.deleted(&key).is_some());
        assert!(picture.take(group("a", "2")).is_none());
        assert!(
            picture.take(group("b", "4")).is_some(),
            "another one of that name"
        );
        assert!(picture.gone(&group("a", "3")).is_none());
        assert_eq!(known(&picture).as_deref(), Some("4"));
        picture.gone(&group("b", "6"));
        assert!(
            picture.take(group("b", "5")).is_none(),
            "an answer that comes late"
        );
        assert_eq!(known(&picture), None);
    }

    #[test]
    fn kinds_without_a_group_stay_while_groups_come_and_go() {
        let kind = |group: &str, kind: &str| GroupVersionKind {
            group: group.to_owned(),
            version: "v1".to_owned(),
            kind: kind.to_owned(),
        };
        let picture = Picture::default();
        picture.serves([kind("", "Pod"), kind("old", "A")].into(), "v1.36.3".to_owned());
        assert!(picture.groups_serve([kind("new", "B")].into()));
        assert!(!picture.groups_serve([kind("new", "B")].into()));
        assert_eq!(picture.look().served, [kind("", "Pod"), kind("new", "B")].into());
    }

    #[test]
    fn a_list_takes_away_what_it_lacks_but_not_what_came_since_it_began() {
        let picture = Picture::default();
        picture.take(group("a", "1"));
        let present = picture.present(Kind::OperatorGroup, |_| true);
        picture.take(group("a", "2"));
        assert_eq!(picture.missing(present, &BTreeSet::new()).len(), 0);
        let present = picture.present(Kind::OperatorGroup, |_| true);
        assert_eq!(picture.missing(present, &BTreeSet::new()).len(), 1);
        assert_eq!(known(&picture), None);
    }
}
