use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use image::registry::{Access, Registry, RegistryError, RegistryOptions, TlsIdentity, Users};
use serde_json::json;
use tokio::net::TcpListener;

use crate::{OCI_INDEX, OCI_MANIFEST, World, image, index, sha256};

fn users(folder: &std::path::Path) -> Users {
    let file = folder.join("htpasswd");
    std::fs::write(&file, format!("ann:{}\n", bcrypt::hash("secret", 4).unwrap())).unwrap();
    Users::from_htpasswd(&file).unwrap()
}

#[tokio::test]
async fn only_users_come_in() {
    let secrets = tempfile::tempdir().unwrap();
    let world = World::with(|options| options.access = Access::users_only(users(secrets.path())));
    let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
    let refused = world.get("/v2/").await;
    assert_eq!(refused.refusal(), (401, "UNAUTHORIZED".to_owned()));
    assert!(refused.header("www-authenticate").starts_with("Basic realm="));
    let right = basic("ann:secret");
    for (header, status) in [
        (right.as_str(), 200),
        (right.as_str(), 200),
        (&right.replace("Basic", "basic"), 200),
        (&basic("ann:wrong"), 401),
        (&basic("ben:secret"), 401),
        (&basic("ann"), 401),
        (&basic(&format!("ann:{}", "secret".repeat(40))), 401),
        ("Basic ???", 401),
        ("Bearer token", 401),
    ] {
        let answer = world
            .send(Method::GET, "/v2/", &[("authorization", header)], Body::empty())
            .await;
        assert_eq!(answer.status, status, "{header}");
    }
    let push = world.post("/v2/a/blobs/uploads/").await;
    assert_eq!(push.status, 401);
}

#[test]
fn a_password_file_that_can_not_be_used_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("htpasswd");
    assert!(matches!(
        Users::from_htpasswd(&file),
        Err(RegistryError::Htpasswd { .. })
    ));
    std::fs::write(&file, "ann:plain\n").unwrap();
    let error = Users::from_htpasswd(&file).unwrap_err();
    assert!(matches!(error, RegistryError::HtpasswdLine { line: 1, .. }));
    assert!(error.to_string().contains("htpasswd -B"), "{error}");
}

#[tokio::test]
async fn a_read_only_registry_is_pulled_from() {
    let world = World::new();
    let manifest = world.push_image("a", "v1", b"layer").await;
    let world = world.restart_with(|options| options.read_only = true);
    assert_eq!(world.get("/v2/a/manifests/v1").await.body, manifest);
    assert_eq!(
        world.post("/v2/a/blobs/uploads/").await.refusal(),
        (405, "UNSUPPORTED".to_owned())
    );
    assert_eq!(world.delete("/v2/a/manifests/v1").await.status, 405);
    assert_eq!(
        world
            .put_manifest("a", "v2", OCI_MANIFEST, &manifest)
            .await
            .status,
        405
    );
}

