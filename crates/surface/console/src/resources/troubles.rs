//! Custom resources that somebody must look at: those of which their operator says that they can't be made true.
//!
//! A resource that was refused from the beginning has no release and no event. So the kinds are those of the operators that
//! run, which say so in Leases, and those of which resources own releases.

use std::collections::BTreeSet;

use api::condition::ConditionStatus;
use futures_util::stream::BoxStream;
use helm_operator::roster;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher;
use kube::runtime::{WatchStreamExt as _, watcher as watch};
use kube::{Api, Client, ResourceExt as _};

use super::{ResourceName, of_resource};
use crate::changes::changes_of;
use crate::conditions::{message_of, shortened};
use crate::marks::{Pill, Tone};
use crate::releases::Survey;

/// How many kinds are looked at: operators of Helm charts have one or two each.
const MOST_KINDS: usize = 20;

/// How many resources are looked at, over all kinds: as many as releases.
const MOST_RESOURCES: usize = 5_000;

/// How many are read at once.
const AT_ONCE: u32 = 500;

/// A resource that needs somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) resource: ResourceName,
    pub(crate) pill: Pill,
    pub(crate) why: String,
}

/// Looks at the resources of all Helm operators. What can't be read is left out, since whoever may not read one kind may want
/// to see the others.
pub(crate) async fn troubles(client: &Client, survey: Option<&Survey>) -> Vec<Trouble> {
    let (mut found, mut seen) = (Vec::new(), 0);
    for resource in kinds(client, survey).await {
        let objects: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let mut parameters = ListParams::default().limit(AT_ONCE);
        while seen < MOST_RESOURCES {
            let list = match objects.list(&parameters).await {
                Ok(list) => list,
                Err(error) => {
                    tracing::debug!(%error, kind = resource.kind, "the console cannot look for resources in trouble");
                    break;
                }
            };
            seen += list.items.len();
            found.extend(list.items.iter().filter_map(|object| trouble(&resource, object)));
            match list.metadata.continue_.filter(|next| !next.is_empty()) {
                Some(next) => parameters = parameters.continue_token(&next),
                None => break,
            }
        }
    }
    found
}

/// Happens with every change of a resource of a Helm operator.
pub(crate) async fn changes(client: &Client, survey: Option<&Survey>) -> Vec<BoxStream<'static, ()>> {
    let kinds = kinds(client, survey).await.into_iter();
    kinds
        .map(|resource| {
            let objects: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client.clone(), &resource);
            changes_of(watch(objects, watcher::Config::default()).default_backoff())
        })
        .collect()
}

/// The kinds that Helm operators look after, as the cluster serves them.
async fn kinds(client: &Client, survey: Option<&Survey>) -> Vec<ApiResource> {
    let leases: Api<Lease> = Api::all(client.clone());
    let parameters = ListParams::default().labels(roster::LABEL);
    let mut wanted = BTreeSet::new();
    match leases.list(&parameters).await {
        Ok(leases) => wanted.extend(leases.items.iter().flat_map(looked_after)),
        Err(error) => tracing::debug!(%error, "the console cannot ask which Helm operators run"),
    }
    let owned = survey.into_iter().flat_map(|survey| &survey.owned);
    wanted.extend(owned.map(|owned| (owned.resource.group.clone(), owned.resource.kind.clone())));
    let mut served = Vec::new();
    for (group, kind) in wanted.into_iter().take(MOST_KINDS) {
        match kube::discovery::group(client, &group).await {
            Ok(group) => served.extend(group.recommended_kind(&kind).map(|(resource, _)| resource)),
            Err(error) => {
                tracing::debug!(%error, group, kind, "the console cannot find a kind of Helm operators");
            }
        }
    }
    served
}

/// The groups and kinds that an operator looks after, as its Lease says.
fn looked_after(lease: &Lease) -> Vec<(String, String)> {
    let watches = lease.annotations().get(roster::ANNOTATION);
    let operators = watches.and_then(|watches| roster::read(&lease.name_any(), watches));
    let operators = operators.unwrap_or_default().into_iter();
    operators
        .map(|operator| (operator.group, operator.kind))
        .collect()
}

/// What is wrong with a resource, if somebody must look at it.
fn trouble(kind: &ApiResource, object: &DynamicObject) -> Option<Trouble> {
    let pill = of_resource(&object.data, object.metadata.deletion_timestamp.is_some());
    if !matches!(pill.tone, Tone::Warning | Tone::Bad) {
        return None;
    }
    let messages = [
        ("Irreconcilable", ConditionStatus::True),
        ("ReleaseFailed", ConditionStatus::True),
        ("Selected", ConditionStatus::False),
    ]
    .map(|(kind, status)| message_of(&object.data, kind, status));
    let why = messages.into_iter().flatten().next().unwrap_or_default();
    Some(Trouble {
        resource: ResourceName {
            group: kind.group.clone(),
            version: kind.version.clone(),
            kind: kind.kind.clone(),
            namespace: object.namespace().unwrap_or_default(),
            name: object.name_any(),
        },
        pill,
        why: shortened(why),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn told(conditions: &Value) -> Option<(String, String)> {
        let kind = ApiResource::from_gvk(&kube::api::GroupVersionKind::gvk("example.com", "v1", "Shop"));
        let object: DynamicObject = from_value(json!({
            "apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "books", "namespace": "shop"},
            "status": {"conditions": conditions},
        }))
        .expect("an object");
        trouble(&kind, &object).map(|trouble| {
            assert_eq!(
                trouble.resource.path(),
                "/resources/example.com/v1/Shop/shop/books"
            );
            (trouble.pill.text, trouble.why)
        })
    }

    #[test]
    fn what_needs_somebody_is_told_with_the_reason() {
        let said = |kind: &str, status: &str, message: &str| json!({"type": kind, "status": status, "reason": "", "message": message});
        let ready = said("Ready", "True", "");
        for (conditions, expected) in [
            (
                json!([
                    ready,
                    said("Irreconcilable", "True", "no such port"),
                    said("ReleaseFailed", "True", "other")
                ]),
                Some(("Irreconcilable", "no such port")),
            ),
            (
                json!([
                    said("Irreconcilable", "False", "old"),
                    said("ReleaseFailed", "True", "refused")
                ]),
                Some(("Release failed", "refused")),
            ),
            (
                json!([said("Selected", "False", "nobody picks it")]),
                Some(("No operator", "nobody picks it")),
            ),
            (json!([ready]), None),
            (json!([said("Ready", "False", "pods")]), None),
            (
                json!([said("Paused", "True", ""), said("Irreconcilable", "Unknown", "")]),
                None,
            ),
            (json!([]), None),
        ] {
            let expected = expected.map(|(pill, why)| (pill.to_owned(), why.to_owned()));
            assert_eq!(told(&conditions), expected, "{conditions}");
        }
    }

    #[test]
    fn a_lease_tells_which_kinds_an_operator_looks_after() {
        let lease = |watches: &str| -> Lease {
            from_value(json!({"metadata": {"name": "a", "annotations": {roster::ANNOTATION: watches}}}))
                .expect("a Lease")
        };
        let watches = r#"[{"group": "example.com", "kind": "Shop", "chart": "shop", "version": "1.0.0"}]"#;
        assert_eq!(
            looked_after(&lease(watches)),
            [("example.com".to_owned(), "Shop".to_owned())]
        );
        assert_eq!(looked_after(&lease("no")), []);
        assert_eq!(looked_after(&Lease::default()), []);
    }
}
