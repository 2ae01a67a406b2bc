//! Roles and who has them.

use schema::structural::name_rules::dns_subdomain;

use super::reading::Reading;
use super::report::{Errors, Path, listed};
use super::{internal, metadata, selectors, syntax};
use crate::tree::{Fields, Tree};

const GROUP: &str = "rbac.authorization.k8s.io";

fn rules(errors: &mut Errors, object: &Fields, is_namespaced: bool) {
    let rules = Path::new("rules");
    for (index, rule) in object.numbered("rules") {
        let path = rules.index(index);
        if rule.is_zero("verbs") {
            errors.required(&path.child("verbs"), "verbs must contain at least one value");
        }
        if !rule.is_zero("nonResourceURLs") {
            let path = path.child("nonResourceURLs");
            let shown = || listed(rule.get("nonResourceURLs"));
            if is_namespaced {
                errors.invalid(
                    &path,
                    shown(),
                    "namespaced rules cannot apply to non-resource URLs",
                );
            }
            if ["apiGroups", "resources", "resourceNames"]
                .iter()
                .any(|name| !rule.is_zero(name))
            {
                errors.invalid(
                    &path,
                    shown(),
                    "rules cannot apply to both regular resources and non-resource URLs",
                );
            }
            continue;
        }
        if rule.is_zero("apiGroups") {
            errors.required(
                &path.child("apiGroups"),
                "resource rules must supply at least one api group",
            );
        }
        if rule.is_zero("resources") {
            errors.required(
                &path.child("resources"),
                "resource rules must supply at least one resource",
            );
        }
    }
}

/// Checks a Role; `old` is the one that it replaces.
pub(super) fn role(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    metadata::check(errors, GROUP, "Role", object);
    rules(errors, object, true);
    if let Some(old) = old {
        metadata::check_update(errors, GROUP, object, old);
    }
}

/// Checks a `ClusterRole`; `old` is the one that it replaces.
pub(super) fn cluster_role(errors: &mut Errors, object: &Fields, old: Option<&Fields>) {
    metadata::check(errors, GROUP, "ClusterRole", object);
    rules(errors, object, false);
    if object.has("aggregationRule") {
        let rule = object.at("aggregationRule");
        let path = Path::new("aggregationRule.clusterRoleSelectors");
        if rule.is_zero("clusterRoleSelectors") {
            errors.required(
                &path,
                "at least one clusterRoleSelector required if aggregationRule is non-nil",
            );
        }
        let allows = old.is_some_and(|old| {
            old.at("aggregationRule")
                .items("clusterRoleSelectors")
                .any(|selector| selectors::has_wrong_values(Some(selector)))
        });
        for (index, selector) in rule.numbered("clusterRoleSelectors") {
            let own = path.index(index);
            selectors::check(errors, &own, Some(selector), allows);
            if let selectors::Match::Unreadable = selectors::matches(Some(selector), &Fields::new()) {
                errors.invalid(
                    &own,
                    super::report::Raw("null".to_owned()),
                    "invalid label selector.",
                );
            }
        }
    }
    if let Some(old) = old {
        metadata::check_update(errors, GROUP, object, old);
    }
}

/// Checks a `RoleBinding` or a `ClusterRoleBinding`; `old` is the one that it replaces.
pub(super) fn binding(errors: &mut Errors, kind: &str, object: &Fields, old: Option<&Fields>) {
    let is_namespaced = kind == "RoleBinding";
    metadata::check(errors, GROUP, kind, object);
    let path = Path::new("roleRef");
    let role = object.at("roleRef");
    if role.text("apiGroup") != GROUP {
        errors.not_supported(&path.child("apiGroup"), role.text("apiGroup"), &[GROUP]);
    }
    let kinds: &[&str] = if is_namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    errors.one_of_if_set(&path.child("kind"), Some(role.text("kind")), kinds);
    let name = role.text("name");
    if name.is_empty() {
        errors.required(&path.child("name"), "");
    } else {
        errors.faults(&path.child("name"), name, syntax::path_segment(name));
    }
    subjects(errors, object, is_namespaced);
    if let Some(old) = old {
        metadata::check_update(errors, GROUP, object, old);
        let before = old.at("roleRef");
        if ["apiGroup", "kind", "name"]
            .iter()
            .any(|field| role.text(field) != before.text(field))
        {
            errors.invalid(
                &path,
                internal::shown("rbac.RoleRef", object.get("roleRef")),
                "cannot change roleRef",
            );
        }
    }
}

fn subjects(errors: &mut Errors, object: &Fields, is_namespaced: bool) {
    let list = Path::new("subjects");
    for (index, subject) in object.numbered("subjects") {
        let path = list.index(index);
        let (name, group) = (subject.text("name"), subject.text("apiGroup"));
        let group_path = path.child("apiGroup");
        if name.is_empty() {
            errors.required(&path.child("name"), "");
        }
        match subject.text("kind") {
            "ServiceAccount" => {
                if !name.is_empty() {
                    errors.faults(&path.child("name"), name, dns_subdomain(name));
                }
                if !group.is_empty() {
                    errors.not_supported(&group_path, group, &[""]);
                }
                if !is_namespaced && subject.is_zero("namespace") {
                    errors.required(&path.child("namespace"), "");
                }
            }
            "User" | "Group" => errors.one_of_if_set(&group_path, Some(group), &[GROUP]),
            other => errors.not_supported(&path.child("kind"), other, &["ServiceAccount", "User", "Group"]),
        }
    }
}
