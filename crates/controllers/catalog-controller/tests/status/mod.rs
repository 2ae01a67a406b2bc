//! The recorded conditions of a `ClusterCatalog`.

use api::ClusterCatalog;
use api::cluster_catalog::ClusterCatalogStatus;
use api::keys::{DELETE_SERVER_CACHE, METADATA_NAME};
use catalog_controller::fetch::FetchError;
use catalog_controller::reconcile::{Memory, Seen, Step, Withdrawal, Withdrawn, amendment, decide};
use catalog_controller::status::Content;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{cases, rows, text};

/// A catalog as a row describes it; one that is deleted with an error was served before, as upstream's is.
fn catalog(given: &Value) -> ClusterCatalog {
    let kind = given["sourceType"].as_str().unwrap_or("Image");
    let digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let conditions: Vec<Value> = rows(&given["conditions"])
        .iter()
        .map(|condition| {
            let mut condition = condition.clone();
            condition["lastTransitionTime"] = json!("2026-01-01T00:00:00Z");
            if condition["message"].is_null() {
                condition["message"] = json!("");
            }
            condition
        })
        .collect();
    let mut object = json!({
        "metadata": {
            "name": "catalog",
            "generation": 1,
            "finalizers": given["finalizers"],
            "labels": {METADATA_NAME: "catalog"},
        },
        "spec": {
            "source": {"type": kind, "image": {"ref": "my.org/someimage:latest"}},
            "availabilityMode": given["availabilityMode"].as_str().unwrap_or("Available"),
        },
        "status": {"conditions": conditions},
    });
    if given["deleting"] == true {
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        object["status"]["urls"] = json!({"base": "https://localhost/catalogs/catalog"});
        object["status"]["resolvedSource"] =
            json!({"type": "Image", "image": {"ref": format!("my.org/someimage@{digest}")}});
        object["status"]["lastUnpacked"] = json!("2026-01-01T00:00:00Z");
        if conditions.is_empty() {
            object["status"]["conditions"] = json!([{
                "type": "Serving", "status": "True", "reason": "Available", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]);
        }
    }
    serde_json::from_value(object).expect("a catalog")
}

/// An error with a text of its own.
fn store_error(text: &str) -> FetchError {
    FetchError::Store(text.to_owned())
}

/// What a pass makes of a catalog: its finalizers and its status.
fn pass(given: &Value) -> (Vec<String>, ClusterCatalogStatus) {
    let catalog = catalog(given);
    let seen = Seen {
        catalog: &catalog,
        content: None,
        memory: Memory::default(),
        base_url: "https://localhost",
        now: Timestamp::from_second(1_800_000_000).expect("a time"),
        jitter: 0.0,
    };
    let mut finalizers = catalog.metadata.finalizers.clone().unwrap_or_default();
    let status = match decide(&seen) {
        Step::Rest(_) => catalog.status.clone(),
        Step::Amend(amendment) => {
            finalizers = amendment.finalizers.unwrap_or(finalizers);
            catalog.status.clone()
        }
        Step::Refuse(message) => seen.after_failure(&message, true),
        Step::Withdraw(why) => {
            let how_far = match (given["deleteError"].as_str(), given["cacheDeleteError"].as_str()) {
                (Some(cause), _) => Withdrawn::Not(cause.to_owned()),
                (None, Some(cause)) => Withdrawn::FilesLeft(cause.to_owned()),
                (None, None) => Withdrawn::Entirely,
            };
            if how_far == Withdrawn::Entirely {
                finalizers = amendment(&catalog, false).finalizers.unwrap_or(finalizers);
            }
            seen.after_withdrawal(why, &how_far)
        }
        Step::Fetch => match (given["pullError"].as_str(), given["storeError"].as_str()) {
            (Some(cause), _) if given["terminal"] == true => {
                seen.after_failure(&format!("source catalog content: terminal error: {cause}"), true)
            }
            (Some(cause), _) => seen.after_failure(&format!("source catalog content: {cause}"), false),
            (None, Some(cause)) => seen.after_fetch_error(&store_error(cause)),
            (None, None) => {
                let digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
                seen.after_success(&Content {
                    reference: format!("my.org/someimage@sha256:{digest}"),
                    unpacked: seen.now,
                })
            }
        },
    };
    (finalizers, status)
}

#[test]
fn every_pass_leaves_the_conditions_that_upstream_leaves() {
    let Some(cases) = cases("catalog-status.json") else {
        return;
    };
    for row in rows(&cases["reconcile"]) {
        let (id, given, expected) = (text(&row["id"]), &row["given"], &row["expected"]);
        let (finalizers, status) = pass(given);
        if expected["unchanged"] == true {
            assert_eq!(status, catalog(given).status, "{id}");
            assert_eq!(json!(finalizers), given["finalizers"], "{id}");
            continue;
        }
        if let Some(expected) = expected.get("finalizers") {
            assert_eq!(json!(finalizers), *expected, "{id}");
        }
        for wanted in rows(&expected["conditions"]) {
            let found = status
                .conditions
                .iter()
                .find(|condition| condition.kind == text(&wanted["type"]))
                .unwrap_or_else(|| panic!("{id}: {wanted} in {status:?}"));
            assert_eq!(found.status.as_str(), wanted["status"], "{id}");
            assert_eq!(found.reason, wanted["reason"], "{id}");
            if let Some(message) = wanted["message"].as_str() {
                assert_eq!(found.message, message, "{id}");
            }
        }
        if let Some(conditions) = expected["conditions"].as_array() {
            assert_eq!(
                status.conditions.len(),
                conditions.len(),
                "{id}: {:?}",
                status.conditions
            );
        }
        for (field, is_there) in [
            ("urls", status.urls.is_some()),
            ("resolvedSource", status.resolved_source.is_some()),
            ("lastUnpacked", status.last_unpacked.is_some()),
        ] {
            if let Some(expected) = expected[field].as_bool() {
                assert_eq!(is_there, expected, "{id}: {field}");
            }
        }
    }
}

#[test]
fn a_second_pass_changes_nothing() {
    let Some(cases) = cases("catalog-status.json") else {
        return;
    };
    let row = rows(&cases["reconcile"])
        .iter()
        .find(|row| row["id"] == "unpacked")
        .expect("the row");
    let mut catalog = catalog(&row["given"]);
    let (_, status) = pass(&row["given"]);
    catalog.status = status;
    let resolved = catalog.resolved_reference().expect("a reference").to_owned();
    let seen = Seen {
        catalog: &catalog,
        content: Some(Content {
            reference: resolved,
            unpacked: Timestamp::from_second(1_800_000_000).expect("a time"),
        }),
        memory: Memory::default(),
        base_url: "https://localhost/",
        now: Timestamp::from_second(1_900_000_000).expect("a time"),
        jitter: 0.0,
    };
    assert_eq!(decide(&seen), Step::Rest(None));
    let without_content = Seen {
        content: None,
        ..seen.clone()
    };
    assert_eq!(
        decide(&without_content),
        Step::Fetch,
        "content that is lost is fetched again"
    );
    let mut deleted = catalog.clone();
    deleted.metadata.deletion_timestamp =
        serde_json::from_value(json!("2026-01-01T00:00:00Z")).expect("a time");
    deleted.metadata.finalizers = Some(vec![DELETE_SERVER_CACHE.to_owned()]);
    let seen = Seen {
        catalog: &deleted,
        ..seen
    };
    assert_eq!(decide(&seen), Step::Withdraw(Withdrawal::Deleted));
}
