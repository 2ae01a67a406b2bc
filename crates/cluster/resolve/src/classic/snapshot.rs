//! What a catalog offers, indexed: made once when the catalog changes, and asked by every resolution.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::channel::{ChannelError, sort_channel};
use super::entry::{CatalogKey, Entry, RegistryBundle, RegistryPackage};
use super::need::{Need, Wanted};
use crate::dependencies::{GroupVersionKind, Requirement};

/// One channel of a package.
#[derive(Debug, Clone)]
pub struct Channel {
    /// Whether it is the package's default.
    pub is_default: bool,
    /// The positions of all its entries.
    pub members: Vec<usize>,
    /// The positions of its entries from head to tail, without those that are skipped.
    pub order: Result<Vec<usize>, ChannelError>,
}

/// What a catalog offers.
#[derive(Debug, Default)]
pub struct Snapshot {
    entries: Vec<Arc<Entry>>,
    by_package: HashMap<String, Vec<usize>>,
    by_kind: HashMap<GroupVersionKind, Vec<usize>>,
    by_label: HashMap<String, Vec<usize>>,
    channels: HashMap<String, BTreeMap<String, Channel>>,
}

impl Snapshot {
    /// Returns what a catalog offers. Of entries with the same package, channel and name the first counts.
    pub fn new(entries: impl IntoIterator<Item = Arc<Entry>>) -> Self {
        let mut seen = HashSet::new();
        let is_new = |entry: &Arc<Entry>| {
            let identity = (entry.package.clone(), entry.channel.clone(), entry.name.clone());
            seen.insert(identity)
        };
        let mut snapshot = Self {
            entries: entries.into_iter().filter(is_new).collect(),
            ..Self::default()
        };
        for (position, entry) in snapshot.entries.iter().enumerate() {
            let packages: BTreeSet<&str> = entry.packages().chain([entry.package.as_str()]).collect();
            for package in packages {
                push(&mut snapshot.by_package, package, position);
            }
            for kind in entry.kinds() {
                snapshot.by_kind.entry(kind.clone()).or_default().push(position);
            }
            for label in entry.labels().iter().collect::<BTreeSet<_>>() {
                push(&mut snapshot.by_label, label, position);
            }
            let channels = snapshot.channels.entry(entry.package.clone()).or_default();
            let channel = channels.entry(entry.channel.clone()).or_insert_with(|| Channel {
                is_default: entry.is_in_default_channel,
                members: Vec::new(),
                order: Ok(Vec::new()),
            });
            channel.members.push(position);
        }
        for channel in snapshot.channels.values_mut().flat_map(BTreeMap::values_mut) {
            let members: Vec<&Entry> = channel
                .members
                .iter()
                .map(|&position| &*snapshot.entries[position])
                .collect();
            let order = sort_channel(&members);
            channel.order =
                order.map(|order| order.into_iter().map(|member| channel.members[member]).collect());
        }
        snapshot
    }

    /// Returns what a catalog's gRPC API lists, and why some of it is left out: upstream only logs that.
    pub fn from_registry(
        catalog: &CatalogKey,
        bundles: impl IntoIterator<Item = RegistryBundle>,
        packages: &BTreeMap<String, RegistryPackage>,
    ) -> (Self, Vec<String>) {
        let mut left_out = Vec::new();
        let mut entries = Vec::new();
        for bundle in bundles {
            let Some(package) = packages.get(&bundle.package_name) else {
                left_out.push(format!(
                    "bundle {}: catalog {catalog} doesn't describe its package {}",
                    bundle.csv_name, bundle.package_name
                ));
                continue;
            };
            let name = bundle.csv_name.clone();
            match Entry::from_registry(catalog, bundle, package) {
                Ok(entry) => entries.push(Arc::new(entry)),
                Err(error) => left_out.push(format!("bundle {name}: {error}")),
            }
        }
        (Self::new(entries), left_out)
    }

    /// Returns the entries, in the catalog's order.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// Returns the positions of the entries of a package.
    pub fn of_package(&self, package: &str) -> &[usize] {
        self.by_package.get(package).map_or(&[], Vec::as_slice)
    }

    /// Returns the channels of a package, by name.
    pub fn channels(&self, package: &str) -> Option<&BTreeMap<String, Channel>> {
        self.channels.get(package)
    }

    /// Returns the positions of the entries that are what is needed.
    pub fn meeting(&self, need: &Need) -> Vec<usize> {
        let met = |position: &usize| need.is_met_by(&self.entries[*position]);
        let found = match &need.wanted {
            Wanted::Label(label) => self.by_label.get(label).cloned(),
            Wanted::Constraint(constraint) => match self.indexed(&constraint.requirement) {
                None => return (0..self.entries.len()).filter(met).collect(),
                found => found,
            },
        };
        found.unwrap_or_default().into_iter().filter(met).collect()
    }

    /// Returns positions among which everything is that a requirement holds for, in order; `None` where that can be
    /// anything.
    fn indexed(&self, requirement: &Requirement) -> Option<Vec<usize>> {
        match requirement {
            Requirement::Package { name, .. } => Some(self.of_package(name).to_vec()),
            Requirement::Kind(kind) => Some(self.by_kind.get(kind).cloned().unwrap_or_default()),
            Requirement::All(parts) => {
                let parts = parts.iter().filter_map(|part| self.indexed(&part.requirement));
                parts.min_by_key(Vec::len)
            }
            Requirement::Any(parts) => {
                let parts: Option<Vec<Vec<usize>>> =
                    parts.iter().map(|part| self.indexed(&part.requirement)).collect();
                let found: BTreeSet<usize> = parts?.into_iter().flatten().collect();
                Some(found.into_iter().collect())
            }
            Requirement::Not(_) | Requirement::Expression(_) => None,
        }
    }
}

fn push(index: &mut HashMap<String, Vec<usize>>, key: &str, position: usize) {
    match index.get_mut(key) {
        Some(positions) => positions.push(position),
        None => drop(index.insert(key.to_owned(), vec![position])),
    }
}
