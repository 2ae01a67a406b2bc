//! Images that baton built: found by name, and unpacked so that their programs can run.
//!
//! Only places that are told are asked: layouts that images were built into, registries of this machine and a local
//! store. A cluster full of public images costs no request to the outside.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use image::Descriptor;
use image::content::ContentStore;
use image::digest::Digest;
use image::layout::{self, Imported};
use image::manifest::{self, Manifest};
use image::program::BUILT_BY_BATON_LABEL;
use image::reference::Reference;
use image::registry::{Registry, RegistryError};
use image::remote::Remote;
use image::unpack;
use serde_json::Value;

use super::lock;

/// The largest configuration of an image that is read: it is text about the image, not the image.
const LARGEST_CONFIGURATION: u64 = 4 << 20;

/// The largest manifest that is read.
const LARGEST_MANIFEST: u64 = 4 << 20;

/// An image that baton built, as files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// What tells it from other images, such as `sha256:…`.
    pub digest: String,
    /// Where its files are.
    pub root: PathBuf,
    /// The program and its first arguments.
    pub entrypoint: Vec<String>,
    /// The arguments that a container may replace.
    pub command: Vec<String>,
    /// The variables that it sets.
    pub environment: Vec<(String, String)>,
    /// Where its program starts, as a path in the image.
    pub working_directory: String,
    /// The user that its program should run as, `user` or `user:group`; empty where it doesn't say.
    pub user: String,
}

/// An image in the store, and what keeps it there.
type Kept = (Descriptor, Box<dyn std::any::Any + Send>);

/// A layout whose images are in the store.
#[derive(Debug)]
struct Layout {
    directory: PathBuf,
    /// What was read of it, and when and how long its index was then.
    read: Mutex<Option<(Written, Arc<Imported>)>>,
}

/// What tells a file that was written again from what it was.
type Written = (SystemTime, u64);

impl Layout {
    /// Returns the images; `None` where nothing was built yet.
    fn images(&self, store: &ContentStore) -> Result<Option<Arc<Imported>>, String> {
        let index = self.directory.join("index.json");
        let Ok(metadata) = std::fs::metadata(&index) else {
            return Ok(None);
        };
        let written = (
            metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            metadata.len(),
        );
        let mut read = lock(&self.read);
        if let Some((_, images)) = read.as_ref().filter(|(before, _)| *before == written) {
            return Ok(Some(images.clone()));
        }
        let imported = layout::import_directory(store, &self.directory).map_err(|error| error.to_string())?;
        let imported = Arc::new(imported);
        *read = Some((written, imported.clone()));
        Ok(Some(imported))
    }
}

/// What a search for an image comes back with: `None` for an image that baton didn't build, or that isn't known.
pub type Found<'a> = Pin<Box<dyn Future<Output = Result<Option<Arc<Unpacked>>, String>> + Send + 'a>>;

/// Where images that baton built are found.
pub trait Images: fmt::Debug + Send + Sync {
    /// Finds an image and unpacks it below a directory. The failure says why, for the pod's status.
    fn find<'a>(&'a self, reference: &'a str, below: &'a Path) -> Found<'a>;
}

/// The images of a content store, of layouts, and of registries on this machine.
#[derive(Debug)]
pub struct BuiltImages {
    store: Arc<ContentStore>,
    remote: Remote,
    registries: Vec<String>,
    own: Option<OwnRegistry>,
    layouts: Arc<Vec<Layout>>,
}

/// A registry that this process serves. What lies in it is run only if it is known who pushed it: everyone on the machine
/// can name an image of it in a pod, and its content may be older than its password.
#[derive(Debug)]
struct OwnRegistry {
    hosts: Vec<String>,
    registry: Registry,
}

impl BuiltImages {
    /// Returns the images of a store and of registries, which are given as `host:port`.
    pub fn new(store: Arc<ContentStore>, remote: Remote, registries: Vec<String>) -> Self {
        Self {
            store,
            remote,
            registries,
            own: None,
            layouts: Arc::default(),
        }
    }

    /// Adds a registry of this process, under its names as `host:port`: the images count that were pushed by who logged in.
    #[must_use]
    pub fn with_own_registry(mut self, hosts: Vec<String>, registry: Registry) -> Self {
        self.own = Some(OwnRegistry { hosts, registry });
        self
    }

    /// Adds layouts: directories that `baton bundle build` writes images into. They are read when an image is looked for,
    /// so that one that is built later is found.
    pub fn with_layouts(mut self, layouts: Vec<PathBuf>) -> Self {
        let layouts = layouts.into_iter().map(|directory| Layout {
            directory,
            read: Mutex::default(),
        });
        self.layouts = Arc::new(layouts.collect());
        self
    }

