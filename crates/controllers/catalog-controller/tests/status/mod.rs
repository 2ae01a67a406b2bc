//! The recorded conditions of a `ClusterCatalog`, and what is decided beyond them.

use std::time::Duration;

use api::ClusterCatalog;
use api::cluster_catalog::{AvailabilityMode, ClusterCatalogStatus};
use api::keys::{DELETE_SERVER_CACHE, METADATA_NAME, PULL_SECRET};
use catalog_controller::fetch::FetchError;
use catalog_controller::reconcile::{
    Failure, Following, Memory, Seen, Step, Wish, Withdrawal, Withdrawn, amendment, decide, follow,
};
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

const SERVED: &str =
    "my.org/someimage@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

fn served() -> Content {
    Content {
        reference: SERVED.to_owned(),
        unpacked: at(0),
    }
}

/// A catalog that is polled every minute, and whose status says that it is served.
fn settled() -> ClusterCatalog {
    let mut catalog = catalog(&json!({"finalizers": [DELETE_SERVER_CACHE]}));
    catalog
        .spec
        .source
        .image
        .as_mut()
        .expect("an image")
        .poll_interval_minutes = Some(1);
    catalog.status = seen(&catalog, Memory::default(), 0).after_success(&served());
    catalog
}

fn seen(catalog: &ClusterCatalog, memory: Memory, second: i64) -> Seen<'_> {
    Seen {
        catalog,
        content: Some(served()),
        memory,
        base_url: "https://localhost",
        now: at(second),
        jitter: 0.0,
    }
}

fn polled(catalog: &ClusterCatalog, second: i64) -> Memory {
    Memory {
        polled: Some((at(second), Wish::of(catalog))),
        failed: None,
    }
}

#[test]
fn a_catalog_is_polled_when_its_interval_has_passed_or_something_else_is_wanted() {
    let catalog = settled();
    let decided = |second| decide(&seen(&catalog, polled(&catalog, 0), second));
    assert_eq!(decided(10), Step::Rest(Some(Duration::from_secs(50))));
    assert_eq!(decided(60), Step::Fetch);
    let fresh = decide(&seen(&catalog, Memory::default(), 10));
    assert_eq!(
        fresh,
        Step::Fetch,
        "a process that just began doesn't know of earlier polls"
    );

    let memory = polled(&catalog, 0);
    let mut secret = catalog.clone();
    let annotation = (PULL_SECRET.to_owned(), "a/b".to_owned());
    secret.metadata.annotations = Some([annotation].into());
    assert_eq!(decide(&seen(&secret, memory.clone(), 10)), Step::Fetch);
    let mut changed = catalog.clone();
    changed.metadata.generation = Some(2);
    assert_eq!(decide(&seen(&changed, memory.clone(), 10)), Step::Fetch);
    let mut moved = seen(&catalog, memory.clone(), 10);
    moved.base_url = "https://elsewhere";
    assert_eq!(decide(&moved), Step::Fetch, "the status names another address");
    let mut lost = seen(&catalog, memory, 10);
    lost.content = None;
    assert_eq!(decide(&lost), Step::Fetch, "the content is lost");
}

#[test]
fn a_failure_waits_for_its_time_and_a_final_one_for_another_wish() {
    let mut catalog = settled();
    let failing = seen(&catalog, Memory::default(), 0).after_failure("source catalog content: gone", false);
    catalog.status = failing;
    let failure = |retry_at| Memory {
        polled: None,
        failed: Some(Failure {
            wish: Wish::of(&catalog),
            times: 1,
            retry_at,
        }),
    };
    let decided = |memory, second| decide(&seen(&catalog, memory, second));
    assert_eq!(
        decided(failure(Some(at(30))), 10),
        Step::Rest(Some(Duration::from_secs(20)))
    );
    assert_eq!(decided(failure(Some(at(30))), 30), Step::Fetch);
    assert_eq!(decided(failure(None), 1_000_000), Step::Rest(None));
    let mut changed = catalog.clone();
    changed.metadata.generation = Some(2);
    assert_eq!(decide(&seen(&changed, failure(None), 10)), Step::Fetch);
}

#[test]
fn a_failure_says_what_is_still_served_and_keeps_saying_that_it_is() {
    let catalog = settled();
    let status = seen(&catalog, Memory::default(), 100).after_failure("source catalog content: gone", false);
    let messages: Vec<&str> = status
        .conditions
        .iter()
        .map(|condition| condition.message.as_str())
        .collect();
    let failing = format!("source catalog content: gone; still serving {SERVED}");
    assert_eq!(
        messages,
        [&failing, "Serving desired content from resolved source"]
    );
    assert_eq!(status.resolved_source, catalog.status.resolved_source);

    // A status that was lost is put right although the registry can't be asked.
    let mut lost = catalog.clone();
    lost.status = ClusterCatalogStatus::default();
    let status = seen(&lost, Memory::default(), 100).after_failure("source catalog content: gone", false);
    assert_eq!(status.resolved_source, catalog.status.resolved_source);
    assert!(api::condition::is_true(&status.conditions, "Serving"));
}

#[test]
fn a_replica_that_follows_serves_what_the_status_names() {
    let catalog = settled();
    let follows = |catalog: &ClusterCatalog, content: Option<Content>| {
        follow(&Seen {
            content,
            ..seen(catalog, Memory::default(), 10)
        })
    };
    assert_eq!(follows(&catalog, Some(served())), Following::Rest(None));
    assert_eq!(follows(&catalog, None), Following::Fetch(SERVED.to_owned()));
    let other = Content {
        reference: "my.org/someimage@sha256:other".to_owned(),
        ..served()
    };
    assert_eq!(
        follows(&catalog, Some(other)),
        Following::Fetch(SERVED.to_owned())
    );
    let mut unavailable = catalog.clone();
    unavailable.spec.availability_mode = AvailabilityMode::Unavailable;
    assert_eq!(follows(&unavailable, Some(served())), Following::Drop);
    assert_eq!(follows(&unavailable, None), Following::Rest(None));
    let mut deleted = catalog.clone();
    deleted.metadata.deletion_timestamp =
        serde_json::from_value(json!("2026-01-01T00:00:00Z")).expect("a time");
    assert_eq!(follows(&deleted, Some(served())), Following::Drop);
    let failed = Memory {
        polled: None,
        failed: Some(Failure {
            wish: Wish::of(&catalog),
            times: 1,
            retry_at: Some(at(30)),
        }),
    };
    let waiting = Seen {
        content: None,
        ..seen(&catalog, failed, 10)
    };
    assert_eq!(follow(&waiting), Following::Rest(Some(Duration::from_secs(20))));
}
