//! The names of what OLM v0 makes.

use bundle::cluster_service_version::GroupVersionKind;
use bundle::rendering::names::base_and_suffix;
use serde_json::Value;

use crate::hashes::{self, Shape};
use crate::keys;

/// The namespace in which servers of aggregated APIs read how requests are authenticated.
pub const KUBE_SYSTEM: &str = "kube-system";

/// The longest a label's name may be.
const MAXIMUM_LABEL_LENGTH: usize = 63;

/// The longest an object's name may be.
const MAXIMUM_NAME_LENGTH: usize = 253;

/// The letters that Kubernetes makes names up of: no vowels, and nothing that looks like something else.
const MADE_UP_LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// How many of them it puts behind a `generateName`.
const MADE_UP_LENGTH: usize = 5;

/// Returns a name as Kubernetes makes one up behind a `generateName`, but always the same one for the same thing: where two
/// controllers make it at once, there is one of it.
pub fn made_up(beginning: &str, thing: &str) -> String {
    let kept = beginning.floor_char_boundary(MAXIMUM_LABEL_LENGTH - MADE_UP_LENGTH);
    let hash = hashes::text_hash(&format!("{beginning}{thing}"));
    // The last digits, since the first one of a large number isn't any digit.
    let letters = hash.bytes().rev().take(MADE_UP_LENGTH);
    let letters =
        letters.map(|digit| char::from(MADE_UP_LETTERS[usize::from(digit) % MADE_UP_LETTERS.len()]));
    beginning[..kept].chars().chain(letters).collect()
}

/// Returns the name of the Role, and of its binding, for one of a version's `permissions`.
pub fn role(service_version: &str, permission: &Value) -> String {
    let account = permission
        .get("serviceAccountName")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let json = format!(
        "{{{}\"permission\":{}}}",
        entry("name", service_version),
        hashes::go_json(Shape::Permissions, permission)
    );
    base_and_suffix(
        &format!("{service_version}-{account}"),
        &hashes::hash_of_line(&json),
    )
}

/// Returns the name of the ClusterRole, and of its binding, for one of a version's `clusterPermissions`.
pub fn cluster_role(service_version: &str, namespace: &str, permission: &Value) -> String {
    let json = format!(
        "{{{}{}\"permission\":{}}}",
        entry("name", service_version),
        entry("namespace", namespace),
        hashes::go_json(Shape::Permissions, permission)
    );
    base_and_suffix(service_version, &hashes::hash_of_line(&json))
}

/// A text entry of a JSON object with a comma after it; nothing where the text is empty.
fn entry(key: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = goyaml::json::to_string(text, goyaml::json::Escape::Html).unwrap_or_default();
    format!("\"{key}\":{text},")
}

/// Returns the name of the ClusterRole that gathers `admin`, `edit` or `view` of what an OperatorGroup provides.
pub fn operator_group_role(namespace: &str, group: &str, suffix: &str) -> String {
    let hash = hashes::text_hash(&format!("{namespace}/{group}/{suffix}"));
    // `olm.og.`, the point before the suffix and the dash before the hash.
    let around = "olm.og.".len() + 1 + suffix.len() + 1 + hash.len();
    let mut end = MAXIMUM_NAME_LENGTH.saturating_sub(around).min(group.len());
    while !group.is_char_boundary(end) {
        end -= 1;
    }
    format!("olm.og.{}.{suffix}-{hash}", &group[..end])
}

/// Returns an API as annotations name it, `Kind.version.group`.
pub fn api(api: &GroupVersionKind) -> String {
    format!("{}.{}.{}", api.kind, api.version, api.group)
}

/// Reads an API as [`api`] writes it.
pub fn read_api(text: &str) -> Option<GroupVersionKind> {
    let mut parts = text.splitn(3, '.');
    let (kind, version, group) = (parts.next()?, parts.next()?, parts.next()?);
    Some(GroupVersionKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
    })
}

/// Returns the label by which ClusterRoles of an API become part of the roles of OperatorGroups.
pub fn aggregation_label(provided: &GroupVersionKind, suffix: &str) -> String {
    let hash = hashes::fnv64a(&api(provided));
    format!("{}{hash}-{suffix}", keys::GROUP_AGGREGATE_TO_PREFIX)
}

/// Returns the annotation of a CustomResourceDefinition that says it was installed with a version.
pub fn installed_alongside(namespace: &str, service_version: &str) -> String {
    let hash = hashes::fnv64a(&format!("{namespace}/{service_version}"));
    format!("{}{hash}", keys::INSTALLED_ALONGSIDE_PREFIX)
}

