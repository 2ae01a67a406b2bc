//! What is attached to images.

use image::registry::Registry;

use crate::attached::{both_documents, listed, push_with_attachments};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_attached_to_an_image_is_in_the_registry_s_list() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Registry::serve_on_loopback(folder.path().join("registry"))
        .await
        .unwrap();
    let host = serving.address().to_string();
    let digest = push_with_attachments(&host).await;
    let answer = reqwest::get(format!("http://{host}/v2/team/operator/referrers/{digest}")).await;
    assert_eq!(listed(&answer.unwrap().text().await.unwrap()), both_documents());
    serving.stop().await;
}
