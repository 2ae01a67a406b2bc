//! Writing objects: server-side apply, and what is done where that isn't enough.
//!
//! ```text
//! new object ── apply, only if there is none ─┬─► made
//!                                             └─ there is one ─ read ─ ours? ─┬─► applied
//!                                                                             └─► refused, in Helm's words
//! known object ─ apply ─► what Helm wrote before is taken over, so that what the chart drops goes away
//! ```
//!
//! An apply that names a state of the object makes it if it isn't there, and is refused if it is there in another state.
//! No object has the first state that there ever was, so the check costs nothing.
//!
//! Some objects can't be applied although Helm 3 takes them: an item that is there twice, a field that the kind doesn't
//! have, a change that needs another field to go first. These are written as a whole.

use std::time::Duration;

use apply::fields;
use apply::object::{ObjectId, as_map, is_terminating};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::cluster::{Cluster, Deletion, Placed, ServerError};
use crate::drift::{self, Fingerprint};
use crate::identity::{self, NotOwned, ReleaseId};
use crate::scaling::{self, Replicas};
use crate::waiting;

/// How many objects of one kind are written at once: a server has others to serve.
pub(crate) const AT_ONCE: usize = 8;

/// How often an object that changes under our hands is tried again.
const MOST_ATTEMPTS: usize = 5;

/// The state that no object has: the first one of a cluster is older than its first object.
const NO_STATE: &str = "1";

/// How long an object on its way out is waited for before it is taken as it is.
const PARTING: Duration = Duration::from_mins(1);

/// An object that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// What it is, with its namespace.
    pub id: ObjectId,
    /// What tells it from another one of the same name.
    pub uid: String,
    /// The state that it was written to.
    pub resource_version: String,
    /// The generation of its spec.
    pub generation: i64,
    /// Which fields of it are ours.
    pub fingerprint: Fingerprint,
    /// Who keeps another number of replicas than the release asks for, because whoever that is scales the object.
    pub scaled_by: Option<String>,
}

impl Written {
    /// Reads the metadata of an object.
    pub(crate) fn of(placed: &Placed, metadata: &Value, manager: &str) -> Self {
        let text = |key: &str| {
            metadata
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            id: placed.id.clone(),
            uid: text("uid"),
            resource_version: text("resourceVersion"),
            generation: metadata
                .get("generation")
                .and_then(Value::as_i64)
                .unwrap_or_default(),
            fingerprint: drift::fingerprint_in(metadata, manager),
            scaled_by: None,
        }
    }
}

/// How an object came to be as it is.
#[derive(Clone, Debug)]
pub(crate) enum Wrote {
    /// It was made.
    Created(Written),
    /// It was there, and was applied.
    Applied(Written),
}

impl Wrote {
    pub(crate) fn into_written(self) -> Written {
        match self {
            Self::Created(written) | Self::Applied(written) => written,
        }
    }
}

/// Why an object was not written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// It belongs to somebody else.
    NotOwned(NotOwned),
    /// It could not be made.
    Create(ServerError),
    /// It could not be changed.
    Update(ServerError),
}

impl WriteError {
    pub(crate) fn server(&self) -> Option<&ServerError> {
        match self {
            Self::NotOwned(_) => None,
            Self::Create(error) | Self::Update(error) => Some(error),
        }
    }
}

/// Writes the objects of one release.
#[derive(Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) release: &'a ReleaseId,
}

