//! Whether custom resources that exist are what a new definition allows.

use apply::object::{ObjectId, text};
use schema::structural;
use serde_json::Value;
use stage::custom;

use crate::report::Break;

/// What becomes of the resources of a definition.
#[derive(Debug, Default, PartialEq)]
pub struct Examined {
    /// What the definition would not allow, or would drop.
    pub breaks: Vec<Break>,
    /// Why some of it isn't known.
    pub unknown: Option<String>,
}

/// Holds resources against a new definition of their kind.
///
/// The API server lets a resource be that it stored before, and says nothing until somebody changes it. So each is judged as
/// if it were new.
pub fn examine(definition: &Value, objects: &[Value]) -> Examined {
    let mut examined = Examined::default();
    let mut definition = definition.clone();
    // What isn't installed yet has no names that were accepted.
    let names = definition["spec"]["names"].clone();
    definition["status"] = serde_json::json!({"acceptedNames": names});
    let resources = custom::resources(&definition);
    let Some(stored) = resources
        .iter()
        .find(|resource| resource.api_version() == *resource.storage_api_version)
        .or(resources.first())
    else {
        return examined;
    };
    let Some(kind) = stored.custom() else {
        return examined;
    };
    let converts = text(&definition, "/spec/conversion/strategy") == "Webhook";
    for object in objects {
        let id = ObjectId::of(object);
        if converts && id.api_version != *stored.storage_api_version {
            examined.unknown = Some(format!(
                "CustomResourceDefinition {}: a webhook turns {} into {}, and it can't be asked here",
                text(&definition, "/metadata/name"),
                id.api_version,
                stored.storage_api_version
            ));
            continue;
        }
        let mut new = object.clone();
        new["apiVersion"] = stored.storage_api_version.to_string().into();
        for field in structural::prune(&kind.stored_schema, &mut new, true).paths() {
            examined.breaks.push(Break {
                object: id.clone(),
                field: Some(field.clone()),
                cause: "the new definition doesn't have this field: its value is lost when the resource is written".to_owned(),
                next_step: "move the value to where the new version has it, or ask the author to keep the field"
                    .to_owned(),
            });
        }
        kind.default_stored(&mut new);
        for error in kind.validate_create(stored.namespaced, &new).told() {
            examined.breaks.push(Break {
                object: id.clone(),
                field: Some(error.field.text()).filter(|field| !field.is_empty()),
                cause: format!("the new definition doesn't allow it: {}", error.body()),
                next_step: "change the field before the upgrade: after it, the resource can't be changed in any other way"
                    .to_owned(),
            });
        }
    }
    examined
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(spec: Value) -> Value {
        json!({
            "metadata": {"name": "stacks.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"kind": "Stack", "plural": "stacks"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": spec},
                }}}],
            },
        })
    }

    fn stack(name: &str, spec: &Value) -> Value {
        json!({"apiVersion": "example.com/v1", "kind": "Stack", "metadata": {"name": name, "namespace": "n"}, "spec": spec})
    }

    fn told(definition: &Value, objects: &[Value]) -> Vec<String> {
        let examined = examine(definition, objects);
        let told = examined.breaks.into_iter().map(|found| {
            format!(
                "{} {}: {}",
                found.object.name,
                found.field.unwrap_or_default(),
                found.cause
            )
        });
        told.chain(examined.unknown).collect()
    }

    #[test]
    fn each_resource_is_held_against_the_new_definition() {
        let strict = definition(json!({
            "type": "object", "required": ["model"],
            "properties": {"model": {"type": "string"}, "replicas": {"type": "integer", "maximum": 3}},
        }));
        let stacks = [
            stack("good", &json!({"model": "m", "replicas": 1})),
            stack("large", &json!({"model": "m", "replicas": 4})),
            stack("lost", &json!({"model": "m", "replicas": 1, "old": true})),
            stack("short", &json!({"replicas": 1})),
        ];
        let told = told(&strict, &stacks);
        let expected = [
            "large spec.replicas: the new definition doesn't allow it: Invalid value: 4: ",
            "lost spec.old: the new definition doesn't have this field: its value is lost",
            "short spec.model: the new definition doesn't allow it: Required value",
        ];
        assert_eq!(told.len(), expected.len(), "{told:#?}");
        for (told, expected) in told.iter().zip(expected) {
            assert!(told.starts_with(expected), "{told} is not {expected}");
        }
    }

    #[test]
    fn rules_of_the_new_definition_count_too() {
        let ruled = definition(json!({
            "type": "object", "properties": {"replicas": {"type": "integer"}},
            "x-kubernetes-validations": [{"rule": "self.replicas != 2", "message": "two is no crowd"}],
        }));
        let told = told(
            &ruled,
            &[
                stack("one", &json!({"replicas": 1})),
                stack("two", &json!({"replicas": 2})),
            ],
        );
        assert_eq!(told.len(), 1, "{told:#?}");
        assert!(
            told[0].starts_with("two spec: ") && told[0].contains("two is no crowd"),
            "{told:#?}"
        );
    }

    #[test]
    fn another_stored_version_is_looked_at_unless_a_webhook_converts() {
        let mut moved = definition(json!({"type": "object", "properties": {"a": {"type": "string"}}}));
        let version = moved["spec"]["versions"][0].clone();
        moved["spec"]["versions"] = json!([version, version]);
        moved["spec"]["versions"][0]["storage"] = json!(false);
        moved["spec"]["versions"][1]["name"] = json!("v2");
        let stacks = [stack("one", &json!({"a": 1}))];
        let plain = told(&moved, &stacks);
        assert!(plain[0].starts_with("one spec.a: "), "{plain:?}");
        moved["spec"]["conversion"] = json!({"strategy": "Webhook"});
        assert_eq!(
            told(&moved, &stacks),
            [
                "CustomResourceDefinition stacks.example.com: a webhook turns example.com/v1 into example.com/v2, and it can't \
              be asked here"
            ]
        );
    }
}
