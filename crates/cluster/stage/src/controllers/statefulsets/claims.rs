//! The volumes that belong to each Pod of a StatefulSet, and what becomes of them when the Pod or the set goes.

use serde_json::{Value, json};

use super::members::{is_wanted, ordinal};
use crate::client::{Client, Named};
use crate::controllers::ownership::controller_reference;
use crate::object::{Object, map_of};
use crate::status::Status;

/// The resource of PersistentVolumeClaims.
pub(super) const CLAIMS: Named<'static> = ("", "persistentvolumeclaims");

/// Returns the claims of a Pod, as the set's templates have them.
pub(super) fn of_pod(set: &Value, pod: &Value) -> Vec<Value> {
    let Some(ordinal) = ordinal(pod, set) else {
        return Vec::new();
    };
    let templates = set["spec"]["volumeClaimTemplates"].as_array();
    let selected = set["spec"]["selector"]["matchLabels"].as_object();
    templates
        .into_iter()
        .flatten()
        .map(|template| {
            let mut claim = template.clone();
            let fields = map_of(&mut claim);
            fields.remove("status");
            fields.insert("apiVersion".into(), "v1".into());
            fields.insert("kind".into(), "PersistentVolumeClaim".into());
            let name = name(set, template, ordinal);
            let metadata = claim.metadata_mut();
            metadata.insert("name".into(), name.into());
            metadata.insert("namespace".into(), set.namespace().into());
            let labels = map_of(metadata.entry("labels").or_insert(Value::Null));
            for (key, value) in selected.into_iter().flatten() {
                labels.insert(key.clone(), value.clone());
            }
            claim
        })
        .collect()
}

/// Returns the name of a Pod's claim.
pub(super) fn name(set: &Value, template: &Value, ordinal: i64) -> String {
    format!("{}-{}-{ordinal}", template.name(), set.name())
}

/// Makes the owners of a Pod's claims those that the set's retention policy asks for.
pub(super) async fn keep_owners(client: &Client, set: &Value, pod: &Value) -> Result<(), Status> {
    for wanted in of_pod(set, pod) {
        let Some(claim) = client.get(CLAIMS, set.namespace(), wanted.name())? else {
            continue;
        };
        let Some(owners) = owners_after(set, pod, &claim) else {
            continue;
        };
        let owners = if owners.is_empty() {
            Value::Null
        } else {
            Value::Array(owners)
        };
        let patch = json!({"metadata": {
            "ownerReferences": owners,
            "uid": claim.uid(),
            "resourceVersion": claim.metadata_text("resourceVersion"),
        }});
        client
            .merge(CLAIMS, set.namespace(), claim.name(), "", &patch)
            .await?;
    }
    Ok(())
}

/// Returns the owners that a claim should have, where they aren't what they are.
fn owners_after(set: &Value, pod: &Value, claim: &Value) -> Option<Vec<Value>> {
    let policy = &set["spec"]["persistentVolumeClaimRetentionPolicy"];
    let when_deleted = policy["whenDeleted"] == "Delete";
    let when_scaled = policy["whenScaled"] == "Delete";
    let before = claim["metadata"]["ownerReferences"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let names = |one: &Value, object: &Value| {
        one["kind"] == object["kind"] && one["name"] == object["metadata"]["name"]
    };
    let is = |one: &Value, object: &Value| one["uid"].as_str() == Some(object.uid());
    let ours = |one: &Value| names(one, set) || names(one, pod);
    // A claim of a Pod or set that was there before goes with that one: nothing to do.
    if before
        .iter()
        .any(|one| ours(one) && !is(one, set) && !is(one, pod))
    {
        return None;
    }
    let foreign = (when_deleted || when_scaled)
        && before
            .iter()
            .any(|one| !ours(one) && one["controller"].as_bool() == Some(true));
    let mut after: Vec<Value> = before.iter().filter(|one| !ours(one)).cloned().collect();
    if !foreign {
        let scaled_down = !is_wanted(pod, set);
        if when_scaled && scaled_down {
            after.push(controller_reference(pod));
        } else if when_deleted {
            after.push(controller_reference(set));
        }
    }
    let key = |list: &[Value]| -> Vec<(String, bool)> {
        let mut keys: Vec<(String, bool)> = list
            .iter()
            .map(|one| (one["uid"].to_string(), one["controller"].as_bool() == Some(true)))
            .collect();
        keys.sort();
        keys
    };
    (key(&before) != key(&after)).then_some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(deleted: &str, scaled: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "s", "uid": "set"},
            "spec": {"replicas": 1, "persistentVolumeClaimRetentionPolicy":
                {"whenDeleted": deleted, "whenScaled": scaled}}})
    }

    fn pod(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "uid": name}})
    }

    fn owners(set: &Value, pod: &Value) -> Option<Vec<String>> {
        let after = owners_after(set, pod, &json!({"metadata": {}}))?;
        Some(
            after
                .iter()
                .map(|one| one["uid"].as_str().unwrap_or_default().to_owned())
                .collect(),
        )
    }

    #[test]
    fn a_claim_belongs_to_what_it_goes_with() {
        assert_eq!(owners(&set("Retain", "Retain"), &pod("s-0")), None);
        assert_eq!(
            owners(&set("Delete", "Retain"), &pod("s-0")),
            Some(vec!["set".into()])
        );
        assert_eq!(
            owners(&set("Delete", "Retain"), &pod("s-1")),
            Some(vec!["set".into()])
        );
        assert_eq!(owners(&set("Retain", "Delete"), &pod("s-0")), None);
        assert_eq!(
            owners(&set("Retain", "Delete"), &pod("s-1")),
            Some(vec!["s-1".into()])
        );
        assert_eq!(
            owners(&set("Delete", "Delete"), &pod("s-1")),
            Some(vec!["s-1".into()])
        );
        assert_eq!(
            owners(&set("Delete", "Delete"), &pod("s-0")),
            Some(vec!["set".into()])
        );
    }
}
