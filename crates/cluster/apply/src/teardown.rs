//! Teardown: what becomes of an object when its revision lets go of it.

use api::ClusterObjectSet;
use api::keys;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::object::{ObjectId, is_terminating, text};
use crate::owners::{Owner, controller, references};

/// The label that says which program looks after an object.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// What is to be done about an object that a revision lets go of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parting {
    /// Nothing: it is gone, or not ours.
    Done,
    /// It is on its way out.
    Waiting,
    /// Delete it, if it is still the one that was seen.
    Delete {
        /// What tells it from another one of the same name.
        uid: String,
        /// Which state of it was seen.
        resource_version: String,
        /// What becomes of what it made.
        offspring: Offspring,
    },
    /// It stays: remove the traces of the revision with this merge patch.
    Release(Value),
}

/// What becomes of what an object made, when the object is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offspring {
    /// It goes after the object.
    Follows,
    /// It goes before the object, which is there until then.
    Precedes,
}

/// The kinds, by group, of objects that have pods, or are some.
const WORKLOADS: &[(&str, &str)] = &[
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("apps", "DaemonSet"),
    ("apps", "ReplicaSet"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("", "ReplicationController"),
    ("", "Pod"),
];

/// Returns whether an object has pods, or is one. A pod that is told to end still has something to do, such as giving back a
/// Lease: it needs its rights for that, so that these go after it.
pub fn has_pods(id: &ObjectId) -> bool {
    WORKLOADS.contains(&(id.group(), id.kind.as_str()))
}

/// How long pods may take to end before nobody waits for them any more: most have half a minute, and one on a machine that is
/// gone never does.
const PODS_END_WITHIN: SignedDuration = SignedDuration::from_mins(2);

/// Returns whether an object that is on its way out has taken more time for that than its pods are given.
pub fn is_overdue(live: &Value, now: Timestamp) -> bool {
    let told = text(live, "/metadata/deletionTimestamp").parse::<Timestamp>();
    told.is_ok_and(|told| now.duration_since(told) > PODS_END_WITHIN)
}

/// Which objects outlive their revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Survivors {
    /// None.
    #[default]
    None,
    /// Definitions of custom resources, and with them the custom resources.
    Definitions,
    /// All.
    All,
}

impl Survivors {
    /// Reads which objects outlive a revision that is deleted; an unknown word keeps everything, since what is kept can
    /// still be deleted.
    pub fn of_deletion(set: &ClusterObjectSet) -> Self {
        match said(set) {
            None | Some("" | "delete") => Self::None,
            Some("keep-crds") => Self::Definitions,
            Some(_) => Self::All,
        }
    }

    /// Reads which objects outlive a revision that is archived because a newer one took its place.
    ///
    /// What the newer one no longer has must go, except for definitions that somebody wants to keep: with them all their
    /// custom resources would go.
    pub fn of_archiving(set: &ClusterObjectSet) -> Self {
        match Self::of_deletion(set) {
            Self::None => Self::None,
            Self::Definitions | Self::All => Self::Definitions,
        }
    }

    /// Returns whether an object is one of them.
    pub fn include(self, id: &ObjectId) -> bool {
        match self {
            Self::None => false,
            Self::Definitions => {
                id.kind == "CustomResourceDefinition" && id.group() == "apiextensions.k8s.io"
            }
            Self::All => true,
        }
    }
}

fn said(set: &ClusterObjectSet) -> Option<&str> {
    let annotations = set.metadata.annotations.as_ref()?;
    annotations.get(keys::ON_DELETE).map(String::as_str)
}

/// Decides what is to be done about an object, given what the server has under its name.
pub fn decide(live: Option<&Value>, owner: &Owner, survives: bool) -> Parting {
    let Some(live) = live else {
        return Parting::Done;
    };
    let mine = references(live).iter().any(|reference| owner.is(reference));
    if !controller(live).is_some_and(|controller| owner.is(controller)) {
        return if mine {
            Parting::Release(without(live, owner))
        } else {
            Parting::Done
        };
    }
    if survives {
        let mut patch = without(live, owner);
        patch["metadata"]["annotations"] = json!({keys::REVISION: null, keys::KEPT: "true"});
        patch["metadata"]["labels"] = json!({MANAGED_BY: null, keys::OWNER_NAME: null});
        return Parting::Release(patch);
    }
    if is_terminating(live) {
        return Parting::Waiting;
    }
    Parting::Delete {
        uid: text(live, "/metadata/uid").to_owned(),
        resource_version: text(live, "/metadata/resourceVersion").to_owned(),
        offspring: if has_pods(&ObjectId::of(live)) {
            Offspring::Precedes
        } else {
            Offspring::Follows
        },
    }
}

