//! Images of catalogs and bundles, pulled by this process: no pod and no Job.

use std::path::PathBuf;
use std::sync::Arc;

use ::image::content::ContentStore;
use ::image::credentials::{CredentialsDocument, Secret as Hidden};
use ::image::digest::Digest;
use ::image::manifest::{self, host_architecture};
use ::image::reference::Reference;
use ::image::remote::{Remote, RemoteError, RemoteOptions};
use ::image::unpack::{self, Limits};
use bundle::files::BundleFiles;
use bundle::registry::RegistryBundle;
use catalog::reading::Source;
use catalog::store::{BuildError, Store};
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use tokio::sync::Semaphore;

use super::SourceName;
use super::content::Content;

/// The label that says where the catalog lies in its image.
const CONFIGS_LABEL: &str = "operators.operatorframework.io.index.configs.v1";

/// The key of a Secret in the form that Docker and Podman write today.
const CURRENT_KEY: &str = ".dockerconfigjson";

/// The key of a Secret in the form that Docker once wrote.
const LEGACY_KEY: &str = ".dockercfg";

/// What of a bundle image is read.
const BUNDLE_PARTS: [&str; 2] = ["manifests", "metadata"];

/// How many images are unpacked and indexed at the same time: each keeps a core and the disk busy.
const MAX_BUILDS_AT_ONCE: usize = 2;

/// Why there is no bundle.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The image can't be had; later it may be.
    #[error("{0}")]
    Unavailable(String),
    /// The image is here, and is no bundle.
    #[error("image {image} holds no bundle that can be installed: {cause}")]
    Broken {
        /// The image.
        image: String,
        /// What is wrong with it.
        cause: String,
    },
}

/// A catalog from an image.
pub struct Pulled {
    /// The image, by digest.
    pub image: String,
    /// What it holds.
    pub content: Content,
    /// Who signed the image; none where nobody had to.
    pub signature: Option<String>,
}

/// How images are fetched and where they are kept.
#[derive(Clone)]
pub struct Images {
    content: ContentStore,
    stores: PathBuf,
    options: Arc<dyn Fn() -> Result<RemoteOptions, RemoteError> + Send + Sync>,
    builds: Arc<Semaphore>,
}

