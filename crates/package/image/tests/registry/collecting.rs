use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use image::registry::{GarbageOptions, GarbageReport};
use serde_json::json;

use crate::{OCI_INDEX, OCI_MANIFEST, World, descriptor, image, index, sha256};

const AT_ONCE: GarbageOptions = GarbageOptions {
    grace: Duration::ZERO,
    remove_untagged: false,
};

fn content_files(folder: &Path) -> usize {
    let prefixes = std::fs::read_dir(folder.join("blobs/sha256")).unwrap();
    prefixes
        .map(|prefix| std::fs::read_dir(prefix.unwrap().path()).unwrap().count())
        .sum()
}

#[tokio::test]
async fn what_no_manifest_refers_to_is_removed() {
    let world = World::new();
    let manifest = world.push_image("a", "v1", b"layer").await;
    let unused = world.push_blob("a", b"unused").await;
    world.push_blob("b", b"layer").await;
    let report = world.registry.collect_garbage(&AT_ONCE).unwrap();
    assert_eq!(
        report,
        GarbageReport {
            repositories: 2,
            memberships_removed: 2,
            blobs_removed: 1,
            bytes_freed: 6,
            ..GarbageReport::default()
        }
    );
    assert_eq!(world.head(&format!("/v2/a/blobs/{unused}")).await.status, 404);
    assert_eq!(world.get("/v2/a/manifests/v1").await.body, manifest);
    assert_eq!(
        world.get(&format!("/v2/a/blobs/{}", sha256(b"layer"))).await.body,
        b"layer"
    );
    assert_eq!(
        world.get(&format!("/v2/a/blobs/{}", sha256(b"{}"))).await.body,
        b"{}"
    );
    assert_eq!(content_files(world.folder.path()), 3);
}

#[tokio::test]
async fn what_is_young_stays() {
    let world = World::new();
    let unused = world.push_blob("a", b"unused").await;
    let report = world
        .registry
        .collect_garbage(&GarbageOptions::default())
        .unwrap();
    assert_eq!((report.memberships_removed, report.blobs_removed), (0, 0));
    assert_eq!(world.head(&format!("/v2/a/blobs/{unused}")).await.status, 200);
}

#[tokio::test]
async fn a_deleted_manifest_frees_its_blobs() {
    let world = World::new();
    let manifest = world.push_image("a", "v1", b"layer").await;
    world
        .delete(&format!("/v2/a/manifests/{}", sha256(&manifest)))
        .await;
    let report = world.registry.collect_garbage(&AT_ONCE).unwrap();
    assert_eq!(report.blobs_removed, 3);
    assert_eq!(
        report.bytes_freed,
        (manifest.len() + b"layer".len() + b"{}".len()) as u64
    );
    assert_eq!(content_files(world.folder.path()), 0);
}

#[tokio::test]
async fn untagged_manifests_stay_unless_asked() {
    let world = World::new();
    let untagged = world.push_image("a", "v1", b"first").await;
    let child = world.push_image("a", "v1", b"second").await;
    let tagged = index(&[&child]);
    assert_eq!(
        world.put_manifest("a", "v1", OCI_INDEX, &tagged).await.status,
        201
    );
    let about_child = image(b"second", &json!({ "subject": descriptor(OCI_MANIFEST, &child) }));
    let about_untagged = image(
        b"first",
        &json!({ "subject": descriptor(OCI_MANIFEST, &untagged) }),
    );
    for manifest in [&about_child, &about_untagged] {
        assert_eq!(
            world
                .put_manifest("a", &sha256(manifest), OCI_MANIFEST, manifest)
                .await
                .status,
            201
        );
    }

    assert_eq!(
        world
            .registry
            .collect_garbage(&AT_ONCE)
            .unwrap()
            .manifests_removed,
        0
    );
    let thorough = GarbageOptions {
        remove_untagged: true,
        ..AT_ONCE
    };
    let young = GarbageOptions {
        grace: Duration::from_hours(1),
        ..thorough.clone()
    };
    assert_eq!(
        world.registry.collect_garbage(&young).unwrap().manifests_removed,
        0
    );
    let report = world.registry.collect_garbage(&thorough).unwrap();
    assert_eq!(report.manifests_removed, 2);
    for (manifest, status) in [
        (&untagged, 404),
        (&about_untagged, 404),
        (&child, 200),
        (&tagged, 200),
        (&about_child, 200),
    ] {
        assert_eq!(
            world
                .head(&format!("/v2/a/manifests/{}", sha256(manifest)))
                .await
                .status,
            status
        );
    }
    assert_eq!(
        world
            .head(&format!("/v2/a/blobs/{}", sha256(b"first")))
            .await
            .status,
        404
    );
    assert_eq!(
        world
            .head(&format!("/v2/a/blobs/{}", sha256(b"second")))
            .await
            .status,
        200
    );
    let referrers = world
        .get(&format!("/v2/a/referrers/{}", sha256(&untagged)))
        .await
        .json();
    assert_eq!(referrers["manifests"], json!([]));
}

