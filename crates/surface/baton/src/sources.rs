//! The content of CatalogSources, read by a command on somebody's machine as the controller reads it.

use std::sync::Arc;
use std::time::Duration;

use apply::object::text;
use clap::Args;
use classic::{Kind, World};
use classic_controller::sources::content::Content;
use classic_controller::sources::image::Images as SourceImages;
use classic_controller::sources::{Connectivity, SourceName, Sources, Wish};
use image::policy::PolicySource;
use install_plan::source::{Observed, Serve, decide};
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::Notify;

use crate::cluster::ClusterAccess;
use crate::cluster_content::ContentFlags;
use crate::failure::Failure;
use crate::images::{ImageFlags, Images};
use crate::subscriptions::{Subscriptions, place};
use crate::terminal::Terminal;

/// How long reading all catalogs may take.
const READ_WITHIN: Duration = Duration::from_mins(2);

/// How catalogs of OLM v0 are found and read.
#[derive(Args, Clone)]
pub(crate) struct SourceFlags {
    #[command(flatten)]
    pub(crate) access: ClusterAccess,
    /// The namespace whose CatalogSources every namespace sees
    #[arg(long, value_name = "NAMESPACE", default_value = "olm")]
    pub(crate) global_catalog_namespace: String,
    #[command(flatten)]
    content: ContentFlags,
    #[command(flatten)]
    images: ImageFlags,
}

/// A CatalogSource, and what it holds or why that isn't known.
pub(crate) struct ReadSource {
    pub(crate) source: Value,
    pub(crate) content: Result<Arc<Content>, String>,
}

impl SourceFlags {
    /// Lists the CatalogSources that a namespace sees: its own, and the global ones unless they are left out.
    pub(crate) async fn list(
        &self,
        subscriptions: &Subscriptions,
        namespace: &str,
        with_global: bool,
    ) -> Result<Vec<Value>, Failure> {
        let mut sources = subscriptions.list(Kind::CatalogSource, namespace).await?;
        if with_global && self.global_catalog_namespace != namespace {
            let global = &self.global_catalog_namespace;
            sources.extend(subscriptions.list(Kind::CatalogSource, global).await?);
        }
        Ok(sources)
    }

    /// Reads CatalogSources, all at the same time: images from their registries, ConfigMaps from the cluster, servers where
    /// they can be reached from here.
    pub(crate) async fn read(
        &self,
        subscriptions: &Subscriptions,
        found: Vec<Value>,
        terminal: &Terminal,
    ) -> Result<Vec<ReadSource>, Failure> {
        let images = Arc::new(Images::open(
            &self.images,
            PolicySource::Optional,
            terminal.bars(),
        )?);
        let store = images.store()?.clone();
        let folder = self.content.folder()?.join("classic");
        let images = SourceImages::new(store, folder, move || images.remote_options());
        let changed = Arc::new(Notify::new());
        let heard = Arc::clone(&changed);
        let client = subscriptions.client().clone();
        let sources = Sources::new(client, Some(images), Arc::new(move |_, _| heard.notify_one()));
        let mut read = Vec::with_capacity(found.len());
        for source in found {
            let (namespace, name) = place(&source);
            let wish = wish(subscriptions, &source).await?;
            let name = SourceName { namespace, name };
            if let Some(wish) = &wish {
                sources.look_after(&name, wish);
            }
            read.push((source, name, wish.is_some()));
        }
        let is_known = |name: &SourceName| {
            sources.standing(name).is_none_or(|standing| {
                standing.content.is_ok() || standing.connectivity == Connectivity::TransientFailure
            })
        };
        let waiting = async {
            while !read.iter().all(|(_, name, _)| is_known(name)) {
                changed.notified().await;
            }
        };
        // What isn't known by then says so.
        tokio::time::timeout(READ_WITHIN, waiting).await.ok();
        let read = read.into_iter().map(|(source, name, is_wished)| {
            let content = match sources.standing(&name) {
                Some(standing) => standing.content.map_err(|fault| fault.to_string()),
                None if is_wished => Err("nobody looks after it".to_owned()),
                None => Err(match text(&source, "/status/message") {
                    "" => "it says neither image nor address nor ConfigMap".to_owned(),
                    message => message.to_owned(),
                }),
            };
            ReadSource { source, content }
        });
        Ok(read.collect())
    }
}

/// Where a CatalogSource is read from; none if it doesn't say.
async fn wish(subscriptions: &Subscriptions, source: &Value) -> Result<Option<Wish>, Failure> {
    let (namespace, name) = place(source);
    let mut world = World::default();
    world.put(source.clone());
    let map = text(source, "/spec/configMap");
    if !map.is_empty() {
        let map = subscriptions.get(Kind::ConfigMap, &namespace, map).await?;
        if let Some(map) = map {
            world.put(map);
        }
    }
    let decision = decide(&world, &namespace, &name, &Observed::default(), Timestamp::now());
    Ok(decision.serve.and_then(|serve| match serve {
        Serve::Address(address) => Some(Wish::Address(address)),
        // Read once, so never again.
        Serve::Image { image, secrets, .. } => Some(Wish::Image {
            reference: image,
            secrets,
            every: None,
        }),
        Serve::ConfigMap {
            name,
            resource_version,
        } => Some(Wish::ConfigMap {
            name,
            version: resource_version,
        }),
        // Nobody waits for it here.
        Serve::MissingConfigMap { .. } => None,
    }))
}
