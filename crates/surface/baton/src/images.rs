//! Images for commands: the flags that say how registries are talked to, and what is done with images.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use bundle::files::BundleFiles;
use catalog::objects::Catalog;
use catalog::reading;
use catalog_controller::fetch::CONFIGS_LABEL;
use clap::Args;
use gotemplate::format::quoted;
use image::Descriptor;
use image::content::{ContentStore, DEFAULT_CAPACITY_BYTES};
use image::credentials::Credentials;
use image::digest::Digest;
use image::policy::PolicySource;
use image::reference::Reference;
use image::remote::{Encryption, Remote, RemoteError, RemoteOptions};
use image::surroundings::Surroundings;
use image::unpack::{self, Limits};
use image::{layout, manifest};

use crate::failure::Failure;
use crate::named_source::NamedSource;
use crate::own_registry;
use crate::progress::Bars;

/// The label that every bundle image has.
const PACKAGE_LABEL: &str = "operators.operatorframework.io.bundle.package.v1";
/// The label of catalogs in the old database form.
const DATABASE_LABEL: &str = "operators.operatorframework.io.index.database.v1";

/// How registries are talked to.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Registries")]
pub(crate) struct ImageFlags {
    /// Talk plain HTTP to registries
    #[arg(long, visible_alias = "use-http")]
    pub(crate) plain_http: bool,
    /// Accept any certificate of a registry
    #[arg(long)]
    pub(crate) skip_tls_verify: bool,
    /// Take names and passwords from this file alone
    #[arg(long, value_name = "FILE")]
    pub(crate) authfile: Option<PathBuf>,
    /// Trust this certificate authority too, PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate_authority: Vec<PathBuf>,
    /// Use only images that this policy.json accepts, in place of the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) signature_policy: Option<PathBuf>,
    /// Keep fetched images in this folder
    #[arg(
        long,
        value_name = "FOLDER",
        env = "BATON_IMAGE_CACHE",
        hide_env_values = true
    )]
    pub(crate) image_cache: Option<PathBuf>,
}

/// What an image or directory turned out to hold.
pub(crate) enum Held {
    /// A bundle; the image that it came from, by digest, where it came from a registry.
    Bundle(BundleFiles, Option<Reference>),
    /// A catalog.
    Catalog(Catalog),
}

/// An image that is in the store, and stays there while this lives.
pub(crate) struct Fetched {
    pub(crate) manifest: Descriptor,
    /// Its name with the digest, where it came from a registry.
    pub(crate) reference: Option<Reference>,
    _kept: Box<dyn std::any::Any + Send>,
}

/// The store of images on this machine, and the registries.
///
/// Both are opened when they are needed: a command that reads a directory makes no cache, and fails for no registry's
/// configuration.
pub(crate) struct Images {
    flags: ImageFlags,
    policy: PolicySource,
    encryption: Encryption,
    bars: Option<Arc<Bars>>,
    store: OnceLock<ContentStore>,
    remote: OnceLock<Remote>,
}

impl Images {
    /// Takes the flags; nothing is read or contacted yet. `policy` says what counts when no flag does.
    pub(crate) fn open(
        flags: &ImageFlags,
        policy: PolicySource,
        bars: Option<Bars>,
    ) -> Result<Self, Failure> {
        let encryption = match (flags.plain_http, flags.skip_tls_verify) {
            (true, true) => {
                return Err(Failure::new(
                    "invalid flag combination: cannot use --use-http with --skip-tls-verify",
                ));
            }
            (true, false) => Encryption::Off,
            (false, true) => Encryption::Unverified,
            (false, false) => Encryption::Verified,
        };
        Ok(Self {
            flags: flags.clone(),
            policy: flags.signature_policy.clone().map_or(policy, PolicySource::File),
            encryption,
            bars: bars.map(Arc::new),
            store: OnceLock::new(),
            remote: OnceLock::new(),
        })
    }

    /// The images on this machine.
    pub(crate) fn store(&self) -> Result<&ContentStore, Failure> {
        opened(&self.store, || {
            Ok(match self.flags.image_cache.clone().or_else(default_cache) {
                Some(folder) => ContentStore::open(&folder, DEFAULT_CAPACITY_BYTES)?,
                None => ContentStore::temporary()?,
            })
        })
    }

    /// The registries, as the user and the system have configured them.
    pub(crate) fn remote(&self) -> Result<&Remote, Failure> {
        opened(&self.remote, || self.new_remote())
    }

    /// The registries, as they are configured right now: mirrors and passwords change while a program runs.
    pub(crate) fn new_remote(&self) -> Result<Remote, Failure> {
        Ok(Remote::new(self.remote_options()?))
    }

