//! Objects that a bundle wants twice: one object where both agree.
//!
//! OLM makes the ServiceAccounts that permissions name and the Services in front of webhooks. Some bundles have the same object
//! among their manifests, with labels or annotations of their own. Upstream refuses to apply a set that names an object twice;
//! here that is left for what says two different things.

use std::collections::BTreeMap;

use apply::object::ObjectId;
use serde_json::{Map, Value};

/// The kinds of objects that OLM makes and that bundles may have as well.
const MADE_AND_BROUGHT: [&str; 2] = ["ServiceAccount", "Service"];

/// Makes one object of those that are wanted more than once and agree, where the first of them stood.
///
/// Those that contradict each other stay as they are: whoever applies them refuses them, and says so.
pub(crate) fn united(objects: Vec<Value>) -> Vec<Value> {
    let mut united: Vec<Value> = Vec::with_capacity(objects.len());
    let mut places: BTreeMap<ObjectId, usize> = BTreeMap::new();
    for object in objects {
        let id = ObjectId::of(&object);
        if id.api_version == "v1" && MADE_AND_BROUGHT.contains(&id.kind.as_str()) {
            if let Some(place) = places.get(&id) {
                if let Some(both) = merged(&united[*place], &object) {
                    united[*place] = both;
                    continue;
                }
            } else {
                places.insert(id, united.len());
            }
        }
        united.push(object);
    }
    united
}

/// Says everything that two values say; none where they contradict each other. What is null is not said.
fn merged(one: &Value, other: &Value) -> Option<Value> {
    match (one, other) {
        (Value::Null, said) | (said, Value::Null) => Some(said.clone()),
        (Value::Object(one), Value::Object(other)) => merged_fields(one, other).map(Value::Object),
        // The order of a list may count, and so may that there is no more in it.
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let items = one.iter().zip(other).map(|(one, other)| merged(one, other));
            items.collect::<Option<Vec<Value>>>().map(Value::Array)
        }
        _ => (one == other).then(|| one.clone()),
    }
}

fn merged_fields(one: &Map<String, Value>, other: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut both = one.clone();
    for (name, value) in other {
        let value = merged(one.get(name).unwrap_or(&Value::Null), value)?;
        both.insert(name.clone(), value);
    }
    Some(both)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn service(ports: &Value, labels: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n", "labels": labels},
            "spec": {"ports": ports, "selector": {"app": "a"}}})
    }

    fn account(name: &str, more: &Value) -> Value {
        let mut account = json!({"apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": "n"}});
        for (field, value) in more.as_object().into_iter().flatten() {
            account[field] = value.clone();
        }
        account
    }

    #[test]
    fn what_is_made_and_brought_is_one_object_where_both_agree() {
        let made = json!([{"name": "443", "port": 443, "targetPort": 9443}]);
        let secrets = |names: &[&str]| {
            let names: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
            json!({"imagePullSecrets": names})
        };
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "a", "namespace": "n"}});
        let table = [
            (
                "a label more",
                service(&made, &Value::Null),
                service(&made, &json!({"of": "bundle"})),
                vec![service(&made, &json!({"of": "bundle"}))],
            ),
            (
                "a port without its name",
                service(&made, &json!({"of": "olm"})),
                service(
                    &json!([{"port": 443, "protocol": "TCP", "targetPort": 9443}]),
                    &Value::Null,
                ),
                vec![service(
                    &json!([{"name": "443", "port": 443, "protocol": "TCP", "targetPort": 9443}]),
                    &json!({"of": "olm"}),
                )],
            ),
            (
                "secrets where there were none",
                account("a", &json!({})),
                account("a", &secrets(&["s"])),
                vec![account("a", &secrets(&["s"]))],
            ),
            (
                "another port",
                service(&made, &Value::Null),
                service(&json!([{"port": 8443, "targetPort": 9443}]), &Value::Null),
                vec![
                    service(&made, &Value::Null),
                    service(&json!([{"port": 8443, "targetPort": 9443}]), &Value::Null),
                ],
            ),
            (
                "a secret more",
                account("a", &secrets(&["s"])),
                account("a", &secrets(&["s", "t"])),
                vec![
                    account("a", &secrets(&["s"])),
                    account("a", &secrets(&["s", "t"])),
                ],
            ),
            (
                "an object where a text was",
                service(&made, &json!({"of": "olm"})),
                service(&made, &json!({"of": {"the": "bundle"}})),
                vec![
                    service(&made, &json!({"of": "olm"})),
                    service(&made, &json!({"of": {"the": "bundle"}})),
                ],
            ),
            (
                "another name",
                account("a", &json!({})),
                account("b", &json!({})),
                vec![account("a", &json!({})), account("b", &json!({}))],
            ),
            (
                "a kind that OLM never makes twice",
                role.clone(),
                role.clone(),
                vec![role.clone(), role],
            ),
        ];
        for (case, one, other, expected) in table {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "between"}});
            let mut expected: Vec<Value> = expected;
            expected.insert(1, map.clone());
            assert_eq!(united(vec![one, map, other]), expected, "{case}");
        }
    }

    #[test]
    fn three_that_agree_are_one_and_a_fourth_that_does_not_is_left() {
        let labelled = |label: &str, value: &str| {
            let mut account = account("a", &json!({}));
            account["metadata"]["labels"] = json!({label: value});
            account
        };
        let mut all = account("a", &json!({}));
        all["metadata"]["labels"] = json!({"x": "1", "y": "2"});
        let objects = vec![
            account("a", &json!({})),
            labelled("x", "1"),
            labelled("y", "2"),
            labelled("x", "3"),
        ];
        assert_eq!(united(objects), [all, labelled("x", "3")]);
    }
}
