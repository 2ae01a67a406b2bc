//! Replicas of baton on a real Kubernetes: one of them works, the others wait, and nothing is lost or done twice when they are
//! killed, paused and cut off.
//!
//! ```text
//! kube-apiserver (audit log: who wrote what, when), registry (in this process)
//!        ▲  bridge
//!        ├── namespace 1: baton controllers, baton operator run
//!        ├── namespace 2: …
//!        └── namespace 3: …
//! ```
//!
//! Each process has a name of its own at the API server, whose audit log proves who wrote and when. Network namespaces need
//! the rights of root. `BATON_CHAOS_MINUTES=20` lets the chaos last, with other disturbances each time; `BATON_CHAOS_SEED` repeats
//! one.

mod audit;
#[path = "../olmv1/bundles.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod bundles;
#[path = "../classic/catalogs.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v0 use the rest of it")]
mod catalogs;
mod chaos;
#[path = "../olmv1/conditions.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod conditions;
mod handover;
#[path = "../olmv1/images.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod images;
#[path = "../olmv1/kubernetes.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod kubernetes;
#[path = "../olmv1/leftovers.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod leftovers;
mod network;
#[path = "../olmv1/reference.rs"]
mod reference;
mod replica;
#[path = "../olmv1/scenario.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod scenario;
#[path = "../olmv1/secrets.rs"]
mod secrets;
mod stacks;
mod upgrades;
mod world;

use std::process::ExitCode;
use std::time::Duration;

use suite::{Case, Group, Suite, cases};

/// How long preparing, ending and looking back may take, besides what the chaos lasts.
const LIMIT: Duration = Duration::from_mins(15);

async fn another_replica_goes_on_and_the_former_one_writes_nothing() -> Result<(), String> {
    suite::say(handover::another_replica_goes_on().await?);
    Ok(())
}

async fn nothing_is_lost_and_nothing_is_doubled_in_chaos() -> Result<(), String> {
    suite::say(chaos::everything_is_whole_in_the_end().await?);
    Ok(())
}

fn main() -> ExitCode {
    let limit = LIMIT + chaos::length();
    // One after the other: both want the whole machine.
    let cases: [Case<()>; 2] = cases![
        another_replica_goes_on_and_the_former_one_writes_nothing,
        nothing_is_lost_and_nothing_is_doubled_in_chaos,
    ];
    let group = Group::free("kubernetes").within(limit).cases(cases);
    Suite::new("replicas").with(group).main()
}
