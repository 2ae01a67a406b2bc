//! The fields that nobody comes to own by a write, since the write can't change them.

/// Returns the paths of the fields that a write through the object itself (`None`) or a subresource can't change.
pub fn reset_fields(group: &str, kind: &str, subresource: Option<&str>) -> Vec<Vec<&'static str>> {
    match (group, kind, subresource) {
        ("certificates.k8s.io", "CertificateSigningRequest", None) => vec![vec!["spec"], vec!["status"]],
        ("certificates.k8s.io", "CertificateSigningRequest", Some("status")) => {
            vec![vec!["spec"], vec!["status", "conditions"]]
        }
        ("certificates.k8s.io", "CertificateSigningRequest", Some("approval")) => {
            vec![vec!["spec"], vec!["status", "certificate"]]
        }
        (_, _, None) if resets_status(group, kind) => vec![vec!["status"]],
        ("", "Namespace", Some("finalize")) => vec![vec!["status"]],
        ("", "Pod", Some("status")) => vec![
            vec!["spec"],
            vec!["metadata", "deletionTimestamp"],
            vec!["metadata", "ownerReferences"],
        ],
        ("apps", "Deployment", Some("status")) => vec![vec!["spec"], vec!["metadata", "labels"]],
        (
            "admissionregistration.k8s.io"
            | "apiregistration.k8s.io"
            | "flowcontrol.apiserver.k8s.io"
            | "resource.k8s.io"
            | "storage.k8s.io",
            _,
            Some("status"),
        )
        | ("networking.k8s.io", "ServiceCIDR", Some("status")) => vec![vec!["spec"], vec!["metadata"]],
        (_, _, Some("status")) => vec![vec!["spec"]],
        _ => Vec::new(),
    }
}

fn resets_status(group: &str, kind: &str) -> bool {
    let row = super::row(group, kind);
    row.status || row.keeps_status || (group == "apiextensions.k8s.io" && kind == "CustomResourceDefinition")
}

/// Returns the paths of the only fields that a write through a subresource can change, if there are only some; `*` is any
/// item of a list.
pub fn only_fields(
    group: &str,
    kind: &str,
    subresource: Option<&str>,
) -> Option<&'static [&'static [&'static str]]> {
    match (group, kind, subresource) {
        ("", "Pod", Some("ephemeralcontainers")) => Some(&[&["spec", "ephemeralContainers"]]),
        ("", "Pod", Some("resize")) => Some(&[
            &["spec", "containers", "*", "resources"],
            &["spec", "containers", "*", "resizePolicy"],
            &["spec", "initContainers", "*", "resources"],
            &["spec", "initContainers", "*", "resizePolicy"],
        ]),
        _ => None,
    }
}
