use std::sync::Mutex as StdMutex;

use super::*;

#[tokio::test]
async fn an_image_is_fetched_for_its_platform_and_no_other() {
    let mock = Mock::start().await;
    let (amd64, arm64) = (Image::new("amd64"), Image::new("arm64"));
    for image in [&amd64, &arm64] {
        image.put(&mock, "team/app", "unused");
    }
    let index = index(&[("amd64", &amd64), ("arm64", &arm64)]);
    let root = mock.put_manifest("team/app", "1", OCI_INDEX, &index);
    let store = ContentStore::temporary().expect("a store");
    let pulled = remote()
        .pull(&store, &reference(&mock, "team/app:1"), "arm64")
        .await
        .expect("pulled");
    assert_eq!(manifest::digest_of(&pulled.root).unwrap(), root);
    assert_eq!(
        manifest::digest_of(&pulled.manifest).unwrap(),
        Digest::of(&arm64.manifest)
    );
    assert_eq!(
        pulled.reference.to_string(),
        format!("{}/team/app@{root}", mock.host)
    );
    assert!(arm64.is_in(&store) && store.contains(&root));
    assert!(!amd64.is_in(&store));

    let error = remote()
        .pull(&store, &reference(&mock, "team/app:1"), "s390x")
        .await
        .expect_err("no such platform");
    assert!(
        error.to_string().contains("has nothing for linux/s390x"),
        "{error}"
    );
    remote()
        .pull_everything(&store, &reference(&mock, "team/app:1"))
        .await
        .expect("pulled");
    assert!(amd64.is_in(&store));
}

#[tokio::test]
async fn an_image_that_is_there_needs_no_network() {
    let mock = Mock::start().await;
    let image = Image::new("a");
    let digest = image.put(&mock, "a", "1");
    let store = ContentStore::temporary().expect("a store");
    let remote = remote();
    let pulled = remote
        .pull(&store, &reference(&mock, "a:1"), "amd64")
        .await
        .expect("pulled");
    let before = mock.requests().len();
    let again = remote
        .pull(&store, &pulled.reference, "amd64")
        .await
        .expect("pulled");
    assert_eq!(again.manifest, pulled.manifest);
    assert_eq!(mock.requests().len(), before);
    // By tag the registry has to be asked what the tag stands for, but no blob is fetched again.
    remote
        .pull(&store, &reference(&mock, "a:1"), "amd64")
        .await
        .expect("pulled");
    assert_eq!(mock.requests()[before..], ["GET /v2/a/manifests/1"]);
    assert_eq!(
        remote.resolve(&reference(&mock, "a:1")).await.expect("resolved"),
        { manifest::descriptor(MediaType::ImageManifest, &digest, image.manifest.len() as u64) }
    );
}

#[tokio::test]
async fn a_blob_that_breaks_off_is_continued_where_it_stopped() {
    let mock = Mock::start().await;
    let image = Image::new("a");
    image.put(&mock, "a", "1");
    mock.change(|contents| contents.faults.break_off = [1000, 2000, 3000].into());
    let store = ContentStore::temporary().expect("a store");
    let options = RemoteOptions {
        concurrency: NonZeroUsize::MIN,
        ..options()
    };
    Remote::new(options)
        .pull(&store, &reference(&mock, "a:1"), "amd64")
        .await
        .expect("pulled");
    assert!(image.is_in(&store));
    let ranges: Vec<String> = mock
        .requests()
        .iter()
        .filter_map(|request| Some(request.split_once("bytes=")?.1.to_owned()))
        .collect();
    assert_eq!(ranges[..4], ["0-", "1000-", "3000-", "6000-"]);
}

#[tokio::test]
async fn what_arrived_before_giving_up_is_kept_for_the_next_time() {
    let mock = Mock::start().await;
    let image = Image::new("a");
    image.put(&mock, "a", "1");
    mock.change(|contents| contents.faults.always_break_off = Some(5000));
    let store = ContentStore::temporary().expect("a store");
    let once = RemoteOptions {
        concurrency: NonZeroUsize::MIN,
        retry: Retry {
            attempts: 2,
            ..quick()
        },
        ..options()
    };
    let error = Remote::new(once.clone())
        .pull(&store, &reference(&mock, "a:1"), "amd64")
        .await
        .expect_err("broken off");
    let text = message(&mock, &error);
    assert!(text.contains("after 10000 of"), "{text}");
    assert!(
        text.ends_with("what has arrived is kept, run the command again to go on"),
        "{text}"
    );
    assert!(!store.contains(&Digest::of(&image.manifest)));

    mock.change(|contents| contents.faults.always_break_off = None);
    let before = mock.requests().len();
    Remote::new(once)
        .pull(&store, &reference(&mock, "a:1"), "amd64")
        .await
        .expect("pulled");
    assert!(
        mock.requests()[before..]
            .iter()
            .any(|request| request.ends_with("bytes=10000-"))
    );
    assert!(image.is_in(&store));
}

