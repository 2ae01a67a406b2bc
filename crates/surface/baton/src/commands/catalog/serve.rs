//! `baton catalog serve`: a catalog over gRPC, as `opm serve` does.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use catalog::grpc;
use catalog::grpc::serving::{ServeOptions, prepare};
use catalog::store::CurrentStore;
use clap::Args;
use tokio::net::TcpListener;

use crate::failure::Failure;
use crate::runtime;
use crate::terminal::Terminal;

/// Serves a catalog's directory over gRPC (api.Registry) until it is stopped.
#[derive(Args)]
pub(crate) struct Serve {
    /// The catalog's directory
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:50051")]
    address: SocketAddr,
    /// Keep the index in this folder; the next start with the same catalog takes milliseconds
    #[arg(long, value_name = "FOLDER")]
    cache_dir: Option<PathBuf>,
}

impl Serve {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let options = ServeOptions {
            source: self.directory.clone(),
            cache_directory: self.cache_dir,
            cache_only: false,
            enforce_integrity: Some(false),
        };
        runtime::block_on(async {
            let prepared = tokio::task::spawn_blocking(move || prepare(&options)).await??;
            let listener = TcpListener::bind(self.address).await.map_err(|error| {
                Failure::new(format!(
                    "cannot listen on {}: {error}; give another --address",
                    self.address
                ))
            })?;
            // Who reads that it is served may ask it to stop at once.
            let stop = runtime::stop_signal()?;
            terminal.remark(format!(
                "catalog {} is served at {}",
                self.directory.display(),
                listener.local_addr()?
            ));
            grpc::serve(
                Arc::new(CurrentStore::new(prepared.store.clone())),
                listener,
                stop,
            )
            .await?;
            terminal.remark("stopped");
            Ok(())
        })
    }
}
