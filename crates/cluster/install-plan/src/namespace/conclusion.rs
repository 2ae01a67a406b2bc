//! What an answer leads to: conditions, images to pull, or a plan.

use std::collections::BTreeMap;
use std::time::Duration;

use classic::{Decision, World, Write};
use jiff::Timestamp;
use serde_json::Value;

use super::answer::{Answer, Failure};
use super::link::settled;
use super::new_plan::NewPlan;
use super::obstacles::{Obstacles, image_is_broken, image_is_unavailable, notice};
use super::states::unpack_retry;
use super::{failed, subscriptions};
use crate::bundle_lookup::{BundleLookup, Unpacked};
use crate::conditions::{self, condition};
use crate::manifest::Reference;
use crate::steps::{self, Planned, Step, StepError};
use crate::subscription::{BUNDLE_UNPACKING, RESOLUTION_FAILED, Subscription, state, status_of, with_status};

/// How soon a namespace is looked at again when something stood in the way of resolving it. A catalog that comes back
/// wakes it earlier.
const RETRY_AFTER_FAILURE: Duration = Duration::from_secs(30);

/// How soon an image that is being pulled is asked for again, in case nobody says that it is here.
const RETRY_WHILE_UNPACKING: Duration = Duration::from_secs(5);

/// What becomes of a namespace after it was resolved.
#[derive(Debug, Clone, PartialEq)]
pub enum Conclusion {
    /// There is nothing more to do than these writes.
    Settled(Decision),
    /// These images are needed; then [`conclude`] is asked again.
    NeedsBundles {
        /// The images.
        lookups: Vec<BundleLookup>,
        /// What is written meanwhile.
        decision: Decision,
    },
    /// A plan is to be made.
    Plan(Box<NewPlan>),
}

/// Returns what becomes of a namespace. `unpacked` says what is known of the bundle images by their path; of those that
/// aren't in it nothing is known yet.
pub fn conclude(
    world: &World,
    namespace: &str,
    answer: &Answer,
    unpacked: &BTreeMap<String, Unpacked>,
    now: Timestamp,
) -> Conclusion {
    let obstacles = Obstacles::of_images(world, namespace, answer, unpacked, now);
    conclude_without(world, namespace, answer, &obstacles, unpacked, now).unwrap_or_else(|conclusion| {
        // Something can't be made into steps. Where it is known whom that is about, the others go on.
        let obstacles = Obstacles::of_content(world, namespace, answer, unpacked, now);
        if obstacles.is_empty() {
            return *conclusion;
        }
        let without = conclude_without(world, namespace, answer, &obstacles, unpacked, now);
        without.unwrap_or_else(|conclusion| *conclusion)
    })
}

/// Returns what becomes of a namespace without those who are held up. What fails because a bundle can't be made into steps
/// is an error.
fn conclude_without(
    world: &World,
    namespace: &str,
    answer: &Answer,
    obstacles: &Obstacles,
    unpacked: &BTreeMap<String, Unpacked>,
    now: Timestamp,
) -> Result<Conclusion, Box<Conclusion>> {
    let objects = subscriptions(world, namespace);
    let views: Vec<Subscription<'_>> = objects.iter().map(|object| Subscription(object)).collect();
    let selected = answer.without(&obstacles.subscriptions());
    let planned = steps::of_resolution(world, namespace, &views, &selected)
        .map_err(|error| Box::new(unresolvable(namespace, &objects, &error, now)))?;
    let mut failures = told(namespace, &objects, &answer.failures);
    obstacles.tell(&objects, &mut failures);
    conclude_steps(world, namespace, &planned, failures, unpacked, now)
}

/// Returns what becomes of a namespace when it is known what is to be done, and for whom nothing can be.
pub fn conclude_planned(
    world: &World,
    namespace: &str,
    planned: &Planned,
    failures: &BTreeMap<String, Failure>,
    unpacked: &BTreeMap<String, Unpacked>,
    now: Timestamp,
) -> Conclusion {
    let failures = told(namespace, &subscriptions(world, namespace), failures);
    let concluded = conclude_steps(world, namespace, planned, failures, unpacked, now);
    concluded.unwrap_or_else(|conclusion| *conclusion)
}

