//! The question in the solver's terms: a variable for each Subscription and each bundle that may matter.

mod reason;
mod subscriptions;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::channel::ChannelError;
use super::entry::{CatalogKey, Entry};
use super::need::Need;
use super::property::Property;
use super::request::{Request, Subscription};
use super::snapshot::Snapshot;
use super::solver::{Constraint, Identifier, Rule, Variable};
use crate::dependencies::GroupVersionKind;

pub(super) use reason::{Reason, api_text};

/// The position of the installed operators among the sources.
pub(super) const EXISTING: usize = 0;

/// Where entries come from: the installed operators, or a catalog.
pub(super) struct Source<'a> {
    pub(super) key: CatalogKey,
    pub(super) priority: i32,
    /// What it offers; or why that isn't known.
    pub(super) content: Result<&'a Snapshot, &'a str>,
    entries: &'a [Arc<Entry>],
}

/// An entry: its source and its position there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) source: usize,
    pub(super) position: usize,
}

/// What a variable stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A Subscription, by its position in the request.
    Subscription(usize),
    /// A bundle, or an operator that is installed.
    Bundle(Place),
    /// A rule about several bundles.
    Invariant,
}

/// Why a Subscription has no candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// What it asks for isn't there.
    Invalid(String),
    /// The catalog that it names can't be asked.
    Catalog(usize),
    /// The channel has no order.
    Channel(ChannelError),
}

/// A Subscription in the solver's terms.
#[derive(Debug)]
pub(super) struct Asked {
    /// Its position in the request.
    pub(super) subscription: usize,
    /// The operator that is installed for it.
    pub(super) current: Option<usize>,
    /// The bundles that may be next, the preferred first.
    pub(super) candidates: Vec<usize>,
    /// Why there are none.
    pub(super) trouble: Option<Trouble>,
}

/// The whole question in the solver's terms.
pub(super) struct Variables<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) sources: Vec<Source<'a>>,
    /// Everything that is chosen or not.
    pub(super) all: Vec<Variable<Reason>>,
    /// What each variable stands for.
    pub(super) roles: Vec<Role>,
    /// The Subscriptions, by name.
    pub(super) asked: Vec<Asked>,
    /// The name of the installed operator that a bundle takes the place of.
    pub(super) replaces: BTreeMap<usize, String>,
    /// What couldn't be read, and stops upstream.
    pub(super) errors: Vec<String>,
    /// The names of installed operators for which a Subscription asks.
    referenced: HashSet<&'a str>,
    by_place: HashMap<Place, usize>,
    identifiers: HashSet<Identifier>,
    open: Vec<usize>,
    /// What meets a need, by the source of whoever needs it and the property that says so.
    met: HashMap<(usize, Property), Vec<Place>>,
}

impl<'a> Variables<'a> {
    /// Puts a question in the solver's terms. `existing` are the installed operators of the request.
    pub(super) fn new(request: &'a Request<'a>, existing: &'a Snapshot) -> Self {
        let mut sources = vec![Source {
            key: CatalogKey::existing(request.namespace),
            priority: 0,
            content: Ok(existing),
            entries: existing.entries(),
        }];
        let mut catalogs: Vec<_> = request.catalogs.iter().collect();
        catalogs.sort_by(|one, other| one.key.cmp(&other.key));
        catalogs.dedup_by(|one, other| one.key == other.key);
        sources.extend(catalogs.into_iter().map(|catalog| Source {
            key: catalog.key.clone(),
            priority: catalog.priority,
            content: catalog.content.as_deref().map_err(String::as_str),
            entries: catalog.content.as_deref().map_or(&[], Snapshot::entries),
        }));
        let referenced = request
            .existing
            .versions
            .iter()
            .filter(|version| version.subscription.is_some());
        let referenced = referenced.map(|version| version.entry.name.as_str()).collect();
        let mut variables = Self {
            request,
            sources,
            all: Vec::new(),
            roles: Vec::new(),
            asked: Vec::new(),
            replaces: BTreeMap::new(),
            errors: Vec::new(),
            referenced,
            by_place: HashMap::new(),
            identifiers: HashSet::new(),
            open: Vec::new(),
            met: HashMap::new(),
        };
        variables.add_existing();
        variables.add_subscriptions();
        variables.add_invariants();
        variables
    }

