//! What the cluster has only once: the addresses and node ports of Services.
//!
//! A write claims what it needs before it is stored, and keeps it when it is. Who holds what is known from the stored
//! Services themselves: an entry whose Service is gone, or has let go, is free again without anybody saying so.

mod addresses;
mod families;
mod ports;

use std::collections::HashMap;
use std::hash::Hash;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

pub use addresses::SERVICE_RANGE;

use crate::api::{Api, Place};
use crate::status::Status;
use crate::store::{Key, ResourceKey, Store};

/// Returns a random number below a bound, which isn't 0.
fn random_below(bound: u32) -> u32 {
    let [a, b, c, d, ..] = *uuid::Uuid::new_v4().as_bytes();
    u32::from_le_bytes([a, b, c, d]) % bound.max(1)
}

/// Who holds something.
#[derive(Debug, Clone)]
enum Holder {
    /// A write that isn't stored yet.
    Write,
    /// A Service, as long as it is stored with it.
    Service(Key),
}

/// What is taken of one sort.
#[derive(Debug)]
struct Pool<T> {
    taken: HashMap<T, Holder>,
    /// Returns whether a Service has one of them.
    has: fn(&Value, T) -> bool,
}

impl<T: Copy + Eq + Hash> Pool<T> {
    fn new(has: fn(&Value, T) -> bool) -> Self {
        Self {
            taken: HashMap::new(),
            has,
        }
    }

    fn is_free(&self, store: &Store, one: T) -> bool {
        match self.taken.get(&one) {
            None => true,
            Some(Holder::Write) => false,
            Some(Holder::Service(key)) => !store
                .get(key)
                .is_some_and(|stored| (self.has)(&stored.value(), one)),
        }
    }
}

#[derive(Debug)]
struct Pools {
    addresses: Pool<Ipv4Addr>,
    ports: Pool<u16>,
}

/// Who holds which address and which node port.
#[derive(Debug, Clone)]
pub struct Allocations {
    pools: Arc<Mutex<Pools>>,
}

impl Allocations {
    /// Returns what the stored Services hold.
    pub fn of(store: &Store) -> Self {
        let mut pools = Pools {
            addresses: Pool::new(addresses::has),
            ports: Pool::new(ports::has),
        };
        let services = ResourceKey::new("", "services");
        let listed = store.list(&services, None, None, None, None);
        for stored in listed.map(|listing| listing.items).unwrap_or_default() {
            let service = stored.value();
            let holder = Holder::Service(stored.key.clone());
            for address in addresses::of(&service) {
                pools.addresses.taken.insert(address, holder.clone());
            }
            for port in ports::of(&service) {
                pools.ports.taken.insert(port, holder.clone());
            }
        }
        Self {
            pools: Arc::new(Mutex::new(pools)),
        }
    }
}

/// What a write has claimed. It is free again when this is dropped before the write is stored.
#[derive(Debug, Default)]
#[must_use = "what is claimed is free again when the claim is dropped"]
pub(crate) struct Claim {
    allocations: Option<Allocations>,
    addresses: Vec<Ipv4Addr>,
    ports: Vec<u16>,
}

impl Claim {
    /// Notes that the write is stored.
    pub(crate) fn keep(mut self, key: &Key) {
        if let Some(allocations) = self.allocations.take() {
            let mut pools = allocations.pools.lock().unwrap_or_else(PoisonError::into_inner);
            for address in &self.addresses {
                let holder = Holder::Service(key.clone());
                pools.addresses.taken.insert(*address, holder);
            }
            for port in &self.ports {
                pools.ports.taken.insert(*port, Holder::Service(key.clone()));
            }
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(allocations) = &self.allocations {
            let mut pools = allocations.pools.lock().unwrap_or_else(PoisonError::into_inner);
            for address in &self.addresses {
                pools.addresses.taken.remove(address);
            }
            for port in &self.ports {
                pools.ports.taken.remove(port);
            }
        }
    }
}

/// A Service that is given what it lacks.
struct Allocation<'a> {
    store: &'a Store,
    pools: &'a mut Pools,
    claim: &'a mut Claim,
    dry_run: bool,
}

impl Api {
    /// Gives an object what the cluster has only once, such as an address.
    pub(crate) fn allocate(
        &self,
        place: &Place,
        new: &mut Value,
        old: Option<&Value>,
        dry_run: bool,
    ) -> Result<Claim, Status> {
        if !place.resource.is("", "services") || !place.subresource.is_empty() {
            return Ok(Claim::default());
        }
        allocate_service(&self.allocations, &self.store, new, old, dry_run)
    }
}

fn allocate_service(
    allocations: &Allocations,
    store: &Store,
    new: &mut Value,
    old: Option<&Value>,
    dry_run: bool,
) -> Result<Claim, Status> {
    if let Some(old) = old {
        ports::keep(new, old);
    }
    families::complete(new, old);
    let mut claim = Claim {
        allocations: (!dry_run).then(|| allocations.clone()),
        addresses: Vec::new(),
        ports: Vec::new(),
    };
    // Declared after the claim: a refusal lets go of the lock before the claim, which takes it, is dropped.
    let mut pools = allocations.pools.lock().unwrap_or_else(PoisonError::into_inner);
    let mut allocation = Allocation {
        store,
        pools: &mut pools,
        claim: &mut claim,
        dry_run,
    };
    // What is written wrong is left alone: the validation that follows says what is wrong with it.
    if families::are_sound(new) {
        families::decide(new, old)?;
        allocation.give_addresses(new, old)?;
    }
    allocation.give_ports(new, old)?;
    drop(pools);
    Ok(claim)
}

#[cfg(test)]
mod tests;
