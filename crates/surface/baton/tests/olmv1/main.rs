//! OLM v1 as its users see it: `baton controllers` on a cluster, from a catalog's image to a running operator.
//!
//! ```text
//! server (baton stage | kube-apiserver) ◄── baton controllers ──► registry (in this process)
//!              ▲                                                      ▲
//!              └────────────────── scenarios ─────────────────────────┘
//! ```
//!
//! The scenarios are those of upstream's end-to-end suite, by their numbers, and a few more. Each is told once and runs
//! on both servers, on stage here and on the real kube-apiserver by `suite.rs`; most of them share a cluster and differ by the names
//! that they use, and those that kill, stop or replace processes have a cluster for themselves. Most of the time is waited, so that
//! all of it runs at the same time. `BATON_SCENARIOS=17,drift` picks some by number or by a part of their names.

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
mod holding;
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
#[expect(dead_code, reason = "the suite starts the real server")]
mod processes;
mod recovery;
mod reference;
mod runner;
mod scenario;
mod secrets;
mod secured;
mod signed;
mod terminal;
mod told;
mod update;
mod webhook_server;
mod webhooks;
mod workloads;
mod world;
mod write_counting;

use holding::hold;
use runner::{Story, stories};
use told::{SCENARIOS, STORIES};

/// Those that only the embedded server can be told of.
const STAGE_STORIES: &[Story] = &stories![
    "restart": faults::a_server_that_restarts_loses_nothing,
];

#[tokio::test(flavor = "multi_thread")]
async fn olm_v1_works_on_stage() {
    hold(SCENARIOS, &[STORIES, STAGE_STORIES]).await;
}
