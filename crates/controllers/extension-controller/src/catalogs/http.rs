//! The content of catalogs that another process serves, fetched over HTTP and kept on disk by its digest.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use api::ClusterCatalog;
use catalog::reading::Source;
use catalog::store::{BuildError, Store};
use image::digest::Digest;
use image::reference::Reference;

use super::{Catalogs, ContentError};

/// The most bytes of one catalog: the largest known one has 55 MB.
pub const MAX_CATALOG_BYTES: u64 = 2 << 30;

/// Fetches the content of catalogs over HTTP.
#[derive(Debug)]
pub struct Http {
    client: reqwest::Client,
    folder: PathBuf,
    /// By the catalog: one fetch at a time, and what it came to.
    kept: Mutex<HashMap<String, Slot>>,
}

/// The content of one catalog; whoever holds the lock fetches it.
type Slot = Arc<tokio::sync::Mutex<Option<Arc<Store>>>>;

impl Http {
    /// Keeps content in a folder, which is made if need be.
    pub fn new(client: reqwest::Client, folder: impl Into<PathBuf>) -> Self {
        Self {
            client,
            folder: folder.into(),
            kept: Mutex::default(),
        }
    }

    fn slot(&self, catalog: &str) -> Slot {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(kept.entry(catalog.to_owned()).or_default())
    }

    async fn fetch(&self, base: &str, folder: &Path, digest: Digest) -> Result<Store, String> {
        let address = format!("{}/api/v1/all", base.trim_end_matches('/'));
        let response = self.client.get(&address).send().await.map_err(whole_cause)?;
        if !response.status().is_success() {
            return Err(format!(
                "received unexpected response status code {}",
                response.status()
            ));
        }
        let etag = response.headers().get(reqwest::header::ETAG);
        let etag = etag.and_then(|etag| etag.to_str().ok()).unwrap_or_default();
        let stated: Option<Digest> = etag.trim_matches('"').parse().ok();
        if let Some(stated) = stated.filter(|stated| *stated != digest) {
            return Err(format!("{address} serves {stated} by now, and not {digest}"));
        }
        std::fs::create_dir_all(folder).map_err(|fault| fault.to_string())?;
        let place = tempfile::Builder::new()
            .prefix(".fetched")
            .tempdir_in(folder)
            .map_err(|fault| fault.to_string())?;
        let mut file =
            std::fs::File::create(place.path().join("catalog.jsonl")).map_err(|fault| fault.to_string())?;
        let mut response = response;
        let mut size: u64 = 0;
        while let Some(chunk) = response.chunk().await.map_err(whole_cause)? {
            size = size.saturating_add(chunk.len() as u64);
            if size > MAX_CATALOG_BYTES {
                return Err(format!(
                    "{address} has more than {MAX_CATALOG_BYTES} bytes; split the catalog"
                ));
            }
            file.write_all(&chunk).map_err(|fault| fault.to_string())?;
        }
        drop(file);
        let folder = folder.to_path_buf();
        let build = move || {
            Store::open_or_build(&folder, &digest, |mut writer| -> Result<Store, BuildError> {
                writer.push_all(Source::Directory(place.path()))?;
                Ok(writer.finish()?)
            })
            .map_err(|fault| fault.to_string())
        };
        tokio::task::spawn_blocking(build)
            .await
            .map_err(|fault| fault.to_string())?
    }
}

impl Catalogs for Http {
    async fn content(&self, catalog: &ClusterCatalog) -> Result<Arc<Store>, ContentError> {
        let name = catalog.name();
        let not_served = || ContentError::NotServed(name.to_owned());
        let reference = catalog.resolved_reference().ok_or_else(not_served)?;
        let base = &catalog.status.urls.as_ref().ok_or_else(not_served)?.base;
        let not_fetched = |cause: String| ContentError::NotFetched {
            catalog: name.to_owned(),
            cause,
        };
        let digest = Reference::parse(reference)
            .map_err(|fault| not_fetched(fault.to_string()))?
            .digest()
            .ok_or_else(|| not_fetched(format!("{reference} has no digest")))?;
        let slot = self.slot(name);
        let mut kept = slot.lock().await;
        if let Some(store) = kept.as_ref().filter(|store| *store.digest() == digest) {
            return Ok(Arc::clone(store));
        }
        let folder = self.folder.join(name);
        let store = match Store::open(&folder, &digest) {
            Ok(Some(store)) => store,
            _ => self.fetch(base, &folder, digest).await.map_err(not_fetched)?,
        };
        // What was fetched before is of no use any more; if it stays, it only takes room.
        store.delete_others(&folder).ok();
        let store = Arc::new(store);
        *kept = Some(Arc::clone(&store));
        Ok(store)
    }
}

/// Tells an error with all its causes: the first one alone seldom says why.
fn whole_cause(error: reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    text
}
