//! What bundles need, what is there, and what is installed for it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use resolve::dependencies::{GroupVersionKind, Inventory, Present, dependencies, unmet};
use resolve::package::{Package, Releases};
use resolve::plan::{Install, Offers, plan};
use resolve::request::{Request, UpgradePolicy};
use resolve::resolution::{BrokenCatalogs, Offer, OfferState};
use serde_json::{Value, json};
use version::Version;

/// A catalog as one writes it in a test: bundles with what they need and provide.
#[derive(Default)]
struct World {
    packages: BTreeMap<String, Package>,
    inventory: Inventory,
}

fn property(kind: &str, value: &Value) -> Value {
    json!({"type": kind, "value": value})
}

fn needs_package(name: &str, range: &str) -> Value {
    property(
        "olm.package.required",
        &json!({"packageName": name, "versionRange": range}),
    )
}

fn kind(name: &str) -> Value {
    json!({"group": "example.com", "version": "v1", "kind": name})
}

fn constraint(value: &Value) -> Value {
    property("olm.constraint", value)
}

impl World {
    /// Adds `name.vVERSION` in channel `stable`, following every older one.
    fn bundle(mut self, name: &str, version: &str, properties: &[Value]) -> World {
        let package = self.packages.entry(name.to_owned()).or_default();
        name.clone_into(&mut package.name);
        let mut all = vec![property(
            "olm.package",
            &json!({"packageName": name, "version": version}),
        )];
        all.extend_from_slice(properties);
        let bundle_name = format!("{name}.v{version}");
        let bundle = json!({"schema": "olm.bundle", "name": bundle_name, "properties": all});
        let channel = json!({"schema": "olm.channel", "name": version,
            "entries": [{"name": bundle_name, "skipRange": format!("<{version}")}]});
        for (schema, object) in [("olm.bundle", bundle), ("olm.channel", channel)] {
            let blob = serde_json::to_vec(&object).expect("JSON");
            package
                .add(schema, name, &blob, Releases::Stated)
                .expect("an object");
        }
        self
    }

    fn installed(mut self, name: &str, version: &str) -> World {
        let bundle = self.packages[name]
            .bundle(&format!("{name}.v{version}"))
            .expect("a bundle");
        let parsed = Version::parse(version).expect("a version");
        let present = Present::new(name, &bundle.name, parsed, &bundle.properties);
        self.inventory.bundles.push(present);
        self
    }

    fn served(mut self, name: &str) -> World {
        let kind: GroupVersionKind = serde_json::from_value(kind(name)).expect("a kind");
        self.inventory.kinds.insert(kind);
        self
    }

    /// What the newest bundle of a package needs and hasn't got.
    fn unmet(&self, name: &str) -> Vec<String> {
        let bundle = self.packages[name].bundles.last().expect("a bundle");
        let unmet = unmet(bundle, &self.inventory).expect("readable properties");
        unmet.iter().map(ToString::to_string).collect()
    }

    fn plan(&self, name: &str) -> Result<Vec<String>, String> {
        let offers: Offers<'_> = self
            .packages
            .iter()
            .map(|(name, package)| {
                let offer = Offer {
                    catalog: "main",
                    priority: 0,
                    state: OfferState::Read(Some(package)),
                };
                (name.clone(), vec![offer])
            })
            .collect();
        let request = Request {
            package: name.to_owned(),
            version: None,
            channels: Vec::new(),
            policy: UpgradePolicy::default(),
            installed: None,
        };
        let told = |install: &Install<'_>| {
            let replaces = install
                .replaces
                .as_ref()
                .map(|version| format!(" over {version}"));
            let for_whom = match install.needed_by.as_slice() {
                [] => String::new(),
                packages => format!(" for {}", packages.join(", ")),
            };
            let (package, version) = (&install.package, &install.version.version);
            format!("{package} {version}{}{for_whom}", replaces.unwrap_or_default())
        };
        plan(&request, &offers, &self.inventory, BrokenCatalogs::Skip)
            .map(|installs| installs.iter().map(told).collect())
            .map_err(|fault| fault.to_string())
    }
}

