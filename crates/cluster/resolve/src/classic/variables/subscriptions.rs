//! What may be next for each Subscription.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Asked, EXISTING, Place, Reason, Role, Trouble, Variables};
use crate::classic::entry::Entry;
use crate::classic::request::Subscription;
use crate::classic::snapshot::Snapshot;
use crate::classic::solver::Rule;

impl Variables<'_> {
    /// Adds the Subscriptions by name, each with what may be next for it.
    pub(super) fn add_subscriptions(&mut self) {
        let mut order: Vec<usize> = (0..self.request.subscriptions.len()).collect();
        order.sort_by_key(|&position| &self.request.subscriptions[position].name);
        for position in order {
            let subscription = &self.request.subscriptions[position];
            let mut existing = self.sources[EXISTING].entries.iter();
            let current = existing
                .position(|entry| entry.name == subscription.installed_csv)
                .map(|position| Place {
                    source: EXISTING,
                    position,
                });
            let (candidates, trouble) = match self.candidates(subscription, current) {
                Ok(candidates) => (candidates, None),
                Err(trouble) => (Vec::new(), Some(trouble)),
            };
            let candidates: Vec<usize> = candidates
                .into_iter()
                .map(|place| self.add_bundle(place))
                .collect();
            self.add_needed();
            let asked = Asked {
                subscription: position,
                current: current.and_then(|place| self.by_place.get(&place).copied()),
                candidates,
                trouble,
            };
            self.add_subscription(subscription, &asked);
            self.asked.push(asked);
        }
    }

    fn add_subscription(&mut self, subscription: &Subscription, asked: &Asked) {
        let name = &subscription.name;
        match &asked.trouble {
            Some(Trouble::Channel(error)) => return self.errors.push(error.to_string()),
            Some(Trouble::Catalog(_)) => return,
            Some(Trouble::Invalid(_)) | None => {}
        }
        let variable = self.add(
            format!("subscription:{name}"),
            Role::Subscription(asked.subscription),
        );
        self.constrain(
            variable,
            Rule::Mandatory,
            Reason::SubscriptionExists(name.clone()),
        );
        if let Some(Trouble::Invalid(cause)) = &asked.trouble {
            return self.constrain(
                variable,
                Rule::Prohibited,
                Reason::InvalidSubscription(cause.clone()),
            );
        }
        if let Some(current) = asked.current {
            let installed = self
                .entry_of(current)
                .map(|entry| entry.name.clone())
                .unwrap_or_default();
            let id = Arc::clone(&self.all[current].id);
            for &candidate in &asked.candidates {
                self.replaces.insert(candidate, installed.clone());
                let conflict = Rule::Conflict(Arc::clone(&id));
                if !self.all[candidate]
                    .constraints
                    .iter()
                    .any(|existing| existing.rule == conflict)
                {
                    self.constrain(candidate, conflict, Reason::Replaces);
                }
            }
        }
        let mut options = asked.candidates.clone();
        options.extend(asked.current);
        let rule = Rule::Dependency(self.identifiers_of(&options));
        self.constrain(variable, rule, Reason::SubscriptionRequires(name.clone()));
    }

    /// Returns what may be next for a Subscription, the preferred first.
    fn candidates(&self, subscription: &Subscription, current: Option<Place>) -> Result<Vec<Place>, Trouble> {
        let Subscription {
            name,
            package,
            channel,
            catalog,
            starting_csv,
            ..
        } = subscription;
        let named = |source: &usize| catalog.is_empty() || self.sources[*source].key == *catalog;
        let sources: Vec<usize> = self
            .preference(EXISTING)
            .into_iter()
            .filter(|&source| source != EXISTING)
            .filter(named)
            .collect();
        let mut offered = Vec::new();
        for source in sources {
            match self.sources[source].content {
                Ok(snapshot) => offered.push((source, snapshot)),
                Err(_) if catalog.is_empty() => {}
                Err(_) => return Err(Trouble::Catalog(source)),
            }
        }
        let has = |found: &dyn Fn(&Snapshot, &Entry) -> bool| {
            offered.iter().any(|(_, snapshot)| {
                let mut entries = snapshot
                    .of_package(package)
                    .iter()
                    .map(|&at| &snapshot.entries()[at]);
                entries.any(|entry| found(snapshot, entry))
            })
        };
        let starting = if current.is_none() {
            starting_csv.as_str()
        } else {
            ""
        };
        let in_channel = |entry: &Entry| channel.is_empty() || entry.channel == *channel;
        let invalid = |text: String| Err(Trouble::Invalid(text));
        if offered.iter().all(|(_, snapshot)| snapshot.entries().is_empty()) {
            return invalid(format!(
                "no operators found from catalog {} in namespace {} referenced by subscription {name}",
                catalog.name, catalog.namespace
            ));
        }
        if !has(&|_, _| true) {
            return invalid(format!(
                "no operators found in package {package} in the catalog referenced by subscription {name}"
            ));
        }
        if !has(&|_, entry| in_channel(entry)) {
            return invalid(format!(
                "no operators found in channel {channel} of package {package} in the catalog referenced by subscription {name}"
            ));
        }
        if !starting.is_empty() && !has(&|_, entry| in_channel(entry) && entry.name == starting) {
            return invalid(format!(
                "no operators found with name {starting} in channel {channel} of package {package} in the catalog referenced by subscription {name}"
            ));
        }
        let current = current.map(|place| self.entry(place));
        let mut places = Vec::new();
        for (source, snapshot) in offered {
            let entries = snapshot
                .of_package(package)
                .iter()
                .map(|&at| &snapshot.entries()[at]);
            let channels: BTreeSet<(bool, &str, &str)> = entries
                .filter(|entry| in_channel(entry))
                .map(|entry| {
                    (
                        !entry.is_in_default_channel,
                        entry.channel.as_str(),
                        entry.package.as_str(),
                    )
                })
                .collect();
            for (_, channel, package) in channels {
                let Some(channel) = snapshot
                    .channels(package)
                    .and_then(|channels| channels.get(channel))
                else {
                    continue;
                };
                let suits = |entry: &Entry| match current {
                    Some(current) => entry.may_follow(current),
                    None => starting.is_empty() || entry.name == starting,
                };
                let order = if starting.is_empty() {
                    channel
                        .order
                        .as_ref()
                        .map_err(|error| Trouble::Channel(error.clone()))?
                } else {
                    // Where to start may be said of what the rest of the channel skips, or can't be put in order with.
                    &channel.members
                };
                let suitable = order.iter().copied().filter(|&at| suits(&snapshot.entries()[at]));
                places.extend(suitable.map(|position| Place { source, position }));
            }
        }
        Ok(places)
    }
}