    /// Finds an image in the layouts, by its name or its digest; the first layout that has it counts.
    fn in_layouts(
        store: &ContentStore,
        layouts: &[Layout],
        reference: &Reference,
    ) -> Result<Option<Kept>, String> {
        for layout in layouts {
            let Some(imported) = layout.images(store)? else {
                continue;
            };
            let wanted = reference.digest();
            let found = imported.images.iter().find(|image| match wanted {
                Some(wanted) => manifest::digest_of(&image.descriptor).is_ok_and(|digest| digest == wanted),
                None => image
                    .name
                    .as_deref()
                    .and_then(|name| Reference::parse_normalized(name).ok())
                    .is_some_and(|name| name.to_string() == reference.to_string()),
            });
            if let Some(found) = found {
                return Ok(Some((found.descriptor.clone(), Box::new(imported.clone()))));
            }
        }
        Ok(None)
    }

    async fn look_for(&self, reference: &str, below: &Path) -> Result<Option<Arc<Unpacked>>, String> {
        let Ok(reference) = Reference::parse_normalized(reference) else {
            return Ok(None);
        };
        // What is found stays pinned until it is unpacked.
        let (store, layouts, wanted) = (self.store.clone(), self.layouts.clone(), reference.clone());
        let built = tokio::task::spawn_blocking(move || Self::in_layouts(&store, &layouts, &wanted));
        let built = built.await.map_err(|error| error.to_string())??;
        let (root, _pins) = if let Some(built) = built {
            built
        } else if let Some(own) = self.own.as_ref().filter(|own| own.has(&reference)) {
            match self.admitted(own, &reference).await? {
                Some(admitted) => self.pulled(&admitted).await?,
                None => return Ok(None),
            }
        } else if self.registries.iter().any(|host| host == reference.registry()) {
            self.pulled(&reference).await?
        } else {
            match reference.digest().filter(|digest| self.store.contains(digest)) {
                Some(digest) => (
                    self.descriptor(&digest)?,
                    Box::new(()) as Box<dyn std::any::Any + Send>,
                ),
                None => return Ok(None),
            }
        };
        let labels = unpack::labels(&self.store, &root).map_err(|error| error.to_string())?;
        if !labels.contains_key(BUILT_BY_BATON_LABEL) {
            return Ok(None);
        }
        let (store, below) = (self.store.clone(), below.to_owned());
        let unpacked = tokio::task::spawn_blocking(move || unpacked(&store, &root, &below));
        unpacked
            .await
            .map_err(|error| error.to_string())?
            .map(|unpacked| Some(Arc::new(unpacked)))
    }

    async fn pulled(&self, reference: &Reference) -> Result<Kept, String> {
        let pulled = self
            .remote
            .pull(&self.store, reference, manifest::host_architecture())
            .await
            .map_err(|error| error.to_string())?;
        Ok((pulled.manifest, Box::new(pulled.pins)))
    }

    /// Returns an image by its digest, if it is known who pushed it; `None` for one that nothing would run of. The failure is
    /// for those that would run.
    ///
    /// It comes before the pull: what is in the store can be named by its digest alone, and is believed.
    async fn admitted(&self, own: &OwnRegistry, reference: &Reference) -> Result<Option<Reference>, String> {
        let found = self
            .remote
            .resolve(reference)
            .await
            .map_err(|error| error.to_string())?;
        let digest = manifest::digest_of(&found).map_err(|error| error.to_string())?;
        let (registry, repository) = (own.registry.clone(), reference.repository().to_owned());
        let looked = tokio::task::spawn_blocking(move || {
            Ok(match registry.pusher(&repository, &digest)? {
                Some(_) => Standing::Pushed,
                None if registry.has_label(&repository, &digest, BUILT_BY_BATON_LABEL)? => Standing::Unknown,
                None => Standing::Other,
            })
        });
        let standing: Result<Standing, RegistryError> = looked.await.map_err(|error| error.to_string())?;
        match standing.map_err(|error| error.to_string())? {
            Standing::Pushed => Ok(Some(reference.with_digest(digest))),
            Standing::Other => Ok(None),
            Standing::Unknown => Err(format!(
                "nobody knows who pushed {digest} into this registry, so its program isn't run: log in with `baton login`, and push it \
                 again if it is yours"
            )),
        }
    }

