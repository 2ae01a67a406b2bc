use http::Method;
use image::registry::{MAX_MANIFEST_BYTES, MAX_TAGS_PER_PUSH};
use serde_json::json;

use crate::{OCI_INDEX, OCI_MANIFEST, World, descriptor, image, index, sha256, sha512};

const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";

#[tokio::test]
async fn every_kind_of_image_is_taken() {
    let world = World::new();
    let manifest = world.push_image("a", "oci", b"layer").await;
    assert_eq!(
        world
            .put_manifest("a", "index", OCI_INDEX, &index(&[&manifest]))
            .await
            .status,
        201
    );
    let docker = image(b"layer", &json!({ "mediaType": DOCKER_MANIFEST }));
    assert_eq!(
        world
            .put_manifest("a", "docker", DOCKER_MANIFEST, &docker)
            .await
            .status,
        201
    );
    let list = json!({ "schemaVersion": 2, "mediaType": DOCKER_LIST, "manifests": [descriptor(DOCKER_MANIFEST, &docker)] }).to_string();
    assert_eq!(
        world
            .put_manifest("a", "list", DOCKER_LIST, list.as_bytes())
            .await
            .status,
        201
    );
    let nested =
        json!({ "schemaVersion": 2, "manifests": [descriptor(OCI_INDEX, &index(&[&manifest]))] }).to_string();
    assert_eq!(
        world
            .put_manifest("a", "nested", OCI_INDEX, nested.as_bytes())
            .await
            .status,
        201
    );
    let listed = world.get("/v2/a/tags/list").await.json();
    assert_eq!(
        listed["tags"],
        json!(["docker", "index", "list", "nested", "oci"])
    );
    assert_eq!(
        world.head("/v2/a/manifests/docker").await.header("content-type"),
        DOCKER_MANIFEST
    );
}

#[tokio::test]
async fn a_manifest_is_pushed_by_digest_and_gets_tags_beside() {
    let world = World::new();
    world.push_image("a", "v1", b"layer").await;
    let manifest = image(b"layer", &json!({ "annotations": { "a": "b" } }));
    let digest = sha256(&manifest);
    let answer = world
        .put_manifest("a", &format!("{digest}?tag=x&tag=y"), OCI_MANIFEST, &manifest)
        .await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.header("docker-content-digest"), digest);
    assert_eq!(
        answer.headers.get_all("oci-tag").iter().collect::<Vec<_>>(),
        ["x", "y"]
    );
    for tag in ["x", "y"] {
        assert_eq!(world.get(&format!("/v2/a/manifests/{tag}")).await.body, manifest);
    }
    let long = sha512(&manifest);
    let answer = world.put_manifest("a", &long, OCI_MANIFEST, &manifest).await;
    assert_eq!(answer.header("docker-content-digest"), long);
    assert_eq!(world.get(answer.header("location")).await.body, manifest);
    let other = world
        .put_manifest("a", &sha256(b"other"), OCI_MANIFEST, &manifest)
        .await;
    assert_eq!(other.refusal(), (400, "DIGEST_INVALID".to_owned()));
    let many = "tag=t&".repeat(MAX_TAGS_PER_PUSH + 1);
    assert_eq!(
        world
            .put_manifest("a", &format!("{digest}?{many}"), OCI_MANIFEST, &manifest)
            .await
            .status,
        414
    );
}

