//! Scaling: the number of replicas, where somebody else decides it.
//!
//! Autoscalers and `kubectl scale` write it through the subresource `scale`, and the server writes down who did. Whoever
//! set it so keeps it, until the chart asks for another number than before: otherwise an autoscaler and the release would
//! take it from each other without end, and pods would come and go.

use serde_json::Value;

/// The field that is left to whoever scales an object.
pub const REPLICAS: &str = "spec.replicas";

/// How a release treats the number of replicas of an object that somebody scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replicas {
    /// It is theirs.
    OfWhoScales,
    /// The chart asks for another number than before, and that is written.
    OfTheChart,
}

/// Returns who scaled a live object last, unless that was the manager itself.
pub fn scaled_by<'a>(live: &'a Value, manager: &str) -> Option<&'a str> {
    let entries = live.pointer("/metadata/managedFields")?.as_array()?;
    let by = |entry: &'a Value| entry.get("manager").and_then(Value::as_str);
    entries
        .iter()
        .filter(|entry| entry.get("subresource").and_then(Value::as_str) == Some("scale"))
        .filter(|entry| entry.pointer("/fieldsV1/f:spec/f:replicas").is_some())
        .filter_map(by)
        .find(|by| *by != manager)
}

/// Returns the number of replicas that an object says.
pub(crate) fn replicas(object: &Value) -> Option<&Value> {
    object.pointer("/spec/replicas")
}

/// Leaves the number of replicas out of an object.
pub(crate) fn leave_out(object: &mut Value) {
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("replicas");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn who_scales_is_told_from_who_writes_the_object() {
        let replicas = json!({"f:spec": {"f:replicas": {}}});
        let status = json!({"f:status": {"f:replicas": {}}});
        let entry = |manager: &str, subresource: &str, fields: &Value| json!({"manager": manager, "operation": "Update", "subresource": subresource, "fieldsV1": fields});
        let rows = [
            (
                entry("kube-controller-manager", "scale", &replicas),
                Some("kube-controller-manager"),
            ),
            (entry("kubectl", "scale", &replicas), Some("kubectl")),
            (entry("helm-operator", "scale", &replicas), None),
            (entry("kubectl-edit", "", &replicas), None),
            (entry("kube-controller-manager", "status", &status), None),
            (
                json!({"manager": 1, "subresource": "scale", "fieldsV1": replicas}),
                None,
            ),
            (json!("nothing"), None),
        ];
        for (entry, expected) in rows {
            let ours = json!({"manager": "helm-operator", "operation": "Apply", "fieldsV1": {"f:spec": {}}});
            let live = json!({"metadata": {"managedFields": [ours, entry]}});
            assert_eq!(scaled_by(&live, "helm-operator"), expected, "{live}");
        }
        assert_eq!(scaled_by(&json!({}), "helm-operator"), None);
    }
}
