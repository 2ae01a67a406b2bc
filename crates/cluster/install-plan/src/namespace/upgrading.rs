//! Upgrades under way: while both versions exist, nothing is asked about them.
//!
//! Upstream resolves all the same, finds two versions of one package, and writes `ResolutionFailed` to every Subscription
//! of the namespace until the old version is gone; sometimes it stays for ever.

use std::collections::BTreeSet;

use apply::object::text;
use classic::{Kind, World};
use serde_json::Value;

use crate::subscription::Subscription;

/// What stays out of a resolution.
#[derive(Debug, Default)]
pub(super) struct Upgrading<'a> {
    /// Subscriptions whose new version isn't finished.
    pub(super) subscriptions: BTreeSet<&'a str>,
    /// Versions that are about to go.
    pub(super) replaced: BTreeSet<&'a str>,
}

/// Finds the upgrades of a namespace that are under way. One that failed is none: what becomes of it is for the resolver
/// to say.
pub(super) fn find<'a>(world: &'a World, namespace: &str, objects: &[&'a Value]) -> Upgrading<'a> {
    let version = |name: &str| world.get(Kind::ClusterServiceVersion, namespace, name);
    let mut upgrading = Upgrading::default();
    for object in objects {
        let subscription = Subscription(object);
        let Some(current) = version(subscription.current()) else {
            continue;
        };
        if text(current, "/status/phase") == "Failed" {
            continue;
        }
        let mut replaced: BTreeSet<&'a str> = BTreeSet::new();
        let mut next = text(current, "/spec/replaces");
        while let Some(before) = version(next) {
            if next == subscription.current() || !replaced.insert(text(before, "/metadata/name")) {
                break;
            }
            next = text(before, "/spec/replaces");
        }
        let is_asked_for = |name: &&str| {
            let asks = |object: &&Value| {
                let other = Subscription(object);
                other.name() != subscription.name() && other.current() == *name
            };
            objects.iter().any(asks)
        };
        if !replaced.is_empty() && !replaced.iter().any(is_asked_for) {
            upgrading.subscriptions.insert(subscription.name());
            upgrading.replaced.extend(replaced);
        }
    }
    upgrading
}
