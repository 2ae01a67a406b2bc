//! Namespaces that go: everything in them goes first, then the namespace itself.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::work::{Affected, Controller, Item, Next, itself};
use crate::client::{Client, Named};
use crate::object::{Object, map_of, timestamp};
use crate::options::{DeleteOptions, Propagation};
use crate::status::Status;
use crate::store::ResourceKey;

/// The resource of namespaces.
pub const NAMESPACES: Named<'static> = ("", "namespaces");

/// The finalizer in the spec that keeps a namespace until its content is gone.
const FINALIZER: &str = "kubernetes";

/// How soon the rest of a namespace's content is looked at again.
const NEXT_LOOK: Duration = Duration::from_millis(100);

/// The same for a namespace that takes long, because something waits for a finalizer.
const NEXT_SLOW_LOOK: Duration = Duration::from_secs(2);

/// After how many seconds a namespace takes long.
const LONG: i64 = 30;

/// Ends namespaces.
#[derive(Debug)]
pub struct Namespaces;

impl Controller for Namespaces {
    const NAME: &'static str = "namespace-controller";

    fn watches(&self) -> Vec<(ResourceKey, Affected)> {
        vec![(ResourceKey::new(NAMESPACES.0, NAMESPACES.1), itself)]
    }

    async fn reconcile(&self, client: &Client, item: &Item) -> Result<Next, Status> {
        let Some(namespace) = client.get(NAMESPACES, "", &item.name)? else {
            return Ok(Next::Wait);
        };
        if !namespace.is_being_deleted() || !is_kept(&namespace) {
            return Ok(Next::Wait);
        }
        let left = sweep(client, &item.name).await;
        let plan = decide(&namespace, &left, Timestamp::now());
        act(client, namespace, plan).await
    }
}

fn is_kept(namespace: &Value) -> bool {
    namespace["spec"]["finalizers"]
        .as_array()
        .is_some_and(|all| all.iter().any(|name| name == FINALIZER))
}

/// What is left of a namespace's content after a sweep.
#[derive(Debug, Default, PartialEq, Eq)]
struct Left {
    /// How many objects of each resource, by `plural.group`.
    objects: BTreeMap<String, usize>,
    /// How many objects wait for each finalizer.
    finalizers: BTreeMap<String, usize>,
    /// Why something couldn't be deleted.
    failures: Vec<String>,
    /// Whether only pods were swept, because the rest waits for them.
    pods_first: bool,
}

/// Deletes what is in a namespace: first its pods, which may need the rest, then the rest.
async fn sweep(client: &Client, namespace: &str) -> Left {
    let mut left = Left::default();
    sweep_resource(client, namespace, ("", "pods"), &mut left).await;
    if !left.objects.is_empty() {
        left.pods_first = true;
        return left;
    }
    let served = client.api().resources.now();
    let mut seen: Vec<ResourceKey> = vec![ResourceKey::new("", "pods")];
    for resource in served.all() {
        let deletable = resource.namespaced && resource.verbs.contains(&"delete");
        if deletable && !seen.contains(&resource.storage) {
            seen.push(resource.storage.clone());
            sweep_resource(client, namespace, (&resource.group, &resource.plural), &mut left).await;
        }
    }
    left
}

async fn sweep_resource(client: &Client, namespace: &str, resource: Named<'_>, left: &mut Left) {
    let objects = match client.list_stored(resource, namespace) {
        Ok(objects) => objects,
        Err(status) => return left.failures.push(status.message),
    };
    if objects.is_empty() {
        return;
    }
    let options = DeleteOptions {
        propagation: Some(Propagation::Background),
        ..DeleteOptions::default()
    };
    for object in objects.iter().filter(|object| !object.deleting) {
        let deleted = client
            .delete(resource, namespace, &object.key.name, &options)
            .await;
        if let Err(status) = deleted {
            left.failures.push(status.message);
        }
    }
    let objects = client.list_stored(resource, namespace).unwrap_or_default();
    if objects.is_empty() {
        return;
    }
    left.objects
        .insert(format!("{}.{}", resource.1, resource.0), objects.len());
    for object in objects {
        for finalizer in object.value().finalizers() {
            *left.finalizers.entry(finalizer.to_owned()).or_default() += 1;
        }
    }
}

/// What is done with a namespace that goes.
#[derive(Debug, PartialEq)]
struct Plan {
    /// The status with its conditions, if it changes.
    status: Option<Value>,
    /// Whether nothing is left and the namespace may go.
    finalize: bool,
    /// When the next look is due.
    next: Duration,
}

fn decide(namespace: &Value, left: &Left, now: Timestamp) -> Plan {
    let begun: Option<Timestamp> = namespace.metadata_text("deletionTimestamp").parse().ok();
    let long = begun.is_some_and(|begun| now.duration_since(begun).as_secs() >= LONG);
    let mut status = namespace["status"].clone();
    map_of(&mut status).insert("phase".into(), "Terminating".into());
    write_conditions(&mut status, left, &timestamp(now));
    Plan {
        status: (status != namespace["status"]).then_some(status),
        finalize: left.objects.is_empty() && left.failures.is_empty(),
        next: if long { NEXT_SLOW_LOOK } else { NEXT_LOOK },
    }
}

