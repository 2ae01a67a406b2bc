//! The embedded registry, asked as its clients ask it: by requests within the process and over sockets.

#[path = "../peers/attached.rs"]
mod attached;
mod attaching;
mod collecting;
mod concurrency;
mod deleting;
mod guarding;
mod listing;
mod manifests;
mod pulling;
mod pushing;
mod sockets;
mod survival;
mod writing;

use aws_lc_rs::digest::{SHA256, SHA512, digest};
use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode};
use image::registry::{Registry, RegistryOptions};
use serde_json::{Value, json};
use tower::ServiceExt;

pub(crate) const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// What came back for a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {:?}", String::from_utf8_lossy(&self.body)))
    }

    /// The status, and the identifier of the first error.
    pub(crate) fn refusal(&self) -> (u16, String) {
        let code = self.json()["errors"][0]["code"].as_str().unwrap().to_owned();
        (self.status.as_u16(), code)
    }

    pub(crate) fn message(&self) -> String {
        self.json()["errors"][0]["message"].as_str().unwrap().to_owned()
    }
}

/// A registry in a folder that vanishes with it, asked without a socket.
pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) registry: Registry,
    router: Router,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut RegistryOptions)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = RegistryOptions::open_to_all(folder.path());
        change(&mut options);
        let registry = Registry::open(options).unwrap();
        let router = registry.router();
        Self {
            folder,
            registry,
            router,
        }
    }

    /// The same folder, served by what stands for the next process.
    pub(crate) fn restart(self) -> Self {
        self.restart_with(|_| {})
    }

    pub(crate) fn restart_with(self, change: impl FnOnce(&mut RegistryOptions)) -> Self {
        let Self {
            folder,
            registry,
            router,
        } = self;
        drop((registry, router));
        let mut options = RegistryOptions::open_to_all(folder.path());
        change(&mut options);
        let registry = Registry::open(options).unwrap();
        let router = registry.router();
        Self {
            folder,
            registry,
            router,
        }
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answer {
        let is_head = method == Method::HEAD;
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self
            .router
            .clone()
            .oneshot(request.body(body.into()).unwrap())
            .await
            .unwrap();
        let (parts, body) = response.into_parts();
        let answer = Answer {
            status: parts.status,
            headers: parts.headers,
            body: axum::body::to_bytes(body, usize::MAX).await.unwrap().to_vec(),
        };
        // Over a socket, a wrong length would end the connection instead of the answer.
        if !is_head && let Some(length) = answer.headers.get("content-length") {
            assert_eq!(length, &answer.body.len().to_string(), "{answer:?}");
        }
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[], Body::empty()).await
    }

    pub(crate) async fn head(&self, path: &str) -> Answer {
        self.send(Method::HEAD, path, &[], Body::empty()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, &[], Body::empty()).await
    }

    pub(crate) async fn post(&self, path: &str) -> Answer {
        self.send(Method::POST, path, &[("content-length", "0")], Body::empty())
            .await
    }

    /// Pushes a blob in one request; returns its digest.
    pub(crate) async fn push_blob(&self, name: &str, bytes: &[u8]) -> String {
        let digest = sha256(bytes);
        let path = format!("/v2/{name}/blobs/uploads/?digest={digest}");
        let answer = self.send(Method::POST, &path, &[], bytes.to_vec()).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        digest
    }

    pub(crate) async fn put_manifest(
        &self,
        name: &str,
        reference: &str,
        media_type: &str,
        bytes: &[u8],
    ) -> Answer {
        let path = format!("/v2/{name}/manifests/{reference}");
        self.send(
            Method::PUT,
            &path,
            &[("content-type", media_type)],
            bytes.to_vec(),
        )
        .await
    }

    /// Pushes an image with one layer under a tag or digest; returns its manifest.
    pub(crate) async fn push_image(&self, name: &str, tag: &str, layer: &[u8]) -> Vec<u8> {
        let manifest = image(layer, &json!({}));
        self.push_blob(name, b"{}").await;
        self.push_blob(name, layer).await;
        let answer = self.put_manifest(name, tag, OCI_MANIFEST, &manifest).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        manifest
    }

    /// Begins an upload; returns its location.
    pub(crate) async fn begin(&self, name: &str) -> String {
        let answer = self.post(&format!("/v2/{name}/blobs/uploads/")).await;
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.header("location").to_owned()
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    format!("sha256:{}", hexadecimal(digest(&SHA256, bytes).as_ref()))
}

pub(crate) fn sha512(bytes: &[u8]) -> String {
    format!("sha512:{}", hexadecimal(digest(&SHA512, bytes).as_ref()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

pub(crate) fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({ "mediaType": media_type, "digest": sha256(bytes), "size": bytes.len() })
}

/// The manifest of an image with the configuration `{}` and one layer; `more` is merged into it.
pub(crate) fn image(layer: &[u8], more: &Value) -> Vec<u8> {
    let mut manifest = json!({
        "schemaVersion": 2,
        "mediaType": OCI_MANIFEST,
        "config": descriptor("application/vnd.oci.image.config.v1+json", b"{}"),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar", layer)],
    });
    for (key, value) in more.as_object().unwrap() {
        manifest[key] = value.clone();
    }
    manifest.to_string().into_bytes()
}

/// An index of manifests.
pub(crate) fn index(manifests: &[&[u8]]) -> Vec<u8> {
    let manifests: Vec<Value> = manifests
        .iter()
        .map(|bytes| descriptor(OCI_MANIFEST, bytes))
        .collect();
    json!({ "schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": manifests })
        .to_string()
        .into_bytes()
}
