//! OperatorGroups of OLM v0: too many in a namespace, over the same namespaces, or without their ServiceAccount.

use std::collections::BTreeMap;

use apply::object::text;
use classic::names;
use serde_json::Value;
use service_version::provided_apis::{Apis, Surface};

use crate::conditions::{Said, condition};
use crate::finding::Finding;
use crate::finding::Severity::{Broken, Risky};
use crate::kinds;
use crate::picture::Picture;
use crate::subject::Subject;

/// Looks at all OperatorGroups.
pub fn look(picture: &Picture) -> Vec<Finding> {
    let mut findings = several(picture);
    findings.extend(picture.all(kinds::OPERATOR_GROUP).filter_map(lost_account));
    findings.extend(overlapping(picture));
    findings
}

/// Namespaces with more than one group: nothing is installed there.
fn several(picture: &Picture) -> Vec<Finding> {
    let mut groups: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for group in picture.all(kinds::OPERATOR_GROUP) {
        groups
            .entry(text(group, "/metadata/namespace"))
            .or_default()
            .push(group);
    }
    groups
        .into_iter()
        .filter(|(_, groups)| groups.len() > 1)
        .map(|(namespace, groups)| {
            let names: Vec<&str> = groups.iter().map(|group| text(group, "/metadata/name")).collect();
            Finding::new(Broken, "several-operator-groups", groups[0])
                .at("metadata.namespace")
                .because(format!(
                    "namespace {namespace} has {} OperatorGroups ({}), and nothing is installed as long as there is more \
                     than one",
                    names.len(),
                    names.join(", ")
                ))
                .next(format!(
                    "keep one of them: kubectl get operatorgroups -n {namespace} -o yaml; then: kubectl delete \
                     operatorgroup {} -n {namespace}",
                    names[names.len() - 1]
                ))
        })
        .collect()
}

fn lost_account(group: &Value) -> Option<Finding> {
    let said = condition(group, "OperatorGroupServiceAccount").filter(Said::is_true)?;
    let namespace = text(group, "/metadata/namespace");
    let account = text(group, "/spec/serviceAccountName");
    Some(
        Finding::new(Broken, "operator-group-without-account", group)
            .at("spec.serviceAccountName")
            .because(format!("nothing is installed: {}", said.words()))
            .next(format!(
                "make it, with the rights that operators may have: kubectl create serviceaccount {account} -n {namespace}"
            )),
    )
}

/// Groups that look after the same namespaces and provide the same kinds: the operators of the second are refused.
fn overlapping(picture: &Picture) -> Vec<Finding> {
    let surfaces: Vec<Surface> = picture.all(kinds::OPERATOR_GROUP).map(Surface::of).collect();
    let mut findings = Vec::new();
    for (index, one) in surfaces.iter().enumerate() {
        let others = surfaces.get(index + 1..).unwrap_or_default();
        for other in one.meeting(others) {
            // Several in one namespace are told of above.
            let shared = Apis(one.provided.0.intersection(&other.provided.0).cloned().collect());
            if other.namespace == one.namespace || shared.0.is_empty() {
                continue;
            }
            let shared: Vec<String> = shared.0.iter().map(names::api).collect();
            findings.push(
                Finding::about(
                    Risky,
                    "overlapping-operator-groups",
                    Subject::new(kinds::OPERATOR_GROUP, &other.namespace, &other.name),
                )
                .at("status.namespaces")
                .because(format!(
                    "it and OperatorGroup {}/{} look after the same namespaces and both provide {}, so that two operators \
                     may work on the same objects",
                    one.namespace,
                    one.name,
                    shared.join(", ")
                ))
                .next(format!(
                    "give them namespaces of their own (spec.targetNamespaces): kubectl edit operatorgroup {} -n {}",
                    other.name, other.namespace
                )),
            );
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture, told};

    fn group(namespace: &str, name: &str, targets: &[&str], provided: &str) -> Value {
        let rest = json!({"metadata": {"annotations": {"olm.providedAPIs": provided}},
            "status": {"namespaces": targets}});
        object("operators.coreos.com/v1", "OperatorGroup", namespace, name, rest)
    }

    #[test]
    fn a_namespace_has_one_group() {
        let groups = [
            group("a", "one", &["a"], ""),
            group("a", "two", &["a"], ""),
            group("b", "one", &["b"], ""),
        ];
        assert_eq!(
            told(&look(&picture(groups))),
            [
                "broken several-operator-groups OperatorGroup a/one: namespace a has 2 OperatorGroups (one, two), and nothing \
              is installed as long as there is more than one"
            ]
        );
    }

    #[test]
    fn groups_that_provide_the_same_do_not_meet() {
        let api = "Web.v1.example.com";
        for (targets, provided, is_told) in [
            (&[""][..], api, true),
            (&["a"][..], api, true),
            (&["c"][..], api, false),
            (&[""][..], "Other.v1.example.com", false),
        ] {
            let groups = [
                group("a", "one", &["a"], api),
                group("b", "two", targets, provided),
            ];
            let findings = told(&look(&picture(groups)));
            assert_eq!(!findings.is_empty(), is_told, "{findings:?}");
        }
    }

    #[test]
    fn a_group_has_its_service_account() {
        let mut group = group("a", "one", &["a"], "");
        group["spec"] = json!({"serviceAccountName": "scoped"});
        group["status"]["conditions"] = json!([{"type": "OperatorGroupServiceAccount", "status": "True",
            "reason": "ServiceAccountNotFound", "message": "ServiceAccount scoped not found"}]);
        assert_eq!(
            told(&look(&picture([group]))),
            [
                "broken operator-group-without-account OperatorGroup a/one: nothing is installed: ServiceAccount scoped not found"
            ]
        );
    }
}
