//! The engine: does what [`revision::decide`] says, one step after the other, until there is nothing left to do.

mod parting;
mod preview;
mod server;
mod watches;
mod writing;

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
use tracing::Instrument as _;

use crate::content::{self, Content, ContentError, SecretState, owner_of};
use crate::object::{ObjectId, text};
use crate::refusal::{is_conflict, is_not_found, words};
use crate::revision::conclusion::Conclusion;
use crate::revision::report::{PhaseReport, Standing};
use crate::revision::{self, Observed, Outcome, Seen, Snapshot, Step};
use crate::teardown::Survivors;
use crate::troubles::{Troubles, Workload};
use server::{Server, Trouble};
use watches::Watches;

pub use preview::Previewed;

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
    troubles: Troubles,
}

impl Engine {
    /// Makes an engine that acts through a client; Secrets without a namespace are in the system's.
    pub fn new(client: Client, system_namespace: String) -> Self {
        Self {
            troubles: Troubles::new(client.clone()),
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
            self.release(name);
            return Ok(Next::default());
        };
        if is_over(&set) {
            self.release(name);
            return Ok(Next::default());
        }
        let mut snapshot = self.observe(set).await?;
        let mut attempts = 0;
        loop {
            match revision::decide(&snapshot) {
                Step::Look { phase } => self.look(&mut snapshot, phase).await,
                Step::Write { phase, writes } => {
                    attempts += 1;
                    let span =
                        tracing::info_span!(target: "baton::work", "apply", phase, writes = writes.len());
                    self.write(&mut snapshot, phase, writes, attempts)
                        .instrument(span)
                        .await;
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
                Step::Conclude(conclusion) => {
                    if !self.explain(&mut snapshot) {
                        return self.conclude(&snapshot.set, *conclusion).await;
                    }
                }
            }
        }
    }

    fn sets(&self) -> Api<ClusterObjectSet> {
        Api::all(self.server.client.clone())
    }

    /// Reads everything but the objects.
    async fn observe(&self, set: ClusterObjectSet) -> Result<Snapshot, Error> {
        let is_deleted = set.metadata.deletion_timestamp.is_some();
        // What was archived has nothing left that could go with it.
        let is_active = set.spec.lifecycle_state == LifecycleState::Active;
        let needs_content = !is_deleted || is_active || Survivors::of_deletion(&set) != Survivors::None;
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
    pub async fn content(&self, set: &ClusterObjectSet) -> Result<Content, ContentError> {
        content_of(&self.server.client, set, &self.system_namespace).await
    }

    /// Reads what the server has under the name of an object; none also where it doesn't know the kind.
    pub async fn live(&self, id: &ObjectId) -> Result<Option<Value>, Error> {
        match self.server.get(id).await {
            Ok(live) => Ok(live),
            Err(Trouble::Unserved(_)) => Ok(None),
            Err(Trouble::Stale(message) | Trouble::Invalid(message) | Trouble::Failed(message)) => {
                Err(Error::Objects(format!("getting {id}: {message}")))
            }
        }
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
        let seen = |seen| Observed {
            seen,
            ..Observed::default()
        };
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
                let named = served.named(&object.id);
                self.troubles.forget(&named);
                self.watches.settle(&named, version, uid_of(&snapshot.set));
            }
        }
    }

    /// Adds why the object that a revision waits for isn't ready; returns whether that is something new to say. What isn't
    /// known yet is asked later, and the revision is looked at again when there is an answer.
    fn explain(&self, snapshot: &mut Snapshot) -> bool {
        let Some((index, live)) = revision::waits_for(snapshot) else {
            return false;
        };
        // Those before it are ready by now.
        for observed in snapshot.objects.iter().take(index) {
            if let Seen::Present(live) = &observed.seen {
                self.troubles.forget(&ObjectId::of(live));
            }
        }
        let Some(workload) = Workload::of(live) else {
            return false;
        };
        let id = ObjectId::of(live);
        let watches = self.watches.downgrade();
        let named = id.clone();
        self.troubles
            .unready(&id, workload, move || watches.tell_holders(&named));
        let trouble = self.troubles.cause(&id);
        match snapshot.objects.get_mut(index) {
            Some(observed) if observed.trouble != trouble => {
                observed.trouble = trouble;
                true
            }
            _ => false,
        }
    }

    /// Forgets a revision, and what only it was interested in.
    fn release(&self, name: &str) {
        for id in self.watches.release(name) {
            self.troubles.forget(&id);
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
            self.release(set.name());
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

/// Reads what a revision holds, from itself and from its Secrets; those without a namespace are in the system's.
pub async fn content_of(
    client: &Client,
    set: &ClusterObjectSet,
    system_namespace: &str,
) -> Result<Content, ContentError> {
    let names = content::secrets_of(set, system_namespace);
    let reading = names.into_iter().map(|(namespace, name)| async move {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &namespace);
        let state = match secrets.get(&name).await {
            Ok(secret) => SecretState::Found(Box::new(secret)),
            Err(error) => SecretState::Unreadable(words(&error)),
        };
        ((namespace, name), state)
    });
    let kept: BTreeMap<_, _> = stream::iter(reading).buffer_unordered(AT_ONCE).collect().await;
    content::read(set, &kept, system_namespace)
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

fn trouble_with(id: &ObjectId, doing: &str, trouble: Trouble) -> Observed {
    match trouble {
        Trouble::Unserved(message) => Observed {
            seen: Seen::Unserved(message),
            ..Observed::default()
        },
        Trouble::Invalid(message) => Observed {
            outcome: Some(Outcome::Invalid(message)),
            ..Observed::default()
        },
        Trouble::Stale(message) | Trouble::Failed(message) => Observed {
            outcome: Some(Outcome::Failed(format!("reconciling {id}: {doing}: {message}"))),
            ..Observed::default()
        },
    }
}
