//! From the name of an image to a store of its catalog.

use std::path::Path;
use std::sync::Arc;

use catalog::reading::Source;
use catalog::store::{BuildError, Store, StoreError};
use gotemplate::format::quoted;
use image::content::ContentStore;
use image::credentials::CredentialsDocument;
use image::digest::Digest;
use image::manifest;
use image::policy::{Acceptance, PolicyError, PolicySource};
use image::reference::{InvalidReference, Reference};
use image::remote::{Pulled, Remote, RemoteError, RemoteOptions};
use image::surroundings::Surroundings;
use image::unpack::{self, Limits, UnpackError};
use tokio::sync::Semaphore;

use crate::contents::{Contents, Expected};
use crate::pull_secrets::SecretError;

/// The label that says where the catalog lies in its image.
pub const CONFIGS_LABEL: &str = "operators.operatorframework.io.index.configs.v1";

/// How many images are unpacked and indexed at the same time: each keeps a core and the disk busy.
const MAX_BUILDS_AT_ONCE: usize = 2;

/// How images are fetched and where their parts are kept.
#[derive(Clone)]
pub struct Images {
    content: ContentStore,
    options: Arc<dyn Fn() -> Result<RemoteOptions, RemoteError> + Send + Sync>,
    builds: Arc<Semaphore>,
}

impl std::fmt::Debug for Images {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Images")
            .field("content", &self.content)
            .finish_non_exhaustive()
    }
}

impl Images {
    /// Takes a store for the parts of images, and what is asked before each fetch how registries are talked to.
    pub fn new(
        content: ContentStore,
        options: impl Fn() -> Result<RemoteOptions, RemoteError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            content,
            options: Arc::new(options),
            builds: Arc::new(Semaphore::new(MAX_BUILDS_AT_ONCE)),
        }
    }

    /// Talks to registries as files say, which are read anew before each fetch.
    pub fn from_surroundings(
        content: ContentStore,
        surroundings: Surroundings,
        policy: PolicySource,
    ) -> Self {
        Self::new(content, move || {
            RemoteOptions::from_surroundings(&surroundings, &policy)
        })
    }

    fn remote(&self, secrets: Vec<CredentialsDocument>) -> Result<Remote, RemoteError> {
        let mut options = (self.options)()?;
        options.credentials = options.credentials.with_documents(secrets);
        Ok(Remote::new(options))
    }
}

/// Why a catalog couldn't be fetched. The texts are upstream's as far as it has them.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The reference is none, which only another one can help.
    #[error(
        "source catalog content: terminal error: error parsing image reference {}: {cause}",
        quoted(reference)
    )]
    Reference {
        /// What was to be a reference.
        reference: String,
        /// The rule that it breaks.
        cause: String,
    },
    /// The registry or the way there failed.
    #[error("source catalog content: {0}")]
    Remote(#[from] RemoteError),
    /// A Secret with credentials can't be used.
    #[error("source catalog content: {0}")]
    Secret(#[from] SecretError),
    /// The image is no catalog. With a tag it may become one; a digest always means the same image.
    #[error(
        "source catalog content: error applying image: {}catalog image is missing the required label {}",
        if *is_terminal { "terminal error: " } else { "" }, quoted(CONFIGS_LABEL)
    )]
    NoCatalog {
        /// Whether trying again can't help.
        is_terminal: bool,
    },
    /// The image can't be unpacked.
    #[error("source catalog content: error applying image: {0}")]
    Unpack(#[from] UnpackError),
    /// The files are no catalog.
    #[error("error storing fbc: error walking FBC root: {0}")]
    Read(#[from] catalog::reading::ReadError),
    /// The store can't be written.
    #[error("error storing fbc: {0}")]
    Store(String),
    /// The registry answers, but too slowly.
    #[error(
        "source catalog content: the image did not arrive within {0} minutes: check the registry and the way there"
    )]
    TooSlow(u64),
    /// The work was cut short: something else is wanted, or the program ends. Nobody is told.
    #[error("error storing fbc: the work was interrupted")]
    Interrupted,
}

impl From<StoreError> for FetchError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.to_string())
    }
}

impl From<BuildError> for FetchError {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Read(error) => Self::Read(error),
            other => Self::Store(other.to_string()),
        }
    }
}

impl FetchError {
    /// What it means that a thread didn't do its work.
    pub(crate) fn of_task(error: &tokio::task::JoinError) -> Self {
        if error.is_cancelled() {
            return Self::Interrupted;
        }
        Self::Store("the work failed unexpectedly, which the log of baton tells more of".to_owned())
    }

    /// Why the trust policy refuses the image, if it is that.
    pub fn refusal(&self) -> Option<&PolicyError> {
        match self {
            Self::Remote(RemoteError::Policy(refusal @ PolicyError::Rejected { .. })) => Some(refusal),
            _ => None,
        }
    }

    /// Whether trying again can't help.
    pub fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::Reference { .. } | Self::NoCatalog { is_terminal: true }
        )
    }
}

