//! OLM v0 as its users see it: `baton controllers` on a cluster, used and watched with the real kubectl.
//!
//! ```text
//! server (baton stage | kube-apiserver) ◄── baton controllers ──► registry (in this process), catalog servers
//!              ▲                                                      ▲
//!           kubectl ◄──────────────── scenarios ─────────────────────┘
//! ```
//!
//! Most scenarios share a cluster and differ by the names that they use; those that kill, stop or replace processes have a
//! cluster for themselves. All is told on both servers; it is a suite because kubectl is the real one.

#[path = "../olmv1/bundles.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod bundles;
mod catalog_server;
mod catalogs;
mod certificates;
#[path = "../olmv1/collector.rs"]
mod collector;
mod commands;
#[path = "../olmv1/conditions.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod conditions;
mod faults;
mod files;
mod front_proxy;
#[path = "../olmv1/images.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod images;
#[path = "../olmv1/killed_rollouts.rs"]
mod killed_rollouts;
mod kills;
mod kubectl;
#[path = "../olmv1/kubernetes.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod kubernetes;
mod leftovers;
#[path = "../olmv1/network_faults.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod network_faults;
mod observed;
mod packages;
#[path = "../olmv1/played.rs"]
mod played;
#[path = "../olmv1/processes.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod processes;
#[path = "../olmv1/reference.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod reference;
#[path = "../olmv1/runner.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod runner;
mod scenario;
mod seed;
mod service_versions;
mod sources;
#[path = "../olmv1/terminal.rs"]
#[expect(dead_code, reason = "the scenarios of OLM v1 use the rest of it")]
mod terminal;
mod world;
#[path = "../olmv1/write_counting.rs"]
mod write_counting;

use std::process::ExitCode;

use processes::Kind;
use runner::{Case, Story, cases, stories};
use suite::Suite;

/// Those that can share a cluster.
const SCENARIOS: &[Case] = &cases![
    "install": seed::a_subscription_leads_to_an_operator,
    "manual": seed::a_plan_waits_for_approval,
    "upgrade": seed::a_new_catalog_brings_a_new_version,
    "starting": seed::a_subscription_begins_where_it_says,
    "channel": seed::another_channel_leads_on,
    "user": seed::a_plan_of_a_user_is_carried_out,
    "failing": service_versions::a_version_fails_and_recovers,
    "copies": service_versions::a_version_is_copied_to_where_it_watches,
    "deleting": service_versions::what_is_deleted_leaves_definitions,
    "missing": service_versions::what_is_missing_is_noticed_as_it_comes,
    "needs": packages::what_an_operator_needs_comes_with_it,
    "packages": packages::packages_are_listed_and_watched,
    "columns": packages::kubectl_shows_how_far_a_version_is,
    "address": sources::a_server_is_a_catalog,
    "map": sources::a_config_map_is_a_catalog,
    "template": sources::an_image_depends_on_the_clusters_version,
    "bundle": sources::a_missing_bundle_holds_up_nobody_else,
    "broken": sources::a_broken_bundle_and_a_missing_catalog_hold_up_nobody_else,
    "many": sources::many_operators_come_at_once,
    "rotation": certificates::a_certificate_is_replaced_before_it_ends,
];

/// Those that have a cluster for themselves; the longest first.
const STORIES: &[Story] = &stories![
    "kills": kills::a_rollout_survives_every_kill,
    "commands": commands::the_commands_say_what_they_do,
    "none": faults::catalogs_that_are_none_hold_up_nobody_else,
    "two": faults::two_at_once_come_to_rest,
    "slow": faults::a_slow_registry_holds_up_nobody_else,
    "leader": faults::another_process_takes_over,
    "lost": faults::a_lease_is_lost_and_found,
    "gone": faults::a_registry_that_is_gone_holds_up_only_what_is_new,
    "traced": observed::work_is_traced,
];

/// Those that only the embedded server can be told of.
const STAGE_STORIES: &[Story] = &stories![
    "restart": faults::a_server_that_restarts_loses_nothing,
];

fn main() -> ExitCode {
    Suite::new("olmv0")
        .with(played::scenarios(Kind::Stage, SCENARIOS))
        .with(played::stories(Kind::Stage, STORIES.iter().chain(STAGE_STORIES)))
        .with(played::scenarios(Kind::Kubernetes, SCENARIOS))
        .with(played::stories(Kind::Kubernetes, STORIES))
        .main()
}
