//! Which of several replicas writes to the cluster.

use duty::leader::{self, Tenure};
use kube::Client;
use tokio::sync::watch;

/// Leads whenever the Lease is held: `work` is done, and `leads` says so to others.
///
/// Ends when `stop` becomes true, which `work` has to heed by itself. The Lease is given back then, so that the next replica
/// needn't wait until it runs out.
pub(crate) async fn hold<W: Future<Output = ()>>(
    client: &Client,
    tenure: &Tenure,
    leads: &watch::Sender<bool>,
    stop: &watch::Receiver<bool>,
    work: impl Fn() -> W,
) {
    loop {
        let work = async {
            leads.send_replace(true);
            work().await;
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

/// Waits until a signal becomes true.
pub(crate) async fn becomes_true(mut signal: watch::Receiver<bool>) {
    // Nobody being left who could say so is as good as being told.
    signal.wait_for(|signal| *signal).await.ok();
}
