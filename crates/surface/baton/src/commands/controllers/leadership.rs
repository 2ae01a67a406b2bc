//! Which of several replicas writes to the cluster.

use std::time::Duration;

use extension_controller::catalogs::Catalogs;
use extension_controller::controller::Controller;
use extension_controller::leader::{self, Tenure};
use kube::Client;
use tokio::sync::watch;

/// How often a Lease is renewed in the time that it lasts: two failures in a row are survived.
const RENEWALS: u32 = 3;

/// How a Lease is held that lasts this long.
pub(super) fn tenure(namespace: &str, lasts: Duration) -> Tenure {
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let host = host.trim();
    // Two replicas may run on one machine, and a process may come back with the number of another.
    let begun = jiff::Timestamp::now().as_nanosecond();
    let identity = format!("{host}_{}_{begun:x}", std::process::id());
    Tenure {
        lasts,
        renews_within: lasts * (RENEWALS - 1) / RENEWALS,
        every: lasts / (RENEWALS + 1),
        ..Tenure::new(namespace, leader::LEASE, &identity)
    }
}

/// Leads whenever the Lease is held: extensions are looked after, and `leads` says so to others.
///
/// Ends when `stop` becomes true. The Lease is given back then, so that the next replica needn't wait until it runs out.
pub(super) async fn hold<C: Catalogs>(
    client: &Client,
    tenure: &Tenure,
    leads: &watch::Sender<bool>,
    extensions: &Controller<C>,
    stop: &watch::Receiver<bool>,
) {
    loop {
        let work = async {
            leads.send_replace(true);
            extensions.run(becomes_true(stop.clone())).await;
        };
        let waiting_is_over = async {
            becomes_true(stop.clone()).await;
            // Who leads ends its work first.
            if *leads.borrow() {
                std::future::pending::<()>().await;
            }
        };
        let is_over = tokio::select! {
            done = leader::lead(client, tenure, work) => done.is_some(),
            () = waiting_is_over => true,
        };
        leads.send_replace(false);
        if is_over {
            return;
        }
    }
}

async fn becomes_true(mut signal: watch::Receiver<bool>) {
    // Nobody being left who could say so is as good as being told.
    signal.wait_for(|signal| *signal).await.ok();
}
