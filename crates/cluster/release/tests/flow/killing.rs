//! Actions that are killed after each of their writes, and go on.

use std::collections::BTreeSet;

use release::hooks::Attempt;
use release::recovery::{Found, Recovery, decide};
use release::{Cause, Outcome};
use serde_json::{Value, json};

use crate::world::World;

/// Repeats an action, killed after one write, two writes and so on, and what follows a restart, until it isn't killed.
async fn killed_everywhere<F>(before: &[Value], act: impl Fn(World) -> F, after: &[&str], objects: usize)
where
    F: Future<Output = (World, Result<(), Cause>)>,
{
    let mut deaths = 0;
    loop {
        let world = World::new().await;
        for (index, values) in before.iter().enumerate() {
            if index == 0 {
                world.install("soup", values.clone()).await.expect("installed");
            } else {
                world.upgrade("soup", values.clone()).await.expect("upgraded");
            }
        }
        world.meter.die_after(deaths + 1);
        let (world, outcome) = act(world).await;
        world.meter.die_after(usize::MAX);
        if outcome.is_ok() {
            assert!(deaths > 3, "only {deaths} writes");
            return;
        }
        assert_eq!(outcome, Err(Cause::Interrupted), "after {deaths} writes");
        recover(&world).await;
        assert_eq!(
            world.history("soup").await,
            after,
            "killed after {} writes",
            deaths + 1
        );
        assert_eq!(
            world.objects("soup").await.len(),
            objects,
            "killed after {} writes",
            deaths + 1
        );
        deaths += 1;
    }
}

/// What is done after a restart.
async fn recover(world: &World) {
    let releases = world.restarted("soup");
    let Some(standing) = releases.records().standing().await.expect("records") else {
        return;
    };
    let found = Found {
        status: standing.status(),
        same_content: true,
        ours: true,
        age: std::time::Duration::ZERO,
        deleting: false,
    };
    match decide(&found) {
        Recovery::Nothing => {}
        Recovery::Resume => {
            let resumed: Result<Outcome, _> = releases.resume(standing).await;
            resumed.expect("it goes on");
        }
        Recovery::FinishUninstall => {
            releases
                .uninstall(standing, Attempt::Resumed)
                .await
                .expect("it goes on");
        }
        other => panic!("nothing to do like {other:?}"),
    }
}

fn hooks() -> Value {
    json!({"pre-install": {"policy": "hook-succeeded"}, "post-install": {}, "pre-upgrade": {}, "post-upgrade": {"policy": "hook-succeeded"},
        "pre-rollback": {}, "pre-delete": {"policy": "hook-succeeded"}, "post-delete": {"policy": "hook-succeeded"}})
}

#[tokio::test]
async fn an_install_goes_on_wherever_it_was_killed() {
    for values in [json!({"extra": true}), json!({"extra": true, "hooks": hooks()})] {
        let act = async |world: World| {
            let outcome = world.install("soup", values.clone()).await;
            let outcome = outcome.map(|_| ()).map_err(|failure| failure.cause);
            (world, outcome)
        };
        killed_everywhere(&[], act, &["1 deployed: Install complete"], 5).await;
    }
}

#[tokio::test]
async fn an_upgrade_goes_on_wherever_it_was_killed() {
    let before = [json!({"kept": true, "hooks": hooks()})];
    let act = async |world: World| {
        let standing = world.standing("soup").await;
        let prepared = world.prepare(
            "soup",
            2,
            &json!({"message": "two", "extra": true, "hooks": hooks()}),
        );
        let outcome = world
            .releases("soup")
            .upgrade(standing, prepared, &BTreeSet::new())
            .await;
        let outcome = outcome.map(|_| ()).map_err(|failure| failure.cause);
        (world, outcome)
    };
    let after = ["1 superseded: Install complete", "2 deployed: Upgrade complete"];
    killed_everywhere(&before, act, &after, 6).await;
}

#[tokio::test]
async fn a_rollback_goes_on_wherever_it_was_killed() {
    let before = [
        json!({"hooks": hooks()}),
        json!({"message": "two", "extra": true}),
    ];
    let act = async |world: World| {
        let standing = world.standing("soup").await;
        let outcome = world.releases("soup").rollback(standing, None).await;
        let outcome = outcome.map(|_| ()).map_err(|failure| failure.cause);
        (world, outcome)
    };
    let after = [
        "1 superseded: Install complete",
        "2 superseded: Upgrade complete",
        "3 deployed: Rollback to 1",
    ];
    killed_everywhere(&before, act, &after, 4).await;
}

#[tokio::test]
async fn an_uninstall_goes_on_wherever_it_was_killed() {
    let before = [
        json!({"hooks": hooks()}),
        json!({"message": "two", "hooks": hooks()}),
    ];
    let mut deaths = 0;
    loop {
        let world = World::new().await;
        world.install("soup", before[0].clone()).await.expect("installed");
        world.upgrade("soup", before[1].clone()).await.expect("upgraded");
        let standing = world.standing("soup").await;
        world.meter.die_after(deaths + 1);
        let outcome = world.releases("soup").uninstall(standing, Attempt::First).await;
        let releases = world.restarted("soup");
        let standing = releases.records().standing().await.expect("records");
        if outcome.is_ok() {
            assert!(standing.is_none() && deaths > 5);
            return;
        }
        if let Some(standing) = standing {
            releases
                .uninstall(standing, Attempt::Resumed)
                .await
                .expect("it goes on");
        }
        assert_eq!(
            world.history("soup").await,
            Vec::<String>::new(),
            "killed after {} writes",
            deaths + 1
        );
        assert_eq!(
            world.objects("soup").await,
            Vec::<String>::new(),
            "killed after {} writes",
            deaths + 1
        );
        deaths += 1;
    }
}

#[tokio::test]
async fn what_hangs_is_given_up_when_the_content_changed() {
    let world = World::new().await;
    let hanging = json!({"hooks": {"pre-install": {"fate": "pending"}}});
    world.meter.die_after(3);
    world.install("soup", hanging).await.expect_err("killed");
    let releases = world.restarted("soup");
    let standing = releases
        .records()
        .standing()
        .await
        .expect("records")
        .expect("a release");
    assert_eq!(standing.status().as_str(), "pending-install");
    let prepared = world.prepare("soup", standing.next_version(), &json!({"message": "good"}));
    let refused = releases
        .upgrade(standing.clone(), prepared.clone(), &BTreeSet::new())
        .await;
    assert_eq!(
        refused.expect_err("pending").message,
        "another operation (install/upgrade/rollback) is in progress"
    );
    let standing = releases.give_up(standing, "cut short").await.expect("given up");
    releases
        .upgrade(standing, prepared, &BTreeSet::new())
        .await
        .expect("upgraded");
    assert_eq!(
        world.history("soup").await,
        ["1 superseded: cut short", "2 deployed: Upgrade complete"]
    );
    assert_eq!(world.objects("soup").await.len(), 4);
}
