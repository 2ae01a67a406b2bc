//! A registry that everyone on this machine may read and one user may write: who gets in where, and what an attack changes.

use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hosts::Hosts;
use http::Method;
use image::credentials::{Credentials, Login, Secret};
use image::digest::Digest;
use image::manifest::host_architecture;
use image::reference::Reference;
use image::registry::{Access, Registry, RegistryOptions, note_pusher};
use image::remote::{Encryption, Remote, RemoteError, RemoteOptions, Retry};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{Answer, OCI_INDEX, OCI_MANIFEST, World, image, sha256};

const NAME: &str = "baton";
const PASSWORD: &str = "a password that nobody guesses";

fn guard(options: &mut RegistryOptions) {
    options.access = Access::one_writer(NAME, &Secret::new(PASSWORD)).unwrap();
    options.hosts = Some(Hosts::loopback());
}

fn basic(name: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{name}:{password}")))
}

/// A registry with `a:v1`, written when everyone could, and guarded since.
async fn guarded() -> (World, Vec<u8>) {
    let world = World::new();
    let manifest = world.push_image("a", "v1", b"layer").await;
    (world.restart_with(guard), manifest)
}

async fn ask(world: &World, method: &Method, path: &str, authorization: Option<&str>) -> Answer {
    let mut headers = vec![("host", "127.0.0.1:5000"), ("content-type", OCI_MANIFEST)];
    headers.extend(authorization.map(|value| ("authorization", value)));
    let body = if *method == Method::PUT {
        image(b"layer", &json!({ "annotations": { "by": "somebody else" } }))
    } else {
        Vec::new()
    };
    world.send(method.clone(), path, &headers, body).await
}

async fn token(world: &World, authorization: Option<&str>) -> String {
    let answer = ask(world, &Method::GET, "/v2/_token?service=baton", authorization).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("cache-control"), "no-store");
    format!("Bearer {}", answer.json()["token"].as_str().unwrap())
}

