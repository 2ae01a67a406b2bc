use super::*;

fn sent(mock: &Mock) -> Vec<String> {
    mock.requests()
        .into_iter()
        .filter(|request| !request.starts_with("HEAD"))
        .collect()
}

#[tokio::test]
async fn an_image_is_published_blobs_first_and_the_tag_last() {
    let mock = Mock::start().await;
    let store = ContentStore::temporary().expect("a store");
    let (amd64, arm64) = (Image::new("amd64"), Image::new("arm64"));
    amd64.store(&store);
    arm64.store(&store);
    let bytes = index(&[("amd64", &amd64), ("arm64", &arm64)]);
    let digest = store.insert(&bytes).expect("stored");
    let root = manifest::descriptor(MediaType::ImageIndex, &digest, bytes.len() as u64);
    let remote = remote();
    remote
        .push(&store, &root, &reference(&mock, "team/app:1"))
        .await
        .expect("pushed");
    let puts: Vec<String> = sent(&mock)
        .into_iter()
        .filter(|request| request.starts_with("PUT /v2/team/app/manifests/"))
        .collect();
    assert_eq!(puts.len(), 3);
    assert_eq!(puts[2], "PUT /v2/team/app/manifests/1");
    assert_eq!(sent(&mock).last(), Some(&puts[2]));
    assert!(puts[0].ends_with(&Digest::of(&amd64.manifest).to_string()));

    let again = ContentStore::temporary().expect("a store");
    remote
        .pull_everything(&again, &reference(&mock, "team/app:1"))
        .await
        .expect("pulled");
    assert!(amd64.is_in(&again) && arm64.is_in(&again));

    let before = sent(&mock).len();
    remote
        .push(&store, &root, &reference(&mock, "team/app:1"))
        .await
        .expect("pushed");
    assert_eq!(sent(&mock).len(), before, "what is there is not sent again");
    remote
        .push(&store, &root, &reference(&mock, "team/app:2"))
        .await
        .expect("pushed");
    assert_eq!(sent(&mock)[before..], ["PUT /v2/team/app/manifests/2"]);
}

#[tokio::test]
async fn blobs_are_mounted_from_a_repository_that_has_them() {
    for no_mounts in [false, true] {
        let mock = Mock::start().await;
        mock.change(|contents| {
            contents.faults.no_mounts = no_mounts;
            contents.door = Door::Bearer {
                username: "me",
                password: "secret",
                identity: "",
            };
        });
        let store = ContentStore::temporary().expect("a store");
        let image = Image::new("a");
        let root = image.store(&store);
        let remote = remote_as(password("me", "secret"));
        remote
            .push(&store, &root, &reference(&mock, "one:1"))
            .await
            .expect("pushed");
        let before = mock.requests().len();
        remote
            .push(&store, &root, &reference(&mock, "two:1"))
            .await
            .expect("pushed");
        let uploads = mock.requests()[before..]
            .iter()
            .filter(|request| request.starts_with("PUT /v2/two/blobs"))
            .count();
        assert_eq!(uploads, if no_mounts { 4 } else { 0 });
        assert!(mock.change(|contents| contents.manifests.contains_key("two 1")));
    }
}

#[tokio::test]
async fn a_registry_that_takes_no_whole_blobs_gets_pieces() {
    let mock = Mock::start().await;
    mock.change(|contents| contents.faults.only_pieces = true);
    let store = ContentStore::temporary().expect("a store");
    let root = Image::new("a").store(&store);
    remote()
        .push(&store, &root, &reference(&mock, "a:1"))
        .await
        .expect("pushed");
    assert!(sent(&mock).iter().any(|request| request.starts_with("PATCH ")));
}

#[tokio::test]
async fn a_registry_that_is_busy_for_a_while_gets_everything_in_the_end() {
    let mock = Mock::start().await;
    mock.change(|contents| contents.faults.statuses = [503, 429, 500].into());
    let store = ContentStore::temporary().expect("a store");
    let root = Image::new("a").store(&store);
    remote()
        .push(&store, &root, &reference(&mock, "a:1"))
        .await
        .expect("pushed");
    assert!(mock.change(|contents| contents.manifests.contains_key("a 1")));
}

#[tokio::test]
async fn without_the_right_to_push_nothing_is_published() {
    let mock = Mock::start().await;
    mock.change(|contents| contents.door = Door::Basic("me", "secret"));
    let store = ContentStore::temporary().expect("a store");
    let root = Image::new("a").store(&store);
    let error = remote()
        .push(&store, &root, &reference(&mock, "a:1"))
        .await
        .expect_err("refused");
    insta::assert_snapshot!(message(&mock, &error), @"registry registry.example refuses access to a (401): no credentials are kept for it; log in (baton login registry.example, docker login registry.example) or set REGISTRY_AUTH_FILE");
    mock.change(|contents| assert!(contents.blobs.is_empty() && contents.manifests.is_empty()));
}

#[tokio::test]
async fn an_image_that_is_not_complete_is_not_published() {
    let mock = Mock::start().await;
    let store = ContentStore::temporary().expect("a store");
    let image = Image::new("a");
    let digest = store.insert(&image.manifest).expect("stored");
    let root = manifest::descriptor(MediaType::ImageManifest, &digest, image.manifest.len() as u64);
    let error = remote()
        .push(&store, &root, &reference(&mock, "a:1"))
        .await
        .expect_err("incomplete");
    assert!(
        error.to_string().contains("is not in the content store"),
        "{error}"
    );
    mock.change(|contents| assert!(contents.manifests.is_empty()));
}

#[tokio::test]
async fn an_image_is_not_published_under_the_digest_of_another() {
    let mock = Mock::start().await;
    let store = ContentStore::temporary().expect("a store");
    let root = Image::new("a").store(&store);
    let other = reference(&mock, "a").with_digest(Digest::of(b"other"));
    let error = remote()
        .push(&store, &root, &other)
        .await
        .expect_err("another digest");
    assert!(matches!(error, RemoteError::OtherDigest { .. }), "{error}");
    let own = reference(&mock, "a").with_digest(manifest::digest_of(&root).unwrap());
    remote().push(&store, &root, &own).await.expect("pushed");
}
