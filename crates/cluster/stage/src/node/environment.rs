//! The environment of a container: what its image sets, what the pod says, and what that refers to.

use std::collections::BTreeMap;

use kinds::quantity::Quantity;
use serde_json::Value;

use super::requests::items;
use crate::object::Object;

/// Why a container has no environment, in the kubelet's words: it waits with `CreateContainerConfigError`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Missing(pub String);

/// Looks up the configuration and secrets that a pod refers to.
pub trait Lookup {
    /// Returns an object of the pod's namespace.
    fn object(&self, plural: &str, name: &str) -> Option<Value>;
}

/// Returns a key of a ConfigMap or Secret as bytes.
pub fn data_of(plural: &str, object: &Value, key: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let decoded = |value: &Value| STANDARD.decode(value.as_str()?).ok();
    if plural == "secrets" {
        return decoded(object["data"].get(key)?);
    }
    match object["data"].get(key) {
        Some(text) => text.as_str().map(|text| text.as_bytes().to_vec()),
        None => decoded(object["binaryData"].get(key)?),
    }
}

/// Returns all keys of a ConfigMap or Secret, in order.
pub fn keys_of(object: &Value) -> Vec<String> {
    let mut keys: Vec<String> = ["data", "binaryData"]
        .into_iter()
        .filter_map(|part| object[part].as_object())
        .flat_map(|part| part.keys().cloned())
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

/// Returns the environment that a pod gives a container, later ones in the pod's order winning. `links` are the variables
/// of Services, which others win over and may refer to.
pub fn of_container(
    pod: &Value,
    container: &Value,
    links: &[(String, String)],
    lookup: &impl Lookup,
) -> Result<BTreeMap<String, String>, Missing> {
    let mut all: BTreeMap<String, String> = links.iter().cloned().collect();
    for source in items(&container["envFrom"]) {
        let prefix = source["prefix"].as_str().unwrap_or_default();
        for (field, plural, kind) in [
            ("configMapRef", "configmaps", "configmap"),
            ("secretRef", "secrets", "secret"),
        ] {
            let Some(name) = source[field]["name"].as_str() else {
                continue;
            };
            let Some(object) = lookup.object(plural, name) else {
                if source[field]["optional"] == true {
                    continue;
                }
                return Err(Missing(format!("{kind} \"{name}\" not found")));
            };
            for key in keys_of(&object) {
                if let Some(bytes) = data_of(plural, &object, &key) {
                    all.insert(
                        format!("{prefix}{key}"),
                        String::from_utf8_lossy(&bytes).into_owned(),
                    );
                }
            }
        }
    }
    for variable in items(&container["env"]) {
        let Some(name) = variable["name"].as_str() else {
            continue;
        };
        let value = match variable.get("valueFrom").filter(|from| !from.is_null()) {
            None => Some(expand(variable["value"].as_str().unwrap_or_default(), &all)),
            Some(from) => referred(pod, container, from, lookup)?,
        };
        if let Some(value) = value {
            all.insert(name.to_owned(), value);
        }
    }
    Ok(all)
}

fn referred(
    pod: &Value,
    container: &Value,
    from: &Value,
    lookup: &impl Lookup,
) -> Result<Option<String>, Missing> {
    for (field, plural, kind, shown) in [
        ("configMapKeyRef", "configmaps", "configmap", "ConfigMap"),
        ("secretKeyRef", "secrets", "secret", "Secret"),
    ] {
        let reference = &from[field];
        let Some(name) = reference["name"].as_str() else {
            continue;
        };
        let key = reference["key"].as_str().unwrap_or_default();
        let optional = reference["optional"] == true;
        let Some(object) = lookup.object(plural, name) else {
            return if optional {
                Ok(None)
            } else {
                Err(Missing(format!("{kind} \"{name}\" not found")))
            };
        };
        return match data_of(plural, &object, key) {
            Some(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            None if optional => Ok(None),
            None => Err(Missing(format!(
                "couldn't find key {key} in {shown} {}/{name}",
                pod.namespace()
            ))),
        };
    }
    if let Some(path) = from["fieldRef"]["fieldPath"].as_str() {
        return Ok(Some(field(pod, path).unwrap_or_default()));
    }
    if from["resourceFieldRef"].is_object() {
        return Ok(Some(
            resource(pod, container, &from["resourceFieldRef"]).unwrap_or_default(),
        ));
    }
    Ok(None)
}

/// Returns a field of a pod by the path of the downward API.
pub fn field(pod: &Value, path: &str) -> Option<String> {
    let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    let map = |name: &str| {
        let map = pod["metadata"][name].as_object();
        let lines: Vec<String> = map
            .into_iter()
            .flatten()
            .map(|(key, value)| format!("{key}={:?}", value.as_str().unwrap_or_default()))
            .collect();
        lines.join("\n")
    };
    if let Some((map, key)) = path.strip_suffix("']").and_then(|path| path.split_once("['")) {
        let name = map.strip_prefix("metadata.")?;
        return pod["metadata"][name][key].as_str().map(str::to_owned);
    }
    match path {
        "metadata.name" => text("/metadata/name"),
        "metadata.namespace" => text("/metadata/namespace"),
        "metadata.uid" => text("/metadata/uid"),
        "metadata.labels" => Some(map("labels")),
        "metadata.annotations" => Some(map("annotations")),
        "spec.nodeName" => text("/spec/nodeName"),
        "spec.serviceAccountName" => text("/spec/serviceAccountName"),
        "status.hostIP" | "status.hostIPs" => Some("127.0.0.1".to_owned()),
        "status.podIP" | "status.podIPs" => text("/status/podIP"),
        _ => None,
    }
}

/// Returns an amount of a resource of a container, by a `resourceFieldRef`: in units of its divisor, rounded up.
pub fn resource(pod: &Value, container: &Value, reference: &Value) -> Option<String> {
    let named = reference["containerName"].as_str().unwrap_or_default();
    let container = if named.is_empty() {
        container
    } else {
        items(&pod["spec"]["containers"]).find(|one| one["name"] == named)?
    };
    let (list, name) = reference["resource"].as_str()?.split_once('.')?;
    let amount = |list: &str| container["resources"][list][name].as_str().map(Quantity::read);
    let amount = match list {
        "limits" => amount("limits"),
        _ => amount("requests").or_else(|| amount("limits")),
    };
    let divisor = match &reference["divisor"] {
        Value::String(text) => Quantity::read(text),
        _ => Quantity::read("0"),
    };
    let amount = amount.unwrap_or_else(|| Quantity::read("0"));
    // Processors may be asked for in thousandths, so both are compared in them.
    let (amount, divisor) = (
        i128::from(amount.thousandths()),
        i128::from(divisor.thousandths()),
    );
    let divisor = if divisor <= 0 { 1000 } else { divisor };
    Some((amount / divisor + i128::from(amount % divisor != 0)).to_string())
}

/// Puts values in place of `$(NAME)`; `$$(NAME)` stands for itself, and so do names that aren't known.
pub fn expand(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        out.push_str(&rest[..dollar]);
        rest = &rest[dollar + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
            continue;
        }
        let name = rest.strip_prefix('(').and_then(|after| after.split_once(')'));
        match name {
            Some((name, after)) => {
                if let Some(value) = values.get(name) {
                    out.push_str(value);
                } else {
                    out.push_str("$(");
                    out.push_str(name);
                    out.push(')');
                }
                rest = after;
            }
            None => out.push('$'),
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Objects;

    impl Lookup for Objects {
        fn object(&self, plural: &str, name: &str) -> Option<Value> {
            match (plural, name) {
                ("configmaps", "settings") => Some(json!({"data": {"a": "1", "b": "2"}})),
                ("secrets", "keys") => Some(json!({"data": {"token": "c2VjcmV0"}})),
                _ => None,
            }
        }
    }

    fn pod() -> Value {
        json!({
            "metadata": {"name": "p", "namespace": "n", "labels": {"app": "x"}, "annotations": {"note": "y"}},
            "spec": {"nodeName": "baton", "containers": [
                {"name": "c", "resources": {"limits": {"cpu": "1500m", "memory": "1Gi"}}}]},
        })
    }

    #[expect(clippy::needless_pass_by_value, reason = "`json!` makes values")]
    fn environment(container: Value) -> Result<Vec<String>, String> {
        let given = [("HOME".to_owned(), "/h".to_owned())];
        let all =
            of_container(&pod(), &container, &given, &Objects).map_err(|missing| missing.to_string())?;
        Ok(all
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect())
    }

    #[test]
    fn variables_are_values_keys_fields_and_amounts() {
        let from = |from: Value| json!({"env": [{"name": "V", "valueFrom": from}], "resources": {"limits": {"cpu": "1500m", "memory": "1Gi"}}});
        for (container, expected) in [
            (json!({}), Ok(vec!["HOME=/h"])),
            (
                json!({"env": [{"name": "A", "value": "$(HOME)/x"}, {"name": "B", "value": "$(A)$$(A)$(NO)"}]}),
                Ok(vec!["A=/h/x", "B=/h/x$(A)$(NO)", "HOME=/h"]),
            ),
            (
                json!({"envFrom": [{"prefix": "P_", "configMapRef": {"name": "settings"}}]}),
                Ok(vec!["HOME=/h", "P_a=1", "P_b=2"]),
            ),
            (
                json!({"envFrom": [{"configMapRef": {"name": "none", "optional": true}}]}),
                Ok(vec!["HOME=/h"]),
            ),
            (
                json!({"envFrom": [{"secretRef": {"name": "none"}}]}),
                Err("secret \"none\" not found"),
            ),
            (
                from(json!({"configMapKeyRef": {"name": "settings", "key": "b"}})),
                Ok(vec!["HOME=/h", "V=2"]),
            ),
            (
                from(json!({"configMapKeyRef": {"name": "settings", "key": "z"}})),
                Err("couldn't find key z in ConfigMap n/settings"),
            ),
            (
                from(json!({"configMapKeyRef": {"name": "settings", "key": "z", "optional": true}})),
                Ok(vec!["HOME=/h"]),
            ),
            (
                from(json!({"secretKeyRef": {"name": "keys", "key": "token"}})),
                Ok(vec!["HOME=/h", "V=secret"]),
            ),
            (
                from(json!({"fieldRef": {"fieldPath": "metadata.labels['app']"}})),
                Ok(vec!["HOME=/h", "V=x"]),
            ),
            (
                from(json!({"fieldRef": {"fieldPath": "metadata.name"}})),
                Ok(vec!["HOME=/h", "V=p"]),
            ),
            (
                from(json!({"resourceFieldRef": {"resource": "limits.cpu"}})),
                Ok(vec!["HOME=/h", "V=2"]),
            ),
            (
                from(json!({"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}})),
                Ok(vec!["HOME=/h", "V=1500"]),
            ),
            (
                from(json!({"resourceFieldRef": {"resource": "requests.memory", "divisor": "1Mi"}})),
                Ok(vec!["HOME=/h", "V=1024"]),
            ),
        ] {
            let expected = expected
                .map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>())
                .map_err(str::to_owned);
            assert_eq!(environment(container.clone()), expected, "{container}");
        }
    }

    #[test]
    fn text_with_lone_dollars_stays() {
        for text in ["$", "a$", "$(", "$(open", "$x"] {
            assert_eq!(expand(text, &BTreeMap::new()), text);
        }
    }
}
