//! Repairing: objects become again what the manifest says.

use std::collections::BTreeSet;

use apply::diff::{Change, What};
use apply::object::ObjectId;
use futures_util::{StreamExt as _, stream};
use serde_json::Value;

use super::{Course, Releases, Writing};
use crate::cluster::Placed;
use crate::documents::Document;
use crate::drift;
use crate::failure::{Cause, Failure};
use crate::scaling::{self, REPLICAS, Replicas};
use crate::writing::{AT_ONCE, Writer, Written, Wrote};

/// What came of a repair.
#[derive(Clone, Debug, Default)]
pub struct Repaired {
    /// What was changed back, field by field.
    pub changes: Vec<Change>,
    /// The objects that were written.
    pub written: Vec<Written>,
    /// The objects that were found as they should be, and how they stand.
    pub sound: Vec<Written>,
    /// The objects whose number of replicas is left to somebody else, and to whom.
    pub scaled: Vec<(ObjectId, String)>,
}

impl Releases {
    /// Compares objects with the cluster and applies those that differ; only those that are named, if some are. The
    /// documents are those of the record that is deployed.
    pub async fn repair(
        &self,
        documents: &[Document],
        only: Option<&BTreeSet<ObjectId>>,
    ) -> Result<Repaired, Failure> {
        let objects = self.wanted(documents, only).await?;
        let mut repaired = Repaired::default();
        let mut drifted = Vec::new();
        for (object, live) in self.live(&objects).await? {
            let change = self.change(object, live.as_ref());
            if let Some(by) = self.scaled_by(object, live.as_ref()) {
                repaired.scaled.push((object.id.clone(), by.to_owned()));
            }
            if change.what == What::Same {
                let metadata = live.as_ref().and_then(|live| live.get("metadata"));
                let manager = self.cluster.manager();
                let sound = Written::of(object, metadata.unwrap_or(&Value::Null), manager);
                repaired.sound.push(sound);
            } else {
                drifted.push(object.clone());
                repaired.changes.push(change);
            }
        }
        let writer = self.writer();
        let missing: BTreeSet<ObjectId> = repaired
            .changes
            .iter()
            .filter(|change| change.what == What::Create)
            .map(|change| change.id.clone())
            .collect();
        let missing = &missing;
        let write = |_, placed: &Placed| {
            let placed = placed.clone();
            async move {
                Some(if missing.contains(&placed.id) {
                    writer.make(&placed).await
                } else {
                    let updated = writer.update(&placed, Replicas::OfWhoScales).await;
                    updated.map(Wrote::Applied)
                })
            }
        };
        let mut writing = Writing::default();
        for (index, outcome) in Writer::each(&drifted, write, |_| false).await {
            match (outcome, drifted.get(index)) {
                (Ok(wrote), _) => repaired.written.push(wrote.into_written()),
                (Err(error), Some(object)) => writing.errors.push((object.clone(), error)),
                (Err(_), None) => {}
            }
        }
        match self.failure_of(&writing, Course::Update) {
            Some(failure) => Err(failure.having_written(repaired.written)),
            None => Ok(repaired),
        }
    }

    /// Says what a repair would change, without changing anything.
    pub async fn preview(&self, documents: &[Document]) -> Result<Vec<Change>, Failure> {
        let objects = self.wanted(documents, None).await?;
        let mut changes = Vec::new();
        for (object, live) in self.live(&objects).await? {
            let change = self.change(object, live.as_ref());
            if change.what != What::Same {
                changes.push(change);
            }
        }
        Ok(changes)
    }

    async fn wanted(
        &self,
        documents: &[Document],
        only: Option<&BTreeSet<ObjectId>>,
    ) -> Result<Vec<Placed>, Failure> {
        let mut objects = self.place(documents).await?;
        if let Some(only) = only {
            objects.retain(|object| only.contains(&object.id));
        }
        Ok(objects)
    }

    async fn live<'o>(&self, objects: &'o [Placed]) -> Result<Vec<(&'o Placed, Option<Value>)>, Failure> {
        let reading: Vec<_> = objects
            .iter()
            .map(|object| async move { (object, self.cluster.get(object).await) })
            .collect();
        let read: Vec<_> = stream::iter(reading).buffered(AT_ONCE).collect().await;
        read.into_iter()
            .map(|(object, live)| match live {
                Ok(live) => Ok((object, live)),
                Err(error) => Err(Failure::of_server(Cause::Rejected, &error)
                    .while_doing("could not get information about the resource")),
            })
            .collect()
    }

    /// Returns who decides another number of replicas of an object than the manifest says.
    fn scaled_by<'l>(&self, object: &Placed, live: Option<&'l Value>) -> Option<&'l str> {
        let (wanted, live) = (scaling::replicas(&object.object)?, live?);
        let is_other = scaling::replicas(live).is_some_and(|replicas| replicas != wanted);
        scaling::scaled_by(live, self.cluster.manager()).filter(|_| is_other)
    }

    /// Says in which fields a live object differs from the one that is wanted.
    fn change(&self, object: &Placed, live: Option<&Value>) -> Change {
        let Some(live) = live else {
            return Change {
                id: object.id.clone(),
                what: What::Create,
                fields: Vec::new(),
            };
        };
        let mut fields = drift::between(&self.writer().body(object), live);
        if self.scaled_by(object, Some(live)).is_some() {
            fields.retain(|field| field.path != REPLICAS);
        }
        let what = if fields.is_empty() {
            What::Same
        } else {
            What::Update
        };
        Change {
            id: object.id.clone(),
            what,
            fields,
        }
    }
}
