//! The kinds of OLM v0 on a cluster where nobody looks after them: what another installation left behind.

use serde_json::{Value, json};

use crate::conditions::{Says, holds};
use crate::kubernetes::Kubernetes;
use crate::reference::Reference;

/// Makes the kinds known, as far as an extension that takes over needs them.
pub(crate) async fn serve(kubernetes: &Kubernetes) -> Result<(), String> {
    for (plural, kind, version) in [
        ("subscriptions", "Subscription", "v1alpha1"),
        ("clusterserviceversions", "ClusterServiceVersion", "v1alpha1"),
        ("operatorgroups", "OperatorGroup", "v1"),
    ] {
        let definition = definition(plural, kind, version);
        let reference = Reference::of(&kubernetes.apply(&definition).await?);
        kubernetes
            .until(&reference, |definition| {
                holds(definition, "Established", "True", "", Says::Anything)
            })
            .await?;
    }
    Ok(())
}

fn definition(plural: &str, kind: &str, version: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.operators.coreos.com"),
            "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
        "spec": {
            "group": "operators.coreos.com", "scope": "Namespaced",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{"name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    })
}
