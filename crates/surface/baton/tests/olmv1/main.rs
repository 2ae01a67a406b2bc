//! OLM v1 as its users see it: `baton controllers` on a cluster, from a catalog's image to a running operator.
//!
//! ```text
//! server (baton stage | kube-apiserver) ◄── baton controllers ──► registry (in this process)
//!              ▲                                                      ▲
//!              └────────────────── scenarios ─────────────────────────┘
//! ```
//!
//! The scenarios are those of upstream's end-to-end suite, by their numbers, and a few more. Each is told once and runs
//! on both servers; most of them share a cluster and differ by the names that they use, and those that kill, stop or
//! replace processes have a cluster for themselves. Most of the time is waited, so that all of it runs at the same time.

mod access;
mod additions;
mod bundles;
mod certificates;
mod classic_kinds;
mod collector;
mod commands;
mod conditions;
mod demonstrations;
mod deployed;
mod documentation;
mod faults;
mod images;
mod install;
mod killed_rollouts;
mod kills;
mod kubernetes;
mod leftovers;
mod network_faults;
mod object_sets;
mod observed;
mod operation;
mod processes;
mod recovery;
mod reference;
mod runner;
mod scenario;
mod secrets;
mod secured;
mod signed;
mod terminal;
mod update;
mod webhook_server;
mod webhooks;
mod workloads;
mod world;
mod write_counting;

use processes::Kind;
use runner::{Case, Story, cases, hold, stories};

/// Those that can share a cluster.
const SCENARIOS: &[Case] = &cases![
    "9": install::what_never_becomes_available_exceeds_its_deadline,
    "10": install::what_never_completes_exceeds_its_deadline,
    "back": additions::a_failed_rollout_goes_back,
    "21": update::a_tag_that_moves_brings_a_version,
    "39": object_sets::archiving_after_the_deadline_cleans_up,
    "40": object_sets::what_is_late_succeeds_all_the_same,
    "1": install::the_latest_version_is_installed,
    "2": install::a_mirror_stands_for_its_registry,
    "3": install::two_catalogs_of_one_priority_are_told,
    "4": install::a_single_namespace_has_to_be_named,
    "5": install::the_own_namespace_has_to_be_named,
    "7": install::a_namespace_that_is_no_name_is_refused,
    "8": install::an_operator_of_all_namespaces_takes_none,
    "11": install::the_properties_of_a_bundle_are_on_its_revision,
    "12": install::a_revision_says_whose_it_is,
    "13": install::objects_lie_in_immutable_secrets,
    "14": install::a_node_selector_reaches_the_deployment,
    "15": install::a_large_definition_is_installed,
    "16": install::a_service_account_is_warned_of,
    "17": update::a_successor_is_installed,
    "18": update::what_is_no_successor_is_refused,
    "19": update::what_is_no_successor_can_be_forced,
    "20": update::another_image_of_the_catalog_brings_a_version,
    "22": update::the_same_content_is_a_new_revision,
    "23": update::a_second_extension_collides,
    "24": update::what_a_new_revision_lacks_goes,
    "25": update::all_active_revisions_are_told,
    "26": install::clearing_the_service_account_is_silent,
    "27": recovery::a_removed_object_comes_back,
    "28": recovery::a_namespace_may_come_later,
    "29": recovery::an_object_of_somebody_else_is_in_the_way,
    "30": recovery::objects_come_back_without_a_catalog,
    "31": recovery::a_change_is_taken_without_a_catalog,
    "32": object_sets::a_claim_that_is_not_bound_halts,
    "33": object_sets::a_claim_that_is_bound_lets_on,
    "34": object_sets::a_probe_that_fails_halts,
    "35": object_sets::probes_that_pass_let_on,
    "36": object_sets::objects_come_from_secrets,
    "37": object_sets::a_secret_that_may_change_blocks,
    "38": object_sets::content_that_changed_blocks,
    "41": workloads::what_is_not_ready_is_not_available,
    "42": workloads::what_is_ready_again_is_available_again,
    "43": workloads::nothing_is_left_of_what_is_removed,
    "44": workloads::what_users_add_stays,
    "45": workloads::a_restart_stays,
    "46": access::who_keeps_to_the_policy_is_let_in,
    "47": access::another_package_is_denied,
    "48": access::another_namespace_is_denied,
    "49": access::a_missing_selector_is_denied,
    "50": access::forcing_is_denied,
    "51": access::giving_up_the_checks_is_denied,
    "52": operation::metrics_are_told,
    "61": demonstrations::the_public_catalog_is_served,
    "62": demonstrations::an_operator_watches_another_namespace,
    "63": demonstrations::an_operator_watches_its_own_namespace,
    "drift": recovery::a_changed_object_is_put_right,
    "stuck": update::a_stuck_rollout_is_redirected,
    "kubectl": documentation::kubectl_shows_and_waits,
    "channel": documentation::a_channel_is_pinned,
    "range": documentation::a_range_is_kept_to,
    "priority": documentation::a_higher_priority_wins,
    "older": documentation::a_downgrade_has_to_be_certified,
    "old": documentation::deprecations_are_told,
    "approval": additions::a_version_waits_for_approval,
    "pause": additions::a_version_waits_for_the_end_of_a_pause,
    "window": additions::a_version_waits_for_its_window,
    "setting": additions::a_setting_that_means_nothing_is_told,
    "keep": additions::definitions_are_kept,
    "orphan": additions::everything_is_kept,
    "image": additions::a_bundle_image_needs_no_catalog,
    "thousand": faults::a_thousand_documents_are_installed,
    "roles": faults::a_bundle_may_not_take_the_clusters_roles,
    "thief": faults::a_bundle_may_not_take_from_another,
];

/// Those that have a cluster for themselves; the longest first.
const STORIES: &[Story] = &stories![
    "kills": kills::a_rollout_survives_every_kill,
    "commands": commands::the_commands_say_what_they_do,
    "webhooks": webhooks::operators_with_webhooks_work,
    "deployed": deployed::an_installation_works_with_its_own_rights,
    "takeover": deployed::upstreams_installation_is_taken_over,
    "56": secured::metrics_are_served_with_tls,
    "traced": observed::work_is_traced_and_profiled,
    "signed": signed::signatures_are_demanded_and_told,
    "53": operation::another_process_takes_over,
    "gone": faults::a_registry_that_is_gone_holds_up_only_what_is_new,
    "65": operation::a_newer_release_goes_on,
    "54": operation::a_proxy_that_is_gone_is_told,
    "55": operation::requests_go_through_the_proxy,
    "slow": faults::a_slow_registry_holds_up_nobody_else,
    "lies": faults::a_registry_that_lies_is_not_believed,
];

/// Those that only the embedded server can be told of.
const STAGE_STORIES: &[Story] = &stories![
    "restart": faults::a_server_that_restarts_loses_nothing,
];

#[tokio::test(flavor = "multi_thread")]
async fn olm_v1_works_on_stage() {
    hold(Kind::Stage, SCENARIOS, &[STORIES, STAGE_STORIES]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn olm_v1_works_on_kubernetes() {
    hold(Kind::Kubernetes, SCENARIOS, &[STORIES]).await;
}
