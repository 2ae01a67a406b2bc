//! What the pods of the node take, kept as they come and go, so that a decision doesn't read all of them.

use std::collections::{BTreeMap, HashMap};

use kinds::quantity::Quantity;
use serde_json::Value;

use super::fit::{self, NeighbourTerm};
use super::requests::{self, Amounts, HostPort};
use crate::object::Object;

#[derive(Debug)]
struct Entry {
    namespace: String,
    labels: BTreeMap<String, String>,
    amounts: Amounts,
    ports: Vec<HostPort>,
    refuses: Vec<NeighbourTerm>,
}

/// What the pods of the node take.
#[derive(Debug, Default)]
pub struct Ledger {
    entries: HashMap<String, Entry>,
    sum: Amounts,
    /// How many of the entries refuse neighbours or take ports, so that most decisions look at none.
    special: usize,
}

impl Ledger {
    /// Enters a pod; whether it is new.
    pub fn enter(&mut self, pod: &Value) -> bool {
        if self.entries.contains_key(pod.uid()) {
            return false;
        }
        let entry = Entry {
            namespace: pod.namespace().to_owned(),
            labels: fit::labels_of(pod),
            amounts: requests::of_pod(pod),
            ports: requests::host_ports(pod),
            refuses: NeighbourTerm::read(pod, "podAntiAffinity"),
        };
        requests::add(&mut self.sum, &entry.amounts);
        self.special += usize::from(entry.is_special());
        self.entries.insert(pod.uid().to_owned(), entry);
        true
    }

    /// Strikes a pod out; whether it was there.
    pub fn strike(&mut self, uid: &str) -> bool {
        let Some(entry) = self.entries.remove(uid) else {
            return false;
        };
        requests::subtract(&mut self.sum, &entry.amounts);
        self.special -= usize::from(entry.is_special());
        true
    }

    /// Returns how many pods there are.
    pub fn pods(&self) -> usize {
        self.entries.len()
    }

    /// Returns how much of a resource is taken.
    pub fn taken(&self, name: &str) -> Option<Quantity> {
        self.sum.get(name).copied()
    }

    fn special(&self) -> impl Iterator<Item = &Entry> {
        let looked_at = if self.special == 0 { 0 } else { usize::MAX };
        self.entries
            .values()
            .take(looked_at)
            .filter(|entry| entry.is_special())
    }

    /// Returns the ports that are taken.
    pub fn ports(&self) -> impl Iterator<Item = &HostPort> {
        self.special().flat_map(|entry| &entry.ports)
    }

    /// Returns what the pods don't want beside them.
    pub fn refused_neighbours(&self) -> impl Iterator<Item = &NeighbourTerm> {
        self.special().flat_map(|entry| &entry.refuses)
    }

    /// Returns whether there is a pod with a namespace and labels that fit.
    pub fn any_pod(&self, fits: impl Fn(&str, &BTreeMap<String, String>) -> bool) -> bool {
        self.entries
            .values()
            .any(|entry| fits(&entry.namespace, &entry.labels))
    }
}

impl Entry {
    fn is_special(&self) -> bool {
        !self.ports.is_empty() || !self.refuses.is_empty()
    }
}
