//! What is to be done for an extension: the second decision, made when the content of the bundle is known.
//!
//! No client, no clock: the controller acts on a [`Plan`], `baton plan` prints it.

use std::time::Duration;

use api::cluster_extension::ClusterExtensionStatus;
use api::cluster_object_set::CollisionProtection;
use api::condition::{ConditionStatus, Statement, find};
use api::{ClusterObjectSet, keys};
use gotemplate::format::quoted;

use crate::choosing::{Choice, Target, WaitsFor};
use crate::failure::Failure;
use crate::notice::Notice;
use crate::preflight;
use crate::revisions::{Change, Desired, LostContent, NewRevision, newest_number, outdated};
use crate::settings::{OnFailure, Settings};
use crate::snapshot::{Content, NoContent, Snapshot};
use crate::standing::{Bundle, Revision, Standing};
use crate::status::{PROGRESSING, StatusWriter, reason};

/// How long a version may take that is rolled back if it fails, where the spec doesn't say: what definitions allow at
/// least. Without an end there would never be a failure.
pub const ROLLBACK_DEADLINE_MINUTES: i32 = 10;

/// What is to be done for an extension.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What is written, in this order.
    pub writes: Vec<Write>,
    /// What the status says afterwards.
    pub status: ClusterExtensionStatus,
    /// What the annotation about the waiting version says afterwards; none to have none.
    pub waiting: Option<String>,
    /// What is worth telling beside the status.
    pub notices: Vec<Notice>,
    /// When to look again, if nothing happens before.
    pub again: Again,
}

/// One thing that is written.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// An archived revision is deleted.
    Delete(String),
    /// A revision is made.
    Create(Box<NewRevision>),
    /// Fields of a revision are changed.
    Change(Box<ClusterObjectSet>),
    /// Secrets of a revision are made again.
    Restore(Box<LostContent>),
}

/// When to look again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// When something happens.
    WhenChanged,
    /// Soon, and less often the longer it is in vain.
    Soon,
    /// After this time.
    After(Duration),
}

/// Decides what is to be done. `content` is what was found of the target; none where the target needs none.
pub fn decide(snapshot: &Snapshot, choice: &Choice, content: Option<&Result<Content, NoContent>>) -> Plan {
    let settings = Settings::read(&snapshot.annotations()).unwrap_or_default();
    Deciding {
        snapshot,
        settings,
        choice,
        standing: snapshot.standing(),
    }
    .plan(content)
}

/// Returns what of the newest revision content would change; none where it can't be told.
pub fn change(snapshot: &Snapshot, choice: &Choice, content: &Content) -> Option<Change> {
    let settings = Settings::read(&snapshot.annotations()).unwrap_or_default();
    let deciding = Deciding {
        snapshot,
        settings,
        choice,
        standing: snapshot.standing(),
    };
    let desired = deciding.desired(&choice.target, content);
    match snapshot.object_sets.last() {
        None => Some(Change::Next),
        Some(newest) => desired.compare(&snapshot.extension, newest).ok(),
    }
}

/// Says what the status is when the extension itself is not as it must be.
pub fn refuse(snapshot: &Snapshot, causes: &[String]) -> Plan {
    let mut status = writer(snapshot);
    status.invalid(causes);
    plan(status, Again::WhenChanged)
}

/// Says what the status is when the revisions can't be found.
pub fn lost(snapshot: &Snapshot, cause: &str) -> Plan {
    let mut status = writer(snapshot);
    status.revisions_unknown(cause);
    plan(status, Again::Soon)
}

/// Says what the status is when an extension can't be deleted yet.
pub fn undeletable(snapshot: &Snapshot, failure: &Failure) -> Plan {
    let mut status = writer(snapshot);
    status.installed(&snapshot.standing());
    status.failed(failure);
    let mut plan = plan(status, Again::Soon);
    plan.notices.push(Notice::failed(&failure.message));
    plan
}

fn writer(snapshot: &Snapshot) -> StatusWriter {
    let extension = &snapshot.extension;
    StatusWriter::new(extension.status.clone(), extension.generation(), snapshot.now)
}

fn plan(status: StatusWriter, again: Again) -> Plan {
    Plan {
        writes: Vec::new(),
        status: status.finish(),
        waiting: None,
        notices: Vec::new(),
        again,
    }
}

struct Deciding<'a> {
    snapshot: &'a Snapshot,
    settings: Settings,
    choice: &'a Choice,
    standing: Standing,
}

