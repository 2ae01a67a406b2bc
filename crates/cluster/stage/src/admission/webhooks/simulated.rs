//! Webhooks whose pods are simulated: nobody would answer, so nobody is asked.
//!
//! A write that waited for such a webhook would wait in vain, and an operator whose webhook is about Deployments would stop
//! the whole cluster.

use super::registered::Webhook;
use crate::admission::Review;
use crate::events::{EventType, Reporter};

/// Who tells that a webhook was passed over.
const REPORTER: Reporter = Reporter {
    component: "admission",
    host: "",
    program: "kube-apiserver",
};

/// What becomes of a write that a webhook in simulated pods should be asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SimulatedWebhooks {
    /// It goes on, and whoever writes is warned.
    #[default]
    Skip,
    /// It is treated as if the webhook couldn't be reached, so its `failurePolicy` decides.
    Fail,
}

/// Says that a write goes on without a webhook: to whoever writes, and by an event on the webhook's configuration.
pub(super) fn skip(review: &Review<'_>, webhook: &Webhook, why: &str) {
    let text = format!("webhook \"{}\" was not asked: {why}", webhook.name);
    review.call.warn(text.as_str());
    // An event about the write of an event would bring the next one.
    if review.dry_run || &*review.place.resource.plural == "events" {
        return;
    }
    let recorder = review.api.events.recorder(REPORTER);
    let about = webhook.configuration.as_ref().clone();
    recorder.tell_of(about, EventType::Warning, "WebhookSimulated", text, "");
}
