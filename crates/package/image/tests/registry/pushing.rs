use axum::body::Body;
use bytes::Bytes;
use http::Method;
use image::registry::MAX_UPLOAD_SESSIONS;

use crate::{World, sha256, sha512};

#[tokio::test]
async fn a_blob_is_pushed_in_one_request() {
    let world = World::new();
    let digest = sha256(b"blob");
    let answer = world
        .send(
            Method::POST,
            &format!("/v2/a/blobs/uploads/?digest={digest}"),
            &[],
            "blob",
        )
        .await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.header("docker-content-digest"), digest);
    assert_eq!(world.get(answer.header("location")).await.body, b"blob");
    assert_no_uploads(&world);
}

#[tokio::test]
async fn a_blob_is_pushed_in_two_requests() {
    let world = World::new();
    for blob in [b"some bytes".as_slice(), b""] {
        let location = world.begin("a").await;
        let digest = sha256(blob);
        let answer = world
            .send(
                Method::PUT,
                &format!("{location}?digest={digest}"),
                &[],
                blob.to_vec(),
            )
            .await;
        assert_eq!(answer.status, 201, "{answer:?}");
        assert_eq!(answer.header("location"), format!("/v2/a/blobs/{digest}"));
        let pulled = world.get(answer.header("location")).await;
        assert_eq!(pulled.body, blob);
        assert_eq!(pulled.header("content-length"), blob.len().to_string());
        assert_eq!(
            world.get(&location).await.refusal(),
            (404, "BLOB_UPLOAD_UNKNOWN".to_owned())
        );
    }
    assert_no_uploads(&world);
}

#[tokio::test]
async fn a_blob_is_pushed_piece_by_piece() {
    let world = World::new();
    let location = world.begin("a").await;
    for (range, piece, next) in [("0-3", "0123", "0-3"), ("4-7", "4567", "0-7")] {
        let answer = world
            .send(Method::PATCH, &location, &[("content-range", range)], piece)
            .await;
        assert_eq!(answer.status, 202, "{answer:?}");
        assert_eq!(answer.header("range"), next);
        assert_eq!(answer.header("location"), location);
        let status = world.get(&location).await;
        assert_eq!(status.status, 204);
        assert_eq!(status.header("range"), next);
    }
    let digest = sha256(b"0123456789");
    let path = format!("{location}?digest={digest}");
    let answer = world
        .send(Method::PUT, &path, &[("content-range", "8-9")], "89")
        .await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(
        world.get(&format!("/v2/a/blobs/{digest}")).await.body,
        b"0123456789"
    );
}

#[tokio::test]
async fn pieces_without_a_place_are_appended() {
    let world = World::new();
    let location = world.begin("a").await;
    for piece in ["one ", "two ", "three"] {
        assert_eq!(world.send(Method::PATCH, &location, &[], piece).await.status, 202);
    }
    let path = format!("{location}?digest={}", sha256(b"one two three"));
    assert_eq!(
        world.send(Method::PUT, &path, &[], Body::empty()).await.status,
        201
    );
}

#[tokio::test]
async fn a_piece_out_of_order_is_refused_with_where_to_go_on() {
    let world = World::new();
    let location = world.begin("a").await;
    let first = world
        .send(Method::PATCH, &location, &[("content-range", "5-9")], "56789")
        .await;
    assert_eq!(first.status, 416);
    assert_eq!(
        world
            .send(Method::PATCH, &location, &[("content-range", "0-4")], "01234")
            .await
            .status,
        202
    );
    for range in ["0-4", "3-7", "6-9", "100-104"] {
        let answer = world
            .send(Method::PATCH, &location, &[("content-range", range)], "xxxxx")
            .await;
        assert_eq!(
            answer.refusal(),
            (416, "BLOB_UPLOAD_INVALID".to_owned()),
            "{range}"
        );
        assert_eq!(answer.header("range"), "0-4");
        assert_eq!(answer.header("location"), location);
    }
    let path = format!("{location}?digest={}", sha256(b"0123456789"));
    let wrong = world
        .send(Method::PUT, &path, &[("content-range", "6-10")], "56789")
        .await;
    assert_eq!(wrong.status, 416);
    let right = world
        .send(Method::PUT, &path, &[("content-range", "5-9")], "56789")
        .await;
    assert_eq!(right.status, 201);
}

#[tokio::test]
async fn a_piece_that_is_not_as_long_as_it_says_is_taken_back() {
    let world = World::new();
    let location = world.begin("a").await;
    for (range, piece) in [("0-9", "short"), ("0-2", "longer")] {
        // Once with the length said beforehand, once without.
        let length = piece.len().to_string();
        let said = [("content-range", range), ("content-length", length.as_str())];
        for headers in [&said[..], &said[..1]] {
            let answer = world.send(Method::PATCH, &location, headers, piece).await;
            assert_eq!(answer.refusal(), (400, "SIZE_INVALID".to_owned()), "{range}");
        }
    }
    for range in ["a-b", "4-1", "bytes 0-3/4"] {
        let answer = world
            .send(Method::PATCH, &location, &[("content-range", range)], "0123")
            .await;
        assert_eq!(
            answer.refusal(),
            (400, "BLOB_UPLOAD_INVALID".to_owned()),
            "{range}"
        );
    }
    assert_eq!(
        world
            .send(Method::PATCH, &location, &[("content-range", "0-3")], "0123")
            .await
            .status,
        202
    );
    let path = format!("{location}?digest={}", sha256(b"0123"));
    assert_eq!(
        world.send(Method::PUT, &path, &[], Body::empty()).await.status,
        201
    );
}

