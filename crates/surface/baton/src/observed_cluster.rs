//! A cluster as the controllers see it, read once: what `plan` and `explain` think with is what the controllers think
//! with.

use std::sync::Arc;

use api::{ClusterCatalog, ClusterExtension, ClusterObjectSet};
use clap::Args;
use extension_controller::bundles::{Bundles, Certificates};
use extension_controller::observing::Observer;
use image::policy::PolicySource;
use kube::Client;
use kube::api::{Api, ListParams};
use kube::runtime::watcher::Event;
use resolve::resolution::BrokenCatalogs;
use serde::de::DeserializeOwned;

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

/// Reads the catalogs, extensions and revisions of a cluster.
pub(crate) async fn observe(
    flags: &ObservationFlags,
    terminal: &Terminal,
) -> Result<Observer<ClusterContent>, Failure> {
    let client = flags.access.connect().await?;
    let images = Arc::new(Images::open(&flags.images, PolicySource::Optional, terminal.bars())?);
    let catalogs = ClusterContent::open(&flags.content, Arc::clone(&images))?;
    let store = images.store()?.clone();
    let remotes = Arc::new(move || images.new_remote().map(Arc::new).map_err(Failure::text));
    let observer = Observer::new(
        client,
        catalogs,
        Bundles::new(remotes, store, Certificates::CertManager),
        BrokenCatalogs::Skip,
        flags.system_namespace.clone(),
    );
    let Observer { client, index, .. } = &observer;
    for extension in all::<ClusterExtension>(client, "ClusterExtensions").await? {
        index.extension_seen(Event::Apply(extension));
    }
    for revision in all::<ClusterObjectSet>(client, "ClusterObjectSets").await? {
        index.object_set_seen(Event::Apply(revision));
    }
    for catalog in all::<ClusterCatalog>(client, "ClusterCatalogs").await? {
        index.catalog_seen(Event::Apply(catalog));
    }
    Ok(observer)
}

async fn all<K>(client: &Client, called: &str) -> Result<Vec<K>, Failure>
where
    K: kube::Resource<DynamicType = ()> + Clone + DeserializeOwned + std::fmt::Debug,
{
    let list = Api::<K>::all(client.clone()).list(&ListParams::default()).await;
    Ok(list.map_err(|error| refused(&format!("list {called}"), error))?.items)
}
