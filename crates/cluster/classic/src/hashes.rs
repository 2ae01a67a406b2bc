//! The hashes that OLM v0 writes into labels and names, equal to those that clusters already hold.
//!
//! Most are `base62(sha224(json))`, where the JSON is Go's: fields in the order of Go's types, and those that Go leaves
//! out when they are empty left out. What plans write of a version goes through its type the same way. A hash that differed would redeploy every operator once when baton takes a cluster
//! over, so the order and the rules of the types are data here (`data/hashed-types.txt`):
//!
//! ```text
//! apps.DeploymentSpec          a type, and below it its fields in order
//!  replicas? *int              `?` is left out when empty, `*` may be absent
//!  selector *meta.LabelSelector
//!  @ core.VolumeSource         `@` has the fields of another type in its place
//! ```

use std::collections::BTreeMap;
use std::sync::OnceLock;

use aws_lc_rs::digest;
use bundle::rendering::quantity;
use goyaml::json::Escape;
use num_bigint::BigUint;
use serde_json::Value;

/// A type of Go whose values are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The `spec` of a Deployment.
    DeploymentSpec,
    /// The `spec` of a Pod.
    PodSpec,
    /// The `spec` of a Service.
    ServiceSpec,
    /// The `spec` of a ClusterServiceVersion, which isn't hashed, but written to clusters.
    ServiceVersionSpec,
    /// The `status` of a ClusterServiceVersion, the same way.
    ServiceVersionStatus,
    /// One of a version's `webhookdefinitions`.
    WebhookDescription,
    /// One of a version's `permissions` or `clusterPermissions`.
    Permissions,
    /// One rule of a role.
    PolicyRule,
    /// All rules of a role.
    PolicyRules,
    /// The role that a binding names.
    RoleReference,
    /// All subjects of a binding.
    Subjects,
}

impl Shape {
    fn go_type(self) -> &'static str {
        match self {
            Self::DeploymentSpec => "apps.DeploymentSpec",
            Self::PodSpec => "core.PodSpec",
            Self::ServiceSpec => "core.ServiceSpec",
            Self::ServiceVersionSpec => "olm.ClusterServiceVersionSpec",
            Self::ServiceVersionStatus => "olm.ClusterServiceVersionStatus",
            Self::WebhookDescription => "olm.WebhookDescription",
            Self::Permissions => "olm.StrategyDeploymentPermissions",
            Self::PolicyRule => "rbac.PolicyRule",
            Self::PolicyRules => "[]rbac.PolicyRule",
            Self::RoleReference => "rbac.RoleRef",
            Self::Subjects => "[]rbac.Subject",
        }
    }
}

/// Returns a value as Go's `json.Marshal` writes it after reading it into a type.
pub fn go_json(shape: Shape, value: &Value) -> String {
    let mut text = String::new();
    write(value, shape.go_type(), &mut text);
    text
}

/// Returns the hash of a value as a type of Go: base 62 of SHA-224 over its JSON and a newline.
pub fn deep_hash(shape: Shape, value: &Value) -> String {
    hash_of_line(&go_json(shape, value))
}

/// Returns base 62 of SHA-224 over a JSON text and a newline, as Go's encoder ends it.
pub fn hash_of_line(json: &str) -> String {
    text_hash(&format!("{json}\n"))
}

/// Returns base 62 of SHA-224 over a text.
pub fn text_hash(text: &str) -> String {
    base62(digest::digest(&digest::SHA224, text.as_bytes()).as_ref())
}

/// Returns what `olm.permissions.hash` says of the rules of a role.
pub fn rules_hash(rules: &Value) -> String {
    text_hash(&go_json(Shape::PolicyRules, rules))
}

/// Returns what `olm.permissions.hash` says of a binding.
pub fn binding_hash(role: &Value, subjects: &Value) -> String {
    text_hash(&format!(
        "{{\"RoleRef\":{},\"Subjects\":{}}}",
        go_json(Shape::RoleReference, role),
        go_json(Shape::Subjects, subjects)
    ))
}

/// Returns the 64-bit FNV-1a hash of a text in hexadecimal, without leading zeros.
pub fn fnv64a(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:x}")
}

