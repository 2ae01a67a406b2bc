//! `baton up` as a user starts, uses, loses and stops it.

#[path = "up/certificates.rs"]
mod certificates;
#[path = "up/lost_namespace.rs"]
mod lost_namespace;
#[path = "up/registry.rs"]
mod registry;
#[expect(dead_code, reason = "the tests of the stage use the rest of it")]
#[path = "stage/running.rs"]
mod running;
#[path = "up/stopping.rs"]
mod stopping;
#[expect(dead_code, reason = "the other test programs use the rest of it")]
mod world;

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use regex::Regex;
use running::{answer, client, kubeconfig};
use serde_json::{Value, json};
use world::World;

/// How long anything may take before the test gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// The data folder where nothing is said.
const FOLDER: &str = "share/baton";

/// Any free ports, so that tests don't meet.
const ANY_PORTS: [&str; 8] = [
    "--api",
    "127.0.0.1:0",
    "--registry",
    "127.0.0.1:0",
    "--catalogs",
    "127.0.0.1:0",
    "--console",
    "127.0.0.1:0",
];

/// A command of somebody who has no kubeconfig, with a home in the world.
fn command(world: &World, arguments: &[&str]) -> Command {
    let mut command = world.command(arguments);
    command
        .env("HOME", world.path("home"))
        .env("XDG_DATA_HOME", world.path("share"))
        .env_remove("KUBECONFIG")
        .env_remove("BATON_DATA_DIR")
        .env_remove("KUBERNETES_SERVICE_HOST");
    command
}

fn run(world: &World, arguments: &[&str]) -> Output {
    command(world, arguments).output().expect("the program runs")
}

/// What a user sees, with what differs from run to run replaced.
fn see(world: &World, arguments: &[&str]) -> String {
    plain(&world.describe(arguments, &run(world, arguments)))
}

fn plain(text: &str) -> String {
    [
        (r"127\.0\.0\.1:\d+", "127.0.0.1:[PORT]"),
        (r"process \d+", "process [PROCESS]"),
        (r"after \d+\.\d+ s", "after [SECONDS] s"),
        (r"since \S+Z", "since [TIME]"),
        (r"token=[\w-]+", "token=[TOKEN]"),
        (r"[^\s`]+/debug/baton ", "baton "),
    ]
    .iter()
    .fold(text.to_owned(), |text, (pattern, by)| {
        let pattern = Regex::new(pattern).expect("a pattern");
        pattern.replace_all(&text, *by).into_owned()
    })
}

/// A `baton up` that runs, which is ended at the latest when the test is over.
struct Up<'w> {
    world: &'w World,
    process: Child,
    page: String,
}

impl<'w> Up<'w> {
    fn start(world: &'w World, arguments: &[&str]) -> Self {
        let mut all = vec!["up"];
        all.extend(ANY_PORTS);
        all.extend(arguments);
        let log = File::create(world.path("up.log")).expect("a log");
        let mut process = command(world, &all)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the program runs");
        let mut lines = BufReader::new(process.stdout.take().expect("its page")).lines();
        let mut page = String::new();
        loop {
            let Some(Ok(line)) = lines.next() else {
                panic!("it ended: {page}{}", read(world, "up.log"));
            };
            page.push_str(&line);
            page.push('\n');
            if line.starts_with("Ctrl-C") {
                break;
            }
        }
        std::thread::spawn(move || lines.for_each(drop));
        Self { world, process, page }
    }

    /// What the page says of something.
    fn place(&self, name: &str) -> &str {
        self.page
            .lines()
            .find_map(|line| line.trim_start().strip_prefix(name))
            .unwrap_or_else(|| panic!("no {name} in {}", self.page))
            .trim()
    }

    fn signal(&self, signal: &str) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().expect("kill");
        assert!(sent.success());
    }

    /// Waits for the end; returns the exit code.
    fn end(mut self) -> Option<i32> {
        self.process.wait().expect("an end").code()
    }

    /// Sends a request as the administrator.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let config = kubeconfig(self.world, &format!("{FOLDER}/baton.kubeconfig"));
        let url = format!("{}{path}", self.place("API"));
        assert_eq!(config["clusters"][0]["cluster"]["server"], self.place("API"));
        let mut request = client(&config, true).request(method.parse().expect("a method"), url);
        if let Some(body) = body {
            request = request
                .header("Content-Type", "application/json")
                .body(body.to_string());
        }
        tokio::runtime::Runtime::new()
            .expect("a runtime")
            .block_on(async { answer(request).await.expect("an answer") })
    }
}

