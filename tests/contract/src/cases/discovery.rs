//! How clients find out what is served.

use crate::context::Context;

cases![version_names_the_release];

async fn version_names_the_release(c: &Context) {
    c.get("/version").await.expect(200).has("/major", "1").has("/minor", "36");
}
