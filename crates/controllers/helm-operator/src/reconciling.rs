//! One look at one resource: what is seen, what is decided, what is done, and what the status says of it.

mod awaiting;
mod departing;
mod installing;
mod repairing;
mod saying;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use release::actions::{Options, Releases};
use release::failure::Failure;
use release::identity::ReleaseId;
use release::records::{Record, Records};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::awaited::Thing;
use crate::backoff;
use crate::blueprint::Blueprint;
use crate::deciding::{self, Seen, SeenRelease, Step};
use crate::resource::{ActionWishes, CustomResource, Wishes};
use crate::routing::{self, Role};
use crate::status::{Retry, StatusChange};
use crate::world::{Key, Passing, Settled, World};
use crate::writing;

/// When a resource is looked at again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// When something changes.
    WhenChanged,
    /// After a time.
    After(Duration),
    /// After this time, because it failed: the status says so.
    AfterFailure(Duration),
    /// Because the resource itself could not be written: the more often, the later.
    Unwritten,
    /// At once: something came between.
    Soon,
}

/// How long is waited for the watch of records to tell of one that is gone.
const RECORDS_PAUSE: Duration = Duration::from_secs(1);

/// Looks at a resource.
pub async fn reconcile(world: &World, key: &Key) -> Again {
    let kind = world
        .blueprints
        .get(key.watch)
        .map(|blueprint| &blueprint.watch.kind);
    let span = tracing::info_span!(
        target: "baton::work",
        "reconcile",
        kind = kind.map(tracing::field::display),
        namespace = key.resource.namespace,
        name = key.resource.name
    );
    look_at(world, key).instrument(span).await
}

/// Says when a resource is looked at again after a look that panicked.
pub fn after_panic(world: &World, key: &Key) -> Duration {
    let (Some(resource), Some(blueprint)) = (world.resource(key), world.blueprints.get(key.watch)) else {
        return backoff::FIRST_WAIT;
    };
    let of = backoff::asked(&resource, &resource.wishes(), blueprint);
    world.back_off.failed(key, &of, Instant::now(), None).1
}

async fn look_at(world: &World, key: &Key) -> Again {
    let (Some(resource), Some(blueprint), Some(me)) = (
        world.resource(key),
        world.blueprints.get(key.watch),
        world.roster.mine.get(key.watch),
    ) else {
        world.let_go(key);
        return Again::WhenChanged;
    };
    let wishes = resource.wishes();
    let working = world.begin(key, &resource);
    let look = Look {
        world,
        key,
        blueprint,
        unwanted: working.unwanted(),
        id: ReleaseId::new(&resource.id.namespace, &resource.id.name),
        asked: backoff::asked(&resource, &wishes, blueprint),
        awaits: Mutex::default(),
        wishes,
        resource: &resource,
    };
    let role = routing::role(me, &world.roster.running(), &resource);
    let has_been = world.has_been(
        key,
        match role {
            Role::Herald { .. } => Some(Passing::Alone),
            Role::Beaten { .. } => Some(Passing::Outranked),
            Role::Owner | Role::Bystander => None,
        },
    );
    match role {
        Role::Owner => Box::pin(look.as_owner()).await,
        Role::Herald { .. } if resource.is_deleted => Box::pin(look.as_owner()).await,
        Role::Herald { message } => look.as_herald(message, has_been).await,
        Role::Beaten { by } => look.as_outranked(&by, has_been).await,
        Role::Bystander => {
            world.let_go(key);
            world.forget_tries(key);
            Again::WhenChanged
        }
    }
}

/// A look at one resource.
struct Look<'a> {
    world: &'a World,
    key: &'a Key,
    blueprint: &'a Arc<Blueprint>,
    /// Becomes true when the resource is to go.
    unwanted: watch::Receiver<bool>,
    id: ReleaseId,
    resource: &'a Arc<CustomResource>,
    /// What its annotations ask for.
    wishes: Wishes,
    /// Tells what it asks for from what it asked for before.
    asked: String,
    /// What a change of may help, should the look come to nothing.
    awaits: Mutex<BTreeSet<Thing>>,
}