fn conclude_steps(
    world: &World,
    namespace: &str,
    planned: &Planned,
    failures: Failures,
    unpacked: &BTreeMap<String, Unpacked>,
    now: Timestamp,
) -> Result<Conclusion, Box<Conclusion>> {
    let objects = subscriptions(world, namespace);
    let mut steps = planned.steps.clone();
    match unpack(namespace, planned, unpacked) {
        Images::Ready(more) => steps.extend(more),
        Images::Missing { lookups, message } => {
            let writes = unpacking(&objects, planned, &message, now);
            return Ok(Conclusion::NeedsBundles {
                lookups,
                decision: Decision {
                    writes,
                    look_again_after: Some(RETRY_WHILE_UNPACKING),
                    ..failures.decision
                },
            });
        }
        Images::Broken(error) => return Err(Box::new(broken(&objects, &error, now))),
        Images::Failed { reason, message } => {
            return Ok(unpack_failed(world, namespace, &objects, &reason, &message, now));
        }
    }
    if planned.changes.is_empty() {
        let mut decision = failures.decision;
        decision
            .writes
            .extend(settled(&objects, &[], &failures.conditions, None, now));
        return Ok(Conclusion::Settled(decision));
    }
    Ok(Conclusion::Plan(Box::new(NewPlan::new(
        world,
        namespace,
        &objects,
        steps,
        planned,
        failures.conditions,
        failures.decision,
    ))))
}

/// What failed for some Subscriptions.
pub(super) struct Failures {
    /// The conditions of the Subscriptions that failed.
    pub(super) conditions: BTreeMap<String, Value>,
    /// Events, and when to try again.
    pub(super) decision: Decision,
}

fn told(namespace: &str, objects: &[&Value], all: &BTreeMap<String, Failure>) -> Failures {
    let mut failures = Failures {
        conditions: BTreeMap::new(),
        decision: Decision::default(),
    };
    for (subscription, failure) in all {
        let wanted = condition(RESOLUTION_FAILED, "True", failure.reason(), &failure.text());
        if !failure.is_unsatisfiable {
            failures.decision.look_again_after = Some(RETRY_AFTER_FAILURE);
        }
        let is_known = objects
            .iter()
            .filter(|object| Subscription(object).name() == subscription)
            .filter_map(|object| conditions::get(Subscription(object).status(), RESOLUTION_FAILED))
            .any(|existing| conditions::say_the_same(existing, &wanted));
        // What is tried again by itself isn't announced, as upstream has it: a catalog may just be starting.
        let notice = failed(namespace, &failure.message);
        let is_news = failure.is_unsatisfiable && !is_known;
        if is_news && !failures.decision.notices.contains(&notice) {
            failures.decision.notices.push(notice);
        }
        failures.conditions.insert(subscription.clone(), wanted);
    }
    failures
}

/// What is known of the images of a plan.
pub(crate) enum Images {
    Ready(Vec<Step>),
    Missing {
        lookups: Vec<BundleLookup>,
        message: String,
    },
    Failed {
        reason: String,
        message: String,
    },
    Broken(StepError),
}

/// Makes steps of the images that are needed, in the order of their lookups.
pub(crate) fn unpack(namespace: &str, planned: &Planned, unpacked: &BTreeMap<String, Unpacked>) -> Images {
    let mut steps = Vec::new();
    let mut missing = Vec::new();
    let mut messages: Vec<&str> = Vec::new();
    for lookup in &planned.lookups {
        match unpacked.get(&lookup.path) {
            Some(Unpacked::Ready { image, content }) => {
                let properties = match resolve::classic::property::from_annotation(&lookup.properties) {
                    Ok(properties) => properties,
                    Err(source) => {
                        return Images::Broken(StepError::Properties {
                            name: lookup.identifier.clone(),
                            source,
                        });
                    }
                };
                let of_bundle =
                    steps::of_bundle(content, &properties, namespace, &lookup.replaces, &lookup.source);
                let reference = Reference::Image {
                    image: image.clone(),
                    bundle: lookup.identifier.clone(),
                };
                match of_bundle {
                    Ok(of_bundle) => steps.extend(of_bundle.into_iter().map(|step| Step {
                        resolving: lookup.identifier.clone(),
                        manifest: reference.to_manifest(),
                        ..step
                    })),
                    Err(error) => return Images::Broken(error),
                }
            }
            Some(Unpacked::Failed { reason, message, .. }) => {
                return Images::Failed {
                    reason: reason.clone(),
                    message: message.clone(),
                };
            }
            Some(Unpacked::Pending { message, .. }) => {
                missing.push(lookup.clone());
                if !message.is_empty() {
                    messages.push(message);
                }
            }
            None => missing.push(lookup.clone()),
        }
    }
    if missing.is_empty() {
        return Images::Ready(steps);
    }
    Images::Missing {
        lookups: missing,
        message: messages.join(" "),
    }
}

