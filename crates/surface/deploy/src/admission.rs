//! Policies that the API server applies to the objects of OLM v1.

use api::keys;
use serde_json::{Value, json};

use crate::component::{Component, MANAGED_BY, PART_OF};
use crate::settings::Settings;

const API_VERSION: &str = "admissionregistration.k8s.io/v1";

/// The name of the policy that gives every catalog the label with its name, in place of upstream's webhook.
const CATALOG_LABEL: &str = "inject-metadata-name.olm.operatorframework.io";

/// The name of the policy that limits tenants, and of the ConfigMap that says to what.
pub const TENANT_LIMITS: &str = "clusterextension-tenant-limits";

/// Upstream's policies.
pub fn of_upstream() -> Vec<Value> {
    api::admission::OLM_V1
        .iter()
        .map(api::admission::Policy::object)
        .collect()
}

/// Gives every catalog the label with its own name, from the beginning and for good. Upstream has a webhook for it, and while
/// nobody answers there, no catalog can be written; a policy needs no program that answers.
///
/// Where the cluster doesn't know such policies, the controller sets the label a moment later. Nobody can gain by that moment:
/// extensions take a catalog's name for this label's value, whatever is written there.
pub fn catalog_label() -> [Value; 2] {
    let label = keys::METADATA_NAME;
    let right = format!(
        "has(object.metadata.labels) && {label:?} in object.metadata.labels && object.metadata.labels[{label:?}] == \
         object.metadata.name"
    );
    // A label's name is no name of a field, which is what the other kind of mutation is written with.
    let patch = format!(
        "has(object.metadata.labels) ? [JSONPatch{{op: \"add\", path: \"/metadata/labels/\" + \
         jsonpatch.escapeKey({label:?}), value: object.metadata.name}}] : [JSONPatch{{op: \"add\", path: \
         \"/metadata/labels\", value: {{{label:?}: object.metadata.name}}}}]"
    );
    [
        json!({
            "apiVersion": API_VERSION, "kind": "MutatingAdmissionPolicy",
            "metadata": {"name": CATALOG_LABEL, "labels": Component::Catalogs.labels()},
            "spec": {
                // The controller sets the label too; a server that can't judge must not refuse catalogs.
                "failurePolicy": "Ignore",
                "reinvocationPolicy": "IfNeeded",
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [keys::GROUP], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                    "resources": ["clustercatalogs"],
                }]},
                "matchConditions": [{"name": "label-is-missing-or-wrong", "expression": format!("!({right})")}],
                "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patch}}],
            },
        }),
        json!({
            "apiVersion": API_VERSION, "kind": "MutatingAdmissionPolicyBinding",
            "metadata": {"name": CATALOG_LABEL, "labels": Component::Catalogs.labels()},
            "spec": {"policyName": CATALOG_LABEL},
        }),
    ]
}

/// Limits what the members of a group may ask for: packages and namespaces that a ConfigMap lists, one of the catalogs that
/// it labels, and none of the fields that switch off checks. The ConfigMap says nothing, and so allows nothing, until somebody
/// fills it; what people write there is theirs, and deploying again doesn't touch it.
pub fn tenant_limits(settings: &Settings) -> [Value; 3] {
    let labels = json!({PART_OF.0: PART_OF.1, MANAGED_BY.0: MANAGED_BY.1});
    let validations: Vec<Value> = demands(&settings.namespace)
        .into_iter()
        .map(|demand| {
            let mut validation = json!({
                "expression": demand.is_met, "message": format!("{}; {}", demand.fault, demand.next),
            });
            if let Some(said) = demand.said {
                // What is asked for and what is allowed stand in the message, so that nobody has to look for them.
                validation["messageExpression"] = format!(
                    "{:?} + {said} + {:?}",
                    format!("{}: ", demand.fault),
                    format!("; {}", demand.next)
                )
                .into();
            }
            validation
        })
        .collect();
    [
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": TENANT_LIMITS, "namespace": settings.namespace, "labels": labels},
        }),
        json!({
            "apiVersion": API_VERSION, "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": TENANT_LIMITS, "labels": labels},
            "spec": {
                "failurePolicy": "Fail",
                "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [keys::GROUP], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                    "resources": ["clusterextensions"],
                }]},
                "matchConditions": [{
                    "name": "is-a-tenant",
                    "expression": format!("request.userInfo.groups.exists(group, group == {:?})", settings.tenants),
                }],
                "validations": validations,
            },
        }),
        json!({
            "apiVersion": API_VERSION, "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": TENANT_LIMITS, "labels": labels},
            "spec": {
                "policyName": TENANT_LIMITS,
                "paramRef": {
                    "name": TENANT_LIMITS, "namespace": settings.namespace, "parameterNotFoundAction": "Deny",
                },
                "validationActions": ["Deny"],
            },
        }),
    ]
}