impl Drop for Up<'_> {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn read(world: &World, file: &str) -> String {
    fs::read_to_string(world.path(file)).unwrap_or_default()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "{what} in vain");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn it_shows_what_runs_where_and_goes_on_after_a_stop_and_after_a_kill() {
    let world = World::new();
    let up = Up::start(&world, &[]);
    let page = up.page.replace(&world.path("").display().to_string(), "[WORLD]/");
    insta::assert_snapshot!("page", plain(&page));
    let namespace = json!({"metadata": {"name": "kept"}});
    let (code, made) = up.ask("POST", "/api/v1/namespaces", Some(&namespace));
    assert_eq!(code, 201, "{made}");

    // Whoever has no kubeconfig talks to it, and learns where everything is.
    insta::assert_snapshot!("status", see(&world, &["status"]));
    let for_programs = run(&world, &["status", "-o", "json"]);
    assert_eq!(
        text(&for_programs.stdout),
        "[]\n",
        "{}",
        text(&for_programs.stderr)
    );
    let record = world.path(&format!("{FOLDER}/up.json"));
    let mode = fs::metadata(&record).expect("a record").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "a token is in it");

    insta::assert_snapshot!("down", see(&world, &["down"]));
    let places = up.page.clone();
    assert_eq!(up.end(), Some(0));
    assert!(!record.exists());
    insta::assert_snapshot!("down_again", see(&world, &["down"]));
    let nobody = run(&world, &["status"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(
        text(&nobody.stderr).contains("start a cluster on this machine with: baton up"),
        "{}",
        text(&nobody.stderr)
    );

    // The second start has what was stored, and the ports: images and copies of the kubeconfig name them.
    let up = Up::start(&world, &[]);
    let ports = |page: &str| -> Vec<String> {
        let lines = page.lines().filter(|line| line.starts_with("  "));
        lines.map(str::to_owned).collect()
    };
    let without_token = |page: &str| {
        ports(page)
            .into_iter()
            .filter(|line| !line.contains("token="))
            .collect::<Vec<_>>()
    };
    assert_eq!(without_token(&up.page), without_token(&places));
    let (_, again) = up.ask("GET", "/api/v1/namespaces/kept", None);
    assert_eq!(again["metadata"]["uid"], made["metadata"]["uid"]);

    assert_eq!(
        read(&world, "up.log"),
        "",
        "there is nothing to tell when all is well"
    );

    up.signal("-KILL");
    assert_eq!(up.end(), None);
    assert!(record.exists(), "a killed process clears nothing away");
    let nobody = run(&world, &["status"]);
    assert_eq!(
        nobody.status.code(),
        Some(1),
        "what is left is known to be no process"
    );
    insta::assert_snapshot!("down_after_a_kill", see(&world, &["down"]));
    assert!(!record.exists());
    let up = Up::start(&world, &[]);
    let (_, again) = up.ask("GET", "/api/v1/namespaces/kept", None);
    assert_eq!(again["metadata"]["uid"], made["metadata"]["uid"]);
    up.signal("-INT");
    assert_eq!(up.end(), Some(0), "Ctrl-C is a clean end");
    let log = read(&world, "up.log");
    assert!(
        log.contains("the store was not closed last time") && log.ends_with("stopping\n"),
        "{log}"
    );
    assert!(!record.exists());
}

#[test]
fn a_folder_is_for_one_and_the_second_says_who_has_it() {
    let world = World::new();
    let up = Up::start(&world, &["--data-dir", "elsewhere"]);
    let mut second = vec!["up", "--data-dir", "elsewhere"];
    second.extend(ANY_PORTS);
    let refused = run(&world, &second);
    assert_eq!(refused.status.code(), Some(1));
    let said = text(&refused.stderr);
    assert!(
        said.contains(&format!("baton is up already: process {} uses ", up.process.id())),
        "{said}"
    );
    // Another folder is another cluster.
    let other = Up::start(&world, &["--data-dir", "other"]);
    assert_ne!(up.place("API"), other.place("API"));
    // Where it isn't in the usual folder, it is found by the variable.
    let found = command(&world, &["status"])
        .env("BATON_DATA_DIR", world.path("other"))
        .output()
        .expect("the program runs");
    assert!(
        text(&found.stdout).contains(other.place("API")),
        "{}",
        text(&found.stdout)
    );
    let stopped = run(&world, &["down", "--data-dir", "elsewhere"]);
    assert_eq!(stopped.status.code(), Some(0), "{}", text(&stopped.stderr));
    assert_eq!(up.end(), Some(0));
    other.signal("-TERM");
    assert_eq!(other.end(), Some(0));
}

#[test]
fn in_memory_leaves_nothing_behind() {
    let world = World::new();
    fs::create_dir(world.path("temporary")).expect("a folder");
    let log = File::create(world.path("up.log")).expect("a log");
    let mut all = vec!["up", "--in-memory"];
    all.extend(ANY_PORTS);
    let mut process = command(&world, &all)
        .env("TMPDIR", world.path("temporary"))
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("the program runs");
    let record = world.path(&format!("{FOLDER}/up.json"));
    until("a record is waited for", || record.exists());
    let status = run(&world, &["status"]);
    assert!(
        text(&status.stdout).contains("data        in memory, and gone at the end"),
        "{}",
        text(&status.stdout)
    );
    let stopped = run(&world, &["down"]);
    assert!(
        text(&stopped.stdout).ends_with("nothing is left of it\n"),
        "{}",
        text(&stopped.stdout)
    );
    assert_eq!(process.wait().expect("an end").code(), Some(0));
    let lock = format!("{FOLDER}/up.lock");
    assert_eq!(world.files(), [lock, "up.log".to_owned()]);
}

#[test]
fn a_port_that_is_in_use_is_told_with_its_flag() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    for flag in ["--api", "--registry", "--catalogs", "--console"] {
        let world = World::new();
        let mut all = vec!["up", "--in-memory"];
        for pair in ANY_PORTS.chunks(2) {
            all.extend([pair[0], if pair[0] == flag { &address } else { pair[1] }]);
        }
        let refused = run(&world, &all);
        assert_eq!(refused.status.code(), Some(1));
        assert_eq!(
            text(&refused.stderr),
            format!(
                "Error: cannot listen on {address}: the port is in use; give another address with {flag}, or port 0 for any that \
                 is free\n"
            )
        );
    }
}

