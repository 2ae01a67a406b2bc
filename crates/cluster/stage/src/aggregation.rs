//! APIs that another server serves, as an APIService says.

use std::sync::Arc;

use http::Response;
use serde_json::Value;

use crate::api::Api;
use crate::request::ResourcePath;
use crate::status::Status;
use crate::wire::{Asked, Body};

/// Answers a request for a group and version that another server serves; `None` where none does.
pub async fn answer(
    _api: &Arc<Api>,
    _asked: &Asked,
    _path: &ResourcePath,
) -> Option<Result<Response<Body>, Status>> {
    None
}

/// Answers discovery of a group and version that another server serves; `None` where none does.
pub async fn answer_path(
    _api: &Arc<Api>,
    _asked: &Asked,
    _path: &str,
) -> Option<Result<Response<Body>, Status>> {
    None
}

/// Adds the groups that other servers serve to discovery.
pub fn add_groups(_api: &Arc<Api>, _discovery: &mut Value) {}
