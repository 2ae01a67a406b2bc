//! Where a story takes place: `baton up` on its own, or baton's programs on a real Kubernetes.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use contract::real::{ADMIN_TOKEN, Options, RealCluster};
use serde_json::{Value, json};

use super::operators::Operators;
use super::running::{answer, client, kubeconfig};
use super::world::World;

/// How long anything may take before the story ends badly.
pub(crate) const PATIENCE: Duration = Duration::from_mins(3);

/// A cluster with a registry beside it; it is ended at the latest when the story is over.
pub(crate) struct Cluster {
    api: Arc<Administrator>,
    registry: String,
    kubeconfig: PathBuf,
    log: PathBuf,
    // The programs end before the runtime that a part of them lives in.
    programs: Programs,
    runtime: tokio::runtime::Runtime,
}

/// What runs.
enum Programs {
    /// One process is everything, the node that runs the operators included.
    Up(Child),
    /// Kubernetes, baton's registry and controllers, and each operator in a process of its own.
    Real {
        _operators: Operators,
        _controllers: Ended,
        _registry: Ended,
        _kubernetes: Box<RealCluster>,
    },
}

/// A process that ends with its story.
pub(crate) struct Ended(pub(crate) Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Who may do everything in a cluster.
pub(crate) struct Administrator {
    url: String,
    client: reqwest::Client,
    token: Option<&'static str>,
}

impl Administrator {
    /// Sends a request.
    pub(crate) async fn ask(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(u16, Value), reqwest::Error> {
        let url = format!("{}/{path}", self.url);
        let mut request = self.client.request(method.parse().expect("a method"), url);
        if let Some(token) = self.token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            let kind = match (method, body) {
                ("PATCH", Value::Array(_)) => "application/json-patch+json",
                ("PATCH", _) => "application/merge-patch+json",
                _ => "application/json",
            };
            request = request.header("Content-Type", kind).body(body.to_string());
        }
        answer(request).await
    }
}

impl Cluster {
    /// `baton up`.
    pub(crate) fn up(world: &World) -> Self {
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
                panic!("it ended: {page}{}", end_of(&log));
            };
            page.push_str(&line);
            page.push('\n');
            if line.starts_with("Ctrl-C") {
                break;
            }
        }
        std::thread::spawn(move || lines.for_each(drop));
        let place = |name: &str| {
            let found = page.lines().find_map(|line| line.trim_start().strip_prefix(name));
            found
                .unwrap_or_else(|| panic!("no {name} in {page}"))
                .trim()
                .to_owned()
        };
        Self {
            api: Arc::new(Administrator {
                url: place("API"),
                client: client(&kubeconfig(world, "data/baton.kubeconfig"), true),
                token: None,
            }),
            registry: place("registry").trim_start_matches("http://").to_owned(),
            kubeconfig: world.path("data/baton.kubeconfig"),
            log,
            programs: Programs::Up(process),
            runtime: tokio::runtime::Runtime::new().expect("a runtime"),
        }
    }

    /// A real kube-apiserver, with baton's registry, controllers and operators beside it.
    pub(crate) fn real(world: &World) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let kubernetes = runtime
            .block_on(RealCluster::start(Options::default()))
            .unwrap_or_else(|reason| panic!("{reason}"));
        let log = world.path("controllers.log");
        let (registry, address) = start_registry(world);
        let kubeconfig = kubernetes.kubeconfig.display().to_string();
        let data = world.path("controllers").display().to_string();
        let arguments = [
            "controllers",
            "--kubeconfig",
            &kubeconfig,
            "--data-dir",
            &data,
            "--listen",
            "127.0.0.1:0",
        ];
        let controllers = world
            .command(&arguments)
            .stdout(Stdio::null())
            .stderr(File::create(&log).expect("a log"))
            .spawn()
            .expect("the program runs");
        let api = Arc::new(Administrator {
            url: kubernetes.url.clone(),
            client: contract::server::https_client(&kubernetes.authority).expect("a client"),
            token: Some(ADMIN_TOKEN),
        });
        let operators = Operators::follow(&runtime, Arc::clone(&api), &kubernetes, world);
        let cluster = Self {
            api,
            registry: address,
            kubeconfig: kubernetes.kubeconfig.clone(),
            log,
            programs: Programs::Real {
                _operators: operators,
                _controllers: Ended(controllers),
                _registry: Ended(registry),
                _kubernetes: Box::new(kubernetes),
            },
            runtime,
        };
        cluster.until("extensions are served", || {
            match cluster.ask("GET", "apis/olm.operatorframework.io/v1/clusterextensions", None) {
                (200, _) => Ok(()),
                (code, answer) => Err(format!("{code} {answer}")),
            }
        });
        cluster
    }

    /// The registry as image names have it.
    pub(crate) fn registry(&self) -> String {
        self.registry.clone()
    }

    /// The administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> String {
        self.kubeconfig.display().to_string()
    }

    /// Sends a request as the administrator.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        self.runtime
            .block_on(self.api.ask(method, path, body))
            .expect("an answer")
    }

    /// Lets extensions have deadlines of a minute: a story can't wait for the ten that users have to allow.
    pub(crate) fn allows_short_deadlines(&self) {
        let minimum = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/progressDeadlineMinutes/minimum";
        let lowered = json!([{"op": "replace", "path": minimum, "value": 1}]);
        for kind in ["clusterextensions", "clusterobjectsets"] {
            let path = format!(
                "apis/apiextensions.k8s.io/v1/customresourcedefinitions/{kind}.olm.operatorframework.io"
            );
            let (code, answer) = self.ask("PATCH", &path, Some(&lowered));
            assert_eq!(code, 200, "{answer}");
        }
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
                "{what}: not after {} s: {seen}\n--- the log ends:\n{}",
                PATIENCE.as_secs(),
                end_of(&self.log)
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// Stops it, as Ctrl-C does.
    pub(crate) fn stop(mut self) {
        let Programs::Up(process) = &mut self.programs else {
            return;
        };
        let id = process.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status().expect("kill");
        assert!(sent.success());
        let status = process.wait().expect("an end");
        assert!(status.success(), "it ended with {status}\n{}", end_of(&self.log));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Programs::Up(process) = &mut self.programs {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Starts a registry on any port; returns it and where it listens.
fn start_registry(world: &World) -> (Child, String) {
    let storage = world.path("registry").display().to_string();
    let mut process = world
        .command(&[
            "registry",
            "serve",
            "--storage",
            &storage,
            "--address",
            "127.0.0.1:0",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut lines = BufReader::new(process.stderr.take().expect("its remarks")).lines();
    let address = loop {
        let line = lines.next().expect("a line").expect("a text");
        let found = line
            .split_whitespace()
            .find_map(|word| word.strip_prefix("http://"));
        if let Some(address) = found {
            break address.trim_end_matches(['/', ',', '.']).to_owned();
        }
    };
    std::thread::spawn(move || lines.for_each(drop));
    (process, address)
}

fn end_of(log: &Path) -> String {
    let log = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}
