//! What is to be done for a catalog, decided from what was seen of it.

use std::time::Duration;

use api::ClusterCatalog;
use api::cluster_catalog::{AvailabilityMode, ClusterCatalogStatus};
use api::condition;
use api::keys;
use image::policy::Acceptance;
use jiff::Timestamp;

use crate::fetch::FetchError;
use crate::poll;
use crate::status::{Content, Moment, SERVING};

/// The source that is known.
const IMAGE: &str = "Image";

/// What was seen of a catalog.
#[derive(Debug, Clone)]
pub struct Seen<'a> {
    /// The catalog as the cluster has it.
    pub catalog: &'a ClusterCatalog,
    /// What is served for it here.
    pub content: Option<Content>,
    /// What this process remembers of it.
    pub memory: Memory,
    /// The address that catalogs are served under.
    pub base_url: &'a str,
    /// The time.
    pub now: Timestamp,
    /// A number from 0 to 1 that keeps catalogs from being polled all at once.
    pub jitter: f64,
}

/// What a process remembers of a catalog; losing it costs a question to the registry, and nothing else.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memory {
    /// When the registry was last asked with success, and for what.
    pub polled: Option<(Timestamp, Wish)>,
    /// The last failure, if there was no success since.
    pub failed: Option<Failure>,
}

/// What a user wants of a catalog's image. While it stays the same, a failure that is final stays one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The generation of the catalog.
    pub generation: i64,
    /// The Secret for its registry.
    pub pull_secret: Option<String>,
}

impl Wish {
    /// What is wanted of a catalog's image.
    pub fn of(catalog: &ClusterCatalog) -> Self {
        let annotations = catalog.metadata.annotations.as_ref();
        Self {
            generation: catalog.metadata.generation.unwrap_or_default(),
            pull_secret: annotations.and_then(|all| all.get(keys::PULL_SECRET)).cloned(),
        }
    }
}

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What was wanted.
    pub wish: Wish,
    /// How many attempts have failed in a row.
    pub times: u32,
    /// When to try again; never when trying can't help.
    pub retry_at: Option<Timestamp>,
}

/// What is to be done next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Nothing, until something changes or the time has passed.
    Rest(Option<Duration>),
    /// Give the catalog the label and the finalizer that it needs.
    Amend(Amendment),
    /// Serve it no more.
    Withdraw(Withdrawal),
    /// Find out what the image is now, and serve it.
    Fetch,
    /// Say why it can't be served.
    Refuse(String),
}

/// What a catalog's metadata lacks or has too much.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Amendment {
    /// All finalizers, if they are to change.
    pub finalizers: Option<Vec<String>>,
    /// Whether the label with its own name has to be set.
    pub label: bool,
}

/// Why a catalog is served no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawal {
    /// The user doesn't want it to be used.
    Unavailable,
    /// It is being deleted.
    Deleted,
}

/// How far a withdrawal came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Withdrawn {
    /// Nothing is left.
    Entirely,
    /// It is still served.
    Not(String),
    /// It is served no more, but files are left.
    FilesLeft(String),
}

