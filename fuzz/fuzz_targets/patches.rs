//! Applies any bytes as each kind of patch to an object.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use patch::{json_patch, merge_patch, strategic};
use schema::node::{Reference, Schema};
use serde_json::{Value, json};

fn object() -> Value {
    json!({
        "metadata": {"name": "web", "labels": {"app": "web"}, "finalizers": ["a/x", "b/y"]},
        "spec": {
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "template": {"spec": {"containers": [
                {"name": "a", "image": "i:1", "env": [{"name": "E", "value": "1"}], "ports": [{"containerPort": 80}]},
                {"name": "b", "image": "i:2"},
            ]}},
        },
    })
}

fuzz_target!(|body: &[u8]| {
    let deployment = Reference::Definition {
        name: "io.k8s.api.apps.v1.Deployment".into(),
        beside: Arc::new(Schema::anything()),
    };
    for strict in [true, false] {
        if let Ok(patch) = json_patch::JsonPatch::read(body, strict) {
            patch.apply(object()).ok();
        }
        merge_patch::apply(object(), body, strict).ok();
        strategic::apply(object(), body, &deployment, strict).ok();
    }
});
