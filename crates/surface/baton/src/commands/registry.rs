//! `baton registry`: the embedded OCI registry, served on its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use hosts::Hosts;
use image::registry::{
    Access, GarbageOptions, GarbageReport, Registry, RegistryOptions, Strangers, TlsIdentity, Users,
};

use crate::failure::Failure;
use crate::runtime;
use crate::terminal::Terminal;

/// An OCI registry for images, charts and anything else, in one folder.
#[derive(Subcommand)]
pub(crate) enum RegistryCommand {
    Serve(Serve),
    CollectGarbage(CollectGarbage),
}

impl RegistryCommand {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        match self {
            Self::Serve(serve) => serve.run(terminal),
            Self::CollectGarbage(collect) => collect.run(terminal),
        }
    }
}

/// Serves a folder as an OCI registry until it is stopped.
#[derive(Args)]
pub(crate) struct Serve {
    /// The folder that holds everything; made when it isn't there
    #[arg(long, value_name = "FOLDER", default_value = "baton-registry")]
    storage: PathBuf,
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:5000")]
    address: SocketAddr,
    /// Let in only who is in this htpasswd file (bcrypt)
    #[arg(long, value_name = "FILE")]
    htpasswd: Option<PathBuf>,
    /// Let everyone read; who is in the htpasswd file may write
    #[arg(long, requires = "htpasswd")]
    anonymous_read: bool,
    /// A name by which clients ask for this machine; may be repeated
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Serve with TLS: the certificate chain, PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// Serve with TLS: the private key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Refuse pushes and deletions
    #[arg(long)]
    read_only: bool,
    /// Refuse to move or delete a tag once it is pushed
    #[arg(long)]
    immutable_tags: bool,
    /// Collect garbage this often, in minutes; 0 is never
    #[arg(long, value_name = "MINUTES")]
    collect_every: Option<u64>,
}

impl Serve {
    fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let access = match &self.htpasswd {
            None => Access::Open,
            Some(file) => Access::Users {
                users: Arc::new(Users::from_htpasswd(file)?),
                strangers: if self.anonymous_read {
                    Strangers::Read
                } else {
                    Strangers::StayOut
                },
            },
        };
        let mut options = RegistryOptions::guarded(&self.storage, access);
        // Which names lead to a machine that others reach is not known here.
        let is_local = self.address.ip().to_canonical().is_loopback();
        options.hosts =
            (is_local || !self.hosts.is_empty()).then(|| Hosts::of(self.address.ip()).with_all(&self.hosts));
        options.read_only = self.read_only;
        options.immutable_tags = self.immutable_tags;
        if let Some(minutes) = self.collect_every {
            options.collect_every = (minutes > 0).then(|| Duration::from_secs(minutes.saturating_mul(60)));
        }
        let tls = match (&self.tls_certificate, &self.tls_key) {
            (Some(certificate), Some(key)) => Some(TlsIdentity::from_files(certificate, key)?),
            _ => None,
        };
        let registry = Registry::open(options)?;
        runtime::block_on(async {
            let listener = tokio::net::TcpListener::bind(self.address)
                .await
                .map_err(|error| {
                    Failure::new(format!(
                        "cannot listen on {}: {error}; give another --address",
                        self.address
                    ))
                })?;
            // Listening for signals first: who reads the line below may stop the registry at once.
            let stop = runtime::stop_signal()?;
            let serving = registry.serve(listener, tls)?;
            terminal.remark(format!(
                "registry at {} keeps its content in {}",
                serving.url(),
                self.storage.display()
            ));
            stop.await;
            terminal.remark("stopping");
            serving.stop().await;
            Ok(())
        })
    }
}

/// Removes what no manifest of a registry leads to; the registry must not be running.
#[derive(Args)]
pub(crate) struct CollectGarbage {
    /// The folder of the registry
    #[arg(long, value_name = "FOLDER", default_value = "baton-registry")]
    storage: PathBuf,
    /// Remove manifests that no tag leads to as well
    #[arg(long)]
    untagged: bool,
    /// Keep what is younger than this, in minutes
    #[arg(long, value_name = "MINUTES")]
    grace: Option<u64>,
}

impl CollectGarbage {
    fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let mut options = GarbageOptions {
            remove_untagged: self.untagged,
            ..GarbageOptions::default()
        };
        if let Some(minutes) = self.grace {
            options.grace = Duration::from_secs(minutes.saturating_mul(60));
        }
        let report =
            Registry::open(RegistryOptions::open_to_all(&self.storage))?.collect_garbage(&options)?;
        let GarbageReport {
            repositories,
            manifests_removed,
            blobs_removed,
            bytes_freed,
            uploads_expired,
            ..
        } = &report;
        for skipped in &report.skipped {
            terminal.remark(format!("skipped {skipped}"));
        }
        terminal.print(
            format!(
                "repositories {repositories}, manifests removed {manifests_removed}, blobs removed {blobs_removed}, \
                 bytes freed {bytes_freed}, uploads expired {uploads_expired}\n"
            )
            .as_bytes(),
        )
    }
}