/// Decides what the leader does next for a catalog.
pub fn decide(seen: &Seen<'_>) -> Step {
    let catalog = seen.catalog;
    if catalog.spec.availability_mode == AvailabilityMode::Unavailable {
        return unavailable(seen);
    }
    if catalog.metadata.deletion_timestamp.is_some() {
        if has_finalizer(catalog) || seen.content.is_some() {
            return Step::Withdraw(Withdrawal::Deleted);
        }
        return Step::Rest(None);
    }
    let amendment = amendment(catalog, true);
    if amendment != Amendment::default() {
        return Step::Amend(amendment);
    }
    let wish = seen.wish();
    if let Some(failure) = seen.memory.failed.as_ref().filter(|failure| failure.wish == wish) {
        match failure.retry_at {
            None => return Step::Rest(None),
            Some(retry_at) if retry_at > seen.now => {
                return Step::Rest(Some(poll::until(seen.now, retry_at)));
            }
            Some(_) => {}
        }
    }
    match &catalog.spec.source.image {
        _ if catalog.spec.source.kind != IMAGE => {
            let kind = gotemplate::format::quoted(&catalog.spec.source.kind);
            refusal(seen, format!("unknown source type {kind}"))
        }
        None => {
            let name = gotemplate::format::quoted(catalog.name());
            refusal(
                seen,
                format!("error parsing ClusterCatalog {name}, image source is nil"),
            )
        }
        Some(image) => {
            let interval = image.poll_interval_minutes.map(poll::interval);
            match seen.next_poll(interval) {
                _ if !seen.is_as_expected() => Step::Fetch,
                poll::Next::Now => Step::Fetch,
                poll::Next::In(rest) => Step::Rest(Some(rest)),
                poll::Next::Never => Step::Rest(None),
            }
        }
    }
}

/// Says so if it wasn't said before.
fn refusal(seen: &Seen<'_>, cause: String) -> Step {
    let message = format!("terminal error: {cause}");
    if seen.after_failure(&message, true) == seen.catalog.status {
        return Step::Rest(None);
    }
    Step::Refuse(message)
}

fn unavailable(seen: &Seen<'_>) -> Step {
    let is_done = seen.content.is_none()
        && !has_finalizer(seen.catalog)
        && seen.after_withdrawal(Withdrawal::Unavailable, &Withdrawn::Entirely) == seen.catalog.status;
    if !is_done {
        return Step::Withdraw(Withdrawal::Unavailable);
    }
    let amendment = amendment(seen.catalog, false);
    if amendment.label && seen.catalog.metadata.deletion_timestamp.is_none() {
        return Step::Amend(amendment);
    }
    Step::Rest(None)
}

fn has_finalizer(catalog: &ClusterCatalog) -> bool {
    let finalizers = catalog.metadata.finalizers.as_deref().unwrap_or_default();
    finalizers
        .iter()
        .any(|finalizer| finalizer == keys::DELETE_SERVER_CACHE)
}

/// What has to change for a catalog to have the finalizer, or not, and the label with its name.
pub fn amendment(catalog: &ClusterCatalog, wants_finalizer: bool) -> Amendment {
    let mut finalizers = catalog.metadata.finalizers.clone().unwrap_or_default();
    let has = has_finalizer(catalog);
    if wants_finalizer && !has {
        finalizers.push(keys::DELETE_SERVER_CACHE.to_owned());
    } else if !wants_finalizer {
        finalizers.retain(|finalizer| finalizer != keys::DELETE_SERVER_CACHE);
    }
    let label = catalog
        .metadata
        .labels
        .as_ref()
        .and_then(|labels| labels.get(keys::METADATA_NAME));
    Amendment {
        finalizers: (has != wants_finalizer).then_some(finalizers),
        label: label.map(String::as_str) != Some(catalog.name()),
    }
}

