//! One look at one extension: observe, decide, act.

use std::time::Duration;

use api::ClusterExtension;
use tracing::Instrument as _;

use crate::acting::{ActError, Actor};
use crate::adoption;
use crate::catalogs::Catalogs;
use crate::choosing::choose;
use crate::deciding::{Again, Plan, decide, refuse, undeletable};
use crate::departure::{Departure, depart, with_finalizer, without_finalizers};
use crate::failure::Failure;
use crate::notice::Notice;
use crate::observing::Observer;
use crate::snapshot::NoContent;

/// How long a deletion waits for revisions to be let go, if nothing tells of it before.
const DEPARTURE_PAUSE: Duration = Duration::from_secs(1);

/// What one look came to.
#[derive(Debug)]
pub struct Reconciled {
    /// What is worth telling.
    pub notices: Vec<Notice>,
    /// When to look again.
    pub again: Again,
}

impl Reconciled {
    fn quietly(again: Again) -> Self {
        Self {
            notices: Vec::new(),
            again,
        }
    }
}

/// Looks at an extension and does what is to be done.
pub async fn reconcile<C: Catalogs>(
    observer: &Observer<C>,
    actor: &Actor<'_>,
    extension: &ClusterExtension,
) -> Reconciled {
    if extension.metadata.deletion_timestamp.is_some() {
        return delete(observer, actor, extension).await;
    }
    let finalized = match with_finalizer(extension) {
        None => extension.clone(),
        Some(finalizers) => match actor.set_finalizers(extension, &finalizers).await {
            Ok(Some(finalized)) => finalized,
            Ok(None) => return Reconciled::quietly(Again::WhenChanged),
            Err(fault) => {
                tracing::warn!(extension = extension.name(), %fault, "the finalizer can't be set; trying again");
                return Reconciled::quietly(Again::Soon);
            }
        },
    };
    let (plan, adopted) = carry_out(observer, actor, &finalized).await;
    let mut notices = plan.notices.clone();
    notices.extend(adopted);
    let again = match actor.report(&finalized, &plan).await {
        Ok(()) => plan.again,
        Err(fault) => {
            tracing::warn!(extension = extension.name(), %fault, "the status can't be written; trying again");
            Again::Soon
        }
    };
    Reconciled { notices, again }
}

async fn carry_out<C: Catalogs>(
    observer: &Observer<C>,
    actor: &Actor<'_>,
    extension: &ClusterExtension,
) -> (Plan, Option<Notice>) {
    let adopted = match adoption::helm::adopt(observer, actor, extension).await {
        Ok(adopted) => adopted,
        Err(cause) => {
            let snapshot = observer.observe(extension).await;
            return (crate::deciding::lost(&snapshot, &cause), None);
        }
    };
    let snapshot = observer.observe(extension).await;
    if snapshot.filter().is_none() {
        let cause = "spec.source.catalog is missing; name the package there".to_owned();
        return (refuse(&snapshot, &[cause]), adopted);
    }
    let package = snapshot.filter().map_or("", |filter| &filter.package_name);
    let choice =
        tracing::info_span!(target: "baton::work", "resolve", package).in_scope(|| choose(&snapshot));
    let content = observer.content(&snapshot, &choice).await;
    let mut plan = decide(&snapshot, &choice, content.as_ref());
    let span = tracing::info_span!(target: "baton::work", "apply", writes = plan.writes.len());
    match actor.write(&plan).instrument(span).await {
        Ok(()) => {}
        Err(ActError::Outdated(_)) => {
            plan.status = extension.status.clone();
            plan.notices.clear();
            plan.again = Again::Soon;
        }
        Err(fault) => {
            let failed = Err(NoContent::Apply(Failure::passing(fault)));
            plan = decide(&snapshot, &choice, Some(&failed));
        }
    }
    (plan, adopted)
}

async fn delete<C: Catalogs>(
    observer: &Observer<C>,
    actor: &Actor<'_>,
    extension: &ClusterExtension,
) -> Reconciled {
    let Some(finalizers) = without_finalizers(extension) else {
        return Reconciled::quietly(Again::WhenChanged);
    };
    match depart(actor, extension).await {
        Ok(Departure::Waiting) => Reconciled::quietly(Again::After(DEPARTURE_PAUSE)),
        Ok(Departure::Done) => match actor.set_finalizers(extension, &finalizers).await {
            Ok(_) => Reconciled::quietly(Again::WhenChanged),
            Err(fault) => {
                tracing::warn!(extension = extension.name(), %fault, "the finalizer can't be removed; trying again");
                Reconciled::quietly(Again::Soon)
            }
        },
        Err(failure) => {
            let snapshot = observer.observe(extension).await;
            let plan = undeletable(&snapshot, &failure);
            let again = match actor.report(extension, &plan).await {
                Ok(()) => plan.again,
                Err(_) => Again::Soon,
            };
            Reconciled {
                notices: plan.notices,
                again,
            }
        }
    }
}