#[tokio::test]
async fn what_is_published_does_not_change_when_tags_are_immutable() {
    let world = World::with(|options| options.immutable_tags = true);
    let child = world.push_image("a", "child", b"layer").await;
    let published = index(&[&child]);
    assert_eq!(
        world.put_manifest("a", "v1", OCI_INDEX, &published).await.status,
        201
    );
    // The same again is no change.
    assert_eq!(
        world.put_manifest("a", "v1", OCI_INDEX, &published).await.status,
        201
    );
    let other = image(b"layer", &json!({ "annotations": { "a": "b" } }));
    let refused = world.put_manifest("a", "v1", OCI_MANIFEST, &other).await;
    assert_eq!(refused.refusal(), (403, "DENIED".to_owned()));
    assert_eq!(
        refused.message(),
        format!(
            "tag v1 is published as {} and this registry doesn't change what is published: push {} under another tag",
            sha256(&published),
            sha256(&other)
        )
    );
    assert_eq!(world.get("/v2/a/manifests/v1").await.body, published);
    assert_eq!(
        world
            .put_manifest(
                "a",
                &format!("{}?tag=new&tag=v1", sha256(&other)),
                OCI_MANIFEST,
                &other
            )
            .await
            .status,
        403
    );
    assert_eq!(world.head("/v2/a/manifests/new").await.status, 404);

    for path in [
        "/v2/a/manifests/v1".to_owned(),
        format!("/v2/a/manifests/{}", sha256(&published)),
        format!("/v2/a/manifests/{}", sha256(&child)),
        format!("/v2/a/blobs/{}", sha256(b"layer")),
    ] {
        assert_eq!(
            world.delete(&path).await.refusal(),
            (405, "UNSUPPORTED".to_owned()),
            "{path}"
        );
        assert_eq!(world.head(&path).await.status, 200, "{path}");
    }
    let unpublished = world.push_blob("a", b"unpublished").await;
    assert_eq!(
        world.delete(&format!("/v2/a/blobs/{unpublished}")).await.status,
        202
    );
    assert_eq!(
        world
            .put_manifest("a", &sha256(&other), OCI_MANIFEST, &other)
            .await
            .status,
        201
    );
    assert_eq!(
        world
            .delete(&format!("/v2/a/manifests/{}", sha256(&other)))
            .await
            .status,
        202
    );
}

#[test]
fn a_folder_has_one_process_and_one_purpose() {
    let folder = tempfile::tempdir().unwrap();
    let first = Registry::open(RegistryOptions::open_to_all(folder.path())).unwrap();
    let second = Registry::open(RegistryOptions::open_to_all(folder.path()));
    assert!(matches!(second, Err(RegistryError::InUse(_))), "{second:?}");
    drop(first);
    Registry::open(RegistryOptions::open_to_all(folder.path())).unwrap();
    std::fs::write(folder.path().join("baton-registry"), "layout 99").unwrap();
    let newer = Registry::open(RegistryOptions::open_to_all(folder.path()));
    assert!(
        matches!(newer, Err(RegistryError::OtherLayout { .. })),
        "{newer:?}"
    );
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("diary"), "dear diary").unwrap();
    let refused = Registry::open(RegistryOptions::open_to_all(other.path()));
    assert!(
        matches!(refused, Err(RegistryError::NotARegistry(_))),
        "{refused:?}"
    );
    assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn the_registry_speaks_tls() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let certificate = made.cert.pem();
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::open(RegistryOptions::open_to_all(folder.path())).unwrap();
    let identity = TlsIdentity::from_pem(
        certificate.as_bytes(),
        made.signing_key.serialize_pem().as_bytes(),
    )
    .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let serving = registry.serve(listener, Some(identity)).unwrap();
    assert!(serving.url().starts_with("https://127.0.0.1:"));
    let root = reqwest::Certificate::from_pem(certificate.as_bytes()).unwrap();
    let url = format!("https://localhost:{}/v2/", serving.address().port());
    let client = reqwest::Client::builder()
        .tls_certs_only([root])
        .no_proxy()
        .build()
        .unwrap();
    let answer = client.get(&url).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(
        answer.headers()["docker-distribution-api-version"],
        "registry/2.0"
    );
    let stranger = reqwest::Client::builder().no_proxy().build().unwrap();
    assert!(stranger.get(&url).send().await.is_err());
    serving.stop().await;
    assert!(client.get(&url).send().await.is_err());
}

#[test]
fn a_certificate_without_its_key_is_an_error() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let certificate = made.cert.pem();
    for (certificate, key) in [
        (certificate.as_str(), other.signing_key.serialize_pem()),
        (&certificate, String::new()),
        ("", made.signing_key.serialize_pem()),
    ] {
        let refused = TlsIdentity::from_pem(certificate.as_bytes(), key.as_bytes());
        assert!(matches!(refused, Err(RegistryError::Tls { .. })), "{refused:?}");
    }
}