impl Writer<'_> {
    /// Returns an object as it is applied.
    pub(crate) fn body(&self, placed: &Placed) -> Value {
        let mut body = placed.body();
        identity::mark(&mut body, self.release);
        body
    }

    /// Makes an object, or takes over one that carries the marks of the release.
    pub(crate) async fn make(&self, placed: &Placed) -> Result<Wrote, WriteError> {
        let mut body = self.body(placed);
        let mut refused = None;
        for _ in 0..MOST_ATTEMPTS {
            body["metadata"]["resourceVersion"] = NO_STATE.into();
            let made = match self.cluster.apply(placed, &body).await {
                Err(error) if error.is_not_applicable() => {
                    as_map(&mut body["metadata"]).remove("resourceVersion");
                    self.cluster.create(placed, &body).await
                }
                applied => applied,
            };
            match made {
                Ok(metadata) => return Ok(Wrote::Created(self.written(placed, &metadata))),
                Err(error) if error.is_conflict() || error.is_already_there() => refused = Some(error),
                Err(error) => return Err(WriteError::Create(error)),
            }
            let Some(live) = self.cluster.get(placed).await.map_err(WriteError::Create)? else {
                continue;
            };
            if is_terminating(&live) && waiting::until_gone(self.cluster, placed, PARTING).await.is_ok() {
                continue;
            }
            identity::check(&live, &placed.id, self.release).map_err(WriteError::NotOwned)?;
            let updated = self.update(placed, Replicas::OfWhoScales).await;
            return updated.map(Wrote::Applied);
        }
        if let Some(error) = refused {
            return Err(WriteError::Create(error));
        }
        let updated = self.update(placed, Replicas::OfWhoScales).await;
        updated.map(Wrote::Applied)
    }

    /// Applies an object of the release.
    pub(crate) async fn update(&self, placed: &Placed, replicas: Replicas) -> Result<Written, WriteError> {
        let mut body = self.body(placed);
        let mut scaled_by = None;
        if replicas == Replicas::OfWhoScales
            && let Some(asked) = scaling::replicas(&body).cloned()
        {
            let live = self.cluster.get(placed).await.map_err(WriteError::Update)?;
            let live = live.unwrap_or_default();
            if let Some(by) = scaling::scaled_by(&live, self.cluster.manager()) {
                scaling::leave_out(&mut body);
                scaled_by = (scaling::replicas(&live) != Some(&asked)).then(|| by.to_owned());
            }
        }
        let written = self.apply(placed, &body).await?;
        Ok(Written { scaled_by, ..written })
    }

    /// Applies an object as it is to be, whatever it takes.
    async fn apply(&self, placed: &Placed, body: &Value) -> Result<Written, WriteError> {
        let mut refused = None;
        for _ in 0..MOST_ATTEMPTS {
            match self.cluster.apply(placed, body).await {
                Ok(metadata) => return self.take_over(placed, body, metadata).await,
                // Somebody counts what a namespace may have; that has nothing to do with the object.
                Err(error) if error.is_conflict() => refused = Some(error),
                Err(error) if error.is_not_applicable() || error.is_invalid() => {
                    return self.replace(placed, body, error).await;
                }
                Err(error) => return Err(WriteError::Update(error)),
            }
        }
        Err(refused.map_or_else(
            || WriteError::Update(ServerError::Unserved(placed.id.clone())),
            WriteError::Update,
        ))
    }

    /// Takes over what Helm, or we ourselves, wrote without applying it: otherwise a field that the chart no longer has
    /// would stay. What was taken over and isn't wanted goes with the next apply.
    async fn take_over(&self, placed: &Placed, body: &Value, metadata: Value) -> Result<Written, WriteError> {
        let mut metadata = metadata;
        for _ in 0..MOST_ATTEMPTS {
            let object = json!({"metadata": metadata});
            let former = self.cluster.former_managers();
            let Some(patch) = fields::as_applied_by(&object, self.cluster.manager(), &former, None) else {
                return Ok(self.written(placed, &metadata));
            };
            match self.cluster.edit(placed, patch).await {
                Ok(_) => {
                    metadata = self
                        .cluster
                        .apply(placed, body)
                        .await
                        .map_err(WriteError::Update)?;
                }
                Err(error) if error.is_conflict() => {
                    let live = self.cluster.get(placed).await.map_err(WriteError::Update)?;
                    metadata = live
                        .and_then(|mut live| Some(live.get_mut("metadata")?.take()))
                        .unwrap_or(Value::Null);
                }
                Err(error) => return Err(WriteError::Update(error)),
            }
        }
        Ok(self.written(placed, &metadata))
    }

    /// Writes an object as a whole where it could not be applied; `refused` says why.
    async fn replace(
        &self,
        placed: &Placed,
        body: &Value,
        refused: ServerError,
    ) -> Result<Written, WriteError> {
        let is_invalid = refused.is_invalid();
        let Some(live) = self.cluster.get(placed).await.map_err(WriteError::Update)? else {
            let made = self.cluster.create(placed, body).await;
            return match made {
                Ok(metadata) => Ok(self.written(placed, &metadata)),
                Err(error) => Err(WriteError::Create(error)),
            };
        };
        match self.cluster.replace(placed, &whole(body, &live)).await {
            Ok(metadata) => Ok(self.written(placed, &metadata)),
            // What breaks a rule either way is told as it was told first.
            Err(_) if is_invalid => Err(WriteError::Update(refused)),
            Err(error) => Err(WriteError::Update(error)),
        }
    }

    fn written(&self, placed: &Placed, metadata: &Value) -> Written {
        Written::of(placed, metadata, self.cluster.manager())
    }

    /// Writes objects, those of one kind at once, one kind after the other; `stops` says after which errors no further
    /// kind is begun.
    pub(crate) async fn each<'p, F>(
        objects: &'p [Placed],
        write: impl Fn(usize, &'p Placed) -> F,
        stops: impl Fn(&WriteError) -> bool,
    ) -> Vec<(usize, Result<Wrote, WriteError>)>
    where
        F: Future<Output = Option<Result<Wrote, WriteError>>>,
    {
        let mut outcomes = Vec::new();
        let mut start = 0;
        for batch in objects.chunk_by(|one, other| one.id.kind == other.id.kind) {
            let write = &write;
            let writing: Vec<_> = batch
                .iter()
                .enumerate()
                .map(|(index, placed)| async move { (start + index, write(start + index, placed).await) })
                .collect();
            let written: Vec<_> = stream::iter(writing).buffered(AT_ONCE).collect().await;
            start += batch.len();
            outcomes.extend(
                written
                    .into_iter()
                    .filter_map(|(index, outcome)| Some((index, outcome?))),
            );
            if outcomes
                .iter()
                .any(|(_, outcome)| outcome.as_ref().is_err_and(&stops))
            {
                break;
            }
        }
        outcomes
    }

    /// Deletes an object that the release lets go, unless it says that it stays or is somebody else's by now.
    pub(crate) async fn let_go(&self, placed: &Placed) -> Result<(), ServerError> {
        let Some(live) = self.cluster.get(placed).await? else {
            return Ok(());
        };
        if identity::is_kept(&live) || identity::check(&live, &placed.id, self.release).is_err() {
            tracing::info!(object = %placed.id, "an object stays that the release lets go");
            return Ok(());
        }
        self.cluster.delete(placed).await.map(|_: Deletion| ())
    }
}