/// Writes the conditions as upstream does: each is there from the first sweep on, and `True` is bad.
fn write_conditions(status: &mut Value, left: &Left, now: &str) {
    let joined = |counts: &BTreeMap<String, usize>, verb: &str| {
        let mut texts: Vec<String> = counts
            .iter()
            .map(|(name, count)| format!("{name} {verb} {count} resource instances"))
            .collect();
        texts.sort();
        texts.join(", ")
    };
    let mut failures = left.failures.clone();
    failures.sort();
    let content_failure = (!failures.is_empty()).then(|| {
        let text = failures.join(", ");
        (
            "ContentDeletionFailed",
            format!(
                "Failed to delete all resource types, {} remaining: {text}",
                failures.len()
            ),
        )
    });
    // While only the pods were looked at, nothing is said about what remains.
    let tell = !left.pods_first;
    let remaining = (tell && !left.objects.is_empty()).then(|| {
        let text = joined(&left.objects, "has");
        (
            "SomeResourcesRemain",
            format!("Some resources are remaining: {text}"),
        )
    });
    let finalizers = (tell && !left.finalizers.is_empty()).then(|| {
        let text = joined(&left.finalizers, "in");
        (
            "SomeFinalizersRemain",
            format!("Some content in the namespace has finalizers remaining: {text}"),
        )
    });
    let conditions = [
        (
            "NamespaceDeletionDiscoveryFailure",
            "ResourcesDiscovered",
            "All resources successfully discovered",
            None,
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
            None,
        ),
        (
            "NamespaceDeletionContentFailure",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
            content_failure,
        ),
        (
            "NamespaceContentRemaining",
            "ContentRemoved",
            "All content successfully removed",
            remaining,
        ),
        (
            "NamespaceFinalizersRemaining",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
            finalizers,
        ),
    ];
    for (condition_type, good_reason, good_message, bad) in conditions {
        let (state, reason, message) = match bad {
            Some((reason, message)) => ("True", reason, message),
            None => ("False", good_reason, good_message.to_owned()),
        };
        write_condition(status, condition_type, state, reason, &message, now);
    }
}

fn write_condition(
    status: &mut Value,
    condition_type: &str,
    state: &str,
    reason: &str,
    message: &str,
    now: &str,
) {
    let conditions = map_of(status).entry("conditions").or_insert_with(|| json!([]));
    if !conditions.is_array() {
        *conditions = json!([]);
    }
    let Some(conditions) = conditions.as_array_mut() else {
        return;
    };
    let present = conditions.iter().position(|one| one["type"] == condition_type);
    let since = match present.map(|index| &conditions[index]) {
        Some(present) if present["status"] == state => present["lastTransitionTime"].clone(),
        _ => now.into(),
    };
    let condition = json!({
        "type": condition_type, "status": state, "lastTransitionTime": since, "reason": reason, "message": message,
    });
    match present {
        Some(index) => conditions[index] = condition,
        None => conditions.push(condition),
    }
}

async fn act(client: &Client, mut namespace: Value, plan: Plan) -> Result<Next, Status> {
    if let Some(status) = plan.status {
        map_of(&mut namespace).insert("status".into(), status);
        namespace = client.update_status(NAMESPACES, namespace).await?;
    }
    if !plan.finalize {
        return Ok(Next::After(plan.next));
    }
    if let Some(finalizers) = namespace["spec"]["finalizers"].as_array_mut() {
        finalizers.retain(|name| name != FINALIZER);
    }
    client.update_below(NAMESPACES, "finalize", namespace).await?;
    Ok(Next::Wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(left: &Left) -> Vec<(String, String, String)> {
        let mut status = json!({"phase": "Terminating"});
        write_conditions(&mut status, left, "2026-01-01T00:00:00Z");
        let text = |one: &Value, field: &str| one[field].as_str().unwrap().to_owned();
        status["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (text(one, "status"), text(one, "reason"), text(one, "message")))
            .collect()
    }

    #[test]
    fn an_empty_namespace_is_finalized_with_good_conditions() {
        let namespace = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Terminating"}});
        let plan = decide(&namespace, &Left::default(), Timestamp::UNIX_EPOCH);
        assert!(plan.finalize);
        for (status, ..) in conditions(&Left::default()) {
            assert_eq!(status, "False");
        }
    }

    #[test]
    fn what_remains_and_what_it_waits_for_is_counted() {
        let left = Left {
            objects: [("secrets.".to_owned(), 2), ("deployments.apps".to_owned(), 1)].into(),
            finalizers: [("example.com/wait".to_owned(), 3)].into(),
            ..Left::default()
        };
        let namespace = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        let late: Timestamp = "2026-01-01T00:10:00Z".parse().unwrap();
        let plan = decide(&namespace, &left, late);
        assert!(!plan.finalize);
        assert_eq!(plan.next, NEXT_SLOW_LOOK);
        let conditions = conditions(&left);
        assert_eq!(
            conditions[3].2,
            "Some resources are remaining: deployments.apps has 1 resource instances, secrets. has 2 resource instances"
        );
        assert_eq!(
            conditions[4].2,
            "Some content in the namespace has finalizers remaining: example.com/wait in 3 resource instances"
        );
    }

    #[test]
    fn a_refused_deletion_is_told_and_keeps_the_namespace() {
        let left = Left {
            failures: vec!["b".to_owned(), "a".to_owned()],
            ..Left::default()
        };
        assert_eq!(
            conditions(&left)[2].2,
            "Failed to delete all resource types, 2 remaining: a, b"
        );
        let plan = decide(&json!({}), &left, Timestamp::UNIX_EPOCH);
        assert!(!plan.finalize);
    }

    #[test]
    fn a_condition_keeps_its_time_while_its_status_stays() {
        let mut status = json!({});
        write_conditions(&mut status, &Left::default(), "2026-01-01T00:00:00Z");
        let before = status.clone();
        write_conditions(&mut status, &Left::default(), "2026-01-02T00:00:00Z");
        assert_eq!(status, before);
    }
}
