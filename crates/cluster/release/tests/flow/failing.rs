//! What goes wrong, and what is left of it.

use release::hooks::Attempt;
use release::{Cause, Releases};
use serde_json::json;

use crate::world::World;

const BAD_PORT: &str = "Service \"soup-svc\" is invalid: spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive";

#[tokio::test]
async fn what_the_server_refuses_does_not_keep_later_kinds_of_a_first_install_from_being_made() {
    let world = World::new().await;
    let failure = world
        .install("soup", json!({"port": 70000, "kept": true}))
        .await
        .expect_err("refused");
    assert_eq!(failure.message, format!("1 error occurred:\n\t* {BAD_PORT}\n\n"));
    assert_eq!(failure.cause, Cause::Rejected);
    assert!(failure.record.is_some());
    assert_eq!(
        world.objects("soup").await,
        [
            "ServiceAccount",
            "ConfigMap-cm",
            "ConfigMap-kept",
            "Deployment-web"
        ]
    );
    assert_eq!(
        world.history("soup").await,
        [format!(
            "1 failed: Release \"soup\" failed: 1 error occurred:\n\t* {BAD_PORT}\n\n"
        )]
    );
    let standing = world.standing("soup").await;
    let releases = world.releases("soup");
    releases.uninstall(standing, Attempt::First).await.expect("gone");
    assert_eq!(world.objects("soup").await, ["ConfigMap-kept"]);
    // What was kept is taken over, and that makes it an update, which ends with the first object that can't be made.
    let failure = world
        .install("soup", json!({"port": 70000, "kept": true}))
        .await
        .expect_err("refused");
    assert_eq!(failure.message, format!("failed to create resource: {BAD_PORT}"));
}

#[tokio::test]
async fn a_refused_change_does_not_stop_the_rest_of_an_upgrade() {
    let world = World::new().await;
    world.install("soup", json!({})).await.expect("installed");
    let failure = world
        .upgrade("soup", json!({"port": 70000, "message": "changed"}))
        .await
        .expect_err("refused");
    assert_eq!(
        failure.message,
        format!("cannot patch \"soup-svc\" with kind Service: {BAD_PORT}")
    );
    let deployment = world
        .get("apps/v1", "Deployment", "soup-web")
        .await
        .expect("there");
    let environment = &deployment["spec"]["template"]["spec"]["containers"][0]["env"][0];
    assert_eq!(environment["value"], "changed", "kinds after the refused one");
    assert_eq!(
        world.history("soup").await,
        [
            "1 deployed: Install complete".to_owned(),
            format!(
                "2 failed: Upgrade \"soup\" failed: cannot patch \"soup-svc\" with kind Service: {BAD_PORT}"
            ),
        ]
    );
    let standing = world.standing("soup").await;
    world
        .releases("soup")
        .rollback(standing, None)
        .await
        .expect("back");
    let history = world.history("soup").await;
    assert_eq!(history[0], "1 superseded: Install complete");
    assert!(history[1].starts_with("2 failed: "), "{history:?}");
    assert_eq!(history[2], "3 deployed: Rollback to 1");
    let map = world.get("v1", "ConfigMap", "soup-cm").await.expect("a map");
    assert_eq!(map["data"]["message"], "hello");
}

#[tokio::test]
async fn a_failed_hook_fails_its_action() {
    let world = World::new().await;
    let hooks = json!({"hooks": {"pre-install": {"fate": "failed", "policy": "hook-failed"}}});
    let failure = world.install("soup", hooks).await.expect_err("the hook fails");
    let failed = "1 error occurred:\n\t* job soup-pre-install failed: BackoffLimitExceeded\n\n";
    assert_eq!(failure.message, format!("failed pre-install: {failed}"));
    assert_eq!(failure.cause, Cause::Hook);
    assert!(
        world.get("batch/v1", "Job", "soup-pre-install").await.is_none(),
        "as its policy says"
    );
    assert_eq!(world.objects("soup").await, Vec::<String>::new());
    let record = failure.record.expect("a record");
    assert_eq!(record.release.hooks[0].last_run.phase, "Failed");
    assert_eq!(
        world.history("soup").await,
        [format!(
            "1 failed: Release \"soup\" failed: failed pre-install: {failed}"
        )]
    );
}

#[tokio::test]
async fn a_hook_that_takes_too_long_is_given_up() {
    let world = World::new().await;
    let prepared = world.prepare(
        "soup",
        1,
        &json!({"hooks": {"post-install": {"fate": "pending"}}}),
    );
    let options = release::Options {
        hook_timeout: std::time::Duration::from_millis(20),
        ..release::Options::default()
    };
    let failure = world
        .releases_with("soup", options)
        .install(prepared)
        .await
        .expect_err("too long");
    assert_eq!(
        failure.message,
        "failed post-install: 1 error occurred:\n\t* timed out waiting for the condition\n\n"
    );
}

