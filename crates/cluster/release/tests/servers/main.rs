//! What this crate takes for granted of an API server, on the stage; `suite.rs` asks the real kube-apiserver.

mod expectations;

use expectations::EXPECTATIONS;
use kube::Client;

#[tokio::test]
async fn the_stage_is_as_expected() {
    let stage = stage::Stage::in_memory(stage::Options::default())
        .await
        .expect("a stage");
    let client = Client::new(stage.service(), "default");
    for (_, holds) in EXPECTATIONS {
        holds(client.clone()).await;
    }
}
