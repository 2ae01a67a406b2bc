//! The programs that a test runs: a server, and baton's controllers on it.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use contract::real::{Options, RealCluster, Supervised};
use tempfile::TempDir;

use crate::kubernetes::Kubernetes;
use crate::reference::Reference;

/// How long a program may take until it answers.
const START_DEADLINE: Duration = Duration::from_mins(2);

/// The environment variable that says how many replicas of the controllers there are in each cluster; one, unless it is set.
const REPLICAS: &str = "BATON_REPLICAS";

/// The program that is tested.
fn baton() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_baton"))
}

/// A Kubernetes API to run scenarios on.
pub(crate) enum Server {
    /// `baton stage`.
    Stage(Stage),
    /// kube-apiserver, etcd, kube-controller-manager and a simulated node.
    Real(Box<RealCluster>),
}

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The embedded server.
    Stage,
    /// The real one.
    Kubernetes,
}

impl Kind {
    /// Its name, as it is told.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stage => "stage",
            Self::Kubernetes => "kubernetes",
        }
    }

    /// Starts a server.
    pub(crate) async fn start(self) -> Result<Server, String> {
        match self {
            Self::Stage => Stage::start().await.map(Server::Stage),
            Self::Kubernetes => {
                let options = Options {
                    apiserver_arguments: crate::world::apiserver_arguments()?,
                    ..Options::default()
                };
                let cluster = RealCluster::start(options).await;
                let cluster = cluster.map_err(|error| error.to_string())?;
                Ok(Server::Real(Box::new(cluster)))
            }
        }
    }
}

impl Server {
    /// Which of the two it is.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Stage(_) => Kind::Stage,
            Self::Real(_) => Kind::Kubernetes,
        }
    }

    /// Where the administrator's kubeconfig is.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        match self {
            Self::Stage(stage) => stage.kubeconfig(),
            Self::Real(cluster) => cluster.kubeconfig.clone(),
        }
    }
}

/// `baton stage` on a port that stays, with a folder that stays.
pub(crate) struct Stage {
    process: Mutex<Option<Supervised>>,
    address: String,
    folder: TempDir,
}

impl Stage {
    /// Starts a server with an empty folder.
    pub(crate) async fn start() -> Result<Self, String> {
        let stage = Self {
            process: Mutex::default(),
            address: free_address()?,
            folder: tempfile::tempdir().map_err(|error| error.to_string())?,
        };
        stage.start_again().await?;
        Ok(stage)
    }

    /// Starts the server where it was, with what it had.
    pub(crate) async fn start_again(&self) -> Result<(), String> {
        let data = self.folder.path().join("data").display().to_string();
        let arguments = ["stage", "--listen", &self.address, "--data-dir", &data].map(str::to_owned);
        let process = Supervised::start(baton(), &arguments, &self.folder.path().join("stage.log"))
            .map_err(|error| error.to_string())?;
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            if self.kubeconfig().is_file()
                && let Ok(kubernetes) = Kubernetes::of(&self.kubeconfig())
                && kubernetes
                    .read(&Reference::cluster("v1", "Namespace", "default"))
                    .await
                    .is_ok()
            {
                *held(&self.process) = Some(process);
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(format!("baton stage doesn't answer:\n{}", process.last_words()));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Ends the server as `kill -9` does.
    pub(crate) fn kill(&self) {
        held(&self.process).take();
    }

    fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("data/baton.kubeconfig")
    }
}

/// `baton controllers`, with a folder that stays.
pub(crate) struct Controllers {
    /// All replicas; none while they don't run.
    processes: Mutex<Vec<Supervised>>,
    kubeconfig: PathBuf,
    environment: Vec<(String, String)>,
    /// Whether registries are asked in the open; without it, those on other machines are not.
    is_plain: bool,
    /// More flags.
    flags: Vec<String>,
    folder: TempDir,
}

impl Controllers {
    /// Prepares the controllers of a cluster with an empty folder; nothing runs yet.
    pub(crate) fn of(server: &Server, environment: &[(&str, &str)]) -> Result<Self, String> {
        let environment = environment
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Ok(Self {
            processes: Mutex::default(),
            kubeconfig: server.kubeconfig(),
            environment: environment.collect(),
            is_plain: true,
            flags: Vec::new(),
            folder: tempfile::tempdir().map_err(|error| error.to_string())?,
        })
    }

