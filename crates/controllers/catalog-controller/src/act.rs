//! The deeds that decisions lead to.

use std::sync::Arc;
use std::time::Duration;

use api::cluster_catalog::ClusterCatalogStatus;
use api::{ClusterCatalog, keys};
use image::policy::Acceptance;
use jiff::Timestamp;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::contents::{Contents, WithdrawError};
use crate::controller::{Shared, now};
use crate::fetch::{FetchError, Fetched, Wanted, fetch};
use crate::poll;
use crate::pull_secrets;
use crate::reconcile::{
    Amendment, Failure, Following, Memory, Seen, Step, Withdrawal, Withdrawn, amendment, decide, follow,
};
use crate::status::Content;

/// How long to wait after somebody else changed a catalog first: the change arrives by itself.
const AFTER_CONFLICT: Duration = Duration::from_millis(200);

/// How long fetching an image may take in all: even a slow line brings the largest catalog in a fraction of that.
const FETCH_TIME_LIMIT: Duration = Duration::from_mins(30);

/// A catalog that is to be looked after.
pub(crate) struct Task {
    pub(crate) name: String,
    /// The catalog; nothing when it is gone.
    pub(crate) catalog: Option<Arc<ClusterCatalog>>,
    pub(crate) memory: Memory,
    /// Whether this replica writes to the cluster.
    pub(crate) leads: bool,
    /// Ends waiting for an image.
    pub(crate) interruption: CancellationToken,
}

/// What came of looking after a catalog.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// What to remember.
    pub(crate) memory: Memory,
    /// When to look again, if nothing happens before.
    pub(crate) again: Option<Duration>,
}

/// Observes a catalog, decides what to do next, and does it.
pub(crate) async fn look_after(shared: Arc<Shared>, task: Task) -> Outcome {
    let Task {
        name,
        catalog,
        memory,
        leads,
        interruption,
    } = task;
    let Some(catalog) = catalog else {
        // It is gone without having been seen to go.
        let again = match withdraw(&shared.contents, &name).await {
            Withdrawn::Entirely => None,
            Withdrawn::Not(cause) | Withdrawn::FilesLeft(cause) => {
                tracing::warn!(
                    catalog = name,
                    cause,
                    "a deleted catalog can't be removed; trying again"
                );
                Some(poll::retry_delay(u32::MAX))
            }
        };
        return Outcome { memory, again };
    };
    let deed = Deed {
        seen: Seen {
            catalog: &catalog,
            content: shared.contents.content(&name),
            memory,
            base_url: &shared.base_url,
            now: now(),
            jitter: random_fraction(),
        },
        shared: &shared,
        interruption,
    };
    let outcome = if leads {
        deed.lead().await
    } else {
        deed.follow().await
    };
    shared
        .metrics
        .reconcile(match (&outcome.memory.failed, outcome.again) {
            (Some(_), _) => "error",
            (None, Some(_)) => "requeue_after",
            (None, None) => "success",
        });
    outcome
}

/// A number from 0 to 1. Without randomness catalogs are polled at the same time, which is no harm.
fn random_fraction() -> f64 {
    f64::from(getrandom::u32().unwrap_or_default()) / f64::from(u32::MAX)
}

async fn withdraw(contents: &Arc<Contents>, name: &str) -> Withdrawn {
    let (contents, name) = (Arc::clone(contents), name.to_owned());
    match tokio::task::spawn_blocking(move || contents.withdraw(&name)).await {
        Ok(Ok(())) => Withdrawn::Entirely,
        Ok(Err(WithdrawError::StillServed(error))) => Withdrawn::Not(error.to_string()),
        Ok(Err(WithdrawError::FilesLeft(error))) => Withdrawn::FilesLeft(error.to_string()),
        Err(error) => Withdrawn::Not(error.to_string()),
    }
}

/// A catalog that is looked after.
struct Deed<'a> {
    seen: Seen<'a>,
    shared: &'a Arc<Shared>,
    interruption: CancellationToken,
}

/// A write that the cluster didn't take.
enum Refused {
    /// Somebody else was first, or the catalog is gone; what happened is on its way here.
    Outdated,
    /// The cluster failed.
    Failed(kube::Error),
}

