//! ControllerRevisions: the templates that a StatefulSet or DaemonSet had, each under a number.

use serde_json::{Map, Value, json};

use super::ownership::{claim, controller_reference};
use super::template_hash::{same_template, short_hash};
use crate::client::{Client, Named};
use crate::object::{Object, map_of};
use crate::options::DeleteOptions;
use crate::status::Status;

/// The resource of ControllerRevisions.
pub const REVISIONS: Named<'static> = ("apps", "controllerrevisions");

/// The longest beginning of a revision's name.
const LONGEST_PREFIX: usize = 223;

/// How many hashes that others have are tried in one go.
const MOST_COLLISIONS: i64 = 16;

/// The revisions of a workload.
#[derive(Debug)]
pub struct History {
    /// All, the oldest first.
    pub all: Vec<Value>,
    /// The one of the present template.
    pub present: Value,
    /// How many hashes belonged to others.
    pub collisions: Option<i64>,
}

/// Returns the number of a revision.
pub fn number(revision: &Value) -> i64 {
    revision["revision"].as_i64().unwrap_or(0)
}

/// Returns the template that a revision keeps.
pub fn template(revision: &Value) -> Value {
    let mut template = revision["data"]["spec"]["template"].clone();
    if let Some(map) = template.as_object_mut() {
        map.remove("$patch");
    }
    template
}

fn keeps(revision: &Value, wanted: &Value) -> bool {
    same_template(&template(revision), wanted, "")
}

/// Returns the revision of a workload's present template.
fn made_for(owner: &Value, hash_label: &str, number: i64, collisions: Option<i64>) -> Value {
    let template = &owner["spec"]["template"];
    let hash = short_hash(template, collisions);
    let mut labels = template["metadata"]["labels"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    labels.insert(hash_label.to_owned(), hash.clone().into());
    let mut kept = template.clone();
    map_of(&mut kept).insert("$patch".into(), "replace".into());
    let mut prefix = owner.name().to_owned();
    prefix.truncate(LONGEST_PREFIX);
    let mut metadata = Map::new();
    metadata.insert("name".into(), format!("{prefix}-{hash}").into());
    metadata.insert("namespace".into(), owner.namespace().into());
    metadata.insert("labels".into(), Value::Object(labels));
    metadata.insert("ownerReferences".into(), json!([controller_reference(owner)]));
    if let Some(annotations) = owner["metadata"].get("annotations").filter(|all| all.is_object()) {
        metadata.insert("annotations".into(), annotations.clone());
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "data": {"spec": {"template": kept}},
        "revision": number,
    })
}

/// Finds the revisions of a workload, and makes that of its present template or gives it the highest number.
pub async fn settle(
    client: &Client,
    owner: &Value,
    hash_label: &str,
    collisions: Option<i64>,
) -> Result<History, Status> {
    let mut all = claim(client, REVISIONS, owner, |_| true).await?;
    all.sort_by(|one, other| {
        number(one)
            .cmp(&number(other))
            .then_with(|| one.name().cmp(other.name()))
    });
    let last = all.last().map_or(0, number);
    let wanted = &owner["spec"]["template"];
    let equal = all.iter().rposition(|revision| keeps(revision, wanted));
    let mut collisions = collisions;
    let present = match equal {
        Some(index) if index + 1 == all.len() => all[index].clone(),
        Some(index) if owner.is_being_deleted() => all[index].clone(),
        Some(index) => {
            let mut again = all.remove(index);
            map_of(&mut again).insert("revision".into(), (last + 1).into());
            let again = client.update(REVISIONS, again).await?;
            all.push(again.clone());
            again
        }
        None if owner.is_being_deleted() => made_for(owner, hash_label, last + 1, collisions),
        None => {
            let made = make(client, owner, hash_label, last + 1, &mut collisions).await?;
            all.push(made.clone());
            made
        }
    };
    Ok(History {
        all,
        present,
        collisions,
    })
}

async fn make(
    client: &Client,
    owner: &Value,
    hash_label: &str,
    number: i64,
    collisions: &mut Option<i64>,
) -> Result<Value, Status> {
    let first = collisions.unwrap_or(0);
    loop {
        let wanted = made_for(owner, hash_label, number, *collisions);
        let refusal = match client.create(REVISIONS, wanted.clone()).await {
            Ok(made) => return Ok(made),
            Err(refusal) if refusal.reason == "AlreadyExists" => refusal,
            Err(refusal) => return Err(refusal),
        };
        let present = client.get(REVISIONS, owner.namespace(), wanted.name())?;
        if let Some(present) = present
            && present.controller().and_then(|one| one["uid"].as_str()) == Some(owner.uid())
            && keeps(&present, &owner["spec"]["template"])
        {
            return Ok(present);
        }
        let next = collisions.unwrap_or(0) + 1;
        if next - first > MOST_COLLISIONS {
            return Err(refusal);
        }
        *collisions = Some(next);
    }
}

/// Removes the oldest of the revisions that nothing uses, beyond those that are kept for a way back.
pub async fn truncate(
    client: &Client,
    history: &History,
    limit: Option<i64>,
    is_used: impl Fn(&Value) -> bool,
) -> Result<(), Status> {
    let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else {
        return Ok(());
    };
    let unused: Vec<&Value> = history
        .all
        .iter()
        .filter(|revision| revision.name() != history.present.name() && !is_used(revision))
        .collect();
    for revision in unused.iter().take(unused.len().saturating_sub(limit)) {
        client
            .delete(
                REVISIONS,
                revision.namespace(),
                revision.name(),
                &DeleteOptions::default(),
            )
            .await?;
    }
    Ok(())
}
