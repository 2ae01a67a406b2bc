use serde_json::json;

use super::super::pod_status::Container;
use super::*;

mod processes;
#[cfg(target_os = "linux")]
mod programs;

#[test]
fn a_container_is_started_again_as_its_policy_says() {
    for (policy, exit_code, expected) in [
        (Policy::Always, 0, true),
        (Policy::Always, 1, true),
        (Policy::OnFailure, 0, false),
        (Policy::OnFailure, 1, true),
        (Policy::Never, 0, false),
        (Policy::Never, 1, false),
    ] {
        assert_eq!(policy.restarts(exit_code), expected, "{policy:?} {exit_code}");
    }
}

#[test]
fn the_first_restart_comes_at_once_and_the_others_later_and_later() {
    let seconds: Vec<u64> = (0..9)
        .map(|failures| container::back_off(failures).as_secs())
        .collect();
    assert_eq!(seconds, [0, 0, 10, 20, 40, 80, 160, 300, 300]);
}

#[test]
fn a_process_that_ran_before_the_node_was_started_again_is_gone() {
    let spec = json!({"name": "c", "image": "i"});
    let status = json!([{"name": "c", "image": "i", "containerID": "baton://u/c/0", "restartCount": 2, "ready": true,
        "started": true, "state": {"running": {"startedAt": "1970-01-01T00:00:01Z"}}}]);
    let found = taken_up(
        &spec,
        "ContainerCreating",
        Container::read(&spec, &status),
        Timestamp::UNIX_EPOCH,
    );
    let State::Terminated(ended) = &found.state else {
        panic!("it has ended: {found:?}")
    };
    assert_eq!(
        (ended.exit_code, ended.reason.as_str()),
        (137, "ContainerStatusUnknown")
    );
    assert!(!found.ready && found.restarts == 2);
    let waiting = json!([{"name": "c", "image": "i", "state": {"waiting": {"reason": "ContainerCreating"}}}]);
    let found = taken_up(
        &spec,
        "ContainerCreating",
        Container::read(&spec, &waiting),
        Timestamp::UNIX_EPOCH,
    );
    assert_eq!(found, Container::new(&spec, "ContainerCreating"));
}
