//! The contract, asked of stage over TLS, as any client does.

use std::sync::Arc;

use contract::server::{Backend, Https};
use stage::server::ServeOptions;

#[tokio::test(flavor = "multi_thread")]
async fn stage_keeps_the_contract_over_tls() {
    let stage = stage::Stage::in_memory(stage::Options::default())
        .await
        .expect("a stage");
    let serving = stage
        .serve(([127, 0, 0, 1], 0).into(), &ServeOptions::default())
        .await
        .expect("a server");
    let access = &stage.api().access;
    let server = Https::new(
        Backend::StageOverTls,
        &serving.url(),
        &access.keys.authority.certificate_pem(),
        access.administrator_token(),
    )
    .expect("an HTTPS client");
    contract::run(Arc::new(server)).await;
    serving.stop().await;
}
