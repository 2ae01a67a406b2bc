//! What shall go and doesn't: namespaces, and objects that wait for a finalizer.

use api::keys;
use apply::object::{is_terminating, text};
use classic::kind::Naming;
use serde_json::Value;

use crate::conditions::{Said, condition, shortened};
use crate::finding::Finding;
use crate::finding::Severity::Broken;
use crate::kinds;
use crate::moment::{PATIENCE_SECONDS, seconds_since, words};
use crate::picture::Picture;
use crate::rules::leases;
use crate::subject::Subject;

/// What a namespace says that keeps it.
const REMAINING: [&str; 5] = [
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceFinalizersRemaining",
    "NamespaceContentRemaining",
];

/// The kinds whose objects have finalizers of controllers.
const FINALIZED: [Naming; 8] = [
    kinds::CLUSTER_CATALOG,
    kinds::CLUSTER_EXTENSION,
    kinds::CLUSTER_OBJECT_SET,
    kinds::CATALOG_SOURCE,
    kinds::SUBSCRIPTION,
    kinds::SERVICE_VERSION,
    kinds::OPERATOR_GROUP,
    kinds::DEFINITION,
];

/// Looks at everything that was deleted and is still there.
pub fn look(picture: &Picture) -> Vec<Finding> {
    let namespaces = picture
        .all(kinds::NAMESPACE)
        .filter_map(|object| namespace(picture, object));
    let objects = FINALIZED
        .into_iter()
        .flat_map(|kind| picture.all(kind))
        .filter_map(|object| self::object(picture, object));
    namespaces.chain(objects).collect()
}

/// For how long an object has been going, if that is too long.
fn overdue(picture: &Picture, object: &Value) -> Option<i64> {
    is_terminating(object)
        .then(|| seconds_since(object, "/metadata/deletionTimestamp", picture.now))
        .flatten()
        .filter(|seconds| *seconds > PATIENCE_SECONDS)
}

fn namespace(picture: &Picture, namespace: &Value) -> Option<Finding> {
    let seconds = overdue(picture, namespace)?;
    let name = text(namespace, "/metadata/name");
    let said = REMAINING
        .iter()
        .find_map(|kind| Some((*kind, condition(namespace, kind).filter(Said::is_true)?)));
    let (at, why) = match said {
        Some((kind, said)) => (format!("status.conditions[{kind}]"), said.words()),
        None => ("spec.finalizers".to_owned(), "it doesn't say what for".to_owned()),
    };
    // Where one API doesn't answer, nobody knows what is left in any namespace.
    let is_about_apis = said.is_some_and(|(kind, _)| kind == REMAINING[0]);
    let apis = picture
        .all(kinds::API_SERVICE)
        .filter(|_| is_about_apis)
        .map(Subject::of);
    let left = picture
        .all(kinds::SERVICE_VERSION)
        .filter(|version| text(version, "/metadata/namespace") == name);
    Some(
        Finding::new(Broken, "namespace-stuck", namespace)
            .at(at)
            .because(format!("it has been going for {}: {why}", words(seconds)))
            .next(format!(
                "see what is left: kubectl api-resources --verbs=list --namespaced -o name | xargs -n1 kubectl get -n {name} \
                 --ignore-not-found --show-kind"
            ))
            .suspecting(apis)
            .suspecting(left.map(Subject::of)),
    )
}

fn object(picture: &Picture, object: &Value) -> Option<Finding> {
    let seconds = overdue(picture, object)?;
    let finalizers: Vec<&str> = object
        .pointer("/metadata/finalizers")?
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if finalizers.is_empty() {
        return None;
    }
    let subject = Subject::of(object);
    let said = condition(object, "Terminating")
        .or_else(|| condition(object, "Progressing"))
        .map(|said| format!("; it says: {}", shortened(said.message)))
        .unwrap_or_default();
    let suspects = match (subject.group.as_str(), subject.kind.as_str()) {
        (keys::GROUP, "ClusterCatalog") => leases::of_catalogs(picture),
        (keys::GROUP, _) => leases::of_extensions(picture),
        (_, "CustomResourceDefinition") => Vec::new(),
        _ => leases::of_subscriptions(picture),
    };
    Some(
        Finding::new(Broken, "object-stuck", object)
            .at("metadata.finalizers")
            .because(format!(
                "it was deleted {} ago, and waits for {}{said}",
                words(seconds),
                finalizers.join(", ")
            ))
            .next(format!(
                "see that the controller of the finalizer runs, and what it says: kubectl describe {}",
                subject.for_kubectl()
            ))
            .suspecting(suspects),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{conditions, object, picture, told};

    #[test]
    fn what_was_deleted_goes() {
        let namespace = |deleted: Value| {
            let mut rest = conditions(&[(
                "NamespaceDeletionDiscoveryFailure",
                "True",
                "",
                "v1.packages: no answer",
            )]);
            rest["metadata"] = json!({"deletionTimestamp": deleted});
            object("v1", "Namespace", "", "apps", rest)
        };
        let catalog = |deleted: &str| {
            let rest = json!({"metadata": {"deletionTimestamp": deleted, "finalizers": [keys::DELETE_SERVER_CACHE]}});
            object(
                "olm.operatorframework.io/v1",
                "ClusterCatalog",
                "",
                "models",
                rest,
            )
        };
        for (object, expected) in [
            (namespace(Value::Null), None),
            (namespace(json!("2026-06-01T11:59:00Z")), None),
            (
                namespace(json!("2026-06-01T11:00:00Z")),
                Some(
                    "broken namespace-stuck Namespace apps: it has been going for 60 min: v1.packages: no answer",
                ),
            ),
            (
                catalog("2026-06-01T11:00:00Z"),
                Some(
                    "broken object-stuck ClusterCatalog models: it was deleted 60 min ago, and waits for olm.operatorframework.io/delete-server-cache",
                ),
            ),
        ] {
            let findings = told(&look(&picture([object])));
            assert_eq!(findings, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
