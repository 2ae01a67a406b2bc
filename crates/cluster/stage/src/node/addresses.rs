//! The addresses of pods: 10.244.0.0/16, one each.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

/// The first two numbers of every pod's address.
const NETWORK: [u8; 2] = [10, 244];

/// The first address that is given: those before are the network's and the gateway's.
const FIRST: u16 = 2;

/// The last address that is given: the one after is the broadcast's.
const LAST: u16 = u16::MAX - 1;

/// Who answers for a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occupant {
    /// Programs of a pod that really runs: they listen on this machine.
    Programs,
    /// Nobody ever, because the pod is simulated.
    Simulation,
    /// Nobody yet or any more: the pod hasn't started, or is gone.
    Nobody,
}

/// Which pod has which address, and who answers for it.
#[derive(Debug, Default)]
pub struct Addresses {
    of_pods: HashMap<String, u16>,
    /// The pods by their addresses.
    holders: HashMap<u16, String>,
    /// Who answers, by the pod's uid: a pod in the machine's network has no address of its own, and what its status says may
    /// be anybody's words.
    occupants: HashMap<String, Occupant>,
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
        if !self.of_pods.contains_key(uid) && !self.holders.contains_key(&number) {
            self.hold(uid, number);
        }
    }

    /// Returns the pod's address, a new one where it has none; `None` where all are taken.
    pub fn give(&mut self, uid: &str) -> Option<String> {
        if let Some(number) = self.of_pods.get(uid) {
            return Some(written(*number).to_string());
        }
        if self.holders.len() > usize::from(LAST - FIRST) {
            return None;
        }
        let mut number = self.next.max(FIRST);
        while self.holders.contains_key(&number) {
            number = if number >= LAST { FIRST } else { number + 1 };
        }
        self.next = if number >= LAST { FIRST } else { number + 1 };
        self.hold(uid, number);
        Some(written(number).to_string())
    }

    fn hold(&mut self, uid: &str, number: u16) {
        self.of_pods.insert(uid.to_owned(), number);
        self.holders.insert(number, uid.to_owned());
    }

    /// Notes who answers for a pod. It is forgotten when the pod is released.
    pub fn note(&mut self, uid: &str, occupant: Occupant) {
        // Most pods are looked at often and stay what they are.
        if self.occupants.get(uid) != Some(&occupant) {
            self.occupants.insert(uid.to_owned(), occupant);
        }
    }

    /// Takes back the address of a pod, for which nobody answers any more.
    pub fn release(&mut self, uid: &str) {
        if let Some(number) = self.of_pods.remove(uid) {
            self.holders.remove(&number);
        }
        self.occupants.remove(uid);
    }

    /// Returns who answers at an address; `None` where it isn't one that pods have.
    pub fn occupant(&self, address: &IpAddr) -> Option<Occupant> {
        let number = read(address)?;
        let holder = self.holders.get(&number);
        Some(holder.map_or(Occupant::Nobody, |uid| self.occupant_of(uid)))
    }

    /// Returns who answers for a pod.
    pub fn occupant_of(&self, uid: &str) -> Occupant {
        self.occupants.get(uid).copied().unwrap_or(Occupant::Nobody)
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
        assert_eq!(addresses.occupant_of("a"), Occupant::Programs);
        addresses.release("a");
        assert_eq!(addresses.occupant_of("a"), Occupant::Nobody);
        addresses.note("a", Occupant::Programs);
        assert_eq!(addresses.occupant(&address), Some(Occupant::Nobody));
        assert_eq!(addresses.occupant(&[10, 245, 0, 2].into()), None);
        // One in the machine's network has no address of its own.
        addresses.note("host", Occupant::Simulation);
        assert_eq!(addresses.occupant_of("host"), Occupant::Simulation);
        addresses.release("host");
        assert_eq!(addresses.occupant_of("host"), Occupant::Nobody);
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
