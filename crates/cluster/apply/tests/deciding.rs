//! Properties of what is decided, on a server that is a map.

use std::collections::BTreeMap;

use api::ClusterObjectSet;
use api::cluster_object_set::{
    ClusterObjectSetSpec, CollisionProtection, LifecycleState, Phase, PhaseObject,
};
use api::{condition, keys};
use apply::content;
use apply::object::ObjectId;
use apply::owners::{Owner, controller};
use apply::probes::default_probes;
use apply::revision::conclusion::Conclusion;
use apply::revision::{self, How, Observed, Outcome, Seen, Snapshot, Step, decide};
use apply::teardown::Parting;
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};

/// More steps than any revision of the tests can need: look, write and advance for each phase, and some more.
const MOST_STEPS: usize = 100;

#[derive(Default, Clone)]
struct Server {
    objects: BTreeMap<ObjectId, Value>,
    version: u64,
    /// Every object that was changed or deleted while somebody else controlled it.
    robbed: Vec<ObjectId>,
}

impl Server {
    fn put(&mut self, id: &ObjectId, mut object: Value) -> Value {
        self.version += 1;
        let uid = match self.objects.get(id) {
            Some(known) => known["metadata"]["uid"].clone(),
            None => json!(format!("uid {}", self.version)),
        };
        object["metadata"]["uid"] = uid;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        self.objects.insert(id.clone(), object.clone());
        object
    }

    fn is_anothers(&self, id: &ObjectId, family: &[Owner]) -> bool {
        let Some(live) = self.objects.get(id) else {
            return false;
        };
        controller(live).is_none_or(|reference| !family.iter().any(|owner| owner.is(reference)))
    }

    /// Does what is decided until there is a conclusion.
    fn reconcile(
        &mut self,
        set: &ClusterObjectSet,
        related: &[ClusterObjectSet],
    ) -> (Conclusion, Vec<String>) {
        let family: Vec<Owner> = related.iter().chain([set]).map(Owner::of).collect();
        let mut snapshot = Snapshot {
            set: set.clone(),
            related: related.to_vec(),
            content: content::read(set, &BTreeMap::new(), "system"),
            now: Timestamp::UNIX_EPOCH,
            finished: Vec::new(),
            objects: Vec::new(),
        };
        let mut archived = Vec::new();
        for _ in 0..MOST_STEPS {
            let ids = |phase: usize| -> Vec<ObjectId> {
                let content = snapshot.content.as_ref().expect("there is something to do");
                content.phases[phase]
                    .objects
                    .iter()
                    .map(|wanted| wanted.id.clone())
                    .collect()
            };
            match decide(&snapshot) {
                Step::Look { phase } => {
                    let seen = |id: &ObjectId| match self.objects.get(id) {
                        Some(live) => Seen::Present(Box::new(live.clone())),
                        None => Seen::Absent,
                    };
                    snapshot.objects = ids(phase)
                        .iter()
                        .map(|id| Observed {
                            seen: seen(id),
                            ..Observed::default()
                        })
                        .collect();
                }
                Step::Write { phase, writes } => {
                    let ids = ids(phase);
                    for write in writes {
                        let id = &ids[write.index];
                        assert_eq!(write.how == How::Create, !self.objects.contains_key(id));
                        if self.is_anothers(id, &family) {
                            self.robbed.push(id.clone());
                        }
                        let live = self.put(id, write.object);
                        snapshot.objects[write.index] = Observed {
                            seen: Seen::Present(Box::new(live)),
                            outcome: Some(Outcome::Done),
                            ..Observed::default()
                        };
                    }
                }
                Step::Part { phase, partings } => {
                    let ids = ids(phase);
                    for (index, parting) in partings {
                        let id = &ids[index];
                        if let Parting::Delete { .. } = parting {
                            if self.is_anothers(id, &[Owner::of(set)]) {
                                self.robbed.push(id.clone());
                            }
                            self.objects.remove(id);
                        } else if let Parting::Release(patch) = parting {
                            let mut live = self.objects[id].clone();
                            live["metadata"]["ownerReferences"] =
                                patch["metadata"]["ownerReferences"].clone();
                            self.put(id, live);
                        }
                        snapshot.objects[index] = Observed {
                            seen: Seen::Absent,
                            outcome: Some(Outcome::Done),
                            ..Observed::default()
                        };
                    }
                }
                Step::Advance(report) => {
                    snapshot.finished.push(report);
                    snapshot.objects.clear();
                }
                Step::Protect => snapshot.set.metadata.finalizers = Some(vec![keys::TEARDOWN.to_owned()]),
                Step::Archive(names) => {
                    for set in &mut snapshot.related {
                        if names.iter().any(|name| name == set.name()) {
                            set.spec.lifecycle_state = LifecycleState::Archived;
                        }
                    }
                    archived.extend(names);
                }
                Step::Conclude(conclusion) => return (*conclusion, archived),
            }
        }
        panic!("no conclusion after {MOST_STEPS} steps");
    }
}

