//! What a process leaves behind when it is killed, and what the next one makes of it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use http::Method;
use image::registry::Registry;
use serde_json::json;

use crate::pushing::assert_no_uploads;
use crate::{OCI_MANIFEST, World, image, sha256};

/// Tells the child below which folder it serves.
const FOLDER: &str = "BATON_TEST_REGISTRY_FOLDER";

#[tokio::test]
async fn an_upload_goes_on_after_a_restart() {
    let world = World::new();
    let location = world.begin("a").await;
    assert_eq!(
        world
            .send(Method::PATCH, &location, &[("content-range", "0-4")], "01234")
            .await
            .status,
        202
    );
    let world = world.restart();
    assert_eq!(world.get(&location).await.header("range"), "0-4");
    assert_eq!(
        world
            .send(Method::PATCH, &location, &[("content-range", "5-6")], "56")
            .await
            .status,
        202
    );
    let path = format!("{location}?digest={}", sha256(b"0123456789"));
    let answer = world
        .send(Method::PUT, &path, &[("content-range", "7-9")], "789")
        .await;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_no_uploads(&world);
}

#[tokio::test]
async fn what_was_published_is_there_after_a_restart() {
    let world = World::new();
    let manifest = world.push_image("team/operator", "v1", b"layer").await;
    let world = world.restart();
    assert_eq!(world.get("/v2/team/operator/manifests/v1").await.body, manifest);
    assert_eq!(
        world
            .get(&format!("/v2/team/operator/blobs/{}", sha256(b"layer")))
            .await
            .body,
        b"layer"
    );
    assert_eq!(
        world.get("/v2/_catalog").await.json(),
        json!({ "repositories": ["team/operator"] })
    );
}

#[tokio::test]
async fn leftovers_of_a_killed_process_are_cleared_away() {
    let world = World::new();
    let kept = world.begin("a").await;
    let old = world.begin("a").await;
    let folder = world.folder.path().to_path_buf();
    std::fs::write(folder.join("temporary/half"), "half a manifest").unwrap();
    // A session that was just being made, one without its bytes, and one that nobody came back for.
    let names = [
        "6f1ed002-ab5f-4f54-9d3b-000000000001",
        "6f1ed002-ab5f-4f54-9d3b-000000000002",
        "not-a-session",
    ];
    for name in names {
        std::fs::create_dir(folder.join("uploads").join(name)).unwrap();
    }
    std::fs::write(folder.join("uploads").join(names[0]).join("session"), "{").unwrap();
    std::fs::write(
        folder.join("uploads").join(names[1]).join("session"),
        r#"{"repository":"a","algorithm":"sha256"}"#,
    )
    .unwrap();
    let old_data = folder
        .join("uploads")
        .join(old.rsplit('/').next().unwrap())
        .join("data");
    let long_ago = std::time::SystemTime::now() - image::registry::MAX_UPLOAD_AGE - Duration::from_secs(1);
    std::fs::File::options()
        .write(true)
        .open(old_data)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();

    let world = world.restart();
    assert_eq!(std::fs::read_dir(folder.join("temporary")).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(folder.join("uploads")).unwrap().count(), 1);
    assert_eq!(world.get(&kept).await.status, 204);
    assert_eq!(world.get(&old).await.status, 404);
}

/// Not a test of its own: the process that the next test kills.
#[test]
#[ignore = "started by a_killed_process_tears_nothing"]
fn serve_until_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let serving = Registry::serve_on_loopback(folder).await.unwrap();
        println!("serving {}", serving.url());
        std::future::pending::<()>().await;
    });
}

fn serve_in_child(folder: &std::path::Path) -> (Child, String) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "survival::serve_until_killed",
            "--ignored",
            "--nocapture",
        ])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = lines
        .map_while(Result::ok)
        .find_map(|line| line.split_once("serving ").map(|(_, url)| url.trim().to_owned()));
    (child, url.expect("the child serves"))
}

