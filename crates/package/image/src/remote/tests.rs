use std::time::Duration;

use crate::credentials::{Login, Secret};

use super::*;

mod mock;
mod pulling;
mod pushing;
mod trusting;

use mock::{Door, Mock};

const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";

fn quick() -> Retry {
    Retry {
        attempts: 4,
        first_delay: Duration::ZERO,
        longest_delay: Duration::ZERO,
    }
}

fn options() -> RemoteOptions {
    RemoteOptions {
        encryption: Encryption::Off,
        retry: quick(),
        ..RemoteOptions::default()
    }
}

fn remote() -> Remote {
    Remote::new(options())
}

fn remote_as(login: Login) -> Remote {
    Remote::new(RemoteOptions {
        credentials: Credentials::fixed(login),
        ..options()
    })
}

fn password(username: &str, password: &str) -> Login {
    Login::Password {
        username: username.to_owned(),
        password: Secret::new(password),
    }
}

fn descriptor_json(media_type: &str, bytes: &[u8], more: &str) -> String {
    format!(
        r#"{{"mediaType":"{media_type}","digest":"{}","size":{}{more}}}"#,
        Digest::of(bytes),
        bytes.len()
    )
}

/// The parts of a small image.
struct Image {
    config: Vec<u8>,
    layers: Vec<Vec<u8>>,
    manifest: Vec<u8>,
}

impl Image {
    fn new(name: &str) -> Self {
        let config =
            format!(r#"{{"architecture":"amd64","os":"linux","config":{{"Labels":{{"name":"{name}"}}}}}}"#)
                .into_bytes();
        let layers: Vec<Vec<u8>> = ["one", "two", "three"]
            .iter()
            .map(|layer| format!("{name} {layer} ").repeat(5000).into_bytes())
            .collect();
        let descriptors: Vec<String> = layers
            .iter()
            .map(|layer| descriptor_json("application/vnd.oci.image.layer.v1.tar", layer, ""))
            .collect();
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"{OCI_MANIFEST}","config":{},"layers":[{}]}}"#,
            descriptor_json("application/vnd.oci.image.config.v1+json", &config, ""),
            descriptors.join(",")
        )
        .into_bytes();
        Self {
            config,
            layers,
            manifest,
        }
    }

    fn blobs(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.layers.iter().chain([&self.config])
    }

    fn put(&self, mock: &Mock, repository: &str, tag: &str) -> Digest {
        for blob in self.blobs() {
            mock.put_blob(repository, blob);
        }
        mock.put_manifest(repository, tag, OCI_MANIFEST, &self.manifest)
    }

    /// Puts the image into a store and returns its descriptor.
    fn store(&self, store: &ContentStore) -> Descriptor {
        for blob in self.blobs() {
            store.insert(blob).expect("stored");
        }
        let digest = store.insert(&self.manifest).expect("stored");
        manifest::descriptor(MediaType::ImageManifest, &digest, self.manifest.len() as u64)
    }

    fn is_in(&self, store: &ContentStore) -> bool {
        let mut parts = self.blobs().chain([&self.manifest]);
        parts.all(|part| store.contains(&Digest::of(part)))
    }
}

fn index(images: &[(&str, &Image)]) -> Vec<u8> {
    let entries: Vec<String> = images
        .iter()
        .map(|(architecture, image)| {
            let platform = format!(r#","platform":{{"os":"linux","architecture":"{architecture}"}}"#);
            descriptor_json(OCI_MANIFEST, &image.manifest, &platform)
        })
        .collect();
    format!(
        r#"{{"schemaVersion":2,"mediaType":"{OCI_INDEX}","manifests":[{}]}}"#,
        entries.join(",")
    )
    .into_bytes()
}

fn reference(mock: &Mock, rest: &str) -> Reference {
    Reference::parse(&format!("{}/{rest}", mock.host)).expect(rest)
}

/// A message without the port that the system chose.
fn message(mock: &Mock, error: &RemoteError) -> String {
    error.to_string().replace(&mock.host, "registry.example")
}
