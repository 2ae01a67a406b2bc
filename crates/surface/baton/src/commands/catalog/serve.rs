//! `baton catalog serve`: a catalog over gRPC, as `opm serve` does.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::commands::serving::{self, CatalogServer};
use crate::failure::Failure;
use crate::terminal::Terminal;

/// Serves a catalog's directory over gRPC (api.Registry) until it is stopped.
#[derive(Args)]
pub(crate) struct Serve {
    /// The catalog's directory
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:50051")]
    address: SocketAddr,
    /// Keep the index in this folder; the next start with the same catalog takes milliseconds
    #[arg(long, value_name = "FOLDER")]
    cache_dir: Option<PathBuf>,
}

impl Serve {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let server = CatalogServer { directory: self.directory, cache: self.cache_dir, enforce_integrity: false, cache_only: false };
        serving::serve(&server, self.address, terminal)
    }
}
