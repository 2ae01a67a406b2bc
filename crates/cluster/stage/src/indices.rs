//! What controllers look up for each change, found without reading everything: what a change costs doesn't grow with the
//! cluster.
//!
//! ```text
//! filed      a pod, a slice, a volume  ─► under each label, its Service, its claim
//! selecting  a Service, a budget       ─► under the label that fewest others ask for
//! ```
//!
//! An index is brought up to date by whoever asks it. What it names may have changed since: whoever asks reads the objects
//! and holds them against what was asked, and a change that came in between has an event of its own.

pub mod filed;
pub mod selecting;

use serde_json::Value;

use crate::controllers::{service_addresses, volumes};
use crate::selectors::LabelSelector;
use crate::store::{Followed, Position, ResourceKey, Store, Stored};
use filed::Filed;
use selecting::Selecting;

/// The resources whose objects are selected by labels again and again.
const LABELLED: [(&str, &str); 3] = [
    ("", "pods"),
    ("apps", "replicasets"),
    ("discovery.k8s.io", "endpointslices"),
];

/// The indices of a cluster.
#[derive(Debug)]
pub struct Indices {
    labelled: Vec<(ResourceKey, Followed<Filed>)>,
    /// The `IPAddresses`, under the Services they are of.
    pub addresses: Followed<Filed>,
    /// The pods, under the claims that they use.
    pub users_of_claims: Followed<Filed>,
    /// The volumes, under the claims that they are for.
    pub volumes: Followed<Filed>,
    /// The claims, under the volumes that they name.
    pub claims: Followed<Filed>,
    /// The Services, by what they select.
    pub services: Followed<Selecting>,
    /// The PodDisruptionBudgets, by what they select.
    pub budgets: Followed<Selecting>,
}

impl Indices {
    /// Returns the indices of a store; each is made when it is asked first.
    pub fn of(store: &Store) -> Self {
        let labelled = LABELLED.map(|(group, plural)| {
            let resource = ResourceKey::new(group, plural);
            let filed = Filed::under(filed::labels);
            (resource.clone(), Followed::new(store, vec![resource], filed))
        });
        let filed = |(group, plural), words: fn(&Stored) -> Vec<String>| {
            Followed::new(store, vec![ResourceKey::new(group, plural)], Filed::under(words))
        };
        let selecting = |group, plural, selector: fn(&Stored) -> Option<LabelSelector>| {
            let resource = ResourceKey::new(group, plural);
            Followed::new(store, vec![resource], Selecting::by(selector))
        };
        Self {
            labelled: labelled.into(),
            addresses: filed(service_addresses::ADDRESSES, service_addresses::words),
            users_of_claims: filed(("", "pods"), volumes::words_of_pod),
            volumes: filed(("", "persistentvolumes"), volumes::words_of_volume),
            claims: filed(("", "persistentvolumeclaims"), volumes::words_of_claim),
            services: selecting("", "services", selector_of_service),
            budgets: selecting("policy", "poddisruptionbudgets", selector_of_budget),
        }
    }

    /// Returns where the objects are that a selector may select; `None` where only a look at all of them tells.
    pub fn candidates(
        &self,
        resource: &ResourceKey,
        namespace: &str,
        selector: &LabelSelector,
    ) -> Option<Vec<Position>> {
        if namespace.is_empty() {
            return None;
        }
        let (_, index) = self.labelled.iter().find(|(labelled, _)| labelled == resource)?;
        let asked = selecting::equalities(selector)
            .map(|(key, value)| filed::label(namespace, key, value))
            .collect::<Vec<_>>();
        if asked.is_empty() {
            return None;
        }
        Some(index.ask(|filed| {
            // The label that fewest have leaves the least to look at.
            let rarest = asked.iter().min_by_key(|label| filed.count(label));
            rarest
                .map(|label| filed.get(label).cloned().collect())
                .unwrap_or_default()
        }))
    }
}

/// Returns what a Service selects; `None` where it selects nothing, because someone else keeps its endpoints.
fn selector_of_service(service: &Stored) -> Option<LabelSelector> {
    service.value()["spec"]["selector"]
        .as_object()
        .map(LabelSelector::from_map)
}

fn selector_of_budget(budget: &Stored) -> Option<LabelSelector> {
    let budget: Value = budget.value();
    let selector = &budget["spec"]["selector"];
    LabelSelector::from_object(selector)
        .ok()
        .filter(|_| !selector.is_null())
}

#[cfg(test)]
mod tests;
