//! Whether what was installed for a version works.

use std::time::Duration;

use classic::World;
use jiff::Timestamp;
use serde_json::Value;

use crate::api_services::{self, Availability};
use crate::deployments::{self, Trouble};
use crate::progress::Progress;
use crate::version::ServiceVersion;
use crate::webhooks::{self, Configured};

/// How soon an API that is away for a short time is looked at again.
const DISRUPTED_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// What came of looking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Everything works.
    Good,
    /// Something doesn't, and the phase says so.
    Bad,
    /// Something doesn't, but will; it is looked at again then.
    Later(Duration),
}

/// Moves a version to `Succeeded` where everything works, and else to a phase that says what doesn't.
pub fn judge(
    world: &World,
    version: ServiceVersion<'_>,
    expected: &[Value],
    progress: &mut Progress<'_>,
    (phase, reason): (&str, &str),
    now: Timestamp,
) -> Health {
    let deployed = deployments::check(world, version, expected);
    let available = api_services::availability(world, version, now);
    let configured = webhooks::configured(world, version);
    match (deployed, available, configured) {
        (Ok(()), Availability::Available, Configured::Yes) => {
            progress.set(
                "Succeeded",
                "InstallSucceeded",
                "install strategy completed with no errors",
            );
            return Health::Good;
        }
        (Err(Trouble::Hopeless(why)), ..) => {
            progress.set("Failed", "InstallCheckFailed", &format!("install failed: {why}"));
        }
        (_, Availability::Disrupted, _) => return Health::Later(DISRUPTED_AGAIN_AFTER),
        (_, Availability::Unavailable, _) => progress.set(phase, reason, "apiServices not installed"),
        (_, _, Configured::Broken(why)) => {
            progress.set("InstallReady", reason, &format!("Webhook install failed: {why}"));
        }
        (_, _, Configured::No) => progress.set(phase, reason, "webhooks not installed"),
        (Err(Trouble::Drift(why)), ..) => {
            progress.set("InstallReady", reason, &format!("installing: {why}"));
        }
        (Err(Trouble::Waiting(why)), ..) => progress.set(phase, reason, &format!("installing: {why}")),
    }
    Health::Bad
}
