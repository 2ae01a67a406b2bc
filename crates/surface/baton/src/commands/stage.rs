//! `baton stage`: a Kubernetes API on this machine, served until it is stopped.

mod built_pods;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use image::registry::Serving as ServedRegistry;
use stage::server::{ServeOptions, Serving as ServedApi};

use crate::data_format;
use crate::failure::Failure;
use crate::hosted_stage;
use crate::kubeconfig;
use crate::listening;
use crate::runtime;
use crate::stop_signals::StopSignals;
use crate::terminal::Terminal;

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
    cluster_flags: hosted_stage::ClusterFlags,
    #[command(flatten)]
    built_pods: built_pods::BuiltPodsFlags,
}

impl Stage {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let kubeconfig = self.kubeconfig.clone().unwrap_or_else(|| match &self.data_dir {
            Some(folder) => folder.join(kubeconfig::OWN_FILE),
            None => PathBuf::from(kubeconfig::OWN_FILE),
        });
        kubeconfig::refuse_foreign(&kubeconfig)?;
        // Refused before anything is made, so that a mistake leaves nothing behind.
        for address in [Some(self.listen), self.built_pods.listens_on()]
            .into_iter()
            .flatten()
        {
            listening::check(address, self.allow_remote)?;
        }
        let _used = self.data_dir.as_deref().map(data_format::open).transpose()?;
        hosted_stage::allow_many_files();
        runtime::block_on_server(self.serve(&kubeconfig, terminal))
    }

    async fn serve(self, kubeconfig: &Path, terminal: &mut Terminal) -> Result<(), Failure> {
        // Listening for signals first: who reads the lines below may stop the server at once.
        let signals = StopSignals::listen()?;
        let _outlived = hosted_stage::outlive_file_limits();
        let data_dir = self.data_dir.clone();
        let Served {
            stage,
            serving,
            registry,
        } = tokio::select! {
            served = self.start() => served?,
            () = signals.asked() => return Ok(()),
        };
        serving
            .write_kubeconfig(kubeconfig)
            .map_err(|error| Failure::new(error.to_string()))?;
        let kept = match &data_dir {
            Some(folder) => format!("keeps everything in {}", folder.display()),
            None => "keeps everything in memory".to_owned(),
        };
        terminal.remark(format!("Kubernetes API at {} {kept}", serving.url()));
        terminal.remark(format!(
            "the administrator's kubeconfig is {0}; try: kubectl --kubeconfig {0} get namespaces",
            kubeconfig.display()
        ));
        if let Some(registry) = &registry {
            let folder = data_dir.as_deref().unwrap_or(Path::new(".")).display();
            terminal.remark(format!(
                "registry at {}; to push there: baton login {} --data-dir {folder}",
                registry.url(),
                stage::server::local(registry.address())
            ));
        }
        signals.asked().await;
        terminal.remark("stopping");
        let users = async move {
            let registry = async {
                if let Some(registry) = registry {
                    registry.stop().await;
                }
            };
            tokio::join!(serving.stop(), registry);
        };
        hosted_stage::stop(stage, users, terminal).await;
        Ok(())
    }

    async fn start(self) -> Result<Served, Failure> {
        let built_pods::BuiltPods { images, registry } = self
            .built_pods
            .open(self.data_dir.as_deref(), &self.tls_san)
            .await?;
        let stage = hosted_stage::start(self.data_dir, images, &self.cluster_flags).await?;
        let options = ServeOptions {
            allow_remote: self.allow_remote,
            names: self.tls_san,
        };
        let serving = hosted_stage::serve(&stage, self.listen, "--listen", &options).await?;
        Ok(Served {
            stage,
            serving,
            registry,
        })
    }
}

/// What runs until it is stopped.
struct Served {
    stage: stage::Stage,
    serving: ServedApi,
    registry: Option<ServedRegistry>,
}