fn map(name: u8) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{name}"), "namespace": "n"}})
}

fn revision(number: i64, phases: &[Vec<Value>], protection: CollisionProtection) -> ClusterObjectSet {
    let entry = |object: &Value| PhaseObject {
        object: Some(object.clone()),
        ..PhaseObject::default()
    };
    let phases = phases.iter().enumerate().map(|(index, objects)| Phase {
        name: format!("p{index}"),
        objects: objects.iter().map(entry).collect(),
        ..Phase::default()
    });
    let mut set = ClusterObjectSet::new(
        &format!("x-{number}"),
        ClusterObjectSetSpec {
            lifecycle_state: LifecycleState::Active,
            revision: number,
            collision_protection: protection,
            phases: phases.collect(),
            progress_deadline_minutes: None,
            progression_probes: Vec::new(),
        },
    );
    set.metadata.uid = Some(format!("uid of {number}"));
    set.metadata.labels = Some(BTreeMap::from([(keys::OWNER_NAME.to_owned(), "x".to_owned())]));
    set
}

fn protection() -> impl Strategy<Value = CollisionProtection> {
    prop_oneof![
        Just(CollisionProtection::Prevent),
        Just(CollisionProtection::IfNoController),
        Just(CollisionProtection::None),
    ]
}

/// Phases of objects, each object in one phase.
fn phases() -> impl Strategy<Value = Vec<Vec<Value>>> {
    let names = proptest::sample::subsequence((0_u8..12).collect::<Vec<_>>(), 0..12);
    (names, 1_usize..4).prop_map(|(names, count)| {
        let mut phases = vec![Vec::new(); count];
        for (index, name) in names.into_iter().enumerate() {
            phases[index % count].push(map(name));
        }
        phases
    })
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-zA-Z/.%]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key =
            "(apiVersion|kind|metadata|name|namespace|items|labels|annotations|ownerReferences|status|a)";
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(key, inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_revision_brings_about_what_it_holds_and_takes_nothing_from_others(
        phases in phases(),
        foreign in proptest::collection::btree_map(0_u8..12, any::<bool>(), 0..3),
        protection in protection(),
    ) {
        let mut server = Server::default();
        for (name, is_controlled) in &foreign {
            let mut object = map(*name);
            if *is_controlled {
                object["metadata"]["ownerReferences"] =
                    json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "u", "controller": true}]);
            }
            server.put(&ObjectId::of(&map(*name)), object);
        }
        let set = revision(1, &phases, protection);
        let (conclusion, _) = server.reconcile(&set, &[]);
        let said = |kind: &str| {
            let conditions = &conclusion.status.conditions;
            api::condition::find(conditions, kind).map(|said| said.reason.clone()).unwrap_or_default()
        };
        let allowed = |controlled: bool| match protection {
            CollisionProtection::Prevent => false,
            CollisionProtection::IfNoController => !controlled,
            CollisionProtection::None => true,
        };
        for id in &server.robbed {
            let controlled = foreign.iter().any(|(name, controlled)| *controlled && id.name == format!("m{name}"));
            prop_assert!(allowed(controlled), "{id} was taken");
        }
        let wanted: Vec<ObjectId> = phases.iter().flatten().map(ObjectId::of).collect();
        let collides = foreign
            .iter()
            .any(|(name, controlled)| !allowed(*controlled) && wanted.contains(&ObjectId::of(&map(*name))));
        prop_assert_eq!(said("Progressing"), if collides { "Retrying" } else { "Succeeded" });
        if !collides {
            for id in &wanted {
                let live = server.objects.get(id).expect("it was made");
                prop_assert!(Owner::of(&set).is(controller(live).expect("a controller")));
            }
        }
    }

    #[test]
    fn the_newer_revision_has_everything_and_the_older_one_leaves_nothing(first in phases(), second in phases()) {
        let mut server = Server::default();
        let one = revision(1, &first, CollisionProtection::Prevent);
        let two = revision(2, &second, CollisionProtection::Prevent);
        server.reconcile(&one, std::slice::from_ref(&two));
        let (_, archived) = server.reconcile(&two, std::slice::from_ref(&one));
        prop_assert_eq!(archived, vec!["x-1".to_owned()]);
        // The older one may look again before it hears of that.
        server.reconcile(&one, std::slice::from_ref(&two));
        let mut one = one;
        one.spec.lifecycle_state = LifecycleState::Archived;
        let (conclusion, _) = server.reconcile(&one, std::slice::from_ref(&two));
        prop_assert!(conclusion.release);
        prop_assert!(server.robbed.is_empty(), "{:?}", server.robbed);
        // What only the older one had came back when it looked again, and went with it.
        let mut wanted: Vec<ObjectId> = second.iter().flatten().map(ObjectId::of).collect();
        wanted.sort();
        prop_assert_eq!(server.objects.keys().cloned().collect::<Vec<_>>(), wanted);
        for live in server.objects.values() {
            prop_assert!(Owner::of(&two).is(controller(live).expect("a controller")));
        }
    }

    #[test]
    fn nothing_that_a_revision_holds_makes_it_panic(objects in proptest::collection::vec(any_json(), 0..4)) {
        let mut server = Server::default();
        let set = revision(1, &[objects], CollisionProtection::None);
        let (conclusion, _) = server.reconcile(&set, &[]);
        prop_assert!(!conclusion.status.conditions.is_empty());
    }
}