    pub(super) fn entry(&self, place: Place) -> &'a Entry {
        &self.sources[place.source].entries[place.position]
    }

    /// Returns an entry to keep.
    pub(super) fn shared_entry(&self, place: Place) -> Arc<Entry> {
        Arc::clone(&self.sources[place.source].entries[place.position])
    }

    /// Returns the entry that a variable stands for.
    pub(super) fn entry_of(&self, variable: usize) -> Option<&'a Entry> {
        match self.roles[variable] {
            Role::Bundle(place) => Some(self.entry(place)),
            _ => None,
        }
    }

    /// Returns whether a variable stands for an operator that is installed.
    pub(super) fn is_existing(&self, variable: usize) -> bool {
        matches!(self.roles[variable], Role::Bundle(place) if place.source == EXISTING)
    }

    pub(super) fn subscription(&self, asked: &Asked) -> &'a Subscription {
        &self.request.subscriptions[asked.subscription]
    }

    fn add(&mut self, id: String, role: Role) -> usize {
        let mut id: Identifier = id.into();
        while !self.identifiers.insert(Arc::clone(&id)) {
            // Two packages of a catalog may have a channel and a bundle of the same names.
            id = format!("{id}'").into();
        }
        self.all.push(Variable {
            id,
            constraints: Vec::new(),
        });
        self.roles.push(role);
        self.all.len() - 1
    }

    fn constrain(&mut self, variable: usize, rule: Rule, reason: Reason) {
        let constraint = Constraint {
            rule,
            wording: reason,
        };
        self.all[variable].constraints.push(constraint);
    }

    fn identifiers_of(&self, variables: &[usize]) -> Vec<Identifier> {
        let identifier = |&variable: &usize| Arc::clone(&self.all[variable].id);
        variables.iter().map(identifier).collect()
    }

    fn add_existing(&mut self) {
        for position in 0..self.sources[EXISTING].entries.len() {
            self.add_bundle(Place {
                source: EXISTING,
                position,
            });
            self.add_needed();
        }
    }

    /// Adds a bundle unless it is there already. [`add_needed`](Self::add_needed) then adds what it needs.
    fn add_bundle(&mut self, place: Place) -> usize {
        if let Some(&variable) = self.by_place.get(&place) {
            return variable;
        }
        let entry = self.entry(place);
        let variable = self.add(entry.identifier(), Role::Bundle(place));
        self.by_place.insert(place, variable);
        self.open.push(variable);
        if place.source == EXISTING && !self.referenced.contains(entry.name.as_str()) {
            self.constrain(
                variable,
                Rule::Mandatory,
                Reason::Unreferenced(entry.name.clone()),
            );
        }
        if entry.is_deprecated() {
            self.constrain(variable, Rule::Prohibited, Reason::Deprecated);
        }
        if place.source != EXISTING
            && let Some(forbid) = self.request.forbid
            && let Some(cause) = forbid(entry)
        {
            self.constrain(variable, Rule::Prohibited, Reason::Forbidden(cause));
        }
        variable
    }

    /// Adds what the bundles need that were added last, and what those need, and so on.
    fn add_needed(&mut self) {
        while let Some(variable) = self.open.pop() {
            let Role::Bundle(place) = self.roles[variable] else {
                continue;
            };
            let entry = self.entry(place);
            let needs = match entry.needs() {
                Ok(needs) => needs,
                Err(error) => {
                    self.errors.push(error.to_string());
                    // What is installed was let in before; its other properties count.
                    if place.source != EXISTING {
                        let cause = error.to_string();
                        self.constrain(variable, Rule::Prohibited, Reason::Unreadable(cause));
                    }
                    continue;
                }
            };
            for need in needs {
                let candidates = self.meeting(need, place.source);
                let candidates: Vec<usize> = candidates
                    .into_iter()
                    .map(|place| self.add_bundle(place))
                    .collect();
                let reason = Reason::Needs {
                    bundle: entry.name.clone(),
                    need: need.clone(),
                };
                let rule = Rule::Dependency(self.identifiers_of(&candidates));
                self.constrain(variable, rule, reason);
            }
        }
    }

    /// Returns the sources in the order in which whoever is of one of them looks for what it needs.
    pub(super) fn preference(&self, own: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.sources.len()).collect();
        order.sort_by_key(|&source| {
            let Source { key, priority, .. } = &self.sources[source];
            (
                source != EXISTING,
                source != own,
                std::cmp::Reverse(*priority),
                key.namespace != self.request.namespace,
                &key.name,
                &key.namespace,
            )
        });
        order
    }

    /// Returns what meets a need, the preferred first.
    fn meeting(&mut self, need: &Need, own: usize) -> Vec<Place> {
        let key = (own, need.property.clone());
        if let Some(places) = self.met.get(&key) {
            return places.clone();
        }
        let mut places = Vec::new();
        for source in self.preference(own) {
            let Ok(snapshot) = self.sources[source].content else {
                continue;
            };
            let place = |position: usize| Place { source, position };
            let met = snapshot.meeting(need);
            if source == EXISTING {
                places.extend(met.into_iter().map(place));
                continue;
            }
            // Default channels first, then by package and by name.
            let entries = met.iter().map(|&position| &snapshot.entries()[position]);
            let channels: BTreeSet<(bool, &str, &str)> = entries
                .map(|entry| {
                    (
                        !entry.is_in_default_channel,
                        entry.package.as_str(),
                        entry.channel.as_str(),
                    )
                })
                .collect();
            let met: HashSet<usize> = met.into_iter().collect();
            for (_, package, channel) in channels {
                let channel = snapshot
                    .channels(package)
                    .and_then(|channels| channels.get(channel));
                match channel.map(|channel| &channel.order) {
                    Some(Ok(order)) => {
                        let order = order.iter().copied().filter(|position| met.contains(position));
                        places.extend(order.map(place));
                    }
                    Some(Err(error)) => self.errors.push(error.to_string()),
                    None => {}
                }
            }
        }
        self.met.insert(key, places.clone());
        places
    }

    /// Adds that there is one operator of a package, and one that provides a kind.
    fn add_invariants(&mut self) {
        let mut by_kind: BTreeMap<&'a GroupVersionKind, Vec<usize>> = BTreeMap::new();
        let mut by_package: BTreeMap<&'a str, Vec<usize>> = BTreeMap::new();
        for variable in 0..self.all.len() {
            let Some(entry) = self.entry_of(variable) else {
                continue;
            };
            for kind in entry.kinds() {
                by_kind.entry(kind).or_default().push(variable);
            }
            for package in entry.packages().collect::<BTreeSet<_>>() {
                by_package.entry(package).or_default().push(variable);
            }
        }
        for (kind, providers) in by_kind {
            self.add_invariant(
                format!("api:{}", api_text(kind)),
                providers,
                Reason::SingleProvider(kind.clone()),
            );
        }
        for (package, members) in by_package {
            let reason = Reason::SinglePackage(package.to_owned());
            self.add_invariant(format!("package:{package}"), members, reason);
        }
    }

    fn add_invariant(&mut self, id: String, mut members: Vec<usize>, reason: Reason) {
        if members.len() < 2 {
            return;
        }
        members.sort_by(|&one, &other| self.all[one].id.cmp(&self.all[other].id));
        let variable = self.add(id, Role::Invariant);
        let rule = Rule::AtMost(1, self.identifiers_of(&members));
        self.constrain(variable, rule, reason);
    }
}
