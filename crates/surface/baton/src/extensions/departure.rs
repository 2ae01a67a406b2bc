//! The wait until an extension is gone with everything that it installed, and what holds that up.
//!
//! An extension goes as soon as its controller lets it; its revisions, and then what they own, go after it. Whoever is told that
//! all is gone may install it again, so that all must be gone indeed.

mod definitions;
mod holding;
mod leftovers;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use api::cluster_extension::ClusterExtension;
use api::cluster_object_set::LifecycleState;
use api::condition::{self, Condition, ConditionStatus};
use api::{ClusterObjectSet, keys};
use apply::engine::Engine;
use apply::object::{ObjectId, is_terminating, text};
use apply::owners::{controller, references};
use extension_controller::tree::Called;
use futures_util::{StreamExt as _, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use serde_json::Value;

use self::holding::Hold;
use super::{Extensions, of_owner};
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// How soon it is looked again whether everything is gone: at once in the beginning, since most goes within a second.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long nothing is said: what goes in the course of things needs no word.
const SILENT_FOR: Duration = Duration::from_secs(3);

/// How many objects are read at once.
const AT_ONCE: usize = 8;

/// The most things that a message names.
const MOST_NAMED: usize = 5;

/// What goes with an extension.
pub(crate) struct Leaving {
    extension: String,
    engine: Engine,
    /// What tells its revisions from others: what they own goes with them.
    owners: BTreeSet<String>,
    /// The objects that are still there, each with what tells it from another one of its name.
    objects: Vec<(ObjectId, String)>,
    /// Why it isn't known of every object whether it is gone.
    unknown: Option<String>,
}

impl Leaving {
    /// Whether nothing is known that could go.
    pub(crate) fn is_nothing(&self) -> bool {
        self.owners.is_empty() && self.objects.is_empty()
    }

    /// Why it isn't known whether everything is gone; none where it is.
    pub(crate) fn unknown(&self) -> Option<&str> {
        self.unknown.as_deref()
    }

    /// Whether an object is one of those that go: it may have been let go, or have been made anew by others.
    fn includes(&self, live: &Value, uid: &str) -> bool {
        let is_owned = || {
            references(live)
                .iter()
                .any(|reference| self.owners.contains(text(reference, "/uid")))
        };
        text(live, "/metadata/uid") == uid && (is_terminating(live) || is_owned())
    }

    /// Takes down the objects of a revision that are there and its own.
    async fn take(&mut self, revision: &ClusterObjectSet) {
        let content = match self.engine.content(revision).await {
            Ok(content) => content,
            Err(cause) => {
                self.unknown = Some(format!("{}: {cause}", revision.name_any()));
                return;
            }
        };
        let ids = content.phases.into_iter().flat_map(|phase| phase.objects);
        let engine = &self.engine;
        let reading = ids.map(|wanted| async move {
            let live = engine.live(&wanted.id).await;
            (wanted.id, live)
        });
        let reading: Vec<_> = reading.collect();
        let read: Vec<_> = stream::iter(reading).buffered(AT_ONCE).collect().await;
        for (id, live) in read {
            match live {
                Ok(Some(live)) => {
                    let owner = controller(&live).map_or("", |owner| text(owner, "/uid"));
                    if self.owners.contains(owner) {
                        self.objects.push((id, text(&live, "/metadata/uid").to_owned()));
                    }
                }
                Ok(None) => {}
                Err(cause) => self.unknown = Some(cause.to_string()),
            }
        }
    }

    /// Looks which objects are still there, and forgets those that are gone.
    async fn look(&mut self) -> Vec<Hold> {
        let engine = &self.engine;
        let looking = std::mem::take(&mut self.objects)
            .into_iter()
            .map(|(id, uid)| async move {
                let live = engine.live(&id).await;
                (id, uid, live)
            });
        let looking: Vec<_> = looking.collect();
        let seen: Vec<_> = stream::iter(looking).buffered(AT_ONCE).collect().await;
        let mut holds = Vec::new();
        for (id, uid, live) in seen {
            match live {
                Ok(Some(live)) if self.includes(&live, &uid) => {
                    holds.push(Hold::of_object(Called(&id).to_string(), live));
                    self.objects.push((id, uid));
                }
                Ok(_) => {}
                // It could be read before, and is looked at again.
                Err(cause) => {
                    holds.push(Hold::unread(Called(&id).to_string(), &cause));
                    self.objects.push((id, uid));
                }
            }
        }
        holds
    }
}

impl Extensions {
    /// Finds out what goes when an extension is deleted, or is going since it was.
    pub(crate) async fn leaving(&self, extension: &str) -> Result<Leaving, Failure> {
        let revisions = self.revisions_of(extension).await?;
        let mut leaving = Leaving {
            extension: extension.to_owned(),
            engine: Engine::new(self.client.clone(), keys::SYSTEM_NAMESPACE.to_owned()),
            owners: revisions
                .iter()
                .filter_map(|revision| revision.metadata.uid.clone())
                .collect(),
            objects: Vec::new(),
            unknown: None,
        };
        let in_use = |revision: &&ClusterObjectSet| revision.spec.lifecycle_state == LifecycleState::Active;
        for revision in revisions.iter().filter(in_use) {
            leaving.take(revision).await;
        }
        Ok(leaving)
    }

    /// Adds what an extension that is gone left on its way out: its revisions may be gone as well, and with them the list of what
    /// they had.
    pub(crate) async fn add_what_is_left(&self, leaving: &mut Leaving) -> Result<(), Failure> {
        for (id, uid) in leftovers::find(&self.client, &of_owner(&leaving.extension)).await? {
            if !leaving.objects.iter().any(|(known, _)| *known == id) {
                leaving.objects.push((id, uid));
            }
        }
        Ok(())
    }

    /// Waits until everything is gone, and says on the way what holds it up.
    pub(crate) async fn wait_gone(
        &self,
        leaving: &mut Leaving,
        wait: WaitFlags,
        terminal: &mut Terminal,
    ) -> Result<(), Failure> {
        if wait.is_declined() {
            return Ok(());
        }
        let name = leaving.extension.clone();
        let mut holds = Vec::new();
        let waiting = async {
            let begun = Instant::now();
            let mut pause = FIRST_PAUSE;
            let mut said = String::new();
            loop {
                holds = self.holds(leaving).await?;
                let Some(first) = holds.first() else {
                    return Ok(());
                };
                let text = format!("waits for {first}");
                if begun.elapsed() >= SILENT_FOR && text != said {
                    terminal.remark(&text);
                    said = text;
                }
                tokio::time::sleep(pause).await;
                pause = (pause * 3 / 2).min(LONGEST_PAUSE);
            }
        };
        if let Ok(ended) = tokio::time::timeout(wait.patience(), waiting).await {
            return ended;
        }
        Err(still_there(&name, wait.patience(), &holds))
    }

    /// Everything that isn't gone, what goes first first.
    async fn holds(&self, leaving: &mut Leaving) -> Result<Vec<Hold>, Failure> {
        let mut holds = Vec::new();
        if let Some(extension) = self.find(&leaving.extension).await? {
            holds.push(of_extension(&extension));
        }
        let revisions = self.revisions_of(&leaving.extension).await?;
        let uids = revisions
            .iter()
            .filter_map(|revision| revision.metadata.uid.clone());
        leaving.owners.extend(uids);
        let mut objects = leaving.look().await;
        definitions::look(&self.client, &mut objects).await;
        // What somebody must let go of is the cause of the rest; and what isn't deleted yet waits for the revisions.
        objects.retain(|hold| hold.is_deleted() || revisions.is_empty());
        let (stuck, others): (Vec<Hold>, Vec<Hold>) = objects.into_iter().partition(Hold::is_stuck);
        holds.extend(stuck);
        holds.extend(revisions.iter().map(of_revision));
        holds.extend(others);
        Ok(holds)
    }
}

/// What holds up an extension.
fn of_extension(extension: &ClusterExtension) -> Hold {
    Hold::of_metadata(
        format!("ClusterExtension {}", extension.name_any()),
        &extension.metadata,
        trouble(&extension.status.conditions, &extension.metadata),
    )
}

/// What holds up a revision.
fn of_revision(revision: &ClusterObjectSet) -> Hold {
    Hold::of_metadata(
        format!("ClusterObjectSet {}", revision.name_any()),
        &revision.metadata,
        trouble(&revision.status.conditions, &revision.metadata),
    )
}

/// What is said of something since it was deleted, if it doesn't go as it should.
fn trouble<'a>(conditions: &'a [Condition], metadata: &ObjectMeta) -> Option<&'a Condition> {
    // The deletion is a generation of its own.
    let generation = metadata.generation.unwrap_or_default();
    condition::find(conditions, "Progressing").filter(|said| {
        let is_news = metadata.deletion_timestamp.is_some() && said.observed_generation >= generation;
        is_news && (said.status == ConditionStatus::False || said.reason == "Retrying")
    })
}

/// What is said when patience is over.
fn still_there(name: &str, patience: Duration, holds: &[Hold]) -> Failure {
    let named: Vec<String> = holds.iter().take(MOST_NAMED).map(Hold::to_string).collect();
    let more = holds.len().saturating_sub(MOST_NAMED);
    let mut text = format!("{name} isn't gone after {} s", patience.as_secs());
    if named.is_empty() {
        text.push_str("; the API server took that long to say what is left");
    } else {
        text.push_str(": ");
        text.push_str(&named.join("; "));
    }
    if more > 0 {
        let _ = write!(text, "; and {more} more");
    }
    let _ = write!(
        text,
        ". It goes on in the cluster; `baton uninstall {name}` waits for the rest"
    );
    if holds.iter().any(Hold::is_stuck) {
        text.push_str(
            ". A finalizer goes when the program that set it has cleaned up; where that program is gone, clean up by hand and \
             remove it with kubectl edit",
        );
    }
    Failure::new(text)
}
