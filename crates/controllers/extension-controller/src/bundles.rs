//! Bundles: their images fetched, read and rendered for an extension.
//!
//! Images are kept by their digests in a bounded store on disk that all extensions share.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use api::ClusterExtension;
use api::cluster_extension::BundleMetadata;
use bundle::files::BundleFiles;
use bundle::registry::{PROPERTIES_ANNOTATION, RegistryBundle};
use bundle::rendering::certificates::{CertManager, CertificateProvider, ServiceCa};
use bundle::rendering::configuration::{Gates, ManifestsError, manifests};
use futures_util::future::BoxFuture;
use image::content::ContentStore;
use image::manifest::host_architecture;
use image::policy::Acceptance;
use image::reference::Reference;
use image::remote::Remote;
use image::unpack::{self, Limits};
use version::Version;

use crate::agreement;
use crate::failure::Failure;
use crate::snapshot::{Content, NoContent};
use crate::standing::Bundle;

/// How many bundles stay in memory: a rollout looks at the same one several times, and at rest none is needed.
const IN_MEMORY: usize = 2;

/// What of a bundle image is read.
const PARTS: [&str; 2] = ["manifests", "metadata"];

/// Who makes the certificates of webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Certificates {
    /// cert-manager.
    #[default]
    CertManager,
    /// OpenShift's service CA.
    ServiceCa,
    /// Nobody: bundles with webhooks can't be installed.
    Nobody,
}

impl Certificates {
    fn provider(self) -> Option<&'static dyn CertificateProvider> {
        match self {
            Self::CertManager => Some(&CertManager),
            Self::ServiceCa => Some(&ServiceCa),
            Self::Nobody => None,
        }
    }
}

/// Gives the way to registries, anew for each image: mirrors and credentials may have changed.
pub type Remotes = Arc<dyn Fn() -> BoxFuture<'static, Result<Arc<Remote>, String>> + Send + Sync>;

/// Fetches bundles.
pub struct Bundles {
    remotes: Remotes,
    store: ContentStore,
    certificates: Certificates,
    /// By their names with digests: what one repository has may have to be signed in another.
    read: Mutex<VecDeque<(String, Fetched)>>,
}

/// A bundle, and why the trust policy accepts it.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The bundle.
    pub bundle: Arc<RegistryBundle>,
    /// Why it may be used.
    pub acceptance: Acceptance,
}

impl fmt::Debug for Bundles {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Bundles")
            .field("store", &self.store)
            .field("certificates", &self.certificates)
            .finish_non_exhaustive()
    }
}

impl Bundles {
    /// Fetches images into a store.
    pub fn new(remotes: Remotes, store: ContentStore, certificates: Certificates) -> Self {
        Self {
            remotes,
            store,
            certificates,
            read: Mutex::default(),
        }
    }

    /// Fetches the bundle that an image holds.
    ///
    /// # Errors
    ///
    /// If the image can't be had, or holds no bundle.
    pub async fn fetch(&self, image: &str) -> Result<Fetched, NoContent> {
        let reference = Reference::parse(image).map_err(|fault| {
            let text = format!("error parsing image reference {image:?}: {fault}");
            NoContent::Pull(Failure::lasting(text))
        })?;
        if let Some(known) = reference
            .digest()
            .and_then(|digest| self.known(&reference.with_digest(digest).to_string()))
        {
            return Ok(known);
        }
        let pulling = |fault: &dyn fmt::Display| NoContent::Pull(Failure::passing(fault));
        let remote = (self.remotes)().await.map_err(|fault| pulling(&fault))?;
        let pulled = remote
            .pull(&self.store, &reference, host_architecture())
            .await
            .map_err(|fault| pulling(&fault))?;
        let name = pulled.reference.to_string();
        if let Some(known) = self.known(&name) {
            return Ok(known);
        }
        let acceptance = pulled.acceptance.clone();
        let store = self.store.clone();
        let read = move || {
            let files = unpack::files(&store, &pulled.manifest, &PARTS, &Limits::IN_MEMORY)
                .map_err(|fault| NoContent::Pull(Failure::passing(fault)))?;
            let files = BundleFiles::from_image(files.files, files.labels);
            RegistryBundle::load(&files).map_err(|fault| NoContent::Apply(Failure::passing(fault)))
        };
        let bundle = tokio::task::spawn_blocking(read)
            .await
            .map_err(|fault| pulling(&fault))??;
        let fetched = Fetched {
            bundle: Arc::new(bundle),
            acceptance,
        };
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.len() >= IN_MEMORY {
            read.pop_front();
        }
        read.push_back((name, fetched.clone()));
        Ok(fetched)
    }

    fn known(&self, name: &str) -> Option<Fetched> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let found = read.iter().find(|(known, _)| known == name);
        found.map(|(_, fetched)| fetched.clone())
    }

    /// Renders a bundle for an extension. `bundle` is what a catalog says of it; none where it was named directly.
    ///
    /// # Errors
    ///
    /// If it can't be installed, or not with this configuration.
    pub fn render(
        &self,
        extension: &ClusterExtension,
        fetched: &Fetched,
        image: &str,
        bundle: Option<&Bundle>,
    ) -> Result<Content, NoContent> {
        let content = &*fetched.bundle;
        let configuration = extension.spec.config.as_ref();
        let inline = configuration.and_then(|configuration| configuration.inline.as_ref());
        let inline = inline.map(serde_json::to_vec).transpose();
        let inline = inline.map_err(|fault| NoContent::Apply(Failure::misconfigured(fault)))?;
        let namespace = &extension.spec.namespace;
        let provider = self.certificates.provider();
        let objects = manifests(content, namespace, inline.as_deref(), Gates::all(), provider);
        let objects = objects.map_err(|fault| NoContent::Apply(of_manifests(&fault)))?;
        // Here and not in the rendering, whose objects are upstream's one by one.
        let objects = agreement::united(objects);
        let annotations = &content.cluster_service_version["metadata"]["annotations"];
        let bundle = bundle.cloned().unwrap_or_else(|| described(content, image));
        if let Err(fault) = Version::parse(&bundle.metadata.version) {
            let version = &bundle.metadata.version;
            let text = format!(
                "the bundle's version {version:?} is no version: {fault}; ask its author to correct it"
            );
            return Err(NoContent::Apply(Failure::passing(text)));
        }
        Ok(Content {
            bundle,
            objects,
            properties: annotations[PROPERTIES_ANNOTATION].as_str().map(str::to_owned),
            signature: Some(fetched.acceptance.to_string()),
            definitions: std::collections::BTreeMap::new(),
        })
    }
}

fn of_manifests(fault: &ManifestsError) -> Failure {
    if fault.is_terminal() {
        Failure::misconfigured(fault)
    } else {
        Failure::passing(fault)
    }
}

/// Returns what a bundle says of itself.
fn described(content: &RegistryBundle, image: &str) -> Bundle {
    let text = |pointer: &str| {
        let value = content.cluster_service_version.pointer(pointer);
        value
            .and_then(|value| value.as_str())
            .unwrap_or_default()
            .to_owned()
    };
    Bundle {
        package: content.package_name.clone(),
        image: image.to_owned(),
        metadata: BundleMetadata {
            name: text("/metadata/name"),
            version: text("/spec/version"),
            release: None,
        },
    }
}
