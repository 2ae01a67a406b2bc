//! Collisions: whether a revision may have an object that exists already.

use std::fmt::Write as _;

use api::cluster_object_set::CollisionProtection;
use api::keys;
use serde_json::Value;

use crate::fields;
use crate::object::{ObjectId, annotation, label};
use crate::owners::{Owner, controller, printed};

/// Who asks for an object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claimant {
    /// The revision.
    pub owner: Owner,
    /// Its number.
    pub revision: i64,
    /// The other active revisions of the same extension.
    pub siblings: Vec<Owner>,
}

/// What is to be done about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It isn't there: make it.
    Create,
    /// It is ours, and differs from what is wanted: apply it.
    Apply,
    /// It belongs to an older revision, or may be taken over: take it.
    Adopt,
    /// It is as it should be.
    Keep,
    /// A newer revision has it.
    Progressed,
    /// It belongs to somebody else.
    Collide(Collision),
}

/// An object that belongs to somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    /// The object.
    pub id: ObjectId,
    /// What controls it, as an owner reference; none if nothing does.
    pub controller: Option<Value>,
    /// The extension that it was made for, as far as it says.
    pub extension: Option<String>,
    /// The extension that asks for it; none where a revision was made by hand.
    pub wanted_by: Option<String>,
    /// Whether it once belonged to a revision that let it go.
    pub orphaned: bool,
}

/// Returns the protection that counts: what is said closest to the object.
pub fn effective(
    revision: Option<CollisionProtection>,
    phase: Option<CollisionProtection>,
    object: Option<CollisionProtection>,
) -> CollisionProtection {
    object.or(phase).or(revision).unwrap_or_default()
}

/// Decides what is to be done about an object, given what the server has under its name.
///
/// `wanted` is the object as it would be applied.
pub fn decide(
    wanted: &Value,
    live: Option<&Value>,
    claimant: &Claimant,
    protection: CollisionProtection,
) -> Action {
    let Some(live) = live else {
        return Action::Create;
    };
    let applied_by = annotation(live, keys::REVISION);
    let collide = || {
        Action::Collide(Collision {
            id: ObjectId::of(wanted),
            controller: controller(live).cloned(),
            extension: label(live, keys::OWNER_NAME)
                .filter(|name| !name.is_empty())
                .map(str::to_owned),
            wanted_by: extension_of(wanted).map(str::to_owned),
            orphaned: controller(live).is_none() && applied_by.is_some(),
        })
    };
    let Some(controller) = controller(live) else {
        // What carries our mark but has no owner was let go on purpose, or its owner is just being deleted: taken back
        // now, it might still be collected.
        return match protection {
            _ if applied_by.is_none() && was_kept_for(wanted, live) => Action::Adopt,
            CollisionProtection::Prevent => collide(),
            _ if applied_by.is_some() => collide(),
            _ => Action::Adopt,
        };
    };
    if claimant.owner.is(controller) {
        return if fields::holds(wanted, live) {
            Action::Keep
        } else {
            Action::Apply
        };
    }
    if claimant.siblings.iter().any(|sibling| sibling.is(controller)) {
        let theirs: Option<i64> = applied_by.map_or(Some(0), |number| number.parse().ok());
        return match theirs.map(|number| number.cmp(&claimant.revision)) {
            Some(std::cmp::Ordering::Greater) => Action::Progressed,
            Some(std::cmp::Ordering::Less) => Action::Adopt,
            Some(std::cmp::Ordering::Equal) | None => collide(),
        };
    }
    match protection {
        CollisionProtection::None => Action::Adopt,
        CollisionProtection::Prevent | CollisionProtection::IfNoController => collide(),
    }
}

/// The extension that an object is made for; none where its revision was made by hand.
fn extension_of(wanted: &Value) -> Option<&str> {
    let name = label(wanted, keys::OWNER_NAME).filter(|name| !name.is_empty());
    name.filter(|_| label(wanted, keys::OWNER_KIND) == Some("ClusterExtension"))
}