#[tokio::test]
async fn a_repository_with_a_damaged_manifest_is_left_alone() {
    let world = World::new();
    let manifest = world.push_image("a", "v1", b"layer").await;
    world.push_blob("b", b"unused").await;
    let digest = sha256(&manifest);
    let digits = digest.strip_prefix("sha256:").unwrap();
    let file = world
        .folder
        .path()
        .join("blobs/sha256")
        .join(&digits[..2])
        .join(digits);
    std::fs::write(file, "damaged").unwrap();
    let report = world.registry.collect_garbage(&AT_ONCE).unwrap();
    assert_eq!(report.skipped.len(), 1);
    assert!(report.skipped[0].contains(&digest), "{:?}", report.skipped);
    assert_eq!((report.memberships_removed, report.blobs_removed), (1, 1));
    assert_eq!(
        world
            .head(&format!("/v2/a/blobs/{}", sha256(b"layer")))
            .await
            .status,
        200
    );
    // Pushing it again heals it.
    assert_eq!(
        world
            .put_manifest("a", "v1", OCI_MANIFEST, &manifest)
            .await
            .status,
        201
    );
    assert_eq!(world.get("/v2/a/manifests/v1").await.body, manifest);
}

/// Collections without any grace run one after the other while images are pushed whose blobs they may take away at any
/// moment. A push may have to send a blob again; what it was told is stored is whole.
#[tokio::test(flavor = "multi_thread")]
async fn collecting_beside_pushes_never_tears_what_was_published() {
    let world = Arc::new(World::new());
    let is_done = Arc::new(AtomicBool::new(false));
    let collector = {
        let (world, is_done) = (Arc::clone(&world), Arc::clone(&is_done));
        std::thread::spawn(move || {
            let mut removed = 0;
            while !is_done.load(Ordering::Relaxed) {
                let report = world.registry.collect_garbage(&AT_ONCE).unwrap();
                assert_eq!(report.skipped, Vec::<String>::new());
                removed += report.blobs_removed;
            }
            removed
        })
    };
    let pushers: Vec<_> = (0..4)
        .map(|pusher| {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                let mut published = Vec::new();
                for number in 0..12 {
                    let layer = format!("layer {}", number % 5).into_bytes();
                    let manifest = image(
                        &layer,
                        &json!({ "annotations": { "of": format!("{pusher} {number}") } }),
                    );
                    let name = format!("repository-{}", (pusher + number) % 3);
                    let tag = format!("tag-{pusher}-{number}");
                    loop {
                        world.push_blob(&name, b"{}").await;
                        world.push_blob(&name, &layer).await;
                        let answer = world.put_manifest(&name, &tag, OCI_MANIFEST, &manifest).await;
                        if answer.status == 201 {
                            break;
                        }
                        assert_eq!(answer.refusal(), (400, "MANIFEST_BLOB_UNKNOWN".to_owned()));
                    }
                    published.push((name, tag, layer, manifest));
                }
                published
            })
        })
        .collect();
    let mut published = Vec::new();
    for pusher in pushers {
        published.extend(pusher.await.unwrap());
    }
    is_done.store(true, Ordering::Relaxed);
    collector.join().unwrap();
    for (name, tag, layer, manifest) in published {
        assert_eq!(
            world.get(&format!("/v2/{name}/manifests/{tag}")).await.body,
            manifest
        );
        assert_eq!(
            world
                .get(&format!("/v2/{name}/blobs/{}", sha256(&layer)))
                .await
                .body,
            layer
        );
        assert_eq!(
            world
                .get(&format!("/v2/{name}/blobs/{}", sha256(b"{}")))
                .await
                .body,
            b"{}"
        );
    }
}