impl Deciding<'_> {
    fn plan(&self, content: Option<&Result<Content, NoContent>>) -> Plan {
        let mut status = writer(self.snapshot);
        let channels = self.snapshot.filter().map_or(&[][..], |filter| &filter.channels);
        let installed = self.standing.installed_bundle();
        status.deprecations(channels, installed, self.choice.deprecations.as_deref());
        let mut plan = match (&self.choice.target, content) {
            (Target::Unknown(failure), _) => self.failed(status, failure, true),
            (Target::AsItIs, _) | (_, None) => self.as_it_is(status),
            (target, Some(Err(NoContent::Pull(_)))) if self.is_installed(target) => self.as_it_is(status),
            (target, Some(Err(NoContent::Pull(failure)))) => {
                let failure = of_target(target, failure.clone());
                self.failed(status, &failure, true)
            }
            (target, Some(Err(NoContent::Apply(failure)))) => {
                let failure = of_target(target, failure.clone());
                // What lasts says all there is to say, as upstream has it.
                self.failed(status, &failure, failure.may_pass())
            }
            (target, Some(Ok(content))) => self.with_content(status, target, content),
        };
        plan.notices.extend(self.choice.notices.iter().cloned());
        self.tell_what_waits(&mut plan);
        plan
    }

    /// Says how things are; nothing is changed.
    fn as_it_is(&self, mut status: StatusWriter) -> Plan {
        status.progress(&self.standing);
        status.installed(&self.standing);
        let mut plan = plan(status, Again::WhenChanged);
        let before = &self.snapshot.extension.status.install;
        if let Some(installed) = &self.standing.installed
            && *before != plan.status.install
        {
            plan.notices
                .push(Notice::installed(&installed.bundle.full_version()));
        }
        plan
    }

    fn failed(&self, mut status: StatusWriter, failure: &Failure, tells_what_is_installed: bool) -> Plan {
        status.failed(failure);
        if tells_what_is_installed {
            status.installed(&self.standing);
        }
        let again = if failure.may_pass() {
            Again::Soon
        } else {
            Again::WhenChanged
        };
        let mut plan = plan(status, again);
        plan.notices.push(Notice::failed(&failure.message));
        plan
    }

    /// Compares what shall be there with the newest revision, and makes another one if they differ.
    fn with_content(&self, status: StatusWriter, target: &Target, content: &Content) -> Plan {
        let bundle = &content.bundle;
        let failed = |status, failure: Failure| {
            let failure = failure.of_bundle(&bundle.metadata);
            self.failed(status, &failure, failure.may_pass())
        };
        if let Some(failure) = self.foreign_package(target, bundle) {
            return failed(status, failure);
        }
        let extension = &self.snapshot.extension;
        let desired = self.desired(target, content);
        let newest = self.snapshot.object_sets.last();
        let change = match newest.map(|newest| desired.compare(extension, newest)) {
            None => Change::Next,
            Some(Ok(change)) => change,
            Some(Err(fault)) => {
                let failure = Failure::passing(format!("packing for SSA comparison: {fault}"));
                return failed(status, failure);
            }
        };
        match change {
            Change::Nothing => {
                let mut plan = self.as_it_is(status);
                plan.writes.extend(self.lost_content(&desired));
                plan
            }
            Change::InPlace(object_set) => {
                let mut plan = self.as_it_is(status);
                plan.writes.push(Write::Change(object_set));
                plan.writes.extend(self.lost_content(&desired));
                plan
            }
            Change::Next => {
                // Whoever wants to go back to what worked wants its definitions too; the API server still refuses to
                // drop a version in which resources are stored.
                let goes_back = matches!(target, Target::Again { .. });
                if !goes_back && let Err(failure) = preflight::check(extension, &self.settings, content) {
                    return failed(status, failure);
                }
                let follows = newest_number(&self.snapshot.object_sets);
                match desired.next(extension, follows, &self.snapshot.system_namespace) {
                    Ok(next) => self.with_next(status, target, next),
                    Err(fault) => {
                        let failure = Failure::passing(format!("packing objects into Secrets: {fault}"));
                        failed(status, failure)
                    }
                }
            }
        }
    }

    /// Makes what the newest revision lacks of its content, which is what is desired.
    fn lost_content(&self, desired: &Desired) -> Option<Write> {
        let newest = self.snapshot.object_sets.last()?;
        let lost = desired.lost_content(&self.snapshot.extension, newest, &self.snapshot.system_namespace);
        // What was packed for the comparison a moment ago can be packed again.
        lost.ok().flatten().map(Box::new).map(Write::Restore)
    }

    /// Makes a revision, and says that it is on its way.
    fn with_next(&self, mut status: StatusWriter, target: &Target, next: NewRevision) -> Plan {
        let revision = Revision::of(&next.object_set);
        let version = revision.bundle.full_version();
        let notice = match target {
            Target::Again { instead_of, .. } => {
                let cause =
                    find(&instead_of.conditions, PROGRESSING).map_or("", |said| said.message.as_str());
                let from = instead_of.bundle.full_version();
                Notice::rolled_back(&revision.name, &version, &from, cause)
            }
            _ => Notice::rolling_out(&revision.name, &version),
        };
        let mut standing = self.standing.clone();
        standing.rolling_out.push(revision);
        status.progress(&standing);
        status.installed(&standing);
        let mut plan = plan(status, Again::WhenChanged);
        let outdated = outdated(&self.snapshot.object_sets);
        plan.writes.extend(outdated.into_iter().map(Write::Delete));
        plan.writes.push(Write::Create(Box::new(next)));
        plan.notices.push(notice);
        plan
    }

    fn desired(&self, target: &Target, content: &Content) -> Desired {
        let extension = &self.snapshot.extension;
        let deadline = extension
            .spec
            .progress_deadline_minutes
            .filter(|minutes| *minutes > 0);
        let deadline = match self.settings.on_failure {
            OnFailure::Stay => deadline,
            OnFailure::RollBack => deadline.or(Some(ROLLBACK_DEADLINE_MINUTES)),
        };
        let mut desired = Desired::new(extension, content, deadline);
        let newest = self.standing.newest();
        let rolled_back_from = match target {
            Target::Again { instead_of, .. } => Some(instead_of.bundle.full_version()),
            // Another configuration of the same version is no reason to try again what failed.
            _ => newest
                .filter(|newest| newest.bundle.is_same_version(&content.bundle))
                .and_then(|newest| newest.rolled_back_from.clone()),
        };
        if self.settings.adopts_unowned {
            desired.collision_protection = CollisionProtection::IfNoController;
        }
        if let Some(word) = self.settings.on_delete.word() {
            desired
                .annotations
                .insert(keys::ON_DELETE.to_owned(), word.to_owned());
        }
        if let Some(from) = rolled_back_from {
            desired
                .annotations
                .insert(keys::ROLLED_BACK_FROM.to_owned(), from);
        }
        desired
    }

    /// Refuses an image of another package than the one that the spec names.
    fn foreign_package(&self, target: &Target, bundle: &Bundle) -> Option<Failure> {
        let Target::Image(image) = target else {
            return None;
        };
        let wanted = self.snapshot.filter()?.package_name.as_str();
        (wanted != bundle.package).then(|| {
            Failure::misconfigured(format!(
                "image {} of annotation {:?} holds package {}, and spec.source.catalog.packageName is {}; name an image of that package",
                quoted(image),
                keys::BUNDLE_IMAGE,
                quoted(&bundle.package),
                quoted(wanted)
            ))
        })
    }

    /// Returns whether a target is what is installed, so that nothing has to be fetched to keep it.
    fn is_installed(&self, target: &Target) -> bool {
        let Some(installed) = &self.standing.installed else {
            return false;
        };
        match target {
            Target::Bundle(bundle) => {
                let (wanted, there) = (&bundle.metadata, &installed.bundle.metadata);
                wanted.name == there.name && wanted.version == there.version
            }
            Target::Image(image) => *image == installed.bundle.image,
            Target::Again { .. } | Target::AsItIs | Target::Unknown(_) => false,
        }
    }

    /// Says which version waits for what; drift is repaired all the same.
    fn tell_what_waits(&self, plan: &mut Plan) {
        let Some(wait) = &self.choice.wait else {
            return;
        };
        let text = wait.to_string();
        // A failure of what is there is more urgent than what would come next.
        let is_at_rest = plan.again == Again::WhenChanged
            && find(&plan.status.conditions, PROGRESSING).is_none_or(|said| {
                said.reason == reason::SUCCEEDED
                    || said.reason == reason::BLOCKED
                    || self.standing.newest().is_none()
            });
        if is_at_rest && plan.writes.is_empty() {
            let statement = match wait.waits_for {
                WaitsFor::Window { .. } => {
                    Statement::new(PROGRESSING, ConditionStatus::True, reason::RETRYING, text.clone())
                }
                _ => Statement::new(PROGRESSING, ConditionStatus::False, reason::BLOCKED, text.clone()),
            };
            let mut status = StatusWriter::new(
                std::mem::take(&mut plan.status),
                self.snapshot.extension.generation(),
                self.snapshot.now,
            );
            status.say(statement);
            plan.status = status.finish();
        }
        if let Some(opens) = wait.until() {
            let left = opens.as_second().saturating_sub(self.snapshot.now.as_second());
            let left = Duration::from_secs(u64::try_from(left).unwrap_or(0).max(1));
            if plan.again == Again::WhenChanged {
                plan.again = Again::After(left);
            }
        }
        plan.notices.push(Notice::waiting(&text));
        plan.waiting = Some(wait.version.clone());
    }
}

/// Says of which bundle a failure is said, as far as it is known.
fn of_target(target: &Target, failure: Failure) -> Failure {
    match target {
        Target::Bundle(bundle) => failure.of_bundle(&bundle.metadata),
        Target::Again { revision, .. } => failure.of_bundle(&revision.bundle.metadata),
        Target::Image(image) => Failure {
            message: format!("error for bundle image {}: {}", quoted(image), failure.message),
            ..failure
        },
        Target::AsItIs | Target::Unknown(_) => failure,
    }
}
