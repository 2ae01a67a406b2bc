//! One watch, and what it makes of what it sees.

use std::collections::HashSet;
use std::sync::PoisonError;

use apply::object::ObjectId;
use apply::troubles::Workload;
use futures_util::StreamExt as _;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::watcher::{self, Event};
use release::drift;
use release::readiness::{self, Readiness};

use super::asking::Asker;
use super::{Happening, Kind, Sight};

/// What a watch tells of an object.
pub(super) struct Look {
    pub(super) metadata: ObjectMeta,
    pub(super) readiness: Readiness,
    /// The workload, if it isn't ready.
    pub(super) unready: Option<Box<Workload>>,
}

/// Feeds the state with what one watch sees.
pub(super) struct Follower<H> {
    pub(super) kind: Kind,
    /// Where it looks; everywhere if it is empty.
    pub(super) namespace: String,
    pub(super) manager: String,
    pub(super) asker: Asker<H>,
}

impl<H: Clone + Eq + std::hash::Hash + Send + 'static> Follower<H> {
    pub(super) async fn follow<K: Send>(
        self,
        events: impl futures_util::Stream<Item = Result<Event<K>, watcher::Error>> + Send,
        read: impl Fn(K) -> Look + Send,
    ) {
        let mut events = std::pin::pin!(events);
        let mut listed: HashSet<ObjectId> = HashSet::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(object)) => {
                    listed.insert(self.seen(read(object)));
                }
                Ok(Event::InitDone) => self.list_ended(&std::mem::take(&mut listed)),
                Ok(Event::Apply(object)) => {
                    self.seen(read(object));
                }
                Ok(Event::Delete(object)) => {
                    let Look { metadata, .. } = read(object);
                    self.gone(&self.id(&metadata), metadata.uid.as_deref().unwrap_or_default());
                }
                Err(fault) => {
                    tracing::debug!(kind = self.kind.1, %fault, "the watch of objects begins anew");
                }
            }
        }
    }

    fn id(&self, metadata: &ObjectMeta) -> ObjectId {
        ObjectId {
            api_version: self.kind.0.clone(),
            kind: self.kind.1.clone(),
            namespace: metadata.namespace.clone().unwrap_or_default(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }

    fn seen(&self, look: Look) -> ObjectId {
        let Look {
            metadata,
            readiness,
            unready,
        } = look;
        let id = self.id(&metadata);
        let Some(state) = self.asker.state.upgrade() else {
            return id;
        };
        let mut news = Vec::new();
        {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            let version = metadata.resource_version.as_deref().unwrap_or_default();
            let version: u64 = version.parse().unwrap_or_default();
            if let Some(held) = state.objects.get_mut(&id) {
                let fields = metadata.managed_fields.as_deref().unwrap_or_default();
                let now = drift::fingerprint(fields, &self.manager);
                let is_deleted = metadata.deletion_timestamp.is_some();
                // What was written here comes back as an event, perhaps after a newer write.
                let is_old = version < held.version;
                if !is_old && !is_deleted && held.fingerprint.is_some_and(|left| left != now) {
                    news.push((held.by.clone(), Happening::Drifted));
                }
                if !is_old && held.readiness != readiness {
                    held.readiness = readiness;
                    news.push((held.by.clone(), Happening::Readiness));
                }
                if !is_old {
                    match &unready {
                        Some(workload) => self.asker.ask(&id, workload),
                        None => self.asker.forget(&id),
                    }
                    held.unready = unready;
                }
                held.version = held.version.max(version);
                // What was told once is told again only when it changes once more.
                if !is_old {
                    held.fingerprint = Some(now);
                }
                held.uid = metadata.uid.clone().unwrap_or_default();
            } else {
                let sight = Sight {
                    uid: metadata.uid.clone().unwrap_or_default(),
                    version,
                    readiness,
                    unready,
                };
                state.strangers.insert(id.clone(), sight);
            }
        }
        for (holder, happening) in news {
            (self.asker.tell)(&holder, &id, happening);
        }
        id
    }

    /// Tells of objects that should be there and are not in the list.
    fn list_ended(&self, listed: &HashSet<ObjectId>) {
        let Some(state) = self.asker.state.upgrade() else {
            return;
        };
        let missing: Vec<(ObjectId, String)> = {
            let state = state.lock().unwrap_or_else(PoisonError::into_inner);
            state
                .objects
                .iter()
                .filter(|(id, held)| {
                    (&id.api_version, &id.kind) == (&self.kind.0, &self.kind.1)
                        && (self.namespace.is_empty() || self.namespace == id.namespace)
                        && !listed.contains(*id)
                        // One that was never seen may be on its way.
                        && !held.uid.is_empty()
                })
                .map(|(id, held)| (id.clone(), held.uid.clone()))
                .collect()
        };
        for (id, uid) in missing {
            self.gone(&id, &uid);
        }
    }

    fn gone(&self, id: &ObjectId, uid: &str) {
        let Some(state) = self.asker.state.upgrade() else {
            return;
        };
        let holder = {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.strangers.get(id).is_some_and(|sight| sight.uid == uid) {
                state.strangers.remove(id);
            }
            state
                .objects
                .get_mut(id)
                // A new object of the same name may have been made meanwhile.
                .filter(|held| held.uid.is_empty() || held.uid == uid)
                .map(|held| {
                    self.asker.forget(id);
                    held.unready = None;
                    if readiness::matters(id) {
                        held.readiness = Readiness::Waiting("it was deleted".to_owned());
                    }
                    held.by.clone()
                })
        };
        if let Some(holder) = holder {
            (self.asker.tell)(&holder, id, Happening::Drifted);
        }
    }
}
