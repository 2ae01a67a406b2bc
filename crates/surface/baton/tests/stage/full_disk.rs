//! The disk is full: writes are refused in words, everything else goes on, and so do writes once there is space.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::running::{Events, Running, answer, client, kubeconfig};
use crate::world::World;

/// How much is written with each object.
const PIECE: usize = 200 << 10;

/// How many objects are written at most before the disk must be full.
const MOST_PIECES: usize = 500;

/// What fills the disk and makes space on it.
struct Disk<'a> {
    fill: &'a dyn Fn(),
    free: &'a dyn Fn(),
}

fn piece(name: &str) -> String {
    json!({"metadata": {"name": name}, "data": {"piece": "x".repeat(PIECE)}}).to_string()
}

fn refused(name: &str, (code, status): (u16, Value)) {
    assert_eq!(code, 507, "{status}");
    assert_eq!(
        (
            &status["kind"],
            &status["status"],
            &status["code"],
            &status["reason"]
        ),
        (
            &"Status".into(),
            &"Failure".into(),
            &507.into(),
            &"InsufficientStorage".into()
        )
    );
    let expected = format!(
        "cannot store configmaps \"{name}\": no space left on the device; free some space and try again"
    );
    assert_eq!(status["message"], expected.as_str());
}

async fn fills_and_recovers(server: &str, client: &reqwest::Client, disk: &Disk<'_>) -> Vec<String> {
    let all = format!("{server}/api/v1/namespaces/default/configmaps");
    let post = |name: &str| {
        let request = client.post(&all).header("Content-Type", "application/json");
        answer(request.body(piece(name)))
    };
    let (code, first) = post("first").await.expect("an answer");
    assert_eq!(code, 201, "{first}");
    let version = first["metadata"]["resourceVersion"].as_str().expect("a version");
    let watch = client.get(format!("{all}?watch=true&resourceVersion={version}"));
    let mut events = Events::start(watch).await.expect("a watch");
    (disk.fill)();
    let readiness = || answer(client.get(format!("{server}/readyz/storage")));
    assert_eq!(readiness().await.expect("an answer").0, 200);
    let mut written = vec!["first".to_owned()];
    let mut name = String::new();
    for number in 0..MOST_PIECES {
        name = format!("piece-{number}");
        let (code, answered) = post(&name).await.expect("an answer");
        if code != 201 {
            refused(&name, (code, answered));
            break;
        }
        written.push(name.clone());
        assert!(number + 1 < MOST_PIECES, "the disk is never full");
    }
    // Every kind of write is refused, as often as it is tried; reads are answered meanwhile.
    let first_url = format!("{all}/first");
    for _ in 0..3 {
        refused(&name, post(&name).await.expect("an answer"));
        assert_eq!(readiness().await.expect("an answer").0, 500);
        let patch = client
            .patch(&first_url)
            .header("Content-Type", "application/merge-patch+json")
            .body(json!({"data": {"more": "y".repeat(PIECE)}}).to_string());
        refused("first", answer(patch).await.expect("an answer"));
        let mut changed = first.clone();
        changed["data"]["more"] = "y".repeat(PIECE).into();
        let update = client.put(&first_url).header("Content-Type", "application/json");
        refused(
            "first",
            answer(update.body(changed.to_string())).await.expect("an answer"),
        );
        let (code, unchanged) = answer(client.get(&first_url)).await.expect("an answer");
        assert_eq!((code, &unchanged), (200, &first));
        let (code, list) = answer(client.get(&all)).await.expect("an answer");
        assert_eq!(code, 200);
        assert_eq!(names(&list), sorted(&written));
    }
    for expected in written.get(1..).unwrap_or_default() {
        let event = events.next().await.expect("an event");
        assert_eq!(
            (&event["type"], &event["object"]["metadata"]["name"]),
            (&"ADDED".into(), &expected.as_str().into())
        );
    }
    (disk.free)();
    // The same process takes writes at once, and nothing of what it refused.
    for name in ["after-1", "after-2"] {
        let (code, answered) = post(name).await.expect("an answer");
        assert_eq!(code, 201, "{answered}");
        written.push(name.to_owned());
        let event = events.next().await.expect("the watch goes on");
        assert_eq!(
            (&event["type"], &event["object"]["metadata"]["name"]),
            (&"ADDED".into(), &name.into())
        );
    }
    // It is ready when it takes as much as it refused last.
    let more = json!({"data": {"more": "y".repeat(PIECE)}}).to_string();
    let patch = client
        .patch(&first_url)
        .header("Content-Type", "application/merge-patch+json");
    assert_eq!(answer(patch.body(more)).await.expect("an answer").0, 200);
    assert_eq!(
        events.next().await.expect("the watch goes on")["type"],
        "MODIFIED"
    );
    assert_eq!(readiness().await.expect("an answer").0, 200);
    let (code, gone) = answer(client.delete(&first_url)).await.expect("an answer");
    assert_eq!(code, 200, "{gone}");
    assert_eq!(events.next().await.expect("the watch goes on")["type"], "DELETED");
    written.remove(0);
    written
}

