//! The cluster that commands talk to: how it is found, and what is said when it can't be.

use std::path::PathBuf;

use apply::refusal::is_already_there;
use clap::Args;
use hyper_util::client::proxy::matcher::Matcher;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, PostParams};
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
            return configured(kubeconfig, &options).await.map_err(named);
        }
        let found = match Kubeconfig::read() {
            Ok(kubeconfig) => configured(kubeconfig, &options).await,
            Err(error) => Err(error),
        };
        match found {
            Ok(config) => Ok(config),
            // Without a context that was asked for, a pod's own identity is as good.
            Err(error) if self.context.is_none() => Config::incluster().map_err(|_| nowhere(&error)),
            Err(error) => Err(nowhere(&error)),
        }
    }
}

async fn configured(kubeconfig: Kubeconfig, options: &KubeConfigOptions) -> Result<Config, KubeconfigError> {
    let own_proxy = own_proxy(&kubeconfig, options.context.as_deref());
    let mut config = Config::from_custom_kubeconfig(kubeconfig, options).await?;
    // The library holds NO_PROXY against the proxy in place of the server.
    let proxy = own_proxy.or_else(|| proxy_of_environment(&config));
    config.proxy_url = match proxy {
        Some(proxy) => Some(proxy.parse().map_err(KubeconfigError::ParseProxyUrl)?),
        None => None,
    };
    Ok(config)
}

/// The proxy that the kubeconfig names for its cluster.
fn own_proxy(kubeconfig: &Kubeconfig, context: Option<&str>) -> Option<String> {
    let context = context.or(kubeconfig.current_context.as_deref())?;
    let named = kubeconfig.contexts.iter().find(|named| named.name == context)?;
    let cluster = &named.context.as_ref()?.cluster;
    let named = kubeconfig.clusters.iter().find(|named| named.name == *cluster)?;
    let proxy = named.cluster.as_ref()?.proxy_url.clone()?;
    (!proxy.is_empty()).then_some(proxy)
}

/// The proxy that the environment names for all servers, unless this one is to be reached without.
fn proxy_of_environment(config: &Config) -> Option<String> {
    let host = config.cluster_url.host().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    // As for kubectl, no proxy leads to this machine.
    if host == "localhost" || address.is_ok_and(|address| address.is_loopback()) {
        return None;
    }
    Matcher::from_env().intercept(&config.cluster_url)?;
    ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|proxy| !proxy.is_empty()))
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

/// Makes a namespace that isn't there; says whether it did.
pub(crate) async fn make_namespace(client: &Client, name: &str) -> Result<bool, Failure> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    // Looked for first: who may not make namespaces can use those that are there.
    let there = namespaces
        .get_opt(name)
        .await
        .map_err(|error| refused(&format!("read Namespace {name:?}"), error))?;
    if there.is_some() {
        return Ok(false);
    }
    let mut namespace = Namespace::default();
    namespace.metadata.name = Some(name.to_owned());
    match namespaces.create(&PostParams::default(), &namespace).await {
        Ok(_) => Ok(true),
        Err(error) if is_already_there(&error) => Ok(false),
        Err(error) => Err(refused(&format!("make Namespace {name:?}"), error)),
    }
}
