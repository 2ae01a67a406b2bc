use std::sync::Arc as StdArc;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::*;

fn guarded(json: &str) -> Remote {
    Remote::new(RemoteOptions {
        policy: Policy::from_slice(json.as_bytes(), Path::new("/policy.json")).expect(json),
        ..options()
    })
}

#[tokio::test]
async fn a_rejected_image_is_not_even_asked_for() {
    let mock = Mock::start().await;
    Image::new("a").put(&mock, "a", "1");
    let store = ContentStore::temporary().expect("a store");
    let remote = guarded(r#"{"default":[{"type":"reject"}]}"#);
    let error = remote
        .pull(&store, &reference(&mock, "a:1"), "amd64")
        .await
        .expect_err("rejected");
    assert!(matches!(error, RemoteError::Policy(_)), "{error}");
    remote
        .manifest(&reference(&mock, "a:1"))
        .await
        .expect_err("rejected");
    assert!(mock.requests().is_empty());
}

/// A signature as cosign attaches it.
struct Cosign {
    key: EcdsaKeyPair,
}

impl Cosign {
    fn new() -> Self {
        Self {
            key: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("a key"),
        }
    }

    fn remote(&self) -> Remote {
        let der = self.key.public_key().as_der().expect("a key");
        let pem = format!(
            "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
            STANDARD.encode(der.as_ref())
        );
        guarded(&format!(
            r#"{{"default":[{{"type":"sigstoreSigned","keyData":"{}"}}]}}"#,
            STANDARD.encode(pem)
        ))
    }

    fn sign(&self, mock: &Mock, repository: &str, name: &Reference, digest: Digest) -> Vec<u8> {
        let payload = format!(
            r#"{{"critical":{{"identity":{{"docker-reference":"{name}"}},"image":{{"docker-manifest-digest":"{digest}"}},"type":"cosign container image signature"}},"optional":null}}"#
        );
        let signature = self
            .key
            .sign(&SystemRandom::new(), payload.as_bytes())
            .expect("a signature");
        mock.put_blob(repository, payload.as_bytes());
        mock.put_blob(repository, b"{}");
        let annotations = format!(
            r#","annotations":{{"dev.cosignproject.cosign/signature":"{}"}}"#,
            STANDARD.encode(signature)
        );
        format!(
            r#"{{"schemaVersion":2,"mediaType":"{OCI_MANIFEST}","config":{},"layers":[{}]}}"#,
            descriptor_json("application/vnd.oci.image.config.v1+json", b"{}", ""),
            descriptor_json(
                "application/vnd.dev.cosign.simplesigning.v1+json",
                payload.as_bytes(),
                &annotations
            )
        )
        .into_bytes()
    }
}

fn tag_of(digest: Digest) -> String {
    digest.to_string().replace(':', "-")
}

#[tokio::test]
async fn a_signature_beside_the_image_lets_it_through() {
    let mock = Mock::start().await;
    let image = Image::new("a");
    let digest = image.put(&mock, "a", "1");
    let name = reference(&mock, "a:1");
    let cosign = Cosign::new();
    let store = ContentStore::temporary().expect("a store");
    let error = cosign
        .remote()
        .pull(&store, &name, "amd64")
        .await
        .expect_err("not signed");
    assert!(
        error
            .to_string()
            .contains("A signature was required, but no signature exists"),
        "{error}"
    );
    assert!(!store.contains(&digest));

    let other = Cosign::new().sign(&mock, "a", &name, digest);
    mock.put_manifest("a", &format!("{}.sig", tag_of(digest)), OCI_MANIFEST, &other);
    let error = cosign
        .remote()
        .pull(&store, &name, "amd64")
        .await
        .expect_err("signed by another");
    assert!(
        error
            .to_string()
            .contains("cryptographic signature verification failed"),
        "{error}"
    );

    let signature = cosign.sign(&mock, "a", &name, digest);
    mock.put_manifest("a", &format!("{}.sig", tag_of(digest)), OCI_MANIFEST, &signature);
    cosign
        .remote()
        .pull(&store, &name, "amd64")
        .await
        .expect("pulled");
    assert!(image.is_in(&store));
    // A signature is asked for every time, even when the image is in the store.
    let by_digest = name.with_digest(digest);
    let before = mock.requests().len();
    cosign
        .remote()
        .pull(&store, &by_digest, "amd64")
        .await
        .expect("pulled");
    assert!(mock.requests().len() > before);
}

#[tokio::test]
async fn a_signature_that_refers_to_the_image_lets_it_through() {
    let mock = Mock::start().await;
    let image = Image::new("a");
    let digest = image.put(&mock, "a", "1");
    let name = reference(&mock, "a:1");
    let cosign = Cosign::new();
    let signature = cosign.sign(&mock, "a", &name, digest);
    mock.put_manifest("a", "unused", OCI_MANIFEST, &signature);
    let listing = format!(
        r#"{{"schemaVersion":2,"mediaType":"{OCI_INDEX}","manifests":[{}]}}"#,
        descriptor_json(
            OCI_MANIFEST,
            &signature,
            r#","artifactType":"application/vnd.dev.cosign.artifact.sig.v1+json""#
        )
    );
    mock.put_manifest("a", &tag_of(digest), OCI_INDEX, listing.as_bytes());
    let store = ContentStore::temporary().expect("a store");
    cosign
        .remote()
        .pull(&store, &name, "amd64")
        .await
        .expect("pulled");
}

#[tokio::test]
async fn a_signed_index_vouches_for_its_images() {
    let mock = Mock::start().await;
    let image = Image::new("a");
    image.put(&mock, "a", "unused");
    let root = mock.put_manifest("a", "1", OCI_INDEX, &index(&[("amd64", &image)]));
    let name = reference(&mock, "a:1");
    let cosign = Cosign::new();
    let signature = cosign.sign(&mock, "a", &name, root);
    mock.put_manifest("a", &format!("{}.sig", tag_of(root)), OCI_MANIFEST, &signature);
    let store = ContentStore::temporary().expect("a store");
    cosign
        .remote()
        .pull(&store, &name, "amd64")
        .await
        .expect("pulled");
}

#[tokio::test]
async fn simple_signatures_are_looked_for_beside_the_registry() {
    let mock = Mock::start().await;
    let image = Image::new("a");
    let digest = image.put(&mock, "team/a", "1");
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("key.asc");
    std::fs::write(&key, "not a key").expect("a file");
    let policy = format!(r#"{{"default":[{{"type":"signedBy","keyType":"GPGKeys","keyPath":{key:?}}}]}}"#);
    let remote = Remote::new(RemoteOptions {
        policy: Policy::from_slice(policy.as_bytes(), Path::new("/policy.json")).expect("a policy"),
        lookaside: Lookaside::in_folder(folder.path()),
        ..options()
    });
    let store = ContentStore::temporary().expect("a store");
    let signatures = folder.path().join(format!("team/a@sha256={}", digest.hex()));
    std::fs::create_dir_all(&signatures).expect("a folder");
    std::fs::write(signatures.join("signature-1"), "not a signature").expect("a file");
    let error = remote
        .pull(&store, &reference(&mock, "team/a:1"), "amd64")
        .await
        .expect_err("neither key nor signature");
    assert!(error.to_string().contains("cannot read the GPG keys"), "{error}");
    assert!(!store.contains(&digest));
}

/// Serves a mock over TLS and returns its authority's certificate.
async fn encrypted(mock: &mut Mock) -> String {
    let authority = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(authority.signing_key.serialize_der()).expect("a key");
    let provider = StdArc::new(rustls::crypto::aws_lc_rs::default_provider());
    let configuration = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(authority.cert.der().to_vec())], key)
        .expect("a configuration");
    let acceptor = tokio_rustls::TlsAcceptor::from(StdArc::new(configuration));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    mock.host = format!("localhost:{}", listener.local_addr().expect("an address").port());
    let router = mock.router();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, router) = (acceptor.clone(), router.clone());
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    let service = TowerToHyperService::new(router);
                    let server = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                    let _ = server.serve_connection(TokioIo::new(stream), service).await;
                }
            });
        }
    });
    authority.cert.pem()
}

