//! The engine: does what [`revision::decide`] says, one step after the other, until there is nothing left to do.

mod preview;
mod server;
mod watches;

use std::collections::BTreeMap;
use std::time::Duration;

use api::cluster_object_set::LifecycleState;
use api::{ClusterObjectSet, condition, keys};
use futures_util::{Stream, StreamExt as _, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::content::{self, Content, ContentError, SecretState, owner_of};
use crate::fields;
use crate::object::{ObjectId, text};
use crate::revision::conclusion::Conclusion;
use crate::revision::report::{PhaseReport, Standing};
use crate::revision::{self, How, Observed, Outcome, Seen, Snapshot, Step, Write};
use crate::teardown::{Parting, Survivors};
use server::{Attempt, Server, Trouble, is_conflict, is_not_found, words};
use watches::Watches;

/// How many objects of a phase are read or written at once: a server has others to serve.
const AT_ONCE: usize = 8;

/// How often an object that changes under our hands is looked at anew before the attempt is given up.
const MOST_ATTEMPTS: usize = 5;

/// How soon a revision is looked at again that changed while it was looked at.
const SOON: Duration = Duration::from_millis(50);

/// When to look at a revision again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Next {
    /// After this time; none to wait until something changes.
    pub after: Option<Duration>,
}

/// Why a revision could not be brought further. Each is tried again with growing patience.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server did not answer, or refused something that is not one of the revision's objects.
    #[error("{doing} ClusterObjectSet {name:?}: {}", words(source))]
    Server {
        /// What was tried.
        doing: &'static str,
        /// The revision.
        name: String,
        /// Why it failed.
        source: Box<kube::Error>,
    },
    /// Objects could not be applied or taken away; the revision's conditions say the same.
    #[error("{0}")]
    Objects(String),
}

/// Brings revisions about in a cluster.
pub struct Engine {
    server: Server,
    system_namespace: String,
    watches: Watches,
}

impl Engine {
    /// Makes an engine that acts through a client; Secrets without a namespace are in the system's.
    pub fn new(client: Client, system_namespace: String) -> Self {
        Self {
            server: Server::new(client),
            system_namespace,
            watches: Watches::default(),
        }
    }

    /// Returns the names of revisions one of whose objects changed, as soon as it is seen.
    pub fn drift(&self) -> impl Stream<Item = String> + Send + use<> {
        self.watches.drift()
    }

    /// Returns how many kinds are watched right now.
    pub fn watched_kinds(&self) -> usize {
        self.watches.count()
    }

    /// Brings one revision as far as it goes right now.
    pub async fn reconcile(&self, name: &str) -> Result<Next, Error> {
        let Some(set) = self.sets().get_opt(name).await.map_err(failed("reading", name))? else {
            self.watches.release(name);
            return Ok(Next::default());
        };
        if is_over(&set) {
            self.watches.release(name);
            return Ok(Next::default());
        }
        let mut snapshot = self.observe(set).await?;
        let mut attempts = 0;
        loop {
            match revision::decide(&snapshot) {
                Step::Look { phase } => self.look(&mut snapshot, phase).await,
                Step::Write { phase, writes } => {
                    attempts += 1;
                    self.write(&mut snapshot, phase, writes, attempts).await;
                }
                Step::Part { phase, partings } => {
                    attempts += 1;
                    self.part(&mut snapshot, phase, partings, attempts).await;
                }
                Step::Advance(report) => {
                    self.settle(&snapshot, &report).await;
                    snapshot.finished.push(report);
                    snapshot.objects.clear();
                    attempts = 0;
                }
                Step::Protect => match self.protect(&snapshot.set).await {
                    Ok(set) => snapshot.set = set,
                    Err(error) if is_conflict(&error) => return Ok(Next { after: Some(SOON) }),
                    Err(error) => return Err(failed("adding the finalizer of", name)(error)),
                },
                Step::Archive(names) => self.archive(&mut snapshot, &names).await?,
                Step::Conclude(conclusion) => return self.conclude(&snapshot.set, *conclusion).await,
            }
        }
    }

