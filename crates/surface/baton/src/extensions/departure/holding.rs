//! Why something that is to go is still there.

use std::fmt;

use api::condition::Condition;
use api::keys;
use apply::object::{at, is_terminating, text};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

/// The finalizers that the controllers of OLM v1 remove.
const OWN_FINALIZERS: [&str; 3] = [
    keys::CLEANUP_UNPACK_CACHE,
    keys::CLEANUP_CONTENT_MANAGER_CACHE,
    keys::TEARDOWN,
];

/// The finalizers that the cluster itself removes as soon as what they wait for is gone.
const CLUSTERS_FINALIZERS: [&str; 4] = [
    "customresourcecleanup.apiextensions.k8s.io",
    "foregroundDeletion",
    "kubernetes.io/pv-protection",
    "kubernetes.io/pvc-protection",
];

/// Something that is to go and is still there.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hold {
    /// What it is, as people call it.
    pub(super) what: String,
    is_deleted: bool,
    finalizers: Vec<String>,
    /// What it, or its namespace or definition, says of its way out.
    said: Option<String>,
    /// What has to go before it, as far as it was looked at.
    pub(super) after: Vec<Hold>,
    /// How much else has to.
    pub(super) more: i64,
    /// The object, where it was read whole.
    pub(super) object: Value,
}

impl Hold {
    /// Something of OLM's, with what it says of itself.
    pub(super) fn of_metadata(what: String, metadata: &ObjectMeta, said: Option<&Condition>) -> Self {
        Self {
            what,
            is_deleted: metadata.deletion_timestamp.is_some(),
            finalizers: metadata.finalizers.clone().unwrap_or_default(),
            said: said.map(|condition| condition.message.clone()),
            after: Vec::new(),
            more: 0,
            object: Value::Null,
        }
    }

    /// An object of any kind.
    pub(super) fn of_object(what: String, object: Value) -> Self {
        let finalizers = at(&object, "/metadata/finalizers").and_then(Value::as_array);
        let finalizers = finalizers.into_iter().flatten().filter_map(Value::as_str);
        Self {
            what,
            is_deleted: is_terminating(&object),
            finalizers: finalizers.map(str::to_owned).collect(),
            said: said_of_its_end(&object),
            after: Vec::new(),
            more: 0,
            object,
        }
    }

    /// An object that can't be read right now.
    pub(super) fn unread(what: String, cause: &impl fmt::Display) -> Self {
        Self {
            what,
            is_deleted: false,
            finalizers: Vec::new(),
            said: Some(cause.to_string()),
            after: Vec::new(),
            more: 0,
            object: Value::Null,
        }
    }

    /// Whether it was deleted, and only has to go.
    pub(super) fn is_deleted(&self) -> bool {
        self.is_deleted
    }

    /// Whether somebody else than OLM and the cluster has to let go of it, or of what goes before it.
    pub(super) fn is_stuck(&self) -> bool {
        let is_foreign = |finalizer: &String| {
            let known = OWN_FINALIZERS.iter().chain(&CLUSTERS_FINALIZERS);
            !known.into_iter().any(|own| finalizer == own)
        };
        (self.is_deleted && self.finalizers.iter().any(is_foreign)) || self.after.iter().any(Self::is_stuck)
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, which ", self.what)?;
        let own = |finalizer: &String| OWN_FINALIZERS.contains(&finalizer.as_str());
        match (self.is_deleted, self.finalizers.as_slice()) {
            (false, _) if self.object.is_null() && self.said.is_some() => write!(formatter, "can't be read")?,
            (false, _) => write!(formatter, "isn't deleted yet")?,
            (true, []) => write!(formatter, "is being deleted")?,
            (true, finalizers) => {
                let plural = if finalizers.len() == 1 { "" } else { "s" };
                write!(
                    formatter,
                    "is deleted and held by finalizer{plural} {}",
                    finalizers.join(", ")
                )?;
                if self.said.is_none() && finalizers.iter().all(own) {
                    write!(
                        formatter,
                        " until a controller lets go: is `baton controllers` running?"
                    )?;
                }
            }
        }
        if let Some(said) = &self.said {
            write!(formatter, " ({said})")?;
        }
        for (index, earlier) in self.after.iter().enumerate() {
            write!(
                formatter,
                "{}{earlier}",
                if index == 0 { ", after " } else { ", " }
            )?;
        }
        if self.more > 0 {
            write!(formatter, " and {} more", self.more)?;
        }
        Ok(())
    }
}

