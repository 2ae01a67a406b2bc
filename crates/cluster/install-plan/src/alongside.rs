//! Notes on a definition of custom resources: which ClusterServiceVersions it was installed with.

use std::collections::BTreeSet;

use apply::object::{as_map, text};
use classic::{Kind, World, copied, keys, names};
use serde_json::Value;

/// Writes the notes of a definition: those of `sources` whose ClusterServiceVersion still exists and is no copy, and the
/// one of the version that it is installed with now.
pub fn annotate(world: &World, definition: &mut Value, sources: &[&Value], namespace: &str, version: &str) {
    let mut noted: BTreeSet<(String, String)> = sources
        .iter()
        .flat_map(|source| read(source))
        .filter(|(namespace, name)| {
            let version = world.get(Kind::ClusterServiceVersion, namespace, name);
            version.is_some_and(|version| !copied::is_marked_as_copy(version))
        })
        .collect();
    if !namespace.is_empty() && !version.is_empty() {
        noted.insert((namespace.to_owned(), version.to_owned()));
    }
    let metadata = as_map(&mut definition["metadata"]);
    let annotations = as_map(metadata.entry("annotations").or_insert(Value::Null));
    annotations.retain(|key, _| !key.starts_with(keys::INSTALLED_ALONGSIDE_PREFIX));
    for (namespace, name) in noted {
        let value = Value::from(format!("{namespace}/{name}"));
        annotations.insert(names::installed_alongside(&namespace, &name), value);
    }
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

/// Returns the ClusterServiceVersions that a definition names, as namespace and name.
pub fn read(definition: &Value) -> Vec<(String, String)> {
    let annotations = definition
        .pointer("/metadata/annotations")
        .and_then(Value::as_object);
    let notes = annotations
        .into_iter()
        .flatten()
        .filter(|(key, _)| key.starts_with(keys::INSTALLED_ALONGSIDE_PREFIX));
    notes
        .filter_map(|(_, value)| {
            let (namespace, name) = value.as_str()?.split_once('/')?;
            (!name.contains('/')).then(|| (namespace.to_owned(), name.to_owned()))
        })
        .collect()
}

/// Returns the name of a definition.
pub(crate) fn name(definition: &Value) -> &str {
    text(definition, "/metadata/name")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn notes_of_versions_that_are_gone_are_dropped() {
        let mut world = World::default();
        world.put(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"name": "b.v1", "namespace": "other"},
        }));
        let existing = json!({"metadata": {"name": "as.g", "annotations": {
            names::installed_alongside("other", "b.v1"): "other/b.v1",
            names::installed_alongside("ns", "gone.v1"): "ns/gone.v1",
            "kept": "yes",
        }}});
        let mut new = json!({"metadata": {"name": "as.g"}});
        annotate(&world, &mut new, &[&existing], "ns", "a.v1");
        assert_eq!(
            new["metadata"]["annotations"],
            json!({
                names::installed_alongside("other", "b.v1"): "other/b.v1",
                names::installed_alongside("ns", "a.v1"): "ns/a.v1",
            })
        );
    }
}
