//! What runs pods and has their logs.

use std::sync::Arc;

use http::Response;

use crate::Body;
use crate::api::{Api, Place};
use crate::status::Status;
use crate::wire::Asked;

/// What the node runs.
#[derive(Debug, Clone, Default)]
pub struct Options {}

/// The node, as the API sees it.
#[derive(Debug, Default)]
pub struct Handle {}

impl Handle {
    /// Answers a request for the logs of a pod.
    pub async fn logs(
        &self,
        _api: &Arc<Api>,
        _asked: &Asked,
        place: &Place,
    ) -> Result<Response<Body>, Status> {
        Err(place.not_found())
    }

    /// Answers a request to connect to a pod, a service or a node.
    pub async fn connect(
        &self,
        _api: &Arc<Api>,
        _asked: &Asked,
        _place: &Place,
    ) -> Result<Response<Body>, Status> {
        Err(Status::method_not_allowed())
    }
}
