//! `ValidatingAdmissionPolicies`: their status says which generation was looked at.

use serde_json::json;

use super::work::{Affected, Controller, Item, Next, itself};
use crate::client::{Client, Named};
use crate::object::{Object, map_of};
use crate::status::Status;
use crate::store::ResourceKey;

const POLICIES: Named<'static> = ("admissionregistration.k8s.io", "validatingadmissionpolicies");

/// Writes the status of policies.
#[derive(Debug)]
pub struct Policies;

impl Controller for Policies {
    const NAME: &'static str = "validatingadmissionpolicy-status-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![(ResourceKey::new(POLICIES.0, POLICIES.1), itself)]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(mut policy) = client.get(POLICIES, "", &item.name)? else {
            return Ok(Next::Wait);
        };
        let generation = policy.generation();
        if policy["status"]["observedGeneration"].as_i64() == Some(generation) {
            return Ok(Next::Wait);
        }
        let status = map_of(&mut policy["status"]);
        status.insert("observedGeneration".into(), generation.into());
        status.insert("typeChecking".into(), json!({}));
        client.update_status(POLICIES, policy).await?;
        Ok(Next::Wait)
    }
}
