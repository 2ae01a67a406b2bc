//! What the cluster holds of OLM v0, as far as pages show it: fed by watches, asked without a request.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use classic::{Key, Kind, World};
use serde_json::Value;
use tokio::sync::watch;

use super::pruning::pruned;

/// The kind whose presence tells of OLM v0: where the cluster doesn't have it, the others aren't asked for.
pub(crate) const TOLD_BY: Kind = Kind::Subscription;

/// The kinds that pages show.
pub(crate) const SHOWN: [Kind; 5] = [
    Kind::Subscription,
    Kind::InstallPlan,
    Kind::ClusterServiceVersion,
    Kind::CatalogSource,
    Kind::OperatorGroup,
];

/// What the API server answers when it is asked for objects of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    /// With all of them.
    Listed,
    /// That it doesn't know the kind.
    Unknown,
    /// With a refusal, in its words.
    Refused(String),
}

/// Whether there is an OLM v0 in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Nobody knows yet.
    Unasked,
    /// The cluster knows none of its kinds.
    Absent,
    /// It knows some of them.
    There,
}

/// What the cluster holds of OLM v0.
#[derive(Debug, Default)]
pub(crate) struct Picture {
    state: RwLock<State>,
    /// Whether every kind was asked for.
    asked: watch::Sender<bool>,
    /// Whether the cluster has the kind that OLM v0 is told by.
    known: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    world: World,
    answers: BTreeMap<Kind, Answer>,
    /// Copies of ClusterServiceVersions: by namespace and name, where each was copied from. There may be thousands, so no
    /// more is known of them.
    copies: BTreeMap<(String, String), String>,
}

