//! Why an extension has its version, and what keeps each other version away: what `baton explain` and the console show.

use api::condition::{ConditionStatus, find};
use resolve::explanation::{Explanation, Verdict};
use serde::Serialize;

use crate::choosing::{Target, Wait, WaitsFor, choose, explanation};
use crate::snapshot::Snapshot;
use crate::standing::{Bundle, Revision};
use crate::status::{AVAILABLE, PROGRESSING, reason};

/// Why an extension has its version.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explained {
    /// The extension.
    pub extension: String,
    /// Its package; empty where it names none.
    pub package: String,
    /// The version that is installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed: Option<String>,
    /// What happens next, and why.
    pub next: String,
    /// The version that is on its way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under_way: Option<String>,
    /// The version that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// The version that can't go on, or that isn't as it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stuck: Option<Stuck>,
    /// What became of every version that the catalogs know.
    #[serde(flatten)]
    pub versions: Explanation,
}

/// A version that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// The version.
    pub version: String,
    /// What it does, in a few words: `waits for approval`.
    pub does: String,
}

/// A version that can't go on, or that isn't as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stuck {
    /// The version.
    pub version: String,
    /// What is in its way.
    pub on: String,
}

/// Explains what was seen of an extension.
///
/// # Errors
///
/// If the spec or what is installed can't be understood.
pub fn explained(snapshot: &Snapshot) -> Result<Explained, String> {
    let standing = snapshot.standing();
    let installed = standing.installed.as_ref().map(|revision| &revision.bundle);
    let versions = explanation(snapshot)?;
    let choice = choose(snapshot);
    let under_way = standing.on_its_way();
    let stuck = stuck(snapshot, &choice.target, choice.wait.as_ref(), &versions);
    let mut next = Vec::new();
    match &choice.target {
        Target::Bundle(bundle) => {
            let version = bundle.full_version();
            next.push(
                if installed.is_some_and(|installed| installed.is_same_version(bundle)) {
                    format!("version {version} stays")
                } else if under_way.is_some_and(|revision| revision.bundle.is_same_version(bundle)) {
                    format!("version {version} is being rolled out")
                } else {
                    format!("version {version} is to be rolled out")
                },
            );
        }
        Target::Image(image) => {
            let is_there = |revision: &Revision| revision.bundle.image == *image;
            next.push(if standing.installed.as_ref().is_some_and(is_there) {
                format!("what {image} holds stays")
            } else if under_way.is_some_and(is_there) {
                format!("what {image} holds is being rolled out")
            } else {
                format!("what {image} holds is to be rolled out")
            });
        }
        Target::Again { revision, instead_of } => next.push(format!(
            "version {} comes back, since {} did not roll out in time",
            revision.bundle.full_version(),
            instead_of.bundle.full_version()
        )),
        // What waits says all there is to say.
        Target::AsItIs => {
            if let Some(installed) = installed {
                next.push(format!("version {} stays", installed.full_version()));
            } else if choice.wait.is_none() {
                next.push("nothing changes".to_owned());
            }
        }
        Target::Unknown(failure) => next.push(failure.message.clone()),
    }
    if let Some(stuck) = stuck
        .as_ref()
        .filter(|_| !matches!(choice.target, Target::Unknown(_)))
    {
        next.push(format!("it is stuck on {}", stuck.on));
    }
    next.extend(choice.wait.as_ref().map(ToString::to_string));
    Ok(Explained {
        extension: snapshot.extension.name().to_owned(),
        package: snapshot
            .filter()
            .map(|filter| filter.package_name.clone())
            .unwrap_or_default(),
        installed: installed.map(Bundle::full_version),
        next: next.join("; "),
        under_way: under_way.map(|revision| revision.bundle.full_version()),
        waiting: choice.wait.map(|wait| Waiting {
            does: does(&wait.waits_for),
            version: wait.version,
        }),
        stuck,
        versions,
    })
}

/// What a version does that waits.
fn does(waits_for: &WaitsFor) -> String {
    match waits_for {
        WaitsFor::Approval { .. } => "waits for approval".to_owned(),
        WaitsFor::Resumption => "waits until the extension is resumed".to_owned(),
        WaitsFor::Window { opens, .. } => {
            format!("waits for the maintenance window, which opens at {opens}")
        }
        WaitsFor::AnotherTry { .. } => {
            "did not roll out in time, and waits for approval to be tried again".to_owned()
        }
    }
}

/// The version that can't go on, and why: what the controller and the revision say of it.
fn stuck(snapshot: &Snapshot, target: &Target, wait: Option<&Wait>, versions: &Explanation) -> Option<Stuck> {
    let standing = snapshot.standing();
    let newest = standing.newest();
    let (version, revision) = match target {
        Target::Unknown(failure) => {
            let bundles = versions.catalogs.iter().flat_map(|catalog| &catalog.bundles);
            let mut chosen = bundles.filter(|bundle| matches!(bundle.verdict, Verdict::Chosen { .. }));
            let version = chosen.next()?.version.clone();
            let on = in_a_line(&failure.message);
            return Some(Stuck { version, on });
        }
        Target::Bundle(bundle) => {
            let is_its = |revision: &&Revision| revision.bundle.is_same_version(bundle);
            (bundle.full_version(), newest.filter(is_its))
        }
        Target::Image(image) => {
            let revision = newest.filter(|revision| revision.bundle.image == *image);
            let version = revision.map_or_else(|| image.clone(), |revision| revision.bundle.full_version());
            (version, revision)
        }
        Target::AsItIs | Target::Again { .. } => {
            let revision = newest?;
            (revision.bundle.full_version(), Some(revision))
        }
    };
    // What the extension says of a version that waits is no obstacle.
    let said = find(&snapshot.extension.status.conditions, PROGRESSING)
        .filter(|said| wait.is_none() && said.observed_generation >= snapshot.extension.generation())
        .filter(|said| said.status == ConditionStatus::False || said.reason == reason::RETRYING);
    let on = said
        .map(|said| said.message.clone())
        .or_else(|| revision.and_then(obstacle))?;
    Some(Stuck {
        version,
        on: in_a_line(&on),
    })
}

/// What a revision says of what is in its way.
fn obstacle(revision: &Revision) -> Option<String> {
    let progressing = find(&revision.conditions, PROGRESSING)
        .filter(|said| said.status == ConditionStatus::False || said.reason == reason::RETRYING);
    let unavailable = || {
        find(&revision.conditions, AVAILABLE)
            .filter(|said| said.status == ConditionStatus::False && said.reason == PROBE_FAILURE)
    };
    progressing.or_else(unavailable).map(|said| said.message.clone())
}

/// The reason of a revision one of whose objects doesn't pass its probes.
const PROBE_FAILURE: &str = "ProbeFailure";

/// What conditions say in lines, each of which begins with what it is about, in one line.
fn in_a_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines
        .map(|line| line.strip_prefix("Object ").unwrap_or(line))
        .collect();
    lines.join("; ")
}
