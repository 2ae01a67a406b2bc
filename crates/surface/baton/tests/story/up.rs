//! `baton up` that runs, and the API that it serves.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::running::{answer, client, kubeconfig};
use crate::world::World;

/// How long anything may take before the story ends badly.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);

/// A `baton up`, which is ended at the latest when the story is over.
pub(crate) struct Up {
    process: Child,
    page: String,
    client: reqwest::Client,
    runtime: tokio::runtime::Runtime,
    log: std::path::PathBuf,
}

impl Up {
    pub(crate) fn start(world: &World) -> Self {
        let log = world.path("up.log");
        let folder = world.path("data").display().to_string();
        let mut arguments = vec!["up", "--data-dir", folder.as_str(), "--log-level", "info"];
        for flag in ["--api", "--registry", "--catalogs", "--console"] {
            arguments.extend([flag, "127.0.0.1:0"]);
        }
        let mut process = world
            .command(&arguments)
            .stdout(Stdio::piped())
            .stderr(File::create(&log).expect("a log"))
            .spawn()
            .expect("the program runs");
        let mut lines = BufReader::new(process.stdout.take().expect("its page")).lines();
        let mut page = String::new();
        loop {
            let Some(Ok(line)) = lines.next() else {
                panic!(
                    "it ended: {page}{}",
                    std::fs::read_to_string(&log).unwrap_or_default()
                );
            };
            page.push_str(&line);
            page.push('\n');
            if line.starts_with("Ctrl-C") {
                break;
            }
        }
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            process,
            page,
            client: client(&kubeconfig(world, "data/baton.kubeconfig"), true),
            runtime: tokio::runtime::Runtime::new().expect("a runtime"),
            log,
        }
    }

    /// What the page says of something.
    pub(crate) fn place(&self, name: &str) -> &str {
        self.page
            .lines()
            .find_map(|line| line.trim_start().strip_prefix(name))
            .unwrap_or_else(|| panic!("no {name} in {}", self.page))
            .trim()
    }

    /// The registry as image names have it.
    pub(crate) fn registry(&self) -> String {
        self.place("registry").trim_start_matches("http://").to_owned()
    }

    /// Sends a request as the administrator.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let url = format!("{}/{path}", self.place("API"));
        let mut request = self.client.request(method.parse().expect("a method"), url);
        if let Some(body) = body {
            let kind = if method == "PATCH" {
                "application/merge-patch+json"
            } else {
                "application/json"
            };
            request = request.header("Content-Type", kind).body(body.to_string());
        }
        self.runtime
            .block_on(async { answer(request).await.expect("an answer") })
    }

    /// Waits until something is so; what is seen last is told otherwise.
    pub(crate) fn until<T>(&self, what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
        let begun = Instant::now();
        loop {
            let seen = match look() {
                Ok(value) => return value,
                Err(seen) => seen,
            };
            assert!(
                begun.elapsed() < PATIENCE,
                "{what}: not after {} s: {seen}\n--- the log of baton up ends:\n{}",
                PATIENCE.as_secs(),
                self.end_of_log()
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn end_of_log(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    }

    /// Stops it, as Ctrl-C does.
    pub(crate) fn stop(mut self) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status().expect("kill");
        assert!(sent.success());
        let status = self.process.wait().expect("an end");
        assert!(status.success(), "it ended with {status}\n{}", self.end_of_log());
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
