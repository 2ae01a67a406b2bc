//! Jobs step by step, with Pods that do at once what a test tells them.

use super::super::indexes::INDEX;
use super::*;

struct World {
    job: Value,
    pods: Vec<Value>,
    record: Record,
    seconds: i64,
    made: usize,
    notes: Vec<String>,
}

impl World {
    fn new(mut spec: Value) -> Self {
        let map = map_of(&mut spec);
        map.entry("backoffLimit").or_insert_with(|| 6.into());
        map.entry("parallelism").or_insert_with(|| 1.into());
        map.entry("template").or_insert_with(|| {
            json!({"metadata": {"labels": {"a": "b"}},
                "spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}})
        });
        Self {
            job: json!({"apiVersion": "batch/v1", "kind": "Job", "spec": spec,
                "metadata": {"name": "j", "namespace": "n", "uid": "u"}}),
            pods: Vec::new(),
            record: Record::default(),
            seconds: 0,
            made: 0,
            notes: Vec::new(),
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + self.seconds).expect("a time")
    }

    fn step(&mut self) -> Next {
        self.seconds += 1;
        assert!(!is_finished(&self.job), "a finished Job isn't looked at");
        let plan = decide(&self.job, &self.pods, self.record, self.now());
        // Nothing runs the Pods here: what is deleted is gone at once.
        self.pods
            .retain(|pod| !plan.delete.iter().any(|(gone, _)| gone.uid() == pod.uid()));
        for mut pod in plan.create {
            self.made += 1;
            let name = format!("pod-{}", self.made);
            pod.metadata_mut().insert("uid".into(), name.clone().into());
            pod.metadata_mut().insert("name".into(), name.into());
            pod["status"] = json!({"phase": "Running"});
            self.pods.push(pod);
        }
        for released in &plan.release {
            for pod in self.pods.iter_mut().filter(|pod| pod.uid() == released.uid()) {
                pod.metadata_mut().remove("finalizers");
            }
        }
        self.notes.extend(
            plan.notes
                .iter()
                .chain(&plan.finished_notes)
                .map(|note| format!("{} {}", note.reason, note.message)),
        );
        self.record = plan.record;
        self.job = plan.counted;
        plan.next
    }

    fn end(&mut self, phase: &str, code: i64) {
        let finished = timestamp(self.now());
        for pod in self.pods.iter_mut().filter(|pod| pods::is_active(pod)) {
            pod["status"] = json!({"phase": phase, "containerStatuses": [
                {"name": "c", "state": {"terminated": {"exitCode": code, "finishedAt": finished}}}]});
        }
    }

    fn active(&self) -> usize {
        self.pods.iter().filter(|pod| pods::is_active(pod)).count()
    }

    fn conditions(&self) -> Vec<String> {
        let all = self.job["status"]["conditions"].as_array();
        all.into_iter()
            .flatten()
            .map(|one| {
                let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
                format!("{}={} {}", text("type"), text("status"), text("reason"))
            })
            .collect()
    }
}

#[test]
fn a_job_runs_until_enough_pods_succeeded() {
    let mut world = World::new(json!({"completions": 3, "parallelism": 2}));
    world.step();
    assert_eq!(world.active(), 2);
    assert_eq!(world.job["status"]["active"], 2);
    assert!(world.pods.iter().all(is_tracked));
    world.end("Succeeded", 0);
    world.step();
    assert_eq!(world.active(), 1);
    assert_eq!(world.job["status"]["succeeded"], 2);
    world.end("Succeeded", 0);
    world.step();
    assert_eq!(
        world.conditions(),
        [
            "SuccessCriteriaMet=True CompletionsReached",
            "Complete=True CompletionsReached"
        ]
    );
    assert_eq!(world.job["status"]["succeeded"], 3);
    assert!(world.job["status"].get("active").is_none());
    assert_eq!(world.job["status"]["ready"], 0);
    assert_eq!(world.job["status"]["uncountedTerminatedPods"], json!({}));
    assert!(world.job["status"]["completionTime"].is_string());
    assert_eq!(world.notes, ["Completed Job completed"]);
    assert!(!world.pods.iter().any(is_tracked));
}

#[test]
fn a_job_gives_up_after_its_limit_and_waits_longer_each_time() {
    let mut world = World::new(json!({"completions": 1, "backoffLimit": 1}));
    world.step();
    world.end("Failed", 1);
    let next = world.step();
    assert_eq!(next, Next::After(Duration::from_secs(9)));
    assert_eq!(world.active(), 0);
    world.seconds += 10;
    world.step();
    assert_eq!(world.active(), 1);
    world.end("Failed", 1);
    world.step();
    assert_eq!(world.job["status"]["failed"], 2);
    assert_eq!(
        world.conditions(),
        [
            "FailureTarget=True BackoffLimitExceeded",
            "Failed=True BackoffLimitExceeded"
        ]
    );
    assert_eq!(
        world.notes,
        ["BackoffLimitExceeded Job has reached the specified backoff limit"]
    );
}

#[test]
fn a_job_is_finished_when_the_last_of_its_pods_is_gone() {
    let mut world = World::new(json!({"completions": 1, "activeDeadlineSeconds": 5}));
    assert_eq!(world.step(), Next::After(Duration::from_secs(5)));
    world.seconds += 10;
    world.step();
    assert_eq!(world.conditions(), ["FailureTarget=True DeadlineExceeded"]);
    assert_eq!(world.job["status"]["terminating"], 1);
    world.step();
    assert_eq!(
        world.conditions(),
        [
            "FailureTarget=True DeadlineExceeded",
            "Failed=True DeadlineExceeded"
        ]
    );
    assert_eq!(world.job["status"]["failed"], 1);
}

#[test]
fn a_suspended_job_has_no_pods_and_goes_on_later() {
    let mut world = World::new(json!({"completions": 1, "suspend": true}));
    world.step();
    assert_eq!(world.conditions(), ["Suspended=True JobSuspended"]);
    assert!(world.job["status"].get("startTime").is_none());
    world.job["spec"]["suspend"] = false.into();
    world.step();
    assert_eq!(world.conditions(), ["Suspended=False JobResumed"]);
    assert_eq!(world.active(), 1);
    world.job["spec"]["suspend"] = true.into();
    world.step();
    assert_eq!(world.active(), 0);
    assert_eq!(world.conditions(), ["Suspended=True JobSuspended"]);
    assert_eq!(
        world.notes,
        [
            "Suspended Job suspended",
            "Resumed Job resumed",
            "Suspended Job suspended"
        ]
    );
}

#[test]
fn every_index_succeeds_once() {
    let mut world = World::new(json!({"completions": 3, "parallelism": 2, "completionMode": "Indexed"}));
    world.step();
    let pod = &world.pods[1];
    assert_eq!(index_of(pod), Some(1));
    assert_eq!(pod.label(INDEX), Some("1"));
    assert_eq!(pod["spec"]["hostname"], "j-1");
    assert_eq!(pod.metadata_text("generateName"), "j-1-");
    assert_eq!(
        pod["spec"]["containers"][0]["env"][0]["name"],
        "JOB_COMPLETION_INDEX"
    );
    world.end("Succeeded", 0);
    world.step();
    assert_eq!(world.job["status"]["completedIndexes"], "0,1");
    world.end("Succeeded", 0);
    world.step();
    assert_eq!(world.job["status"]["completedIndexes"], "0-2");
    assert_eq!(world.job["status"]["succeeded"], 3);
    assert_eq!(world.conditions().len(), 2);
}

#[test]
fn an_index_that_fails_too_often_fails_alone() {
    let mut world = World::new(
        json!({"completions": 2, "parallelism": 2, "completionMode": "Indexed",
        "backoffLimitPerIndex": 1, "backoffLimit": i32::MAX}),
    );
    world.step();
    world.pods[0]["status"] = json!({"phase": "Succeeded"});
    world.end("Failed", 1);
    world.step();
    assert_eq!(world.active(), 0);
    assert!(is_tracked(&world.pods[1]), "it knows how often its index failed");
    world.seconds += 20;
    world.step();
    assert_eq!(world.active(), 1);
    assert_eq!(world.pods[2].annotation(INDEX_FAILURES), Some("1"));
    world.end("Failed", 1);
    world.step();
    assert_eq!(world.job["status"]["failedIndexes"], "1");
    assert_eq!(world.conditions()[1], "Failed=True FailedIndexes");
}

#[test]
fn a_failure_policy_ends_the_job_at_once() {
    let mut world = World::new(json!({"completions": 1, "podFailurePolicy": {"rules": [
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]}}));
    world.step();
    world.end("Failed", 42);
    world.step();
    assert_eq!(
        world.conditions(),
        [
            "FailureTarget=True PodFailurePolicy",
            "Failed=True PodFailurePolicy"
        ]
    );
}

#[test]
fn a_job_with_fewer_parallel_pods_removes_some() {
    let mut world = World::new(json!({"completions": 5, "parallelism": 3}));
    world.step();
    world.job["spec"]["parallelism"] = 1.into();
    world.step();
    assert_eq!(world.active(), 1);
    assert_eq!(world.job["status"]["active"], 1);
    assert!(world.job["status"].get("failed").is_none());
}