#[tokio::test]
async fn a_registry_is_trusted_by_the_certificate_in_its_folder() {
    let mut mock = Mock::start().await;
    let certificate = encrypted(&mut mock).await;
    let image = Image::new("a");
    image.put(&mock, "a", "1");
    let name = reference(&mock, "a:1");
    let store = ContentStore::temporary().expect("a store");
    let host = mock.host.clone();
    let verified = |certificates| RemoteOptions {
        // Said for the host: what is on this machine may otherwise do without.
        encryption_by_host: [(host.clone(), Encryption::Verified)].into(),
        certificates,
        ..options()
    };

    let error = Remote::new(verified(Certificates::default()))
        .pull(&store, &name, "amd64")
        .await
        .expect_err("not trusted");
    assert!(matches!(error, RemoteError::Certificate { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains(&format!("/etc/containers/certs.d/{}/ca.crt", mock.host)),
        "{error}"
    );

    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join(&mock.host);
    std::fs::create_dir_all(&own).expect("a folder");
    std::fs::write(own.join("ca.crt"), &certificate).expect("a file");
    let certificates = Certificates {
        files: Vec::new(),
        folders: vec![folder.path().to_owned()],
    };
    Remote::new(verified(certificates.clone()))
        .pull(&store, &name, "amd64")
        .await
        .expect("trusted");
    let root = image.store(&store);
    Remote::new(verified(certificates.clone()))
        .push(&store, &root, &reference(&mock, "b:1"))
        .await
        .expect("trusted");
    Remote::new(RemoteOptions {
        encryption: Encryption::Unverified,
        ..options()
    })
    .resolve(&name)
    .await
    .expect("not verified");

    std::fs::write(own.join("ca.crt"), "nothing").expect("a file");
    let error = Remote::new(verified(certificates.clone()))
        .resolve(&name)
        .await
        .expect_err("no certificate in it");
    assert!(matches!(error, RemoteError::CertificateFiles { .. }), "{error}");
    std::fs::write(own.join("ca.crt"), certificate).expect("a file");
    std::fs::write(own.join("client.cert"), "").expect("a file");
    let error = Remote::new(verified(certificates))
        .resolve(&name)
        .await
        .expect_err("a client certificate");
    assert!(
        error.to_string().contains("client certificate is not supported"),
        "{error}"
    );
}
