//! The cluster that commands talk to: how it is found, and what is said when it can't be.

mod connection;
pub(crate) mod requests;

use std::path::PathBuf;

use apply::refusal::is_already_there;
use clap::Args;
use http::HeaderValue;
use http::header::USER_AGENT;
use hyper_util::client::proxy::matcher::Matcher;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use crate::failure::{Failure, system_reason};
use crate::instance;
use crate::kubeconfig;

pub(crate) use connection::Connection;

/// Who changes objects when somebody types a command, as managed fields name it.
pub(crate) const FIELD_MANAGER: &str = "baton";

/// Which cluster to talk to, as whom.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterAccess {
    /// The kubeconfig to use in place of $KUBECONFIG, ~/.kube/config, the ServiceAccount of a pod and that of a running
    /// `baton up`
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig to use in place of the current one
    #[arg(long, value_name = "CONTEXT")]
    pub(crate) context: Option<String>,
}

impl ClusterAccess {
    /// Makes a client; nothing is sent yet.
    pub(crate) async fn connect(&self) -> Result<Client, Failure> {
        Ok(self.connection().await?.client)
    }

    /// Makes a client, and the means to make others that write only while a Lease is held; nothing is sent yet.
    pub(crate) async fn connection(&self) -> Result<Connection, Failure> {
        let mut config = self.config().await?;
        // The API server takes the name from it by which it remembers who wrote which field.
        let name = HeaderValue::from_static(concat!("baton/", env!("CARGO_PKG_VERSION")));
        config.headers.push((USER_AGENT, name));
        Connection::new(config)
    }

    async fn config(&self) -> Result<Config, Failure> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        if let Some(file) = &self.kubeconfig {
            let named = |error: KubeconfigError| {
                Failure::new(format!(
                    "cannot use the kubeconfig {}: {}; name another one with --kubeconfig",
                    file.display(),
                    said(&error)
                ))
            };
            let kubeconfig = Kubeconfig::read_from(file).map_err(named)?;
            self.check_context(&kubeconfig, &format!("the kubeconfig {}", file.display()))?;
            return configured(kubeconfig, &options).await.map_err(named);
        }
        let found = match Kubeconfig::read() {
            Ok(kubeconfig) => {
                self.check_context(&kubeconfig, "the kubeconfig")?;
                configured(kubeconfig, &options).await
            }
            Err(error) => Err(error),
        };
        let error = match found {
            Ok(config) => return Ok(config),
            Err(error) => error,
        };
        // Without a context that was asked for, a pod's own identity is as good.
        if self.context.is_none()
            && let Ok(config) = Config::incluster()
        {
            return Ok(config);
        }
        match instance::usual().filter(|_| kubeconfig::is_nowhere()) {
            Some(up) => {
                let own = Self {
                    kubeconfig: Some(up.kubeconfig),
                    ..self.clone()
                };
                Box::pin(own.config()).await
            }
            None => Err(nowhere(&error)),
        }
    }

    /// Returns whether the API server runs on this machine, as far as its address tells.
    pub(crate) async fn is_on_this_machine(&self) -> bool {
        let Ok(config) = self.config().await else {
            return false;
        };
        let host = config.cluster_url.host().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    }

    /// Returns the `baton up` of this machine, if its cluster is the one that is talked to.
    pub(crate) async fn up(&self) -> Option<instance::Record> {
        let up = instance::usual()?;
        let config = self.config().await.ok()?;
        // The one address has a path, be it empty.
        let is_same = config.cluster_url.to_string().trim_end_matches('/') == up.api;
        is_same.then_some(up)
    }
}

impl ClusterAccess {
    /// Fails where a context is asked for that a kubeconfig doesn't have.
    fn check_context(&self, kubeconfig: &Kubeconfig, called: &str) -> Result<(), Failure> {
        let Some(asked) = &self.context else {
            return Ok(());
        };
        let names: Vec<&str> = kubeconfig
            .contexts
            .iter()
            .map(|context| context.name.as_str())
            .collect();
        if names.contains(&asked.as_str()) {
            return Ok(());
        }
        Err(Failure::new(match names.len() {
            0 => format!(
                "{called} has no context {asked:?}, and no other one; name another file with --kubeconfig"
            ),
            _ => format!("{called} has no context {asked:?}; it has {}", names.join(", ")),
        }))
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
        "no cluster to talk to: {}; give a kubeconfig with --kubeconfig or $KUBECONFIG, or start a cluster on this machine \
         with: baton up",
        match error {
            KubeconfigError::ReadConfig(_, file) => format!("{}: {}", file.display(), said(error)),
            error => said(error),
        }
    ))
}

/// What the API server answered, in one text with the next step.
pub(crate) fn refused(doing: &str, error: kube::Error) -> Failure {
    let text = match &error {
        error if lacks_kind(error) => {
            "the cluster doesn't have the kinds of OLM v1; run `baton controllers` on it".to_owned()
        }
        kube::Error::Api(status) if status.code == 403 => {
            format!("{}; ask for that right, or use another --context", status.message)
        }
        kube::Error::Api(status) => status.message.clone(),
        kube::Error::Service(_) | kube::Error::HyperError(_) => {
            format!(
                "{}; is the cluster up? `kubectl cluster-info` uses the same kubeconfig",
                innermost(&error)
            )
        }
        other => other.to_string(),
    };
    Failure::new(format!("cannot {doing}: {text}"))
}

/// Returns whether the server doesn't know the kind that it was asked about, let alone an object of it.
pub(crate) fn lacks_kind(error: &kube::Error) -> bool {
    // What a server says of a path that it doesn't serve is not always a status, and names no object.
    matches!(error, kube::Error::Api(status)
        if status.code == 404 && status.details.as_ref().is_none_or(|details| details.name.is_empty()))
}

/// Returns whether the user has no right to what was asked for.
pub(crate) fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

/// What is wrong with a kubeconfig, in one line.
fn said(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::ReadConfig(error, _) => system_reason(error),
        // The reader draws what is wrong in several lines, of which the first says it.
        other => other.to_string().lines().next().unwrap_or_default().to_owned(),
    }
}

/// What an error of a connection comes from: what is said around that is about the library.
pub(crate) fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error
        .downcast_ref::<std::io::Error>()
        .map_or_else(|| error.to_string(), system_reason)
}

/// Returns whether this process runs in a pod, which every kubelet tells its containers by this variable.
pub(crate) fn is_in_pod() -> bool {
    std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
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
    let parameters = PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    match namespaces.create(&parameters, &namespace).await {
        Ok(_) => Ok(true),
        Err(error) if is_already_there(&error) => Ok(false),
        Err(error) => Err(refused(&format!("make Namespace {name:?}"), error)),
    }
}
