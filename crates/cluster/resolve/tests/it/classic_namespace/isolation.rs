//! What has nothing to do with each other is resolved apart, and what can't be resolved is explained.

use crate::classic_namespace::world::{World, bundle, failures, installs};
use resolve::classic::{Cause, FailureKind};

#[test]
fn a_subscription_to_nothing_does_not_stop_another() {
    let world = World::new()
        .catalog("cat", [bundle("a.v1")])
        .subscription("cat", "a")
        .subscription("cat", "missing");
    let resolution = world.resolve();
    assert_eq!(installs(&resolution), ["cat/a.v1"]);
    let message = "constraints not satisfiable: no operators found in package missing in the catalog referenced by \
                   subscription missing, subscription missing exists";
    assert_eq!(
        failures(&resolution),
        [("missing".to_owned(), message.to_owned())]
    );
    assert!(resolution.failure_of("a").is_none());

    let upstream = world.like_upstream().resolve();
    assert_eq!(installs(&upstream), [""; 0]);
    assert_eq!(
        failures(&upstream),
        [("a missing".to_owned(), message.to_owned())]
    );
}

#[test]
fn a_broken_catalog_stops_only_the_subscriptions_to_it() {
    let world = World::new()
        .catalog("cat", [bundle("a.v1")])
        .broken_catalog("broken", 0)
        .subscription("cat", "a")
        .subscription("broken", "b");
    let resolution = world.resolve();
    assert_eq!(installs(&resolution), ["cat/a.v1"]);
    let message =
        "error using catalogsource here/broken: no registry client established for catalogsource here/broken";
    assert_eq!(failures(&resolution), [("b".to_owned(), message.to_owned())]);
    assert!(!resolution.failures[0].is_not_satisfiable());

    let upstream = world.like_upstream().resolve();
    assert_eq!(installs(&upstream), [""; 0]);
    assert_eq!(failures(&upstream), [("a b".to_owned(), message.to_owned())]);
}

#[test]
fn what_is_installed_from_a_broken_catalog_stays_and_serves_others() {
    let resolution = World::new()
        .catalog("cat", [bundle("a.v1").requires("K")])
        .broken_catalog("broken", 0)
        .installed_by_subscription("broken", bundle("b.v1").provides("K"))
        .subscription("cat", "a")
        .resolve();
    assert_eq!(installs(&resolution), ["cat/a.v1"]);
    assert_eq!(resolution.failures.len(), 1);
    assert_eq!(resolution.failures[0].subscriptions, ["b"]);
}

#[test]
fn a_dependency_is_not_taken_from_a_catalog_while_a_preferred_one_can_not_be_asked() {
    let offer = || [bundle("b.v1").provides("K")];
    let world = World::new()
        .catalog("cat", [bundle("a.v1").requires("K")])
        .catalog("other", offer())
        .subscription("cat", "a");
    assert_eq!(world.installs(), ["cat/a.v1", "other/b.v1"]);
    let preferred = world.clone().broken_catalog("preferred", 7).resolve();
    assert_eq!(installs(&preferred), [""; 0]);
    assert!(
        matches!(preferred.failures[0].kind, FailureKind::Catalogs(_)),
        "{:?}",
        preferred.failures
    );
    assert_eq!(
        world.clone().broken_catalog("second", -1).installs(),
        ["cat/a.v1", "other/b.v1"]
    );
}

#[test]
fn what_is_missing_may_be_in_a_catalog_that_can_not_be_asked() {
    let resolution = World::new()
        .catalog("cat", [bundle("a.v1").requires("K")])
        .broken_catalog("broken", 0)
        .subscription("cat", "a")
        .resolve();
    assert!(
        matches!(resolution.failures[0].kind, FailureKind::Catalogs(_)),
        "{:?}",
        resolution.failures
    );
    assert!(resolution.failures[0].explanation.remedies[0].contains("here/broken"));
}

#[test]
fn a_new_subscription_that_conflicts_with_an_installed_operator_does_not_hold_up_its_upgrade() {
    let resolution = World::new()
        .catalog(
            "cat",
            [
                bundle("a.v1").provides("K"),
                bundle("a.v2").provides("K").replaces("a.v1"),
                bundle("b.v1").provides("K"),
            ],
        )
        .installed_by_subscription("cat", bundle("a.v1").provides("K"))
        .subscription("cat", "b")
        .resolve();
    assert_eq!(installs(&resolution), ["cat/a.v2"]);
    assert_eq!(resolution.installs[0].replaces, "a.v1");
    assert_eq!(resolution.failures.len(), 1);
    assert_eq!(resolution.failures[0].subscriptions, ["b"]);
}

#[test]
fn two_new_subscriptions_that_exclude_each_other_both_wait() {
    let resolution = World::new()
        .catalog(
            "cat",
            [
                bundle("a.v1").provides("K"),
                bundle("b.v1").provides("K"),
                bundle("c.v1"),
            ],
        )
        .subscription("cat", "a")
        .subscription("cat", "b")
        .subscription("cat", "c")
        .resolve();
    assert_eq!(installs(&resolution), ["cat/c.v1"]);
    assert_eq!(resolution.failures.len(), 1);
    assert_eq!(resolution.failures[0].subscriptions, ["a", "b"]);
}

#[test]
fn installed_operators_that_exclude_each_other_stop_nobody_else() {
    let world = World::new()
        .catalog(
            "cat",
            [bundle("c.v1").requires("K"), bundle("d.v1").provides("K")],
        )
        .installed(bundle("a.v1").provides("K"))
        .installed(bundle("b.v1").provides("K").requires("Nothing"))
        .subscription("cat", "c")
        .subscription("cat", "d");
    let resolution = world.resolve();
    // K is there; a third provider isn't let in.
    assert_eq!(installs(&resolution), ["cat/c.v1"]);
    assert_eq!(resolution.failures.len(), 1);
    assert_eq!(resolution.failures[0].subscriptions, ["d"]);
    assert!(
        resolution
            .notes
            .iter()
            .any(|note| note.contains("isn't consistent")),
        "{:?}",
        resolution.notes
    );
    assert_eq!(world.like_upstream().installs(), [""; 0]);
}

