//! Catalogs that another process serves.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use api::ClusterCatalog;
use api::cluster_catalog::{CatalogUrls, ClusterCatalogSpec, ResolvedImage, ResolvedSource};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::get;
use extension_controller::catalogs::http::Http;
use extension_controller::catalogs::{Catalogs as _, ContentError};
use image::digest::Digest;

#[derive(Default)]
struct Served {
    requests: AtomicUsize,
    answer: Mutex<(u16, String, Option<String>)>,
}

async fn all(State(served): State<Arc<Served>>) -> impl IntoResponse {
    served.requests.fetch_add(1, Ordering::Relaxed);
    let (status, body, etag) = served.answer.lock().expect("no panic").clone();
    let status = StatusCode::from_u16(status).expect("a status");
    let etag = etag.unwrap_or_default();
    (status, [("etag", etag)], body)
}

async fn serve() -> (Arc<Served>, String) {
    let served = Arc::new(Served::default());
    let router = axum::Router::new()
        .route("/catalogs/c/api/v1/all", get(all))
        .with_state(Arc::clone(&served));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a socket");
    let base = format!("http://{}/catalogs/c", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (served, base)
}

fn catalog(base: &str, digest: &Digest) -> ClusterCatalog {
    let mut catalog = ClusterCatalog::new("c", ClusterCatalogSpec::default());
    catalog.status.urls = Some(CatalogUrls {
        base: base.to_owned(),
    });
    catalog.status.resolved_source = Some(ResolvedSource {
        kind: "Image".to_owned(),
        image: ResolvedImage {
            reference: format!("registry.example.com/c@{digest}"),
        },
    });
    catalog
}

fn client() -> reqwest::Client {
    // Whoever runs the program chooses who encrypts; here it may have been chosen by another test already.
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .ok();
    reqwest::Client::builder().build().expect("a client")
}

const FIRST: &str = "{\"schema\":\"olm.package\",\"name\":\"p\"}\n";
const SECOND: &str = "{\"schema\":\"olm.package\",\"name\":\"q\"}\n";

#[tokio::test]
async fn content_is_fetched_once_for_each_digest_and_survives_a_restart() {
    let (served, base) = serve().await;
    let folder = tempfile::tempdir().expect("a folder");
    let http = Http::new(client(), folder.path());
    let (first, second) = (Digest::of(b"first"), Digest::of(b"second"));
    *served.answer.lock().expect("no panic") = (200, FIRST.to_owned(), None);
    for _ in 0..3 {
        let store = http.content(&catalog(&base, &first)).await.expect("content");
        assert!(store.package("p").is_some());
    }
    assert_eq!(served.requests.load(Ordering::Relaxed), 1);
    let restarted = Http::new(client(), folder.path());
    restarted.content(&catalog(&base, &first)).await.expect("content");
    assert_eq!(served.requests.load(Ordering::Relaxed), 1, "it lies on disk");

    *served.answer.lock().expect("no panic") = (200, SECOND.to_owned(), Some(format!("\"{second}\"")));
    let store = http.content(&catalog(&base, &second)).await.expect("content");
    assert!(store.package("q").is_some() && store.package("p").is_none());
}

#[tokio::test]
async fn what_is_not_the_named_content_is_not_kept() {
    let (served, base) = serve().await;
    let folder = tempfile::tempdir().expect("a folder");
    let http = Http::new(client(), folder.path());
    let (wanted, other) = (Digest::of(b"wanted"), Digest::of(b"other"));
    *served.answer.lock().expect("no panic") = (200, FIRST.to_owned(), Some(format!("\"{other}\"")));
    let fault = http
        .content(&catalog(&base, &wanted))
        .await
        .expect_err("it is another one");
    assert!(fault.to_string().contains("by now, and not"), "{fault}");
    *served.answer.lock().expect("no panic") = (404, "404 Not Found".to_owned(), None);
    let fault = http
        .content(&catalog(&base, &wanted))
        .await
        .expect_err("it isn't there");
    assert!(
        fault.to_string().contains("unexpected response status code 404"),
        "{fault}"
    );
    *served.answer.lock().expect("no panic") = (200, "no catalog".to_owned(), None);
    http.content(&catalog(&base, &wanted))
        .await
        .expect_err("it is no catalog");
    *served.answer.lock().expect("no panic") = (200, FIRST.to_owned(), None);
    http.content(&catalog(&base, &wanted))
        .await
        .expect("it is tried again");
    let mut unserved = catalog(&base, &wanted);
    unserved.status.urls = None;
    let fault = http.content(&unserved).await.expect_err("nobody serves it");
    assert_eq!(fault, ContentError::NotServed("c".to_owned()));
}
