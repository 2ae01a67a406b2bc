//! The addresses of pods: 10.244.0.0/16, one each.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};

/// The first two numbers of every pod's address.
const NETWORK: [u8; 2] = [10, 244];

/// The first address that is given: those before are the network's and the gateway's.
const FIRST: u16 = 2;

/// The last address that is given: the one after is the broadcast's.
const LAST: u16 = u16::MAX - 1;

/// Who answers at the address of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occupant {
    /// Programs of a pod that really runs: they listen on this machine.
    Programs,
    /// Nobody ever, because the pod is simulated.
    Simulation,
    /// Nobody yet or any more: the pod hasn't started, or is gone.
    Nobody,
}

/// Which pod has which address.
#[derive(Debug, Default)]
pub struct Addresses {
    of_pods: HashMap<String, u16>,
    taken: HashSet<u16>,
    occupants: HashMap<u16, Occupant>,
    next: u16,
}

fn written(number: u16) -> Ipv4Addr {
    let [high, low] = number.to_be_bytes();
    Ipv4Addr::new(NETWORK[0], NETWORK[1], high, low)
}

fn read(address: &IpAddr) -> Option<u16> {
    match address {
        IpAddr::V4(address) => match address.octets() {
            [first, second, high, low] if [first, second] == NETWORK => Some(u16::from_be_bytes([high, low])),
            _ => None,
        },
        IpAddr::V6(_) => None,
    }
}

impl Addresses {
    /// Notes the address that a pod has already, unless another has it.
    pub fn claim(&mut self, uid: &str, address: &str) {
        let Some(number) = address.parse().ok().and_then(|address| read(&address)) else {
            return;
        };
        if !self.of_pods.contains_key(uid) && self.taken.insert(number) {
            self.of_pods.insert(uid.to_owned(), number);
        }
    }

    /// Returns the pod's address, a new one where it has none; `None` where all are taken.
    pub fn give(&mut self, uid: &str) -> Option<String> {
        if let Some(number) = self.of_pods.get(uid) {
            return Some(written(*number).to_string());
        }
        if self.taken.len() > usize::from(LAST - FIRST) {
            return None;
        }
        let mut number = self.next.max(FIRST);
        while !self.taken.insert(number) {
            number = if number >= LAST { FIRST } else { number + 1 };
        }
        self.next = if number >= LAST { FIRST } else { number + 1 };
        self.of_pods.insert(uid.to_owned(), number);
        Some(written(number).to_string())
    }

    /// Notes who answers at the address of a pod.
    pub fn note(&mut self, uid: &str, occupant: Occupant) {
        if let Some(number) = self.of_pods.get(uid) {
            self.occupants.insert(*number, occupant);
        }
    }

    /// Takes back the address of a pod.
    pub fn release(&mut self, uid: &str) {
        if let Some(number) = self.of_pods.remove(uid) {
            self.taken.remove(&number);
            self.occupants.remove(&number);
        }
    }

    /// Returns who answers at an address; `None` where it isn't one that pods have.
    pub fn occupant(&self, address: &IpAddr) -> Option<Occupant> {
        let number = read(address)?;
        Some(self.occupants.get(&number).copied().unwrap_or(Occupant::Nobody))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pod_has_its_own_address_and_keeps_it() {
        let mut addresses = Addresses::default();
        addresses.claim("old", "10.244.0.2");
        addresses.claim("thief", "10.244.0.2");
        let first = addresses.give("a");
        assert_eq!(first.as_deref(), Some("10.244.0.3"));
        assert_eq!(addresses.give("a"), first);
        assert_eq!(addresses.give("old").as_deref(), Some("10.244.0.2"));
        assert_eq!(addresses.give("thief").as_deref(), Some("10.244.0.4"));
    }

    #[test]
    fn who_answers_is_known_as_long_as_the_pod_has_the_address() {
        let mut addresses = Addresses::default();
        let address: IpAddr = addresses
            .give("a")
            .and_then(|text| text.parse().ok())
            .expect("an address");
        assert_eq!(addresses.occupant(&address), Some(Occupant::Nobody));
        addresses.note("a", Occupant::Simulation);
        assert_eq!(addresses.occupant(&address), Some(Occupant::Simulation));
        addresses.note("a", Occupant::Programs);
        assert_eq!(addresses.occupant(&address), Some(Occupant::Programs));
        addresses.release("a");
        addresses.note("a", Occupant::Programs);
        assert_eq!(addresses.occupant(&address), Some(Occupant::Nobody));
        assert_eq!(addresses.occupant(&[10, 245, 0, 2].into()), None);
    }

    #[test]
    fn addresses_come_round_again_and_end() {
        let mut addresses = Addresses {
            next: LAST,
            ..Addresses::default()
        };
        assert_eq!(addresses.give("last").as_deref(), Some("10.244.255.254"));
        assert_eq!(addresses.give("first").as_deref(), Some("10.244.0.2"));
        for number in 0..u32::from(LAST - FIRST) - 1 {
            assert!(addresses.give(&number.to_string()).is_some());
        }
        assert_eq!(addresses.give("one too many"), None);
        addresses.release("last");
        assert_eq!(addresses.give("now").as_deref(), Some("10.244.255.254"));
    }
}
