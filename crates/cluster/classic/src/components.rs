//! Components: what belongs to an Operator, which a label says.
//!
//! Whatever is made for a version gets its labels at once: putting them on afterwards takes a write for each object.

use apply::object::{annotation, at, is_terminating, set_metadata_entry, text};
use serde_json::Value;

use crate::{Kind, World, keys, names};

/// Returns the labels of an object that make it a component of Operators.
pub fn labels(object: &Value) -> impl Iterator<Item = &str> {
    let labels = at(object, "/metadata/labels").and_then(Value::as_object);
    labels
        .into_iter()
        .flat_map(|labels| labels.keys())
        .map(String::as_str)
        .filter(|key| key.starts_with(keys::COMPONENT_PREFIX))
}

/// Makes an object a component of the Operators that another one belongs to.
pub fn join(object: &mut Value, other: &Value) {
    for label in labels(other) {
        set_metadata_entry(object, "labels", label, "");
    }
}

/// Makes a version that is about to be made a component of the Operator of its package, if somebody subscribed to that.
pub fn join_package(world: &World, namespace: &str, version: &mut Value) {
    let Some(package) = package(version) else { return };
    let is_wanted = world
        .in_namespace(Kind::Subscription, namespace)
        .any(|subscription| text(subscription, "/spec/name") == package && !is_terminating(subscription));
    if is_wanted {
        let label = names::component_label(&names::operator(&package, namespace));
        set_metadata_entry(version, "labels", &label, "");
    }
}

/// Returns the package that a version says it is of.
fn package(version: &Value) -> Option<String> {
    let properties: Value = serde_json::from_str(annotation(version, keys::PROPERTIES)?).ok()?;
    let properties = properties.get("properties")?.as_array()?;
    let mut packages = properties
        .iter()
        .filter(|property| text(property, "/type") == "olm.package");
    let package = text(packages.next()?, "/value/packageName");
    (!package.is_empty()).then(|| package.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_joins_the_operator_of_its_package_if_somebody_subscribed_to_that() {
        let joined = |package: &str, metadata: Value| {
            let mut world = World::default();
            world.put(json!({"kind": "Subscription", "metadata": metadata, "spec": {"name": "p"}}));
            let properties =
                json!({"properties": [{"type": "olm.package", "value": {"packageName": package}}]});
            let mut version =
                json!({"metadata": {"annotations": {keys::PROPERTIES: properties.to_string()}}});
            join_package(&world, "n", &mut version);
            labels(&version).map(str::to_owned).collect::<Vec<_>>()
        };
        let here = json!({"name": "s", "namespace": "n"});
        let leaving = json!({"name": "s", "namespace": "n", "deletionTimestamp": "2030-01-01T00:00:00Z"});
        let elsewhere = json!({"name": "s", "namespace": "m"});
        assert_eq!(joined("p", here.clone()), ["operators.coreos.com/p.n"]);
        assert!(joined("q", here).is_empty());
        assert!(joined("p", leaving).is_empty());
        assert!(joined("p", elsewhere).is_empty());
    }

    #[test]
    fn what_is_made_for_a_version_joins_its_operators_alone() {
        let version =
            json!({"metadata": {"labels": {"olm.managed": "true", "operators.coreos.com/p.n": ""}}});
        let mut object = json!({"metadata": {"labels": {"own": "yes"}}});
        join(&mut object, &version);
        assert_eq!(
            object,
            json!({"metadata": {"labels": {"own": "yes", "operators.coreos.com/p.n": ""}}})
        );
    }
}
