//! Rollouts step by step, with ReplicaSets that do at once what they are told.

use serde_json::json;

use super::*;

fn deployment(wanted: i64, strategy: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "d", "namespace": "n", "uid": "u", "generation": 1},
        "spec": {"replicas": wanted, "selector": {"matchLabels": {"a": "b"}}, "strategy": strategy,
            "progressDeadlineSeconds": 600, "revisionHistoryLimit": 10,
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "one"}]}}},
    })
}

fn rolling(surge: i64, unavailable: i64) -> Value {
    json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})
}

struct World {
    deployment: Value,
    sets: Vec<Value>,
    notes: Vec<String>,
    seconds: i64,
}

impl World {
    fn new(deployment: Value) -> Self {
        Self {
            deployment,
            sets: Vec::new(),
            notes: Vec::new(),
            seconds: 0,
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + self.seconds).expect("a time")
    }

    fn step(&mut self) -> Plan {
        self.seconds += 1;
        let plan = decide(&self.deployment, &self.sets, &BTreeSet::new(), self.now());
        if let Some(mut set) = plan.create.clone() {
            let uid = set.name().to_owned();
            set.metadata_mut().insert("uid".into(), uid.into());
            let made = crate::object::timestamp(self.now());
            set.metadata_mut().insert("creationTimestamp".into(), made.into());
            self.notes
                .extend(plan.created_notes.iter().map(|note| note.message.clone()));
            self.sets.push(set);
        }
        for (set, notes) in &plan.update {
            let present = self.sets.iter_mut().find(|one| one.name() == set.name());
            *present.expect("the set is there") = set.clone();
            self.notes.extend(notes.iter().map(|note| note.message.clone()));
        }
        self.sets
            .retain(|set| !plan.delete.contains(&set.name().to_owned()));
        self.deployment = plan.deployment.clone();
        plan
    }

    /// Gives every ReplicaSet the Pods it wants; those of some images never get ready.
    fn obey(&mut self, sick: &str) {
        for set in &mut self.sets {
            let size = replicas(set);
            let image = set["spec"]["template"]["spec"]["containers"][0]["image"].clone();
            let ready = if image == sick { 0 } else { size };
            set["status"] = json!({"replicas": size, "readyReplicas": ready, "availableReplicas": ready,
                "terminatingReplicas": 0, "observedGeneration": 0});
        }
    }

    fn settle(&mut self) {
        for _ in 0..50 {
            self.step();
            self.obey("sick");
        }
    }

    fn image(&mut self, image: &str) {
        self.deployment["spec"]["template"]["spec"]["containers"][0]["image"] = image.into();
        let generation = self.deployment.generation() + 1;
        self.deployment
            .metadata_mut()
            .insert("generation".into(), generation.into());
    }

    fn scale(&mut self, wanted: i64) {
        self.deployment["spec"]["replicas"] = wanted.into();
    }

    fn sizes(&self) -> Vec<i64> {
        self.sets.iter().map(replicas).collect()
    }

    fn condition(&self, kind: &str) -> &Value {
        conditions::find(&self.deployment["status"], kind).expect("the condition is there")
    }
}

#[test]
fn a_new_deployment_makes_one_set_and_becomes_available() {
    let mut world = World::new(deployment(2, &rolling(1, 0)));
    let plan = world.step();
    let set = plan.create.expect("a set is made");
    assert_eq!(set["spec"]["replicas"], 2);
    assert_eq!(
        set["metadata"]["annotations"],
        json!({"deployment.kubernetes.io/desired-replicas": "2", "deployment.kubernetes.io/max-replicas": "3",
            "deployment.kubernetes.io/revision": "1"})
    );
    let hash = set.label("pod-template-hash").expect("a hash").to_owned();
    assert_eq!(set.name(), format!("d-{hash}"));
    assert_eq!(
        set["spec"]["selector"]["matchLabels"],
        json!({"a": "b", "pod-template-hash": hash})
    );
    assert_eq!(
        set["spec"]["template"]["metadata"]["labels"]["pod-template-hash"],
        *hash
    );
    assert_eq!(
        world.deployment.annotation(super::super::sets::REVISION),
        Some("1")
    );
    assert_eq!(world.condition("Progressing")["reason"], "NewReplicaSetCreated");
    assert_eq!(
        world.condition("Available")["reason"],
        "MinimumReplicasUnavailable"
    );
    assert_eq!(world.deployment["status"]["unavailableReplicas"], 2);
    assert_eq!(
        world.notes,
        [format!("Scaled up replica set d-{hash} from 0 to 2")]
    );
    world.settle();
    let status = &world.deployment["status"];
    assert_eq!(status["conditions"][0]["type"], "Available");
    assert_eq!(status["conditions"][0]["status"], "True");
    assert_eq!(status["conditions"][1]["reason"], "NewReplicaSetAvailable");
    assert_eq!(
        status["conditions"][1]["message"],
        format!("ReplicaSet \"d-{hash}\" has successfully progressed.")
    );
    assert_eq!(status["updatedReplicas"], 2);
    assert!(status.get("unavailableReplicas").is_none());
}