/// Returns the name of the Operator of a package in a namespace.
pub fn operator(package: &str, namespace: &str) -> String {
    if namespace.is_empty() {
        package.to_owned()
    } else {
        format!("{package}.{namespace}")
    }
}

/// Returns the label of everything that belongs to an Operator.
pub fn component_label(operator: &str) -> String {
    let mut end = MAXIMUM_LABEL_LENGTH.min(operator.len());
    while !operator.is_char_boundary(end) {
        end -= 1;
    }
    let name = if end < operator.len() {
        operator[..end].trim_end_matches(['.', '_', '-'])
    } else {
        operator
    };
    format!("{}{name}", keys::COMPONENT_PREFIX)
}

/// Returns the name of the Service in front of a Deployment that serves an aggregated API.
pub fn service(deployment: &str) -> String {
    format!("{deployment}-service")
}

/// Returns the name of the Service that webhooks are called through: one without points.
pub fn webhook_service(deployment: &str) -> String {
    service(&deployment.replace('.', "-"))
}

/// Returns the name of the Secret with the certificate of a Service, and of the Role that may read it.
pub fn certificate_secret(service: &str) -> String {
    format!("{service}-cert")
}

/// Returns the name of the ClusterRoleBinding that lets a server ask who someone is and what they may do.
pub fn authentication_delegator(service: &str) -> String {
    format!("{service}-system:auth-delegator")
}

/// Returns the name of the RoleBinding in [`KUBE_SYSTEM`] that lets a server read how requests are authenticated.
pub fn authentication_reader(service: &str) -> String {
    format!("{service}-auth-reader")
}

/// Returns the names that a Service is reached by, which its certificate is for.
pub fn hosts(service: &str, namespace: &str) -> [String; 3] {
    [
        format!("{service}.{namespace}"),
        format!("{service}.{namespace}.svc"),
        format!("{service}.{namespace}.svc.cluster.local"),
    ]
}

/// Returns the name of the APIService of a version of a group.
pub fn api_service(group: &str, version: &str) -> String {
    format!("{version}.{group}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_made_up_as_kubernetes_does_and_always_the_same() {
        let name = made_up("install-", "ns/1");
        assert_eq!(name, made_up("install-", "ns/1"));
        assert_ne!(name, made_up("install-", "ns/2"));
        let letters = name.strip_prefix("install-").expect("its beginning");
        assert_eq!(letters.len(), MADE_UP_LENGTH);
        assert!(letters.bytes().all(|letter| MADE_UP_LETTERS.contains(&letter)));
        let long = "a".repeat(100);
        assert_eq!(made_up(&long, "x").len(), MAXIMUM_LABEL_LENGTH);
        assert_ne!(made_up(&long, "x"), made_up(&format!("{long}b"), "x"));
    }

    #[test]
    fn roles_are_called_as_clusters_hold_them() {
        let permission = json!({
            "serviceAccountName": "alpha-sa",
            "rules": [{"apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["get", "list"]}],
        });
        assert_eq!(
            role("alpha.v1.0.0", &permission),
            "alpha.v1.0.0-alpha-sa-beErSF2V6Msii7lhTGS4fu5cjU7G0n3LTwaLrr"
        );
        let permission = json!({
            "serviceAccountName": "alpha-sa",
            "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}],
        });
        assert_eq!(
            cluster_role("alpha.v1.0.0", "auto", &permission),
            "alpha.v1.0.0-4CYrEBs786n6s2zLVCYDxwXLeKXPWrdZAetwo"
        );
    }

    #[test]
    fn names_and_labels_stay_within_their_length() {
        assert_eq!(
            operator_group_role("auto", "og", "admin").to_lowercase(),
            "olm.og.og.admin-1teixyq2ukascrknwn7gweuhrnznybfrrowkub"
        );
        assert_eq!(operator_group_role("a", &"g".repeat(253), "view").len(), 253);
        assert_eq!(component_label("alpha.auto"), "operators.coreos.com/alpha.auto");
        let long = format!("{}.-{}", "p".repeat(61), "n".repeat(10));
        assert_eq!(
            component_label(&long),
            format!("operators.coreos.com/{}", "p".repeat(61))
        );
    }

    #[test]
    fn an_api_is_read_as_it_is_written() {
        let gvk = GroupVersionKind {
            group: "demo.baton.test".to_owned(),
            version: "v1".to_owned(),
            kind: "Alpha".to_owned(),
        };
        assert_eq!(api(&gvk), "Alpha.v1.demo.baton.test");
        assert_eq!(read_api("Alpha.v1.demo.baton.test"), Some(gvk));
        assert_eq!(read_api("Alpha.v1"), None);
    }
}