#[tokio::test]
async fn a_manifest_waits_for_its_parts() {
    let world = World::new();
    let manifest = image(b"layer", &json!({}));
    world.push_blob("b", b"layer").await;
    world.push_blob("b", b"{}").await;
    let refused = world.put_manifest("a", "v1", OCI_MANIFEST, &manifest).await;
    assert_eq!(refused.refusal(), (400, "MANIFEST_BLOB_UNKNOWN".to_owned()));
    let missing: Vec<_> = refused.json()["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["detail"].clone())
        .collect();
    assert_eq!(
        missing,
        [
            json!({ "digest": sha256(b"{}"), "role": "config" }),
            json!({ "digest": sha256(b"layer"), "role": "layer" })
        ]
    );
    assert_eq!(world.head("/v2/a/manifests/v1").await.status, 404);
    let refused = world
        .put_manifest("a", "v1", OCI_INDEX, &index(&[&manifest]))
        .await;
    assert_eq!(refused.refusal(), (400, "MANIFEST_BLOB_UNKNOWN".to_owned()));
}

#[tokio::test]
async fn layers_that_must_not_be_pushed_may_be_missing() {
    let world = World::new();
    world.push_blob("a", b"{}").await;
    let foreign = descriptor(
        "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
        b"far away",
    );
    let manifest = image(b"", &json!({ "layers": [foreign] }));
    assert_eq!(
        world
            .put_manifest("a", "v1", OCI_MANIFEST, &manifest)
            .await
            .status,
        201
    );
}

#[tokio::test]
async fn a_manifest_that_contradicts_itself_is_refused() {
    let world = World::new();
    world.push_image("a", "v1", b"layer").await;
    let manifest = image(b"layer", &json!({}));
    let wrong_size = image(
        b"layer",
        &json!({ "layers": [{ "mediaType": "x", "digest": sha256(b"layer"), "size": 1 }] }),
    );
    let table: [(&str, &[u8]); 5] = [
        (OCI_INDEX, &manifest),
        ("application/json", &manifest),
        (DOCKER_MANIFEST, &manifest),
        (OCI_MANIFEST, b"not json"),
        (OCI_MANIFEST, &wrong_size),
    ];
    for (media_type, bytes) in table {
        let answer = world.put_manifest("a", "v2", media_type, bytes).await;
        assert_eq!(
            answer.refusal(),
            (400, "MANIFEST_INVALID".to_owned()),
            "{media_type}"
        );
    }
    let answer = world.put_manifest("a", "-bad", OCI_MANIFEST, &manifest).await;
    assert_eq!(answer.refusal(), (400, "MANIFEST_INVALID".to_owned()));
    assert_eq!(world.head("/v2/a/manifests/v2").await.status, 404);
}

#[tokio::test]
async fn a_manifest_may_be_four_mebibytes_and_no_more() {
    let world = World::new();
    world.push_image("a", "v1", b"layer").await;
    let padding = MAX_MANIFEST_BYTES - image(b"layer", &json!({ "annotations": { "a": "" } })).len();
    let largest = image(b"layer", &json!({ "annotations": { "a": "x".repeat(padding) } }));
    assert_eq!(largest.len(), MAX_MANIFEST_BYTES);
    assert_eq!(
        world.put_manifest("a", "v2", OCI_MANIFEST, &largest).await.status,
        201
    );
    let larger = image(
        b"layer",
        &json!({ "annotations": { "a": "x".repeat(padding + 1) } }),
    );
    assert_eq!(
        world
            .put_manifest("a", "v3", OCI_MANIFEST, &larger)
            .await
            .refusal(),
        (413, "SIZE_INVALID".to_owned())
    );
    let length = larger.len().to_string();
    let headers = [
        ("content-type", OCI_MANIFEST),
        ("content-length", length.as_str()),
    ];
    let said = world
        .send(Method::PUT, "/v2/a/manifests/v3", &headers, larger)
        .await;
    assert_eq!(said.status, 413);
}

#[tokio::test]
async fn referrers_are_listed_and_filtered() {
    let world = World::new();
    let subject = world.push_image("a", "v1", b"layer").await;
    let subject_digest = sha256(&subject);
    let path = format!("/v2/a/referrers/{subject_digest}");
    let nobody = world.get(&path).await;
    assert_eq!(nobody.status, 200);
    assert_eq!(nobody.header("content-type"), OCI_INDEX);
    assert_eq!(
        nobody.json(),
        json!({ "schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [] })
    );

    let about = json!({ "subject": descriptor(OCI_MANIFEST, &subject), "artifactType": "example/sbom", "annotations": { "k": "v" } });
    let sbom = image(b"layer", &about);
    let signature = image(
        b"layer",
        &json!({ "subject": descriptor(OCI_MANIFEST, &subject) }),
    );
    let list = json!({ "schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [], "subject": descriptor(OCI_MANIFEST, &subject) }).to_string();
    for (manifest, media_type) in [
        (&sbom[..], OCI_MANIFEST),
        (&signature, OCI_MANIFEST),
        (list.as_bytes(), OCI_INDEX),
    ] {
        let answer = world
            .put_manifest("a", &sha256(manifest), media_type, manifest)
            .await;
        assert_eq!(answer.status, 201, "{answer:?}");
        assert_eq!(answer.header("oci-subject"), subject_digest);
    }
    let all = world.get(&path).await.json();
    let mut expected = [
        json!({ "mediaType": OCI_MANIFEST, "digest": sha256(&sbom), "size": sbom.len(), "artifactType": "example/sbom", "annotations": { "k": "v" } }),
        json!({ "mediaType": OCI_MANIFEST, "digest": sha256(&signature), "size": signature.len(), "artifactType": "application/vnd.oci.image.config.v1+json" }),
        json!({ "mediaType": OCI_INDEX, "digest": sha256(list.as_bytes()), "size": list.len() }),
    ];
    expected.sort_by_key(|descriptor| descriptor["digest"].to_string());
    assert_eq!(all["manifests"], json!(expected));

    let filtered = world.get(&format!("{path}?artifactType=example/sbom")).await;
    assert_eq!(filtered.header("oci-filters-applied"), "artifactType");
    assert_eq!(filtered.json()["manifests"].as_array().unwrap().len(), 1);
    assert_eq!(
        world.get(&format!("{path}?artifactType=none")).await.json()["manifests"],
        json!([])
    );

    assert_eq!(
        world
            .delete(&format!("/v2/a/manifests/{}", sha256(&sbom)))
            .await
            .status,
        202
    );
    assert_eq!(
        world.get(&path).await.json()["manifests"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        world.get("/v2/a/referrers/sha256:00").await.refusal(),
        (400, "DIGEST_INVALID".to_owned())
    );
}

#[tokio::test]
async fn a_subject_need_not_be_there_yet() {
    let world = World::new();
    world.push_image("a", "v1", b"layer").await;
    let subject = descriptor(OCI_MANIFEST, b"later");
    let referrer = image(b"layer", &json!({ "subject": subject }));
    assert_eq!(
        world
            .put_manifest("a", "about", OCI_MANIFEST, &referrer)
            .await
            .status,
        201
    );
    let listed = world
        .get(&format!("/v2/a/referrers/{}", sha256(b"later")))
        .await
        .json();
    assert_eq!(listed["manifests"][0]["digest"], json!(sha256(&referrer)));
}

#[tokio::test]
async fn referrers_that_fill_more_than_a_manifest_come_in_pages() {
    let world = World::new();
    world.push_image("a", "v1", b"layer").await;
    let subject = descriptor(OCI_MANIFEST, b"subject");
    let mut pushed = Vec::new();
    for number in 0..3 {
        let more =
            json!({ "subject": subject, "annotations": { "text": format!("{number}").repeat(2 << 20) } });
        let referrer = image(b"layer", &more);
        assert_eq!(
            world
                .put_manifest("a", &sha256(&referrer), OCI_MANIFEST, &referrer)
                .await
                .status,
            201
        );
        pushed.push(sha256(&referrer));
    }
    pushed.sort();
    let mut found = Vec::new();
    let mut next = Some(format!("/v2/a/referrers/{}", sha256(b"subject")));
    while let Some(path) = next {
        let page = world.get(&path).await;
        assert!(page.body.len() <= MAX_MANIFEST_BYTES);
        for descriptor in page.json()["manifests"].as_array().unwrap() {
            found.push(descriptor["digest"].as_str().unwrap().to_owned());
        }
        let link = page.header("link");
        next = link
            .strip_prefix('<')
            .and_then(|link| link.strip_suffix(">; rel=\"next\""))
            .map(str::to_owned);
    }
    assert_eq!(found, pushed);
}
