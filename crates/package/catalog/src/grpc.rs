//! The gRPC API of a served catalog, `api.Registry`.
//!
//! ```text
//! proto/registry.proto ─ xtask ─► generated ─┬─ messages: for clients
//!                                            └─ server: registry, experimental ─► Store
//! health, reflection: for probes and tools
//! serving: the store of a directory, found in a cache or built, as `opm serve` does it
//! ```

mod encoded;
mod experimental;
mod health;
mod registry;
pub mod serving;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic_health::pb::health_server::HealthServer;

use crate::store::CurrentStore;
use experimental::ExperimentalService;
use health::HealthService;
use registry::RegistryService;
use server::experimental_registry_server::ExperimentalRegistryServer;
use server::registry_server::RegistryServer;

/// The messages of `api.Registry`, and a client for it.
#[expect(
    missing_docs,
    clippy::pedantic,
    reason = "generated from proto/registry.proto"
)]
pub mod messages {
    include!("grpc/generated/messages.rs");
}

#[expect(
    unreachable_pub,
    clippy::pedantic,
    reason = "generated from proto/registry.proto"
)]
mod server {
    include!("grpc/generated/server.rs");
}

/// The descriptions of the API, for tools that ask for them by gRPC reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!("grpc/generated/registry.bin");

/// Why a catalog can't be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The connection handling failed.
    #[error("cannot serve the catalog: {0}")]
    Transport(#[from] tonic::transport::Error),
    /// The descriptions of the API contradict each other.
    #[error("cannot describe the catalog's API: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
}

/// How long calls that are under way may take after the server was told to stop.
///
/// Kubernetes kills a pod after 30 seconds by default; ending before that leaves the exit status ours.
const GRACE_PERIOD: Duration = Duration::from_secs(20);

/// Serves the store of the moment on `listener` until `shutdown` is done; then answers what was asked before, for no
/// longer than twenty seconds, and returns.
pub async fn serve(
    current: Arc<CurrentStore>,
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    // Answers are small and somebody waits for each, so none of them waits for company.
    let connections = TcpIncoming::from(listener).with_nodelay(Some(true));
    let (begun, stopping) = oneshot::channel();
    let serving = Server::builder()
        .add_service(RegistryServer::new(RegistryService::new(Arc::clone(&current))))
        .add_service(ExperimentalRegistryServer::new(ExperimentalService::new(current)))
        .add_service(HealthServer::new(HealthService))
        .add_service(descriptions().build_v1()?)
        .add_service(descriptions().build_v1alpha()?)
        .serve_with_incoming_shutdown(connections, async {
            shutdown.await;
            begun.send(()).ok();
        });
    let patience = async {
        match stopping.await {
            Ok(()) => tokio::time::sleep(GRACE_PERIOD).await,
            // The server ended by itself, and says so on the other branch.
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        outcome = serving => Ok(outcome?),
        () = patience => Ok(()),
    }
}

/// Every service that is served.
fn descriptions() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .include_reflection_service(false)
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET)
}
