use axum::body::Body;
use http::Method;

use crate::{OCI_MANIFEST, World, sha256};

#[tokio::test]
async fn the_base_says_that_this_is_a_registry() {
    let world = World::new();
    for path in ["/v2", "/v2/"] {
        let answer = world.get(path).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("docker-distribution-api-version"), "registry/2.0");
        assert_eq!(answer.body, b"{}");
    }
}

#[tokio::test]
async fn a_manifest_comes_back_to_the_byte_by_tag_and_by_digest() {
    let world = World::new();
    let manifest = world.push_image("team/operator", "v1", b"layer").await;
    let digest = sha256(&manifest);
    for reference in ["v1", &digest, &digest.replace(':', "%3A")] {
        let path = format!("/v2/team/operator/manifests/{reference}");
        let answer = world.get(&path).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body, manifest);
        assert_eq!(answer.header("content-type"), OCI_MANIFEST);
        assert_eq!(answer.header("docker-content-digest"), digest);
        let facts = world.head(&path).await;
        assert_eq!(facts.status, 200);
        assert_eq!(facts.header("content-length"), manifest.len().to_string());
        assert_eq!(facts.header("docker-content-digest"), digest);
        assert!(facts.body.is_empty());
    }
}

#[tokio::test]
async fn what_is_not_there_is_named() {
    let world = World::new();
    world.push_image("a", "v1", b"layer").await;
    let unknown = sha256(b"unknown");
    let table = [
        ("/v2/a/manifests/v2".to_owned(), 404, "MANIFEST_UNKNOWN"),
        (format!("/v2/a/manifests/{unknown}"), 404, "MANIFEST_UNKNOWN"),
        ("/v2/a/manifests/.not-a-tag".to_owned(), 404, "MANIFEST_UNKNOWN"),
        ("/v2/b/manifests/v1".to_owned(), 404, "NAME_UNKNOWN"),
        ("/v2/b/tags/list".to_owned(), 404, "NAME_UNKNOWN"),
        (format!("/v2/a/blobs/{unknown}"), 404, "BLOB_UNKNOWN"),
        (format!("/v2/b/blobs/{}", sha256(b"layer")), 404, "BLOB_UNKNOWN"),
        ("/v2/a/blobs/sha256:short".to_owned(), 400, "DIGEST_INVALID"),
        ("/v2/a/blobs/md5:00".to_owned(), 400, "DIGEST_INVALID"),
        ("/v2/A/tags/list".to_owned(), 400, "NAME_INVALID"),
        ("/v2/../tags/list".to_owned(), 400, "NAME_INVALID"),
        (
            "/v2/a/blobs/uploads/nothing".to_owned(),
            404,
            "BLOB_UPLOAD_UNKNOWN",
        ),
        ("/v2/a/other".to_owned(), 404, "UNSUPPORTED"),
    ];
    for (path, status, code) in table {
        assert_eq!(
            world.get(&path).await.refusal(),
            (status, code.to_owned()),
            "{path}"
        );
        assert_eq!(world.head(&path).await.status, status, "{path}");
    }
    assert_eq!(
        world
            .send(Method::PUT, "/v2/a/tags/list", &[], Body::empty())
            .await
            .refusal(),
        (405, "UNSUPPORTED".to_owned())
    );
}

#[tokio::test]
async fn a_manifest_is_no_blob() {
    let world = World::new();
    let manifest = world.push_image("a", "v1", b"layer").await;
    let answer = world.get(&format!("/v2/a/blobs/{}", sha256(&manifest))).await;
    assert_eq!(answer.refusal(), (404, "BLOB_UNKNOWN".to_owned()));
}

#[tokio::test]
async fn a_part_of_a_blob_can_be_pulled() {
    let world = World::new();
    let digest = world.push_blob("a", b"0123456789").await;
    let path = format!("/v2/a/blobs/{digest}");
    let table: [(&str, u16, &[u8], &str); 7] = [
        ("bytes=0-3", 206, b"0123", "bytes 0-3/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-2", 206, b"89", "bytes 8-9/10"),
        ("bytes=9-100", 206, b"9", "bytes 9-9/10"),
        ("bytes=3-1", 200, b"0123456789", ""),
        ("bytes=0-1,5-6", 200, b"0123456789", ""),
        ("pages=1-2", 200, b"0123456789", ""),
    ];
    for (range, status, body, content_range) in table {
        let answer = world
            .send(Method::GET, &path, &[("range", range)], Body::empty())
            .await;
        assert_eq!(answer.status, status, "{range}");
        assert_eq!(answer.body, body, "{range}");
        assert_eq!(answer.header("content-range"), content_range, "{range}");
        assert_eq!(answer.header("content-length"), body.len().to_string(), "{range}");
        assert_eq!(answer.header("accept-ranges"), "bytes");
    }
    let beyond = world
        .send(Method::GET, &path, &[("range", "bytes=10-")], Body::empty())
        .await;
    assert_eq!(beyond.status, 416);
    assert_eq!(beyond.header("content-range"), "bytes */10");
}

#[tokio::test]
async fn a_part_is_sent_only_of_what_the_client_has_begun() {
    let world = World::new();
    let digest = world.push_blob("a", b"0123456789").await;
    let path = format!("/v2/a/blobs/{digest}");
    let same = format!("\"{digest}\"");
    for (if_range, status) in [(same.as_str(), 206), ("\"other\"", 200)] {
        let headers = [("range", "bytes=5-"), ("if-range", if_range)];
        assert_eq!(
            world
                .send(Method::GET, &path, &headers, Body::empty())
                .await
                .status,
            status
        );
    }
}

#[tokio::test]
async fn what_the_client_has_is_not_sent_again() {
    let world = World::new();
    let manifest = world.push_image("a", "v1", b"layer").await;
    let layer = format!("\"{}\"", sha256(b"layer"));
    let tag = format!("\"{}\"", sha256(&manifest));
    for (path, known) in [
        (format!("/v2/a/blobs/{}", sha256(b"layer")), layer.clone()),
        (
            format!("/v2/a/blobs/{}", sha256(b"layer")),
            format!("\"other\", W/{layer}"),
        ),
        ("/v2/a/manifests/v1".to_owned(), tag),
    ] {
        let answer = world
            .send(Method::GET, &path, &[("if-none-match", &known)], Body::empty())
            .await;
        assert_eq!(answer.status, 304, "{path}");
        assert!(answer.body.is_empty());
    }
    let changed = world
        .send(
            Method::GET,
            "/v2/a/manifests/v1",
            &[("if-none-match", &layer)],
            Body::empty(),
        )
        .await;
    assert_eq!(changed.status, 200);
}
