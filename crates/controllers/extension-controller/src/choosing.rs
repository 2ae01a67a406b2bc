//! What an extension shall become: the first of two decisions, made before any bundle is fetched.
//!
//! ```text
//! Snapshot ─ resolution ─► a bundle, or why there is none
//!          ─ redirection ─► whether a rollout under way is still wanted
//!          ─ waiting ─────► whether it may begin now
//!          ─► Choice
//! ```

mod redirection;
mod resolution;
mod waiting;

use catalog::objects::Deprecation;

use crate::failure::Failure;
use crate::notice::Notice;
use crate::settings::{OnFailure, Settings};
use crate::snapshot::Snapshot;
use crate::standing::{Bundle, Revision, Standing};

pub use resolution::{Resolved, Resolving, explanation, resolving};
pub use waiting::{Wait, WaitsFor};

/// What an extension shall become.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// What shall be there.
    pub target: Target,
    /// What catalogs say should not be used any more; none where none could be asked.
    pub deprecations: Option<Vec<Deprecation>>,
    /// The version that would come next, and what it waits for.
    pub wait: Option<Wait>,
    /// What is worth telling beside the status.
    pub notices: Vec<Notice>,
}

/// What shall be there.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A bundle: the next one, or the one that is there.
    Bundle(Bundle),
    /// The bundle that an image holds.
    Image(String),
    /// What a revision held, since the one after it did not roll out in time.
    Again {
        /// The revision that was rolled out completely.
        revision: Box<Revision>,
        /// The one that was not.
        instead_of: Box<Revision>,
    },
    /// What is there.
    AsItIs,
    /// Nobody can tell.
    Unknown(Failure),
}

impl Choice {
    fn of(target: Target) -> Self {
        Self {
            target,
            deprecations: None,
            wait: None,
            notices: Vec::new(),
        }
    }
}

/// Decides what an extension shall become.
pub fn choose(snapshot: &Snapshot) -> Choice {
    match Settings::read(&snapshot.annotations()) {
        Ok(settings) => choose_with(snapshot, &settings, |installed| resolving(snapshot, installed)),
        Err(invalid) => {
            let causes: Vec<String> = invalid.iter().map(ToString::to_string).collect();
            Choice::of(Target::Unknown(Failure::misconfigured(causes.join("\n"))))
        }
    }
}

/// Decides it, with what resolution comes to when it is asked what may follow a bundle.
pub fn choose_with(
    snapshot: &Snapshot,
    settings: &Settings,
    resolve: impl FnOnce(Option<&Bundle>) -> Resolving,
) -> Choice {
    let standing = snapshot.standing();
    if let Some(choice) = rollback(snapshot, settings, &standing) {
        return choice;
    }
    if let Some(image) = &settings.bundle_image {
        return waiting::for_image(snapshot, settings, &standing, image);
    }
    let under_way = standing.on_its_way();
    if let Some(revision) = under_way
        && !redirection::is_unwanted(snapshot, revision)
        && !revision.is_overdue()
    {
        return keep(settings, revision);
    }
    let installed = standing.installed.as_ref().map(|revision| &revision.bundle);
    let Resolving {
        outcome,
        deprecations,
        notices,
    } = resolve(installed);
    let choice = match outcome {
        Ok(Resolved { bundle }) => match under_way {
            // What is overdue goes on trying as long as nothing better is known.
            Some(revision) if revision.bundle.is_same_version(&bundle) => keep(settings, revision),
            _ => waiting::before(snapshot, settings, &standing, bundle),
        },
        Err(failure) => match under_way {
            Some(revision) if !redirection::is_unwanted(snapshot, revision) => keep(settings, revision),
            _ => fallback(snapshot, settings, &standing, failure),
        },
    };
    Choice {
        deprecations,
        notices,
        ..choice
    }
}

/// Goes on with a rollout that is under way.
fn keep(settings: &Settings, revision: &Revision) -> Choice {
    Choice::of(if settings.is_paused {
        Target::AsItIs
    } else {
        Target::Bundle(revision.bundle.clone())
    })
}

/// Goes back to what worked, if that is wanted and the next version does not roll out.
fn rollback(snapshot: &Snapshot, settings: &Settings, standing: &Standing) -> Option<Choice> {
    let (revision, instead_of) = (standing.installed.as_ref()?, standing.on_its_way()?);
    let is_wanted = settings.on_failure == OnFailure::RollBack && !settings.is_paused;
    // A revision that was itself made to go back has nothing further to go back to.
    let is_due = is_wanted && instead_of.is_overdue() && instead_of.rolled_back_from.is_none();
    // Whoever wants another version by now gets that one.
    let is_due = is_due && !redirection::is_unwanted(snapshot, instead_of);
    is_due.then(|| {
        Choice::of(Target::Again {
            revision: Box::new(revision.clone()),
            instead_of: Box::new(instead_of.clone()),
        })
    })
}

/// Keeps what is installed while there is no catalog left to ask; otherwise it is to be tried again.
fn fallback(snapshot: &Snapshot, settings: &Settings, standing: &Standing, failure: Failure) -> Choice {
    let Some(installed) = &standing.installed else {
        return Choice::of(Target::Unknown(failure));
    };
    let wanted = snapshot.filter().map_or("", |filter| filter.version.as_str());
    let wants_another = !wanted.is_empty() && wanted != installed.bundle.metadata.version;
    let has_catalogs = snapshot
        .catalogs
        .as_ref()
        .map_or(true, |catalogs| !catalogs.is_empty());
    if wants_another || has_catalogs {
        return Choice::of(Target::Unknown(failure));
    }
    keep(settings, installed)
}