/// Something that is demanded of what tenants ask for.
struct Demand {
    /// An expression that is true where it is met.
    is_met: String,
    /// What is wrong where it isn't, with the field.
    fault: String,
    /// An expression for what the field says and what is allowed.
    said: Option<String>,
    /// What to do.
    next: String,
}

/// Annotations by which an extension goes around what is listed: a bundle image beside all catalogs, and objects that exist
/// already and are nobody's.
const CLOSED_TO_TENANTS: [(&str, &str); 2] = [
    (
        keys::BUNDLE_IMAGE,
        "take it out, so that the bundle comes from a catalog",
    ),
    (
        keys::ADOPT,
        "take it out, or let an administrator adopt what is there",
    ),
];

fn demands(namespace: &str) -> Vec<Demand> {
    let catalog = "object.spec.source.catalog";
    let demand = |is_met: String, fault: &str, next: &str| Demand {
        is_met,
        fault: fault.to_owned(),
        said: None,
        next: next.to_owned(),
    };
    let listed = |key: &str, field: &str, what: &str| {
        let list = format!("params.data[{key:?}]");
        let is_there = format!("has(params.data) && {key:?} in params.data");
        Demand {
            is_met: format!(
                "{is_there} && {list}.split(\",\").exists(allowed, allowed == \"*\" || allowed == object.{field})"
            ),
            fault: format!("{field} is not among the {what}"),
            said: Some(format!(
                "\"'\" + object.{field} + \"' is asked for, and allowed is \" + ({is_there} ? \"'\" + {list} + \"'\" : \"nothing\")"
            )),
            next: format!(
                "ask an administrator to add it to data.{key} of ConfigMap {namespace}/{TENANT_LIMITS}"
            ),
        }
    };
    let closed = CLOSED_TO_TENANTS.map(|(key, next)| {
        demand(
            format!("!has(object.metadata.annotations) || !({key:?} in object.metadata.annotations)"),
            &format!("metadata.annotations may not have {key} for tenants"),
            next,
        )
    });
    let mut demands = vec![
        listed(
            "packages",
            "spec.source.catalog.packageName",
            "packages that tenants may install",
        ),
        listed(
            "namespaces",
            "spec.namespace",
            "namespaces that tenants may install into",
        ),
        demand(
            format!("has({catalog}.selector)"),
            "spec.source.catalog.selector is required of tenants",
            "name catalogs by their labels",
        ),
        demand(
            format!(
                "!has({catalog}.upgradeConstraintPolicy) || {catalog}.upgradeConstraintPolicy != \"SelfCertified\""
            ),
            "spec.source.catalog.upgradeConstraintPolicy may not be SelfCertified for tenants",
            "take it out, so that versions follow each other as the catalog says",
        ),
        demand(
            "!has(object.spec.install) || !has(object.spec.install.preflight) || \
             object.spec.install.preflight.crdUpgradeSafety.enforcement != \"None\""
                .to_owned(),
            "spec.install.preflight.crdUpgradeSafety.enforcement may not be None for tenants",
            "take it out, so that definitions are checked",
        ),
    ];
    demands.extend(closed);
    demands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_is_told_the_field_and_the_next_step() {
        for demand in demands("olmv1-system") {
            let names_field = demand.fault.starts_with("spec.") || demand.fault.starts_with("metadata.");
            assert!(names_field && !demand.next.is_empty(), "{}", demand.fault);
        }
    }

    #[test]
    fn a_binding_names_its_policy() {
        let settings = Settings::default();
        let [policy, binding] = catalog_label();
        assert_eq!(binding["spec"]["policyName"], policy["metadata"]["name"]);
        let [map, policy, binding] = tenant_limits(&settings);
        assert_eq!(binding["spec"]["policyName"], policy["metadata"]["name"]);
        assert_eq!(binding["spec"]["paramRef"]["name"], map["metadata"]["name"]);
        assert_eq!(
            binding["spec"]["paramRef"]["namespace"],
            map["metadata"]["namespace"]
        );
    }
}