#[tokio::test]
async fn a_registry_without_ranges_starts_the_blob_anew() {
    let mock = Mock::start().await;
    let image = Image::new("a");
    image.put(&mock, "a", "1");
    mock.change(|contents| {
        contents.faults.no_ranges = true;
        contents.faults.break_off = [1000, 2000].into();
    });
    let store = ContentStore::temporary().expect("a store");
    remote()
        .pull(&store, &reference(&mock, "a:1"), "amd64")
        .await
        .expect("pulled");
    assert!(image.is_in(&store));
}

#[tokio::test]
async fn a_tampered_blob_is_named_and_nothing_of_it_is_kept() {
    for no_ranges in [false, true] {
        let mock = Mock::start().await;
        let image = Image::new("a");
        image.put(&mock, "a", "1");
        let blob = Digest::of(&image.layers[1]);
        mock.change(|contents| {
            contents.faults.altered.push(blob.to_string());
            contents.faults.no_ranges = no_ranges;
        });
        let store = ContentStore::temporary().expect("a store");
        let error = remote()
            .pull(&store, &reference(&mock, "a:1"), "amd64")
            .await
            .expect_err("tampered");
        let text = message(&mock, &error);
        assert!(
            text.starts_with(&format!(
                "registry registry.example sent something else than blob {blob}: "
            )),
            "{text}"
        );
        assert!(text.contains("don't use this image"), "{text}");
        assert!(!store.contains(&blob));
        assert!(!store.contains(&Digest::of(&image.manifest)));
        let fetched = mock
            .requests()
            .iter()
            .filter(|request| request.contains(&blob.to_string()))
            .count();
        assert_eq!(fetched, 1, "tampering is no reason to try again");
    }
}

#[tokio::test]
async fn a_damaged_beginning_is_thrown_away_and_fetched_again() {
    use std::io::Write;
    let mock = Mock::start().await;
    let image = Image::new("a");
    image.put(&mock, "a", "1");
    let store = ContentStore::temporary().expect("a store");
    let layer = &image.layers[0];
    let mut ingest = store
        .ingest(&Digest::of(layer), Some(layer.len() as u64))
        .expect("an ingest");
    ingest.write_all(b"garbage").expect("written");
    drop(ingest);
    remote()
        .pull(&store, &reference(&mock, "a:1"), "amd64")
        .await
        .expect("pulled");
    assert!(image.is_in(&store));
}

#[tokio::test]
async fn a_tampered_manifest_is_refused() {
    let mock = Mock::start().await;
    let image = Image::new("a");
    let digest = image.put(&mock, "a", "1");
    mock.change(|contents| contents.faults.altered = vec!["1".to_owned(), digest.to_string()]);
    let store = ContentStore::temporary().expect("a store");
    for name in ["a:1".to_owned(), format!("a@{digest}")] {
        let error = remote()
            .pull(&store, &reference(&mock, &name), "amd64")
            .await
            .expect_err("tampered");
        assert!(matches!(error, RemoteError::Tampered { .. }), "{error}");
    }
}

#[tokio::test]
async fn a_registry_that_is_busy_for_a_while_is_asked_again() {
    let mock = Mock::start().await;
    let image = Image::new("a");
    image.put(&mock, "a", "1");
    mock.change(|contents| contents.faults.statuses = [503, 429, 502].into());
    let store = ContentStore::temporary().expect("a store");
    remote()
        .pull(&store, &reference(&mock, "a:1"), "amd64")
        .await
        .expect("pulled");

    mock.change(|contents| contents.faults.statuses = [503; 50].into());
    let error = remote()
        .pull(&store, &reference(&mock, "a:1"), "amd64")
        .await
        .expect_err("busy");
    assert_eq!(
        message(&mock, &error),
        "registry registry.example failed to send image registry.example/a:1 (503): not now; try again later"
    );
    assert_eq!(mock.change(|contents| contents.faults.statuses.len()), 50 - 4);
}