/// Returns bytes as one large number with the digits 0-9, a-z and A-Z.
pub fn base62(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let digits = BigUint::from_bytes_be(bytes).to_radix_be(62);
    digits
        .into_iter()
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

const TYPES: &str = include_str!("../data/hashed-types.txt");

/// A field of a struct.
#[derive(Debug)]
struct Field {
    /// The name in JSON; `@` for the fields of another type in this place.
    name: &'static str,
    omits_empty: bool,
    /// Whether a struct that is empty is left out as well.
    omits_zero: bool,
    go_type: &'static str,
}

fn types() -> &'static BTreeMap<&'static str, Vec<Field>> {
    static TABLE: OnceLock<BTreeMap<&'static str, Vec<Field>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table: BTreeMap<&'static str, Vec<Field>> = BTreeMap::new();
        let mut current = "";
        for line in TYPES.lines() {
            match line.strip_prefix(' ').and_then(|field| field.split_once(' ')) {
                None => current = line,
                Some((name, go_type)) => table.entry(current).or_default().push(Field {
                    name: name.trim_end_matches('?'),
                    omits_empty: name.ends_with('?'),
                    omits_zero: name.ends_with("??"),
                    go_type,
                }),
            }
        }
        table
    })
}

/// Appends a value as its type writes itself. Types end, so this does: only the fields of the table are followed.
fn write(value: &Value, go_type: &str, text: &mut String) {
    if let Some(pointee) = go_type.strip_prefix('*') {
        if value.is_null() {
            text.push_str("null");
        } else {
            write(value, pointee, text);
        }
    } else if let Some(item) = go_type.strip_prefix("[]") {
        let Some(items) = value.as_array() else {
            text.push_str("null");
            return;
        };
        text.push('[');
        for (position, value) in items.iter().enumerate() {
            if position > 0 {
                text.push(',');
            }
            write(value, item, text);
        }
        text.push(']');
    } else if let Some(item) = go_type.strip_prefix("{}") {
        let Some(entries) = value.as_object() else {
            text.push_str("null");
            return;
        };
        text.push('{');
        for (position, (key, value)) in entries.iter().enumerate() {
            if position > 0 {
                text.push(',');
            }
            write_plain(&Value::from(key.as_str()), text);
            text.push(':');
            write(value, item, text);
        }
        text.push('}');
    } else if let Some(fields) = types().get(go_type) {
        text.push('{');
        write_fields(value, fields, &mut true, text);
        text.push('}');
    } else {
        match (go_type, value) {
            ("Quantity", Value::Null) => text.push_str("\"0\""),
            ("Quantity", value) => write_quantity(value, text),
            ("string", Value::Null) => text.push_str("\"\""),
            ("int" | "IntOrString", Value::Null) => text.push('0'),
            ("bool", Value::Null) => text.push_str("false"),
            (_, value) => write_plain(value, text),
        }
    }
}

fn write_fields(value: &Value, fields: &[Field], first: &mut bool, text: &mut String) {
    for field in fields {
        if field.name == "@" {
            if let Some(fields) = types().get(field.go_type) {
                write_fields(value, fields, first, text);
            }
            continue;
        }
        let value = value.get(field.name).unwrap_or(&Value::Null);
        if field.omits_empty && is_empty(value, field) {
            continue;
        }
        if !std::mem::take(first) {
            text.push(',');
        }
        write_plain(&Value::from(field.name), text);
        text.push(':');
        write(value, field.go_type, text);
    }
}

/// Returns whether Go takes a value for empty: pointers when they are nil, structs never.
fn is_empty(value: &Value, field: &Field) -> bool {
    // JSON that is kept as it is counts by its length, and the shortest value has one.
    if field.go_type.starts_with('*') || field.go_type == "Raw" || field.omits_zero {
        return value.is_null();
    }
    match value {
        Value::Null => {
            let is_struct = types().contains_key(field.go_type);
            let is_written = matches!(field.go_type, "Quantity" | "IntOrString");
            !is_struct && !is_written
        }
        Value::Bool(value) => !value,
        Value::Number(value) => field.go_type == "int" && value.as_i64() == Some(0),
        Value::String(value) => field.go_type == "string" && value.is_empty(),
        Value::Array(value) => value.is_empty(),
        Value::Object(value) => field.go_type.starts_with("{}") && value.is_empty(),
    }
}

fn write_quantity(value: &Value, text: &mut String) {
    let written = match value {
        Value::String(value) => value.clone(),
        other => other.to_string(),
    };
    write_plain(
        &Value::from(quantity::canonical(&written).unwrap_or(written)),
        text,
    );
}

