//! StatefulSets step by step.

use super::*;

struct World {
    set: Value,
    pods: Vec<Value>,
    made: usize,
}

impl World {
    fn new(mut spec: Value) -> Self {
        let map = map_of(&mut spec);
        map.entry("template").or_insert_with(|| {
            json!({"metadata": {"labels": {"a": "b"}}, "spec": {"volumes": [
            {"name": "data", "emptyDir": {}}, {"name": "other", "emptyDir": {}}]}})
        });
        map.entry("serviceName").or_insert_with(|| "s".into());
        map.entry("updateStrategy")
            .or_insert_with(|| json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}));
        Self {
            set: json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": spec,
                "metadata": {"name": "w", "namespace": "n", "uid": "u", "generation": 1}}),
            pods: Vec::new(),
            made: 0,
        }
    }

    fn step(&mut self, update: &str) -> Plan {
        let current = self.set["status"]["currentRevision"]
            .as_str()
            .unwrap_or(update)
            .to_owned();
        let revisions = Revisions {
            current,
            current_template: self.set["spec"]["template"].clone(),
            update: update.to_owned(),
        };
        let plan = decide(&self.set, &self.pods, &revisions, Timestamp::UNIX_EPOCH);
        self.pods
            .retain(|pod| !plan.delete.iter().any(|gone| gone.name() == pod.name()));
        for pod in &plan.create {
            self.made += 1;
            let mut pod = pod.clone();
            pod.metadata_mut()
                .insert("uid".into(), self.made.to_string().into());
            pod["status"] = json!({"phase": "Pending"});
            self.pods.push(pod);
        }
        self.set["status"] = plan.status.clone();
        plan
    }

    fn run(&mut self) {
        for pod in &mut self.pods {
            pod["status"] = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        }
    }

    fn settle(&mut self, update: &str) {
        for _ in 0..20 {
            self.step(update);
            self.run();
        }
    }

    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.pods.iter().map(crate::object::Object::name).collect();
        names.sort_unstable();
        names
    }

    fn revisions(&self) -> Vec<&str> {
        let mut pods: Vec<&Value> = self.pods.iter().collect();
        pods.sort_by_key(|pod| pod.name().to_owned());
        pods.into_iter().map(revision).collect()
    }
}

#[test]
fn pods_are_made_one_after_the_other() {
    let mut world =
        World::new(json!({"replicas": 2, "volumeClaimTemplates": [{"metadata": {"name": "data"}}]}));
    world.step("r1");
    assert_eq!(world.names(), ["w-0"]);
    world.step("r1");
    assert_eq!(world.names(), ["w-0"], "the first isn't ready yet");
    world.run();
    world.step("r1");
    assert_eq!(world.names(), ["w-0", "w-1"]);
    let pod = &world.pods[1];
    assert_eq!(pod["spec"]["hostname"], "w-1");
    assert_eq!(pod["spec"]["subdomain"], "s");
    assert_eq!(
        pod["metadata"]["labels"],
        json!({"a": "b", REVISION: "r1", POD_NAME: "w-1", POD_INDEX: "1"})
    );
    assert_eq!(
        pod["spec"]["volumes"],
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": "data-w-1"}}, {"name": "other", "emptyDir": {}}])
    );
    world.settle("r1");
    assert_eq!(
        world.set["status"],
        json!({"replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "currentReplicas": 2, "updatedReplicas": 2,
            "currentRevision": "r1", "updateRevision": "r1", "observedGeneration": 1})
    );
}

#[test]
fn pods_are_made_at_once_where_that_is_asked() {
    let mut world =
        World::new(json!({"replicas": 3, "podManagementPolicy": "Parallel", "ordinals": {"start": 5}}));
    world.step("r1");
    assert_eq!(world.names(), ["w-5", "w-6", "w-7"]);
}

#[test]
fn the_highest_numbers_go_first() {
    let mut world = World::new(json!({"replicas": 3}));
    world.settle("r1");
    world.set["spec"]["replicas"] = 1.into();
    world.step("r1");
    assert_eq!(world.names(), ["w-0", "w-1"]);
    world.step("r1");
    assert_eq!(world.names(), ["w-0"]);
}

#[test]
fn an_update_goes_from_the_highest_number_to_the_partition() {
    let mut world = World::new(json!({"replicas": 3}));
    world.settle("r1");
    world.set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = 1.into();
    world.step("r2");
    assert_eq!(world.names(), ["w-0", "w-1"]);
    assert_eq!(world.set["status"]["currentReplicas"], 2);
    world.settle("r2");
    assert_eq!(world.revisions(), ["r1", "r2", "r2"]);
    assert_eq!(world.set["status"]["currentRevision"], "r1");
    assert_eq!(world.set["status"]["updatedReplicas"], 2);
    world.pods.retain(|pod| pod.name() != "w-0");
    world.settle("r2");
    assert_eq!(
        world.revisions(),
        ["r1", "r2", "r2"],
        "below the partition the old template stays"
    );
    world.set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = 0.into();
    world.settle("r2");
    assert_eq!(world.revisions(), ["r2", "r2", "r2"]);
    assert_eq!(world.set["status"]["currentRevision"], "r2");
    assert_eq!(world.set["status"]["currentReplicas"], 3);
}

#[test]
fn on_delete_waits_for_someone_to_delete() {
    let mut world = World::new(json!({"replicas": 2, "updateStrategy": {"type": "OnDelete"}}));
    world.settle("r1");
    world.settle("r2");
    assert_eq!(world.revisions(), ["r1", "r1"]);
    world.pods.retain(|pod| pod.name() != "w-0");
    world.settle("r2");
    assert_eq!(world.revisions(), ["r2", "r1"]);
}

#[test]
fn a_failed_pod_is_made_anew() {
    let mut world = World::new(json!({"replicas": 1}));
    world.settle("r1");
    world.pods[0]["status"] = json!({"phase": "Failed"});
    assert_eq!(world.step("r1").delete.len(), 1);
    world.settle("r1");
    assert_eq!(world.pods[0].uid(), "2");
}