#[tokio::test]
async fn every_route_is_open_or_closed_for_strangers_and_for_the_user() {
    let (world, manifest) = guarded().await;
    let layer = sha256(b"layer");
    let digest = sha256(&manifest);
    let reads = [
        "/v2/_catalog".to_owned(),
        "/v2/a/tags/list".to_owned(),
        "/v2/a/manifests/v1".to_owned(),
        format!("/v2/a/manifests/{digest}"),
        format!("/v2/a/blobs/{layer}"),
        format!("/v2/a/referrers/{digest}"),
    ];
    // Refused whatever they name, also what isn't there.
    let writes = [
        (Method::POST, "/v2/b/blobs/uploads/".to_owned()),
        (Method::POST, format!("/v2/b/blobs/uploads/?digest={layer}")),
        (Method::POST, format!("/v2/b/blobs/uploads/?mount={layer}&from=a")),
        (Method::GET, "/v2/a/blobs/uploads/x".to_owned()),
        (Method::HEAD, "/v2/a/blobs/uploads/x".to_owned()),
        (Method::PATCH, "/v2/a/blobs/uploads/x".to_owned()),
        (Method::PUT, format!("/v2/a/blobs/uploads/x?digest={layer}")),
        (Method::DELETE, "/v2/a/blobs/uploads/x".to_owned()),
        (Method::PUT, "/v2/a/manifests/v1".to_owned()),
        (Method::PUT, "/v2/a/manifests/sha256:0?tag=v1".to_owned()),
        (Method::PUT, "/v2/b/manifests/new".to_owned()),
        (Method::DELETE, "/v2/a/manifests/v1".to_owned()),
        (Method::DELETE, format!("/v2/a/manifests/{digest}")),
        (Method::DELETE, format!("/v2/a/blobs/{layer}")),
        (Method::POST, "/v2/".to_owned()),
        (Method::OPTIONS, "/v2/a/manifests/v1".to_owned()),
        (Method::from_bytes(b"BREW").unwrap(), "/v2/a/tags/list".to_owned()),
    ];
    let right = basic(NAME, PASSWORD);
    let strangers_token = token(&world, None).await;
    let users_token = token(&world, Some(&right)).await;
    let wrong = [
        basic(NAME, "wrong"),
        basic(NAME, ""),
        basic("ann", PASSWORD),
        basic("", PASSWORD),
        basic(NAME, &format!("{PASSWORD}x")),
        format!("{strangers_token}x"),
        "Bearer x".to_owned(),
        "Basic ???".to_owned(),
        "Negotiate x".to_owned(),
    ];
    for path in &reads {
        for method in [Method::GET, Method::HEAD] {
            for authorization in [None, Some(&strangers_token), Some(&users_token), Some(&right)] {
                let answer = ask(&world, &method, path, authorization.map(String::as_str)).await;
                assert_eq!(answer.status, 200, "{method} {path} {authorization:?}");
            }
            for authorization in &wrong {
                let answer = ask(&world, &method, path, Some(authorization)).await;
                assert_eq!(answer.status, 401, "{method} {path} {authorization}");
            }
        }
    }
    for (method, path) in &writes {
        for authorization in [None, Some(&strangers_token)] {
            let answer = ask(&world, method, path, authorization.map(String::as_str)).await;
            assert_eq!(answer.status, 401, "{method} {path} {authorization:?}");
            let challenge = answer.header("www-authenticate");
            assert_eq!(challenge, "Basic realm=\"baton registry\"", "{method} {path}");
        }
        for authorization in &wrong {
            let answer = ask(&world, method, path, Some(authorization)).await;
            assert_eq!(answer.status, 401, "{method} {path} {authorization}");
        }
    }
    // Nothing of all that changed anything.
    assert_eq!(
        ask(&world, &Method::GET, "/v2/a/manifests/v1", None).await.body,
        manifest
    );
    assert_eq!(
        ask(&world, &Method::GET, "/v2/_catalog", None).await.json()["repositories"],
        json!(["a"])
    );
    assert_eq!(
        ask(&world, &Method::GET, &format!("/v2/b/blobs/{layer}"), None)
            .await
            .status,
        404
    );
    let uploads = std::fs::read_dir(world.folder.path().join("uploads")).unwrap();
    assert_eq!(uploads.count(), 0);
    for (method, path) in &writes {
        for authorization in [&users_token, &right] {
            let answer = ask(&world, method, path, Some(authorization)).await;
            assert_ne!(answer.status, 401, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn who_asks_how_to_log_in_is_told_and_whether_it_worked() {
    let (world, _) = guarded().await;
    let greeting = async |authorization: Option<&str>| ask(&world, &Method::GET, "/v2/", authorization).await;
    let first = greeting(None).await;
    assert_eq!(first.refusal(), (401, "UNAUTHORIZED".to_owned()));
    assert_eq!(
        first.header("www-authenticate"),
        "Bearer realm=\"http://127.0.0.1:5000/v2/_token\",service=\"baton registry\""
    );
    // HTTP/2 says beside the headers which name was asked.
    let elsewhere = world.get("https://127.0.0.1:5443/v2/").await;
    assert_eq!(
        elsewhere.header("www-authenticate"),
        "Bearer realm=\"http://127.0.0.1:5443/v2/_token\",service=\"baton registry\""
    );
    let strangers_token = token(&world, None).await;
    let users_token = token(&world, Some(&basic(NAME, PASSWORD))).await;
    for (authorization, status) in [
        (strangers_token, 200),
        (users_token, 200),
        (basic(NAME, PASSWORD), 200),
        (basic(NAME, "wrong"), 401),
        ("Bearer x".to_owned(), 401),
    ] {
        assert_eq!(
            greeting(Some(&authorization)).await.status,
            status,
            "{authorization}"
        );
    }
    let refused = ask(&world, &Method::GET, "/v2/_token", Some(&basic(NAME, "wrong"))).await;
    assert_eq!(refused.refusal(), (401, "UNAUTHORIZED".to_owned()));

    // As OAuth 2 has it, which Helm tries first.
    for (sent, status) in [
        (
            "grant_type=password&username=baton&password=a+password+that+nobody+guesses".to_owned(),
            200,
        ),
        (
            "grant_type=password&username=baton&password=wrong".to_owned(),
            401,
        ),
        ("grant_type=refresh_token&refresh_token=x".to_owned(), 401),
        (String::new(), 401),
        ("x".repeat(100_000), 413),
    ] {
        let headers = [
            ("host", "localhost"),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        let answer = world
            .send(Method::POST, "/v2/_token", &headers, sent.clone())
            .await;
        assert_eq!(answer.status, status, "{sent}");
    }
    assert_eq!(
        ask(&world, &Method::PUT, "/v2/_token", Some(&basic(NAME, PASSWORD)))
            .await
            .status,
        405
    );
}

#[tokio::test]
async fn a_registry_without_strangers_gives_no_tokens() {
    let world = World::new();
    assert_eq!(world.get("/v2/_token").await.status, 404);
    assert_eq!(world.get("/v2/").await.status, 200);
}

#[tokio::test]
async fn a_name_of_a_stranger_and_a_page_of_a_stranger_reach_nothing() {
    let (world, manifest) = guarded().await;
    let right = basic(NAME, PASSWORD);
    for (host, origin, status) in [
        ("evil.example.com", None, 421),
        ("evil.example.com:5000", Some("http://evil.example.com:5000"), 421),
        ("127.0.0.1:5000", Some("https://evil.example.com"), 403),
        ("127.0.0.1:5000", Some("null"), 403),
        ("127.0.0.1:5000", Some("http://127.0.0.1:8080"), 403),
        ("", None, 400),
    ] {
        for path in ["/v2/", "/v2/_catalog", "/v2/a/manifests/v1", "/v2/_token"] {
            for method in [
                Method::GET,
                Method::POST,
                Method::PUT,
                Method::DELETE,
                Method::OPTIONS,
            ] {
                let mut headers = vec![
                    ("host", host),
                    ("authorization", &right),
                    ("content-type", OCI_MANIFEST),
                ];
                headers.extend(origin.map(|origin| ("origin", origin)));
                let answer = world.send(method.clone(), path, &headers, Body::empty()).await;
                assert_eq!(answer.status, status, "{method} {path} {host} {origin:?}");
            }
        }
    }
    assert_eq!(
        ask(&world, &Method::GET, "/v2/a/manifests/v1", None).await.body,
        manifest
    );
}

#[tokio::test]
async fn who_pushed_is_known_by_digest_until_the_manifest_goes() {
    let (world, manifest) = guarded().await;
    let pusher = |world: &World, repository: &str, bytes: &[u8]| {
        world.registry.pusher(repository, &Digest::of(bytes)).unwrap()
    };
    assert_eq!(pusher(&world, "a", &manifest), None, "everyone could push it");
    let right = basic(NAME, PASSWORD);
    let headers = [
        ("host", "localhost"),
        ("authorization", right.as_str()),
        ("content-type", OCI_MANIFEST),
    ];
    let put = world
        .send(Method::PUT, "/v2/a/manifests/v1", &headers, manifest.clone())
        .await;
    assert_eq!(put.status, 201);
    assert_eq!(pusher(&world, "a", &manifest).as_deref(), Some(NAME));
    assert_eq!(pusher(&world, "b", &manifest), None);
    assert_eq!(pusher(&world, "a", b"other"), None);
    assert_eq!(pusher(&world, "../a", &manifest), None);

    // The same bytes again, by anyone: they are still those that the user pushed. Other bytes aren't.
    let world = world.restart();
    assert_eq!(
        world
            .put_manifest("a", "v1", OCI_MANIFEST, &manifest)
            .await
            .status,
        201
    );
    assert_eq!(pusher(&world, "a", &manifest).as_deref(), Some(NAME));
    let other = image(b"layer", &json!({ "annotations": { "by": "anyone" } }));
    assert_eq!(
        world.put_manifest("a", "v1", OCI_MANIFEST, &other).await.status,
        201
    );
    assert_eq!(pusher(&world, "a", &other), None);

    // What was deleted comes back as what whoever brings it back is.
    let path = format!("/v2/a/manifests/{}", sha256(&manifest));
    assert_eq!(world.delete(&path).await.status, 202);
    assert_eq!(pusher(&world, "a", &manifest), None);
    assert_eq!(
        world
            .put_manifest("a", "v1", OCI_MANIFEST, &manifest)
            .await
            .status,
        201
    );
    assert_eq!(pusher(&world, "a", &manifest), None);
}

#[tokio::test]
async fn of_an_image_for_several_machines_the_one_that_ran_here_is_enough_to_know_its_pusher() {
    let world = World::new();
    let here = world.push_image("a", "here", b"for this machine").await;
    let there = world.push_image("a", "there", b"for another one").await;
    let of = |image: &[u8], architecture: &str| {
        json!({ "mediaType": OCI_MANIFEST, "digest": sha256(image), "size": image.len(),
                "platform": { "os": "linux", "architecture": architecture } })
    };
    let index = |manifests: Value| {
        json!({ "schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": manifests })
            .to_string()
            .into_bytes()
    };
    let own = host_architecture();
    let ran = index(json!([of(&there, "riscv64"), of(&here, own)]));
    let never_ran = index(json!([of(&here, "riscv64"), of(&there, own)]));
    for (tag, bytes) in [("ran", &ran), ("never-ran", &never_ran)] {
        let put = world.put_manifest("a", tag, OCI_INDEX, bytes).await;
        assert_eq!(put.status, 201, "{put:?}");
    }
    let folder = world.folder.path().to_owned();
    let world = world.restart();
    note_pusher(&folder, NAME, |digest| *digest == Digest::of(&here)).unwrap();
    for (bytes, expected) in [
        (&here, Some(NAME)),
        (&there, None),
        (&ran, Some(NAME)),
        (&never_ran, None),
    ] {
        let pusher = world.registry.pusher("a", &Digest::of(bytes)).unwrap();
        assert_eq!(pusher.as_deref(), expected, "{}", String::from_utf8_lossy(bytes));
    }
}

fn remote(login: Login) -> Remote {
    Remote::new(RemoteOptions {
        credentials: Credentials::fixed(login),
        encryption: Encryption::Off,
        retry: Retry {
            attempts: 1,
            ..Retry::default()
        },
        ..RemoteOptions::default()
    })
}

#[tokio::test]
async fn our_own_client_reads_without_and_writes_with_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = RegistryOptions::open_to_all(folder.path());
    guard(&mut options);
    let registry = Registry::open(options).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let serving = registry.serve(listener, None).unwrap();
    let name = Reference::parse(&format!("{}/a:v1", serving.address())).unwrap();
    let store = image::content::ContentStore::temporary().unwrap();
    let mut files = image::layer::LayerFiles::new();
    files.add_bytes("/file", "text", 0o644).unwrap();
    let layer = files.write(&store, image::layer::Compression::Gzip).unwrap();
    let settings = image::build::ImageSettings::default();
    let built = image::build::image(&store, &settings, "amd64", &[layer]).unwrap();
    let password = |password: &str| Login::Password {
        username: NAME.to_owned(),
        password: Secret::new(password),
    };
    for login in [Login::Anonymous, password("wrong")] {
        let error = remote(login.clone())
            .push(&store, &built.descriptor, &name)
            .await
            .unwrap_err();
        assert!(
            matches!(error, RemoteError::Unauthorized { .. }),
            "{login:?}: {error}"
        );
    }
    assert_eq!(registry.pusher("a", &Digest::of(b"")).unwrap(), None);
    remote(password(PASSWORD))
        .push(&store, &built.descriptor, &name)
        .await
        .unwrap();
    let found = remote(Login::Anonymous).resolve(&name).await.unwrap();
    assert_eq!(found.digest(), built.descriptor.digest());
    let digest: Digest = found.digest().to_string().parse().unwrap();
    assert_eq!(registry.pusher("a", &digest).unwrap().as_deref(), Some(NAME));
    // What is there, and nobody is known to have pushed, is pushed again by who says that it is his.
    let serving = {
        serving.stop().await;
        drop(registry);
        let open = Registry::open(RegistryOptions::open_to_all(folder.path())).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let anyones = open.serve(listener, None).unwrap();
        let theirs = Reference::parse(&format!("{}/c:v1", anyones.address())).unwrap();
        let anybody = remote(Login::Anonymous);
        anybody.push(&store, &built.descriptor, &theirs).await.unwrap();
        anyones.stop().await;
        drop(open);
        let mut options = RegistryOptions::open_to_all(folder.path());
        guard(&mut options);
        let registry = Registry::open(options).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        registry.serve(listener, None).unwrap()
    };
    assert_eq!(serving.registry().pusher("c", &digest).unwrap(), None);
    let his = Reference::parse(&format!("{}/c:v1", serving.address())).unwrap();
    let owner = remote(password(PASSWORD));
    owner.push(&store, &built.descriptor, &his).await.unwrap();
    let pusher = serving.registry().pusher("c", &digest).unwrap();
    assert_eq!(pusher.as_deref(), Some(NAME));
    // A mount from another repository, as a client does it by itself.
    let elsewhere = Reference::parse(&format!("{}/b:v1", serving.address())).unwrap();
    remote(password(PASSWORD))
        .push(&store, &built.descriptor, &elsewhere)
        .await
        .unwrap();
    let tags: Value = json!(remote(Login::Anonymous).tags(&elsewhere).await.unwrap());
    assert_eq!(tags, json!(["v1"]));
    serving.stop().await;
}
