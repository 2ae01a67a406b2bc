//! What a Subscription says of a package, channel or bundle that shall not be used any more.

use jiff::Timestamp;
use resolve::classic::entry::Deprecations;
use serde_json::Value;

use super::Subscription;
use crate::conditions::{self, condition, field};
use crate::moment;

const DEPRECATED: &str = "Deprecated";
const PACKAGE: &str = "PackageDeprecated";
const CHANNEL: &str = "ChannelDeprecated";
const BUNDLE: &str = "BundleDeprecated";

/// Brings the conditions about deprecations up to date.
pub(super) fn update(
    subscription: Subscription<'_>,
    status: &mut Value,
    deprecations: &Deprecations,
    now: Timestamp,
) {
    // Without a channel of its own, a Subscription didn't choose the one that is deprecated.
    let channel = deprecations
        .channel
        .as_deref()
        .filter(|_| !subscription.channel().is_empty());
    let single = [
        (PACKAGE, deprecations.package.as_deref()),
        (CHANNEL, channel),
        (BUNDLE, deprecations.bundle.as_deref()),
    ];
    let all: Vec<&str> = single.iter().filter_map(|(_, message)| *message).collect();
    let all = all.join("; ");
    for (condition_type, message) in single {
        tell(status, condition_type, message, now);
    }
    tell(status, DEPRECATED, (!all.is_empty()).then_some(all.as_str()), now);
}

fn tell(status: &mut Value, condition_type: &str, message: Option<&str>, now: Timestamp) {
    let Some(message) = message else {
        conditions::remove(status, &[condition_type]);
        return;
    };
    let existing = conditions::get(status, condition_type);
    if existing.is_some_and(|existing| field(existing, "message") == message) {
        return;
    }
    let mut wanted = condition(condition_type, "True", "", message);
    wanted["lastTransitionTime"] = Value::from(moment::text(now));
    conditions::set(status, wanted);
}
