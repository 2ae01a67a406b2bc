//! `ClusterRoles` that are made of others: their rules are those of the roles that their selectors match.

use serde_json::{Value, json};

use super::work::{Affected, Controller, Item, Next};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::object::Object;
use crate::selectors::LabelSelector;
use crate::status::Status;
use crate::store::{Event, ResourceKey};

const ROLES: Named<'static> = ("rbac.authorization.k8s.io", "clusterroles");

/// Keeps the rules of aggregated `ClusterRoles`.
#[derive(Debug)]
pub struct ClusterRoles;

impl Controller for ClusterRoles {
    const NAME: &'static str = "clusterrole-aggregation-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![(ResourceKey::new(ROLES.0, ROLES.1), aggregated)]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(role) = client.get(ROLES, "", &item.name)? else {
            return Ok(Next::Wait);
        };
        if role["aggregationRule"].is_null() || role.is_being_deleted() {
            return Ok(Next::Wait);
        }
        let all = client.list(ROLES, "")?;
        if let Some(rules) = decide(&role, &all) {
            let wanted = json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": {"name": &*item.name},
                "rules": rules,
            });
            client.apply(ROLES, Self::NAME, &wanted).await?;
        }
        Ok(Next::Wait)
    }
}

/// Returns the rules of an aggregated role, unless it has them; `all` is sorted by name.
fn decide(role: &Value, all: &[Value]) -> Option<Vec<Value>> {
    let mut rules: Vec<Value> = Vec::new();
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array();
    for selector in selectors.into_iter().flatten() {
        // A selector that can't be read selects nothing; validation keeps them out.
        let Ok(selector) = LabelSelector::from_object(selector) else {
            continue;
        };
        for other in all {
            if other.name() == role.name() || !selector.matches_object(other) {
                continue;
            }
            for rule in other["rules"].as_array().into_iter().flatten() {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    let present = role["rules"].as_array().map(Vec::as_slice).unwrap_or_default();
    (present != rules).then_some(rules)
}

/// Returns the aggregated roles, each of which any change of a role may concern.
fn aggregated(api: &Api, _: &Event) -> Vec<Item> {
    let roles = ResourceKey::new(ROLES.0, ROLES.1);
    let listed = api.store.list(&roles, None, None, None, None);
    let items = listed.map(|listing| listing.items).unwrap_or_default();
    items
        .iter()
        .filter(|role| memchr::memmem::find(&role.bytes, b"\"aggregationRule\"").is_some())
        .map(|role| Item::of(role))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str, label: &str, verb: &str) -> Value {
        json!({"metadata": {"name": name, "labels": {"to": label}}, "rules": [{"verbs": [verb]}]})
    }

    #[test]
    fn rules_come_from_the_roles_that_match_once_each_and_in_order() {
        let mut whole = json!({
            "metadata": {"name": "whole", "labels": {"to": "x"}},
            "aggregationRule": {"clusterRoleSelectors": [
                {"matchLabels": {"to": "y"}},
                {"matchLabels": {"to": "x"}},
            ]},
            "rules": [{"verbs": ["stale"]}],
        });
        let all = [
            role("a", "x", "get"),
            role("b", "x", "list"),
            role("c", "z", "delete"),
            role("d", "y", "get"),
            whole.clone(),
        ];
        let rules = decide(&whole, &all).unwrap();
        assert_eq!(json!(rules), json!([{"verbs": ["get"]}, {"verbs": ["list"]}]));
        whole["rules"] = json!(rules);
        assert_eq!(decide(&whole, &all), None);
    }
}