impl Look<'_> {
    async fn as_owner(&self) -> Again {
        // What failed isn't tried again because its own writes come back as events.
        let now = Instant::now();
        let rest = self.world.back_off.rest(self.key, &self.asked, now, || {
            let retry = Retry::read(&self.resource.status.open())?;
            let ahead = retry.at.duration_since(Timestamp::now());
            Some((retry, Duration::try_from(ahead).unwrap_or_default()))
        });
        if let Some(rest) = rest {
            return self.wait_for_next_try(rest).await;
        }
        let drifted = self.world.take_drifted(self.key);
        let release = match self.seen_release().await {
            Ok(release) => release,
            Err(fault) => {
                self.world.put_back_drifted(self.key, drifted);
                return self.cannot_read_records(&fault).await;
            }
        };
        let settled = self.world.settled(self.key);
        let seen = Seen {
            is_deleted: self.resource.is_deleted,
            has_finalizer: self.resource.has_finalizer(),
            is_paused: self.wishes.pause,
            release,
            is_settled: settled.as_ref().is_some_and(|settled| self.is_as_left(settled)),
            has_drifted: !drifted.is_empty(),
            is_due: settled.as_ref().is_some_and(|settled| self.is_due(settled)),
        };
        match deciding::decide(&seen) {
            Step::Rest if self.resource.is_deleted => {
                self.world.let_go(self.key);
                Again::WhenChanged
            }
            Step::Rest => {
                let mut change = StatusChange::default();
                self.say_readiness(&mut change);
                self.write_status(self.resource, &change, self.next_look()).await
            }
            Step::Guard => match writing::add_finalizer(self.world, self.key, self.resource).await {
                // The rest is for the new state, which is there already.
                Ok(()) => Again::Soon,
                Err(fault) => self.failed_write(&fault),
            },
            Step::Pause => self.pause().await,
            Step::Collide { chart } => self.collide(&chart).await,
            Step::Install => self.install().await,
            Step::Compare => Box::pin(self.compare(drifted)).await,
            Step::Repair => self.repair(drifted).await,
            Step::Uninstall => self.uninstall().await,
            Step::LetGo => self.part(StatusChange::default()).await,
        }
    }

    fn records(&self) -> Records {
        let owner = self.resource.owner_reference(&self.blueprint.watch.kind);
        Records::new(&self.world.cluster, &self.id).owned_by(Some(owner))
    }

    fn options(&self, wishes: &ActionWishes, force: bool) -> Options {
        Options {
            owner: Some(self.resource.owner_reference(&self.blueprint.watch.kind)),
            disable_hooks: wishes.without_hooks,
            description: wishes.description.clone(),
            history_limit: self.world.history_limit,
            force,
            unwanted: Some(self.unwanted.clone()),
            ..Options::default()
        }
    }

    fn releases(&self, wishes: &ActionWishes, force: bool) -> Releases {
        Releases::new(&self.world.cluster, &self.id, self.options(wishes, force))
    }

    /// Says whose the release is; a record is read only if it isn't known already.
    async fn seen_release(&self) -> Result<SeenRelease, Failure> {
        let Some(last) = self.world.last_revision(&self.id) else {
            return Ok(SeenRelease::None);
        };
        if self
            .world
            .settled(self.key)
            .is_some_and(|settled| settled.uid == self.resource.uid && settled.revision == last.version)
        {
            return Ok(SeenRelease::Ours);
        }
        let Some(record) = self.records().read(last.version).await? else {
            return Ok(SeenRelease::None);
        };
        Ok(self.whose(&record))
    }

    /// A release is another's if a resource that is there owns it, or if it is of another chart.
    fn whose(&self, record: &Record) -> SeenRelease {
        let chart = record.release.chart.metadata_text("name");
        let owner = record
            .owners()
            .iter()
            .find(|owner| owner.controller == Some(true) && owner.uid != self.resource.uid);
        let is_owned_by_other = owner.is_some_and(|owner| self.world.has_resource(&owner.uid));
        let is_owned = record.is_owned_by(&self.resource.uid);
        if is_owned_by_other || (!is_owned && chart != self.blueprint.chart.metadata.name) {
            SeenRelease::Foreign { chart }
        } else {
            SeenRelease::Ours
        }
    }

    fn is_as_left(&self, settled: &Settled) -> bool {
        let last = self.world.last_revision(&self.id);
        settled.uid == self.resource.uid
            && settled.generation == self.resource.generation
            && settled.wishes == self.wishes
            && last.is_some_and(|last| {
                last.version == settled.revision && is_not_newer(&last.resource_version, &settled.record)
            })
    }

    fn period(&self) -> Duration {
        self.wishes
            .reconcile_period
            .or(self.blueprint.watch.reconcile_period)
            .unwrap_or(self.world.reconcile_period)
    }

    /// A resource whose chart looks at the cluster, or whose objects aren't watched, is compared from time to time.
    fn must_be_compared(&self, looks_at_cluster: bool) -> bool {
        !self.period().is_zero() && (looks_at_cluster || !self.blueprint.watch.watch_dependent_resources)
    }

    fn is_due(&self, settled: &Settled) -> bool {
        self.must_be_compared(settled.looks_at_cluster) && settled.compared.elapsed() >= self.period()
    }

    fn next_look(&self) -> Again {
        match self.world.settled(self.key) {
            Some(settled) if self.must_be_compared(settled.looks_at_cluster) => {
                Again::After(self.period().saturating_sub(settled.compared.elapsed()))
            }
            _ => Again::WhenChanged,
        }
    }
}

fn is_not_newer(seen: &str, known: &str) -> bool {
    match (seen.parse::<u64>(), known.parse::<u64>()) {
        (Ok(seen), Ok(known)) => seen <= known,
        _ => seen == known,
    }
}