/// What the conditions of an object that is on its way out say of that: those of namespaces and definitions do.
fn said_of_its_end(object: &Value) -> Option<String> {
    if !is_terminating(object) {
        return None;
    }
    let conditions = at(object, "/status/conditions")?.as_array()?;
    let tells = |condition: &&Value| {
        let kind = text(condition, "/type");
        let is_of_namespace = ["NamespaceContentRemaining", "NamespaceFinalizersRemaining"].contains(&kind)
            || (kind.starts_with("NamespaceDeletion") && kind.ends_with("Failure"));
        text(condition, "/status") == "True" && (is_of_namespace || kind == "Terminating")
    };
    let said: Vec<&str> = conditions
        .iter()
        .filter(tells)
        .map(|condition| text(condition, "/message"))
        .filter(|message| !message.is_empty())
        .collect();
    (!said.is_empty()).then(|| said.join("; "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hold(object: Value) -> Hold {
        Hold::of_object(text(&object, "/kind").to_owned(), object)
    }

    #[test]
    fn what_holds_something_up_is_named() {
        let with = |kind: &str, finalizers: Value, conditions: Value| {
            hold(json!({
                "kind": kind,
                "metadata": {"deletionTimestamp": "2026-11-19T00:00:00Z", "finalizers": finalizers},
                "status": {"conditions": conditions},
            }))
        };
        let pending = json!([
            {"type": "Established", "status": "True", "message": "the initial names have been accepted"},
            {"type": "Terminating", "status": "True", "message": "CustomResource deletion is in progress"},
        ]);
        let remaining = json!([
            {"type": "NamespaceDeletionDiscoveryFailure", "status": "False", "message": "all is discovered"},
            {"type": "NamespaceFinalizersRemaining", "status": "True", "message": "some content has finalizers: a/b in 1 resource instances"},
        ]);
        let own = hold(json!({
            "kind": "ClusterObjectSet",
            "metadata": {"deletionTimestamp": "2026-11-19T00:00:00Z", "finalizers": [keys::TEARDOWN]},
        }));
        let cleaned_up = with(
            "Definition",
            json!(["customresourcecleanup.apiextensions.k8s.io"]),
            pending,
        );
        let held = Hold {
            after: vec![with("Web", json!(["x.y/z"]), json!([]))],
            more: 2,
            ..cleaned_up.clone()
        };
        for (hold, is_stuck, expected) in [
            (
                hold(json!({"kind": "Pod"})),
                false,
                "Pod, which isn't deleted yet",
            ),
            (
                with("Pod", json!([]), json!([])),
                false,
                "Pod, which is being deleted",
            ),
            (
                with("Secret", json!(["x.y/z", "a"]), json!([])),
                true,
                "Secret, which is deleted and held by finalizers x.y/z, a",
            ),
            (
                own,
                false,
                "ClusterObjectSet, which is deleted and held by finalizer olm.operatorframework.io/teardown until a controller lets \
                 go: is `baton controllers` running?",
            ),
            (
                cleaned_up,
                false,
                "Definition, which is deleted and held by finalizer customresourcecleanup.apiextensions.k8s.io (CustomResource \
                 deletion is in progress)",
            ),
            (
                held,
                true,
                "Definition, which is deleted and held by finalizer customresourcecleanup.apiextensions.k8s.io (CustomResource \
                 deletion is in progress), after Web, which is deleted and held by finalizer x.y/z and 2 more",
            ),
            (
                with("Namespace", json!([]), remaining),
                false,
                "Namespace, which is being deleted (some content has finalizers: a/b in 1 resource instances)",
            ),
        ] {
            assert_eq!(hold.to_string(), expected);
            assert_eq!(hold.is_stuck(), is_stuck, "{expected}");
        }
    }
}
