//! One cluster on one machine.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};

use crate::api::Api;
use crate::caller::{Caller, MASTERS};
use crate::client::Client;
use crate::controllers::Controllers;
use crate::store::{self, Store};
use crate::wire::{self, Body, Peer};

/// What a stage is told when it starts.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Where everything is kept; `None` for in memory.
    pub data_dir: Option<PathBuf>,
    /// Whether the controllers and the node stay away, for tests of the API alone.
    pub without_controllers: bool,
    /// What the node runs.
    pub node: crate::node::Options,
    /// How long an event is kept after it was last told; `None` for an hour, as the real server does.
    pub events_kept_for: Option<Duration>,
    /// What becomes of writes that a webhook in simulated pods should be asked about.
    pub simulated_webhooks: crate::admission::webhooks::simulated::SimulatedWebhooks,
    /// Tokens of users beside the administrator: token, user, groups.
    pub tokens: Vec<(String, String, Vec<String>)>,
}

/// Why a stage didn't start.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// What is stored can't be read.
    #[error(transparent)]
    Store(#[from] store::StoreError),
    /// The keys can't be read or made.
    #[error(transparent)]
    Keys(#[from] crate::access::KeyError),
    /// The first objects of the cluster can't be written.
    #[error("cannot write the first objects of the cluster: {0}")]
    Bootstrap(#[from] crate::status::Status),
}

/// A running cluster. It ends when the last handle on it is dropped.
#[derive(Debug, Clone)]
pub struct Stage {
    api: Arc<Api>,
    _controllers: Arc<Controllers>,
}

impl Stage {
    /// Starts a cluster that is kept in memory, or where the options say.
    pub async fn start(options: Options) -> Result<Self, StageError> {
        let store = match &options.data_dir {
            Some(directory) => Store::open(directory, store::Options::default()).await?,
            None => Store::in_memory(store::Options::default()),
        };
        let api = Api::new(store, options)?;
        api.bootstrap().await?;
        let controllers = Controllers::start(&api).await;
        Ok(Self {
            api,
            _controllers: Arc::new(controllers),
        })
    }

    /// Starts a cluster in memory.
    pub async fn in_memory(options: Options) -> Result<Self, StageError> {
        Self::start(Options {
            data_dir: None,
            ..options
        })
        .await
    }

    /// Returns the API.
    pub fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Returns a client of the administrator, for code in this process.
    pub fn client(&self) -> Client {
        Client::new(self.api.clone(), Caller::administrator(), "baton")
    }

    /// Returns the API as an HTTP service whose callers are trusted: one who presents nothing is the administrator.
    pub fn service(&self) -> Service {
        // A person's name, as in the kubeconfig: rules about the server's own parts don't mean this caller.
        let administrator = Caller::named("kubernetes-admin", &[MASTERS, "system:authenticated"]);
        let trusted = Some(Arc::new(administrator));
        Service {
            api: self.api.clone(),
            peer: Peer {
                trusted,
                ..Peer::default()
            },
        }
    }

    /// Returns the API as an HTTP service to strangers: one who presents nothing is anonymous.
    pub fn stranger_service(&self) -> Service {
        Service {
            api: self.api.clone(),
            peer: Peer::default(),
        }
    }

    /// Finishes what was accepted and lets go of the files.
    pub async fn stop(self) {
        self.api.store.close().await;
    }
}

/// The API as an HTTP service, without a socket.
#[derive(Debug, Clone)]
pub struct Service {
    api: Arc<Api>,
    peer: Peer,
}

impl<B> tower::Service<Request<B>> for Service
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (api, peer) = (self.api.clone(), self.peer.clone());
        Box::pin(async move { Ok(wire::handle(&api, request, peer).await) })
    }
}
