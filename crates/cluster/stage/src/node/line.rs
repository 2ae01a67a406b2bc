//! The pods that wait for the node, and whom a change lets try again: only those whom it may help, first come, first served.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kinds::quantity::Quantity;
use tokio::sync::Notify;

use super::fit::NeighbourTerm;
use super::ledger::Ledger;
use super::requests::{self, Amounts};
use crate::controllers::work::Item;

/// What has to happen before it makes sense to try again.
#[derive(Debug, Clone, PartialEq)]
pub enum Want {
    /// The node comes or changes, or a claim of the pod comes.
    Node,
    /// So much becomes free.
    Room(Amounts),
    /// Some other pod goes.
    Departure,
    /// A pod comes that one of the terms is about.
    Company(Vec<NeighbourTerm>),
}

/// The pods that wait.
#[derive(Debug, Default)]
pub struct Line {
    /// What the node has to give, as it was last seen.
    room: Amounts,
    /// The number of the next who comes.
    next: u64,
    waiting: HashMap<Item, Waiter>,
    /// Those who wait for room and weren't called, by what they ask for: of those who ask for the same, the first tells
    /// for all.
    asking: BTreeMap<Amounts, BTreeMap<u64, Item>>,
    departures: BTreeSet<(u64, Item)>,
    company: BTreeSet<(u64, Item)>,
    /// Those who name a claim.
    claims: HashMap<Item, BTreeSet<Item>>,
    /// What is set aside for those who were called and haven't come yet, and how many they are.
    called: Amounts,
    called_pods: usize,
}

/// A pod that waits.
#[derive(Debug)]
struct Waiter {
    number: u64,
    notify: Arc<Notify>,
    want: Want,
    claims: Vec<String>,
    /// Whether there is room for it, so that it was told to come.
    is_called: bool,
}

impl Line {
    /// Notes what the node has to give.
    pub fn note_room(&mut self, room: &Amounts) {
        if self.room != *room {
            self.room.clone_from(room);
        }
    }

    /// Returns how many wait.
    pub fn count(&self) -> usize {
        self.waiting.len()
    }

    /// Returns whether a pod waits.
    pub fn has(&self, item: &Item) -> bool {
        self.waiting.contains_key(item)
    }

    /// Has a pod wait. One that was there before keeps its place; if it was called in vain, the next are called instead.
    pub fn wait(
        &mut self,
        ledger: &Ledger,
        item: &Item,
        notify: &Arc<Notify>,
        want: Want,
        claims: Vec<String>,
    ) {
        let before = self.remove(item);
        if before.as_ref().is_some_and(|before| before.is_called) {
            self.call(ledger);
        }
        let number = before.map_or_else(
            || {
                self.next += 1;
                self.next
            },
            |before| before.number,
        );
        let place = (number, item.clone());
        match &want {
            Want::Node => {}
            Want::Room(amounts) => {
                let asking = self.asking.entry(amounts.clone()).or_default();
                asking.insert(number, item.clone());
            }
            Want::Departure => {
                self.departures.insert(place);
            }
            Want::Company(_) => {
                self.company.insert(place);
            }
        }
        for claim in &claims {
            let naming = self.claims.entry(Item::new(&item.namespace, claim)).or_default();
            naming.insert(item.clone());
        }
        let waiter = Waiter {
            number,
            notify: notify.clone(),
            want,
            claims,
            is_called: false,
        };
        self.waiting.insert(item.clone(), waiter);
    }

    /// Has a pod wait no longer. If it was called and took nothing, the next are called instead.
    pub fn leave(&mut self, ledger: &Ledger, item: &Item) {
        if self.remove(item).is_some_and(|waiter| waiter.is_called) {
            self.call(ledger);
        }
    }

