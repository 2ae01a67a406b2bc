//! The users' whole story on a real Kubernetes, and with kubectl.

mod cast;
mod subscriber;
mod told;
#[expect(dead_code, reason = "the tests on one machine use the rest of it")]
#[path = "../doctor/ward.rs"]
mod ward;

use std::process::ExitCode;
use std::time::Duration;

use cast::author::Author;
use cast::cluster::Cluster;
use cast::customer::Customer;
use cast::world::World;
use subscriber::Subscriber;
use suite::{Group, Suite, blocking_cases};
use told::{first_wish, inference_stacks};
use ward::Ward;

/// An operator's life is two dozen things that are waited for, of which each may take minutes where something is wrong.
const LIMIT: Duration = Duration::from_mins(20);

/// Tells a story on a real Kubernetes.
fn on_kubernetes(story: impl FnOnce(&World, &Cluster)) {
    let world = World::new();
    let cluster = Cluster::real(&world);
    story(&world, &cluster);
}

fn an_operator_lives_the_same_life_on_kubernetes() {
    on_kubernetes(told::an_operators_life);
}

fn two_majors_run_side_by_side_on_kubernetes() {
    on_kubernetes(told::two_majors);
}

fn the_older_names_work_the_same_on_kubernetes() {
    on_kubernetes(told::the_older_names);
}

fn a_doctor_finds_a_real_cluster_well() {
    on_kubernetes(|world, cluster| {
        let ward = Ward::new(world, cluster);
        let (code, report) = ward.report();
        assert_eq!(
            (code, report["broken"].as_u64()),
            (Some(0), Some(0)),
            "{report:#}"
        );
        ward::rights_decide_what_is_seen(&ward);
    });
}

/// On one machine.
fn a_subscription_follows_what_is_pushed() {
    let world = World::new();
    let cluster = Cluster::up(&world);
    a_subscription(&world, &cluster);
    cluster.stop();
}

/// The same operator, by a Subscription of OLM v0: a version that is pushed is followed at once.
fn a_subscription(world: &World, cluster: &Cluster) {
    let subscriber = Subscriber::of(cluster);
    let author = Author::new(world, cluster, "models.example.com", "InferenceStack");
    let customer = Customer::new(world, cluster);
    author.publish("2.0.0", &["stable"]);
    subscriber.adds_the_catalog(&author);
    subscriber.subscribes("stable-v2");
    subscriber.has_version("2.0.0");
    customer.sees_the_operator_run("2.0.0");
    let stack = inference_stacks(cluster);
    stack.make("chat", &[("operatorVersion", "v2")], &first_wish());
    stack.is_ready("chat");
    author.publish("2.1.0", &["stable"]);
    subscriber.has_version("2.1.0");
    customer.sees_the_operator_run("2.1.0");
    stack.until_chart_version("chat", "2.1.0");
    stack.is_ready("chat");
}

fn main() -> ExitCode {
    let on_one_machine = Group::free("one-machine")
        .within(LIMIT)
        .cases(blocking_cases![a_subscription_follows_what_is_pushed]);
    let on_kubernetes = Group::free("kubernetes").within(LIMIT).cases(blocking_cases![
        an_operator_lives_the_same_life_on_kubernetes,
        two_majors_run_side_by_side_on_kubernetes,
        the_older_names_work_the_same_on_kubernetes,
        a_doctor_finds_a_real_cluster_well,
    ]);
    Suite::new("story")
        .with(on_one_machine)
        .with(on_kubernetes)
        .main()
}