    /// How registries are talked to, as it is configured right now.
    pub(crate) fn remote_options(&self) -> Result<RemoteOptions, RemoteError> {
        let surroundings = Surroundings::of_process();
        let mut options = RemoteOptions::from_surroundings(&surroundings, &self.policy)?;
        if let Some(file) = &self.flags.authfile {
            options.credentials = Credentials::from_file(file, &surroundings);
        } else {
            options.credentials = options.credentials.with_documents(own_registry::known_logins());
        }
        let authorities = self.flags.certificate_authority.iter().cloned();
        options.certificates.files.extend(authorities);
        options.encryption = self.encryption;
        if let Some(bars) = &self.bars {
            options.progress = Arc::<Bars>::clone(bars);
        }
        Ok(options)
    }

    /// The digest that a name stands for now; none when there is no such image.
    pub(crate) async fn published(&self, reference: &Reference) -> Result<Option<Digest>, Failure> {
        match self.remote()?.resolve(reference).await {
            Ok(descriptor) => Ok(Some(digest_of(&descriptor)?)),
            Err(RemoteError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Uploads an image without its tag, so that tagging it afterwards is one short step: whatever must still be true
    /// when customers get to see it is checked in between.
    pub(crate) async fn upload(&self, image: &Descriptor, reference: &Reference) -> Result<(), Failure> {
        let untagged = reference.without_version().with_digest(digest_of(image)?);
        Ok(self.remote()?.push(self.store()?, image, &untagged).await?)
    }

    /// Gives an image that was uploaded its tag.
    pub(crate) async fn tag(&self, image: &Descriptor, reference: &Reference) -> Result<(), Failure> {
        Ok(self.remote()?.push(self.store()?, image, reference).await?)
    }

    /// Brings an image into the store, from a registry, a layout or a tar.
    pub(crate) async fn fetch(&self, source: &NamedSource) -> Result<Fetched, Failure> {
        match source {
            NamedSource::Image(name) => {
                let reference = Reference::parse(name)?;
                let pulled = self
                    .remote()?
                    .pull(self.store()?, &reference, manifest::host_architecture())
                    .await?;
                Ok(Fetched {
                    manifest: pulled.manifest,
                    reference: Some(pulled.reference),
                    _kept: Box::new(pulled.pins),
                })
            }
            NamedSource::Layout { .. } | NamedSource::Directory(_) => self.fetch_whole(source).await,
        }
    }

    /// Brings an image for all its platforms into the store, from a registry, a layout or a tar.
    pub(crate) async fn fetch_whole(&self, source: &NamedSource) -> Result<Fetched, Failure> {
        match source {
            NamedSource::Image(name) => {
                let pulled = self
                    .remote()?
                    .pull_everything(self.store()?, &Reference::parse(name)?)
                    .await?;
                Ok(Fetched {
                    manifest: pulled.root,
                    reference: Some(pulled.reference),
                    _kept: Box::new(pulled.pins),
                })
            }
            NamedSource::Layout { path, name } => {
                let imported = layout::import(self.store()?, path)?;
                let wanted = |image: &&layout::NamedImage| name.is_none() || image.name == *name;
                let mut found = imported.images.iter().filter(wanted);
                let names = || {
                    let names: Vec<_> = imported
                        .images
                        .iter()
                        .filter_map(|image| image.name.as_deref())
                        .collect();
                    names.join(", ")
                };
                let image = match (found.next(), found.next(), name) {
                    (Some(image), None, _) => image,
                    (Some(_), Some(_), _) => {
                        return Err(Failure::new(format!(
                            "{} holds several images: name one of {} after a colon",
                            path.display(),
                            names()
                        )));
                    }
                    (None, _, Some(name)) => {
                        return Err(Failure::new(format!(
                            "{} holds no image called {name}, only {}; build it first",
                            path.display(),
                            names()
                        )));
                    }
                    (None, _, None) => {
                        return Err(Failure::new(format!("{} holds no image", path.display())));
                    }
                };
                Ok(Fetched {
                    manifest: image.descriptor.clone(),
                    reference: None,
                    _kept: Box::new(imported.pins),
                })
            }
            NamedSource::Directory(path) => Err(Failure::new(format!(
                "{} is a directory, not an image; give the image's name, or oci:DIRECTORY for an image layout",
                path.display()
            ))),
        }
    }

    /// Reads a bundle or a catalog from wherever it is.
    pub(crate) async fn read(&self, source: &NamedSource) -> Result<Held, Failure> {
        let NamedSource::Directory(path) = source else {
            let fetched = self.fetch(source).await.map_err(|failure| match source {
                NamedSource::Image(name) => failure.within(format!("failed to pull image {}", quoted(name))),
                NamedSource::Layout { .. } | NamedSource::Directory(_) => failure,
            })?;
            let name = match source {
                NamedSource::Image(name) => name.clone(),
                NamedSource::Layout { path, .. } | NamedSource::Directory(path) => path.display().to_string(),
            };
            return self.read_image(&fetched, &name);
        };
        read_directory(path)
    }

    /// Reads a bundle from wherever it is.
    pub(crate) async fn read_bundle(&self, word: &str) -> Result<(BundleFiles, Option<Reference>), Failure> {
        match self.read(&NamedSource::parse(word)).await? {
            Held::Bundle(files, reference) => Ok((files, reference)),
            Held::Catalog(_) => Err(Failure::new(format!(
                "{word} is a catalog, not a bundle; a bundle has the directories manifests/ and metadata/"
            ))),
        }
    }

    /// Reads a catalog from wherever it is.
    pub(crate) async fn read_catalog(&self, word: &str) -> Result<Catalog, Failure> {
        match self.read(&NamedSource::parse(word)).await? {
            Held::Catalog(catalog) => Ok(catalog),
            Held::Bundle(..) => Err(Failure::new(format!(
                "{word} is a bundle, not a catalog; render it into one with baton catalog render"
            ))),
        }
    }

    /// Fetches the files of the catalog that an image holds.
    pub(crate) async fn catalog_files(&self, image: &str) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let fetched = self.fetch(&NamedSource::Image(image.to_owned())).await?;
        let labels = unpack::labels(self.store()?, &fetched.manifest)?;
        let folder = labels.get(CONFIGS_LABEL).ok_or_else(|| {
            Failure::new(format!(
                "{image} is no catalog: it has no label {CONFIGS_LABEL:?}"
            ))
        })?;
        self.files_below(&fetched, folder)
    }

    /// The files of an image below a folder, by their paths from there.
    fn files_below(&self, fetched: &Fetched, folder: &str) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
        let folder = folder.trim_matches('/');
        let prefixes: &[&str] = if folder.is_empty() { &[] } else { &[folder] };
        let found = unpack::files(self.store()?, &fetched.manifest, prefixes, &Limits::IN_MEMORY)?;
        let below = |(path, bytes): (String, Vec<u8>)| {
            let path = path
                .strip_prefix(folder)
                .unwrap_or(&path)
                .trim_start_matches('/')
                .to_owned();
            (path, bytes)
        };
        Ok(found.files.into_iter().map(below).collect())
    }

    pub(crate) fn read_image(&self, fetched: &Fetched, name: &str) -> Result<Held, Failure> {
        let labels = unpack::labels(self.store()?, &fetched.manifest)?;
        if let Some(folder) = labels.get(CONFIGS_LABEL) {
            let files = self.files_below(fetched, folder)?;
            return Ok(Held::Catalog(reading::read(reading::Source::Files(&files))?));
        }
        if labels.contains_key(PACKAGE_LABEL) {
            let found = unpack::files(self.store()?, &fetched.manifest, &[], &Limits::IN_MEMORY)?;
            return Ok(Held::Bundle(
                BundleFiles::from_image(found.files, found.labels),
                fetched.reference.clone(),
            ));
        }
        if labels.contains_key(DATABASE_LABEL) {
            return Err(Failure::new(format!(
                "render {name:?}: sqlite-based index images are no longer supported, migrate to a file-based catalog: not allowed"
            )));
        }
        let listed: Vec<_> = labels
            .iter()
            .map(|(key, value)| format!("  {key}={value}"))
            .collect();
        Err(Failure::new(if listed.is_empty() {
            format!("render {name:?}: image type could not be determined: image has no labels")
        } else {
            format!(
                "render {name:?}: image type could not be determined, found labels\n{}",
                listed.join("\n")
            )
        }))
    }
}

/// Reads a bundle or a catalog from a directory.
pub(crate) fn read_directory(path: &Path) -> Result<Held, Failure> {
    if is_bundle(path) {
        return Ok(Held::Bundle(BundleFiles::read_directory(path)?, None));
    }
    Ok(Held::Catalog(reading::read_catalog(path)?))
}

/// Whether a directory is a bundle's, as opm tells it: by its two subdirectories.
pub(crate) fn is_bundle(path: &Path) -> bool {
    path.join("manifests").is_dir() && path.join("metadata").is_dir()
}

/// The digest in a descriptor.
pub(crate) fn digest_of(descriptor: &Descriptor) -> Result<Digest, Failure> {
    Ok(manifest::digest_of(descriptor)?)
}

/// What is in the cell, made now if nobody needed it before.
fn opened<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T, Failure>) -> Result<&T, Failure> {
    if let Some(there) = cell.get() {
        return Ok(there);
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value))
}

fn default_cache() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from);
    let cache = cache.or_else(|| Some(std::env::home_dir().filter(|home| home.is_dir())?.join(".cache")))?;
    Some(cache.join("baton/images"))
}