#[test]
fn a_rolling_update_never_leaves_its_fences() {
    for (wanted, surge, unavailable) in [(4, 1, 0), (4, 0, 1), (10, 3, 2), (1, 1, 0), (5, 5, 5)] {
        let mut world = World::new(deployment(wanted, &rolling(surge, unavailable)));
        world.settle();
        world.image("two");
        for _ in 0..60 {
            world.step();
            let total: i64 = world.sizes().iter().sum();
            assert!(total <= wanted + surge, "{total} of {wanted}+{surge}");
            // What a set is told to drop may go at once, and what it is told to add isn't ready yet.
            let ready: i64 = world
                .sets
                .iter()
                .map(|set| counted(&set["status"], "availableReplicas").min(replicas(set)))
                .sum();
            assert!(ready >= wanted - unavailable, "{ready} of {wanted}-{unavailable}");
            world.obey("");
        }
        assert_eq!(world.sizes(), [0, wanted]);
        assert_eq!(world.condition("Progressing")["reason"], "NewReplicaSetAvailable");
        assert_eq!(
            world.deployment.annotation(super::super::sets::REVISION),
            Some("2")
        );
    }
}

#[test]
fn a_rollout_that_fails_keeps_the_old_pods_and_misses_its_deadline() {
    let mut world = World::new(deployment(4, &rolling(1, 1)));
    world.settle();
    world.image("sick");
    world.settle();
    assert_eq!(world.sizes(), [3, 2]);
    assert_eq!(world.condition("Available")["status"], "True");
    world.seconds += 601;
    world.step();
    assert_eq!(
        world.condition("Progressing")["reason"],
        "ProgressDeadlineExceeded"
    );
    assert_eq!(world.condition("Progressing")["status"], "False");
    let message = world.condition("Progressing")["message"]
        .as_str()
        .unwrap_or_default();
    assert!(message.ends_with("has timed out progressing."), "{message}");
}

#[test]
fn the_way_back_uses_the_old_set_with_a_new_number() {
    let mut world = World::new(deployment(2, &rolling(1, 0)));
    world.settle();
    world.image("two");
    world.settle();
    world.image("one");
    world.settle();
    assert_eq!(world.sizes(), [2, 0]);
    let old = &world.sets[0];
    assert_eq!(old.annotation("deployment.kubernetes.io/revision"), Some("3"));
    assert_eq!(
        old.annotation("deployment.kubernetes.io/revision-history"),
        Some("1")
    );
}

#[test]
fn a_paused_deployment_only_scales() {
    let mut world = World::new(deployment(2, &rolling(1, 0)));
    world.deployment["spec"]["paused"] = true.into();
    world.settle();
    assert!(world.sets.is_empty());
    assert_eq!(world.condition("Progressing")["reason"], "DeploymentPaused");
    world.deployment["spec"]["paused"] = false.into();
    world.settle();
    world.deployment["spec"]["paused"] = true.into();
    world.image("two");
    world.scale(5);
    world.settle();
    assert_eq!(world.sizes(), [5]);
    world.deployment["spec"]["paused"] = false.into();
    world.step();
    assert_eq!(world.sizes(), [5, 1]);
}

#[test]
fn sets_keep_their_proportion_when_the_deployment_is_scaled_in_the_middle() {
    let mut world = World::new(deployment(10, &rolling(3, 2)));
    world.settle();
    world.image("sick");
    world.settle();
    assert_eq!(world.sizes(), [8, 5]);
    world.scale(15);
    world.step();
    assert_eq!(world.sizes(), [11, 7]);
}

#[test]
fn recreate_waits_for_the_old_pods() {
    let mut world = World::new(deployment(3, &json!({"type": "Recreate"})));
    world.settle();
    world.image("two");
    world.step();
    assert_eq!(world.sizes(), [0]);
    let uid = world.sets[0].uid().to_owned();
    world.obey("");
    let waits = decide(
        &world.deployment,
        &world.sets,
        &BTreeSet::from([uid]),
        world.now(),
    );
    assert!(waits.create.is_none());
    world.settle();
    assert_eq!(world.sizes(), [0, 3]);
}

#[test]
fn old_sets_beyond_the_history_are_removed() {
    let mut world = World::new(deployment(1, &rolling(1, 0)));
    world.deployment["spec"]["revisionHistoryLimit"] = 1.into();
    for image in ["one", "two", "three", "four"] {
        world.image(image);
        world.settle();
    }
    let revisions: Vec<i64> = world.sets.iter().map(revision).collect();
    assert_eq!(revisions, [3, 4]);
}

#[test]
fn a_settled_deployment_is_left_alone() {
    let mut world = World::new(deployment(2, &rolling(1, 0)));
    world.settle();
    let before = world.deployment.clone();
    let plan = world.step();
    assert_eq!(plan.deployment, before);
    assert!(plan.update.is_empty() && plan.create.is_none() && plan.delete.is_empty());
}