    /// The same controllers without those of OLM v0: where a scenario has objects of OLM v0, it plays their controllers itself.
    pub(crate) fn without_classic(self) -> Self {
        self.with_flags(vec!["--no-classic".to_owned()])
    }

    /// The same controllers, which ask registries on other machines over TLS.
    pub(crate) fn with_encryption(mut self) -> Self {
        self.is_plain = false;
        self
    }

    /// The same controllers, with more flags.
    pub(crate) fn with_flags(mut self, flags: Vec<String>) -> Self {
        self.flags.extend(flags);
        self
    }

    /// The same controllers as somebody else, with other flags.
    pub(crate) fn running(mut self, kubeconfig: PathBuf, flags: Vec<String>) -> Self {
        self.kubeconfig = kubeconfig;
        self.flags = flags;
        self
    }

    /// Starts the program, as often as there shall be replicas of it; returns before it has done anything.
    pub(crate) fn start(&self) -> Result<(), String> {
        let replicas = std::env::var(REPLICAS).map_or(Ok(1), |text| text.parse());
        let replicas: usize = replicas.map_err(|error| format!("{REPLICAS}: {error}"))?;
        for replica in 0..replicas {
            let process = self.start_replica(replica)?;
            held(&self.processes).push(process);
        }
        Ok(())
    }

    fn start_replica(&self, replica: usize) -> Result<Supervised, String> {
        let home = self.folder.path().display().to_string();
        let data = self.data().join(replica.to_string()).display().to_string();
        let kubeconfig = self.kubeconfig.display().to_string();
        // `env` becomes the program, so that the environment of the test isn't the program's.
        let mut arguments = vec!["-i".to_owned(), format!("HOME={home}")];
        for name in ["PATH", "TMPDIR"] {
            arguments.extend(std::env::var(name).map(|value| format!("{name}={value}")));
        }
        let environment = self.environment.iter();
        arguments.extend(environment.map(|(name, value)| format!("{name}={value}")));
        arguments.push(baton().display().to_string());
        let flags = [
            "controllers",
            "--kubeconfig",
            &kubeconfig,
            "--data-dir",
            &data,
            "--listen",
            "127.0.0.1:0",
        ];
        arguments.extend(flags.map(str::to_owned));
        if self.is_plain {
            arguments.push("--plain-http".to_owned());
        }
        arguments.extend(self.flags.iter().cloned());
        Supervised::start(Path::new("env"), &arguments, &self.log()).map_err(|error| error.to_string())
    }

    /// Ends the program as `kill -9` does.
    pub(crate) fn kill(&self) {
        held(&self.processes).clear();
    }

    /// Asks the program to end, and waits until it has.
    pub(crate) async fn stop(&self) -> Result<(), String> {
        let processes = std::mem::take(&mut *held(&self.processes));
        for process in processes {
            Self::stop_replica(&process).await?;
        }
        Ok(())
    }

    async fn stop_replica(process: &Supervised) -> Result<(), String> {
        let id = process.pid().to_string();
        let asked = std::process::Command::new("kill").args(["-TERM", &id]).status();
        if !asked.is_ok_and(|status| status.success()) {
            return Err(format!("process {id} can't be asked to end"));
        }
        let deadline = Instant::now() + START_DEADLINE;
        // What has ended is a zombie until its shell looks, and a zombie has no memory.
        while std::fs::read_to_string(format!("/proc/{id}/statm")).is_ok_and(|text| !text.starts_with("0 ")) {
            if Instant::now() > deadline {
                return Err("the controllers don't end when they are asked to".to_owned());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Forgets everything that the program kept on disk.
    pub(crate) fn forget(&self) -> Result<(), String> {
        match std::fs::remove_dir_all(self.data()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(()),
        }
    }

    /// The end of what the program said, over all its runs.
    pub(crate) fn last_words(&self, lines: usize) -> String {
        let text = std::fs::read(self.log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let all: Vec<&str> = text.lines().collect();
        all.get(all.len().saturating_sub(lines)..)
            .unwrap_or_default()
            .join("\n")
    }

    /// Where each replica has a folder for what it keeps.
    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("controllers.log")
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An address that was free a moment ago.
pub(crate) fn free_address() -> Result<String, String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    Ok(address.to_string())
}