/// Sets a condition on every Subscription that doesn't say so yet.
fn tell_all(objects: &[&Value], wanted: &Value, remove: &[&str], now: Timestamp) -> Vec<Write> {
    let changed = objects.iter().filter_map(|object| {
        let mut status = status_of(object);
        conditions::remove(&mut status, remove);
        let existing = conditions::get(&status, conditions::field(wanted, "type"));
        if !existing.is_some_and(|existing| conditions::say_the_same(existing, wanted)) {
            conditions::set(&mut status, wanted.clone());
        }
        (status != status_of(object)).then(|| Write::UpdateStatus(with_status(object, status, now)))
    });
    changed.collect()
}

/// The writes while images are pulled. A Subscription whose operator is installed already says that there is an upgrade.
fn unpacking(objects: &[&Value], planned: &Planned, message: &str, now: Timestamp) -> Vec<Write> {
    let wanted = condition(BUNDLE_UNPACKING, "True", "UnpackingInProgress", message);
    let changed = objects.iter().filter_map(|object| {
        let subscription = Subscription(object);
        let mut status = status_of(object);
        let existing = conditions::get(&status, BUNDLE_UNPACKING);
        if !existing.is_some_and(|existing| conditions::say_the_same(existing, &wanted)) {
            conditions::set(&mut status, wanted.clone());
        }
        let is_upgraded = planned
            .changes
            .iter()
            .any(|change| change.subscription == subscription.name());
        if is_upgraded && subscription.state() == state::AT_LATEST_KNOWN {
            status["state"] = Value::from(state::UPGRADE_AVAILABLE);
        }
        (status != status_of(object)).then(|| Write::UpdateStatus(with_status(object, status, now)))
    });
    changed.collect()
}

/// Something about the bundles can't be made into steps.
fn unresolvable(namespace: &str, objects: &[&Value], error: &StepError, now: Timestamp) -> Conclusion {
    let message = format!("failed to turn bundle into steps: {error}");
    let wanted = condition(RESOLUTION_FAILED, "True", "ErrorPreventedResolution", &message);
    let writes = tell_all(objects, &wanted, &[], now);
    let notices = if writes.is_empty() {
        Vec::new()
    } else {
        vec![failed(namespace, &message)]
    };
    Conclusion::Settled(Decision {
        writes,
        notices,
        look_again_after: Some(RETRY_AFTER_FAILURE),
        ..Decision::default()
    })
}

/// A bundle image is no bundle. Trying again doesn't help before the catalog changes.
fn broken(objects: &[&Value], error: &StepError, now: Timestamp) -> Conclusion {
    let wanted = image_is_broken(error);
    Conclusion::Settled(Decision {
        writes: tell_all(objects, &wanted, &[BUNDLE_UNPACKING], now),
        ..Decision::default()
    })
}

/// A bundle image can't be pulled.
fn unpack_failed(
    world: &World,
    namespace: &str,
    objects: &[&Value],
    reason: &str,
    message: &str,
    now: Timestamp,
) -> Conclusion {
    let retry = unpack_retry(world, namespace);
    let wanted = image_is_unavailable(reason, message, retry);
    let writes = tell_all(objects, &wanted, &[BUNDLE_UNPACKING], now);
    let notices = if writes.is_empty() {
        Vec::new()
    } else {
        objects.iter().map(|object| notice(object, &wanted)).collect()
    };
    Conclusion::Settled(Decision {
        writes,
        notices,
        look_again_after: Some(retry),
        ..Decision::default()
    })
}