#[tokio::test]
async fn a_blob_that_is_not_what_its_digest_says_is_not_stored() {
    let world = World::new();
    let digest = sha256(b"expected");
    let location = world.begin("a").await;
    let answer = world
        .send(
            Method::PUT,
            &format!("{location}?digest={digest}"),
            &[],
            "something else",
        )
        .await;
    assert_eq!(answer.refusal(), (400, "DIGEST_INVALID".to_owned()));
    assert!(
        answer.message().contains(&sha256(b"something else")),
        "{}",
        answer.message()
    );
    let whole = world
        .send(
            Method::POST,
            &format!("/v2/a/blobs/uploads/?digest={digest}"),
            &[],
            "something else",
        )
        .await;
    assert_eq!(whole.refusal(), (400, "DIGEST_INVALID".to_owned()));
    let location = world.begin("a").await;
    for query in [
        "",
        "?digest=sha256:00",
        "?digest=md5:d41d8cd98f00b204e9800998ecf8427e",
    ] {
        let answer = world
            .send(Method::PUT, &format!("{location}{query}"), &[], "expected")
            .await;
        assert_eq!(answer.refusal(), (400, "DIGEST_INVALID".to_owned()), "{query}");
    }
    assert_eq!(world.head(&format!("/v2/a/blobs/{digest}")).await.status, 404);
}

#[tokio::test]
async fn an_upload_can_be_cancelled() {
    let world = World::new();
    let location = world.begin("a").await;
    world.send(Method::PATCH, &location, &[], "piece").await;
    assert_eq!(world.delete(&location).await.status, 204);
    assert_eq!(
        world.delete(&location).await.refusal(),
        (404, "BLOB_UPLOAD_UNKNOWN".to_owned())
    );
    assert_no_uploads(&world);
}

#[tokio::test]
async fn an_upload_belongs_to_its_repository() {
    let world = World::new();
    let location = world.begin("a").await.replace("/v2/a/", "/v2/b/");
    assert_eq!(
        world.get(&location).await.refusal(),
        (404, "BLOB_UPLOAD_UNKNOWN".to_owned())
    );
}

#[tokio::test]
async fn a_client_that_breaks_off_goes_on_where_it_was() {
    let world = World::new();
    let location = world.begin("a").await;
    let pieces = [
        Ok(Bytes::from("0123")),
        Err(std::io::Error::other("the line is dead")),
    ];
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    let answer = world.send(Method::PATCH, &location, &[], body).await;
    assert_eq!(answer.refusal(), (400, "BLOB_UPLOAD_INVALID".to_owned()));
    assert_eq!(world.get(&location).await.header("range"), "0-3");
    let path = format!("{location}?digest={}", sha256(b"01234567"));
    let answer = world
        .send(Method::PUT, &path, &[("content-range", "4-7")], "4567")
        .await;
    assert_eq!(answer.status, 201, "{answer:?}");
}

#[tokio::test]
async fn a_client_that_breaks_off_a_whole_push_leaves_nothing() {
    let world = World::new();
    let pieces = [
        Ok(Bytes::from("0123")),
        Err(std::io::Error::other("the line is dead")),
    ];
    let body = Body::from_stream(futures_util::stream::iter(pieces));
    let path = format!("/v2/a/blobs/uploads/?digest={}", sha256(b"01234567"));
    assert_eq!(world.send(Method::POST, &path, &[], body).await.status, 400);
    assert_no_uploads(&world);
}

#[tokio::test]
async fn a_blob_is_mounted_from_another_repository() {
    let world = World::new();
    let digest = world.push_blob("a", b"shared").await;
    assert_eq!(world.head(&format!("/v2/b/blobs/{digest}")).await.status, 404);
    let answer = world
        .post(&format!("/v2/b/blobs/uploads/?mount={digest}&from=a"))
        .await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.header("location"), format!("/v2/b/blobs/{digest}"));
    assert_eq!(world.get(answer.header("location")).await.body, b"shared");
}