impl Picture {
    fn reading(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes an object as it is now.
    pub(crate) fn put(&self, object: Value) -> Option<Key> {
        let key = Key::of(&object)?;
        self.writing().world.put(pruned(key.kind, object));
        Some(key)
    }

    /// Forgets an object.
    pub(crate) fn remove(&self, key: &Key) {
        self.writing().world.remove(key);
    }

    /// Forgets what a complete list of a kind doesn't name; tells the namespaces where something went.
    pub(crate) fn keep_only(&self, kind: Kind, listed: &BTreeSet<Key>) -> BTreeSet<String> {
        let mut state = self.writing();
        let known = state.world.all(kind).filter_map(|object| Key::of(object));
        let gone: Vec<Key> = known.filter(|key| !listed.contains(key)).collect();
        for key in &gone {
            state.world.remove(key);
        }
        gone.into_iter().map(|key| key.namespace).collect()
    }

    /// Notes what the API server answers when it is asked for a kind; tells whether that is news.
    pub(crate) fn answered(&self, kind: Kind, answer: Answer) -> bool {
        let mut state = self.writing();
        let before = state.answers.insert(kind, answer.clone());
        let are_all_asked = SHOWN.iter().all(|kind| state.answers.contains_key(kind));
        drop(state);
        self.asked.send_replace(are_all_asked);
        if kind == TOLD_BY {
            self.known.send_replace(answer != Answer::Unknown);
        }
        before != Some(answer)
    }

    /// Takes a copy; tells whether it is new.
    pub(crate) fn put_copy(&self, namespace: &str, name: &str, from: &str) -> bool {
        let place = (namespace.to_owned(), name.to_owned());
        let before = self.writing().copies.insert(place, from.to_owned());
        before.as_deref() != Some(from)
    }

    /// Forgets a copy.
    pub(crate) fn remove_copy(&self, namespace: &str, name: &str) {
        let place = (namespace.to_owned(), name.to_owned());
        self.writing().copies.remove(&place);
    }

    /// Forgets the copies that a complete list doesn't name.
    pub(crate) fn keep_only_copies(&self, listed: &BTreeSet<(String, String)>) {
        self.writing().copies.retain(|place, _| listed.contains(place));
    }

    /// Waits until every kind was asked for.
    pub(crate) async fn wait_asked(&self) {
        // It ends with the picture, and so does whoever waits.
        let _ = self.asked.subscribe().wait_for(|asked| *asked).await;
    }

    /// Returns whether the cluster has the kind that OLM v0 is told by.
    pub(crate) fn is_known(&self) -> bool {
        *self.known.borrow()
    }

    /// Waits until the cluster has the kind that OLM v0 is told by.
    pub(crate) async fn wait_known(&self) {
        let _ = self.known.subscribe().wait_for(|known| *known).await;
    }

    /// Returns whether there is an OLM v0.
    pub(crate) fn presence(&self) -> Presence {
        let state = self.reading();
        let is_known = |kind: &Kind| {
            let answer = state.answers.get(kind);
            answer.is_some_and(|answer| *answer != Answer::Unknown)
        };
        if SHOWN.iter().any(is_known) {
            Presence::There
        } else if state.answers.is_empty() {
            Presence::Unasked
        } else {
            Presence::Absent
        }
    }

    /// Says which kinds can't be shown, and why.
    pub(crate) fn gaps(&self) -> Vec<String> {
        let state = self.reading();
        let gap = |kind: &Kind| {
            let name = kind.naming().kind;
            match state.answers.get(kind) {
                Some(Answer::Listed) => None,
                Some(Answer::Unknown) => Some(format!("{name}: the cluster doesn't have this kind")),
                Some(Answer::Refused(words)) => Some(format!("{name}: {words}")),
                None => Some(format!("{name}: the cluster hasn't answered yet")),
            }
        };
        SHOWN.iter().filter_map(gap).collect()
    }

    /// Returns all objects of a kind, by namespace and name.
    pub(crate) fn all(&self, kind: Kind) -> Vec<Arc<Value>> {
        self.reading().world.all(kind).cloned().collect()
    }

    /// Returns the objects of a kind in a namespace, by name.
    pub(crate) fn in_namespace(&self, kind: Kind, namespace: &str) -> Vec<Arc<Value>> {
        let state = self.reading();
        state.world.in_namespace(kind, namespace).cloned().collect()
    }

    /// Returns an object.
    pub(crate) fn get(&self, kind: Kind, namespace: &str, name: &str) -> Option<Arc<Value>> {
        self.reading().world.get(kind, namespace, name).cloned()
    }

    /// Returns the copies of all versions, each by its namespace, its name and where it was copied from.
    pub(crate) fn copies(&self) -> Vec<(String, String, String)> {
        let state = self.reading();
        let copies = state.copies.iter();
        copies
            .map(|((namespace, name), from)| (namespace.clone(), name.clone(), from.clone()))
            .collect()
    }

    /// Returns the namespace that a copy was copied from; none where there is no such copy.
    pub(crate) fn copied_from(&self, namespace: &str, name: &str) -> Option<String> {
        let place = (namespace.to_owned(), name.to_owned());
        self.reading().copies.get(&place).cloned()
    }

    /// Returns the namespaces that hold copies of a version.
    pub(crate) fn copied_to(&self, namespace: &str, name: &str) -> Vec<String> {
        let state = self.reading();
        let copies = state.copies.iter();
        copies
            .filter(|((_, copy), from)| copy == name && *from == namespace)
            .map(|((namespace, _), _)| namespace.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn subscription(namespace: &str, name: &str) -> Value {
        json!({"kind": "Subscription", "metadata": {"namespace": namespace, "name": name}})
    }

    #[test]
    fn a_list_that_begins_anew_forgets_what_is_gone() {
        let picture = Picture::default();
        let kept = picture.put(subscription("a", "one")).expect("a key");
        picture.put(subscription("b", "two"));
        let gone = picture.keep_only(Kind::Subscription, &BTreeSet::from([kept]));
        assert_eq!(gone, BTreeSet::from(["b".to_owned()]));
        assert_eq!(picture.all(Kind::Subscription).len(), 1);
    }

    #[test]
    fn whether_there_is_an_olm_v0_is_known_by_the_answers() {
        let picture = Picture::default();
        assert_eq!(picture.presence(), Presence::Unasked);
        for kind in SHOWN {
            picture.answered(kind, Answer::Unknown);
        }
        assert_eq!(
            (picture.presence(), picture.is_known()),
            (Presence::Absent, false)
        );
        assert!(picture.answered(Kind::Subscription, Answer::Listed));
        assert!(!picture.answered(Kind::Subscription, Answer::Listed));
        assert!(picture.is_known());
        picture.answered(Kind::InstallPlan, Answer::Refused("no rights".to_owned()));
        assert_eq!(picture.presence(), Presence::There);
        assert_eq!(
            picture.gaps()[..2],
            [
                "InstallPlan: no rights".to_owned(),
                "ClusterServiceVersion: the cluster doesn't have this kind".to_owned()
            ]
        );
    }

    #[test]
    fn copies_are_known_by_what_they_are_copies_of() {
        let picture = Picture::default();
        assert!(picture.put_copy("a", "web.v1", "operators"));
        assert!(!picture.put_copy("a", "web.v1", "operators"));
        picture.put_copy("b", "web.v1", "operators");
        picture.put_copy("b", "web.v1-other", "operators");
        picture.put_copy("c", "web.v1", "elsewhere");
        assert_eq!(picture.copied_to("operators", "web.v1"), ["a", "b"]);
        assert_eq!(picture.copied_from("c", "web.v1").as_deref(), Some("elsewhere"));
        assert_eq!(picture.copied_from("operators", "web.v1"), None);
        picture.remove_copy("a", "web.v1");
        picture.keep_only_copies(&BTreeSet::from([("c".to_owned(), "web.v1".to_owned())]));
        assert_eq!(picture.copies().len(), 1);
    }
}
