use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use futures_util::StreamExt as _;
use http::Method;
use serde_json::json;

use crate::pushing::assert_no_uploads;
use crate::{OCI_MANIFEST, World, image, sha256};

/// A layer that several pushers have in common.
fn layer(number: usize) -> Vec<u8> {
    format!("layer {number} ").repeat(20_000 + number).into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn many_pushers_of_the_same_blobs_and_tags_agree() {
    let world = Arc::new(World::new());
    let pushers: Vec<_> = (0..12)
        .map(|pusher| {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                for step in 0..4 {
                    let layer = layer((pusher + step) % 4);
                    let name = format!("team/repository-{}", pusher % 2);
                    world.push_blob(&name, b"{}").await;
                    push_in_pieces(&world, &name, &layer).await;
                    let manifest = image(
                        &layer,
                        &json!({ "annotations": { "pusher": pusher.to_string() } }),
                    );
                    let answer = world.put_manifest(&name, "latest", OCI_MANIFEST, &manifest).await;
                    assert_eq!(answer.status, 201, "{answer:?}");
                    let own = world
                        .put_manifest(&name, &format!("own-{pusher}-{step}"), OCI_MANIFEST, &manifest)
                        .await;
                    assert_eq!(own.status, 201, "{own:?}");
                }
            })
        })
        .collect();
    for pusher in pushers {
        pusher.await.unwrap();
    }
    for repository in 0..2 {
        let name = format!("team/repository-{repository}");
        let tags = world.get(&format!("/v2/{name}/tags/list")).await.json()["tags"].clone();
        assert_eq!(tags.as_array().unwrap().len(), 6 * 4 + 1);
        for tag in tags.as_array().unwrap() {
            let manifest = world
                .get(&format!("/v2/{name}/manifests/{}", tag.as_str().unwrap()))
                .await;
            assert_eq!(manifest.header("docker-content-digest"), sha256(&manifest.body));
            for part in manifest.json()["layers"].as_array().unwrap() {
                let digest = part["digest"].as_str().unwrap();
                let blob = world.get(&format!("/v2/{name}/blobs/{digest}")).await;
                assert_eq!(sha256(&blob.body), digest);
            }
        }
    }
    assert_no_uploads(&world);
}

async fn push_in_pieces(world: &World, name: &str, blob: &[u8]) {
    let location = world.begin(name).await;
    for (number, piece) in blob.chunks(100_000).enumerate() {
        let start = number * 100_000;
        let range = format!("{start}-{}", start + piece.len() - 1);
        let answer = world
            .send(
                Method::PATCH,
                &location,
                &[("content-range", &range)],
                piece.to_vec(),
            )
            .await;
        assert_eq!(answer.status, 202, "{answer:?}");
    }
    let path = format!("{location}?digest={}", sha256(blob));
    let answer = world.send(Method::PUT, &path, &[], Body::empty()).await;
    assert_eq!(answer.status, 201, "{answer:?}");
}

#[tokio::test]
async fn one_upload_has_one_writer_at_a_time() {
    let world = Arc::new(World::new());
    let location = world.begin("a").await;
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<Bytes>();
    let pieces = futures_util::stream::unfold(receiver, |mut receiver| async {
        let piece = receiver.recv().await?;
        Some((Ok::<_, std::io::Error>(piece), receiver))
    });
    let first = {
        let (world, location) = (Arc::clone(&world), location.clone());
        tokio::spawn(async move {
            world
                .send(Method::PATCH, &location, &[], Body::from_stream(pieces.boxed()))
                .await
        })
    };
    // More than is gathered before it is written: when it arrives on disk, the first request surely holds the upload.
    sender.send(Bytes::from(vec![b'x'; 1 << 20])).unwrap();
    while world.get(&location).await.header("range") == "0-0" {
        tokio::task::yield_now().await;
    }
    let second = world.send(Method::PATCH, &location, &[], "intruder").await;
    assert_eq!(second.refusal(), (409, "BLOB_UPLOAD_INVALID".to_owned()));
    sender.send(Bytes::from("end")).unwrap();
    drop(sender);
    assert_eq!(first.await.unwrap().status, 202);
    let mut blob = vec![b'x'; 1 << 20];
    blob.extend_from_slice(b"end");
    let path = format!("{location}?digest={}", sha256(&blob));
    assert_eq!(
        world.send(Method::PUT, &path, &[], Body::empty()).await.status,
        201
    );
}

/// Pushers of different manifests race for one tag that can't move: one wins, and stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_race_for_an_immutable_tag_has_one_winner() {
    let world = Arc::new(World::with(|options| options.immutable_tags = true));
    world.push_blob("a", b"{}").await;
    world.push_blob("a", b"layer").await;
    let racers: Vec<_> = (0..16)
        .map(|racer| {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                let manifest = image(
                    b"layer",
                    &json!({ "annotations": { "racer": racer.to_string() } }),
                );
                let answer = world.put_manifest("a", "v1", OCI_MANIFEST, &manifest).await;
                (answer.status.as_u16(), manifest)
            })
        })
        .collect();
    let mut winners = Vec::new();
    for racer in racers {
        match racer.await.unwrap() {
            (201, manifest) => winners.push(manifest),
            (status, _) => assert_eq!(status, 403),
        }
    }
    assert_eq!(winners.len(), 1);
    assert_eq!(world.get("/v2/a/manifests/v1").await.body, winners[0]);
}