/// What is to be fetched.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// The image.
    pub reference: &'a str,
    /// Credentials that are tried before those of the surroundings.
    pub secrets: Vec<CredentialsDocument>,
    /// The reference, by digest, that is served already.
    pub served: Option<&'a str>,
    /// Where the store will be served from.
    pub contents: &'a Arc<Contents>,
}

/// What came of it.
#[derive(Debug)]
pub enum Fetched {
    /// The image is still the one that is served.
    Same {
        /// Why the trust policy accepts it.
        acceptance: Acceptance,
    },
    /// It is another one.
    New {
        /// The image, by digest.
        reference: String,
        /// Its catalog.
        store: Store,
        /// Keeps the catalog's file until it is served.
        expected: Expected,
        /// Why the trust policy accepts it.
        acceptance: Acceptance,
    },
}

/// Finds out what a reference stands for now and makes its catalog ready to be served.
pub async fn fetch(images: &Images, wanted: Wanted<'_>) -> Result<Fetched, FetchError> {
    let reference = parse(wanted.reference)?;
    let is_fixed = reference.digest().is_some();
    let remote = images.remote(wanted.secrets)?;
    let digest = if let Some(digest) = reference.digest() {
        digest
    } else {
        let found = remote.resolve(&reference).await?;
        manifest::digest_of(&found).map_err(|source| RemoteError::Image {
            reference: Box::new(reference.clone()),
            source: Box::new(source),
        })?
    };
    let canonical = reference.with_digest(digest);
    let name = canonical.to_string();
    // What is here already was accepted when it came; since then keys may have been taken back, and another repository may
    // have to be signed where the first one hadn't.
    let acceptance = remote.verify(&canonical, manifest::host_architecture()).await?;
    if wanted.served == Some(name.as_str()) {
        return Ok(Fetched::Same { acceptance });
    }
    let expected = wanted.contents.expect(digest);
    let (stores, workplace) = (wanted.contents.stores(), wanted.contents.workplace());
    let folder = stores.clone();
    let existing = blocking(move || Ok(Store::open(&folder, &digest))).await?;
    if let Ok(Some(store)) = existing {
        return Ok(Fetched::New {
            reference: name,
            store,
            expected,
            acceptance,
        });
    }
    let pulled = remote
        .pull(&images.content, &canonical, manifest::host_architecture())
        .await?;
    let _turn = images
        .builds
        .acquire()
        .await
        .map_err(|_| FetchError::Interrupted)?;
    let content = images.content.clone();
    let acceptance = pulled.acceptance.clone();
    let store = blocking(move || build(&content, &pulled, digest, is_fixed, &stores, &workplace)).await?;
    Ok(Fetched::New {
        reference: name,
        store,
        expected,
        acceptance,
    })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FetchError> + Send + 'static,
) -> Result<T, FetchError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(FetchError::of_task(&error)))
}

fn parse(text: &str) -> Result<Reference, FetchError> {
    Reference::parse(text).map_err(|error| FetchError::Reference {
        reference: text.to_owned(),
        cause: match error {
            InvalidReference::Malformed { cause, .. } => cause.to_string(),
            InvalidReference::NotCanonical { .. } => "repository name must be canonical".to_owned(),
            other => other.to_string(),
        },
    })
}

/// Unpacks the part of an image that holds the catalog and writes its store. Only files of one image are on disk at a
/// time, and none in memory.
fn build(
    content: &ContentStore,
    pulled: &Pulled,
    digest: Digest,
    is_fixed: bool,
    stores: &Path,
    workplace: &Path,
) -> Result<Store, FetchError> {
    let labels = unpack::labels(content, &pulled.manifest)?;
    let Some(configs) = labels.get(CONFIGS_LABEL) else {
        return Err(FetchError::NoCatalog {
            is_terminal: is_fixed,
        });
    };
    let failed = |error: std::io::Error| {
        FetchError::Store(format!("cannot unpack into {}: {error}", workplace.display()))
    };
    std::fs::create_dir_all(workplace).map_err(failed)?;
    let folder = tempfile::tempdir_in(workplace).map_err(failed)?;
    let root = folder.path().join("root");
    unpack::to_directory(content, &pulled.manifest, &root, &[configs], &Limits::ON_DISK)?;
    // A store that is there but damaged is built again; one that another catalog has built meanwhile is taken.
    Store::open_or_build(stores, &digest, |mut writer| {
        writer.push_all(Source::Directory(&root))?;
        Ok::<_, FetchError>(writer.finish()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_that_is_none_is_refused_in_upstreams_words() {
        let refusal = |text: &str| parse(text).expect_err("no reference").to_string();
        insta::assert_snapshot!(
            [refusal("quay.io/Upper/x:1"), refusal("catalog:latest"), refusal("quay.io/a/b c")].join("\n"),
            @r#"
        source catalog content: terminal error: error parsing image reference "quay.io/Upper/x:1": invalid reference format: repository name must be lowercase
        source catalog content: terminal error: error parsing image reference "catalog:latest": repository name must be canonical
        source catalog content: terminal error: error parsing image reference "quay.io/a/b c": invalid reference format
        "#
        );
        assert!(FetchError::NoCatalog { is_terminal: true }.is_terminal());
        assert!(!FetchError::NoCatalog { is_terminal: false }.is_terminal());
    }
}
