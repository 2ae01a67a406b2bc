//! The users' whole story on one machine: an author publishes versions of an operator, a customer installs and upgrades
//! it, and a model team runs its stack with it.
//!
//! Everything is what users have: `baton up`, `baton publish`, `baton install`, manifests through the API, and the
//! operator as a process of its own that the node runs. `suite.rs` tells the same on a real Kubernetes.

#[expect(dead_code, reason = "the suite has a real Kubernetes")]
mod cast;
mod told;

use std::sync::{Mutex, PoisonError};

use cast::cluster::Cluster;
use cast::world::World;

/// Stories on one machine are told one after the other: the pods of all nodes share its ports.
static ONE_MACHINE: Mutex<()> = Mutex::new(());

/// Tells a story on `baton up`.
fn on_one_machine(story: impl FnOnce(&World, &Cluster)) {
    let _turn = ONE_MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let world = World::new();
    let cluster = Cluster::up(&world);
    story(&world, &cluster);
    cluster.stop();
}

#[test]
fn an_operator_is_published_installed_upgraded_and_taken_away() {
    on_one_machine(told::an_operators_life);
}

#[test]
fn two_majors_run_side_by_side_and_a_resource_changes_hands() {
    on_one_machine(told::two_majors);
}

#[test]
fn the_older_names_work_the_same() {
    on_one_machine(told::the_older_names);
}