impl Deed<'_> {
    async fn lead(self) -> Outcome {
        match decide(&self.seen) {
            Step::Rest(again) => Outcome {
                memory: self.seen.memory,
                again,
            },
            Step::Amend(amendment) => {
                let version = self.seen.catalog.metadata.resource_version.clone();
                let written = self.amend(&amendment, version).await;
                self.after_writing(written, None)
            }
            Step::Refuse(message) => {
                let written = self.write(self.seen.after_failure(&message, true)).await;
                self.after_writing(written.map(drop), None)
            }
            Step::Withdraw(why) => self.withdraw(why).await,
            Step::Fetch => self.fetch().await,
        }
    }

    async fn withdraw(self, why: Withdrawal) -> Outcome {
        let how_far = withdraw(&self.shared.contents, self.seen.catalog.name()).await;
        let written = self.write(self.seen.after_withdrawal(why, &how_far)).await;
        if let Withdrawn::Not(cause) | Withdrawn::FilesLeft(cause) = how_far {
            tracing::warn!(
                catalog = self.seen.catalog.name(),
                cause,
                "a catalog can't be removed; trying again"
            );
            return self.after_failing(false, written.is_ok());
        }
        let written = match written {
            Ok(version) => {
                let mut amendment = amendment(self.seen.catalog, false);
                amendment.label = false;
                self.amend(&amendment, version).await
            }
            Err(refused) => Err(refused),
        };
        self.after_writing(written, None)
    }

    async fn fetch(mut self) -> Outcome {
        let wish = self.seen.wish();
        let reference = match &self.seen.catalog.spec.source.image {
            Some(image) => image.reference.clone(),
            None => String::new(),
        };
        match self.serve(&reference).await {
            Ok((content, acceptance)) => {
                self.seen.content = Some(content.clone());
                let written = self.write(self.seen.after_fetch(&content, &acceptance)).await;
                self.seen.memory = Memory {
                    polled: Some((self.seen.now, wish)),
                    failed: None,
                };
                let again = self.next_look();
                self.after_writing(written.map(drop), again)
            }
            Err(FetchError::Interrupted) => self.interrupted(),
            Err(error) => {
                tracing::warn!(catalog = self.seen.catalog.name(), %error, "a catalog can't be fetched");
                let written = self.write(self.seen.after_fetch_error(&error)).await;
                self.after_failing(error.is_terminal(), written.is_ok())
            }
        }
    }

    /// When the catalog has to be looked at if nothing happens.
    fn next_look(&self) -> Option<Duration> {
        let image = self.seen.catalog.spec.source.image.as_ref()?;
        let interval = poll::interval(image.poll_interval_minutes?);
        match poll::next(
            Some(interval),
            Some(self.seen.now),
            self.seen.now,
            self.seen.jitter,
        ) {
            poll::Next::In(rest) => Some(rest),
            poll::Next::Now => Some(Duration::ZERO),
            poll::Next::Never => None,
        }
    }

    async fn follow(mut self) -> Outcome {
        let again = match follow(&self.seen) {
            Following::Rest(again) => again,
            Following::Drop => match withdraw(&self.shared.contents, self.seen.catalog.name()).await {
                Withdrawn::Entirely => None,
                Withdrawn::Not(_) | Withdrawn::FilesLeft(_) => Some(poll::retry_delay(u32::MAX)),
            },
            Following::Fetch(reference) => match self.serve(&reference).await {
                Ok(_) => {
                    self.seen.memory.failed = None;
                    None
                }
                Err(FetchError::Interrupted) => return self.interrupted(),
                Err(error) => {
                    let name = self.seen.catalog.name();
                    tracing::warn!(catalog = name, %error, "a catalog can't be fetched");
                    return self.after_failing(false, true);
                }
            },
        };
        Outcome {
            memory: self.seen.memory,
            again,
        }
    }

    /// Something else is wanted now, which has its own turn.
    fn interrupted(self) -> Outcome {
        Outcome {
            memory: self.seen.memory,
            again: Some(AFTER_CONFLICT),
        }
    }

    /// Makes sure that an image is served, and says which it is and why it may be.
    async fn serve(&self, reference: &str) -> Result<(Content, Acceptance), FetchError> {
        let shared = self.shared;
        let name = self.seen.catalog.name();
        let own = self.seen.wish().pull_secret;
        let secrets = pull_secrets::read(&shared.client, own.as_deref(), &shared.secrets).await?;
        let served = self.seen.content.as_ref();
        let wanted = Wanted {
            reference,
            secrets,
            served: served.map(|content| content.reference.as_str()),
            contents: &shared.contents,
        };
        let fetched = tokio::select! {
            fetched = tokio::time::timeout(FETCH_TIME_LIMIT, fetch(&shared.images, wanted)) => {
                fetched.unwrap_or(Err(FetchError::TooSlow(FETCH_TIME_LIMIT.as_secs() / 60)))?
            }
            () = self.interruption.cancelled() => return Err(FetchError::Interrupted),
        };
        match (fetched, served) {
            (Fetched::Same { acceptance }, Some(content)) => Ok((content.clone(), acceptance)),
            // Nothing is the same as nothing.
            (Fetched::Same { .. }, None) => Err(FetchError::Interrupted),
            (
                Fetched::New {
                    reference,
                    store,
                    expected,
                    acceptance,
                },
                _,
            ) => {
                // All replicas give the same image the same date, which is the one in the status.
                let is_known = self.seen.catalog.resolved_reference() == Some(reference.as_str());
                let known = self.seen.catalog.status.last_unpacked.filter(|_| is_known);
                let content = Content {
                    reference: reference.clone(),
                    unpacked: known.unwrap_or_else(now),
                };
                let (contents, name, time) =
                    (Arc::clone(&shared.contents), name.to_owned(), content.unpacked);
                let put = tokio::task::spawn_blocking(move || {
                    let put = contents.put(&name, reference, time, store);
                    drop(expected);
                    put
                });
                match put.await {
                    Ok(put) => put.map_err(|error| FetchError::Store(error.to_string()))?,
                    Err(error) => return Err(FetchError::of_task(&error)),
                }
                Ok((content, acceptance))
            }
        }
    }

    /// Writes a status, unless it is the one that is there, and returns the catalog's version after that.
    async fn write(&self, status: ClusterCatalogStatus) -> Result<Option<String>, Refused> {
        if status == self.seen.catalog.status {
            return Ok(self.seen.catalog.metadata.resource_version.clone());
        }
        let mut catalog = self.seen.catalog.clone();
        catalog.status = status;
        let catalogs: Api<ClusterCatalog> = Api::all(self.shared.client.clone());
        let written = catalogs
            .replace_status(catalog.name(), &PostParams::default(), &catalog)
            .await;
        written
            .map(|catalog| catalog.metadata.resource_version)
            .map_err(Refused::of)
    }

    /// Changes finalizers and the label of a version of the catalog, unless nothing is to change.
    async fn amend(&self, amendment: &Amendment, version: Option<String>) -> Result<(), Refused> {
        let mut metadata = serde_json::Map::new();
        if amendment.label {
            let label = json!({keys::METADATA_NAME: self.seen.catalog.name()});
            metadata.insert("labels".to_owned(), label);
        }
        if let Some(finalizers) = &amendment.finalizers {
            // The list is written whole, so it must be the one that was seen.
            metadata.insert("finalizers".to_owned(), json!(finalizers));
            metadata.insert("resourceVersion".to_owned(), json!(version));
        }
        if metadata.is_empty() {
            return Ok(());
        }
        let catalogs: Api<ClusterCatalog> = Api::all(self.shared.client.clone());
        let patch: Value = json!({"metadata": metadata});
        let written = catalogs
            .patch(
                self.seen.catalog.name(),
                &PatchParams::default(),
                &Patch::Merge(patch),
            )
            .await;
        written.map(|_| ()).map_err(Refused::of)
    }

    fn after_writing(self, written: Result<(), Refused>, again: Option<Duration>) -> Outcome {
        let again = match written {
            Ok(()) => again,
            Err(Refused::Outdated) => Some(AFTER_CONFLICT),
            Err(Refused::Failed(error)) => {
                tracing::warn!(catalog = self.seen.catalog.name(), %error, "a catalog can't be written; trying again");
                return self.after_failing(false, false);
            }
        };
        Outcome {
            memory: self.seen.memory,
            again,
        }
    }

    /// Remembers that something failed, and when to try again. What is final but wasn't said yet is tried again, too.
    fn after_failing(self, is_terminal: bool, was_said: bool) -> Outcome {
        let wish = self.seen.wish();
        let mut memory = self.seen.memory;
        let before = memory.failed.filter(|failure| failure.wish == wish);
        let times = before.map_or(0, |failure| failure.times).saturating_add(1);
        let delay = poll::retry_delay(times);
        let retries = !(is_terminal && was_said);
        memory.failed = Some(Failure {
            wish,
            times,
            retry_at: retries.then(|| now().checked_add(delay).unwrap_or(Timestamp::MAX)),
        });
        Outcome {
            memory,
            again: retries.then_some(delay),
        }
    }
}

impl Refused {
    fn of(error: kube::Error) -> Self {
        match &error {
            kube::Error::Api(status) if matches!(status.code, 404 | 409) => Self::Outdated,
            _ => Self::Failed(error),
        }
    }
}
