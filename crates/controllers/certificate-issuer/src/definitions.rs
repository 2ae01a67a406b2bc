//! The definitions of the kinds, and whose they are.

use api::keys;
use apply::object::{at, text};
use serde_json::{Value, json};

/// The group of the kinds.
pub const GROUP: &str = "cert-manager.io";

/// The group and version of the kinds.
pub const API_VERSION: &str = "cert-manager.io/v1";

/// Who writes here, as managed fields name it.
pub const FIELD_MANAGER: &str = "baton-certificate-issuer";

/// The package whose extension may have the definitions without being asked whether it collides.
const PACKAGE: &str = "cert-manager";

/// A kind, its plural, and its scope.
pub const KINDS: [(&str, &str, &str); 3] = [
    ("Certificate", "certificates", "Namespaced"),
    ("Issuer", "issuers", "Namespaced"),
    ("ClusterIssuer", "clusterissuers", "Cluster"),
];

/// By which labels the Deployment of cert-manager itself is known, however it was installed.
pub const CERT_MANAGER_LABELS: &str =
    "app.kubernetes.io/name=cert-manager,app.kubernetes.io/component=controller";

/// Returns the name of the definition of a kind.
pub fn name_of(plural: &str) -> String {
    format!("{plural}.{GROUP}")
}

/// Returns whether a definition is one of the kinds.
pub fn is_of_kinds(name: &str) -> bool {
    KINDS.iter().any(|(_, plural, _)| name_of(plural) == name)
}

/// Makes the definitions: as much as is read here, and everything else is kept.
pub fn all() -> Vec<Value> {
    KINDS
        .iter()
        .map(|(kind, plural, scope)| {
            let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            let mut names = json!({"kind": kind, "listKind": format!("{kind}List"), "plural": plural,
                "singular": kind.to_ascii_lowercase(), "categories": ["cert-manager"]});
            let mut columns = vec![column("Ready", "string", ".status.conditions[?(@.type==\"Ready\")].status")];
            if *kind == "Certificate" {
                names["shortNames"] = json!(["cert", "certs"]);
                columns.push(column("Secret", "string", ".spec.secretName"));
            }
            columns.push(column("Age", "date", ".metadata.creationTimestamp"));
            json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {
                    "name": name_of(plural),
                    "annotations": {
                        keys::STAND_IN: "true",
                        // An extension of cert-manager finds them as if they were left behind by its predecessor.
                        keys::KEPT: "true",
                        keys::PACKAGE_NAME: PACKAGE,
                    },
                },
                "spec": {
                    "group": GROUP,
                    "names": names,
                    "scope": scope,
                    "versions": [{
                        "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                        "additionalPrinterColumns": columns,
                        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
                    }],
                },
            })
        })
        .collect()
}

fn column(name: &str, kind: &str, path: &str) -> Value {
    json!({"name": name, "type": kind, "jsonPath": path})
}

/// Who serves the kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// Nobody yet.
    Nobodys,
    /// We do.
    Ours,
    /// cert-manager does, or will in a moment.
    Theirs,
}

/// Decides who serves the kinds, from those of their definitions that are there, and from whether cert-manager's own
/// Deployment is.
pub fn whose<'a>(definitions: impl IntoIterator<Item = &'a Value>, has_deployment: bool) -> Whose {
    let mut found = 0;
    for definition in definitions {
        if !is_ours(definition) {
            return Whose::Theirs;
        }
        found += 1;
    }
    match found {
        _ if has_deployment => Whose::Theirs,
        found if found < KINDS.len() => Whose::Nobodys,
        _ => Whose::Ours,
    }
}

/// Returns whether a definition was written here and nobody took it over since: by an owner, or by another spec.
pub fn is_ours(definition: &Value) -> bool {
    let list = |pointer| {
        at(definition, pointer)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let is_marked =
        at(definition, "/metadata/annotations").is_some_and(|marks| marks[keys::STAND_IN] == "true");
    let is_controlled = list("/metadata/ownerReferences").any(|owner| owner["controller"] == true);
    // What the server says of it is in its status.
    let is_rewritten = list("/metadata/managedFields").any(|fields| {
        fields["manager"] != FIELD_MANAGER
            && text(fields, "/subresource").is_empty()
            && !fields["fieldsV1"]["f:spec"].is_null()
    });
    is_marked && !is_controlled && !is_rewritten
}

#[cfg(test)]
mod tests {
    use api::cluster_object_set::CollisionProtection;
    use apply::collision::{Action, Claimant, decide};

    use super::*;

    fn laid() -> Vec<Value> {
        let mut definitions = all();
        for definition in &mut definitions {
            definition["metadata"]["managedFields"] = json!([
                {"manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": {"f:spec": {}}},
                {"manager": "kube-apiserver", "operation": "Update", "subresource": "status", "fieldsV1": {"f:spec": {}}},
                {"manager": "kubectl-label", "operation": "Update", "fieldsV1": {"f:metadata": {}}},
            ]);
        }
        definitions
    }

    #[test]
    fn an_extension_of_cert_manager_may_have_the_definitions() {
        for live in laid() {
            let mut wanted = live.clone();
            let decided = |wanted: &Value| {
                decide(
                    wanted,
                    Some(&live),
                    &Claimant::default(),
                    CollisionProtection::Prevent,
                )
            };
            assert_eq!(decided(&wanted), Action::Adopt);
            wanted["metadata"]["annotations"][keys::PACKAGE_NAME] = "another".into();
            assert!(
                matches!(decided(&wanted), Action::Collide(_)),
                "it is no other package's"
            );
        }
    }

    #[test]
    fn whose_the_kinds_are_is_seen_at_their_definitions_and_at_the_deployment() {
        let changed = |change: fn(&mut Vec<Value>)| {
            let mut definitions = laid();
            change(&mut definitions);
            definitions
        };
        for (case, definitions, has_deployment, expected) in [
            ("an empty cluster", vec![], false, Whose::Nobodys),
            ("all are written here", laid(), false, Whose::Ours),
            (
                "one was deleted",
                changed(|all| drop(all.pop())),
                false,
                Whose::Nobodys,
            ),
            ("cert-manager runs on them", laid(), true, Whose::Theirs),
            ("cert-manager comes without them", vec![], true, Whose::Theirs),
            (
                "one has no mark",
                changed(|all| all[1]["metadata"]["annotations"] = Value::Null),
                false,
                Whose::Theirs,
            ),
            (
                "an extension has one",
                changed(|all| all[2]["metadata"]["ownerReferences"] = json!([{"controller": true}])),
                false,
                Whose::Theirs,
            ),
            (
                "kubectl apply wrote one",
                changed(|all| {
                    all[0]["metadata"]["managedFields"][2] = json!({"manager": "kubectl-client-side-apply", "fieldsV1": {"f:spec": {"f:versions": {}}}});
                }),
                false,
                Whose::Theirs,
            ),
        ] {
            assert_eq!(whose(&definitions, has_deployment), expected, "{case}");
        }
    }
}
