//! The addresses of pods: 10.244.0.0/16, one each.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};

/// The first two numbers of every pod's address.
const NETWORK: [u8; 2] = [10, 244];

/// The first address that is given: those before are the network's and the gateway's.
const FIRST: u16 = 2;

/// The last address that is given: the one after is the broadcast's.
const LAST: u16 = u16::MAX - 1;

/// Which pod has which address.
#[derive(Debug, Default)]
pub struct Addresses {
    of_pods: HashMap<String, u16>,
    taken: HashSet<u16>,
    real: HashSet<u16>,
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

    /// Notes that a pod really runs, so that its address leads to this machine.
    pub fn note_real(&mut self, uid: &str) {
        if let Some(number) = self.of_pods.get(uid) {
            self.real.insert(*number);
        }
    }

    /// Takes back the address of a pod.
    pub fn release(&mut self, uid: &str) {
        if let Some(number) = self.of_pods.remove(uid) {
            self.taken.remove(&number);
            self.real.remove(&number);
        }
    }

    /// Returns whether the address is that of a pod that really runs.
    pub fn is_real(&self, address: &IpAddr) -> bool {
        read(address).is_some_and(|number| self.real.contains(&number))
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
