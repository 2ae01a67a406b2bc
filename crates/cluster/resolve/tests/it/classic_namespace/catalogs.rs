//! What catalogs offer and what is installed, read and found again.

use std::collections::BTreeMap;
use std::sync::Arc;

use resolve::classic::{
    CatalogKey, Entry, Existing, Property, RegistryBundle, RegistryPackage, Snapshot, Subscription,
    UpgradeStrategy,
};
use serde_json::{Value, json};

use crate::classic_namespace::world::{World, bundle};

#[test]
fn an_index_finds_what_looking_at_every_entry_finds() {
    let package = |name: &str, range: &str| json!({"package": {"packageName": name, "versionRange": range}});
    let kind = |kind: &str| json!({"gvk": {"group": "g", "version": "v1", "kind": kind}});
    let expression =
        json!({"cel": {"rule": "properties.exists(p, p.type == 'olm.gvk' && p.value.kind == 'K')"}});
    let constraints = [
        package("a", ">=2.0.0"),
        kind("K"),
        expression.clone(),
        json!({"all": {"constraints": [kind("K"), package("a", "<2.0.0")]}}),
        json!({"all": {"constraints": [expression.clone(), kind("L")]}}),
        json!({"any": {"constraints": [kind("L"), package("b", ">=1.0.0")]}}),
        json!({"any": {"constraints": [kind("L"), expression]}}),
        json!({"not": {"constraints": [kind("K")]}}),
        json!({"all": {"constraints": [package("a", ">=1.0.0"), {"not": {"constraints": [kind("K")]}}]}}),
    ];
    let mut asking: Vec<Property> = constraints
        .iter()
        .map(|value| Property::new("olm.constraint", value.to_string()))
        .collect();
    asking.push(Property::new(
        "olm.label.required",
        json!({"label": "lts"}).to_string(),
    ));
    asking.push(Property::new(
        "olm.gvk.required",
        json!({"group": "g", "version": "v1", "kind": "L"}).to_string(),
    ));
    let asking = Entry::new("asking", asking);

    let world = World::new().catalog(
        "cat",
        [
            bundle("a.v1").provides("K"),
            bundle("a.v2").provides("K").provides("L"),
            bundle("a.v3").property("olm.label", json!({"label": "lts"})),
            bundle("b.v1").provides("L"),
            bundle("c.v1")
                .provides("K")
                .property("olm.label", json!({"label": "other"})),
        ],
    );
    let snapshot: &Arc<Snapshot> = world.catalogs[0].content.as_ref().unwrap();
    for need in asking.needs().unwrap() {
        let entries = snapshot.entries().iter().enumerate();
        let found: Vec<usize> = entries
            .filter(|(_, entry)| need.is_met_by(entry))
            .map(|(at, _)| at)
            .collect();
        assert_eq!(snapshot.meeting(need), found, "{need}");
        assert!(!found.is_empty(), "{need}");
    }
}

#[test]
fn a_catalog_tells_what_is_deprecated_and_what_it_does_not_describe() {
    let listed = |name: &str, package: &str, deprecation: Option<&str>| RegistryBundle {
        csv_name: name.to_owned(),
        package_name: package.to_owned(),
        channel_name: "stable".to_owned(),
        version: "1.0.0".to_owned(),
        bundle_path: "image".to_owned(),
        deprecation: deprecation.map(str::to_owned),
        ..RegistryBundle::default()
    };
    let described = RegistryPackage {
        name: "a".to_owned(),
        default_channel: "stable".to_owned(),
        deprecation: Some("use b".to_owned()),
        channel_deprecations: BTreeMap::from([("stable".to_owned(), "use fast".to_owned())]),
    };
    let (snapshot, left_out) = Snapshot::from_registry(
        &CatalogKey::new("olm", "cat"),
        [listed("a.v1", "a", Some("old")), listed("x.v1", "x", None)],
        &BTreeMap::from([("a".to_owned(), described)]),
    );
    let [entry] = snapshot.entries() else {
        panic!("{} entries", snapshot.entries().len());
    };
    assert_eq!(
        entry.deprecations.package.as_deref(),
        Some("olm.package/a: use b")
    );
    assert_eq!(
        entry.deprecations.channel.as_deref(),
        Some("olm.channel/stable: use fast")
    );
    assert_eq!(entry.deprecations.bundle.as_deref(), Some("olm.bundle/a.v1: old"));
    assert!(entry.is_in_default_channel && entry.inline.is_none());
    assert_eq!(
        entry.properties(),
        [Property::new(
            "olm.package",
            r#"{"packageName":"a","version":"1.0.0"}"#
        )]
    );
    assert_eq!(
        left_out,
        ["bundle x.v1: catalog olm/cat doesn't describe its package x"]
    );
}

fn operator(name: &str, change: impl Fn(&mut Value)) -> Value {
    let mut csv = json!({
        "metadata": {"name": name, "namespace": "here"},
        "spec": {"version": "1.0.0", "customresourcedefinitions": {"owned": [{"name": "ks.g", "version": "v1", "kind": "K"}]}},
        "status": {"phase": "Succeeded"},
    });
    change(&mut csv);
    csv
}

#[test]
fn copies_are_passed_over_and_annotations_win() {
    let annotation =
        r#"{"properties":[{"type":"olm.package","value":{"packageName":"b","version":"2.0.0"}}]}"#;
    let csvs = [
        operator("a.v1", |_| {}),
        operator("b.v2", |csv| {
            csv["metadata"]["annotations"] = json!({"operatorframework.io/properties": annotation});
        }),
        operator("copy", |csv| {
            csv["metadata"]["labels"] = json!({"olm.copiedFrom": "there"});
        }),
        operator("other", |csv| {
            csv["metadata"]["annotations"] = json!({"olm.operatorNamespace": "there"});
        }),
    ];
    let subscription = Subscription {
        name: "s".to_owned(),
        package: "a".to_owned(),
        installed_csv: "a.v1".to_owned(),
        ..Subscription::default()
    };
    let existing = Existing::read(
        "here",
        &csvs.iter().collect::<Vec<_>>(),
        &[subscription],
        UpgradeStrategy::Default,
    );
    let found: Vec<(&str, &str, Option<&str>, usize)> = existing
        .versions
        .iter()
        .map(|version| {
            let entry = &version.entry;
            (
                entry.name.as_str(),
                entry.package.as_str(),
                version.subscription.as_deref(),
                entry.kinds().len(),
            )
        })
        .collect();
    assert_eq!(found, [("a.v1", "a", Some("s"), 1), ("b.v2", "b", None, 0)]);
    assert_eq!(existing.faults, []);
}

#[test]
fn what_can_not_be_read_of_an_operator_does_not_hide_the_rest() {
    let csv = operator("a.v1", |csv| {
        csv["spec"]["customresourcedefinitions"]["required"] =
            json!([{"name": "broken", "version": "v1", "kind": "B"}]);
        csv["metadata"]["annotations"] = json!({"operatorframework.io/properties": "["});
    });
    let existing = Existing::read("here", &[&csv], &[], UpgradeStrategy::Default);
    assert_eq!(existing.versions[0].entry.kinds().len(), 1);
    let faults: Vec<String> = existing.faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults[0], "error parsing crd name: broken");
    assert!(
        faults[1].starts_with("failed to retrieve properties of csv \"a.v1\": "),
        "{faults:?}"
    );
}