#[test]
fn other_machines_are_kept_out_unless_told() {
    for flag in ["--api", "--registry", "--catalogs", "--console"] {
        let world = World::new();
        let refused = run(&world, &["up", flag, "0.0.0.0:0"]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(
            text(&refused.stderr).contains("cannot listen on 0.0.0.0:0: other machines could reach it"),
            "{}",
            text(&refused.stderr)
        );
        assert!(world.files().is_empty(), "nothing is made");
    }
}

/// The processes of pods of a world: each carries the folder that its image lies in.
fn processes_of_pods(world: &World) -> usize {
    let folder = format!("BATON_ROOT={}", world.path("").display());
    let Ok(entries) = fs::read_dir("/proc") else {
        return 0;
    };
    let is_of_pod = |process: &fs::DirEntry| {
        let variables = fs::read(process.path().join("environ")).unwrap_or_default();
        variables
            .split(|byte| *byte == 0)
            .any(|variable| variable.starts_with(folder.as_bytes()))
    };
    entries.flatten().filter(is_of_pod).count()
}

/// Starts the demonstration and waits until it is ready.
fn demonstrate(world: &World) -> Up<'_> {
    let up = Up::start(world, &["--demo"]);
    let begun = Instant::now();
    while !read(world, "up.log").contains("the demonstration is ready") {
        assert!(
            begun.elapsed() < 5 * PATIENCE,
            "{}\n{}",
            read(world, "up.log"),
            text(&run(world, &["status", "--all"]).stdout)
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    up
}

#[test]
fn the_demonstration_runs_the_examples_operator_and_a_second_start_leaves_it_alone() {
    const STACK: &str =
        "/apis/models.example.com/v1alpha1/namespaces/models/inferencestacks/inference-stack-sample";
    const EXTENSION: &str = "/apis/olm.operatorframework.io/v1/clusterextensions/inference-stack";
    let world = World::new();
    let up = demonstrate(&world);
    let (code, stack) = up.ask("GET", STACK, None);
    assert_eq!(code, 200, "{stack}");
    let (_, extension) = up.ask("GET", EXTENSION, None);
    assert_eq!(extension["status"]["install"]["bundle"]["version"], "2.0.0");
    registry::attack_the_demonstration(&up);
    let (_, deployments) = up.ask("GET", "/apis/apps/v1/namespaces/models/deployments", None);
    let replicas: Vec<i64> = deployments["items"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|deployment| deployment["status"]["readyReplicas"].as_i64().unwrap_or_default())
        .collect();
    assert_eq!(replicas.len(), 3, "a gateway and two applications: {deployments}");
    assert!(replicas.iter().all(|ready| *ready > 0), "{deployments}");
    assert!(processes_of_pods(&world) > 0, "the operator is a process");

    up.signal("-TERM");
    assert_eq!(up.end(), Some(0));
    until("the end of the operator is waited for", || {
        processes_of_pods(&world) == 0
    });

    let up = demonstrate(&world);
    assert!(
        !read(&world, "up.log").contains("publishing"),
        "what is published stays as it is"
    );
    let (_, again) = up.ask("GET", STACK, None);
    assert_eq!(again["metadata"]["uid"], stack["metadata"]["uid"]);
    assert_eq!(again["metadata"]["generation"], stack["metadata"]["generation"]);
    let (_, again) = up.ask("GET", EXTENSION, None);
    assert_eq!(again["metadata"]["uid"], extension["metadata"]["uid"]);
    assert_eq!(
        again["metadata"]["generation"],
        extension["metadata"]["generation"]
    );
    up.signal("-TERM");
    assert_eq!(up.end(), Some(0));
}
