//! `ClusterCatalog`s: whether they are served, and whether what is served is what their image holds.

use apply::object::{is_terminating, text};
use serde_json::Value;

use crate::conditions::{condition, holds};
use crate::finding::Finding;
use crate::finding::Severity::{Broken, Note, Risky};
use crate::kinds;
use crate::moment::{FIRST_LOOK_SECONDS, seconds_since, words};
use crate::picture::Picture;
use crate::rules::leases;

/// Looks at all `ClusterCatalog`s.
pub fn look(picture: &Picture) -> Vec<Finding> {
    picture
        .all(kinds::CLUSTER_CATALOG)
        .filter(|catalog| !is_terminating(catalog))
        .filter_map(|catalog| judge(picture, catalog))
        .collect()
}

fn judge(picture: &Picture, catalog: &Value) -> Option<Finding> {
    let name = text(catalog, "/metadata/name");
    let image = text(catalog, "/spec/source/image/ref");
    if text(catalog, "/spec/availabilityMode") == "Unavailable" {
        return Some(
            Finding::new(Note, "catalog-switched-off", catalog)
                .at("spec.availabilityMode")
                .because("somebody switched it off, so that nothing is installed from it")
                .next(format!(
                    "to switch it on: kubectl patch clustercatalog {name} --type=merge -p \
                     '{{\"spec\":{{\"availabilityMode\":\"Available\"}}}}'"
                )),
        );
    }
    let Some(progressing) = condition(catalog, "Progressing") else {
        let age = seconds_since(catalog, "/metadata/creationTimestamp", picture.now)?;
        return (age > FIRST_LOOK_SECONDS).then(|| {
            Finding::new(Broken, "catalog-not-looked-at", catalog)
                .at("status.conditions")
                .because(format!(
                    "no controller has looked at it in {}; nothing is served",
                    words(age)
                ))
                .next("see that the controllers run: kubectl get deployments -A -l app.kubernetes.io/part-of=olm; or run `baton controllers`")
                .suspecting(leases::of_catalogs(picture))
        });
    };
    let next = || {
        format!(
            "see whether the image can be had: baton catalog list packages {image}; then: kubectl describe clustercatalog {name}"
        )
    };
    let is_failing = matches!(progressing.reason, "Retrying" | "Blocked");
    // One that never was served says nothing of serving.
    let is_served = holds(catalog, "Serving");
    if !is_served && (is_failing || condition(catalog, "Serving").is_some()) {
        return Some(
            Finding::new(Broken, "catalog-not-served", catalog)
                .at_condition("Progressing")
                .because(format!("it can't be served: {}", progressing.words()))
                .next(next()),
        );
    }
    (is_served && is_failing).then(|| {
        Finding::new(Risky, "catalog-not-refreshed", catalog)
            .at_condition("Progressing")
            .because(format!(
                "it serves what it had before, since it can't be read anew: {}",
                progressing.words()
            ))
            .next(next())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{conditions, object, picture, told};

    #[test]
    fn a_catalog_is_served_and_fresh_or_says_why_not() {
        let catalog = |rest: Value| {
            object(
                "olm.operatorframework.io/v1",
                "ClusterCatalog",
                "",
                "models",
                rest,
            )
        };
        let said = |serving: &str, reason: &str| {
            catalog(conditions(&[
                ("Serving", serving, "Any", ""),
                ("Progressing", "True", reason, "no such host"),
            ]))
        };
        for (catalog, expected) in [
            (said("True", "Succeeded"), &[][..]),
            (
                said("True", "Retrying"),
                &[
                    "risky catalog-not-refreshed ClusterCatalog models: it serves what it had before, since it can't be read anew: no such host",
                ][..],
            ),
            (
                said("False", "Retrying"),
                &["broken catalog-not-served ClusterCatalog models: it can't be served: no such host"][..],
            ),
            (
                catalog(conditions(&[(
                    "Progressing",
                    "True",
                    "Retrying",
                    "no such image",
                )])),
                &["broken catalog-not-served ClusterCatalog models: it can't be served: no such image"][..],
            ),
            (
                catalog(json!({})),
                &[
                    "broken catalog-not-looked-at ClusterCatalog models: no controller has looked at it in 2 h; nothing is served",
                ][..],
            ),
            (
                catalog(json!({"metadata": {"creationTimestamp": "2026-06-01T11:59:30Z"}})),
                &[][..],
            ),
            (
                catalog(json!({"spec": {"availabilityMode": "Unavailable"}})),
                &[
                    "note catalog-switched-off ClusterCatalog models: somebody switched it off, so that nothing is installed from it",
                ][..],
            ),
        ] {
            assert_eq!(told(&look(&picture([catalog]))), expected);
        }
    }
}