#[tokio::test]
async fn an_unreachable_registry_is_named() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("an address").to_string();
    drop(listener);
    let store = ContentStore::temporary().expect("a store");
    let name = Reference::parse(&format!("{host}/a:1")).expect("a reference");
    let error = remote()
        .pull(&store, &name, "amd64")
        .await
        .expect_err("unreachable")
        .to_string();
    assert!(
        error.starts_with(&format!("cannot reach registry {host}: ")),
        "{error}"
    );
    assert!(
        error.ends_with("; check its name, the network and the proxy settings, then try again"),
        "{error}"
    );
}

#[tokio::test]
async fn what_does_not_exist_is_said_without_trying_again() {
    let mock = Mock::start().await;
    let store = ContentStore::temporary().expect("a store");
    let error = remote()
        .pull(&store, &reference(&mock, "a:1"), "amd64")
        .await
        .expect_err("missing");
    assert_eq!(
        message(&mock, &error),
        "image registry.example/a:1 does not exist at registry registry.example; check the name, or publish it first"
    );
    assert_eq!(mock.requests().len(), 1);
}

#[tokio::test]
async fn tags_are_listed_page_by_page() {
    let mock = Mock::start().await;
    for tag in ["1", "2", "3", "4", "5"] {
        mock.put_manifest("a", tag, OCI_MANIFEST, b"{}");
    }
    let tags = remote().tags(&reference(&mock, "a")).await.expect("tags");
    assert_eq!(tags, ["1", "2", "3", "4", "5"]);
}

const DOORS: [Door; 2] = [
    Door::Basic("me", "secret"),
    Door::Bearer {
        username: "me",
        password: "secret",
        identity: "identity",
    },
];

#[tokio::test]
async fn right_credentials_open_every_door() {
    for door in DOORS {
        let mock = Mock::start().await;
        let image = Image::new("a");
        image.put(&mock, "a", "1");
        mock.change(|contents| contents.door = door);
        let store = ContentStore::temporary().expect("a store");
        let remote = remote_as(password("me", "secret"));
        remote
            .pull(&store, &reference(&mock, "a:1"), "amd64")
            .await
            .expect("pulled");
        assert!(image.is_in(&store));
        assert_eq!(remote.tags(&reference(&mock, "a")).await.expect("tags"), ["1"]);
    }
}

#[tokio::test]
async fn an_identity_token_is_changed_for_tokens() {
    let mock = Mock::start().await;
    let image = Image::new("a");
    image.put(&mock, "a", "1");
    mock.change(|contents| contents.door = DOORS[1].clone());
    let store = ContentStore::temporary().expect("a store");
    let remote = remote_as(Login::IdentityToken(Secret::new("identity")));
    remote
        .pull(&store, &reference(&mock, "a:1"), "amd64")
        .await
        .expect("pulled");
    assert!(mock.requests().contains(&"POST /token".to_owned()));
    let wrong = remote_as(Login::IdentityToken(Secret::new("other")));
    let error = wrong
        .resolve(&reference(&mock, "a:1"))
        .await
        .expect_err("refused");
    assert!(
        error
            .to_string()
            .contains("identity token is not accepted; log in again"),
        "{error}"
    );
}

#[tokio::test]
async fn a_token_that_ends_on_the_way_is_renewed() {
    let mock = Mock::start().await;
    let image = Image::new("a");
    image.put(&mock, "a", "1");
    for uses in 0..5 {
        mock.change(|contents| {
            contents.door = DOORS[1].clone();
            contents.faults.token_uses = Some(uses);
        });
        let store = ContentStore::temporary().expect("a store");
        let options = RemoteOptions {
            credentials: Credentials::fixed(password("me", "secret")),
            concurrency: NonZeroUsize::MIN,
            ..options()
        };
        Remote::new(options)
            .pull(&store, &reference(&mock, "a:1"), "amd64")
            .await
            .expect("pulled");
    }
}

#[tokio::test]
async fn wrong_credentials_are_refused_at_once_and_never_shown() {
    let mut messages = Vec::new();
    for door in DOORS {
        for login in [password("me", "hunter2"), Login::Anonymous] {
            let mock = Mock::start().await;
            Image::new("a").put(&mock, "a", "1");
            mock.change(|contents| contents.door = door.clone());
            let store = ContentStore::temporary().expect("a store");
            let error = remote_as(login)
                .pull(&store, &reference(&mock, "a:1"), "amd64")
                .await
                .expect_err("refused");
            messages.push(message(&mock, &error));
            assert!(mock.requests().len() <= 2, "{:?}", mock.requests());
        }
    }
    let text = messages.join("\n");
    assert!(!text.contains("hunter2"));
    insta::assert_snapshot!(text);
}

#[derive(Default)]
struct Heard(StdMutex<Vec<(Digest, Outcome)>>);

