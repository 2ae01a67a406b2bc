//! What leads the API server here: an APIService, and the Service that it names.

use serde_json::{Value, json};

use super::{GROUP, VERSION};

/// The name of the Service that upstream's packages are served by.
pub const SERVICE: &str = "packageserver-service";

/// The port that it is served at.
pub const PORT: u16 = 5443;

/// Returns the APIService for a server in a namespace, believed by an authority's certificates (PEM in base64).
pub fn api_service(namespace: &str, authority: &str) -> Value {
    json!({
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": format!("{VERSION}.{GROUP}"), "labels": {"olm.managed": "true"}},
        "spec": {
            "group": GROUP,
            "version": VERSION,
            "groupPriorityMinimum": 2000,
            "versionPriority": 15,
            "caBundle": authority,
            "service": {"namespace": namespace, "name": SERVICE, "port": PORT},
        },
    })
}
