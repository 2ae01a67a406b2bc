//! Whether and how long commands wait until the cluster has done what they asked for.

use std::time::Duration;

use clap::Args;
use futures_util::{Stream, StreamExt as _};

/// How long the first look at what is waited for may take: a busy server or a slow network, but no hole in it. The patience of who
/// waits begins with that look, so that a short one is enough to say how things stand.
pub(crate) const SEEN_WITHIN: Duration = Duration::from_mins(1);

/// Whether a command waits for what it asked for.
#[derive(Args, Clone, Copy)]
pub(crate) struct WaitFlags {
    /// Don't wait until the cluster has done it
    #[arg(long)]
    no_wait: bool,
    /// How long to wait, in seconds
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 300,
        conflicts_with = "no_wait"
    )]
    timeout: u64,
}

impl WaitFlags {
    /// Whether nobody waits.
    pub(crate) fn is_declined(self) -> bool {
        self.no_wait
    }

    /// How long is waited.
    pub(crate) fn patience(self) -> Duration {
        Duration::from_secs(self.timeout)
    }
}

/// How long changes are gathered: they come in bursts, and what they come to is looked at when one is over.
pub(crate) const GATHERED_FOR: Duration = Duration::from_millis(300);

/// Waits for a change and for those that follow it at once. Where no more changes are told of, this has no end.
pub(crate) async fn burst(mut changes: impl Stream<Item = ()> + Unpin) {
    if changes.next().await.is_none() {
        std::future::pending::<()>().await;
    }
    while let Ok(Some(())) = tokio::time::timeout(GATHERED_FOR, changes.next()).await {}
}
