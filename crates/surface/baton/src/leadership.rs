//! Which of several replicas writes to the cluster.

use std::sync::{Arc, PoisonError, RwLock};

use duty::fence::Fence;
use duty::leader::{self, Tenure, Term};
use kube::Client;
use tokio::sync::watch;

/// Leads whenever the Lease is held: `work` is done, and `leads` says so to others.
///
/// `work` gets a signal that becomes true when it has to end: because the Lease is lost, or because `stop` becomes true. In the
/// latter case this ends too, and the Lease is given back, so that the next replica needn't wait until it runs out. `fence` is
/// open only while it leads.
pub(crate) async fn hold<W: Future<Output = ()>>(
    client: &Client,
    tenure: &Tenure,
    fence: &Fence,
    leads: &watch::Sender<bool>,
    stop: &watch::Receiver<bool>,
    work: impl Fn(watch::Receiver<bool>) -> W,
) {
    loop {
        let work = async |term: Term| {
            let (say_over, over) = watch::channel(false);
            leads.send_replace(true);
            let ending = async {
                tokio::select! {
                    () = term.is_over() => {
                        leads.send_replace(false);
                    }
                    () = becomes_true(stop.clone()) => {}
                }
                say_over.send_replace(true);
                std::future::pending::<()>().await;
            };
            tokio::select! {
                () = work(over) => {}
                () = ending => {}
            }
        };
        let waiting_is_over = async {
            becomes_true(stop.clone()).await;
            // Who leads ends its work first.
            if *leads.borrow() {
                std::future::pending::<()>().await;
            }
        };
        let is_over = tokio::select! {
            done = leader::lead(client, tenure, fence, work) => done.is_some(),
            () = waiting_is_over => true,
        };
        leads.send_replace(false);
        if is_over || *stop.borrow() {
            return;
        }
    }
}

/// Waits until a signal becomes true.
pub(crate) async fn becomes_true(mut signal: watch::Receiver<bool>) {
    // Nobody being left who could say so is as good as being told.
    signal.wait_for(|signal| *signal).await.ok();
}

/// Tells what a controller counts.
type Telling = Arc<dyn Fn() -> String + Send + Sync>;

/// What the controller of the present term counts. Each term has a controller of its own: what one knew when it lost the
/// Lease may be wrong when it holds it again, and one that knows nothing looks at everything.
#[derive(Clone)]
pub(crate) struct TermMetrics(Arc<RwLock<Telling>>);

impl TermMetrics {
    /// Begins with a controller that may never work.
    pub(crate) fn new(tell: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(tell))))
    }

    /// Another controller works from now on.
    pub(crate) fn replace(&self, tell: impl Fn() -> String + Send + Sync + 'static) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(tell);
    }

    /// What it counts, in the text format of Prometheus.
    pub(crate) fn text(&self) -> String {
        let tell = Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner));
        tell()
    }
}
