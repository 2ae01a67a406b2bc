//! The same over a socket, where lengths, heads and broken lines are real.

use std::time::Duration;

use image::registry::{MAX_MANIFEST_BYTES, Registry};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::{OCI_MANIFEST, sha256};

struct Served {
    serving: image::registry::Serving,
    client: reqwest::Client,
    folder: tempfile::TempDir,
}

impl Served {
    async fn new() -> Self {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        Self {
            serving: Registry::serve_on_loopback(folder.path()).await.unwrap(),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
            folder,
        }
    }

    fn url(&self, path: &str) -> String {
        self.serving.url() + path
    }

    async fn begin(&self) -> String {
        let request = self
            .client
            .post(self.url("/v2/a/blobs/uploads/"))
            .header("content-length", "0");
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 202);
        answer.headers()["location"].to_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_large_blob_goes_in_and_comes_out() {
    let served = Served::new().await;
    let blob: Vec<u8> = (0..5_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let location = served.begin().await;
    let address = served.url(&format!("{location}?digest={}", sha256(&blob)));
    let answer = served
        .client
        .put(address)
        .body(blob.clone())
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status(), 201);
    let address = served.url(answer.headers()["location"].to_str().unwrap());
    assert!(
        served
            .client
            .get(&address)
            .send()
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap()
            == blob
    );
    let request = served
        .client
        .get(&address)
        .header("range", "bytes=10000001-19999998");
    let part = request.send().await.unwrap();
    assert_eq!(part.status(), 206);
    assert!(part.bytes().await.unwrap() == blob[10_000_001..=19_999_998]);
    let facts = served.client.head(&address).send().await.unwrap();
    assert_eq!(facts.headers()["content-length"], blob.len().to_string());
}

#[tokio::test]
async fn a_refusal_arrives_on_a_connection_that_goes_on() {
    let served = Served::new().await;
    let location = served.begin().await;
    let address = served.url(&location);
    let request = served
        .client
        .patch(&address)
        .header("content-range", "5-9")
        .body("56789");
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 416);
    assert_eq!(answer.headers()["location"], location);
    assert!(answer.text().await.unwrap().contains("BLOB_UPLOAD_INVALID"));
    let large = vec![b' '; MAX_MANIFEST_BYTES + 1];
    let request = served
        .client
        .put(served.url("/v2/a/manifests/v1"))
        .header("content-type", OCI_MANIFEST);
    assert_eq!(request.body(large).send().await.unwrap().status(), 413);
    assert_eq!(served.client.get(&address).send().await.unwrap().status(), 204);
}

#[tokio::test]
async fn a_line_that_breaks_in_the_middle_loses_nothing_that_came() {
    let served = Served::new().await;
    let location = served.begin().await;
    let mut stream = TcpStream::connect(served.serving.address()).await.unwrap();
    let head = format!("PATCH {location} HTTP/1.1\r\nhost: registry\r\ncontent-length: 10\r\n\r\n01234");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    // The server may still be writing what came when the client has gone.
    let address = served.url(&location);
    let mut range = String::new();
    for _ in 0..1000 {
        let status = served.client.get(&address).send().await.unwrap();
        status.headers()["range"].to_str().unwrap().clone_into(&mut range);
        if range != "0-0" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Either all of it was kept, or the request was dropped before its first piece was written.
    let rest = match range.as_str() {
        "0-4" => "56789",
        "0-0" => "0123456789",
        other => panic!("{other}"),
    };
    let address = served.url(&format!("{location}?digest={}", sha256(b"0123456789")));
    let mut status = 409;
    while status == 409 {
        status = served
            .client
            .put(&address)
            .body(rest)
            .send()
            .await
            .unwrap()
            .status()
            .as_u16();
    }
    assert_eq!(status, 201);
    assert!(served.folder.path().join("blobs").exists());
}

#[tokio::test]
async fn a_head_beyond_the_limits_is_refused() {
    let served = Served::new().await;
    let long = "x".repeat(300_000);
    let answer = served
        .client
        .get(served.url("/v2/"))
        .header("x-long", long)
        .send()
        .await;
    assert!(answer.is_err() || answer.is_ok_and(|answer| answer.status() == 431));
    assert_eq!(
        served
            .client
            .get(served.url("/v2/"))
            .send()
            .await
            .unwrap()
            .status(),
        200
    );
}
