//! `ValidatingAdmissionPolicies`: expressions that refuse writes, because an object in the cluster says so.
//!
//! - [`definition`]: what a policy and a binding say, compiled
//! - [`params`]: the objects that parameterise a policy
//! - [`checks`]: what is wrong with the expressions of policies and webhooks

pub mod checks;
pub mod definition;
pub mod params;

use std::sync::Arc;

use http::StatusCode;
use serde_json::Value;

use super::Review;
use super::expressions::{Met, Seen};
use super::kept::Kept;
use super::webhooks::shown;
use crate::status::{Cause, Status};
use definition::{Action, Binding, Policy};

/// The policies of a cluster and what binds them.
#[derive(Debug)]
pub struct Policies {
    policies: Kept<Policy>,
    bindings: Kept<Binding>,
}

impl Default for Policies {
    fn default() -> Self {
        let group = "admissionregistration.k8s.io";
        Self {
            policies: Kept::new(group, "validatingadmissionpolicies"),
            bindings: Kept::new(group, "validatingadmissionpolicybindings"),
        }
    }
}

/// Why a policy refuses a write.
struct Denial {
    policy: String,
    binding: Option<String>,
    reason: String,
    message: String,
}

impl Policies {
    /// Refuses a write that a policy refuses.
    pub async fn validate(&self, review: &Review<'_>) -> Result<(), Status> {
        if review.is_to_admission() {
            return Ok(());
        }
        let policies = self.policies.all(&review.api.store, Policy::read);
        if policies.is_empty() {
            return Ok(());
        }
        let bindings = self.bindings.all(&review.api.store, Binding::read);
        let mut denials = Vec::new();
        for policy in &policies {
            let bound = bound_to(&bindings, &policy.name);
            if bound.is_empty() {
                continue;
            }
            let misconfigured = |binding: Option<&'_ str>, why: &str| {
                let of = if binding.is_some() { "binding" } else { "policy" };
                (!policy.ignores_failures)
                    .then(|| (format!("failed to configure {of}: {why}"), String::new()))
            };
            let resource = match policy.matching.find(review) {
                Ok(None) => continue,
                Ok(Some(resource)) => resource,
                Err(status) => {
                    denials.extend(denial(policy, None, misconfigured(None, &status.message)));
                    continue;
                }
            };
            let param_resource = match params::resource(review.api, policy) {
                Ok(found) => found,
                Err(why) => {
                    denials.extend(denial(policy, None, misconfigured(None, &why)));
                    continue;
                }
            };
            let mut versioned: Option<(Value, Value)> = None;
            for binding in &bound {
                let name = Some(binding.name.as_str());
                match binding.matching.as_ref().map(|matching| matching.find(review)) {
                    None | Some(Ok(Some(_))) => {}
                    Some(Ok(None)) => continue,
                    Some(Err(status)) => {
                        denials.extend(denial(policy, name, misconfigured(name, &status.message)));
                        continue;
                    }
                }
                let found = params::collect(review, param_resource.as_deref(), binding).await;
                let params = match found {
                    Ok(params) => params,
                    Err(why) => {
                        denials.extend(denial(policy, name, misconfigured(name, &why)));
                        continue;
                    }
                };
                if params.is_empty() {
                    continue;
                }
                if versioned.is_none() {
                    versioned = Some((
                        shown(review, &resource, review.object.as_ref()).await?,
                        shown(review, &resource, review.old).await?,
                    ));
                }
                let Some((object, old)) = &versioned else { continue };
                for param in params {
                    let mut seen = Seen::new(review, &resource, object.clone(), old.clone());
                    seen.params = param;
                    for (message, reason) in evaluate(policy, &seen) {
                        for action in &binding.actions {
                            match action {
                                Action::Deny => denials.extend(denial(
                                    policy,
                                    name,
                                    Some((message.clone(), reason.clone())),
                                )),
                                Action::Warn => review.call.warn(format!(
                                    "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {message}",
                                    policy.name, binding.name
                                )),
                                Action::Audit => tracing::info!(
                                    policy = policy.name,
                                    binding = binding.name,
                                    message,
                                    "a policy isn't kept"
                                ),
                            }
                        }
                    }
                }
            }
        }
        match denials.into_iter().next() {
            None => Ok(()),
            Some(denial) => Err(refusal(review, denial)),
        }
    }
}

fn bound_to(bindings: &[Arc<Binding>], policy: &str) -> Vec<Arc<Binding>> {
    let bound = bindings.iter().filter(|binding| binding.policy == policy);
    bound.cloned().collect()
}

fn denial(policy: &Policy, binding: Option<&str>, why: Option<(String, String)>) -> Option<Denial> {
    why.map(|(message, reason)| Denial {
        policy: policy.name.clone(),
        binding: binding.map(ToOwned::to_owned),
        reason,
        message,
    })
}

/// Returns the messages and reasons of the validations that refuse the write, or that fail.
fn evaluate(policy: &Policy, seen: &Seen<'_>) -> Vec<(String, String)> {
    let failed = |why: String| {
        if policy.ignores_failures {
            Vec::new()
        } else {
            vec![(why, String::new())]
        }
    };
    match policy.conditions.met(seen) {
        Met::Yes => {}
        Met::No => return Vec::new(),
        Met::Failed(why) => return failed(why),
    }
    match policy.evaluate(seen) {
        Ok(refused) => refused,
        Err(spent) => failed(spent),
    }
}

fn refusal(review: &Review<'_>, denial: Denial) -> Status {
    let message = match &denial.binding {
        Some(binding) => format!(
            "ValidatingAdmissionPolicy '{}' with binding '{binding}' denied request: {}",
            denial.policy, denial.message
        ),
        None => format!(
            "ValidatingAdmissionPolicy '{}' denied request: {}",
            denial.policy, denial.message
        ),
    };
    let reason = if denial.reason.is_empty() {
        "Invalid".to_owned()
    } else {
        denial.reason
    };
    let mut status = review.forbidden(&message);
    status.code = match reason.as_str() {
        "Forbidden" => StatusCode::FORBIDDEN,
        "Unauthorized" => StatusCode::UNAUTHORIZED,
        "RequestEntityTooLarge" => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    status.reason = reason.into();
    status.with_causes(vec![Cause {
        message,
        ..Cause::default()
    }])
}