#[tokio::test]
async fn a_mount_that_can_not_be_done_begins_an_upload() {
    let world = World::new();
    let digest = world.push_blob("a", b"shared").await;
    for query in [
        format!("mount={digest}"),
        format!("mount={digest}&from=c"),
        format!("mount={}&from=a", sha256(b"unknown")),
    ] {
        let answer = world.post(&format!("/v2/b/blobs/uploads/?{query}")).await;
        assert_eq!(answer.status, 202, "{query}");
        assert_eq!(world.get(answer.header("location")).await.status, 204);
    }
    assert_eq!(world.head(&format!("/v2/b/blobs/{digest}")).await.status, 404);
    let broken = world.post("/v2/b/blobs/uploads/?mount=sha256:00&from=a").await;
    assert_eq!(broken.refusal(), (400, "DIGEST_INVALID".to_owned()));
    let broken = world
        .post(&format!("/v2/b/blobs/uploads/?mount={digest}&from=A"))
        .await;
    assert_eq!(broken.refusal(), (400, "NAME_INVALID".to_owned()));
}

#[tokio::test]
async fn blobs_may_be_named_by_sha512() {
    let world = World::new();
    let digest = sha512(b"0123456789");
    for begin in [
        "/v2/a/blobs/uploads/?digest-algorithm=sha512",
        "/v2/a/blobs/uploads/",
    ] {
        let location = world.post(begin).await.header("location").to_owned();
        world.send(Method::PATCH, &location, &[], "01234").await;
        let answer = world
            .send(Method::PUT, &format!("{location}?digest={digest}"), &[], "56789")
            .await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    assert_eq!(
        world.get(&format!("/v2/a/blobs/{digest}")).await.body,
        b"0123456789"
    );
    let unknown = world.post("/v2/a/blobs/uploads/?digest-algorithm=md5").await;
    assert_eq!(unknown.refusal(), (400, "DIGEST_INVALID".to_owned()));
}

#[tokio::test]
async fn a_blob_beyond_the_limit_is_refused_and_leaves_nothing() {
    let world = World::with(|options| options.max_blob_bytes = 8);
    let location = world.begin("a").await;
    let said = world
        .send(Method::PATCH, &location, &[("content-length", "9")], "123456789")
        .await;
    assert_eq!(said.refusal(), (413, "SIZE_INVALID".to_owned()));
    let unsaid = world.send(Method::PATCH, &location, &[], "123456789").await;
    assert_eq!(unsaid.refusal(), (413, "SIZE_INVALID".to_owned()));
    assert_eq!(
        world.send(Method::PATCH, &location, &[], "12345678").await.status,
        202
    );
    let path = format!("{location}?digest={}", sha256(b"123456789"));
    assert_eq!(world.send(Method::PUT, &path, &[], "9").await.status, 413);
    let path = format!("{location}?digest={}", sha256(b"12345678"));
    assert_eq!(
        world.send(Method::PUT, &path, &[], Body::empty()).await.status,
        201
    );
}

#[tokio::test]
async fn more_unfinished_uploads_than_allowed_are_refused() {
    let world = World::new();
    for _ in 0..MAX_UPLOAD_SESSIONS {
        world.begin("a").await;
    }
    let refused = world.post("/v2/a/blobs/uploads/").await;
    assert_eq!(refused.refusal(), (429, "TOOMANYREQUESTS".to_owned()));
    assert_ne!(refused.header("retry-after"), "");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_said_and_leaves_nothing_torn() {
    let world = World::new();
    let location = world.begin("a").await;
    let session = location.rsplit('/').next().unwrap();
    let data = world.folder.path().join("uploads").join(session).join("data");
    // A file on which every write fails for want of space.
    std::fs::remove_file(&data).unwrap();
    std::os::unix::fs::symlink("/dev/full", &data).unwrap();
    let path = format!("{location}?digest={}", sha256(b"blob"));
    for (method, path) in [(Method::PATCH, &location), (Method::PUT, &path)] {
        let answer = world.send(method, path, &[], "blob").await;
        assert_eq!(answer.refusal(), (507, "UNKNOWN".to_owned()));
        assert!(answer.message().contains("free space"), "{}", answer.message());
    }
    assert_eq!(
        world
            .head(&format!("/v2/a/blobs/{}", sha256(b"blob")))
            .await
            .status,
        404
    );
    std::fs::remove_file(&data).unwrap();
    std::fs::write(&data, "").unwrap();
    assert_eq!(world.send(Method::PUT, &path, &[], "blob").await.status, 201);
}

#[tokio::test]
async fn a_damaged_blob_is_healed_by_pushing_it_again() {
    let world = World::new();
    let digest = world.push_blob("a", b"blob").await;
    let digits = digest.strip_prefix("sha256:").unwrap();
    let file = world
        .folder
        .path()
        .join("blobs/sha256")
        .join(&digits[..2])
        .join(digits);
    std::fs::write(&file, "blub").unwrap();
    world.push_blob("a", b"blob").await;
    assert_eq!(world.get(&format!("/v2/a/blobs/{digest}")).await.body, b"blob");
}

pub(crate) fn assert_no_uploads(world: &World) {
    let left = std::fs::read_dir(world.folder.path().join("uploads"))
        .unwrap()
        .count();
    assert_eq!(left, 0, "unfinished uploads are left");
}
