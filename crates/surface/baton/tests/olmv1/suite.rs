//! OLM v1 as its users see it, on the real kube-apiserver: the scenarios and stories that `main.rs` tells on stage.

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
#[expect(dead_code, reason = "only the embedded server can be restarted")]
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
mod played;
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

use std::process::ExitCode;

use processes::Kind;
use suite::Suite;
use told::{SCENARIOS, STORIES};

fn main() -> ExitCode {
    Suite::new("olmv1")
        .with(played::scenarios(Kind::Kubernetes, SCENARIOS))
        .with(played::stories(Kind::Kubernetes, STORIES))
        .main()
}
