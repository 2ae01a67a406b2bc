use super::*;

fn pod(policy: &str) -> Value {
    json!({
        "metadata": {"name": "p", "generation": 1},
        "spec": {"restartPolicy": policy, "initContainers": [{"name": "i", "image": "x"}],
            "containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}]},
    })
}

fn ended(exit_code: i32) -> Ended {
    Ended {
        exit_code,
        reason: Ended::reason_of(exit_code).to_owned(),
        message: String::new(),
        started_at: Timestamp::UNIX_EPOCH,
        finished_at: Timestamp::UNIX_EPOCH,
        container_id: "baton://1".to_owned(),
    }
}

fn container(name: &str, state: State) -> Container {
    Container {
        ready: matches!(state, State::Running { .. }),
        started: matches!(state, State::Running { .. }),
        state,
        ..Container::new(&json!({"name": name, "image": "x"}), "")
    }
}

fn running() -> State {
    State::Running {
        started_at: Timestamp::UNIX_EPOCH,
    }
}

fn seen(init: State, a: State, b: State) -> Observed {
    Observed {
        init: vec![container("i", init)],
        containers: vec![container("a", a), container("b", b)],
        address: "10.244.0.2".to_owned(),
        ..Observed::default()
    }
}

#[test]
fn the_phase_follows_from_the_containers_and_the_restart_policy() {
    let done = || State::Terminated(ended(0));
    let failed = || State::Terminated(ended(1));
    let waiting = || State::waiting("ContainerCreating", "");
    for (policy, observed, expected) in [
        ("Always", seen(waiting(), waiting(), waiting()), "Pending"),
        ("Always", seen(running(), waiting(), waiting()), "Pending"),
        ("Never", seen(failed(), waiting(), waiting()), "Failed"),
        ("Always", seen(failed(), waiting(), waiting()), "Pending"),
        ("Always", seen(done(), waiting(), running()), "Pending"),
        ("Always", seen(done(), running(), running()), "Running"),
        ("Always", seen(done(), done(), done()), "Running"),
        ("OnFailure", seen(done(), done(), done()), "Succeeded"),
        ("OnFailure", seen(done(), done(), failed()), "Running"),
        ("Never", seen(done(), done(), failed()), "Failed"),
        ("Never", seen(done(), running(), failed()), "Running"),
    ] {
        assert_eq!(phase(&pod(policy), &observed), expected, "{policy} {observed:?}");
    }
}

#[test]
fn a_container_that_waits_to_be_started_again_doesnt_make_the_pod_pending() {
    let mut observed = seen(
        State::Terminated(ended(0)),
        running(),
        State::waiting("CrashLoopBackOff", ""),
    );
    observed.containers[1].last = Some(ended(1));
    assert_eq!(phase(&pod("Always"), &observed), "Running");
    observed.containers[0] = observed.containers[1].clone();
    assert_eq!(phase(&pod("Always"), &observed), "Running");
}

#[test]
fn conditions_have_upstreams_order_reasons_and_texts() {
    let status = write(
        &pod("Always"),
        &seen(running(), State::waiting("PodInitializing", ""), running()),
        Timestamp::UNIX_EPOCH,
    );
    let told: Vec<String> = items(&status["conditions"])
        .map(|one| {
            let text = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
            format!(
                "{} {} {} {}",
                text("type"),
                text("status"),
                text("reason"),
                text("message")
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "PodReadyToStartContainers True  ",
            "Initialized False ContainersNotInitialized containers with incomplete status: [i]",
            "Ready False ContainersNotReady containers with unready status: [a]",
            "ContainersReady False ContainersNotReady containers with unready status: [a]",
            "PodScheduled True  ",
        ]
    );
}

#[test]
fn a_condition_keeps_its_time_until_it_changes_and_those_of_others_stay() {
    let mut pod = pod("Always");
    let all = || seen(State::Terminated(ended(0)), running(), running());
    pod["status"] = write(&pod, &all(), Timestamp::UNIX_EPOCH);
    let gate = json!({"type": "example.com/gate", "status": "False"});
    pod["status"]["conditions"]
        .as_array_mut()
        .expect("conditions")
        .insert(0, gate.clone());
    pod["spec"]["readinessGates"] = json!([{"conditionType": "example.com/gate"}]);
    let later = Timestamp::from_second(60).expect("a time");
    let status = write(&pod, &all(), later);
    assert_eq!(status["conditions"][0], gate);
    assert_eq!(
        status["conditions"][2]["lastTransitionTime"],
        "1970-01-01T00:00:00Z"
    );
    assert_eq!(status["conditions"][3]["type"], "Ready");
    assert_eq!(
        status["conditions"][3]["lastTransitionTime"],
        "1970-01-01T00:01:00Z"
    );
    assert_eq!(
        status["conditions"][3]["message"],
        "the status of pod readiness gate \"example.com/gate\" is not \"True\", but False"
    );
}

#[test]
fn what_was_written_is_read_back() {
    let mut observed = seen(
        State::Terminated(ended(0)),
        running(),
        State::waiting("CrashLoopBackOff", "back-off"),
    );
    observed.containers[1].last = Some(ended(3));
    observed.containers[1].restarts = 4;
    let pod = pod("Always");
    let status = write(&pod, &observed, Timestamp::UNIX_EPOCH);
    let read: Vec<_> = items(&pod["spec"]["containers"])
        .filter_map(|spec| Container::read(spec, &status["containerStatuses"]))
        .collect();
    assert_eq!(read, observed.containers);
}