/// Pushes until the registry dies; returns what it was told is stored.
async fn push_until_death(
    url: String,
    client: reqwest::Client,
    pusher: usize,
) -> Vec<(String, Vec<u8>, Vec<u8>)> {
    let mut published = Vec::new();
    for number in 0.. {
        let layer = format!("layer {pusher} {number} ").repeat(10_000).into_bytes();
        let manifest = image(&layer, &json!({}));
        let tag = format!("tag-{pusher}-{number}");
        let push = async {
            for blob in [&b"{}"[..], &layer] {
                let address = format!("{url}/v2/a/blobs/uploads/?digest={}", sha256(blob));
                client
                    .post(address)
                    .body(blob.to_vec())
                    .send()
                    .await?
                    .error_for_status()?;
            }
            let request = client
                .put(format!("{url}/v2/a/manifests/{tag}"))
                .header("content-type", OCI_MANIFEST);
            request.body(manifest.clone()).send().await?.error_for_status()
        };
        if push.await.is_err() {
            break;
        }
        published.push((tag, layer, manifest));
    }
    published
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_tears_nothing() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut published = Vec::new();
    let mut sessions = Vec::new();
    for round in 0..3 {
        let (mut child, url) = serve_in_child(folder.path());
        // An upload that the killed process has taken a piece of.
        let begun = client
            .post(format!("{url}/v2/a/blobs/uploads/"))
            .header("content-length", "0")
            .send()
            .await
            .unwrap();
        let location = begun.headers()["location"].to_str().unwrap().to_owned();
        let piece = client
            .patch(format!("{url}{location}"))
            .body("01234")
            .send()
            .await
            .unwrap();
        assert_eq!(piece.status(), 202);
        sessions.push(location);
        let pushers: Vec<_> = (0..4)
            .map(|pusher| tokio::spawn(push_until_death(url.clone(), client.clone(), round * 4 + pusher)))
            .collect();
        // Killed in the middle, as soon as anything was published in this round.
        let tags = folder.path().join("repositories/a/_tags");
        let enough = published.len() + 4;
        while std::fs::read_dir(&tags).map_or(0, Iterator::count) < enough {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for pusher in pushers {
            published.extend(pusher.await.unwrap());
        }
    }
    let serving = Registry::serve_on_loopback(folder.path()).await.unwrap();
    let url = serving.url();
    let get = async |path: String| {
        let answer = client.get(format!("{url}{path}")).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        answer.bytes().await.unwrap()
    };
    assert!(
        published.len() >= 3,
        "only {} images were published",
        published.len()
    );
    for (tag, layer, manifest) in published {
        assert_eq!(get(format!("/v2/a/manifests/{tag}")).await, manifest);
        assert_eq!(get(format!("/v2/a/blobs/{}", sha256(&layer))).await, layer);
    }
    // Whatever else a tag stands for is whole too.
    let listed: serde_json::Value = serde_json::from_slice(&get("/v2/a/tags/list".to_owned()).await).unwrap();
    for tag in listed["tags"].as_array().unwrap() {
        let manifest = get(format!("/v2/a/manifests/{}", tag.as_str().unwrap())).await;
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
        let digest = manifest["layers"][0]["digest"].as_str().unwrap();
        assert_eq!(sha256(&get(format!("/v2/a/blobs/{digest}")).await), digest);
    }
    for location in sessions {
        let address = format!("{url}{location}?digest={}", sha256(b"0123456789"));
        let request = client.put(address).header("content-range", "5-9").body("56789");
        assert_eq!(request.send().await.unwrap().status(), 201);
    }
    serving.stop().await;
}

#[tokio::test]
async fn stopping_lets_a_running_request_end() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let serving = Registry::serve_on_loopback(folder.path()).await.unwrap();
    let url = serving.url();
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<&'static str>();
    let pieces = futures_util::stream::unfold(receiver, |mut receiver| async {
        let piece = receiver.recv().await?;
        Some((Ok::<_, std::io::Error>(piece), receiver))
    });
    let request = client
        .post(format!(
            "{url}/v2/a/blobs/uploads/?digest={}",
            sha256(b"first second")
        ))
        .body(reqwest::Body::wrap_stream(pieces));
    let pushing = tokio::spawn(request.send());
    sender.send("first ").unwrap();
    let uploads = folder.path().join("uploads");
    while std::fs::read_dir(&uploads).unwrap().count() == 0 {
        tokio::task::yield_now().await;
    }
    let stopping = tokio::spawn(serving.stop());
    tokio::task::yield_now().await;
    sender.send("second").unwrap();
    drop(sender);
    assert_eq!(pushing.await.unwrap().unwrap().status(), 201);
    stopping.await.unwrap();
    assert!(client.get(format!("{url}/v2/")).send().await.is_err());
}