    fn remove(&mut self, item: &Item) -> Option<Waiter> {
        let waiter = self.waiting.remove(item)?;
        let place = (waiter.number, item.clone());
        match &waiter.want {
            Want::Node => {}
            Want::Room(amounts) if waiter.is_called => {
                requests::subtract(&mut self.called, amounts);
                self.called_pods -= 1;
            }
            Want::Room(amounts) => {
                if let Some(asking) = self.asking.get_mut(amounts) {
                    asking.remove(&waiter.number);
                    if asking.is_empty() {
                        self.asking.remove(amounts);
                    }
                }
            }
            Want::Departure => {
                self.departures.remove(&place);
            }
            Want::Company(_) => {
                self.company.remove(&place);
            }
        }
        for claim in &waiter.claims {
            let claim = Item::new(&item.namespace, claim);
            if let Some(naming) = self.claims.get_mut(&claim) {
                naming.remove(item);
                if naming.is_empty() {
                    self.claims.remove(&claim);
                }
            }
        }
        Some(waiter)
    }

    /// Tells those whom the departure of a pod may help; returns how many.
    pub fn departed(&mut self, ledger: &Ledger) -> usize {
        let told = self.departures.len();
        for (_, item) in &self.departures {
            self.tell(item);
        }
        told + self.call(ledger)
    }

    /// Tells those who wait for a pod like one that has come; returns how many.
    pub fn arrived(&self, namespace: &str, labels: &BTreeMap<String, String>) -> usize {
        let wanted = self.company.iter().filter(|(_, item)| {
            self.waiting.get(item).is_some_and(|waiter| {
                matches!(&waiter.want, Want::Company(terms)
                    if terms.iter().any(|term| term.is_about(namespace, labels)))
            })
        });
        wanted.map(|(_, item)| self.tell(item)).count()
    }

    /// Tells those who name a claim that came or went; returns how many.
    pub fn claim_changed(&self, claim: &Item) -> usize {
        let naming = self.claims.get(claim).into_iter().flatten();
        naming.map(|item| self.tell(item)).count()
    }

    /// Tells everyone, because the node is another.
    pub fn node_changed(&self) {
        for waiter in self.waiting.values() {
            waiter.notify.notify_one();
        }
    }

    fn tell(&self, item: &Item) {
        if let Some(waiter) = self.waiting.get(item) {
            waiter.notify.notify_one();
        }
    }

    /// Calls those for whom there is room, in the order in which they came; returns how many.
    fn call(&mut self, ledger: &Ledger) -> usize {
        let mut called = 0;
        // Room only gets less while some are called: who asks for too much once needn't be asked again.
        let mut candidates: Vec<Amounts> = Vec::new();
        if self.has_place(ledger) {
            let fitting = self.asking.keys().filter(|amounts| self.fits(ledger, amounts));
            candidates.extend(fitting.cloned());
        }
        while self.has_place(ledger) {
            candidates.retain(|amounts| self.asking.contains_key(amounts) && self.fits(ledger, amounts));
            let first = candidates.iter().filter_map(|amounts| {
                let (number, _) = self.asking.get(amounts)?.first_key_value()?;
                Some((*number, amounts))
            });
            let Some((_, amounts)) = first.min_by_key(|(number, _)| *number) else {
                break;
            };
            let Some(asking) = self.asking.get_mut(amounts) else {
                break;
            };
            let Some((_, item)) = asking.pop_first() else {
                break;
            };
            if asking.is_empty() {
                self.asking.remove(amounts);
            }
            requests::add(&mut self.called, amounts);
            self.called_pods += 1;
            if let Some(waiter) = self.waiting.get_mut(&item) {
                waiter.is_called = true;
                waiter.notify.notify_one();
            }
            called += 1;
        }
        called
    }

    /// Returns whether the node takes one more pod.
    fn has_place(&self, ledger: &Ledger) -> bool {
        let allowed = self.room.get("pods").map_or(0, |allowed| allowed.whole());
        i64::try_from(ledger.pods() + self.called_pods).unwrap_or(i64::MAX) < allowed
    }

    /// Returns whether so much is free, beside what those take who were called.
    fn fits(&self, ledger: &Ledger, amounts: &Amounts) -> bool {
        let nothing = Quantity::read("0");
        amounts
            .iter()
            .filter(|(_, asked)| asked.is_positive())
            .all(|(name, asked)| {
                let room = self.room.get(name).copied().unwrap_or(nothing);
                let taken = ledger.taken(name).unwrap_or(nothing);
                let called = self.called.get(name).copied().unwrap_or(nothing);
                !taken.plus(called).plus(*asked).is_more_than(room)
            })
    }
}

#[cfg(test)]
mod tests;
