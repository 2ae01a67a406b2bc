//! The recorded cases of upstream's resolver.

use std::fs;

use resolve::dependencies::refuse;
use resolve::edges::Edges;
use resolve::package::{Package, Releases, stated_version};
use resolve::request::{Installed, Request, UpgradePolicy, VersionWish};
use resolve::resolution::{BrokenCatalogs, Offer, OfferState, preference, resolve};
use resolve::selection::Selection;
use serde_json::Value;

fn cases() -> Option<Value> {
    let folder = corpus::open("olmv1")?;
    let text = fs::read(folder.join("olmv1-corpus/resolve/cases.json")).expect("the cases");
    Some(serde_json::from_slice(&text).expect("JSON"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn package(objects: &[Value], releases: Releases) -> Option<Package> {
    let mut package = Package::default();
    for object in objects {
        let blob = serde_json::to_vec(object).expect("JSON");
        let (schema, name) = (text(&object["schema"]), text(&object["name"]));
        package
            .add(&schema, &name, &blob, releases)
            .expect("an object of a package");
    }
    (!objects.is_empty()).then_some(package)
}

/// The labels of a catalog; upstream gives each one its name as a label.
fn labels(catalog: &Value) -> Value {
    let mut labels = catalog["labels"].clone();
    if labels.is_null() {
        labels = serde_json::json!({"olm.operatorframework.io/metadata.name": catalog["name"]});
    }
    labels
}

fn installed(value: &Value) -> Option<Installed> {
    Some(Installed {
        name: value["name"].as_str()?.to_owned(),
        version: text(&value["version"]),
        release: value["release"].as_str().map(str::to_owned),
    })
}

/// Runs a row, with upstream's refusal of bundles that need others.
fn run(row: &Value) -> Result<Value, String> {
    let gates = rows(&row["gates"]);
    let releases = if gates.iter().any(|gate| gate == "BundleReleaseSupport") {
        Releases::Stated
    } else {
        Releases::InBuildMetadata
    };
    let extension = &row["extension"];
    let request = Request {
        package: text(&extension["packageName"]),
        version: VersionWish::parse(extension["version"].as_str().unwrap_or_default())
            .map_err(|fault| fault.to_string())?,
        channels: rows(&extension["channels"]).iter().map(text).collect(),
        policy: match extension["upgradeConstraintPolicy"].as_str() {
            Some("SelfCertified") => UpgradePolicy::SelfCertified,
            _ => UpgradePolicy::CatalogProvided,
        },
        installed: installed(&row["installed"]),
    };
    let selection = Selection::read(&extension["selector"]).map_err(|fault| fault.to_string())?;
    let catalogs: Vec<(&Value, Option<Package>)> = rows(&row["catalogs"])
        .iter()
        .filter(|catalog| selection.includes(&labels(catalog)))
        .map(|catalog| (catalog, package(rows(&catalog["fbc"]), releases)))
        .collect();
    let offers: Vec<Offer<'_>> = catalogs
        .iter()
        .map(|(catalog, package)| {
            let name = catalog["name"].as_str().expect("a name");
            let state = if catalog["availabilityMode"] == "Unavailable" {
                OfferState::Disabled
            } else if catalog["serving"] == false {
                OfferState::Broken(format!("catalog {name:?} is not being served"))
            } else if catalog["cached"] == false {
                OfferState::Broken(format!("cache for catalog {name:?} not found"))
            } else if let Some(fault) = catalog["packageError"].as_str() {
                OfferState::Broken(fault.to_owned())
            } else {
                OfferState::Read(package.as_ref())
            };
            Offer {
                catalog: name,
                priority: catalog["priority"].as_i64().unwrap_or(0) as i32,
                state,
            }
        })
        .collect();
    let resolution = resolve(&request, &offers, BrokenCatalogs::Block).map_err(|fault| fault.to_string())?;
    refuse(resolution.bundle).map_err(|fault| fault.of_resolution())?;
    Ok(serde_json::json!({
        "bundle": resolution.bundle.name,
        "version": resolution.version.version.to_string(),
        "release": resolution.version.release.as_ref().map(|release| release.as_str().to_owned()),
        "catalog": resolution.catalog,
        "deprecations": resolution.deprecations.map(|_| "catalog"),
    }))
}

#[test]
fn upstreams_resolutions_are_ours() {
    let Some(cases) = cases() else { return };
    let mut failures = Vec::new();
    let mut count = 0;
    for row in rows(&cases["resolve"]) {
        // Catalogs are listed by whoever has a client.
        if !row["listError"].is_null() {
            continue;
        }
        count += 1;
        let expected = &row["expected"];
        let outcome = match run(row) {
            Ok(found) => {
                let names = ["bundle", "version", "catalog", "deprecations", "release"];
                let differing = names
                    .iter()
                    .find(|name| **name != "release" && found[**name] != expected[**name]);
                differing.map(|name| format!("{name}: {} instead of {}", found[*name], expected[*name]))
            }
            Err(fault) if expected["error"] == fault => None,
            Err(fault)
                if expected["errorContains"]
                    .as_str()
                    .is_some_and(|part| fault.contains(part)) =>
            {
                None
            }
            Err(fault) => Some(format!("{fault} instead of {expected}")),
        };
        failures.extend(outcome.map(|outcome| format!("{}: {outcome}", row["id"])));
    }
    assert_eq!(count, 65);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn bundles_that_need_others_are_refused_in_upstreams_words() {
    let Some(cases) = cases() else { return };
    let rows = rows(&cases["validation"]);
    assert_eq!(rows.len(), 4);
    for row in rows {
        let kinds = row["propertyTypes"].as_array().expect("types").iter();
        let properties: Vec<Value> = kinds
            .map(|kind| serde_json::json!({"type": kind, "value": {}}))
            .collect();
        let bundle = serde_json::json!({
            "schema": "olm.bundle", "name": row["bundleName"], "properties": properties,
        });
        let package = package(&[bundle], Releases::Stated).expect("a package");
        let refusal = refuse(&package.bundles[0]).err().map(|fault| fault.to_string());
        assert_eq!(refusal.as_deref(), row["error"].as_str(), "{}", row["id"]);
    }
}

#[test]
fn upstreams_successors_are_ours() {
    let Some(cases) = cases() else { return };
    let table = &cases["successors"];
    let objects = [rows(&table["channels"]), rows(&table["bundles"])].concat();
    let package = package(&objects, Releases::Stated).expect("a package");
    for row in rows(&table["cases"]) {
        let installed = installed(&row["installed"]).expect("installed");
        let edges = Edges::new(&installed, &package.channels).expect("a version");
        let mut found: Vec<&str> = package
            .bundles
            .iter()
            .filter(|bundle| edges.lead_to(bundle).is_some())
            .map(|bundle| bundle.name.as_str())
            .collect();
        let mut expected: Vec<&str> = rows(&row["expected"]).iter().filter_map(Value::as_str).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{}", row["id"]);
    }
    for row in rows(&table["errors"]) {
        let installed = installed(&row["installed"]).expect("installed");
        let fault = Edges::new(&installed, &package.channels)
            .expect_err("no version")
            .to_string();
        let part = row["errorContains"].as_str().expect("a text");
        assert!(fault.contains(part), "{}: {fault}", row["id"]);
    }
}

#[test]
fn upstreams_order_is_ours() {
    let Some(cases) = cases() else { return };
    for row in rows(&cases["sortByVersionAndRelease"]) {
        // Null is a property without a version.
        let bundle = |version: &Value| {
            let mut stated = serde_json::json!({"packageName": "p", "version": version});
            if version.is_null() {
                stated = serde_json::json!({});
            }
            let mut properties = serde_json::json!([{"type": "olm.package", "value": stated}]);
            if version == "<no property>" {
                properties = serde_json::json!([]);
            }
            serde_json::json!({"schema": "olm.bundle", "name": version.to_string(), "properties": properties})
        };
        let objects: Vec<Value> = rows(&row["input"]).iter().map(bundle).collect();
        let mut package = package(&objects, Releases::Stated).expect("a package");
        let unsorted = package.clone();
        package
            .bundles
            .sort_by(|one, other| preference(&unsorted, one, other));
        let found: Vec<&str> = package
            .bundles
            .iter()
            .map(|bundle| bundle.name.as_str())
            .collect();
        let expected: Vec<String> = rows(&row["expected"]).iter().map(Value::to_string).collect();
        assert_eq!(found, expected, "{}", row["id"]);
    }
}

#[test]
fn versions_and_releases_are_read_as_upstream_reads_them() {
    let Some(cases) = cases() else { return };
    for row in rows(&cases["versionAndRelease"]) {
        let Some(property) = row["property"].as_str() else {
            continue;
        };
        let releases = if row["gate"] == true {
            Releases::Stated
        } else {
            Releases::InBuildMetadata
        };
        match stated_version(property, releases) {
            Ok(found) => {
                assert_eq!(row["version"], found.version.to_string(), "{}", row["id"]);
                let release = found.release.as_ref().map(|release| release.as_str().to_owned());
                assert_eq!(row["release"].as_str(), release.as_deref(), "{}", row["id"]);
            }
            Err(fault) => {
                assert_eq!(row["error"], true, "{}: {fault}", row["id"]);
                let part = row["errorContains"].as_str().unwrap_or_default();
                assert!(fault.contains(part), "{}: {fault}", row["id"]);
            }
        }
    }
}