impl Progress for Heard {
    fn finished(&self, blob: &Digest, outcome: Outcome) {
        self.0.lock().expect("no panic").push((*blob, outcome));
    }
}

#[tokio::test]
async fn progress_tells_of_every_blob() {
    let mock = Mock::start().await;
    let image = Image::new("a");
    image.put(&mock, "a", "1");
    let store = ContentStore::temporary().expect("a store");
    store.insert(&image.layers[0]).expect("stored");
    let heard = Arc::new(Heard::default());
    let options = RemoteOptions {
        progress: heard.clone(),
        ..options()
    };
    Remote::new(options)
        .pull(&store, &reference(&mock, "a:1"), "amd64")
        .await
        .expect("pulled");
    let mut outcomes = heard.0.lock().expect("no panic").clone();
    outcomes.sort_by_key(|(digest, _)| *digest);
    let mut expected: Vec<(Digest, Outcome)> = image
        .blobs()
        .map(|blob| (Digest::of(blob), Outcome::Transferred))
        .collect();
    expected[0].1 = Outcome::AlreadyThere;
    expected.sort_by_key(|(digest, _)| *digest);
    assert_eq!(outcomes, expected);
}

fn mirrored(text: &str) -> RemoteOptions {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registries.conf");
    std::fs::write(&path, text).expect("a file");
    RemoteOptions {
        mirrors: Mirrors::from_file(&path).expect("a configuration"),
        ..options()
    }
}

#[tokio::test]
async fn a_mirror_that_lacks_an_image_is_passed_over() {
    let (mirror, origin) = (Mock::start().await, Mock::start().await);
    let image = Image::new("a");
    image.put(&origin, "team/a", "1");
    let configuration = format!(
        "[[registry]]\nprefix = \"quay.io\"\nlocation = \"{}\"\n[[registry.mirror]]\nlocation = \"{}/cache\"\n",
        origin.host, mirror.host
    );
    let remote = Remote::new(mirrored(&configuration));
    let name = Reference::parse("quay.io/team/a:1").expect("a reference");
    let store = ContentStore::temporary().expect("a store");
    let pulled = remote.pull(&store, &name, "amd64").await.expect("pulled");
    assert_eq!(pulled.reference.name(), "quay.io/team/a");
    assert_eq!(mirror.requests(), ["GET /v2/cache/team/a/manifests/1"]);
    image.put(&mirror, "cache/team/a", "1");
    let before = origin.requests().len();
    remote
        .pull(&ContentStore::temporary().expect("a store"), &name, "amd64")
        .await
        .expect("pulled");
    assert_eq!(origin.requests().len(), before);

    let missing = Reference::parse("quay.io/team/b:1").expect("a reference");
    let error = remote
        .pull(&store, &missing, "amd64")
        .await
        .expect_err("nowhere")
        .to_string();
    assert!(
        error.starts_with("cannot fetch quay.io/team/b:1 from any of its places: image "),
        "{error}"
    );
    assert!(
        error.contains(&mirror.host) && error.contains(&origin.host),
        "{error}"
    );
}

#[tokio::test]
async fn an_insecure_registry_may_speak_plain_http() {
    let mock = Mock::start().await;
    Image::new("a").put(&mock, "a", "1");
    let configuration = format!("[[registry]]\nlocation = \"{}\"\ninsecure = true\n", mock.host);
    let remote = Remote::new(RemoteOptions {
        encryption: Encryption::Verified,
        ..mirrored(&configuration)
    });
    remote.resolve(&reference(&mock, "a:1")).await.expect("resolved");
    // Said for the host: what is on this machine may otherwise do without.
    let strict = Remote::new(RemoteOptions {
        encryption_by_host: [(mock.host.clone(), Encryption::Verified)].into(),
        ..options()
    });
    strict
        .resolve(&reference(&mock, "a:1"))
        .await
        .expect_err("not encrypted");
}

/// Controllers and servers run these on any thread.
#[test]
fn what_is_under_way_may_move_between_threads() {
    fn moves<T: Send>(_: T) {}
    let remote = remote();
    let store = ContentStore::temporary().expect("a store");
    let name = Reference::parse("quay.io/a:1").expect("a reference");
    let root = manifest::descriptor(MediaType::ImageManifest, &Digest::of(b""), 0);
    moves(remote.pull(&store, &name, "amd64"));
    moves(remote.pull_everything(&store, &name));
    moves(remote.push(&store, &root, &name));
    moves(remote.resolve(&name));
    moves(remote.manifest(&name));
    moves(remote.tags(&name));
}
