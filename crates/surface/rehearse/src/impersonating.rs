//! A client of the stage that is somebody else: what an operator may not do in the live cluster, it may not do there.

use http::{HeaderValue, Request};
use kube::Client;
use kube::client::Body;
use stage::Stage;
use tower::ServiceBuilder;

/// Returns a client of the stage that is a user.
pub(crate) fn as_user(stage: &Stage, user: &str) -> Client {
    // Who can't be named may do nothing.
    let user = HeaderValue::from_str(user).unwrap_or(HeaderValue::from_static("system:anonymous"));
    let service = ServiceBuilder::new()
        .map_request(move |mut request: Request<Body>| {
            request.headers_mut().insert("impersonate-user", user.clone());
            request
        })
        .service(stage.service());
    Client::new(service, "default")
}
