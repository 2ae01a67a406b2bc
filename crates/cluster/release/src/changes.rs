//! Changes: which objects a new revision writes, and which it lets go.

use std::collections::{BTreeMap, BTreeSet};

use apply::object::ObjectId;

use crate::cluster::{Key, Placed};
use crate::scaling::replicas;

/// What is done about an object of a new revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The release didn't have it: it is made, unless it is somebody else's.
    New,
    /// It differs from what was applied, or from what it should be: it is applied.
    Update,
    /// The same, and the release asks for another number of replicas than before, whoever scaled it since.
    Scale,
    /// It is as it was.
    Keep,
}

/// What a new revision changes.
#[derive(Clone, Debug)]
pub struct Changes {
    /// What is done about each object of the new revision, in its order.
    pub steps: Vec<Step>,
    /// The objects that the release had and lets go.
    pub vanished: Vec<Placed>,
}

/// Which objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent<'a> {
    /// Those whose document changed, and those that are known to differ from theirs.
    Changed {
        /// The ones that are known to differ.
        drifted: &'a BTreeSet<ObjectId>,
    },
    /// All.
    All,
}

/// Compares the objects of a new revision with those of the earlier ones that may be in the cluster: the one that is
/// deployed, and what was tried since and came nowhere.
pub fn between(earlier: &[Vec<Placed>], wanted: &[Placed], extent: Extent<'_>) -> Changes {
    let known: Vec<BTreeMap<Key, &Placed>> = earlier
        .iter()
        .map(|objects| objects.iter().map(|object| (object.key(), object)).collect())
        .collect();
    let step = |object: &Placed| {
        let key = object.key();
        let mut found = known.iter().filter_map(|objects| objects.get(&key)).peekable();
        if found.peek().is_none() {
            return Step::New;
        }
        let is_drifted = match extent {
            Extent::All => true,
            Extent::Changed { drifted } => drifted.contains(&object.id),
        };
        // What one of them left out it may have deleted.
        let in_all = known.iter().all(|objects| objects.contains_key(&key));
        let base = known.first().and_then(|objects| objects.get(&key));
        if base.is_some_and(|base| replicas(&base.object) != replicas(&object.object)) {
            return Step::Scale;
        }
        if is_drifted || !in_all || found.any(|earlier| earlier.object != object.object) {
            Step::Update
        } else {
            Step::Keep
        }
    };
    let steps = wanted.iter().map(step).collect();
    let mut taken: BTreeSet<Key> = wanted.iter().map(Placed::key).collect();
    let mut vanished = Vec::new();
    for object in earlier.iter().flatten() {
        if taken.insert(object.key()) {
            vanished.push(object.clone());
        }
    }
    Changes { steps, vanished }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kube::api::{ApiResource, GroupVersionKind};
    use serde_json::json;

    use super::*;

    fn object(name: &str, value: i64) -> Placed {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}});
        Placed {
            id: ObjectId {
                namespace: "n".to_owned(),
                ..ObjectId::of(&object)
            },
            resource: ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap")),
            is_namespaced: true,
            object: Arc::new(object),
        }
    }

    fn changes(earlier: &[Vec<Placed>], wanted: &[Placed], extent: Extent<'_>) -> (Vec<Step>, Vec<String>) {
        let changes = between(earlier, wanted, extent);
        let vanished = changes.vanished.into_iter().map(|object| object.id.name);
        (changes.steps, vanished.collect())
    }

    #[test]
    fn only_what_changed_is_written() {
        let nothing = BTreeSet::new();
        let extent = Extent::Changed { drifted: &nothing };
        let deployed = vec![object("a", 1), object("b", 1), object("c", 1)];
        let wanted = [object("a", 1), object("b", 2), object("d", 1)];
        assert_eq!(
            changes(std::slice::from_ref(&deployed), &wanted, extent),
            (vec![Step::Keep, Step::Update, Step::New], vec!["c".to_owned()])
        );
        let drifted = BTreeSet::from([object("a", 1).id]);
        let extent = Extent::Changed { drifted: &drifted };
        assert_eq!(changes(&[deployed], &wanted, extent).0[0], Step::Update);
    }

    #[test]
    fn what_a_failed_revision_touched_is_written_again() {
        let nothing = BTreeSet::new();
        let extent = Extent::Changed { drifted: &nothing };
        let deployed = vec![object("a", 1), object("b", 1), object("c", 1)];
        let failed = vec![object("a", 2), object("b", 1), object("e", 1)];
        let wanted = [object("a", 1), object("b", 1), object("c", 1)];
        assert_eq!(
            changes(&[deployed, failed], &wanted, extent),
            (vec![Step::Update, Step::Keep, Step::Update], vec!["e".to_owned()])
        );
    }

    #[test]
    fn another_number_of_replicas_is_asked_for_and_not_only_written() {
        let nothing = BTreeSet::new();
        let extent = Extent::Changed { drifted: &nothing };
        let scaled = |replicas: i64, value: i64| {
            let mut placed = object("a", value);
            Arc::make_mut(&mut placed.object)["spec"] = json!({"replicas": replicas});
            vec![placed]
        };
        let rows = [
            (scaled(1, 1), Step::Keep),
            (scaled(1, 2), Step::Update),
            (scaled(2, 1), Step::Scale),
            (vec![object("a", 1)], Step::Scale),
        ];
        for (wanted, expected) in rows {
            assert_eq!(changes(&[scaled(1, 1)], &wanted, extent).0, [expected]);
        }
        // The way back from a revision that asked for more, whether that came so far or not.
        let back = changes(&[scaled(2, 1)], &scaled(1, 1), Extent::All);
        assert_eq!(back.0, [Step::Scale]);
    }

    #[test]
    fn a_rollback_writes_everything() {
        let current = vec![object("a", 1), object("b", 1)];
        assert_eq!(
            changes(&[current], &[object("a", 1)], Extent::All),
            (vec![Step::Update], vec!["b".to_owned()])
        );
    }
}
