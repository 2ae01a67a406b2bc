//! CatalogSources of OLM v0: whether they can be asked, and when they were last refreshed.

use std::time::Duration;

use apply::object::{is_terminating, label, text};
use chart::go_duration;
use classic::keys;
use install_plan::source::is_healthy;
use serde_json::Value;

use crate::conditions::shortened;
use crate::finding::Finding;
use crate::finding::Severity::{Broken, Risky};
use crate::kinds;
use crate::moment::{FIRST_LOOK_SECONDS, seconds_since, words};
use crate::picture::Picture;
use crate::rules::leases;
use crate::subject::Subject;

/// How often a catalog is polled where its interval can't be read.
const USUAL_INTERVAL: Duration = Duration::from_mins(15);

/// How many polls may be missed before it is worth a word.
const MISSED_POLLS: i64 = 3;

/// Looks at all CatalogSources.
pub fn look(picture: &Picture) -> Vec<Finding> {
    picture
        .all(kinds::CATALOG_SOURCE)
        .filter(|source| !is_terminating(source))
        .filter_map(|source| connection(picture, source).or_else(|| freshness(picture, source)))
        .collect()
}

fn connection(picture: &Picture, source: &Value) -> Option<Finding> {
    let state = text(source, "/status/connectionState/lastObservedState");
    let said = match (text(source, "/status/reason"), text(source, "/status/message")) {
        ("", "") => String::new(),
        (reason, "") => format!(": {reason}"),
        (_, message) => format!(": {}", shortened(message)),
    };
    let address = text(source, "/status/connectionState/address");
    let describe = Subject::of(source).describe();
    let pods = pods(picture, source);
    let age = seconds_since(source, "/metadata/creationTimestamp", picture.now).unwrap_or_default();
    if source.get("status").is_none() {
        return (age > FIRST_LOOK_SECONDS).then(|| {
            Finding::new(Broken, "catalog-source-not-looked-at", source)
                .at("status")
                .because(format!("no controller has looked at it in {}", words(age)))
                .next("see that OLM v0 runs: kubectl get deployments -n olm; or run `baton controllers`")
                .suspecting(leases::of_subscriptions(picture))
        });
    }
    let image = text(source, "/spec/image");
    if !is_healthy(source) && !said.is_empty() {
        return Some(
            Finding::new(Broken, "catalog-source-unhealthy", source)
                .at("status.message")
                .because(format!("nothing can be installed from it{said}"))
                .next(if image.is_empty() {
                    format!("put its spec right: {describe}")
                } else {
                    format!("see whether the image can be had: baton catalog list packages {image}; then: {describe}")
                })
                .suspecting(pods),
        );
    }
    let is_unreached = match state {
        "TRANSIENT_FAILURE" | "SHUTDOWN" => true,
        "READY" | "IDLE" => false,
        _ => age > FIRST_LOOK_SECONDS,
    };
    is_unreached.then(|| {
        let state = if state.is_empty() { "not connected" } else { state };
        Finding::new(Broken, "catalog-source-unreachable", source)
            .at("status.connectionState.lastObservedState")
            .because(if address.is_empty() {
                format!("its server can't be reached ({state}){said}")
            } else {
                format!("its server at {address} can't be reached ({state}){said}")
            })
            .next(format!("see its server: {describe}"))
            .suspecting(pods)
    })
}

/// The pods that serve a catalog.
fn pods(picture: &Picture, source: &Value) -> Vec<Subject> {
    let name = text(source, "/metadata/name");
    picture
        .in_namespace(kinds::POD, text(source, "/metadata/namespace"))
        .filter(|pod| label(pod, keys::CATALOG_SOURCE) == Some(name))
        .map(Subject::of)
        .collect()
}

fn freshness(picture: &Picture, source: &Value) -> Option<Finding> {
    let interval = text(source, "/spec/updateStrategy/registryPoll/interval");
    if interval.is_empty() {
        return None;
    }
    let seconds = go_duration::parse(interval).unwrap_or(USUAL_INTERVAL).as_secs();
    let seconds = i64::try_from(seconds).ok()?.max(FIRST_LOOK_SECONDS);
    let age = seconds_since(source, "/status/latestImageRegistryPoll", picture.now)?;
    (age > seconds.saturating_mul(MISSED_POLLS)).then(|| {
        Finding::new(Risky, "catalog-source-not-refreshed", source)
            .at("status.latestImageRegistryPoll")
            .because(format!(
                "its image was last looked at {} ago, although that is due every {interval}",
                words(age)
            ))
            .next("see that OLM v0 runs: kubectl get deployments -n olm; or run `baton controllers`")
            .suspecting(leases::of_subscriptions(picture))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{object, picture, told};

    #[test]
    fn a_catalog_source_is_reached_and_fresh_or_says_why_not() {
        let source = |spec: Value, status: Value| {
            let mut rest = json!({"spec": spec});
            if !status.is_null() {
                rest["status"] = status;
            }
            object(
                "operators.coreos.com/v1alpha1",
                "CatalogSource",
                "olm",
                "models",
                rest,
            )
        };
        let image = json!({"sourceType": "grpc", "image": "r.example/c:1",
            "updateStrategy": {"registryPoll": {"interval": "10m"}}});
        let service = json!({"protocol": "grpc"});
        let connected = |state: &str| json!({"lastObservedState": state, "address": "models.olm.svc:50051"});
        for (source, expected) in [
            (
                source(
                    image.clone(),
                    json!({"registryService": service, "connectionState": connected("READY"),
                    "latestImageRegistryPoll": "2026-06-01T11:50:00Z"}),
                ),
                &[][..],
            ),
            (
                source(
                    image.clone(),
                    json!({"registryService": service, "connectionState": connected("READY"),
                    "latestImageRegistryPoll": "2026-06-01T11:00:00Z"}),
                ),
                &[
                    "risky catalog-source-not-refreshed CatalogSource olm/models: its image was last looked at 60 min ago, although that is due every 10m",
                ][..],
            ),
            (
                source(
                    image.clone(),
                    json!({"registryService": service, "connectionState": connected("TRANSIENT_FAILURE")}),
                ),
                &[
                    "broken catalog-source-unreachable CatalogSource olm/models: its server at models.olm.svc:50051 can't be reached (TRANSIENT_FAILURE)",
                ][..],
            ),
            (
                source(
                    image.clone(),
                    json!({"reason": "RegistryServerError", "message": "no such image"}),
                ),
                &[
                    "broken catalog-source-unhealthy CatalogSource olm/models: nothing can be installed from it: no such image",
                ][..],
            ),
            (
                source(image, Value::Null),
                &[
                    "broken catalog-source-not-looked-at CatalogSource olm/models: no controller has looked at it in 2 h",
                ][..],
            ),
        ] {
            assert_eq!(told(&look(&picture([source]))), expected);
        }
    }
}
