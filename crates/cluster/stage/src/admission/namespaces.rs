//! Nothing is made where there is no namespace, or in one that goes; some namespaces never go.

use super::{Operation, Review};
use crate::status::{Cause, GroupResource, Status};
use crate::store::{Key, ResourceKey};

/// The namespaces that are part of every cluster.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Checks that the namespace of a write is there to be written to.
pub fn check(review: &Review<'_>) -> Result<(), Status> {
    let place = review.place;
    let resource = &place.resource;
    if resource.is("", "namespaces") {
        if review.operation == Operation::Delete && IMMORTAL.contains(&place.name.as_str()) {
            return Err(review.forbidden("this namespace may not be deleted"));
        }
        return Ok(());
    }
    if place.namespace.is_empty()
        || review.operation == Operation::Delete
        || resource.is("authorization.k8s.io", "localsubjectaccessreviews")
    {
        return Ok(());
    }
    let namespaces = GroupResource {
        group: "",
        resource: "namespaces",
    };
    let key = Key::new(&ResourceKey::new("", "namespaces"), "", &place.namespace);
    let Some(namespace) = review.api.store.get(&key) else {
        return Err(Status::not_found(namespaces, &place.namespace));
    };
    if review.operation != Operation::Create || !namespace.deleting {
        return Ok(());
    }
    let mut refusal = review.forbidden(format_args!(
        "unable to create new content in namespace {} because it is being terminated",
        place.namespace
    ));
    refusal = refusal.with_causes(vec![Cause {
        reason: "NamespaceTerminating".to_owned(),
        message: format!("namespace {} is being terminated", place.namespace),
        field: "metadata.namespace".to_owned(),
    }]);
    Err(refusal)
}