    /// Returns the descriptor of a manifest that is named by its digest alone.
    fn descriptor(&self, digest: &Digest) -> Result<Descriptor, String> {
        let bytes = self
            .store
            .read(digest, LARGEST_MANIFEST)
            .map_err(|error| error.to_string())?;
        let document: Value = serde_json::from_slice(&bytes)
            .map_err(|error| format!("{digest} is not the manifest of an image: {error}"))?;
        let media_type = document["mediaType"]
            .as_str()
            .unwrap_or(if document["manifests"].is_array() {
                "application/vnd.oci.image.index.v1+json"
            } else {
                "application/vnd.oci.image.manifest.v1+json"
            });
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(manifest::descriptor(media_type.into(), digest, size))
    }
}

/// What is known of an image of a registry of this process.
enum Standing {
    /// Somebody who logged in pushed it.
    Pushed,
    /// It says that baton built it, and nobody knows who pushed it.
    Unknown,
    /// It doesn't even say so.
    Other,
}

impl OwnRegistry {
    fn has(&self, reference: &Reference) -> bool {
        self.hosts.iter().any(|host| host == reference.registry())
    }
}

impl Images for BuiltImages {
    fn find<'a>(&'a self, reference: &'a str, below: &'a Path) -> Found<'a> {
        Box::pin(self.look_for(reference, below))
    }
}

/// Unpacks an image below a directory, once for each digest.
fn unpacked(store: &ContentStore, root: &Descriptor, below: &Path) -> Result<Unpacked, String> {
    let read = |descriptor: &Descriptor| Manifest::read(store, descriptor).map_err(|error| error.to_string());
    let mut manifest = read(root)?;
    let mut digest = manifest::digest_of(root).map_err(|error| error.to_string())?;
    if let Manifest::Index(index) = &manifest {
        let chosen = unpack::select_platform(index, manifest::host_architecture())
            .map_err(|error| error.to_string())?;
        digest = manifest::digest_of(&chosen).map_err(|error| error.to_string())?;
        manifest = read(&chosen)?;
    }
    let Manifest::Image(manifest) = manifest else {
        return Err(format!(
            "{digest} is an index within an index, which names no image"
        ));
    };
    let config = manifest::digest_of(manifest.config()).map_err(|error| error.to_string())?;
    let config = store
        .read(&config, LARGEST_CONFIGURATION)
        .map_err(|error| error.to_string())?;
    let config: Value = serde_json::from_slice(&config)
        .map_err(|error| format!("the configuration of image {digest} cannot be read: {error}"))?;
    let target = below.join(digest.hex());
    if !target.is_dir() {
        std::fs::create_dir_all(below)
            .map_err(|error| format!("cannot create {}: {error}", below.display()))?;
        unpack::to_directory(store, root, &target, &[], &unpack::Limits::ON_DISK)
            .map_err(|error| error.to_string())?;
    }
    Ok(Unpacked {
        digest: digest.to_string(),
        root: target,
        ..settings(&config["config"])
    })
}

