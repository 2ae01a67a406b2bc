//! Watchers who don't read: nobody waits for them, and they cost little.

use std::time::Duration;

use serde_json::{Value, json};

use crate::running::{Events, Running, answer, client, kubeconfig};
use crate::world::World;

/// How many watchers read nothing.
const SLOW: usize = 20;

/// How large the object is that they would see.
const SIZE: usize = 900 << 10;

/// How often it is written: more than the events that are kept for watchers.
const WRITES: usize = 80;

/// What the server may use in all of this, in kibibytes. If each of the watchers had a copy of what it doesn't read,
/// it would be several times as much.
const MOST_KIBIBYTES: u64 = 500 << 10;

/// How long anything may take at all.
const PATIENCE: Duration = Duration::from_secs(100);

/// Returns the most memory that a process ever had, in kibibytes.
fn most_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .expect("its memory");
    let number = line
        .split_whitespace()
        .nth(1)
        .and_then(|number| number.parse().ok());
    number.expect("a number")
}

fn content(number: usize) -> Value {
    // Different in each version, so that compressing it away is no way out.
    json!({"number": number.to_string(), "text": number.to_string().repeat(SIZE / number.to_string().len())})
}

#[test]
fn watchers_who_read_nothing_are_dropped_while_everybody_else_goes_on() {
    let world = World::new();
    let running = Running::start(&world, &[]);
    let client = client(&kubeconfig(&world, "baton.kubeconfig"), true);
    let all = format!("{}/api/v1/namespaces/default/configmaps", running.url);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let work = async {
        let post = client.post(&all).header("Content-Type", "application/json");
        let body = json!({"metadata": {"name": "large"}, "data": content(1000)});
        let (code, first) = answer(post.body(body.to_string())).await.expect("an answer");
        assert_eq!(code, 201, "{first}");
        let version = first["metadata"]["resourceVersion"].as_str().expect("a version");
        let watch = format!("{all}?watch=true&resourceVersion={version}");
        let mut slow = Vec::new();
        for _ in 0..SLOW {
            slow.push(Events::start(client.get(&watch)).await.expect("a watch"));
        }
        let mut quick = Events::start(client.get(&watch)).await.expect("a watch");
        for number in 1001..=1000 + WRITES {
            let patch = client
                .patch(format!("{all}/large"))
                .header("Content-Type", "application/merge-patch+json")
                .body(json!({"data": content(number)}).to_string());
            let (code, changed) = answer(patch).await.expect("an answer");
            assert_eq!(code, 200, "{changed}");
            let event = quick.next().await.expect("an event");
            assert_eq!(event["object"]["data"]["number"], number.to_string());
        }
        let memory = most_memory(running.id());
        assert!(memory < MOST_KIBIBYTES, "{memory} KiB");
        for mut events in slow {
            // What was on its way, and then the end: the rest is gone, and the watcher has to list again.
            let mut expected = 1001;
            let last = loop {
                let event = events.next().await.expect("an event that tells of the end");
                if event["type"] != "MODIFIED" {
                    break event;
                }
                assert_eq!(event["object"]["data"]["number"], expected.to_string());
                expected += 1;
            };
            assert_eq!(
                (&last["type"], &last["object"]["code"]),
                (&"ERROR".into(), &410.into())
            );
            assert_eq!(last["object"]["reason"], "Expired");
            assert!(expected < 1000 + WRITES, "the watcher wasn't slow");
            assert_eq!(events.next().await, None);
        }
        println!("{memory} KiB");
    };
    runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.expect("nobody waits") });
    assert_eq!(running.stop(), Some(0));
}

#[test]
fn a_thousand_watchers_of_one_client_are_served() {
    let world = World::new();
    let running = Running::start(&world, &[]);
    let client = client(&kubeconfig(&world, "baton.kubeconfig"), true);
    let all = format!("{}/api/v1/namespaces/default/configmaps", running.url);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let work = async {
        let watch = format!("{all}?watch=true&fieldSelector=metadata.name%3Dseen");
        let starting = (0..1000).map(|_| tokio::spawn(Events::start(client.get(&watch))));
        let mut watchers = Vec::new();
        for watcher in starting.collect::<Vec<_>>() {
            watchers.push(watcher.await.expect("a task").expect("a watch"));
        }
        let post = client.post(&all).header("Content-Type", "application/json");
        let body = json!({"metadata": {"name": "seen"}});
        let (code, made) = answer(post.body(body.to_string())).await.expect("an answer");
        assert_eq!(code, 201, "{made}");
        for watcher in &mut watchers {
            assert_eq!(watcher.next().await.expect("an event")["object"], made);
        }
    };
    runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.expect("an end") });
}
