//! `baton stage`: a Kubernetes API on this machine, served until it is stopped.

mod built_pods;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;
use stage::server::{ServeError, ServeOptions};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::Failure;
use crate::listening;
use crate::runtime;
use crate::terminal::Terminal;

/// The name of the kubeconfig where none is given.
const KUBECONFIG: &str = "baton.kubeconfig";

/// The largest kubeconfig that is looked at before it is replaced.
const MAX_KUBECONFIG_BYTES: u64 = 16 << 20;

/// Serves a Kubernetes API on this machine until it is stopped.
#[derive(Args)]
pub(crate) struct Stage {
    /// The folder that holds everything; made when it isn't there. Without it, all is gone at the end
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Where to listen; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// The kubeconfig to write for the administrator; without it, baton.kubeconfig in the data folder or here
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Let other machines reach the API: listen on addresses that aren't loopback
    #[arg(long)]
    allow_remote: bool,
    /// A name or address that clients use for this machine, for the certificate; may be repeated
    #[arg(long, value_name = "NAME")]
    tls_san: Vec<String>,
    #[command(flatten)]
    built_pods: built_pods::BuiltPodsFlags,
}

impl Stage {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let kubeconfig = self.kubeconfig.clone().unwrap_or_else(|| match &self.data_dir {
            Some(folder) => folder.join(KUBECONFIG),
            None => PathBuf::from(KUBECONFIG),
        });
        refuse_foreign(&kubeconfig)?;
        // Refused before anything is made, so that a mistake leaves nothing behind.
        for address in [Some(self.listen), self.built_pods.listens_on()]
            .into_iter()
            .flatten()
        {
            listening::check(address, self.allow_remote)?;
        }
        allow_many_files();
        runtime::block_on(self.serve(&kubeconfig, terminal))
    }

    async fn serve(self, kubeconfig: &Path, terminal: &mut Terminal) -> Result<(), Failure> {
        // Listening for signals first: who reads the lines below may stop the server at once.
        let stop = runtime::stop_signal()?;
        let built_pods::BuiltPods { images, registry } =
            self.built_pods.open(self.data_dir.as_deref()).await?;
        let _outlived = outlive_file_limits();
        let stage = stage::Stage::start(stage::Options {
            data_dir: self.data_dir.clone(),
            node: stage::node::Options {
                images,
                wait_for_listener: true,
                ..stage::node::Options::default()
            },
            ..stage::Options::default()
        })
        .await
        .map_err(|error| Failure::new(error.to_string()))?;
        let options = ServeOptions {
            allow_remote: self.allow_remote,
            names: self.tls_san,
        };
        let serving = stage
            .serve(self.listen, &options)
            .await
            .map_err(|error| match error {
                ServeError::Remote { address } => listening::remote(address),
                ServeError::Taken { address } => Failure::new(format!(
                    "cannot listen on {address}: the port is in use; give another address with --listen, or port 0 for any \
                     that is free"
                )),
                error => Failure::new(error.to_string()),
            })?;
        serving
            .write_kubeconfig(kubeconfig)
            .map_err(|error| Failure::new(error.to_string()))?;
        let kept = match &self.data_dir {
            Some(folder) => format!("keeps everything in {}", folder.display()),
            None => "keeps everything in memory".to_owned(),
        };
        terminal.remark(format!("Kubernetes API at {} {kept}", serving.url()));
        terminal.remark(format!(
            "the administrator's kubeconfig is {0}; try: kubectl --kubeconfig {0} get namespaces",
            kubeconfig.display()
        ));
        if let Some(registry) = &registry {
            terminal.remark(format!("registry at {}", registry.url()));
        }
        stop.await;
        terminal.remark("stopping");
        serving.stop().await;
        stage.stop().await;
        if let Some(registry) = registry {
            registry.stop().await;
        }
        Ok(())
    }
}

/// Fails where a file is there that has more in it than a kubeconfig of this command.
fn refuse_foreign(path: &Path) -> Result<(), Failure> {
    let metadata = match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        metadata => {
            metadata.map_err(|error| Failure::new(format!("cannot look at {}: {error}", path.display())))?
        }
    };
    let own = metadata.is_file()
        && metadata.len() <= MAX_KUBECONFIG_BYTES
        && std::fs::read(path)
            .ok()
            .and_then(|bytes| goyaml::to_value(&bytes).ok())
            .is_some_and(|config| {
                ["clusters", "contexts", "users"].iter().all(|list| {
                    config[*list].as_array().is_some_and(|all| {
                        all.iter()
                            .all(|one| one.get("name").and_then(Value::as_str) == Some("baton"))
                    })
                })
            });
    if own {
        return Ok(());
    }
    Err(Failure::new(format!(
        "cannot write the kubeconfig {}: the file is there and has other things in it; give another file with --kubeconfig",
        path.display()
    )))
}

/// Makes a write beyond the limit of file sizes fail, as on a full disk, instead of ending the process.
fn outlive_file_limits() -> Option<Signal> {
    // The number is the same on all systems. Where listening is refused, the limit ends the process as ever.
    const FILE_TOO_LARGE: i32 = 25;
    signal(SignalKind::from_raw(FILE_TOO_LARGE)).ok()
}

/// Lets the process have as many open files as it may: each connection is one.
fn allow_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // Where this is refused, fewer connections are served.
        let _ = setrlimit(
            Resource::Nofile,
            Rlimit {
                current: limit.maximum,
                maximum: limit.maximum,
            },
        );
    }
}