fn without(live: &Value, owner: &Owner) -> Value {
    let others: Vec<&Value> = references(live)
        .iter()
        .filter(|reference| !owner.is(reference))
        .collect();
    json!({"metadata": {
        "ownerReferences": others,
        "resourceVersion": text(live, "/metadata/resourceVersion"),
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner {
            name: name.to_owned(),
            uid: name.to_owned(),
        }
    }

    fn owned_by(references: Value) -> Value {
        json!({"metadata": {"name": "x", "uid": "u", "resourceVersion": "7", "ownerReferences": references}})
    }

    #[test]
    fn only_what_the_revision_controls_is_deleted() {
        let me = owner("a-1");
        let mine = owned_by(json!([me.controller_reference()]));
        assert_eq!(
            decide(Some(&mine), &me, false),
            Parting::Delete {
                uid: "u".into(),
                resource_version: "7".into(),
                offspring: Offspring::Follows,
            }
        );
        let mut leaving = mine.clone();
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(decide(Some(&leaving), &me, false), Parting::Waiting);
        assert_eq!(decide(None, &me, false), Parting::Done);
        let another = owned_by(json!([owner("b-1").controller_reference()]));
        assert_eq!(decide(Some(&another), &me, false), Parting::Done);
    }

    #[test]
    fn a_workload_goes_after_its_pods_and_is_not_waited_for_without_end() {
        let me = owner("a-1");
        let object = |api_version: &str, kind: &str| {
            let mut object = owned_by(json!([me.controller_reference()]));
            object["apiVersion"] = json!(api_version);
            object["kind"] = json!(kind);
            object
        };
        for (api_version, kind, expected) in [
            ("apps/v1", "Deployment", Offspring::Precedes),
            ("batch/v1", "Job", Offspring::Precedes),
            ("v1", "Pod", Offspring::Precedes),
            ("v1", "ServiceAccount", Offspring::Follows),
            ("example.com/v1", "Deployment", Offspring::Follows),
        ] {
            let Parting::Delete { offspring, .. } = decide(Some(&object(api_version, kind)), &me, false)
            else {
                panic!("{kind} is deleted");
            };
            assert_eq!(offspring, expected, "{api_version} {kind}");
        }
        let mut leaving = object("apps/v1", "Deployment");
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let at = |time: &str| time.parse::<Timestamp>().expect("a time");
        assert!(!is_overdue(&leaving, at("2026-01-01T00:02:00Z")));
        assert!(is_overdue(&leaving, at("2026-01-01T00:02:01Z")));
        assert!(!is_overdue(
            &object("apps/v1", "Deployment"),
            at("2026-01-01T00:02:01Z")
        ));
    }

    #[test]
    fn a_handed_over_object_only_loses_the_reference() {
        let me = owner("a-1");
        let mut old = me.controller_reference();
        old["controller"] = json!(false);
        let live = owned_by(json!([old, owner("a-2").controller_reference()]));
        let Parting::Release(patch) = decide(Some(&live), &me, false) else {
            panic!("it is another's now");
        };
        assert_eq!(
            patch,
            json!({"metadata": {"ownerReferences": [owner("a-2").controller_reference()], "resourceVersion": "7"}})
        );
    }

    #[test]
    fn a_survivor_loses_every_trace_but_that_it_was_kept() {
        let me = owner("a-1");
        let live = owned_by(json!([me.controller_reference()]));
        let Parting::Release(patch) = decide(Some(&live), &me, true) else {
            panic!("it survives");
        };
        assert_eq!(patch["metadata"]["ownerReferences"], json!([]));
        assert_eq!(
            patch["metadata"]["annotations"],
            json!({keys::REVISION: null, keys::KEPT: "true"})
        );
    }
}
