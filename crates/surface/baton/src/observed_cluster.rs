//! A cluster as the controllers see it, read once: what `plan` and `explain` think with is what the controllers think
//! with.

use std::sync::Arc;

use clap::Args;
use extension_controller::bundles::{Bundles, Certificates, Remotes};
use extension_controller::observing::Observer;
use futures_util::FutureExt as _;
use image::content::ContentStore;
use image::policy::PolicySource;
use resolve::resolution::BrokenCatalogs;

use crate::cluster::{ClusterAccess, refused};
use crate::cluster_content::{ClusterContent, ContentFlags};
use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::terminal::Terminal;

/// How a cluster is looked at.
#[derive(Args, Clone)]
pub(crate) struct ObservationFlags {
    #[command(flatten)]
    pub(crate) access: ClusterAccess,
    /// The namespace of the Secrets that keep the objects of revisions
    #[arg(long, value_name = "NAMESPACE", default_value = api::keys::SYSTEM_NAMESPACE)]
    pub(crate) system_namespace: String,
    #[command(flatten)]
    content: ContentFlags,
    #[command(flatten)]
    images: ImageFlags,
}

/// A cluster, and where what is installed in it comes from.
pub(crate) struct Origins {
    pub(crate) client: kube::Client,
    pub(crate) catalogs: ClusterContent,
    pub(crate) remotes: Remotes,
    pub(crate) store: ContentStore,
}

/// Opens the ways to a cluster, its catalogs and the registries; nothing is read yet.
pub(crate) async fn open(flags: &ObservationFlags, terminal: &Terminal) -> Result<Origins, Failure> {
    let client = flags.access.connect().await?;
    let images = Arc::new(Images::open(
        &flags.images,
        PolicySource::Optional,
        terminal.bars(),
    )?);
    let catalogs = ClusterContent::open(&flags.content, Arc::clone(&images))?;
    let store = images.store()?.clone();
    let remotes = move || {
        let remote = images.new_remote().map(Arc::new).map_err(Failure::text);
        std::future::ready(remote).boxed()
    };
    Ok(Origins {
        client,
        catalogs,
        remotes: Arc::new(remotes),
        store,
    })
}

/// Reads the catalogs, extensions and revisions of a cluster.
pub(crate) async fn observe(
    flags: &ObservationFlags,
    terminal: &Terminal,
) -> Result<Observer<ClusterContent>, Failure> {
    let Origins {
        client,
        catalogs,
        remotes,
        store,
    } = open(flags, terminal).await?;
    let observer = Observer::new(
        client,
        catalogs,
        Bundles::new(remotes, store, Certificates::CertManager),
        BrokenCatalogs::Skip,
        flags.system_namespace.clone(),
    );
    observer.fill().await.map_err(|error| {
        refused(
            "list ClusterExtensions, ClusterObjectSets and ClusterCatalogs",
            error,
        )
    })?;
    Ok(observer)
}