#[test]
fn a_missing_package_is_named_with_what_would_satisfy_it() {
    let world = World::default().bundle("app", "1.0.0", &[needs_package("base", ">=1.0.0 <2.0.0")]);
    let needed = "needs package \"base\" in versions \">=1.0.0 <2.0.0\": ";
    assert_eq!(
        world.unmet("app"),
        [format!(
            "{needed}install package \"base\" in a version in \">=1.0.0 <2.0.0\""
        )]
    );
    let world = world.bundle("base", "2.0.0", &[]).installed("base", "2.0.0");
    assert_eq!(
        world.unmet("app"),
        [format!(
            "{needed}change package \"base\" from the installed version 2.0.0 to one in \">=1.0.0 <2.0.0\""
        )]
    );
    let world = World::default()
        .bundle("base", "1.5.0", &[])
        .bundle("app", "1.0.0", &[needs_package("base", ">=1.0.0 <2.0.0")])
        .installed("base", "1.5.0");
    assert!(world.unmet("app").is_empty());
}

#[test]
fn a_kind_is_there_when_the_cluster_serves_it_or_a_bundle_provides_it() {
    let needs = property("olm.gvk.required", &kind("Green"));
    let world = World::default().bundle("app", "1.0.0", std::slice::from_ref(&needs));
    assert_eq!(
        world.unmet("app"),
        ["needs kind example.com/v1/Green: install a package that provides kind example.com/v1/Green"]
    );
    assert!(world.served("Green").unmet("app").is_empty());
    let world = World::default()
        .bundle("greens", "1.0.0", &[property("olm.gvk", &kind("Green"))])
        .bundle("app", "1.0.0", &[needs])
        .installed("greens", "1.0.0");
    assert!(world.unmet("app").is_empty());
}