fn sorted(names: &[String]) -> Vec<String> {
    let mut names = names.to_vec();
    names.sort();
    names
}

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().expect("items").iter();
    let names = items.map(|item| item["metadata"]["name"].as_str().expect("a name").to_owned());
    names.filter(|name| name != "kube-root-ca.crt").collect()
}

fn runs_and_stays(world: &World, running: Running, disk: &Disk<'_>) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let client = client(&kubeconfig(world, "baton.kubeconfig"), true);
    let written = runtime.block_on(fills_and_recovers(&running.url, &client, disk));
    let all = format!("{}/api/v1/namespaces/default/configmaps", running.url);
    let (_, list) = runtime.block_on(answer(client.get(all))).expect("an answer");
    assert_eq!(names(&list), sorted(&written));
    assert_eq!(running.stop(), Some(0));
}

const ARGUMENTS: [&str; 7] = [
    "stage",
    "--listen",
    "127.0.0.1:0",
    "--data-dir",
    "data",
    "--kubeconfig",
    "baton.kubeconfig",
];

/// A limit of the size of files is a full disk to the program, and works wherever tests run.
#[test]
fn a_file_that_may_not_grow_refuses_writes_until_it_may() {
    const LIMIT: u64 = 12 << 20;
    let world = World::new();
    let running = Running::of(world.command(&ARGUMENTS));
    let process = i32::try_from(running.id()).ok().and_then(Pid::from_raw);
    let limit = |current| {
        let maximum = None;
        prlimit(process, Resource::Fsize, Rlimit { current, maximum }).expect("a limit");
    };
    runs_and_stays(
        &world,
        running,
        &Disk {
            fill: &|| limit(Some(LIMIT)),
            free: &|| limit(None),
        },
    );
    let running = Running::of(world.command(&ARGUMENTS));
    let client = client(&kubeconfig(&world, "baton.kubeconfig"), true);
    let url = format!("{}/api/v1/namespaces/default/configmaps/after-2", running.url);
    assert_eq!(crate::running::get(&client, &url).0, 200);
}

/// A small disk of its own in the server's view of the file system. Where the system allows nobody that, only the test
/// above tells.
#[test]
fn a_disk_without_space_refuses_writes_until_there_is_some() {
    let mount = "mkdir -p data && mount -t tmpfs -o size=16m tmpfs data";
    let isolated = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", script]);
        command
    };
    let world = World::new();
    let mut trial = isolated(mount);
    let works = trial
        .current_dir(world.path(""))
        .output()
        .is_ok_and(|output| output.status.success());
    if !works {
        eprintln!("this system lets nobody mount a disk of their own");
        return;
    }
    let plain = world.command(&ARGUMENTS);
    let mut command = isolated(&format!("{mount} && exec \"$0\" \"$@\""));
    command
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(world.path(""));
    command.arg0("unshare");
    let running = Running::of(command);
    let ballast = format!("/proc/{}/cwd/data/ballast", running.id());
    let ballast = world.path("").join(ballast);
    runs_and_stays(
        &world,
        running,
        &Disk {
            fill: &|| fs::write(&ballast, vec![1; 4 << 20]).expect("a large file"),
            free: &|| fs::remove_file(&ballast).expect("the large file"),
        },
    );
}
