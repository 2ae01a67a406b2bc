//! Whether the next version may be rolled out now, or what it waits for.

use std::fmt;

use api::keys;
use jiff::Timestamp;

use super::{Choice, Target};
use crate::settings::Settings;
use crate::snapshot::Snapshot;
use crate::standing::{Bundle, Revision, Standing};
use crate::window::Opening;

/// A version that is not rolled out yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The version, or the image where that is all that is known.
    pub version: String,
    /// What it waits for.
    pub waits_for: WaitsFor,
}

/// What a version waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitsFor {
    /// Somebody who approves it.
    Approval {
        /// The extension.
        extension: String,
    },
    /// The end of a pause.
    Resumption,
    /// A maintenance window.
    Window {
        /// The windows as they are written.
        windows: String,
        /// When the next one opens.
        opens: Timestamp,
    },
    /// Somebody who wants it although it did not roll out once.
    AnotherTry {
        /// The extension.
        extension: String,
    },
}

impl Wait {
    /// Returns whether it ends by itself, and when.
    pub fn until(&self) -> Option<Timestamp> {
        match &self.waits_for {
            WaitsFor::Window { opens, .. } => Some(*opens),
            _ => None,
        }
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = &self.version;
        match &self.waits_for {
            WaitsFor::Approval { extension } => write!(
                formatter,
                "version {version} waits for approval; to approve it: kubectl annotate clusterextension {extension} {}={version} --overwrite",
                keys::APPROVE
            ),
            WaitsFor::Resumption => write!(
                formatter,
                "version {version} waits because annotation {:?} is \"true\"; remove it to go on",
                keys::PAUSE
            ),
            WaitsFor::Window { windows, opens } => write!(
                formatter,
                "version {version} waits for the maintenance window {windows:?}, which opens at {opens}"
            ),
            WaitsFor::AnotherTry { extension } => write!(
                formatter,
                "version {version} did not roll out in time and was rolled back; another version is taken by itself, and to try this one again: kubectl annotate clusterextension {extension} {}={version} --overwrite",
                keys::APPROVE
            ),
        }
    }
}

/// Decides whether a bundle may take the place of what is there.
pub(super) fn before(snapshot: &Snapshot, settings: &Settings, standing: &Standing, next: Bundle) -> Choice {
    let current = standing.newest();
    if current.is_some_and(|current| current.bundle.is_same_version(&next)) {
        return Choice::of(if settings.is_paused {
            Target::AsItIs
        } else {
            Target::Bundle(next)
        });
    }
    let Some(waits_for) = reason(snapshot, settings, standing, &next.full_version()) else {
        return Choice::of(Target::Bundle(next));
    };
    let target = match current {
        Some(current) if !settings.is_paused => Target::Bundle(current.bundle.clone()),
        _ => Target::AsItIs,
    };
    Choice {
        wait: Some(Wait {
            version: next.full_version(),
            waits_for,
        }),
        ..Choice::of(target)
    }
}

/// Decides whether an image that was named directly may take the place of what is there.
pub(super) fn for_image(
    snapshot: &Snapshot,
    settings: &Settings,
    standing: &Standing,
    image: &str,
) -> Choice {
    let current = standing.newest();
    let is_there = current.is_some_and(|current| current.bundle.image == image);
    if settings.is_paused {
        let wait = (!is_there).then(|| Wait {
            version: image.to_owned(),
            waits_for: WaitsFor::Resumption,
        });
        return Choice {
            wait,
            ..Choice::of(Target::AsItIs)
        };
    }
    if is_there {
        return Choice::of(Target::Image(image.to_owned()));
    }
    // Whoever names an image has approved it.
    let free = Settings {
        needs_approval: false,
        ..settings.clone()
    };
    let waits_for = if has_failed(snapshot, standing, image) && settings.approved.as_deref() != Some(image) {
        Some(WaitsFor::AnotherTry {
            extension: snapshot.extension.name().to_owned(),
        })
    } else {
        reason(snapshot, &free, standing, image)
    };
    match (waits_for, current) {
        (None, _) => Choice::of(Target::Image(image.to_owned())),
        (Some(waits_for), current) => Choice {
            wait: Some(Wait {
                version: image.to_owned(),
                waits_for,
            }),
            ..Choice::of(current.map_or(Target::AsItIs, |current| Target::Bundle(current.bundle.clone())))
        },
    }
}

/// Returns whether an image holds the version that the newest revision was made to get away from.
fn has_failed(snapshot: &Snapshot, standing: &Standing, image: &str) -> bool {
    let from = standing
        .newest()
        .and_then(|current| current.rolled_back_from.clone());
    let mut revisions = snapshot
        .object_sets
        .iter()
        .map(|object_set| Revision::of(object_set));
    from.is_some_and(|from| {
        revisions.any(|revision| revision.bundle.image == image && revision.bundle.full_version() == from)
    })
}

fn reason(snapshot: &Snapshot, settings: &Settings, standing: &Standing, version: &str) -> Option<WaitsFor> {
    let extension = || snapshot.extension.name().to_owned();
    let is_approved = settings.approved.as_deref() == Some(version);
    if settings.is_paused {
        return Some(WaitsFor::Resumption);
    }
    let failed_before = standing
        .newest()
        .and_then(|current| current.rolled_back_from.as_deref());
    if failed_before == Some(version) && !is_approved {
        return Some(WaitsFor::AnotherTry {
            extension: extension(),
        });
    }
    if settings.needs_approval && !is_approved {
        return Some(WaitsFor::Approval {
            extension: extension(),
        });
    }
    // Nothing is interrupted by a first installation.
    standing.installed.as_ref()?;
    let windows = settings.windows.as_ref()?;
    match windows.at(snapshot.now) {
        Opening::Open => None,
        Opening::ClosedUntil(opens) => Some(WaitsFor::Window {
            windows: windows.to_string(),
            opens,
        }),
    }
}