impl Images {
    /// Takes a store for the parts of images, a folder for catalogs, and what is asked before each fetch how registries
    /// are talked to.
    pub fn new(
        content: ContentStore,
        stores: PathBuf,
        options: impl Fn() -> Result<RemoteOptions, RemoteError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            content,
            stores,
            options: Arc::new(options),
            builds: Arc::new(Semaphore::new(MAX_BUILDS_AT_ONCE)),
        }
    }

    fn remote(&self, secrets: Vec<CredentialsDocument>) -> Result<Remote, String> {
        let mut options = (self.options)().map_err(|fault| fault.to_string())?;
        options.credentials = options.credentials.with_documents(secrets);
        Ok(Remote::new(options))
    }

    /// Returns the catalog that an image holds; none if that is the known one.
    ///
    /// # Errors
    ///
    /// If the image can't be had, or holds no catalog.
    pub async fn catalog(
        &self,
        source: &SourceName,
        image: &str,
        secrets: Vec<CredentialsDocument>,
        known: Option<&str>,
    ) -> Result<Option<Pulled>, String> {
        let reference = Reference::parse(image).map_err(|fault| format!("{image:?}: {fault}"))?;
        let remote = self.remote(secrets)?;
        let digest = if let Some(digest) = reference.digest() {
            digest
        } else {
            let found = remote
                .resolve(&reference)
                .await
                .map_err(|fault| fault.to_string())?;
            manifest::digest_of(&found).map_err(|fault| fault.to_string())?
        };
        let canonical = reference.with_digest(digest);
        if known == Some(canonical.to_string().as_str()) {
            return Ok(None);
        }
        let pulled = remote
            .pull(&self.content, &canonical, host_architecture())
            .await
            .map_err(|fault| fault.to_string())?;
        let acceptance = &pulled.acceptance;
        let signature = acceptance.is_signed().then(|| acceptance.to_string());
        let _turn = self.builds.acquire().await.map_err(|fault| fault.to_string())?;
        let (content, stores, source) = (self.content.clone(), self.stores.clone(), source.clone());
        let build = move || -> Result<Content, String> {
            let labels = unpack::labels(&content, &pulled.manifest).map_err(|fault| fault.to_string())?;
            let configs = labels
                .get(CONFIGS_LABEL)
                .ok_or_else(|| format!("catalog image is missing the required label {CONFIGS_LABEL:?}"))?;
            let store = store(&stores, digest, |root| {
                unpack::to_directory(&content, &pulled.manifest, root, &[configs], &Limits::ON_DISK)
                    .map_err(|fault| fault.to_string())
            })?;
            Content::from_store(&source, &store).map_err(|fault| fault.to_string())
        };
        let built = tokio::task::spawn_blocking(build)
            .await
            .map_err(|fault| fault.to_string())??;
        Ok(Some(Pulled {
            image: canonical.to_string(),
            content: built,
            signature,
        }))
    }

    /// Returns the bundle that an image holds, and the image by digest.
    ///
    /// # Errors
    ///
    /// If the image can't be had, or holds no bundle.
    pub async fn bundle(
        &self,
        image: &str,
        secrets: Vec<CredentialsDocument>,
    ) -> Result<(String, RegistryBundle), BundleError> {
        let unavailable = |fault: String| BundleError::Unavailable(fault);
        let reference =
            Reference::parse(image).map_err(|fault| unavailable(format!("{image:?}: {fault}")))?;
        let remote = self.remote(secrets).map_err(unavailable)?;
        let pulled = remote
            .pull(&self.content, &reference, host_architecture())
            .await
            .map_err(|fault| unavailable(fault.to_string()))?;
        let name = pulled.reference.to_string();
        let content = self.content.clone();
        let read = move || {
            let files = unpack::files(&content, &pulled.manifest, &BUNDLE_PARTS, &Limits::IN_MEMORY)
                .map_err(|fault| fault.to_string())?;
            let files = BundleFiles::from_image(files.files, files.labels);
            RegistryBundle::load(&files).map_err(|fault| fault.to_string())
        };
        let bundle = tokio::task::spawn_blocking(read)
            .await
            .map_err(|fault| unavailable(fault.to_string()))?;
        let bundle = bundle.map_err(|cause| BundleError::Broken {
            image: image.to_owned(),
            cause,
        })?;
        Ok((name, bundle))
    }
}

/// Opens the store of a catalog; one that isn't there is built from what `unpack` puts into a folder.
fn store(
    stores: &std::path::Path,
    digest: Digest,
    unpack: impl FnOnce(&std::path::Path) -> Result<(), String>,
) -> Result<Store, String> {
    let failed = |fault: std::io::Error| format!("cannot unpack into {}: {fault}", stores.display());
    if let Ok(Some(store)) = Store::open(stores, &digest) {
        return Ok(store);
    }
    std::fs::create_dir_all(stores).map_err(failed)?;
    let folder = tempfile::tempdir_in(stores).map_err(failed)?;
    let root = folder.path().join("root");
    unpack(&root)?;
    Store::open_or_build(stores, &digest, |mut writer| {
        writer.push_all(Source::Directory(&root))?;
        writer.finish_with_registry()
    })
    .map_err(|fault: BuildError| fault.to_string())
}

/// Reads the credentials that Secrets of a namespace hold; a Secret that isn't there is passed over, as the kubelet does.
///
/// # Errors
///
/// If the cluster can't be asked.
pub async fn credentials(
    client: &Client,
    namespace: &str,
    names: &[String],
) -> Result<Vec<CredentialsDocument>, String> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let mut documents = Vec::new();
    for name in names {
        let secret = secrets
            .get_opt(name)
            .await
            .map_err(|fault| format!("cannot read pull secret {namespace}/{name}: {fault}"))?;
        let mut data = secret.and_then(|secret| secret.data).unwrap_or_default();
        let (content, is_legacy) = match (data.remove(CURRENT_KEY), data.remove(LEGACY_KEY)) {
            (Some(content), _) => (content, false),
            (None, Some(content)) => (content, true),
            (None, None) => continue,
        };
        if let Ok(content) = String::from_utf8(content.0) {
            documents.push(CredentialsDocument {
                origin: format!("Secret {namespace}/{name}"),
                content: Hidden::new(content),
                is_legacy,
            });
        }
    }
    Ok(documents)
}
