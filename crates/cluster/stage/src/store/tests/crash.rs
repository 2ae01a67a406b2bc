//! A process that writes is killed at any moment.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::{key, pods, put};
use crate::store::{Expect, Options, Store};

/// How often the writer is killed.
const ROUNDS: usize = 20;
/// How many objects the writer would write if it were let.
const OBJECTS: usize = 5000;
/// How many of them it writes at the same time.
const CONCURRENT: usize = 32;
/// Where the writer finds its directory; without it, the test that is the writer does nothing.
const DIRECTORY: &str = "STORE_CRASH_DIRECTORY";

fn options() -> Options {
    // So small that compactions happen in the middle of it.
    Options {
        history_entries: 600,
        compaction_step: 64,
        ..Options::default()
    }
}

/// Not a test by itself: the process that is killed. It says what was acknowledged, and to which revision.
#[test]
fn the_writer_that_is_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::open(Path::new(&directory), options()).await.unwrap();
        println!("\nopened {}", store.revision());
        let tasks: Vec<_> = (0..CONCURRENT)
            .map(|task| {
                let store = store.clone();
                tokio::spawn(async move {
                    for number in (task..OBJECTS).step_by(CONCURRENT) {
                        let name = number.to_string();
                        let pad = "x".repeat(number % 700);
                        let is_there = store.get(&key("n", &name)).is_some();
                        let expect = if is_there { Expect::Present } else { Expect::Absent };
                        let value = json!({"number": number, "pad": pad});
                        let object = store.write(put(key("n", &name), expect, value)).await;
                        let twin = json!({"number": number});
                        let pair = ["left", "right"].map(|side| {
                            let key = key(side, &name);
                            let expect = if store.get(&key).is_some() {
                                Expect::Present
                            } else {
                                Expect::Absent
                            };
                            put(key, expect, twin.clone())
                        });
                        if number % 10 == 0 {
                            store.write_all(pair.into()).await.unwrap();
                        }
                        let line = format!("wrote {number} {}\n", object.unwrap().revision);
                        std::io::stdout().write_all(line.as_bytes()).unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
}

/// Runs the writer and kills it after `lines` acknowledgements; returns what it said.
fn run_and_kill(directory: &Path, lines: usize, pause: Duration) -> Vec<String> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "store::tests::crash::the_writer_that_is_killed",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut said = Vec::new();
    let mut line = String::new();
    while said.len() < lines && output.read_line(&mut line).unwrap() > 0 {
        said.push(std::mem::take(&mut line));
    }
    std::thread::sleep(pause);
    child.kill().unwrap();
    // What it had said by then counts as well; the last line may be cut.
    for line in output.lines() {
        said.push(line.unwrap() + "\n");
    }
    child.wait().unwrap();
    said
}

#[test]
fn everything_that_was_acknowledged_is_there_after_a_kill() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let random = RandomState::new();
    let mut acknowledged: BTreeMap<usize, u64> = BTreeMap::new();
    let mut last_revision = 0;
    for round in 0..ROUNDS {
        let moment = random.hash_one(round);
        let lines = 1 + (moment % 1500) as usize;
        let pause = Duration::from_micros((moment >> 32) % 3000);
        for line in run_and_kill(directory.path(), lines, pause) {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words.as_slice() {
                ["opened", revision] => {
                    let revision: u64 = revision.parse().unwrap();
                    assert!(revision >= last_revision, "the revision went back to {revision}");
                }
                ["wrote", number, revision] if line.ends_with('\n') => {
                    let revision = revision.parse().unwrap();
                    acknowledged.insert(number.parse().unwrap(), revision);
                    last_revision = last_revision.max(revision);
                }
                _ => {}
            }
        }
        runtime.block_on(async {
            let store = Store::open(directory.path(), options()).await.unwrap();
            assert!(
                store.repair_report().dropped.is_empty(),
                "{}",
                store.repair_report()
            );
            assert!(store.revision() >= last_revision);
            last_revision = store.revision();
            for (number, revision) in &acknowledged {
                let object = store
                    .get(&key("n", &number.to_string()))
                    .expect("it was acknowledged");
                assert!(
                    object.revision >= *revision,
                    "object {number} is older than it was"
                );
            }
            for object in store.list(&pods(), None, None, None, None).unwrap().items {
                let value = object.value();
                let number = value["number"].as_u64().unwrap() as usize;
                assert_eq!(*object.key.name, number.to_string());
                match &*object.key.namespace {
                    "n" => assert_eq!(value["pad"].as_str().unwrap().len(), number % 700),
                    "left" | "right" => {
                        let sides = ["left", "right"].map(|side| store.get(&key(side, &number.to_string())));
                        let revisions = sides.map(|side| side.expect("both or none").revision);
                        assert_eq!(revisions[0] + 1, revisions[1], "half of a pair was written");
                    }
                    other => panic!("nobody writes to {other}"),
                }
            }
            store.close().await;
        });
    }
    assert!(
        acknowledged.len() > 100,
        "the writer hardly wrote anything: {}",
        acknowledged.len()
    );
}
