use serde_json::json;

use crate::{OCI_MANIFEST, World, sha256};

#[tokio::test]
async fn deleting_a_tag_keeps_its_manifest() {
    let world = World::new();
    let manifest = world.push_image("a", "v1", b"layer").await;
    assert_eq!(world.delete("/v2/a/manifests/v1").await.status, 202);
    assert_eq!(
        world.get("/v2/a/manifests/v1").await.refusal(),
        (404, "MANIFEST_UNKNOWN".to_owned())
    );
    assert_eq!(
        world
            .get(&format!("/v2/a/manifests/{}", sha256(&manifest)))
            .await
            .status,
        200
    );
    assert_eq!(
        world.delete("/v2/a/manifests/v1").await.refusal(),
        (404, "MANIFEST_UNKNOWN".to_owned())
    );
}

#[tokio::test]
async fn deleting_a_manifest_deletes_its_tags() {
    let world = World::new();
    let manifest = world.push_image("a", "v1", b"layer").await;
    let other = world.push_image("a", "other", b"other layer").await;
    world.put_manifest("a", "v1.0", OCI_MANIFEST, &manifest).await;
    let path = format!("/v2/a/manifests/{}", sha256(&manifest));
    assert_eq!(world.delete(&path).await.status, 202);
    for gone in ["v1", "v1.0", &sha256(&manifest)] {
        assert_eq!(
            world.head(&format!("/v2/a/manifests/{gone}")).await.status,
            404,
            "{gone}"
        );
    }
    assert_eq!(
        world.get("/v2/a/tags/list").await.json()["tags"],
        json!(["other"])
    );
    assert_eq!(world.get("/v2/a/manifests/other").await.body, other);
    assert_eq!(
        world.delete(&path).await.refusal(),
        (404, "MANIFEST_UNKNOWN".to_owned())
    );
    assert_eq!(
        world.delete("/v2/b/manifests/v1").await.refusal(),
        (404, "NAME_UNKNOWN".to_owned())
    );
}

#[tokio::test]
async fn a_manifest_can_be_pushed_again_after_it_was_deleted() {
    let world = World::new();
    let manifest = world.push_image("a", "v1", b"layer").await;
    world
        .delete(&format!("/v2/a/manifests/{}", sha256(&manifest)))
        .await;
    assert_eq!(
        world
            .put_manifest("a", "v1", OCI_MANIFEST, &manifest)
            .await
            .status,
        201
    );
    assert_eq!(world.get("/v2/a/manifests/v1").await.body, manifest);
}

#[tokio::test]
async fn deleting_a_blob_takes_it_from_one_repository() {
    let world = World::new();
    let digest = world.push_blob("a", b"blob").await;
    world.push_blob("b", b"blob").await;
    let path = format!("/v2/a/blobs/{digest}");
    assert_eq!(world.delete(&path).await.status, 202);
    assert_eq!(world.get(&path).await.refusal(), (404, "BLOB_UNKNOWN".to_owned()));
    assert_eq!(
        world.delete(&path).await.refusal(),
        (404, "BLOB_UNKNOWN".to_owned())
    );
    assert_eq!(world.get(&format!("/v2/b/blobs/{digest}")).await.body, b"blob");
    world.push_blob("a", b"blob").await;
    assert_eq!(world.get(&path).await.status, 200);
}