fn settings(config: &Value) -> Unpacked {
    let texts = |name: &str| -> Vec<String> {
        let all = config[name].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let environment: BTreeMap<String, String> = texts("Env")
        .iter()
        .filter_map(|one| one.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Unpacked {
        digest: String::new(),
        root: PathBuf::new(),
        entrypoint: texts("Entrypoint"),
        command: texts("Cmd"),
        environment: environment.into_iter().collect(),
        working_directory: config["WorkingDir"].as_str().unwrap_or("/").to_owned(),
        user: config["User"].as_str().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use image::build::{self, ImageSettings};
    use image::credentials::{Credentials, Login, Secret};
    use image::layer::{Compression, LayerFiles};
    use image::registry::{Access, RegistryOptions};
    use image::remote::{Encryption, RemoteOptions};
    use tokio::net::TcpListener;

    use super::*;

    fn built(store: &ContentStore, labels: &[&str]) -> String {
        let mut files = LayerFiles::new();
        files.add_bytes("/baton", "program", 0o755).expect("a file");
        files
            .add_bytes("/opt/helm/watches.yaml", "[]", 0o644)
            .expect("a file");
        let layer = files.write(store, Compression::Gzip).expect("a layer");
        let settings = ImageSettings {
            labels: labels
                .iter()
                .map(|label| ((*label).to_owned(), "/baton".to_owned()))
                .collect(),
            entrypoint: vec!["/baton".to_owned(), "operator".to_owned()],
            environment: vec!["HOME=/opt/helm".to_owned()],
            working_directory: Some("/opt/helm".to_owned()),
            ..ImageSettings::default()
        };
        let image =
            build::image(store, &settings, manifest::host_architecture(), &[layer]).expect("an image");
        let digest = manifest::digest_of(&image.descriptor).expect("a digest");
        // The store keeps what is pinned; the test's image stays for as long as the store.
        std::mem::forget(image);
        format!("example.com/operator@{digest}")
    }

    #[tokio::test]
    async fn an_image_that_baton_built_is_found_in_the_store_and_unpacked_and_others_arent() {
        let store = Arc::new(ContentStore::temporary().expect("a store"));
        let (ours, other) = (built(&store, &[BUILT_BY_BATON_LABEL]), built(&store, &["other"]));
        let images = BuiltImages::new(store, Remote::new(RemoteOptions::default()), Vec::new());
        let below = tempfile::tempdir().expect("a directory");
        for _ in 0..2 {
            let found = images
                .find(&ours, below.path())
                .await
                .expect("found")
                .expect("baton built it");
            assert_eq!(found.entrypoint, ["/baton", "operator"]);
            assert_eq!(found.environment, [("HOME".to_owned(), "/opt/helm".to_owned())]);
            assert_eq!(found.working_directory, "/opt/helm");
            assert_eq!(
                std::fs::read_to_string(found.root.join("opt/helm/watches.yaml")).expect("a file"),
                "[]"
            );
        }
        assert_eq!(images.find(&other, below.path()).await, Ok(None));
        for unknown in ["nginx:1", "example.com/x:1", "Not A Name"] {
            assert_eq!(images.find(unknown, below.path()).await, Ok(None), "{unknown}");
        }
    }

    /// Talks plain HTTP, as this machine's registries do.
    fn remote(login: Login) -> Remote {
        Remote::new(RemoteOptions {
            credentials: Credentials::fixed(login),
            encryption: Encryption::Off,
            ..RemoteOptions::default()
        })
    }

    async fn push(store: &ContentStore, built: &str, login: Login, name: &str) {
        let digest = Reference::parse(built)
            .expect("a name")
            .digest()
            .expect("a digest");
        let size = store.read(&digest, LARGEST_MANIFEST).expect("a manifest").len();
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let image = manifest::descriptor(media_type.into(), &digest, size as u64);
        let name = Reference::parse(name).expect("a name");
        remote(login).push(store, &image, &name).await.expect("a push");
    }

    #[tokio::test]
    async fn an_image_of_the_own_registry_is_run_only_if_somebody_logged_in_to_push_it() {
        let store = ContentStore::temporary().expect("a store");
        let (ours, other) = (built(&store, &[BUILT_BY_BATON_LABEL]), built(&store, &["other"]));
        let folder = tempfile::tempdir().expect("a folder");
        // As it was before there was a password: everyone could push.
        let open = Registry::open(RegistryOptions::open_to_all(folder.path())).expect("a registry");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
        let serving = open.serve(listener, None).expect("a registry");
        let host = serving.address().to_string();
        for (built, name) in [(&ours, "ours:v1"), (&other, "other:v1")] {
            push(&store, built, Login::Anonymous, &format!("{host}/{name}")).await;
        }
        serving.stop().await;
        drop(open);

        let password = Secret::new("a password that nobody guesses");
        let access = Access::one_writer("baton", &password).expect("access");
        let options = RegistryOptions::guarded(folder.path(), access);
        let registry = Registry::open(options).expect("a registry");
        let listener = TcpListener::bind(&host).await.expect("a socket");
        let serving = registry.serve(listener, None).expect("a registry");
        let of_node = Arc::new(ContentStore::temporary().expect("a store"));
        let images = BuiltImages::new(of_node.clone(), remote(Login::Anonymous), Vec::new())
            .with_own_registry(vec![host.clone()], registry);
        let below = tempfile::tempdir().expect("a directory");
        let digest = Reference::parse(&ours)
            .expect("a name")
            .digest()
            .expect("a digest");
        let by_digest = format!("{host}/ours@{digest}");
        for name in [&format!("{host}/ours:v1"), &by_digest] {
            let why = images
                .find(name, below.path())
                .await
                .expect_err("nobody logged in");
            assert!(
                why.contains(&digest.to_string()) && why.contains("`baton login`"),
                "{why}"
            );
        }
        // Nor by a name that has it taken from what the node has already.
        assert!(!of_node.contains(&digest));
        let elsewhere = format!("example.com/ours@{digest}");
        assert_eq!(images.find(&elsewhere, below.path()).await, Ok(None));
        // Nothing would run of it.
        assert_eq!(
            images.find(&format!("{host}/other:v1"), below.path()).await,
            Ok(None)
        );

        let login = Login::Password {
            username: "baton".to_owned(),
            password,
        };
        push(&store, &ours, login, &format!("{host}/ours:v2")).await;
        // By digest: the tag of before leads to the same image.
        for name in ["ours:v1", "ours:v2"] {
            let found = images.find(&format!("{host}/{name}"), below.path()).await;
            assert_eq!(
                found.expect("found").expect("baton built it").digest,
                digest.to_string()
            );
        }
        serving.stop().await;
    }
}
