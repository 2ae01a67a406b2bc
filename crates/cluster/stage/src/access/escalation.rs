//! Nobody grants what they don't have: roles and bindings are checked against the rights of who writes them.

use serde_json::Value;

use super::Access;
use super::attributes::{Attributes, quoted, quoted_list};
use super::rbac::follow::GROUP;
use super::rbac::policy::{NoRules, RoleReference, aggregated};
use super::rbac::rules::{Rule, missing};
use crate::api::Place;
use crate::caller::{Caller, MASTERS};
use crate::object::Object as _;
use crate::status::Status;

impl Access {
    /// Refuses a role with more rights than its writer has, and the binding of one.
    ///
    /// The place names the object where the request does.
    pub fn refuse_escalation(
        &self,
        caller: &Caller,
        place: &Place,
        requested_name: &str,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        if &*place.resource.group != GROUP || caller.is_in(MASTERS) {
            return Ok(());
        }
        let plural = &*place.resource.plural;
        match plural {
            "roles" | "clusterroles" => {
                let wish = Attributes::resource("escalate", &place.namespace, GROUP, plural, requested_name);
                if self.allowed(caller, &wish).allowed || only_owners_change(new, old) {
                    return Ok(());
                }
                self.confirm(caller, place, new, &Rule::read_all(new))?;
                let aggregates = aggregates(new) || old.is_some_and(aggregates);
                if plural == "clusterroles"
                    && aggregates
                    && self.missing(caller, place, &full_authority()).is_some()
                {
                    let why = "must have cluster-admin privileges to use the aggregationRule";
                    return Err(Status::forbidden(
                        place.resource.group_resource(),
                        new.name(),
                        why,
                    ));
                }
                Ok(())
            }
            "rolebindings" | "clusterrolebindings" => {
                if only_owners_change(new, old) {
                    return Ok(());
                }
                let role = RoleReference::read(new);
                if self.may_bind(caller, place, new, &role) {
                    return Ok(());
                }
                let rules = self
                    .policy
                    .ask(|policy| policy.rules_of(&role, &place.namespace).cloned())
                    .map_err(|failure| no_rules(place, &failure))?;
                self.confirm(caller, place, new, &rules)
            }
            _ => Ok(()),
        }
    }

    fn may_bind(&self, caller: &Caller, place: &Place, binding: &Value, role: &RoleReference) -> bool {
        let plural = match role.kind.as_str() {
            "ClusterRole" => "clusterroles",
            "Role" => "roles",
            _ => return false,
        };
        let group = binding["roleRef"]["apiGroup"].as_str().unwrap_or_default();
        let wish = Attributes::resource("bind", &place.namespace, group, plural, &role.name);
        self.allowed(caller, &wish).allowed
    }

    fn confirm(&self, caller: &Caller, place: &Place, new: &Value, wanted: &[Rule]) -> Result<(), Status> {
        match self.missing(caller, place, wanted) {
            None => Ok(()),
            Some(why) => Err(Status::forbidden(
                place.resource.group_resource(),
                new.name(),
                why,
            )),
        }
    }

    /// Returns what the rules allow beyond what the caller may do, in the real server's words.
    fn missing(&self, caller: &Caller, place: &Place, wanted: &[Rule]) -> Option<String> {
        let (own, failures) = self
            .policy
            .ask(|policy| policy.rules_for(caller, &place.namespace));
        let missing = missing(&own, wanted);
        if missing.is_empty() {
            return None;
        }
        let mut text = format!(
            "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            quoted(&caller.user),
            quoted_list(&caller.groups),
            missing.join("\n")
        );
        let failures: Vec<String> = failures
            .iter()
            .map(|failure| no_rules(place, failure).message)
            .collect();
        if let Some(failure) = aggregated(&failures) {
            text = format!("{text}; resolution errors: [{failure}]");
        }
        Some(text)
    }
}

/// Returns the failure of a binding whose role has no rules. The real server calls a missing role by what is written.
fn no_rules(place: &Place, failure: &NoRules) -> Status {
    match failure {
        NoRules::NotFound(_, name) => Status::not_found(place.resource.group_resource(), name),
        NoRules::Unsupported(_) => {
            Status::refusal(http::StatusCode::INTERNAL_SERVER_ERROR, "", failure.to_string())
        }
    }
}

fn aggregates(role: &Value) -> bool {
    role["aggregationRule"]["clusterRoleSelectors"]
        .as_array()
        .is_some_and(|selectors| !selectors.is_empty())
}

/// Everything, as rules say it.
fn full_authority() -> [Rule; 2] {
    let all = || vec!["*".to_owned()];
    [
        Rule {
            verbs: all(),
            groups: all(),
            resources: all(),
            ..Rule::default()
        },
        Rule {
            verbs: all(),
            paths: all(),
            ..Rule::default()
        },
    ]
}

/// Returns whether an update changes nothing but what the garbage collector changes.
fn only_owners_change(new: &Value, old: Option<&Value>) -> bool {
    let Some(old) = old else { return false };
    let plain = |value: &Value| {
        let mut value = value.clone();
        let metadata = value.metadata_mut();
        for field in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
            metadata.remove(field);
        }
        value
    };
    plain(new) == plain(old)
}
