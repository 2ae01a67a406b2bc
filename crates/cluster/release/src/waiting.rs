//! Waiting for objects by watching them.

use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::watch_object;
use serde_json::Value;

use crate::cluster::{Cluster, Placed, ServerError};

/// What is said of something that took too long, in the words of Go's clients.
pub(crate) const TIMED_OUT: &str = "timed out waiting for the condition";

/// How a wait ended.
pub(crate) enum Waited {
    /// As hoped.
    Done,
    /// Otherwise; with the cause.
    Failed(String),
}

/// What is seen of an object.
pub(crate) enum Sight {
    /// It is not there yet.
    Waiting,
    /// The wait is over.
    Over(Waited),
}

/// Why a wait ended early.
pub(crate) enum WaitError {
    /// The time is over.
    TimedOut,
    /// It can't be watched.
    Server(ServerError),
}

/// Watches an object until it is seen to be as hoped, or that it never will be; `None` is an object that isn't there.
pub(crate) async fn until(
    cluster: &Cluster,
    placed: &Placed,
    timeout: Duration,
    look: impl Fn(Option<&Value>) -> Sight,
) -> Result<Waited, WaitError> {
    let watching = async {
        let mut seen = pin!(watch_object(placed.api(cluster.client()), &placed.id.name).default_backoff());
        while let Some(object) = seen.next().await {
            match object {
                Ok(object) => {
                    let object = object.and_then(|object| serde_json::to_value(object).ok());
                    if let Sight::Over(waited) = look(object.as_ref()) {
                        return Ok(waited);
                    }
                }
                // A watch that breaks off begins anew; one that isn't allowed never will.
                Err(error) => {
                    let error = refused(placed, error);
                    if error.missing_permission().is_some() || error.is_not_found() {
                        return Err(WaitError::Server(error));
                    }
                    tracing::debug!(object = %placed.id, %error, "a watch begins anew");
                }
            }
        }
        Err(WaitError::TimedOut)
    };
    tokio::time::timeout(timeout, watching)
        .await
        .unwrap_or(Err(WaitError::TimedOut))
}

fn refused(placed: &Placed, error: kube::runtime::watcher::Error) -> ServerError {
    use kube::runtime::watcher::Error;
    let source = match error {
        Error::InitialListFailed(source) | Error::WatchStartFailed(source) | Error::WatchFailed(source) => {
            source
        }
        Error::WatchError(status) => kube::Error::Api(status),
        Error::NoResourceVersion => kube::Error::Service("the list has no resource version".into()),
    };
    ServerError::Refused {
        attempted: placed.permission("watch"),
        source: Box::new(source),
    }
}

/// Waits until an object is gone.
pub(crate) async fn until_gone(
    cluster: &Cluster,
    placed: &Placed,
    timeout: Duration,
) -> Result<(), WaitError> {
    let look = |object: Option<&Value>| match object {
        None => Sight::Over(Waited::Done),
        Some(_) => Sight::Waiting,
    };
    until(cluster, placed, timeout, look).await.map(|_| ())
}
