//! Counting what controllers write, so that they can be killed at any of their writes.

use std::time::Duration;

use reqwest::Method;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::kubernetes::Kubernetes;

/// How long a write may be waited for before a rollout counts as over.
const QUIET: Duration = Duration::from_secs(5);

/// How many writes lie between two kills; `BATON_KILL_STEP=1` kills at every one, which takes minutes.
pub(crate) fn kill_step(usual: usize) -> usize {
    let step = std::env::var("BATON_KILL_STEP").ok();
    step.and_then(|step| step.parse().ok()).unwrap_or(usual).max(1)
}

/// The writes to some objects, from the moment on that this was made.
pub(crate) struct Writes {
    seen: mpsc::UnboundedReceiver<()>,
    watches: Vec<JoinHandle<()>>,
}

impl Drop for Writes {
    fn drop(&mut self) {
        for watch in &self.watches {
            watch.abort();
        }
    }
}

impl Writes {
    /// Watches collections, each with a query.
    pub(crate) async fn to(
        kubernetes: &Kubernetes,
        collections: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, String> {
        let (sender, seen) = mpsc::unbounded_channel();
        let mut watches = Vec::new();
        for (collection, query) in collections {
            let (_, version) = kubernetes.list(&collection, &query).await?;
            let path = format!("{collection}?{query}&watch=true&resourceVersion={version}");
            let answer = kubernetes.request(Method::GET, &path).send().await;
            let answer = answer.map_err(|error| error.to_string())?;
            watches.push(tokio::spawn(count(answer, sender.clone())));
        }
        Ok(Self { seen, watches })
    }

    /// Waits for so many writes; returns whether there were fewer, and then nothing for a while.
    pub(crate) async fn end_before(mut self, count: usize) -> bool {
        for _ in 0..count {
            if !matches!(tokio::time::timeout(QUIET, self.seen.recv()).await, Ok(Some(()))) {
                return true;
            }
        }
        false
    }
}

/// Tells of each event of a watch.
async fn count(mut answer: reqwest::Response, seen: mpsc::UnboundedSender<()>) {
    let mut rest = Vec::new();
    while let Ok(Some(piece)) = answer.chunk().await {
        rest.extend_from_slice(&piece);
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=end).collect();
            let event: Value = serde_json::from_slice(&line).unwrap_or_default();
            if event["type"] != "BOOKMARK" && seen.send(()).is_err() {
                return;
            }
        }
    }
}
