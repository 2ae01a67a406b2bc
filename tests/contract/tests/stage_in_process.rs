//! The contract, asked of stage as a function in this process.

use std::sync::Arc;

use contract::server::InProcess;

#[tokio::test(flavor = "multi_thread")]
async fn stage_keeps_the_contract_in_process() {
    let stage = stage::Stage::in_memory(stage::Options::default())
        .await
        .expect("a stage");
    let server = InProcess::<_, stage::Body>::new(stage.service(), stage.stranger_service());
    contract::run(Arc::new(server)).await;
}