/// Returns the whole of an object that is to replace the live one: what it doesn't say of the metadata stays, and so does
/// the number of replicas that others set.
fn whole(body: &Value, live: &Value) -> Value {
    let mut whole = body.clone();
    for map in ["labels", "annotations"] {
        let kept = live
            .pointer(&format!("/metadata/{map}"))
            .and_then(Value::as_object);
        for (key, value) in kept.into_iter().flatten() {
            let entries = as_map(&mut whole["metadata"][map]);
            entries.entry(key.as_str()).or_insert_with(|| value.clone());
        }
    }
    for field in ["finalizers", "ownerReferences"] {
        if whole.pointer(&format!("/metadata/{field}")).is_none()
            && let Some(value) = live.pointer(&format!("/metadata/{field}"))
        {
            whole["metadata"][field] = value.clone();
        }
    }
    if let (Some(spec), Some(replicas)) = (
        whole.get_mut("spec").and_then(Value::as_object_mut),
        live.pointer("/spec/replicas"),
    ) {
        spec.entry("replicas").or_insert_with(|| replicas.clone());
    }
    whole["metadata"]["resourceVersion"] = live
        .pointer("/metadata/resourceVersion")
        .cloned()
        .unwrap_or_default();
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_object_keeps_what_others_put_on_it() {
        let body = json!({"metadata": {"name": "a", "labels": {"x": "new"}}, "spec": {"strategy": {"type": "Recreate"}}});
        let live = json!({"metadata": {"name": "a", "resourceVersion": "9", "labels": {"x": "old", "y": "1"},
            "annotations": {"z": "1"}, "finalizers": ["f"]},
            "spec": {"replicas": 4, "strategy": {"type": "RollingUpdate", "rollingUpdate": {}}}});
        assert_eq!(
            whole(&body, &live),
            json!({"metadata": {"name": "a", "resourceVersion": "9", "labels": {"x": "new", "y": "1"},
                "annotations": {"z": "1"}, "finalizers": ["f"]},
                "spec": {"replicas": 4, "strategy": {"type": "Recreate"}}})
        );
        let plain = json!({"metadata": {"name": "a"}, "data": {}});
        assert_eq!(
            whole(&plain, &json!({"metadata": {"resourceVersion": "2"}}))["data"],
            json!({})
        );
    }
}