/// Whether an object was left behind on purpose by an earlier installation of the same package.
fn was_kept_for(wanted: &Value, live: &Value) -> bool {
    let package = annotation(wanted, keys::PACKAGE_NAME);
    annotation(live, keys::KEPT) == Some("true")
        && package.is_some_and(|package| !package.is_empty())
        && annotation(live, keys::PACKAGE_NAME) == package
}

impl Collision {
    /// Says which object it is, whose it is, and what can be done; the first three lines are upstream's.
    pub fn message(&self) -> String {
        let mut message = format!(
            "Object {}\nAction: \"Collision\"\nConflicting Owner: {}\n",
            self.id.in_conditions(),
            printed(self.controller.as_ref())
        );
        let written = match (&self.controller, self.orphaned, &self.wanted_by) {
            (Some(owner), _, wanted_by) => {
                let said = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default();
                let of = self.extension.as_ref();
                let of = of.map_or_else(String::new, |name| format!(" of extension {name:?}"));
                let way_out = match wanted_by {
                    Some(_) => "; what is controlled by another isn't taken over",
                    None => ", or set collisionProtection to None to take it over",
                };
                write!(
                    message,
                    "It belongs to {} {:?}{of}: remove it there{way_out}.",
                    said("kind"),
                    said("name")
                )
            }
            (None, true, None) => write!(
                message,
                "It was left behind by an earlier revision: delete it, or remove its annotation {}.",
                keys::REVISION
            ),
            (None, true, Some(extension)) => write!(
                message,
                "It was left behind by an earlier revision: delete it, or remove its annotation {} and let the extension take over \
                 what nobody controls: {}",
                keys::REVISION,
                adopting(extension)
            ),
            (None, false, None) => write!(
                message,
                "It exists already: delete it, or set collisionProtection to IfNoController to take it over."
            ),
            (None, false, Some(extension)) => write!(
                message,
                "It exists already: delete it, or let the extension take over what nobody controls: {}",
                adopting(extension)
            ),
        };
        debug_assert!(written.is_ok(), "a text takes everything");
        message
    }
}