impl Seen<'_> {
    /// What the user wants of the image.
    pub fn wish(&self) -> Wish {
        Wish::of(self.catalog)
    }

    fn generation(&self) -> i64 {
        self.catalog.metadata.generation.unwrap_or_default()
    }

    fn moment(&self) -> Moment {
        Moment {
            generation: self.generation(),
            now: self.now,
        }
    }

    /// Where the catalog is served.
    fn address(&self) -> String {
        format!(
            "{}/catalogs/{}",
            self.base_url.trim_end_matches('/'),
            self.catalog.name()
        )
    }

    /// Whether content is served here, and the status says that it is and that nothing is missing.
    fn is_as_expected(&self) -> bool {
        self.content
            .as_ref()
            .is_some_and(|content| self.after_success(content) == self.catalog.status)
    }

    fn next_poll(&self, interval: Option<Duration>) -> poll::Next {
        let wish = self.wish();
        let last = match &self.memory.polled {
            Some((at, known)) if *known == wish => Some(*at),
            // Another Secret may lead to another image; another generation shows in the status.
            Some(_) => return poll::Next::Now,
            None => None,
        };
        poll::next(interval, last, self.now, self.jitter)
    }

    /// The status once the content is served that is wanted.
    pub fn after_success(&self, content: &Content) -> ClusterCatalogStatus {
        let mut status = self.catalog.status.clone();
        self.moment().succeeded(&mut status);
        self.moment().serving(&mut status, content, self.address());
        status
    }

    /// The status once the content is served that is wanted, and why it may be.
    pub fn after_fetch(&self, content: &Content, acceptance: &Acceptance) -> ClusterCatalogStatus {
        let mut status = self.after_success(content);
        self.moment().accepted(&mut status, acceptance);
        status
    }

    /// The status after an attempt that failed. What was served before still is, and the status says so.
    pub fn after_failure(&self, message: &str, is_terminal: bool) -> ClusterCatalogStatus {
        let mut status = self.catalog.status.clone();
        match &self.content {
            None => self.moment().failed(&mut status, message, is_terminal),
            Some(content) => {
                let message = format!("{message}; still serving {}", content.reference);
                self.moment().failed(&mut status, &message, is_terminal);
                let says_so = self.catalog.resolved_reference() == Some(content.reference.as_str())
                    && condition::is_true(&status.conditions, SERVING)
                    && status
                        .urls
                        .as_ref()
                        .is_some_and(|urls| urls.base == self.address());
                if !says_so {
                    self.moment().serving(&mut status, content, self.address());
                }
            }
        }
        status
    }

    /// The status after a fetch that failed.
    pub fn after_fetch_error(&self, error: &FetchError) -> ClusterCatalogStatus {
        let mut status = self.after_failure(&error.to_string(), error.is_terminal());
        if let (Some(refusal), None) = (error.refusal(), &self.content) {
            self.moment().rejected(&mut status, refusal);
        }
        status
    }

    /// The status after a withdrawal.
    pub fn after_withdrawal(&self, why: Withdrawal, how_far: &Withdrawn) -> ClusterCatalogStatus {
        let mut status = self.catalog.status.clone();
        let moment = self.moment();
        if let Withdrawn::Not(cause) = how_far {
            moment.failed(&mut status, cause, false);
            return status;
        }
        moment.not_serving(&mut status);
        match how_far {
            Withdrawn::FilesLeft(cause) => moment.failed(&mut status, cause, false),
            _ if why == Withdrawal::Unavailable => moment.made_unavailable(&mut status),
            _ => {}
        }
        status
    }
}

/// What a replica that doesn't lead does for a catalog: it serves what the leader says is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Following {
    /// Nothing.
    Rest(Option<Duration>),
    /// Serve it no more.
    Drop,
    /// Fetch an image by its digest, and serve it.
    Fetch(String),
}

/// Decides what a replica that doesn't lead does for a catalog.
pub fn follow(seen: &Seen<'_>) -> Following {
    let catalog = seen.catalog;
    let is_wanted = catalog.spec.availability_mode == AvailabilityMode::Available
        && catalog.metadata.deletion_timestamp.is_none();
    let Some(reference) = catalog.resolved_reference().filter(|_| is_wanted) else {
        return match seen.content {
            Some(_) => Following::Drop,
            None => Following::Rest(None),
        };
    };
    if seen
        .content
        .as_ref()
        .is_some_and(|content| content.reference == reference)
    {
        return Following::Rest(None);
    }
    let wish = seen.wish();
    let failure = seen.memory.failed.as_ref().filter(|failure| failure.wish == wish);
    match failure.and_then(|failure| failure.retry_at) {
        Some(retry_at) if retry_at > seen.now => Following::Rest(Some(poll::until(seen.now, retry_at))),
        _ => Following::Fetch(reference.to_owned()),
    }
}
