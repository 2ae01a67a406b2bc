//! What becomes of one object, seen with its owners and dependents.

use serde_json::Value;

use crate::api::delete::{FOREGROUND, ORPHAN};
use crate::object::Object;
use crate::options::Propagation;
use crate::store::Key;

/// An owner that an object names, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) uid: String,
    pub(super) state: OwnerState,
}

/// What an owner is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnerState {
    /// It is there.
    Solid,
    /// There is no such object, or another one with its name.
    Gone,
    /// It is being deleted and waits for what it owns.
    Waiting,
    /// Its kind isn't served.
    UnknownKind,
    /// It lives in a namespace, and the object doesn't.
    Unreachable,
}

/// Something that names the object as its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dependent {
    pub(super) key: Key,
    /// Whether the owner has to wait for it.
    pub(super) blocks: bool,
    /// Whether it is being deleted and waits for what it owns itself.
    pub(super) waits: bool,
}

/// An object with its owners and dependents.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) object: Value,
    pub(super) owners: Vec<Owner>,
    pub(super) dependents: Vec<Dependent>,
    /// References to owners that live in another namespace, which is never right.
    pub(super) invalid_owners: Vec<Value>,
}

/// What is done with an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    /// It stays as it is.
    Nothing,
    /// An owner's kind isn't known yet: nobody can say whether it is there.
    LookLater,
    /// It stays, without the owners that are gone.
    DropOwners(Vec<String>),
    /// It goes.
    Delete {
        propagation: Propagation,
        unblock_owners: bool,
    },
    /// Its dependents lose it as their owner, then it goes.
    Orphan { dependents: Vec<Key> },
    /// It waits for its dependents, which are looked at.
    LookAt { dependents: Vec<Key> },
    /// Nothing keeps it waiting any more; other dependents are looked at when it is gone.
    EndForeground { dependents: Vec<Key> },
}

/// Decides what becomes of an object.
pub(super) fn decide(seen: &Seen) -> Plan {
    let finalizers = seen.object.finalizers();
    if seen.object.is_being_deleted() {
        let keys = |of: &dyn Fn(&Dependent) -> bool| {
            let chosen = seen.dependents.iter().filter(|one| of(one));
            chosen.map(|one| one.key.clone()).collect()
        };
        if finalizers.contains(&ORPHAN) {
            return Plan::Orphan {
                dependents: keys(&|_| true),
            };
        }
        if finalizers.contains(&FOREGROUND) {
            return if seen.dependents.iter().any(|one| one.blocks) {
                Plan::LookAt {
                    dependents: keys(&|one| !one.waits),
                }
            } else {
                Plan::EndForeground {
                    dependents: keys(&|_| true),
                }
            };
        }
        return Plan::Nothing;
    }
    if seen.owners.is_empty() {
        return Plan::Nothing;
    }
    decide_by_owners(seen, &finalizers)
}

