//! A registry in this process, and the images of bundles and catalogs that are pushed to it.

use image::build::{self, ImageSettings};
use image::content::ContentStore;
use image::layer::{Compression, LayerFiles};
use image::reference::Reference;
use image::registry::{Registry, Serving};
use image::remote::{Encryption, Remote, RemoteOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Mutex;

use crate::bundles::{Contents, Files};

/// The label that says where a catalog lies in its image.
const CATALOG_LABEL: &str = "operators.operatorframework.io.index.configs.v1";

/// One line of a catalog: a version in a channel.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    version: &'static str,
    channel: &'static str,
    replaces: Option<&'static str>,
    /// What the bundle holds; `None` where another entry says so.
    contents: Option<Contents>,
}

impl Entry {
    /// A version in a channel, and what it holds.
    pub(crate) fn new(version: &'static str, channel: &'static str, contents: Contents) -> Self {
        Self {
            version,
            channel,
            replaces: None,
            contents: Some(contents),
        }
    }

    /// A version in one more channel.
    pub(crate) fn again(version: &'static str, channel: &'static str) -> Self {
        Self {
            version,
            channel,
            replaces: None,
            contents: None,
        }
    }

    /// It follows another version.
    pub(crate) fn replacing(mut self, version: &'static str) -> Self {
        self.replaces = Some(version);
        self
    }
}

/// A registry on this machine.
pub(crate) struct Images {
    serving: Mutex<Option<Serving>>,
    remote: Remote,
    store: ContentStore,
    pub(crate) host: String,
    folder: TempDir,
}

impl Images {
    /// Starts a registry that only this machine reaches.
    pub(crate) async fn start() -> Result<Self, String> {
        Self::start_on(std::net::Ipv4Addr::LOCALHOST.into()).await
    }

    /// Starts a registry on an address of this machine.
    pub(crate) async fn start_on(address: std::net::IpAddr) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let registry = Registry::open(image::registry::RegistryOptions::open_to_all(folder.path()))
            .map_err(|error| error.to_string())?;
        let listener = tokio::net::TcpListener::bind((address, 0))
            .await
            .map_err(|error| format!("cannot listen on {address}: {error}"))?;
        let serving = registry
            .serve(listener, None)
            .map_err(|error| error.to_string())?;
        Ok(Self {
            host: serving.address().to_string(),
            serving: Mutex::new(Some(serving)),
            remote: Remote::new(RemoteOptions {
                encryption: Encryption::Off,
                ..RemoteOptions::default()
            }),
            store: ContentStore::temporary().map_err(|error| error.to_string())?,
            folder,
        })
    }

    /// Takes the registry from the network.
    pub(crate) async fn stop(&self) {
        if let Some(serving) = self.serving.lock().await.take() {
            serving.stop().await;
        }
    }

    /// Brings the registry back, where it was and with what it had.
    pub(crate) async fn start_again(&self) -> Result<(), String> {
        let registry = Registry::open(image::registry::RegistryOptions::open_to_all(self.folder.path()))
            .map_err(|error| error.to_string())?;
        let listener = tokio::net::TcpListener::bind(&self.host)
            .await
            .map_err(|error| format!("cannot listen on {} again: {error}", self.host))?;
        let serving = registry
            .serve(listener, None)
            .map_err(|error| error.to_string())?;
        *self.serving.lock().await = Some(serving);
        Ok(())
    }

    /// Pushes files as an image.
    pub(crate) async fn push(&self, files: &Files, name: &str, is_catalog: bool) -> Result<(), String> {
        let mut layer = LayerFiles::new();
        for (path, content) in files {
            layer
                .add_bytes(path, content.clone(), 0o644)
                .map_err(|error| error.to_string())?;
        }
        let layer = layer
            .write(&self.store, Compression::Gzip)
            .map_err(|error| error.to_string())?;
        let mut settings = ImageSettings::default();
        if is_catalog {
            settings
                .labels
                .insert(CATALOG_LABEL.to_owned(), "/configs".to_owned());
        }
        let architectures = ["amd64", "arm64"];
        let built = build::for_architectures(&self.store, &settings, &architectures, &[layer])
            .map_err(|error| error.to_string())?;
        let reference =
            Reference::parse(&format!("{}/{name}", self.host)).map_err(|error| error.to_string())?;
        self.remote
            .push(&self.store, &built.descriptor, &reference)
            .await
            .map_err(|error| format!("cannot push {name}: {error}"))
    }

    /// Pushes the bundles of a package; returns the package as a catalog has it.
    pub(crate) async fn push_package(
        &self,
        id: &str,
        package: &str,
        entries: &[Entry],
    ) -> Result<Vec<Value>, String> {
        for entry in entries {
            let Some(contents) = &entry.contents else { continue };
            let files = contents.files(id, package, entry.version);
            self.push(&files, &bundle_image(package, entry.version), false)
                .await?;
        }
        Ok(self.package(package, entries))
    }

    /// Returns a package as a catalog has it.
    fn package(&self, package: &str, entries: &[Entry]) -> Vec<Value> {
        let mut channels: Vec<&str> = entries.iter().map(|entry| entry.channel).collect();
        channels.sort_unstable();
        channels.dedup();
        let mut metas = vec![json!({
            "schema": "olm.package",
            "name": package,
            "defaultChannel": channels.last(),
        })];
        for channel in channels {
            let entries = entries.iter().filter(|entry| entry.channel == channel);
            let entries: Vec<Value> = entries
                .map(|entry| {
                    let mut listed = json!({"name": format!("{package}.{}", entry.version)});
                    if let Some(replaces) = entry.replaces {
                        listed["replaces"] = format!("{package}.{replaces}").into();
                    }
                    listed
                })
                .collect();
            metas.push(
                json!({"schema": "olm.channel", "package": package, "name": channel, "entries": entries}),
            );
        }
        for entry in entries {
            let Some(contents) = &entry.contents else { continue };
            let host = contents.registry.as_ref().unwrap_or(&self.host);
            metas.push(json!({
                "schema": "olm.bundle",
                "name": format!("{package}.{}", entry.version),
                "package": package,
                "image": format!("{host}/{}", bundle_image(package, entry.version)),
                "properties": [{"type": "olm.package", "value": {"packageName": package, "version": entry.version}}],
            }));
        }
        metas
    }

    /// Pushes a catalog; returns its reference.
    pub(crate) async fn push_catalog(
        &self,
        name: &str,
        tag: &str,
        metas: &[Value],
    ) -> Result<String, String> {
        let mut text = String::new();
        for meta in metas {
            text.push_str(&meta.to_string());
            text.push('\n');
        }
        let files = Files::from([("configs/catalog.json".to_owned(), text.into_bytes())]);
        self.push_catalog_files(name, tag, &files).await
    }

    /// Pushes the files of a catalog, which lie in `configs/`; returns its reference.
    pub(crate) async fn push_catalog_files(
        &self,
        name: &str,
        tag: &str,
        files: &Files,
    ) -> Result<String, String> {
        let name = format!("catalogs/{name}:{tag}");
        self.push(files, &name, true).await?;
        Ok(format!("{}/{name}", self.host))
    }
}

/// The name of a bundle's image in its registry.
pub(crate) fn bundle_image(package: &str, version: &str) -> String {
    format!("bundles/{package}:v{version}")
}
