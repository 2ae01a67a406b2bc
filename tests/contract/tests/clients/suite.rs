//! Clients that people have work on stage as on a real cluster: kubectl, Helm 3 and 4, and Go programs of our own.

mod go_clients;
mod helm;
mod kubectl;
mod served_stage;

use std::process::ExitCode;

use suite::Suite;

fn main() -> ExitCode {
    Suite::new("clients")
        .with(kubectl::sessions_on_stage())
        .with(helm::lives("helm3"))
        .with(helm::lives("helm4"))
        .with(go_clients::on_stage())
        .with(kubectl::sessions_on_kubernetes())
        .with(go_clients::on_kubernetes())
        .main()
}