    fn sets(&self) -> Api<ClusterObjectSet> {
        Api::all(self.server.client.clone())
    }

    /// Reads everything but the objects.
    async fn observe(&self, set: ClusterObjectSet) -> Result<Snapshot, Error> {
        let is_deleted = set.metadata.deletion_timestamp.is_some();
        let needs_content = !is_deleted || Survivors::of_deletion(&set) != Survivors::None;
        let content = if needs_content {
            self.content(&set).await
        } else {
            Ok(Content::default())
        };
        Ok(Snapshot {
            related: if is_deleted {
                Vec::new()
            } else {
                self.related(&set).await?
            },
            content,
            now: Timestamp::now(),
            finished: Vec::new(),
            objects: Vec::new(),
            set,
        })
    }

    /// Reads the revisions of the same extension.
    async fn related(&self, set: &ClusterObjectSet) -> Result<Vec<ClusterObjectSet>, Error> {
        let owner = owner_of(set);
        if owner.is_empty() {
            return Ok(Vec::new());
        }
        let selector = format!("{}={owner}", keys::OWNER_NAME);
        let listed = self.sets().list(&ListParams::default().labels(&selector)).await;
        let listed = listed.map_err(failed("listing revisions beside", set.name()))?;
        Ok(listed.items)
    }

    /// Reads what a revision holds.
    async fn content(&self, set: &ClusterObjectSet) -> Result<Content, ContentError> {
        let names = content::secrets_of(set, &self.system_namespace);
        let reading = names.into_iter().map(|(namespace, name)| async move {
            let secrets: Api<Secret> = Api::namespaced(self.server.client.clone(), &namespace);
            let state = match secrets.get(&name).await {
                Ok(secret) => SecretState::Found(Box::new(secret)),
                Err(error) => SecretState::Unreadable(words(&error)),
            };
            ((namespace, name), state)
        });
        let kept: BTreeMap<_, _> = stream::iter(reading).buffer_unordered(AT_ONCE).collect().await;
        content::read(set, &kept, &self.system_namespace)
    }

    /// Sees what the server has of a phase's objects, as far as that is not known.
    async fn look(&self, snapshot: &mut Snapshot, phase: usize) {
        let ids = ids_of(snapshot, phase);
        snapshot.objects.resize_with(ids.len(), Observed::default);
        let unknown = snapshot.objects.iter().zip(&ids).enumerate();
        let unknown =
            unknown.filter(|(_, (observed, _))| matches!(observed.seen, Seen::Unknown | Seen::Settled));
        let set = &snapshot.set;
        let looking = unknown.map(|(index, (_, id))| async move { (index, self.see(id, set).await) });
        let looking: Vec<_> = looking.collect();
        let seen: Vec<_> = stream::iter(looking).buffer_unordered(AT_ONCE).collect().await;
        for (index, seen) in seen {
            if let Some(observed) = snapshot.objects.get_mut(index) {
                *observed = seen;
            }
        }
    }

    /// Sees what the server has under the name of an object of a revision, and watches it from then on.
    async fn see(&self, id: &ObjectId, set: &ClusterObjectSet) -> Observed {
        let seen = |seen| Observed { seen, outcome: None };
        let served = match self.server.kind(id).await {
            Ok(served) => served,
            Err(trouble) => return trouble_with(id, "getting object", trouble),
        };
        let named = served.named(id);
        let is_deleted = set.metadata.deletion_timestamp.is_some();
        if !is_deleted {
            self.watches.hold(set.name(), &named);
            self.watches.watch(&self.server.client, &served.resource);
        }
        let is_active = !is_deleted && set.spec.lifecycle_state == LifecycleState::Active;
        if is_active && self.watches.is_settled(&named, uid_of(set)) {
            return seen(Seen::Settled);
        }
        match self.server.get(id).await {
            Ok(Some(live)) => {
                self.watches.saw(&named, text(&live, "/metadata/resourceVersion"));
                seen(Seen::Present(Box::new(live)))
            }
            Ok(None) => seen(Seen::Absent),
            Err(trouble) => trouble_with(id, "getting object", trouble),
        }
    }

