//! How objects of a phase are written: all of them, or none if the server would refuse one.

use futures_util::{StreamExt as _, stream};
use serde_json::Value;

use super::server::{Attempt, Trouble};
use super::{AT_ONCE, Engine, MOST_ATTEMPTS, ids_of, trouble_with};
use crate::desired;
use crate::fields;
use crate::object::{ObjectId, text};
use crate::revision::{How, Observed, Outcome, Seen, Snapshot, Write};

impl Engine {
    /// Writes objects of a phase, after the server said that it would take them all.
    pub(super) async fn write(
        &self,
        snapshot: &mut Snapshot,
        phase: usize,
        writes: Vec<Write>,
        attempts: usize,
    ) {
        let ids = ids_of(snapshot, phase);
        // One object alone is taken or not; there is nothing to hold back.
        if writes.len() > 1 {
            let trying = writes
                .iter()
                .filter_map(|write| Some((write, ids.get(write.index)?)));
            let trying =
                trying.map(|(write, id)| async move { (write.index, id, self.try_out(id, write).await) });
            let trying: Vec<_> = trying.collect();
            let tried: Vec<_> = stream::iter(trying).buffer_unordered(AT_ONCE).collect().await;
            let mut all_taken = true;
            for (index, id, tried) in tried {
                if let (Err(trouble), Some(observed)) = (tried, snapshot.objects.get_mut(index)) {
                    all_taken = false;
                    *observed = after_trouble(id, "validating", trouble, attempts);
                }
            }
            if !all_taken {
                return;
            }
        }
        let seen = |index: usize| match snapshot.objects.get(index).map(|observed| &observed.seen) {
            Some(Seen::Present(live)) => Some(live.as_ref()),
            _ => None,
        };
        let writing = writes
            .iter()
            .filter_map(|write| Some((write, ids.get(write.index)?)));
        let writing = writing.map(|(write, id)| {
            let live = seen(write.index);
            async move { (write, id, self.write_one(id, write, live).await) }
        });
        let writing: Vec<_> = writing.collect();
        let written: Vec<_> = stream::iter(writing).buffer_unordered(AT_ONCE).collect().await;
        for (write, id, written) in written {
            let Some(observed) = snapshot.objects.get_mut(write.index) else {
                continue;
            };
            *observed = match written {
                Ok(live) => {
                    if let Ok(served) = self.server.kind(id).await {
                        self.watches
                            .saw(&served.named(id), text(&live, "/metadata/resourceVersion"));
                    }
                    Observed {
                        seen: Seen::Present(Box::new(live)),
                        outcome: Some(Outcome::Done),
                        ..Observed::default()
                    }
                }
                Err(trouble) => after_trouble(id, doing(write.how), trouble, attempts),
            };
        }
    }

    async fn try_out(&self, id: &ObjectId, write: &Write) -> Result<Value, Trouble> {
        match write.how {
            How::Create => self.server.create(id, &write.object, Attempt::Trial).await,
            How::Apply | How::Adopt => self.server.apply(id, &write.object, Attempt::Trial).await,
        }
    }

    async fn write_one(&self, id: &ObjectId, write: &Write, live: Option<&Value>) -> Result<Value, Trouble> {
        match (write.how, live) {
            (How::Create, _) | (_, None) => {
                let made = self.server.create(id, &write.object, Attempt::Real).await?;
                self.turn_into_applied(id, made, Some(&write.object)).await
            }
            (How::Apply | How::Adopt, Some(live)) => {
                let mut object = write.object.clone();
                if fields::as_applied(live, None).is_some() {
                    let turned = self.turn_into_applied(id, live.clone(), None).await?;
                    object = desired::locked(object, &turned);
                }
                self.server.apply(id, &object, Attempt::Real).await
            }
        }
    }

    /// Has the server take fields that we wrote by creating an object as fields that we applied.
    async fn turn_into_applied(
        &self,
        id: &ObjectId,
        object: Value,
        wanted: Option<&Value>,
    ) -> Result<Value, Trouble> {
        let mut object = object;
        for _ in 0..MOST_ATTEMPTS {
            let Some(patch) = fields::as_applied(&object, wanted) else {
                return Ok(object);
            };
            match self.server.edit(id, patch).await {
                // Others write their status meanwhile; that is no reason to stop.
                Err(Trouble::Stale(message)) => match self.server.get(id).await? {
                    Some(live) => object = live,
                    None => return Err(Trouble::Stale(message)),
                },
                edited => return edited,
            }
        }
        Err(Trouble::Stale(format!("{id} keeps changing")))
    }
}

fn doing(how: How) -> &'static str {
    match how {
        How::Create => "creating resource",
        How::Apply => "patching (modified)",
        How::Adopt => "patching (owner change)",
    }
}

/// Returns what is known of an object after something could not be done with it; one that changed meanwhile is looked at
/// anew, but not for ever.
fn after_trouble(id: &ObjectId, doing: &str, trouble: Trouble, attempts: usize) -> Observed {
    match trouble {
        Trouble::Stale(_) if attempts < MOST_ATTEMPTS => Observed::default(),
        trouble => trouble_with(id, doing, trouble),
    }
}
