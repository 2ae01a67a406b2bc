//! The cluster that commands talk to: how it is found, and what is said when it can't be.

use std::path::PathBuf;

use clap::Args;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use crate::failure::Failure;

/// Which cluster to talk to, as whom.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterAccess {
    /// The kubeconfig to use in place of $KUBECONFIG, ~/.kube/config and the ServiceAccount of a pod
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use in place of the current one
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) context: Option<String>,
}

impl ClusterAccess {
    /// Makes a client; nothing is sent yet.
    pub(crate) async fn connect(&self) -> Result<Client, Failure> {
        let config = self.config().await?;
        Client::try_from(config).map_err(|error| Failure::new(format!("cannot talk to the cluster: {error}")))
    }

    async fn config(&self) -> Result<Config, Failure> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        if let Some(file) = &self.kubeconfig {
            let named = |error: KubeconfigError| {
                Failure::new(format!("cannot use the kubeconfig {}: {error}", file.display()))
            };
            let kubeconfig = Kubeconfig::read_from(file).map_err(named)?;
            return Config::from_custom_kubeconfig(kubeconfig, &options)
                .await
                .map_err(named);
        }
        match Config::from_kubeconfig(&options).await {
            Ok(config) => Ok(config),
            // Without a context that was asked for, a pod's own identity is as good.
            Err(error) if self.context.is_none() => Config::incluster().map_err(|_| nowhere(&error)),
            Err(error) => Err(nowhere(&error)),
        }
    }
}

fn nowhere(error: &KubeconfigError) -> Failure {
    Failure::new(format!(
        "no cluster to talk to: {error}; give a kubeconfig with --kubeconfig or $KUBECONFIG, or start a cluster on this machine \
         with: baton stage"
    ))
}

/// What the API server answered, in one text with the next step.
pub(crate) fn refused(doing: &str, error: kube::Error) -> Failure {
    let text = match &error {
        kube::Error::Api(status)
            if status.code == 404 && status.reason == "NotFound" && status.details.is_none() =>
        {
            format!(
                "{}; the cluster doesn't have baton's kinds: run `baton controllers` on it",
                status.message
            )
        }
        kube::Error::Api(status) if status.code == 403 => {
            format!("{}; ask for that right, or use another --context", status.message)
        }
        kube::Error::Api(status) => status.message.clone(),
        kube::Error::Service(_) | kube::Error::HyperError(_) => {
            format!("{error}; is the cluster up? `kubectl cluster-info` uses the same kubeconfig")
        }
        other => other.to_string(),
    };
    Failure::new(format!("cannot {doing}: {text}"))
}