#[test]
fn what_a_revision_waits_for_is_said_in_upstreams_words_and_then_why() {
    let object = |name: &str, available: &str| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "n", "generation": 1},
            "spec": {}, "status": {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1,
                "conditions": [{"type": "Available", "status": available}]}})
    };
    let entry = |name: &str| {
        let object = Some(json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": "n"}, "spec": {}}));
        PhaseObject {
            object,
            ..PhaseObject::default()
        }
    };
    let mut set = ClusterObjectSet::new(
        "x-1",
        ClusterObjectSetSpec {
            lifecycle_state: LifecycleState::Active,
            revision: 1,
            collision_protection: CollisionProtection::Prevent,
            phases: vec![Phase {
                name: "deploy".to_owned(),
                objects: vec![entry("a"), entry("b")],
                ..Phase::default()
            }],
            progress_deadline_minutes: None,
            progression_probes: default_probes(),
        },
    );
    set.metadata.finalizers = Some(vec![keys::TEARDOWN.to_owned()]);
    let observed = |name: &str, available: &str, trouble: Option<&str>| Observed {
        seen: Seen::Present(Box::new(object(name, available))),
        outcome: Some(Outcome::Done),
        trouble: trouble.map(str::to_owned),
    };
    let said = "Object Deployment.apps/v1 n/b: .status.condition[\"Available\"] is False";
    for (trouble, expected) in [
        (None, said.to_owned()),
        (
            Some("pod b-1: no node has label gpu=A100"),
            format!("{said}; pod b-1: no node has label gpu=A100"),
        ),
    ] {
        let mut snapshot = Snapshot {
            content: content::read(&set, &BTreeMap::new(), "system"),
            set: set.clone(),
            related: Vec::new(),
            now: Timestamp::UNIX_EPOCH,
            finished: Vec::new(),
            objects: vec![observed("a", "True", None), observed("b", "False", trouble)],
        };
        assert_eq!(revision::waits_for(&snapshot).map(|(index, _)| index), Some(1));
        let Step::Conclude(conclusion) = decide(&snapshot) else {
            panic!("there is nothing to do but to wait");
        };
        let available = condition::find(&conclusion.status.conditions, "Available").expect("said");
        assert_eq!(
            (available.reason.as_str(), available.message.as_str()),
            ("ProbeFailure", expected.as_str())
        );
        // Of what is let go nothing is asked.
        snapshot.set.spec.lifecycle_state = LifecycleState::Archived;
        assert_eq!(revision::waits_for(&snapshot), None);
    }
}
