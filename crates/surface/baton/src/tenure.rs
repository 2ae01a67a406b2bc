//! How a replica holds the Lease that says which one works.

use std::time::Duration;

use duty::leader::Tenure;

/// How often a Lease is renewed in the time that it lasts: two failures in a row are survived.
const RENEWALS: u32 = 3;

/// Returns how this process holds a Lease that lasts this long.
pub(crate) fn of(namespace: &str, lease: &str, lasts: Duration) -> Tenure {
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let host = host.trim();
    // Two replicas may run on one machine, and a process may come back with the number of another.
    let begun = jiff::Timestamp::now().as_nanosecond();
    let identity = format!("{host}_{}_{begun:x}", std::process::id());
    Tenure {
        lasts,
        renews_within: lasts * (RENEWALS - 1) / RENEWALS,
        every: lasts / (RENEWALS + 1),
        ..Tenure::new(namespace, lease, &identity)
    }
}
