//! A CustomResourceDefinition: the versions that it was installed with, as long as they are there.

use std::sync::Arc;

use apply::object::ObjectId;
use classic::keys::INSTALLED_ALONGSIDE_PREFIX;
use classic::{Decision, Kind, World, Write};
use serde_json::{Map, Value, json};

use crate::controller::{Again, Office};

impl Office {
    pub(crate) async fn look_at_definition(self: &Arc<Self>, name: &str) -> Again {
        let decision = decide(&self.picture.look(), name);
        self.carry_out(&decision).await
    }
}

/// Takes away what a definition says of versions that are gone.
fn decide(world: &World, name: &str) -> Decision {
    let mut decision = Decision::default();
    let Some(definition) = world.get(Kind::CustomResourceDefinition, "", name) else {
        return decision;
    };
    let annotations = definition
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    let is_gone = |value: &Value| {
        let place = value.as_str().and_then(|text| text.split_once('/'));
        place.is_some_and(|(namespace, name)| {
            world.get(Kind::ClusterServiceVersion, namespace, name).is_none()
        })
    };
    let gone: Map<String, Value> = annotations
        .into_iter()
        .flatten()
        .filter(|(key, value)| key.starts_with(INSTALLED_ALONGSIDE_PREFIX) && is_gone(value))
        .map(|(key, _)| (key.clone(), Value::Null))
        .collect();
    if !gone.is_empty() {
        decision.writes.push(Write::Merge {
            id: ObjectId::of(definition),
            patch: json!({"metadata": {"annotations": gone}}),
        });
    }
    decision
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_gone_is_no_longer_named() {
        let note = |key: &str| format!("{INSTALLED_ALONGSIDE_PREFIX}{key}");
        let mut world = World::default();
        world.put(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "as.g", "annotations": {note("1"): "n/a.v1", note("2"): "n/a.v2", "other": "n/x"}},
        }));
        world.put(json!({"kind": "ClusterServiceVersion", "metadata": {"name": "a.v2", "namespace": "n"}}));
        let decision = decide(&world, "as.g");
        let [Write::Merge { patch, .. }] = decision.writes.as_slice() else {
            panic!("one write: {decision:?}");
        };
        assert_eq!(*patch, json!({"metadata": {"annotations": {note("1"): null}}}));
    }
}
