//! Where an extension stands: what is installed, and what is being rolled out.

use std::sync::Arc;

use api::ClusterObjectSet;
use api::cluster_extension::BundleMetadata;
use api::cluster_object_set::LifecycleState;
use api::condition::{Condition, find, is_true};
use api::keys;

use crate::status::{PROGRESSING, SUCCEEDED, reason};

/// A bundle: a version of a package, and the image that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bundle {
    /// The package.
    pub package: String,
    /// The image.
    pub image: String,
    /// The name, the version and the release.
    pub metadata: BundleMetadata,
}

impl Bundle {
    /// Returns whether this is the same version of the same package.
    pub fn is_same_version(&self, other: &Self) -> bool {
        self.metadata == other.metadata
    }

    /// Returns the version with its release, as somebody writes it who approves it.
    pub fn full_version(&self) -> String {
        match &self.metadata.release {
            Some(release) if !release.is_empty() => format!("{}+{release}", self.metadata.version),
            _ => self.metadata.version.clone(),
        }
    }
}

/// A revision of an extension that is not archived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The name of its ClusterObjectSet.
    pub name: String,
    /// Its number.
    pub number: i64,
    /// The bundle that it holds.
    pub bundle: Bundle,
    /// What is known of it.
    pub conditions: Vec<Condition>,
    /// The version that it was made to get away from.
    pub rolled_back_from: Option<String>,
    /// Who had signed its bundle when it was made, or that nobody had to.
    pub signature: Option<String>,
}

impl Revision {
    /// Reads a ClusterObjectSet.
    pub fn of(object_set: &ClusterObjectSet) -> Self {
        let annotation = |key: &str| {
            let annotations = object_set.metadata.annotations.as_ref()?;
            annotations.get(key).cloned()
        };
        Self {
            name: object_set.name().to_owned(),
            number: object_set.spec.revision,
            bundle: Bundle {
                package: annotation(keys::PACKAGE_NAME).unwrap_or_default(),
                image: annotation(keys::BUNDLE_REFERENCE).unwrap_or_default(),
                metadata: BundleMetadata {
                    name: annotation(keys::BUNDLE_NAME).unwrap_or_default(),
                    version: annotation(keys::BUNDLE_VERSION).unwrap_or_default(),
                    release: annotation(keys::BUNDLE_RELEASE),
                },
            },
            conditions: object_set.status.conditions.clone(),
            rolled_back_from: annotation(keys::ROLLED_BACK_FROM),
            signature: annotation(keys::SIGNATURE),
        }
    }

    /// Returns whether it did not roll out in time.
    pub fn is_overdue(&self) -> bool {
        find(&self.conditions, PROGRESSING)
            .is_some_and(|condition| condition.reason == reason::PROGRESS_DEADLINE_EXCEEDED)
    }
}

/// Where an extension stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// The last revision that was rolled out completely.
    pub installed: Option<Revision>,
    /// The revisions that are being rolled out, the oldest first.
    pub rolling_out: Vec<Revision>,
}

impl Standing {
    /// Finds it out from the revisions of an extension, the oldest first.
    pub fn of(object_sets: &[Arc<ClusterObjectSet>]) -> Self {
        let mut standing = Self::default();
        for object_set in object_sets {
            if object_set.spec.lifecycle_state == LifecycleState::Archived {
                continue;
            }
            let revision = Revision::of(object_set);
            if is_true(&revision.conditions, SUCCEEDED) {
                standing.installed = Some(revision);
            } else {
                standing.rolling_out.push(revision);
            }
        }
        standing
    }

    /// Returns the revision that is on its way, or else the one that is there.
    pub fn newest(&self) -> Option<&Revision> {
        match (self.rolling_out.last(), &self.installed) {
            (Some(rolling_out), Some(installed)) if installed.number > rolling_out.number => Some(installed),
            (Some(rolling_out), _) => Some(rolling_out),
            (None, installed) => installed.as_ref(),
        }
    }

    /// Returns the revision that is being rolled out to take the place of what is installed.
    pub fn on_its_way(&self) -> Option<&Revision> {
        let newest = self.rolling_out.last()?;
        let is_newer = |installed: &Revision| newest.number > installed.number;
        self.installed.as_ref().is_none_or(is_newer).then_some(newest)
    }

    /// Returns the name of the bundle that is installed.
    pub fn installed_bundle(&self) -> Option<&str> {
        let installed = self.installed.as_ref()?;
        Some(installed.bundle.metadata.name.as_str())
    }
}
