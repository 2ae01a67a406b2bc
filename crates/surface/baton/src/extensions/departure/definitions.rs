//! The custom resources that a definition on its way out waits for.

use apply::object::{is_terminating, text};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use serde_json::Value;

use super::holding::Hold;
use crate::planned_steps::object_name;

/// How many resources of a definition are named: the first ones say who has to let go.
const MOST_NAMED: u32 = 3;

/// Says of each definition that is on its way out which of its custom resources are left.
pub(super) async fn look(client: &Client, holds: &mut [Hold]) {
    for hold in holds {
        if let Some(resource) = kind_of(&hold.object) {
            look_at(client, &resource, hold).await;
        }
    }
}

/// Takes down the first resources of a kind that are left, and how many others there are.
async fn look_at(client: &Client, resource: &ApiResource, hold: &mut Hold) {
    let objects: Api<DynamicObject> = Api::all_with(client.clone(), resource);
    // Whoever may not list them isn't told of them.
    let Ok(listed) = objects.list(&ListParams::default().limit(MOST_NAMED)).await else {
        return;
    };
    let left = listed.items.iter().map(|object| {
        let metadata = &object.metadata;
        let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_deref());
        let called = object_name(
            &resource.kind,
            namespace.unwrap_or_default(),
            name.unwrap_or_default(),
        );
        Hold::of_metadata(called, metadata, None)
    });
    hold.after = left.collect();
    hold.more = listed.metadata.remaining_item_count.unwrap_or_default();
}

/// The kind that a definition on its way out defines.
fn kind_of(definition: &Value) -> Option<ApiResource> {
    if text(definition, "/kind") != "CustomResourceDefinition" || !is_terminating(definition) {
        return None;
    }
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    let served = |version: &&Value| version.get("served") == Some(&Value::Bool(true));
    let version = text(versions.iter().find(served)?, "/name");
    let kind = GroupVersionKind::gvk(
        text(definition, "/spec/group"),
        version,
        text(definition, "/spec/names/kind"),
    );
    Some(ApiResource::from_gvk_with_plural(
        &kind,
        text(definition, "/spec/names/plural"),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_kind_of_a_definition_is_looked_for_where_it_is_served_and_only_when_it_goes() {
        let definition = |deletion: Value| {
            json!({
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "webs.example.com", "deletionTimestamp": deletion},
                "spec": {
                    "group": "example.com",
                    "names": {"kind": "Web", "plural": "webs"},
                    "versions": [{"name": "v1alpha1", "served": false}, {"name": "v1", "served": true}],
                },
            })
        };
        assert_eq!(kind_of(&definition(Value::Null)), None);
        let kind = kind_of(&definition(json!("2026-11-19T00:00:00Z"))).expect("a kind");
        assert_eq!(
            (
                kind.api_version.as_str(),
                kind.kind.as_str(),
                kind.plural.as_str()
            ),
            ("example.com/v1", "Web", "webs")
        );
        assert_eq!(
            kind_of(&json!({"kind": "Secret", "metadata": {"deletionTimestamp": "x"}})),
            None
        );
    }
}
