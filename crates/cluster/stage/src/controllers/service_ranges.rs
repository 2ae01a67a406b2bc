//! `ServiceCIDRs`, the ranges of addresses that Services have: ready when they are made, and gone when no Service needs them.

use std::net::IpAddr;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::conditions;
use super::service_addresses::{ADDRESSES, MANAGED_BY, MANAGER};
use super::work::{Affected, Controller, Item, Next, itself};
use crate::api::Api;
use crate::client::{Client, Named};
use crate::object::{Object, timestamp};
use crate::status::Status;
use crate::store::{Event, ResourceKey};

const RANGES: Named<'static> = ("networking.k8s.io", "servicecidrs");

/// The finalizer of ranges.
const FINALIZER: &str = "networking.k8s.io/service-cidr-finalizer";

/// How long a range that is deleted stays at least, so that whoever gives addresses has heard of it.
const DELETION_GRACE: SignedDuration = SignedDuration::from_secs(10);

/// Says of ranges that they can be used, and keeps those that Services need.
#[derive(Debug)]
pub struct ServiceRanges;

impl Controller for ServiceRanges {
    const NAME: &'static str = "service-cidrs-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![
            (ResourceKey::new(RANGES.0, RANGES.1), itself),
            (ResourceKey::new(ADDRESSES.0, ADDRESSES.1), ranges_that_go),
        ]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(mut range) = client.get(RANGES, "", &item.name)? else {
            return Ok(Next::Wait);
        };
        if range.is_being_deleted() {
            return self.let_go(client, range).await;
        }
        if !range.finalizers().contains(&FINALIZER) {
            let mut finalizers: Vec<Value> = range.finalizers().into_iter().map(Value::from).collect();
            finalizers.push(FINALIZER.into());
            range
                .metadata_mut()
                .insert("finalizers".into(), finalizers.into());
            range = client.update(RANGES, range).await?;
        }
        note(client, range, "True", "", "Kubernetes Service CIDR is ready").await?;
        Ok(Next::Wait)
    }
}

impl ServiceRanges {
    /// Lets a range go that is deleted, unless addresses would be of no range.
    async fn let_go(&self, client: &Client, mut range: Value) -> Result<Next, Status> {
        if !range.finalizers().contains(&FINALIZER) {
            return Ok(Next::Wait);
        }
        let others: Vec<Value> = client
            .list(RANGES, "")?
            .into_iter()
            .filter(|other| other.name() != range.name())
            .collect();
        let addresses: Vec<IpAddr> = client
            .list(ADDRESSES, "")?
            .iter()
            .filter(|address| address.label(MANAGED_BY) == Some(MANAGER))
            .filter_map(|address| address.name().parse().ok())
            .collect();
        if is_needed(&range, &others, &addresses) {
            note(
                client,
                range,
                "False",
                "Terminating",
                "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR",
            )
            .await?;
            return Ok(Next::Wait);
        }
        let deleted: Option<Timestamp> = range.metadata_text("deletionTimestamp").parse().ok();
        let until = deleted.and_then(|deleted| deleted.checked_add(DELETION_GRACE).ok());
        let left = until.map_or(SignedDuration::ZERO, |until| {
            until.duration_since(Timestamp::now())
        });
        if left > SignedDuration::ZERO {
            return Ok(Next::After(Duration::try_from(left).unwrap_or_default()));
        }
        let finalizers: Vec<Value> = range
            .finalizers()
            .into_iter()
            .filter(|finalizer| *finalizer != FINALIZER)
            .map(Value::from)
            .collect();
        range
            .metadata_mut()
            .insert("finalizers".into(), finalizers.into());
        client.update(RANGES, range).await?;
        Ok(Next::Wait)
    }
}

/// Says whether a range is ready, where it doesn't say so already.
async fn note(
    client: &Client,
    mut range: Value,
    status: &str,
    reason: &str,
    message: &str,
) -> Result<(), Status> {
    let known = conditions::find(&range["status"], "Ready");
    if known.is_some_and(|known| known["status"] == status && known["reason"] == reason) {
        return Ok(());
    }
    let condition = json!({
        "type": "Ready", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": timestamp(Timestamp::now()),
    });
    conditions::put(&mut range["status"], condition);
    client.update_status(RANGES, range).await?;
    Ok(())
}

/// Returns the ranges that wait to go, when an address has gone.
fn ranges_that_go(api: &Api, _: &Event) -> Vec<Item> {
    let ranges = ResourceKey::new(RANGES.0, RANGES.1);
    let Ok(listing) = api.store.list(&ranges, None, None, None, None) else {
        return Vec::new();
    };
    let going = listing
        .items
        .iter()
        .filter(|stored| stored.value().is_being_deleted());
    going.map(|stored| Item::of(stored)).collect()
}

/// Returns whether one of the addresses is of this range and of no other.
fn is_needed(range: &Value, others: &[Value], addresses: &[IpAddr]) -> bool {
    let contains = |range: &Value, address: IpAddr| {
        let written = range["spec"]["cidrs"].as_array().into_iter().flatten();
        written
            .filter_map(|text| prefix(text.as_str()?))
            .any(|prefix| is_below(prefix, address))
    };
    addresses
        .iter()
        .any(|address| contains(range, *address) && !others.iter().any(|other| contains(other, *address)))
}

/// Reads a range such as `10.96.0.0/12`.
fn prefix(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = text.split_once('/')?;
    Some((address.parse().ok()?, bits.parse().ok()?))
}

fn is_below((first, bits): (IpAddr, u32), address: IpAddr) -> bool {
    let shared = |one: u128, other: u128, width: u32| {
        let free = width.saturating_sub(bits);
        one.checked_shr(free).unwrap_or(0) == other.checked_shr(free).unwrap_or(0)
    };
    match (first, address) {
        (IpAddr::V4(first), IpAddr::V4(address)) => {
            shared(first.to_bits().into(), address.to_bits().into(), u32::BITS)
        }
        (IpAddr::V6(first), IpAddr::V6(address)) => shared(first.to_bits(), address.to_bits(), u128::BITS),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_needed_while_an_address_is_of_no_other() {
        let range = |cidrs: &[&str]| json!({"spec": {"cidrs": cidrs}});
        let addresses: Vec<IpAddr> = ["10.1.0.5", "fd00::7"]
            .iter()
            .map(|text| text.parse().expect("an address"))
            .collect();
        for (own, others, expected) in [
            (range(&["10.1.0.0/16"]), vec![], true),
            (range(&["10.2.0.0/16"]), vec![], false),
            (range(&["10.1.0.0/16"]), vec![range(&["10.0.0.0/8"])], false),
            (range(&["10.1.0.0/16"]), vec![range(&["10.1.0.0/30"])], true),
            (range(&["fd00::/108"]), vec![range(&["10.0.0.0/8"])], true),
            (range(&["broken"]), vec![], false),
        ] {
            assert_eq!(is_needed(&own, &others, &addresses), expected, "{own}");
        }
    }
}
