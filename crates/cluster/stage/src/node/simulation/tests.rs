use serde_json::json;

use super::*;
use crate::node::pod_status;

#[expect(clippy::needless_pass_by_value, reason = "`json!` makes values")]
fn pod(annotations: Value) -> Value {
    json!({
        "metadata": {"name": "p", "namespace": "n", "uid": "u", "annotations": annotations, "generation": 1},
        "spec": {"restartPolicy": "Always", "containers": [{"name": "c", "image": "i"}]},
    })
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

/// Makes the pod what its annotations say, at a moment.
fn play(pod: &mut Value, again: bool, second: i64) {
    let observed = observe(pod, &Knobs::read(pod), "10.244.0.2", again, at(second));
    pod["status"] = pod_status::write(pod, &observed, at(second));
}

fn told(pod: &Value) -> String {
    let status = &pod["status"];
    let container = &status["containerStatuses"][0];
    let state = container["state"]
        .as_object()
        .and_then(|state| state.keys().next().cloned());
    format!(
        "{} {} ready={} restarts={}",
        status["phase"].as_str().unwrap_or_default(),
        state.unwrap_or_default(),
        container["ready"],
        container["restartCount"]
    )
}

#[test]
fn annotations_say_what_becomes_of_a_pod() {
    let job = json!([{"kind": "Job", "name": "j"}]);
    for (annotation, of_job, expected) in [
        (None, false, "Running running ready=true restarts=0"),
        (None, true, "Succeeded terminated ready=false restarts=0"),
        (Some("running"), true, "Running running ready=true restarts=0"),
        (Some("run"), false, "Running running ready=true restarts=0"),
        (Some("unready"), false, "Running running ready=false restarts=0"),
        (Some("pending"), false, "Pending waiting ready=false restarts=0"),
        (
            Some("succeeded"),
            false,
            "Succeeded terminated ready=false restarts=0",
        ),
        (
            Some("succeed"),
            false,
            "Succeeded terminated ready=false restarts=0",
        ),
        (Some("failed"), false, "Failed terminated ready=false restarts=0"),
        (Some("fail"), true, "Failed terminated ready=false restarts=0"),
        (
            Some("crash-loop"),
            false,
            "Running waiting ready=false restarts=1",
        ),
        (Some("nonsense"), false, "Running running ready=true restarts=0"),
    ] {
        let mut pod = pod(annotation.map_or(Value::Null, |fate| json!({FATE: fate})));
        if of_job {
            pod["metadata"]["ownerReferences"] = job.clone();
        }
        play(&mut pod, false, 0);
        assert_eq!(told(&pod), expected, "{annotation:?} {of_job}");
    }
}

#[test]
fn a_change_of_the_annotation_changes_the_pod() {
    let mut pod = pod(json!({}));
    play(&mut pod, false, 1);
    pod["metadata"]["annotations"][FATE] = "unready".into();
    play(&mut pod, false, 2);
    assert_eq!(told(&pod), "Running running ready=false restarts=0");
    assert_eq!(
        pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"],
        "1970-01-01T00:00:01Z"
    );
    pod["metadata"]["annotations"] = json!({FATE: "failed", EXIT_CODE: "3", MESSAGE: "out of tune"});
    play(&mut pod, false, 3);
    let end = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(
        (&end["exitCode"], &end["reason"], &end["message"]),
        (&json!(3), &json!("Error"), &json!("out of tune"))
    );
    assert_eq!(
        (&end["startedAt"], &end["finishedAt"]),
        (&json!("1970-01-01T00:00:01Z"), &json!("1970-01-01T00:00:03Z"))
    );
    pod["metadata"]["annotations"] = json!({FATE: "running"});
    play(&mut pod, false, 4);
    assert_eq!(told(&pod), "Running running ready=true restarts=1");
    assert_eq!(
        pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"],
        3
    );
}

#[test]
fn a_crash_loop_counts_and_waits_longer_each_time() {
    let mut pod = pod(json!({FATE: "crash-loop"}));
    play(&mut pod, false, 0);
    play(&mut pod, false, 1);
    assert_eq!(
        told(&pod),
        "Running waiting ready=false restarts=1",
        "looking doesn't crash it again"
    );
    for second in 2..5 {
        play(&mut pod, true, second);
    }
    assert_eq!(told(&pod), "Running waiting ready=false restarts=4");
    assert_eq!(
        pod["status"]["containerStatuses"][0]["state"]["waiting"],
        json!({"reason": "CrashLoopBackOff", "message": "back-off 1m20s restarting failed container=c pod=p_n(u)"})
    );
    assert_eq!(back_off(50), LONGEST_BACK_OFF);
    pod["spec"]["restartPolicy"] = "Never".into();
    play(&mut pod, false, 9);
    assert_eq!(pod["status"]["phase"], "Failed");
}

#[test]
fn init_containers_are_done_and_those_that_stay_run() {
    let mut pod = pod(json!({}));
    pod["spec"]["initContainers"] =
        json!([{"name": "once", "image": "i"}, {"name": "stays", "image": "i", "restartPolicy": "Always"}]);
    play(&mut pod, false, 0);
    let statuses = &pod["status"]["initContainerStatuses"];
    assert_eq!(statuses[0]["state"]["terminated"]["reason"], "Completed");
    assert_eq!(
        (&statuses[0]["ready"], &statuses[1]["ready"]),
        (&json!(true), &json!(true))
    );
    assert!(statuses[1]["state"]["running"].is_object());
    let conditions = pod["status"]["conditions"].as_array().expect("conditions");
    assert!(
        conditions.iter().all(|one| one["status"] == "True"),
        "{conditions:?}"
    );
    let before = pod["status"].clone();
    play(&mut pod, false, 5);
    assert_eq!(pod["status"], before, "another look changes nothing");
}

#[test]
fn durations_are_read_as_go_writes_them() {
    for (text, expected) in [
        ("2s", Some(2000)),
        ("500ms", Some(500)),
        ("1m30s", Some(90_000)),
        ("1.5s", Some(1500)),
        ("", None),
        ("5", None),
        ("s", None),
        ("2d", None),
        ("99999999999999h", Some(24 * 3600 * 1000)),
    ] {
        assert_eq!(read_duration(text), expected.map(Duration::from_millis), "{text}");
    }
}

#[test]
fn logs_are_the_annotations_text_or_say_that_nothing_runs() {
    assert_eq!(logs(&pod(json!({LOGS: "a\nb"})), "c"), "a\nb\n");
    assert!(logs(&pod(json!({})), "c").contains("is simulated: nothing runs in container \"c\""));
}
