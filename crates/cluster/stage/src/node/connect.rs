//! Requests that connect to something that runs: exec, attach, port-forward and proxy.

use std::sync::Arc;

use http::{Response, StatusCode};
use serde_json::Value;

use super::{Handle, logs};
use crate::Body;
use crate::api::{Api, Place};
use crate::object::Object;
use crate::status::Status;
use crate::wire::Asked;

/// Answers a request to connect.
pub(super) async fn answer(
    handle: &Handle,
    api: &Arc<Api>,
    asked: &Asked,
    place: &Place,
) -> Result<Response<Body>, Status> {
    match (&*place.resource.plural, place.subresource.as_str()) {
        ("pods", below @ ("exec" | "attach" | "portforward")) => {
            let pod = api.get(place)?.value();
            if below != "portforward" {
                logs::container_of(&pod, asked.query.get("container"))?;
            }
            if pod["spec"]["nodeName"].as_str().unwrap_or_default().is_empty() {
                let message = format!("pod {} does not have a host assigned", pod.name());
                return Err(Status::bad_request(message));
            }
            Err(refusal(handle, &pod, below))
        }
        _ => Err(Status::method_not_allowed()),
    }
}

/// Returns why nothing connects to a pod in this way.
fn refusal(handle: &Handle, pod: &Value, below: &str) -> Status {
    let address = pod["status"]["podIP"].as_str().unwrap_or_default();
    let what = match below {
        "exec" => "run a command in",
        "attach" => "attach to",
        _ => "forward ports to",
    };
    let why = if handle.address_of(address).is_none() {
        "it is simulated, so nothing runs in it (baton didn't build its image)".to_owned()
    } else {
        "it is a process of this machine without a container around it".to_owned()
    };
    let message = format!("cannot {what} pod {}/{}: {why}", pod.namespace(), pod.name());
    Status::refusal(StatusCode::NOT_IMPLEMENTED, "NotImplemented", message)
}