#[test]
fn a_bundle_that_can_not_be_read_is_passed_over() {
    let unreadable = bundle("a.v2")
        .replaces("a.v1")
        .property("olm.constraint", serde_json::json!({"unknown": {}}));
    let world = World::new()
        .catalog("cat", [bundle("a.v1"), unreadable])
        .subscription("cat", "a");
    let resolution = world.resolve();
    assert_eq!(installs(&resolution), ["cat/a.v1"]);
    assert_eq!(
        resolution.notes,
        ["parse olm.constraint: json: unknown field \"unknown\""]
    );
    let upstream = world.like_upstream().resolve();
    let message = "parse olm.constraint: json: unknown field \"unknown\"".to_owned();
    assert_eq!(failures(&upstream), [("a".to_owned(), message)]);
}

#[test]
fn a_channel_without_order_stops_only_its_subscription() {
    let resolution = World::new()
        .catalog("cat", [bundle("a.v1"), bundle("a.v2"), bundle("b.v1")])
        .subscription("cat", "a")
        .subscription("cat", "b")
        .resolve();
    assert_eq!(installs(&resolution), ["cat/b.v1"]);
    let (name, message) = failures(&resolution).remove(0);
    assert_eq!(name, "a");
    assert!(
        message.starts_with("a unique replacement chain within a channel is required"),
        "{message}"
    );
}

#[test]
fn an_answer_says_why_each_bundle_is_installed() {
    let resolution = World::new()
        .catalog(
            "cat",
            [
                bundle("a.v1").requires("K"),
                bundle("b.v1").provides("K").requires_package("c", ">=1.0.0"),
            ],
        )
        .catalog("other", [bundle("c.v1"), bundle("c.v2").replaces("c.v1")])
        .subscription("cat", "a")
        .resolve();
    assert_eq!(installs(&resolution), ["cat/a.v1", "cat/b.v1", "other/c.v2"]);
    let because: Vec<&[Cause]> = resolution
        .installs
        .iter()
        .map(|install| install.because.as_slice())
        .collect();
    let needed_by = |bundle: &str, need: &str| Cause::NeededBy {
        bundle: bundle.to_owned(),
        need: need.to_owned(),
    };
    assert_eq!(
        because,
        [
            &[Cause::Subscription("a".to_owned())][..],
            &[needed_by(
                "a.v1",
                "providing an API with group: g, version: v1, kind: K"
            )],
            &[needed_by(
                "b.v1",
                "with package: c and with version in range: >=1.0.0"
            )],
        ]
    );
    let subscriptions: Vec<&[String]> = resolution
        .installs
        .iter()
        .map(|install| install.subscriptions.as_slice())
        .collect();
    assert_eq!(subscriptions, [&["a".to_owned()][..], &[], &[]]);
}

#[test]
fn an_upgrade_goes_by_replaces_skips_and_range_and_prefers_the_head() {
    let catalog = || {
        [
            bundle("a.v1"),
            bundle("a.v2").replaces("a.v1"),
            bundle("a.v3").replaces("a.v2").skips("a.v1"),
            bundle("a.v4").replaces("a.v3").skip_range(">=2.0.0 <4.0.0"),
        ]
    };
    let next = |installed: &str| {
        World::new()
            .catalog("cat", catalog())
            .installed_by_subscription("cat", bundle(installed))
            .installs()
    };
    assert_eq!(next("a.v1"), ["cat/a.v3"]);
    assert_eq!(next("a.v2"), ["cat/a.v4"]);
    assert_eq!(next("a.v4"), [""; 0]);
}

#[test]
fn a_subscription_without_channel_prefers_the_default_one() {
    let world = World::new()
        .catalog(
            "cat",
            [
                bundle("a.v3").channel("alpha"),
                bundle("a.v1"),
                bundle("a.v2").replaces("a.v1"),
            ],
        )
        .subscription_with("cat", "a", |subscription| subscription.channel.clear());
    assert_eq!(world.installs(), ["cat/a.v2"]);
}

#[test]
fn an_explanation_says_what_excludes_each_bundle_and_what_to_do() {
    let resolution = World::new()
        .catalog(
            "cat",
            [
                bundle("a.v1").provides("K"),
                bundle("a.v2").provides("K").replaces("a.v1").requires("Missing"),
                bundle("a.v3")
                    .replaces("a.v2")
                    .property("olm.deprecated", serde_json::json!({})),
            ],
        )
        .installed(bundle("b.v1").provides("K"))
        .subscription("cat", "a")
        .resolve();
    let explanation = resolution.failures[0].explanation.to_string();
    let expected = "\
subscription \"a\" asks for package \"a\" in channel \"stable\" of catalog here/cat
- a.v3 (3.0.0): a.v3 (from here/cat) is deprecated by its author
- a.v2 (2.0.0): a.v2 needs an operator providing an API with group: g, version: v1, kind: Missing, and no catalog has one
- a.v1 (1.0.0): only one operator may provide K (g/v1): b.v1 (installed) or a.v1 (from here/cat); b.v1 is installed without a Subscription, so it stays
what may help:
- use a channel or package whose bundles aren't deprecated
- delete ClusterServiceVersion b.v1 if nobody needs it: a new Subscription doesn't take it over";
    assert_eq!(explanation, expected);
}
