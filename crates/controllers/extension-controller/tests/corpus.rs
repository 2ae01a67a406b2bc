//! The recorded cases of upstream's ClusterExtension controller.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use api::cluster_extension::{BundleMetadata, CatalogFilter, ClusterExtensionSpec, ExtensionSource};
use api::cluster_object_set::{ClusterObjectSetSpec, CollisionProtection, LifecycleState};
use api::condition::{self, Condition, ConditionStatus, Statement, find};
use api::{ClusterExtension, ClusterObjectSet, keys};
use catalog::objects::Deprecation;
use extension_controller::adoption::helm::{Release, ReleaseInfo, deployed};
use extension_controller::choosing::{Resolved, Resolving, choose_with};
use extension_controller::deciding::{Again, Plan, decide, lost, refuse, undeletable};
use extension_controller::failure::{Failure, without_addresses};
use extension_controller::settings::Settings;
use extension_controller::snapshot::{Content, NoContent, SeenCatalog, SeenPackage, Snapshot};
use extension_controller::standing::{Bundle, Standing};
use extension_controller::status::{StatusWriter, reason};
use jiff::Timestamp;
use resolve::dependencies::Inventory;
use resolve::resolution::BrokenCatalogs;
use serde_json::{Value, json};

fn cases() -> Option<Value> {
    let folder = corpus::open("olmv1")?;
    let text = fs::read(folder.join("olmv1-corpus/extension-status/cases.json")).expect("the cases");
    Some(serde_json::from_slice(&text).expect("JSON"))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn texts(value: &Value) -> Vec<String> {
    rows(value).iter().map(text).collect()
}

fn now() -> Timestamp {
    Timestamp::from_second(1_000_000).expect("a time")
}

const NAME: &str = "test";
const GENERATION: i64 = 3;

fn extension(given: &Value) -> ClusterExtension {
    let spec = ClusterExtensionSpec {
        namespace: "default".to_owned(),
        source: ExtensionSource {
            source_type: "Catalog".to_owned(),
            catalog: Some(CatalogFilter {
                package_name: "package-a".to_owned(),
                version: text(&given["version"]),
                channels: texts(&given["channels"]),
                ..CatalogFilter::default()
            }),
        },
        ..ClusterExtensionSpec::default()
    };
    let mut extension = ClusterExtension::new(NAME, spec);
    extension.metadata.uid = Some("uid".to_owned());
    extension.metadata.generation = Some(GENERATION);
    if given["deleting"] == true {
        extension.metadata.finalizers = Some(vec![keys::CLEANUP_UNPACK_CACHE.to_owned()]);
    }
    extension
}

fn bundle(value: &Value) -> Option<Bundle> {
    value.is_object().then(|| Bundle {
        package: "package-a".to_owned(),
        image: text(&value["image"]),
        metadata: BundleMetadata {
            name: text(&value["name"]),
            version: text(&value["version"]),
            release: None,
        },
    })
}

fn statement(kind: &'static str, reason: &str) -> Statement {
    Statement::new(kind, ConditionStatus::True, reason, "")
}

fn revision(number: i64, bundle: &Bundle, conditions: Vec<Statement>) -> Arc<ClusterObjectSet> {
    let spec = ClusterObjectSetSpec {
        lifecycle_state: LifecycleState::Active,
        revision: number,
        collision_protection: CollisionProtection::Prevent,
        phases: Vec::new(),
        progress_deadline_minutes: None,
        progression_probes: Vec::new(),
    };
    let mut object_set = ClusterObjectSet::new(&format!("{NAME}-{number}"), spec);
    object_set.metadata.annotations = Some(extension_controller::revisions::bundle_annotations(bundle));
    for statement in conditions {
        condition::set(&mut object_set.status.conditions, statement, 1, now());
    }
    Arc::new(object_set)
}

fn deprecations(value: &Value) -> Option<Vec<Deprecation>> {
    value
        .is_array()
        .then(|| serde_json::from_value(value.clone()).expect("deprecations"))
}

/// Runs a row in our terms: what upstream injects as the outcome of a step is the outcome of the same step here.
fn run(given: &Value) -> Plan {
    let installed = bundle(&given["installed"]);
    let resolved = bundle(&given["resolved"]);
    // A rollout that succeeded is what the next look finds installed.
    let installed = match (&resolved, given["rolledOut"] == true) {
        (Some(resolved), true) => Some(resolved.clone()),
        _ => installed,
    };
    let mut object_sets = Vec::new();
    if let Some(installed) = &installed {
        object_sets.push(revision(1, installed, vec![statement("Succeeded", "Succeeded")]));
    }
    for rolling in rows(&given["rollingOut"]) {
        let number = object_sets.len() as i64 + 1;
        object_sets.push(revision(number, &bundle(rolling).expect("a bundle"), Vec::new()));
    }
    let catalogs = if given["catalogsExist"] == false {
        Vec::new()
    } else {
        vec![SeenCatalog {
            name: "catalog".to_owned(),
            priority: 0,
            package: SeenPackage::Read(None),
        }]
    };
    let snapshot = Snapshot {
        extension: extension(given),
        object_sets,
        catalogs: Ok(catalogs),
        inventory: Inventory::default(),
        broken_catalogs: BrokenCatalogs::Block,
        system_namespace: "olmv1-system".to_owned(),
        now: now(),
    };
    if let Some(cause) = given["revisionStatesError"].as_str() {
        return lost(&snapshot, cause);
    }
    let invalid = texts(&given["validatorErrors"]);
    if !invalid.is_empty() {
        return refuse(&snapshot, &invalid);
    }
    if let Some(cause) = given["finalizerError"].as_str() {
        return undeletable(&snapshot, &Failure::passing(cause));
    }
    let choice = choose_with(&snapshot, &Settings::default(), |_| {
        let known = deprecations(&given["deprecation"]);
        match given["resolveError"].as_str() {
            Some(cause) => Resolving {
                outcome: Err(Failure::passing(cause)),
                deprecations: known,
                notices: Vec::new(),
            },
            None => Resolving {
                outcome: Ok(Resolved {
                    bundle: resolved.clone().unwrap_or_default(),
                }),
                deprecations: Some(known.unwrap_or_default()),
                notices: Vec::new(),
            },
        }
    });
    let is_terminal = given["terminal"] == true;
    let failure = |cause: &str| {
        if is_terminal {
            Failure::lasting(cause)
        } else {
            Failure::passing(cause)
        }
    };
    let content = match (given["pullError"].as_str(), given["applyError"].as_str()) {
        (Some(cause), _) => Err(NoContent::Pull(failure(cause))),
        (None, Some(cause)) => Err(NoContent::Apply(failure(cause))),
        (None, None) => Ok(Content {
            bundle: resolved.or(installed).unwrap_or_default(),
            ..Content::default()
        }),
    };
    decide(&snapshot, &choice, Some(&content))
}

fn check(found: &[Condition], expected: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    for wanted in rows(expected) {
        let kind = text(&wanted["type"]);
        let Some(condition) = find(found, &kind) else {
            faults.push(format!("no condition {kind}"));
            continue;
        };
        let pairs = [
            ("status", condition.status.as_str()),
            ("reason", condition.reason.as_str()),
            ("message", condition.message.as_str()),
        ];
        for (field, value) in pairs {
            if !wanted[field].is_null() && wanted[field] != value {
                faults.push(format!("{kind}.{field}: {value:?} instead of {}", wanted[field]));
            }
        }
    }
    faults
}

#[test]
fn upstreams_statuses_are_ours() {
    let Some(cases) = cases() else { return };
    let mut failures = Vec::new();
    let mut count = 0;
    for row in rows(&cases["reconcile"]) {
        let id = text(&row["id"]);
        let given = &row["given"];
        // Nothing is decided about what isn't there.
        if given["object"].is_null() && given.get("object").is_some() {
            continue;
        }
        count += 1;
        let plans: Vec<Plan> = if given["steps"].is_array() {
            // First no catalog, then one that has the next version, whose rollout succeeds.
            let mut first = given.clone();
            first["resolveError"] = json!("catalog temporarily unavailable");
            first["catalogsExist"] = json!(false);
            let mut second = given.clone();
            second["resolved"] =
                json!({"name": "test.2.0.0", "version": "2.0.0", "image": "test-image:2.0.0"});
            second["rolledOut"] = json!(true);
            vec![run(&first), run(&second)]
        } else {
            vec![run(given)]
        };
        let plan = plans.last().expect("a plan");
        let expected = &row["expected"];
        let mut faults = check(&plan.status.conditions, &expected["conditions"]);
        if !expected["installBundle"].is_null() {
            let found = json!(plan.status.install.as_ref().map(|install| &install.bundle));
            if found != expected["installBundle"] {
                faults.push(format!(
                    "installed {found} instead of {}",
                    expected["installBundle"]
                ));
            }
        }
        if let Some(part) = expected["progressingContains"].as_str() {
            let said = find(&plan.status.conditions, "Progressing").map_or("", |said| said.message.as_str());
            if !said.contains(part) {
                faults.push(format!("Progressing says {said:?} without {part:?}"));
            }
        }
        if let Some(error) = expected["error"].as_str()
            && plan.again != Again::Soon
            && given["validatorErrors"].is_null()
        {
            faults.push(format!("not tried again after {error:?}"));
        }
        let kinds = [
            "Installed",
            "Progressing",
            "Deprecated",
            "PackageDeprecated",
            "ChannelDeprecated",
            "BundleDeprecated",
        ];
        let got_past_validation = given["validatorErrors"].is_null()
            && given["revisionStatesError"].is_null()
            && given["finalizerError"].is_null()
            && given["terminal"].is_null();
        for kind in kinds {
            match find(&plan.status.conditions, kind) {
                None if got_past_validation => faults.push(format!("invariant: no condition {kind}")),
                Some(said) if said.observed_generation != GENERATION => {
                    faults.push(format!(
                        "invariant: {kind} is of generation {}",
                        said.observed_generation
                    ));
                }
                _ => {}
            }
        }
        failures.extend(faults.into_iter().map(|fault| format!("{id}: {fault}")));
    }
    assert!(count > 20, "{count} rows");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn upstreams_deprecations_are_ours() {
    let Some(cases) = cases() else { return };
    let mut failures = Vec::new();
    for row in rows(&cases["deprecation"]) {
        let entries = deprecations(&row["deprecationEntries"]).unwrap_or_default();
        let entries = (row["hasCatalogData"] == true).then_some(entries.as_slice());
        let channels = texts(&row["channels"]);
        let installed = row["installedBundle"].as_str();
        let mut status = StatusWriter::new(extension(&Value::Null).status, GENERATION, now());
        status.deprecations(&channels, installed, entries);
        let first = status.finish();
        let faults = check(&first.conditions, &row["expected"]);
        failures.extend(faults.into_iter().map(|fault| format!("{}: {fault}", row["id"])));

        // Saying the same again later changes nothing.
        let later = Timestamp::from_second(2_000_000).expect("a time");
        let mut status = StatusWriter::new(first.clone(), GENERATION, later);
        status.deprecations(&channels, installed, entries);
        if status.finish() != first {
            failures.push(format!("{}: the second time is no no-op", row["id"]));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn upstreams_progress_is_ours() {
    let Some(cases) = cases() else { return };
    for row in rows(&cases["progressing"]) {
        let statement = match row["error"].as_str() {
            None => continue,
            Some(cause) => match (row["terminal"] == true, row["reason"].as_str()) {
                (false, _) => Failure::passing(cause).statement(),
                (true, None) => Failure::lasting(cause).statement(),
                (true, Some(reason::INVALID_CONFIGURATION)) => Failure::misconfigured(cause).statement(),
                (true, Some(other)) => panic!("{other} is given to no failure"),
            },
        };
        let mut conditions = Vec::new();
        condition::set(&mut conditions, statement, 1, now());
        let faults = check(&conditions, &json!([row["condition"]]));
        assert!(faults.is_empty(), "{}: {faults:?}", row["id"]);
    }
    for row in rows(&cases["sanitizeNetworkError"]) {
        assert_eq!(without_addresses(&text(&row["in"])), text(&row["out"]));
    }
    let truncation = &cases["truncation"];
    for row in rows(&truncation["rows"]) {
        let length = usize::try_from(row["length"].as_u64().expect("a length")).expect("a size");
        let mut conditions = Vec::new();
        let statement = Failure::passing("x".repeat(length)).statement();
        condition::set(&mut conditions, statement, 1, now());
        let message = &conditions[0].message;
        assert_eq!(json!(message.len()), row["resultLength"], "{}", row["id"]);
        let is_cut = message.ends_with(truncation["suffix"].as_str().expect("a suffix"));
        assert_eq!(json!(is_cut), row["truncated"], "{}", row["id"]);
    }
}

#[test]
fn what_is_installed_follows_from_the_revisions() {
    let Some(cases) = cases() else { return };
    for row in rows(&cases["installedFromRevisions"]) {
        let object_sets: Vec<_> = rows(&row["rollingOut"])
            .iter()
            .zip(1..)
            .map(|(rolling, number)| {
                let said = statement("Progressing", &text(&rolling["progressingReason"]));
                revision(number, &Bundle::default(), vec![said])
            })
            .collect();
        let mut status = StatusWriter::new(extension(&Value::Null).status, GENERATION, now());
        status.installed(&Standing::of(&object_sets));
        let faults = check(&status.finish().conditions, &json!([row["installed"]]));
        assert!(faults.is_empty(), "{}: {faults:?}", row["id"]);
    }
    for row in rows(&cases["activeRevisions"]) {
        let number = |name: &str| {
            name.rsplit('-')
                .next()
                .and_then(|text| text.parse().ok())
                .expect("a number")
        };
        let mut object_sets = Vec::new();
        if let Some(installed) = row["installed"].as_str() {
            let succeeded = vec![statement("Succeeded", "Succeeded")];
            object_sets.push(revision(number(installed), &Bundle::default(), succeeded));
        }
        for rolling in texts(&row["rollingOut"]) {
            object_sets.push(revision(number(&rolling), &Bundle::default(), Vec::new()));
        }
        let mut status = StatusWriter::new(extension(&Value::Null).status, GENERATION, now());
        status.progress(&Standing::of(&object_sets));
        let status = status.finish();
        let found: Vec<String> = status
            .active_revisions
            .iter()
            .map(|active| active.name.replace(NAME, "ce"))
            .collect();
        assert_eq!(json!(found), row["activeRevisions"], "{}", row["id"]);
    }
}

#[test]
fn what_helm_installed_is_the_newest_release_that_was_deployed() {
    let Some(cases) = cases() else { return };
    for row in rows(&cases["helmHistory"]) {
        // A history that can't be read never gets here.
        if row["error"].is_string() {
            continue;
        }
        // Upstream's history begins with the newest.
        let count = rows(&row["releases"]).len() as i64;
        let releases = rows(&row["releases"])
            .iter()
            .zip(0..)
            .map(|(release, index)| Release {
                version: count - index,
                info: ReleaseInfo {
                    status: text(&release["status"]),
                },
                labels: serde_json::from_value::<BTreeMap<String, String>>(release["labels"].clone())
                    .expect("labels"),
                manifest: String::new(),
            });
        let found = deployed(releases.collect()).map(|release| {
            let bundle = release.bundle();
            let mut found = json!({
                "name": bundle.metadata.name, "version": bundle.metadata.version, "image": bundle.image,
            });
            if let Some(release) = bundle.metadata.release {
                found["release"] = json!(release);
            }
            found
        });
        assert_eq!(json!(found), row["installed"], "{}", row["id"]);
    }
}
