//! What holds for the answer to every question.

use std::collections::BTreeSet;

use crate::classic_namespace::world::{Bundle, World, bundle, failures, installs};
use proptest::prelude::*;
use resolve::classic::{Entry, Property, Resolution};

const PACKAGES: [&str; 4] = ["a", "b", "c", "d"];
const KINDS: [&str; 3] = ["K", "L", "M"];

/// Bundles of a package, each replacing the one before.
fn some_package(package: &'static str) -> impl Strategy<Value = Vec<Bundle>> {
    let kind = || prop::sample::select(&KINDS[..]);
    let bundle = (
        prop::option::of(kind()),
        prop::option::weighted(0.3, kind()),
        prop::option::weighted(0.2, prop::sample::select(&PACKAGES[..])),
        prop::bool::weighted(0.1),
    );
    prop::collection::vec(bundle, 0..4).prop_map(move |bundles| {
        let made =
            bundles
                .into_iter()
                .enumerate()
                .map(|(index, (provides, requires, needs, is_deprecated))| {
                    let mut made = bundle_of(package, index + 1);
                    if index > 0 {
                        made = made.replaces(&format!("{package}.v{index}"));
                    }
                    if let Some(kind) = provides {
                        made = made.provides(kind);
                    }
                    if let Some(kind) = requires {
                        made = made.requires(kind);
                    }
                    if let Some(needed) = needs {
                        made = made.requires_package(needed, ">=2.0.0");
                    }
                    if is_deprecated {
                        made = made.property("olm.deprecated", serde_json::json!({}));
                    }
                    made
                });
        made.collect()
    })
}

fn bundle_of(package: &str, version: usize) -> Bundle {
    bundle(&format!("{package}.v{version}"))
}

fn some_world() -> impl Strategy<Value = World> {
    let catalog = || {
        let packages = [
            some_package("a"),
            some_package("b"),
            some_package("c"),
            some_package("d"),
        ];
        packages.prop_map(|packages| packages.into_iter().flatten().collect::<Vec<_>>())
    };
    let installed = prop::collection::vec(prop::sample::select(&PACKAGES[..]), 0..2);
    let asked = prop::collection::btree_set(prop::sample::select(&PACKAGES[..]), 0..4);
    (catalog(), catalog(), asked, installed, 0..3_i32).prop_map(|(one, other, asked, installed, priority)| {
        let mut world = World::new()
            .catalog("one", one)
            .catalog_with("other", priority, other);
        let mut done = BTreeSet::new();
        for package in installed {
            if done.insert(package) {
                world = world.installed_by_subscription("one", bundle_of(package, 1).provides(KINDS[0]));
            }
        }
        for package in asked {
            if done.insert(package) {
                world = world.subscription("one", package);
            }
        }
        world
    })
}

/// Returns everything that is in the namespace after an answer is carried out.
fn afterwards<'a>(world: &'a World, resolution: &'a Resolution) -> Vec<&'a Entry> {
    let replaced: BTreeSet<&str> = resolution
        .installs
        .iter()
        .map(|install| install.replaces.as_str())
        .collect();
    let existing = world.existing.versions.iter().map(|version| &*version.entry);
    let stays = existing.filter(|entry| !replaced.contains(entry.name.as_str()));
    stays
        .chain(resolution.installs.iter().map(|install| &*install.entry))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_installed_obeys_every_rule(world in some_world()) {
        let resolution = world.resolve();
        let present = afterwards(&world, &resolution);
        for install in &resolution.installs {
            let entry = &install.entry;
            prop_assert!(!entry.is_deprecated(), "{}", entry.name);
            for need in entry.needs().unwrap() {
                prop_assert!(present.iter().any(|present| need.is_met_by(present)), "{} lacks {need}", entry.name);
            }
            for other in present.iter().filter(|other| other.identifier() != entry.identifier()) {
                prop_assert!(entry.package != other.package, "two of {}", entry.package);
                for kind in entry.kinds() {
                    prop_assert!(!other.provides(kind), "{} and {} provide {kind}", entry.name, other.name);
                }
            }
            prop_assert!(!install.because.is_empty(), "nobody asks for {}", entry.name);
        }
        for subscription in &world.subscriptions {
            let is_satisfied = present.iter().any(|entry| entry.name == subscription.installed_csv)
                || resolution.installs.iter().any(|install| install.subscriptions.contains(&subscription.name));
            prop_assert!(
                is_satisfied != resolution.failure_of(&subscription.name).is_some()
                    || !subscription.installed_csv.is_empty(),
                "{}", subscription.name
            );
        }
    }

    #[test]
    fn the_same_question_has_the_same_answer_in_any_order(world in some_world()) {
        let mut turned = world.clone();
        turned.catalogs.reverse();
        turned.subscriptions.reverse();
        let (one, other) = (world.resolve(), turned.resolve());
        prop_assert_eq!(installs(&one), installs(&other));
        prop_assert_eq!(one.failures, other.failures);
    }

    #[test]
    fn an_unrelated_catalog_changes_nothing(world in some_world(), like_upstream in any::<bool>()) {
        let world = if like_upstream { world.like_upstream() } else { world };
        let more = world.clone().catalog_with("unrelated", 9, [bundle("x.v1").provides("X"), bundle("y.v1").requires("X")]);
        let (one, other) = (world.resolve(), more.resolve());
        prop_assert_eq!(installs(&one), installs(&other));
        prop_assert_eq!(one.failures, other.failures);
    }

    #[test]
    fn where_upstream_finds_an_answer_it_is_the_same(world in some_world()) {
        let upstream = world.clone().like_upstream().resolve();
        let ours = world.resolve();
        if upstream.failures.is_empty() {
            let sorted = |resolution: &Resolution| installs(resolution).into_iter().collect::<BTreeSet<_>>();
            prop_assert_eq!(sorted(&upstream), sorted(&ours));
            prop_assert_eq!(failures(&ours), []);
        } else {
            prop_assert!(!ours.failures.is_empty());
        }
    }

    #[test]
    fn no_property_is_too_strange(
        kind in prop::sample::select(&["olm.package", "olm.gvk", "olm.gvk.required", "olm.package.required",
            "olm.label", "olm.label.required", "olm.constraint", "olm.deprecated", "other"][..]),
        value in prop_oneof![
            ".*",
            r#"\{("(all|any|not|gvk|package|cel|rule|constraints|group|packageName|versionRange)":(\{\}|\[\]|null|"[a-z>=1. |]*"|1),?){0,3}\}"#,
        ],
    ) {
        let entry = Entry::new("a.v1", vec![Property::new(kind, value)]);
        if let Ok(needs) = entry.needs() {
            for need in needs {
                need.is_met_by(&entry);
                let _words = need.to_string();
            }
        }
    }
}