#[tokio::test]
async fn a_hook_that_is_in_the_way_says_so() {
    let world = World::new().await;
    let hooks = json!({"hooks": {"pre-delete": {"fate": "failed", "policy": "hook-succeeded"}}});
    world.install("soup", hooks).await.expect("installed");
    let releases = world.releases("soup");
    let standing = world.standing("soup").await;
    let failure = releases
        .uninstall(standing, Attempt::First)
        .await
        .expect_err("the hook fails");
    assert_eq!(
        failure.message,
        "1 error occurred:\n\t* job soup-pre-delete failed: BackoffLimitExceeded\n\n"
    );
    let standing = world.standing("soup").await;
    let failure = releases
        .uninstall(standing, Attempt::First)
        .await
        .expect_err("it is still there");
    assert_eq!(
        failure.message,
        "warning: Hook pre-delete kitchen/templates/hooks.yaml failed: 1 error occurred:\n\t* jobs.batch \
         \"soup-pre-delete\" already exists\n\n"
    );
    let options = release::Options {
        disable_hooks: true,
        ..release::Options::default()
    };
    let standing = world.standing("soup").await;
    let releases = world.releases_with("soup", options);
    releases
        .uninstall(standing, Attempt::First)
        .await
        .expect("without hooks");
    assert_eq!(world.history("soup").await, Vec::<String>::new());
}

#[tokio::test]
async fn a_rollback_whose_hook_fails_is_not_left_pending() {
    let world = World::new().await;
    let hooks = json!({"hooks": {"pre-rollback": {"fate": "failed"}}});
    world.install("soup", hooks).await.expect("installed");
    world
        .upgrade("soup", json!({"message": "two"}))
        .await
        .expect("upgraded");
    let standing = world.standing("soup").await;
    let failure = world
        .releases("soup")
        .rollback(standing, Some(1))
        .await
        .expect_err("the hook fails");
    assert_eq!(failure.cause, Cause::Hook);
    let history = world.history("soup").await;
    assert!(
        history[2].starts_with("3 failed: Rollback \"soup\" failed: 1 error occurred"),
        "{history:?}"
    );
    world
        .upgrade("soup", json!({"message": "three"}))
        .await
        .expect("it goes on");
    assert_eq!(world.history("soup").await[3], "4 deployed: Upgrade complete");
}

#[tokio::test]
async fn a_kind_that_the_server_lacks_is_named_before_anything_is_written() {
    let world = World::new().await;
    let mut release = world.prepare("soup", 1, &json!({})).release().clone();
    release
        .manifest
        .push_str("---\napiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: s}\n");
    let prepared = release::Prepared::new(release).expect("objects");
    let failure = world
        .releases("soup")
        .install(prepared)
        .await
        .expect_err("no such kind");
    assert_eq!(failure.cause, Cause::Build);
    assert_eq!(
        failure.message,
        "unable to build kubernetes objects from release manifest: resource mapping not found for name: \"s\" namespace: \
         \"\" from \"\": no matches for kind \"ScaledObject\" in version \"keda.sh/v1alpha1\"\nensure CRDs are installed first"
    );
    assert_eq!(world.history("soup").await, Vec::<String>::new());
}

#[tokio::test]
async fn what_fails_again_and_again_leaves_a_history_of_what_worked() {
    let world = World::new().await;
    world.install("soup", json!({})).await.expect("installed");
    world
        .upgrade("soup", json!({"message": "two"}))
        .await
        .expect("upgraded");
    let releases = world.releases("soup");
    let again = async |port: u32| {
        world
            .upgrade("soup", json!({"message": "two", "port": port}))
            .await
            .expect_err("refused");
        let standing = world.standing("soup").await;
        let good = Releases::good_revision(&standing);
        releases.rollback(standing, good).await.expect("back");
        releases.replace_failed().await.expect("tidy")
    };
    let words = async || -> Vec<String> {
        let history = world.history("soup").await;
        let short = history.iter().map(|line| {
            let end = line.find(": cannot patch").unwrap_or(line.len());
            line[..end].to_owned()
        });
        short.collect()
    };
    assert_eq!(again(70_000).await, Vec::<i64>::new());
    for round in 0..12 {
        assert_eq!(again(70_000).await, [3 + 2 * round, 4 + 2 * round]);
    }
    assert_eq!(
        words().await,
        [
            "1 superseded: Install complete",
            "2 superseded: Upgrade complete",
            "27 failed: Upgrade \"soup\" failed",
            "28 deployed: Rollback to 2",
        ]
    );
    // What fails otherwise is worth to be known besides.
    assert_eq!(again(80_000).await, Vec::<i64>::new());
    assert_eq!(
        words().await[2..],
        [
            "27 failed: Upgrade \"soup\" failed",
            "28 superseded: Rollback to 2",
            "29 failed: Upgrade \"soup\" failed",
            "30 deployed: Rollback to 2",
        ]
    );
}

#[tokio::test]
async fn what_is_deployed_stays_however_short_the_history_is() {
    let world = World::new().await;
    world.install("soup", json!({})).await.expect("installed");
    let options = release::Options {
        history_limit: 2,
        ..release::Options::default()
    };
    let releases = world.releases_with("soup", options);
    for port in [70_000, 70_001, 70_002] {
        let standing = world.standing("soup").await;
        let prepared = world.prepare("soup", standing.next_version(), &json!({"port": port}));
        releases
            .upgrade(standing, prepared, &std::collections::BTreeSet::new())
            .await
            .expect_err("refused");
    }
    let history = world.history("soup").await;
    assert_eq!(history[0], "1 deployed: Install complete", "{history:?}");
    assert_eq!(history.len(), 2, "{history:?}");
    let good = Releases::good_revision(&world.standing("soup").await);
    assert_eq!(good, Some(1));
}
