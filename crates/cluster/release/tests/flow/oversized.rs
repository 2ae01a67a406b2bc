//! Records that one Secret doesn't hold.

use std::collections::BTreeSet;

use release::hooks::Attempt;
use release::{Prepared, Record};
use serde_json::json;

use crate::world::World;

/// A text that doesn't shrink.
fn noise(bytes: usize) -> String {
    let mut state = 1_u64;
    let mut letter = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[(state >> 58) as usize],
        )
    };
    (0..bytes).map(|_| letter()).collect()
}

fn large(world: &World, version: i64, message: &str, bytes: usize) -> Prepared {
    let mut release = world
        .prepare("soup", version, &json!({"message": message}))
        .release()
        .clone();
    release.info.notes = noise(bytes);
    Prepared::new(release).expect("objects")
}

async fn secrets(world: &World, kind: &str) -> usize {
    let api: kube::Api<k8s_openapi::api::core::v1::Secret> =
        kube::Api::namespaced(world.client.clone(), "apps");
    let listed = api.list(&kube::api::ListParams::default()).await.expect("a list");
    let of_kind = listed
        .items
        .iter()
        .filter(|secret| secret.type_.as_deref() == Some(kind));
    of_kind.count()
}

#[tokio::test]
async fn a_record_that_is_too_large_is_kept_in_chunks_and_goes_with_them() {
    let world = World::new().await;
    let releases = world.releases("soup");
    let installed = releases
        .install(large(&world, 1, "one", 3 << 20))
        .await
        .expect("installed");
    assert_eq!(secrets(&world, "operatorframework.io/index.v1").await, 1);
    assert_eq!(secrets(&world, "operatorframework.io/chunk.v1").await, 2);
    let stored: Record = releases
        .records()
        .read(1)
        .await
        .expect("a record")
        .expect("there");
    assert_eq!(stored.release.to_json(), installed.record.release.to_json());
    assert_eq!(world.history("soup").await, ["1 deployed: Install complete"]);

    let standing = world.standing("soup").await;
    releases
        .upgrade(standing, large(&world, 2, "two", 3 << 20), &BTreeSet::new())
        .await
        .expect("upgraded");
    assert_eq!(secrets(&world, "operatorframework.io/chunk.v1").await, 4);
    world
        .upgrade("soup", json!({"message": "small"}))
        .await
        .expect("upgraded");
    assert_eq!(secrets(&world, "helm.sh/release.v1").await, 1);
    let standing = world.standing("soup").await;
    releases.uninstall(standing, Attempt::First).await.expect("gone");
    for kind in [
        "operatorframework.io/index.v1",
        "operatorframework.io/chunk.v1",
        "helm.sh/release.v1",
    ] {
        assert_eq!(secrets(&world, kind).await, 0, "{kind}");
    }
}

#[tokio::test]
async fn a_chunk_that_is_gone_is_named() {
    let world = World::new().await;
    let releases = world.releases("soup");
    releases
        .install(large(&world, 1, "one", 3 << 20))
        .await
        .expect("installed");
    let api: kube::Api<k8s_openapi::api::core::v1::Secret> =
        kube::Api::namespaced(world.client.clone(), "apps");
    let listed = api.list(&kube::api::ListParams::default()).await.expect("a list");
    let chunk = listed
        .items
        .iter()
        .find(|secret| secret.type_.as_deref() == Some("operatorframework.io/chunk.v1"))
        .and_then(|secret| secret.metadata.name.clone())
        .expect("a chunk");
    world.delete("v1", "Secret", &chunk).await;
    let error = releases.records().read(1).await.expect_err("torn").to_string();
    assert_eq!(
        error,
        format!("Secret \"sh.helm.release.v1.soup.v1\" of the release: its chunk {chunk:?} is gone")
    );
}
