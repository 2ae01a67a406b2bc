//! The content of a cluster's catalogs, as a command on somebody's machine can get it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api::ClusterCatalog;
use catalog::reading::Source;
use catalog::store::{BuildError, Store};
use clap::Args;
use extension_controller::catalogs::http::Http;
use extension_controller::catalogs::{Catalogs, ContentError};
use image::reference::Reference;
use kube::ResourceExt as _;

use crate::failure::Failure;
use crate::images::Images;

/// How long to try whether a catalog's address can be reached from here: in a cluster it often can't.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);

/// Where fetched catalogs are kept on this machine.
#[derive(Args, Clone, Default)]
pub(crate) struct ContentFlags {
    /// Keep fetched catalogs in this folder
    #[arg(
        long,
        value_name = "FOLDER",
        env = "BATON_CATALOG_CACHE",
        hide_env_values = true
    )]
    catalog_cache: Option<PathBuf>,
}

impl ContentFlags {
    /// The folder.
    pub(crate) fn folder(&self) -> Result<PathBuf, Failure> {
        match &self.catalog_cache {
            Some(folder) => Ok(folder.clone()),
            None => std::env::home_dir()
                .map(|home| home.join(".cache/baton/catalogs"))
                .ok_or_else(|| {
                    Failure::new("no home folder to keep catalogs in; give one with --catalog-cache")
                }),
        }
    }
}

/// Fetches catalogs from where the cluster serves them, or else their images from their registries.
pub(crate) struct ClusterContent {
    http: Http,
    images: Arc<Images>,
    folder: PathBuf,
}

impl ClusterContent {
    pub(crate) fn open(flags: &ContentFlags, images: Arc<Images>) -> Result<Self, Failure> {
        let folder = flags.folder()?;
        let client = reqwest::Client::builder()
            .connect_timeout(CONNECT_WITHIN)
            .build()
            .map_err(|error| Failure::new(format!("cannot talk HTTP: {error}")))?;
        Ok(Self {
            http: Http::new(client, folder.join("served")),
            images,
            folder: folder.join("images"),
        })
    }

    /// Fetches the image that a catalog serves.
    async fn fetch_image(&self, catalog: &ClusterCatalog) -> Result<Store, String> {
        let reference = catalog.resolved_reference().unwrap_or_default();
        let digest = Reference::parse(reference)
            .map_err(|error| error.to_string())?
            .digest()
            .ok_or_else(|| format!("{reference} has no digest"))?;
        let folder = self.folder.join(catalog.name_any());
        if let Ok(Some(store)) = Store::open(&folder, &digest) {
            return Ok(store);
        }
        let files = self
            .images
            .catalog_files(reference)
            .await
            .map_err(Failure::text)?;
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Store::open_or_build(&folder, &digest, |mut writer| -> Result<Store, BuildError> {
            writer.push_all(Source::Files(&files))?;
            Ok(writer.finish()?)
        })
        .map_err(|error| error.to_string())
    }
}

impl Catalogs for ClusterContent {
    async fn content(&self, catalog: &ClusterCatalog) -> Result<Arc<Store>, ContentError> {
        let unserved = match self.http.content(catalog).await {
            Ok(store) => return Ok(store),
            Err(error @ ContentError::NotServed(_)) => return Err(error),
            Err(error) => error,
        };
        match self.fetch_image(catalog).await {
            Ok(store) => Ok(Arc::new(store)),
            Err(cause) => Err(ContentError::NotFetched {
                catalog: catalog.name_any(),
                cause: format!("{unserved}; and its image can't be fetched either: {cause}"),
            }),
        }
    }
}
