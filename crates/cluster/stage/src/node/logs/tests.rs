use super::*;

fn wanted(query: &str) -> Result<Wanted, String> {
    let now = Timestamp::from_second(1000).expect("a time");
    Wanted::read(&Query::read(Some(query)), "p", now).map_err(|status| status.message)
}

#[test]
fn a_query_is_read_or_refused_as_the_real_server_does() {
    let since = |second| Some(Timestamp::from_second(second).expect("a time"));
    for (query, expected) in [
        ("", Ok(Wanted::default())),
        (
            "tailLines=3&limitBytes=9",
            Ok(Wanted {
                tail: Some(3),
                limit: Some(9),
                ..Wanted::default()
            }),
        ),
        (
            "sinceSeconds=10",
            Ok(Wanted {
                since: since(990),
                ..Wanted::default()
            }),
        ),
        (
            "sinceTime=1970-01-01T00:00:05Z",
            Ok(Wanted {
                since: since(5),
                ..Wanted::default()
            }),
        ),
        (
            "follow=true&previous=1&timestamps=yes&container=c",
            Ok(Wanted {
                follow: true,
                previous: true,
                timestamps: true,
                container: "c".to_owned(),
                ..Wanted::default()
            }),
        ),
        (
            "tailLines=abc",
            Err("strconv.ParseInt: parsing \"abc\": invalid syntax"),
        ),
        (
            "tailLines=-1",
            Err(
                "PodLogOptions \"p\" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0",
            ),
        ),
        (
            "limitBytes=0",
            Err("PodLogOptions \"p\" is invalid: limitBytes: Invalid value: 0: must be greater than 0"),
        ),
        (
            "sinceSeconds=0",
            Err("PodLogOptions \"p\" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0"),
        ),
        (
            "sinceSeconds=3&sinceTime=2020-01-01T00:00:00Z",
            Err("PodLogOptions \"p\" is invalid: []: Forbidden: at most \
            one of `sinceTime` or `sinceSeconds` may be specified"),
        ),
        (
            "sinceTime=foo",
            Err("parsing time \"foo\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"foo\" as \"2006\""),
        ),
        (
            "stream=Stdout",
            Err("PodLogOptions \"p\" is invalid: stream: Forbidden: may not be specified"),
        ),
    ] {
        assert_eq!(wanted(query), expected.map_err(str::to_owned), "{query}");
    }
}

#[test]
fn the_container_is_named_or_the_only_one() {
    let one = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}]}});
    let two = json!({"metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c"}, {"name": "d"}], "initContainers": [{"name": "i"}]}});
    for (pod, named, expected) in [
        (&one, "", Ok("c")),
        (&one, "i", Ok("i")),
        (&one, "x", Err("container x is not valid for pod p")),
        (
            &two,
            "",
            Err("a container name must be specified for pod p, choose one of: [i c d]"),
        ),
        (&two, "d", Ok("d")),
    ] {
        assert_eq!(
            container_of(pod, named).map_err(|status| status.message),
            expected.map_err(str::to_owned)
        );
    }
}

#[test]
fn a_log_is_that_of_the_run_or_the_kubelet_says_why_there_is_none() {
    let pod = |state: Value, last: Value| {
        json!({"metadata": {"name": "p"}, "status": {"containerStatuses": [
        {"name": "c", "containerID": "x://2", "state": state, "lastState": last}]}})
    };
    let running = json!({"running": {}});
    let ended = json!({"terminated": {"containerID": "x://1"}});
    let waiting = |reason: &str| json!({"waiting": {"reason": reason}});
    for (pod, previous, expected) in [
        (pod(running.clone(), json!({})), false, Ok("x://2")),
        (
            pod(running.clone(), json!({})),
            true,
            Err("previous terminated container \"c\" in pod \"p\" not found"),
        ),
        (pod(running, ended.clone()), true, Ok("x://1")),
        (pod(ended.clone(), json!({})), false, Ok("x://1")),
        (pod(waiting("CrashLoopBackOff"), ended), false, Ok("x://1")),
        (
            pod(waiting("ContainerCreating"), json!({})),
            false,
            Err("container \"c\" in pod \"p\" is waiting to start: ContainerCreating"),
        ),
        (
            pod(waiting("ImagePullBackOff"), json!({})),
            false,
            Err("container \"c\" in pod \"p\" is waiting to start: trying and failing to pull image"),
        ),
        (
            json!({"metadata": {"name": "p"}}),
            false,
            Err("container \"c\" in pod \"p\" is not available"),
        ),
    ] {
        let found = run_of(&pod, "c", previous).map_err(|status| status.message);
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{pod}");
    }
}

#[test]
fn lines_are_chosen_by_time_from_the_end_and_by_size() {
    let lines = || {
        (0..4).map(|second| {
            (
                Timestamp::from_second(second).expect("a time"),
                ["a", "b", "c", "d"][usize::try_from(second).expect("small")],
            )
        })
    };
    let text = |wanted: Wanted| String::from_utf8(select(lines(), &wanted)).expect("text");
    assert_eq!(text(Wanted::default()), "a\nb\nc\nd\n");
    assert_eq!(
        text(Wanted {
            tail: Some(2),
            ..Wanted::default()
        }),
        "c\nd\n"
    );
    assert_eq!(
        text(Wanted {
            tail: Some(0),
            ..Wanted::default()
        }),
        ""
    );
    assert_eq!(
        text(Wanted {
            limit: Some(3),
            ..Wanted::default()
        }),
        "a\nb"
    );
    let since = Timestamp::from_second(3).ok();
    assert_eq!(
        text(Wanted {
            since,
            timestamps: true,
            ..Wanted::default()
        }),
        "1970-01-01T00:00:03.000000000Z d\n"
    );
}