    /// Notes that the objects of a finished phase need no look until something is heard of them.
    async fn settle(&self, snapshot: &Snapshot, report: &PhaseReport) {
        if snapshot.set.spec.lifecycle_state != LifecycleState::Active {
            return;
        }
        for (object, observed) in report.objects.iter().zip(&snapshot.objects) {
            if let (Standing::Settled, Seen::Present(live)) = (&object.standing, &observed.seen)
                && let Ok(served) = self.server.kind(&object.id).await
            {
                let version = text(live, "/metadata/resourceVersion");
                self.watches
                    .settle(&served.named(&object.id), version, uid_of(&snapshot.set));
            }
        }
    }

    /// Writes objects of a phase, after the server said that it would take them all.
    async fn write(&self, snapshot: &mut Snapshot, phase: usize, writes: Vec<Write>, attempts: usize) {
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
                    object = crate::desired::locked(object, &turned);
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

    /// Lets go of objects.
    async fn part(
        &self,
        snapshot: &mut Snapshot,
        phase: usize,
        partings: Vec<(usize, Parting)>,
        attempts: usize,
    ) {
        let ids = ids_of(snapshot, phase);
        let parting = partings
            .iter()
            .filter_map(|(index, parting)| Some((*index, parting, ids.get(*index)?)));
        let parting =
            parting.map(|(index, parting, id)| async move { (index, id, self.part_with(id, parting).await) });
        let parting: Vec<_> = parting.collect();
        let parted: Vec<_> = stream::iter(parting).buffer_unordered(AT_ONCE).collect().await;
        for (index, id, parted) in parted {
            if let Some(observed) = snapshot.objects.get_mut(index) {
                *observed = match parted {
                    Ok(seen) => Observed {
                        seen,
                        outcome: Some(Outcome::Done),
                    },
                    Err(Trouble::Unserved(_)) => Observed {
                        seen: Seen::Absent,
                        outcome: None,
                    },
                    Err(Trouble::Stale(_)) if attempts < MOST_ATTEMPTS => Observed::default(),
                    Err(Trouble::Stale(message) | Trouble::Invalid(message) | Trouble::Failed(message)) => {
                        Observed {
                            seen: Seen::Unknown,
                            outcome: Some(Outcome::Failed(format!(
                                "teardown {id}: deleting object: {message}"
                            ))),
                        }
                    }
                };
            }
        }
    }

    async fn part_with(&self, id: &ObjectId, parting: &Parting) -> Result<Seen, Trouble> {
        match parting {
            Parting::Delete {
                uid,
                resource_version,
            } => {
                self.server.delete(id, uid, resource_version).await?;
                let left = self.server.get(id).await?;
                Ok(left.map_or(Seen::Absent, |live| Seen::Present(Box::new(live))))
            }
            Parting::Release(patch) => match self.server.merge(id, patch).await {
                // What was let go is as good as gone for the revision.
                Ok(_) => Ok(Seen::Absent),
                Err(Trouble::Invalid(_)) if self.server.get(id).await?.is_none() => Ok(Seen::Absent),
                Err(trouble) => Err(trouble),
            },
            Parting::Done | Parting::Waiting => Ok(Seen::Absent),
        }
    }

    async fn protect(&self, set: &ClusterObjectSet) -> Result<ClusterObjectSet, kube::Error> {
        let mut finalizers = set.metadata.finalizers.clone().unwrap_or_default();
        finalizers.push(keys::TEARDOWN.to_owned());
        self.set_finalizers(set, &finalizers).await
    }

    async fn set_finalizers(
        &self,
        set: &ClusterObjectSet,
        finalizers: &[String],
    ) -> Result<ClusterObjectSet, kube::Error> {
        let patch = json!({"metadata": {
            "resourceVersion": set.metadata.resource_version, "finalizers": finalizers,
        }});
        self.sets()
            .patch(set.name(), &PatchParams::default(), &Patch::Merge(patch))
            .await
    }

    async fn archive(&self, snapshot: &mut Snapshot, names: &[String]) -> Result<(), Error> {
        let patch = json!({"spec": {"lifecycleState": "Archived"}});
        for name in names {
            let archived = self
                .sets()
                .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
                .await;
            match archived {
                Err(error) if !is_not_found(&error) => return Err(failed("archiving", name)(error)),
                _ => {}
            }
            for set in snapshot.related.iter_mut().filter(|set| set.name() == name) {
                set.spec.lifecycle_state = LifecycleState::Archived;
            }
        }
        Ok(())
    }

    /// Writes what is said of a revision, as far as it is news, and lets it go if it may.
    async fn conclude(&self, set: &ClusterObjectSet, conclusion: Conclusion) -> Result<Next, Error> {
        let mut set = set.clone();
        if conclusion.status != set.status {
            let patch = json!({
                "metadata": {"resourceVersion": set.metadata.resource_version},
                "status": conclusion.status,
            });
            let name = set.name().to_owned();
            let patched = self
                .sets()
                .patch_status(&name, &PatchParams::default(), &Patch::Merge(patch))
                .await;
            match patched {
                Ok(patched) => set = patched,
                Err(error) if is_conflict(&error) => return Ok(Next { after: Some(SOON) }),
                Err(error) if is_not_found(&error) => return Ok(Next::default()),
                Err(error) => return Err(failed("writing the status of", &name)(error)),
            }
        }
        if conclusion.release {
            self.watches.release(set.name());
            if revision::has_finalizer(&set) {
                let mut finalizers = set.metadata.finalizers.clone().unwrap_or_default();
                finalizers.retain(|finalizer| finalizer != keys::TEARDOWN);
                match self.set_finalizers(&set, &finalizers).await {
                    Err(error) if is_conflict(&error) => return Ok(Next { after: Some(SOON) }),
                    Err(error) if !is_not_found(&error) => {
                        return Err(failed("removing the finalizer of", set.name())(error));
                    }
                    _ => {}
                }
            }
        }
        match conclusion.failure {
            Some(message) => Err(Error::Objects(message)),
            None => Ok(Next {
                after: conclusion.after,
            }),
        }
    }
}

/// Returns whether a revision was archived and let go of everything: there is nothing left to do or to say.
fn is_over(set: &ClusterObjectSet) -> bool {
    let is_said = |kind| {
        condition::find(&set.status.conditions, kind)
            .is_some_and(|said| said.reason == "Archived" && said.observed_generation == set.generation())
    };
    set.spec.lifecycle_state == LifecycleState::Archived
        && set.metadata.deletion_timestamp.is_none()
        && !revision::has_finalizer(set)
        && is_said("Progressing")
        && is_said("Available")
}

fn uid_of(set: &ClusterObjectSet) -> &str {
    set.metadata.uid.as_deref().unwrap_or_default()
}

fn ids_of(snapshot: &Snapshot, phase: usize) -> Vec<ObjectId> {
    let phases = snapshot
        .content
        .as_ref()
        .map_or(&[][..], |content| &content.phases);
    let objects = phases.get(phase).map_or(&[][..], |phase| &phase.objects);
    objects.iter().map(|wanted| wanted.id.clone()).collect()
}

fn failed(doing: &'static str, name: &str) -> impl FnOnce(kube::Error) -> Error {
    let name = name.to_owned();
    move |source| Error::Server {
        doing,
        name,
        source: Box::new(source),
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

fn trouble_with(id: &ObjectId, doing: &str, trouble: Trouble) -> Observed {
    match trouble {
        Trouble::Unserved(message) => Observed {
            seen: Seen::Unserved(message),
            outcome: None,
        },
        Trouble::Invalid(message) => Observed {
            seen: Seen::Unknown,
            outcome: Some(Outcome::Invalid(message)),
        },
        Trouble::Stale(message) | Trouble::Failed(message) => Observed {
            seen: Seen::Unknown,
            outcome: Some(Outcome::Failed(format!("reconciling {id}: {doing}: {message}"))),
        },
    }
}