#[test]
fn constraints_combine_what_is_needed() {
    let package = |name: &str, range: &str| json!({"package": {"packageName": name, "versionRange": range}});
    let several = |word: &str, parts: &[Value]| {
        constraint(&json!({word: {"constraints": parts}, "failureMessage": "why"}))
    };
    let newer =
        "properties.exists(p, p.type == 'olm.package' && semver_compare(p.value.version, '1.2.0') >= 0)";
    let expression = |rule: &str| constraint(&json!({"cel": {"rule": rule}}));
    let both = [package("base", ">=1.0.0"), json!({"gvk": kind("Green")})];
    let base = |needs: Value| {
        World::default()
            .bundle("base", "1.5.0", &[])
            .bundle("app", "1.0.0", &[needs])
            .installed("base", "1.5.0")
    };
    for (needs, served, expected) in [
        (several("all", &both), true, None),
        (several("any", &both), false, None),
        (
            several("all", &both),
            false,
            Some(
                "needs all of (package \"base\" in versions \">=1.0.0\", kind example.com/v1/Green) (why): \
             install a package that provides kind example.com/v1/Green",
            ),
        ),
        (
            several("any", &[package("x", ">1.0.0"), package("y", ">1.0.0")]),
            false,
            Some(
                "needs one of (package \"x\" in versions \">1.0.0\", package \"y\" in versions \">1.0.0\") (why): install \
             package \"x\" in a version in \">1.0.0\" or install package \"y\" in a version in \">1.0.0\"",
            ),
        ),
        (several("not", &[package("x", ">1.0.0")]), false, None),
        (
            several("not", &[package("base", ">1.0.0")]),
            false,
            Some("needs none of (package \"base\" in versions \">1.0.0\") (why): uninstall base 1.5.0"),
        ),
        (expression(newer), false, None),
        (
            expression(
                "properties.exists(p, p.type == 'olm.package' && p.value.packageName.matches('^b.*e$'))",
            ),
            false,
            None,
        ),
        (
            expression("properties.exists(p, p.type == 'certified')"),
            false,
            Some(
                "needs a bundle with properties for which properties.exists(p, p.type == 'certified'): install a package with \
             properties for which properties.exists(p, p.type == 'certified')",
            ),
        ),
    ] {
        let name = needs.to_string();
        let mut world = base(needs);
        if served {
            world = world.served("Green");
        }
        let unmet = world.unmet("app");
        assert_eq!(unmet.first().map(String::as_str), expected, "{name}");
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    for (property, cause) in [
        (
            needs_package("x", "newest"),
            "property \"olm.package.required\" can't be read: version range \"newest\"",
        ),
        (
            constraint(&json!({})),
            "property \"olm.constraint\" can't be read: constraint is empty",
        ),
        (
            constraint(&json!({"cel": {"rule": "1 + 1"}})),
            "cel expressions must have type Bool",
        ),
        (constraint(&json!({"maybe": {}})), "unknown field `maybe`"),
    ] {
        let world = World::default().bundle("app", "1.0.0", &[property]);
        let fault = dependencies(&world.packages["app"].bundles[0])
            .expect_err("unreadable")
            .to_string();
        assert!(fault.starts_with("bundle \"app.v1.0.0\": "), "{fault}");
        assert!(fault.contains(cause), "{fault}");
    }
}

#[test]
fn loops_within_loops_do_not_hold_up_anything() {
    let rule = (0..20).fold("true".to_owned(), |inner, index| {
        format!("properties.all(p{index}, {inner})")
    });
    let world = World::default()
        .bundle("base", "1.0.0", &vec![property("x", &json!({})); 50])
        .bundle("app", "1.0.0", &[constraint(&json!({"cel": {"rule": rule}}))])
        .installed("base", "1.0.0");
    assert_eq!(world.unmet("app").len(), 1);
}

#[test]
fn a_plan_installs_what_is_needed_before_what_needs_it() {
    let world = World::default()
        .bundle("base", "1.0.0", &[])
        .bundle("base", "1.1.0", &[])
        .bundle("base", "2.0.0", &[])
        .bundle(
            "greens",
            "0.3.0",
            &[
                property("olm.gvk", &kind("Green")),
                needs_package("base", "<2.0.0"),
            ],
        )
        .bundle(
            "app",
            "1.0.0",
            &[
                needs_package("base", ">=1.0.0 <2.0.0"),
                property("olm.gvk.required", &kind("Green")),
            ],
        );
    assert_eq!(
        world.plan("app").expect("a plan"),
        ["base 1.1.0 for app, greens", "greens 0.3.0 for app", "app 1.0.0"]
    );
    assert_eq!(
        world.installed("base", "1.0.0").plan("app").expect("a plan"),
        ["greens 0.3.0 for app", "app 1.0.0"]
    );
}

#[test]
fn a_candidate_whose_own_needs_cannot_be_met_is_given_up_for_the_next() {
    let world = World::default()
        .bundle("base", "1.0.0", &[])
        .bundle("base", "1.1.0", &[needs_package("nowhere", ">0.0.0")])
        .bundle("app", "1.0.0", &[needs_package("base", ">=1.0.0")]);
    assert_eq!(
        world.plan("app").expect("a plan"),
        ["base 1.0.0 for app", "app 1.0.0"]
    );
}

#[test]
fn an_installed_package_is_upgraded_along_its_edges_only() {
    let world = World::default()
        .bundle("base", "1.0.0", &[])
        .bundle("base", "1.1.0", &[])
        .bundle("app", "1.0.0", &[needs_package("base", ">1.0.0")])
        .installed("base", "1.0.0");
    assert_eq!(
        world.plan("app").expect("a plan"),
        ["base 1.1.0 over 1.0.0 for app", "app 1.0.0"]
    );
    let world = World::default()
        .bundle("base", "1.0.0", &[])
        .bundle("base", "1.1.0", &[])
        .bundle("app", "1.0.0", &[needs_package("base", "<1.1.0")])
        .installed("base", "1.1.0");
    assert_eq!(
        world.plan("app").expect_err("no way back"),
        "\"app\" needs package \"base\" in versions \"<1.1.0\": change package \"base\" from the installed version 1.1.0 to \
         one in \"<1.1.0\"; the catalogs have base 1.0.0 (no upgrade leads there from 1.1.0), base 1.1.0"
    );
}

#[test]
fn what_nobody_offers_is_named_with_the_way_to_it() {
    let world = World::default()
        .bundle("base", "1.0.0", &[needs_package("nowhere", ">0.0.0")])
        .bundle("app", "1.0.0", &[needs_package("base", ">=1.0.0")]);
    assert_eq!(
        world.plan("app").expect_err("missing"),
        "\"app\" → \"base\" needs package \"nowhere\" in versions \">0.0.0\": install package \"nowhere\" in a version in \
         \">0.0.0\"; no catalog has it"
    );
}

#[test]
fn packages_that_need_each_other_are_explained() {
    let world = World::default()
        .bundle("one", "1.0.0", &[needs_package("two", ">0.0.0")])
        .bundle("two", "1.0.0", &[needs_package("one", ">0.0.0")]);
    assert_eq!(
        world.plan("one").expect_err("a cycle"),
        "one → two → one need each other, so that none can be installed first; install one of them without its dependencies"
    );
}

#[test]
fn packages_that_exclude_each_other_are_explained() {
    let excludes = |name: &str| {
        constraint(
            &json!({"not": {"constraints": [{"package": {"packageName": name, "versionRange": ">0.0.0"}}]}}),
        )
    };
    let world = World::default()
        .bundle("base", "1.0.0", &[excludes("app")])
        .bundle("app", "1.0.0", &[needs_package("base", ">0.0.0")]);
    assert_eq!(
        world.plan("app").expect_err("a conflict"),
        "\"base\" conflicts with the plan: it needs none of (package \"app\" in versions \">0.0.0\"): uninstall app 1.0.0"
    );
    let world = World::default()
        .bundle("base", "1.0.0", &[])
        .bundle("base", "2.0.0", &[])
        .bundle("old", "1.0.0", &[needs_package("base", "<2.0.0")])
        .bundle("app", "1.0.0", &[needs_package("base", ">=2.0.0")])
        .installed("base", "1.0.0")
        .installed("old", "1.0.0");
    assert_eq!(
        world.plan("app").expect_err("a conflict"),
        "\"old\" conflicts with the plan: it needs package \"base\" in versions \"<2.0.0\": change package \"base\" from the \
         installed version 2.0.0 to one in \"<2.0.0\""
    );
    let world = World::default()
        .bundle("base", "1.0.0", &[])
        .bundle("base", "2.0.0", &[])
        .bundle(
            "greens",
            "1.0.0",
            &[
                needs_package("base", "<2.0.0"),
                property("olm.gvk", &kind("Green")),
            ],
        )
        .bundle(
            "app",
            "1.0.0",
            &[
                needs_package("base", ">=2.0.0"),
                property("olm.gvk.required", &kind("Green")),
            ],
        );
    assert_eq!(
        world.plan("app").expect_err("a conflict"),
        "\"app\" → \"greens\" needs package \"base\" in versions \"<2.0.0\": change package \"base\" from the installed version \
         2.0.0 to one in \"<2.0.0\"; the catalogs have base 1.0.0 (but 2.0.0 is planned: app → base), base 2.0.0"
    );
}

#[test]
fn a_chain_without_end_is_given_up() {
    let world = (0..3_000).fold(World::default(), |world, number| {
        let next = needs_package(&format!("p{:04}", number + 1), ">0.0.0");
        world.bundle(&format!("p{number:04}"), "1.0.0", &[next])
    });
    let fault = world.plan("p0000").expect_err("too long");
    assert!(
        fault.starts_with("no plan with up to 100 packages was found"),
        "{fault}"
    );
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        prop::sample::select(&["a", ">=1.0.0", "true", "properties.all(p, p.type == 'a')", "1 +"][..])
            .prop_map(Value::from),
    ];
    let keys = &[
        "all",
        "any",
        "not",
        "constraints",
        "package",
        "packageName",
        "versionRange",
        "gvk",
        "kind",
        "cel",
        "rule",
    ][..];
    leaf.prop_recursive(6, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(keys).prop_map(str::to_owned), inner, 0..3)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_property_is_too_strange(value in any_value(), index in 0..3_usize) {
        let kinds = ["olm.constraint", "olm.package.required", "olm.gvk.required"];
        let world = World::default()
            .bundle("base", "1.0.0", &[])
            .bundle("app", "1.0.0", &[property(kinds[index], &value)])
            .installed("base", "1.0.0");
        let bundle = &world.packages["app"].bundles[0];
        let _ = unmet(bundle, &world.inventory);
        let _ = world.plan("app");
    }
}