fn write_plain(value: &Value, text: &mut String) {
    // Plain values have nothing that can't be written.
    text.push_str(&goyaml::json::to_string(value, Escape::Html).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_deployment_is_written_as_go_writes_it() {
        let spec = json!({
            "template": {"spec": {"containers": [{
                "name": "a", "image": "", "env": [{"name": "A", "value": "<&>"}], "tty": false,
                "resources": {"limits": {"cpu": "0.5", "memory": "1024Mi"}},
            }], "hostNetwork": true, "nodeSelector": {}}},
            "selector": null, "replicas": 0, "unknown": 1,
        });
        assert_eq!(
            go_json(Shape::DeploymentSpec, &spec),
            concat!(
                r#"{"replicas":0,"selector":null,"template":{"metadata":{},"spec":{"containers":[{"name":"a","#,
                r#""env":[{"name":"A","value":"\u003c\u0026\u003e"}],"resources":{"limits":{"cpu":"500m","memory":"1Gi"}}}],"#,
                r#""hostNetwork":true}},"strategy":{}}"#
            )
        );
    }

    #[test]
    fn a_version_is_written_as_go_writes_it() {
        let spec = json!({
            "displayName": null, "unknown": 1, "keywords": [], "links": [{"name": "a", "unknown": 1}],
            "icon": [{}], "installModes": [{"type": "OwnNamespace"}], "relatedImages": [{"image": "a"}],
            "install": {"strategy": "deployment", "spec": {"permissions": [{"rules": null}]}},
            "nativeAPIs": [{"kind": "K"}], "selector": {"matchExpressions": [{"key": "a"}]},
            "webhookdefinitions": [{"generateName": "w"}],
            "customresourcedefinitions": {"owned": [{
                "resources": [{"kind": "Pod"}], "specDescriptors": [{"value": false}, {"path": "a", "value": []}],
            }]},
            "apiservicedefinitions": {"required": [{"name": "a", "resources": [{}]}]},
        });
        assert_eq!(
            go_json(Shape::ServiceVersionSpec, &spec),
            concat!(
                r#"{"install":{"strategy":"deployment","spec":{"deployments":null,"permissions":[{"serviceAccountName":"","#,
                r#""rules":null}]}},"version":"","customresourcedefinitions":{"owned":[{"name":"","version":"","kind":"","#,
                r#""resources":[{"name":"","kind":"Pod","version":""}],"specDescriptors":[{"path":"","value":false},"#,
                r#"{"path":"a","value":[]}]}]},"apiservicedefinitions":{"required":[{"name":"a","group":"","version":"","#,
                r#""kind":"","resources":[{"name":"","kind":"","version":""}]}]},"webhookdefinitions":[{"generateName":"w","#,
                r#""type":"","sideEffects":null,"admissionReviewVersions":null}],"nativeAPIs":[{"group":"","version":"","#,
                r#""kind":"K"}],"displayName":"","provider":{},"links":[{"name":"a"}],"icon":[{"base64data":"","mediatype":""}],"#,
                r#""installModes":[{"type":"OwnNamespace","supported":false}],"#,
                r#""selector":{"matchExpressions":[{"key":"a","operator":""}]},"cleanup":{"enabled":false},"#,
                r#""relatedImages":[{"name":"","image":"a"}]}"#
            )
        );
    }

    #[test]
    fn rules_and_bindings_hash_as_clusters_hold_them() {
        let rules =
            json!([{"apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["get", "list"]}]);
        assert_eq!(rules_hash(&rules), "4QS0DjxLMv5I8Im11bODAKR004jQ3Wm6BcAJjL");
        let name = "alpha.v1.0.0-alpha-sa-beErSF2V6Msii7lhTGS4fu5cjU7G0n3LTwaLrr";
        let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name});
        let subjects = json!([{"kind": "ServiceAccount", "name": "alpha-sa", "namespace": "auto"}]);
        assert_eq!(
            binding_hash(&role, &subjects),
            "5SL457kqo6dHNnyk38Qn1XoAE64S4sfq1LmCvF"
        );
    }

    #[test]
    fn plain_texts_hash_as_upstream_hashes_them() {
        assert_eq!(
            hash_of_line("[\"something\"]"),
            "5L9sNXi3Y6mcOevFzYY3WOLIukKOeZwz1pfUlT"
        );
        assert_eq!(fnv64a(""), "cbf29ce484222325");
        assert_eq!(fnv64a("a"), "af63dc4c8601ec8c");
        assert_eq!(base62(&[]), "0");
        assert_eq!(base62(&[61]), "Z");
    }
}
