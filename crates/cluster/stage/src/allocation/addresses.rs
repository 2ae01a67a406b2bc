//! The addresses of Services.

use std::net::{IpAddr, Ipv4Addr};

use schema::{FieldError, FieldPath};
use serde_json::{Value, json};

use super::{Allocation, Holder, random_below};
use crate::controllers::conditions;
use crate::object::{Object, map_of};
use crate::status::Status;
use crate::store::ResourceKey;

/// The addresses that Services get, as the installer of Kubernetes has it: the first address and the bits that all share.
pub const SERVICE_RANGE: Range = Range {
    first: Ipv4Addr::new(10, 96, 0, 0),
    bits: 12,
};

/// How many addresses at the range's beginning are left to those who ask for one of them, as long as others are free.
const LEFT_FOR_THE_ASKING: u32 = 256;

/// A range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    first: Ipv4Addr,
    bits: u8,
}

impl std::fmt::Display for Range {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.first, self.bits)
    }
}

impl Range {
    /// Returns how many addresses there are, without the first, which names the range, and the last.
    fn usable(self) -> u32 {
        // A range of one or two addresses has none between the first and the last.
        match u32::MAX.checked_shr(u32::from(self.bits)) {
            Some(last) => last.saturating_sub(1),
            None => 0,
        }
    }

    /// Returns the address that stands behind the range's name by one and an offset.
    fn at(self, offset: u32) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first.to_bits().wrapping_add(1).wrapping_add(offset))
    }

    /// Returns whether a Service may have this address.
    fn contains(self, address: Ipv4Addr) -> bool {
        let offset = address.to_bits().wrapping_sub(self.first.to_bits());
        (1..=self.usable()).contains(&offset)
    }

    /// Reads a range such as `10.96.0.0/12`.
    fn read(text: &str) -> Option<Self> {
        let (first, bits) = text.split_once('/')?;
        let bits: u8 = bits.parse().ok().filter(|bits| *bits <= 32)?;
        let first = first.parse().ok()?;
        Some(Self { first, bits })
    }

    /// Returns the address of the API itself, the first one.
    pub fn api_server(self) -> Ipv4Addr {
        self.at(0)
    }
}

/// Returns the addresses that a Service has.
pub(super) fn of(service: &Value) -> Vec<Ipv4Addr> {
    let addresses = service["spec"]["clusterIPs"].as_array();
    addresses
        .into_iter()
        .flatten()
        .filter_map(|address| address.as_str()?.parse().ok())
        .collect()
}

/// Returns whether a Service has this address.
pub(super) fn has(service: &Value, address: Ipv4Addr) -> bool {
    of(service).contains(&address)
}

/// Returns the texts of `clusterIPs`.
pub(super) fn texts(service: &Value) -> Vec<&str> {
    let addresses = service["spec"]["clusterIPs"].as_array();
    addresses
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

impl Allocation<'_> {
    /// Gives a Service the address it asks for, or any.
    pub(super) fn give_addresses(&mut self, new: &mut Value, old: Option<&Value>) -> Result<(), Status> {
        let is_name = |service: &Value| service["spec"]["type"] == "ExternalName";
        if is_name(new) || texts(new).first() == Some(&"None") {
            return Ok(());
        }
        // Whoever has an address keeps it: the rules of updates forbid to change it.
        if old.is_some_and(|old| !is_name(old)) {
            return Ok(());
        }
        let asked = texts(new).first().map(|&text| text.to_owned());
        let address = match &asked {
            Some(text) => self.take_address(new, text)?,
            None => self.any_address(new)?,
        };
        let text = address.to_string();
        let spec = map_of(&mut new["spec"]);
        spec.insert("clusterIPs".into(), json!([text]));
        spec.insert("clusterIP".into(), text.into());
        Ok(())
    }

    fn take_address(&mut self, service: &Value, text: &str) -> Result<Ipv4Addr, Status> {
        let refuse = |why: String| {
            let error = FieldError::invalid(
                FieldPath::new("spec").child("clusterIPs"),
                &service["spec"]["clusterIPs"],
                format!("failed to allocate IP {text}: {why}"),
            );
            let name = service["metadata"]["name"].as_str().unwrap_or_default();
            Status::invalid("", "Service", name, &[error])
        };
        let address = match text.parse() {
            Ok(IpAddr::V4(address))
                if SERVICE_RANGE.contains(address) || self.is_of_another_range(address) =>
            {
                address
            }
            _ => {
                return Err(refuse(format!(
                    "the provided IP ({text}) is not in the valid range. The range of valid IPs is {SERVICE_RANGE}"
                )));
            }
        };
        if self.dry_run {
            return Ok(address);
        }
        if !self.pools.addresses.is_free(self.store, address) {
            return Err(refuse("provided IP is already allocated".to_owned()));
        }
        self.note_address(address);
        Ok(address)
    }

    /// Returns whether an address is of a range that someone added.
    fn is_of_another_range(&self, address: Ipv4Addr) -> bool {
        let ranges = ResourceKey::new("networking.k8s.io", "servicecidrs");
        let Ok(listing) = self.store.list(&ranges, None, None, None, None) else {
            return false;
        };
        listing.items.iter().any(|stored| {
            let range = stored.value();
            // Nothing more is given from a range that goes.
            let is_ready = conditions::is_true(&range["status"], "Ready") && !range.is_being_deleted();
            let cidrs = range["spec"]["cidrs"].as_array().into_iter().flatten();
            let mut own = cidrs.filter_map(|text| Range::read(text.as_str()?));
            is_ready && own.any(|range| range.contains(address))
        })
    }

    fn any_address(&mut self, service: &Value) -> Result<Ipv4Addr, Status> {
        if self.dry_run {
            // The real server shows the range itself, because nothing is allocated.
            return Ok(SERVICE_RANGE.first);
        }
        let usable = SERVICE_RANGE.usable();
        let dynamic = usable - LEFT_FOR_THE_ASKING;
        let start = random_below(dynamic);
        let free = (0..dynamic)
            .map(|step| LEFT_FOR_THE_ASKING + (start + step) % dynamic)
            .chain(0..LEFT_FOR_THE_ASKING)
            .map(|offset| SERVICE_RANGE.at(offset))
            .find(|address| self.pools.addresses.is_free(self.store, *address));
        let Some(address) = free else {
            let name = service["metadata"]["name"].as_str().unwrap_or_default();
            return Err(Status::internal(format_args!(
                "failed to allocate a serviceIP for Service {name:?}: range is full"
            )));
        };
        self.note_address(address);
        Ok(address)
    }

    fn note_address(&mut self, address: Ipv4Addr) {
        self.pools.addresses.taken.insert(address, Holder::Write);
        self.claim.addresses.push(address);
    }
}