/// The command that lets an extension take over what nobody controls.
fn adopting(extension: &str) -> String {
    format!(
        "kubectl annotate clusterextension {extension} {}=unowned",
        keys::ADOPT
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use CollisionProtection::{IfNoController, None as Nothing, Prevent};

    fn owner(name: &str) -> Owner {
        Owner {
            name: name.to_owned(),
            uid: format!("uid of {name}"),
        }
    }

    fn claimant() -> Claimant {
        Claimant {
            owner: owner("a-2"),
            revision: 2,
            siblings: vec![owner("a-1"), owner("a-3")],
        }
    }

    fn object(controller: Option<Value>, revision: Option<&str>) -> Value {
        let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
            "name": "x", "namespace": "y", "annotations": {}, "ownerReferences": []}});
        if let Some(controller) = controller {
            object["metadata"]["ownerReferences"] = json!([controller]);
        }
        if let Some(revision) = revision {
            object["metadata"]["annotations"][keys::REVISION] = json!(revision);
        }
        object
    }

    fn word(action: &Action) -> &'static str {
        match action {
            Action::Create => "create",
            Action::Apply => "apply",
            Action::Adopt => "adopt",
            Action::Keep => "keep",
            Action::Progressed => "progressed",
            Action::Collide(_) => "collide",
        }
    }

    #[test]
    fn what_is_done_depends_on_whose_it_is() {
        let foreign = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u", "controller": true});
        let ours = Some(owner("a-2").controller_reference());
        let (older, newer) = (
            Some(owner("a-1").controller_reference()),
            Some(owner("a-3").controller_reference()),
        );
        let table = [
            (ours.clone(), Some("2"), ["apply", "apply", "apply"]),
            (older.clone(), Some("1"), ["adopt", "adopt", "adopt"]),
            (older.clone(), None, ["adopt", "adopt", "adopt"]),
            (newer, Some("3"), ["progressed", "progressed", "progressed"]),
            (older.clone(), Some("2"), ["collide", "collide", "collide"]),
            (older, Some("two"), ["collide", "collide", "collide"]),
            (Some(foreign), None, ["collide", "collide", "adopt"]),
            (None, None, ["collide", "adopt", "adopt"]),
            (None, Some("1"), ["collide", "collide", "collide"]),
        ];
        for (controller, revision, expected) in table {
            let live = object(controller.clone(), revision);
            for (protection, expected) in [Prevent, IfNoController, Nothing].into_iter().zip(expected) {
                let action = decide(&object(None, None), Some(&live), &claimant(), protection);
                assert_eq!(
                    word(&action),
                    expected,
                    "{controller:?} {revision:?} {protection:?}"
                );
            }
        }
        assert_eq!(
            decide(&object(None, None), None, &claimant(), Prevent),
            Action::Create
        );
    }

    #[test]
    fn what_was_kept_goes_to_who_installs_the_package_again() {
        let of = |package: &str, kept: bool, revision: Option<&str>| {
            let mut object = object(None, revision);
            object["metadata"]["annotations"][keys::PACKAGE_NAME] = json!(package);
            if kept {
                object["metadata"]["annotations"][keys::KEPT] = json!("true");
            }
            object
        };
        let wanted = of("p", false, None);
        for (live, expected) in [
            (of("p", true, None), "adopt"),
            (of("p", false, None), "collide"),
            (of("q", true, None), "collide"),
            // It was taken back since, and then let go by an accident.
            (of("p", true, Some("1")), "collide"),
        ] {
            let action = decide(&wanted, Some(&live), &claimant(), Prevent);
            assert_eq!(word(&action), expected, "{live}");
        }
    }

    #[test]
    fn a_collision_names_the_object_its_owner_and_the_way_out() {
        let mut live = object(Some(owner("b-1").controller_reference()), Some("1"));
        live["metadata"]["labels"] = json!({keys::OWNER_NAME: "b"});
        let Action::Collide(collision) = decide(&object(None, None), Some(&live), &claimant(), Prevent)
        else {
            panic!("it is another's");
        };
        insta::assert_snapshot!(collision.message(), @r#"
        Object ConfigMap.v1 y/x
        Action: "Collision"
        Conflicting Owner: &OwnerReference{Kind:ClusterObjectSet,Name:b-1,UID:uid of b-1,APIVersion:olm.operatorframework.io/v1,Controller:*true,BlockOwnerDeletion:*true,}
        It belongs to ClusterObjectSet "b-1" of extension "b": remove it there, or set collisionProtection to None to take it over.
        "#);
    }

    #[test]
    fn an_extension_is_told_of_what_extensions_have() {
        let wanted = |owner: Option<&str>| {
            let mut wanted = object(None, None);
            if let Some(name) = owner {
                wanted["metadata"]["labels"] =
                    json!({keys::OWNER_KIND: "ClusterExtension", keys::OWNER_NAME: name});
            }
            wanted
        };
        let foreign = || Some(owner("b-1").controller_reference());
        for (asks, controller, revision, expected) in [
            (
                Some("a"),
                None,
                None,
                "It exists already: delete it, or let the extension take over what nobody controls: kubectl annotate \
                 clusterextension a baton-olm.dev/adopt=unowned",
            ),
            (
                Some("a"),
                None,
                Some("1"),
                "It was left behind by an earlier revision: delete it, or remove its annotation \
                 olm.operatorframework.io/revision and let the extension take over what nobody controls: kubectl annotate \
                 clusterextension a baton-olm.dev/adopt=unowned",
            ),
            (
                Some("a"),
                foreign(),
                None,
                "It belongs to ClusterObjectSet \"b-1\": remove it there; what is controlled by another isn't taken over.",
            ),
            (
                None,
                None,
                None,
                "It exists already: delete it, or set collisionProtection to IfNoController to take it over.",
            ),
            (
                None,
                None,
                Some("1"),
                "It was left behind by an earlier revision: delete it, or remove its annotation \
                 olm.operatorframework.io/revision.",
            ),
            (
                None,
                foreign(),
                None,
                "It belongs to ClusterObjectSet \"b-1\": remove it there, or set collisionProtection to None to take it over.",
            ),
        ] {
            let live = object(controller, revision);
            let Action::Collide(collision) = decide(&wanted(asks), Some(&live), &claimant(), Prevent) else {
                panic!("it is another's");
            };
            assert_eq!(collision.message().lines().last(), Some(expected));
        }
    }
}
