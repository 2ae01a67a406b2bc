//! Bundles that can't be had, or not soon: those who want them are set aside, and the rest of the namespace goes on.
//!
//! Upstream waits with the whole namespace. The plan is shared here as well, so a bundle that is only a moment late is
//! waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use apply::object::ObjectId;
use classic::{Kind, Notice, World};
use jiff::{SignedDuration, Timestamp};
use resolve::classic::entry::CatalogKey;
use serde_json::Value;

use super::answer::Answer;
use super::conclusion::Failures;
use super::states::unpack_retry;
use crate::bundle_lookup::{NO_BUNDLE, Unpacked};
use crate::conditions::{self, condition};
use crate::selection::{Location, Selected};
use crate::steps::{self, StepError};
use crate::subscription::{BUNDLE_UNPACK_FAILED, BUNDLE_UNPACKING, RESOLUTION_FAILED, Subscription};

/// How long an image may be on its way before the others of its namespace go on without it.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_secs(10);

/// What holds up Subscriptions, beside what the resolver says.
#[derive(Debug, Default)]
pub(super) struct Obstacles {
    /// The condition of each Subscription that is held up.
    conditions: BTreeMap<String, Value>,
    /// How soon it may be different without anybody saying so.
    look_again_after: Option<Duration>,
}

impl Obstacles {
    /// Finds who waits for images that can't be had, or that take long.
    pub(super) fn of_images(
        world: &World,
        namespace: &str,
        answer: &Answer,
        unpacked: &BTreeMap<String, Unpacked>,
        now: Timestamp,
    ) -> Self {
        let mut obstacles = Self::default();
        for selected in &answer.selected {
            match selected.image().and_then(|path| unpacked.get(path)) {
                Some(Unpacked::Failed { reason, message, at }) => {
                    let retry = unpack_retry(world, namespace);
                    let wanted = image_is_unavailable(reason, message, retry);
                    let rest = retry.saturating_sub(now.duration_since(*at).unsigned_abs());
                    obstacles.hold_up(answer, selected, &wanted, Some(rest));
                }
                Some(Unpacked::Pending { message, since }) if now.duration_since(*since) > LONGEST_WAIT => {
                    let wanted = condition(BUNDLE_UNPACKING, "True", "UnpackingInProgress", message);
                    obstacles.hold_up(answer, selected, &wanted, None);
                }
                _ => {}
            }
        }
        obstacles
    }

    /// Finds beside them who waits for a bundle that can't be made into steps.
    pub(super) fn of_content(
        world: &World,
        namespace: &str,
        answer: &Answer,
        unpacked: &BTreeMap<String, Unpacked>,
        now: Timestamp,
    ) -> Self {
        let mut obstacles = Self::of_images(world, namespace, answer, unpacked, now);
        for selected in &answer.selected {
            let (content, is_image) = match &selected.location {
                Location::Inline(content) => (content, false),
                Location::Image(path) => match unpacked.get(path) {
                    Some(Unpacked::Ready { content, .. }) => (content, true),
                    _ => continue,
                },
            };
            let (properties, source) = (&selected.properties, &selected.source);
            let Err(error) = steps::of_bundle(content, properties, namespace, &selected.replaces, source)
            else {
                continue;
            };
            let wanted = if is_image {
                image_is_broken(&error)
            } else {
                let message = format!("failed to turn bundle into steps: {error}");
                condition(RESOLUTION_FAILED, "True", "ErrorPreventedResolution", &message)
            };
            obstacles.hold_up(answer, selected, &wanted, None);
        }
        obstacles
    }

    fn hold_up(&mut self, answer: &Answer, selected: &Selected, wanted: &Value, again: Option<Duration>) {
        let subscriptions = answer.wanted_by.get(&selected.name);
        for subscription in subscriptions.into_iter().flatten() {
            // What can't be had weighs more than what is late.
            let before = self.conditions.get(subscription);
            if before.is_none_or(|before| conditions::field(before, "type") == BUNDLE_UNPACKING) {
                self.conditions.insert(subscription.clone(), wanted.clone());
            }
            self.look_again_after = self.look_again_after.into_iter().chain(again).min();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Who is held up.
    pub(super) fn subscriptions(&self) -> BTreeSet<String> {
        self.conditions.keys().cloned().collect()
    }

    /// Tells it beside what else failed.
    pub(super) fn tell(&self, objects: &[&Value], failures: &mut Failures) {
        for (subscription, wanted) in &self.conditions {
            let mut found = objects
                .iter()
                .filter(|object| Subscription(object).name() == subscription);
            if let Some(object) = found.next()
                && conditions::field(wanted, "type") != BUNDLE_UNPACKING
            {
                let kind = conditions::field(wanted, "type");
                let existing = conditions::get(Subscription(object).status(), kind);
                if !existing.is_some_and(|existing| conditions::say_the_same(existing, wanted)) {
                    failures.decision.notices.push(notice(object, wanted));
                }
            }
            failures.conditions.insert(subscription.clone(), wanted.clone());
        }
        let again = [failures.decision.look_again_after, self.look_again_after];
        failures.decision.look_again_after = again.into_iter().flatten().min();
    }
}

/// Returns the images of an answer that couldn't be had and are to be tried again by now, with the catalogs that name them.
pub fn due_again<'a>(
    world: &World,
    namespace: &str,
    answer: &'a Answer,
    unpacked: &BTreeMap<String, Unpacked>,
    now: Timestamp,
) -> Vec<(&'a str, &'a CatalogKey)> {
    let retry = unpack_retry(world, namespace);
    let is_due = |path: &str| match unpacked.get(path) {
        Some(Unpacked::Failed { at, .. }) => now.duration_since(*at).unsigned_abs() >= retry,
        _ => false,
    };
    let images = answer
        .selected
        .iter()
        .filter_map(|selected| Some((selected.image()?, &selected.source)));
    images.filter(|(path, _)| is_due(path)).collect()
}

/// The condition of those whose image can't be pulled, or is no bundle.
pub(super) fn image_is_unavailable(reason: &str, message: &str, retry: Duration) -> Value {
    let advice = if reason == NO_BUNDLE {
        "Whoever publishes the operator has to mend the image, or to leave it out of the catalog."
    } else {
        "Common causes: a mirror or a credential that is missing, an image that doesn't exist."
    };
    let message = format!(
        "Bundle unpacking failed - {reason}: {message}. Auto-retry in {} s. {advice}",
        retry.as_secs()
    );
    condition(BUNDLE_UNPACK_FAILED, "True", "BundleUnpackFailed", &message)
}

/// The condition of those whose image is no bundle.
pub(super) fn image_is_broken(error: &StepError) -> Value {
    let message = if error.is_fatal() {
        error.to_string()
    } else {
        format!("bundle unpacking failed with an error: failed to turn bundle into steps: {error}")
    };
    condition(BUNDLE_UNPACK_FAILED, "True", "ErrorPreventedUnpacking", &message)
}

/// The event that tells a Subscription's condition.
pub(super) fn notice(object: &Value, condition: &Value) -> Notice {
    Notice {
        about: ObjectId {
            api_version: Kind::Subscription.naming().api_version.to_owned(),
            kind: Kind::Subscription.naming().kind.to_owned(),
            ..ObjectId::of(object)
        },
        is_warning: true,
        reason: conditions::field(condition, "type").to_owned(),
        message: conditions::field(condition, "message").to_owned(),
    }
}