fn decide_by_owners(seen: &Seen, finalizers: &[&str]) -> Plan {
    let is = |state: OwnerState| move |owner: &&Owner| owner.state == state;
    let uids = |states: &[OwnerState]| -> Vec<String> {
        let chosen = seen.owners.iter().filter(|owner| states.contains(&owner.state));
        chosen.map(|owner| owner.uid.clone()).collect()
    };
    // As long as one owner can't be looked up, nobody knows that all of them are gone.
    if seen
        .owners
        .iter()
        .any(|owner| is(OwnerState::Unreachable)(&owner))
    {
        return Plan::Nothing;
    }
    if seen
        .owners
        .iter()
        .any(|owner| is(OwnerState::UnknownKind)(&owner))
    {
        return Plan::LookLater;
    }
    if seen.owners.iter().any(|owner| is(OwnerState::Solid)(&owner)) {
        let gone = uids(&[OwnerState::Gone, OwnerState::Waiting]);
        return if gone.is_empty() {
            Plan::Nothing
        } else {
            Plan::DropOwners(gone)
        };
    }
    let waited_for = seen.owners.iter().any(|owner| is(OwnerState::Waiting)(&owner));
    if waited_for && !seen.dependents.is_empty() {
        return Plan::Delete {
            propagation: Propagation::Foreground,
            unblock_owners: seen.dependents.iter().any(|dependent| dependent.waits),
        };
    }
    let propagation = if finalizers.contains(&ORPHAN) {
        Propagation::Orphan
    } else if finalizers.contains(&FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    };
    Plan::Delete {
        propagation,
        unblock_owners: false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::ResourceKey;

    fn key(name: &str) -> Key {
        Key::new(&ResourceKey::new("", "configmaps"), "a", name)
    }

    fn dependent(name: &str, blocks: bool, waits: bool) -> Dependent {
        Dependent {
            key: key(name),
            blocks,
            waits,
        }
    }

    fn object(finalizers: &[&str], deleting: bool) -> Value {
        let mut object = json!({"metadata": {"uid": "u", "finalizers": finalizers}});
        if deleting {
            object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        object
    }

    fn seen(object: Value, owners: &[(&str, OwnerState)], dependents: Vec<Dependent>) -> Seen {
        let owners = owners.iter().map(|(uid, state)| Owner {
            uid: (*uid).to_owned(),
            state: *state,
        });
        Seen {
            object,
            owners: owners.collect(),
            dependents,
            invalid_owners: Vec::new(),
        }
    }

    fn delete(propagation: Propagation, unblock_owners: bool) -> Plan {
        Plan::Delete {
            propagation,
            unblock_owners,
        }
    }

    #[test]
    fn owners_decide_about_what_they_own() {
        use OwnerState::{Gone, Solid, UnknownKind, Unreachable, Waiting};
        let plain = || object(&[], false);
        let none = Vec::new;
        let cases = [
            (seen(plain(), &[], none()), Plan::Nothing),
            (seen(plain(), &[("a", Solid)], none()), Plan::Nothing),
            (
                seen(plain(), &[("a", Gone)], none()),
                delete(Propagation::Background, false),
            ),
            (
                seen(object(&[ORPHAN], false), &[("a", Gone)], none()),
                delete(Propagation::Orphan, false),
            ),
            (
                seen(plain(), &[("a", Gone), ("b", Solid)], none()),
                Plan::DropOwners(vec!["a".to_owned()]),
            ),
            (
                seen(plain(), &[("a", Waiting), ("b", Solid)], none()),
                Plan::DropOwners(vec!["a".to_owned()]),
            ),
            (
                seen(plain(), &[("a", Waiting)], none()),
                delete(Propagation::Background, false),
            ),
            (
                seen(plain(), &[("a", Waiting)], vec![dependent("x", true, false)]),
                delete(Propagation::Foreground, false),
            ),
            (
                seen(plain(), &[("a", Waiting)], vec![dependent("x", true, true)]),
                delete(Propagation::Foreground, true),
            ),
            (
                seen(plain(), &[("a", Gone), ("b", UnknownKind)], none()),
                Plan::LookLater,
            ),
            (
                seen(plain(), &[("a", Gone), ("b", Unreachable)], none()),
                Plan::Nothing,
            ),
            (seen(object(&["x"], true), &[("a", Gone)], none()), Plan::Nothing),
        ];
        for (seen, expected) in cases {
            assert_eq!(decide(&seen), expected, "{seen:?}");
        }
    }

    #[test]
    fn an_owner_that_waits_goes_when_nothing_blocks_it() {
        let blocked = seen(
            object(&[FOREGROUND], true),
            &[],
            vec![
                dependent("x", true, false),
                dependent("y", false, false),
                dependent("z", true, true),
            ],
        );
        assert_eq!(
            decide(&blocked),
            Plan::LookAt {
                dependents: vec![key("x"), key("y")]
            }
        );
        let free = seen(
            object(&[FOREGROUND], true),
            &[],
            vec![dependent("y", false, false)],
        );
        assert_eq!(
            decide(&free),
            Plan::EndForeground {
                dependents: vec![key("y")]
            }
        );
    }

    #[test]
    fn an_owner_that_orphans_lets_go_of_all_it_owns() {
        let orphaning = seen(
            object(&[ORPHAN], true),
            &[],
            vec![dependent("x", true, false), dependent("y", false, false)],
        );
        assert_eq!(
            decide(&orphaning),
            Plan::Orphan {
                dependents: vec![key("x"), key("y")]
            }
        );
    }
}
