//! The status of an extension, in upstream's words.

use api::cluster_extension::{ClusterExtensionStatus, InstallStatus, RevisionStatus};
use api::condition::{self, Condition, ConditionStatus, SIGNATURE_VERIFIED, Statement, find};
use catalog::objects::Deprecation;
use image::policy::Acceptance;
use jiff::Timestamp;

use crate::failure::Failure;
use crate::standing::{Revision, Standing};

/// Whether a bundle is installed.
pub const INSTALLED: &str = "Installed";
/// Whether the extension is on its way to what is wanted.
pub const PROGRESSING: &str = "Progressing";
/// Whether what is installed works.
pub const AVAILABLE: &str = "Available";
/// Whether a revision was rolled out completely once.
pub const SUCCEEDED: &str = "Succeeded";
/// Whether anything of what is used should not be used any more.
pub const DEPRECATED: &str = "Deprecated";
/// Whether the package should not be used any more.
pub const PACKAGE_DEPRECATED: &str = "PackageDeprecated";
/// Whether a channel should not be used any more.
pub const CHANNEL_DEPRECATED: &str = "ChannelDeprecated";
/// Whether the installed bundle should not be used any more.
pub const BUNDLE_DEPRECATED: &str = "BundleDeprecated";

/// The reasons that conditions have.
pub mod reason {
    /// It worked.
    pub const SUCCEEDED: &str = "Succeeded";
    /// It did not work.
    pub const FAILED: &str = "Failed";
    /// There is nothing yet.
    pub const ABSENT: &str = "Absent";
    /// It is under way.
    pub const ROLLING_OUT: &str = "RollingOut";
    /// It did not work and is tried again.
    pub const RETRYING: &str = "Retrying";
    /// It can't work before somebody changes something.
    pub const BLOCKED: &str = "Blocked";
    /// It can't work with this configuration.
    pub const INVALID_CONFIGURATION: &str = "InvalidConfiguration";
    /// It took too long.
    pub const PROGRESS_DEADLINE_EXCEEDED: &str = "ProgressDeadlineExceeded";
    /// It should not be used any more.
    pub const DEPRECATED: &str = "Deprecated";
    /// Nothing is said against it.
    pub const NOT_DEPRECATED: &str = "NotDeprecated";
    /// Nobody can be asked.
    pub const DEPRECATION_STATUS_UNKNOWN: &str = "DeprecationStatusUnknown";
}

/// A status that is being written.
#[derive(Debug, Clone)]
pub struct StatusWriter {
    status: ClusterExtensionStatus,
    generation: i64,
    now: Timestamp,
}

impl StatusWriter {
    /// Goes on from what the status was.
    pub fn new(status: ClusterExtensionStatus, generation: i64, now: Timestamp) -> Self {
        Self {
            status,
            generation,
            now,
        }
    }

    /// Returns what was written.
    pub fn finish(self) -> ClusterExtensionStatus {
        self.status
    }

    /// Says something of an aspect.
    pub fn say(&mut self, statement: Statement) {
        condition::set(&mut self.status.conditions, statement, self.generation, self.now);
    }

    fn tell(
        &mut self,
        kind: &'static str,
        status: ConditionStatus,
        reason: &str,
        message: impl Into<String>,
    ) {
        self.say(Statement::new(kind, status, reason, message));
    }

    /// Says what a revision says of itself, with the time since when.
    fn repeat(&mut self, kind: &'static str, said: &Condition) {
        let statement = Statement::new(kind, said.status, said.reason.clone(), said.message.clone());
        let since = said.last_transition_time;
        condition::set(&mut self.status.conditions, statement, self.generation, since);
    }

    /// Says that something is tried in vain.
    pub fn failed(&mut self, failure: &Failure) {
        self.say(failure.statement());
    }

    /// Says that the revisions could not be found.
    pub fn revisions_unknown(&mut self, cause: &str) {
        self.status.install = None;
        self.tell(INSTALLED, ConditionStatus::Unknown, reason::FAILED, cause);
        self.failed(&Failure::passing("retrying to get installed bundle"));
    }

    /// Says that the extension itself is not as it must be.
    pub fn invalid(&mut self, causes: &[String]) -> Failure {
        let causes = causes.join("\n");
        let failure = Failure::passing(format!(
            "operation cannot proceed due to the following validation error(s): {causes}"
        ));
        self.tell(
            INSTALLED,
            ConditionStatus::Unknown,
            reason::FAILED,
            failure.message.clone(),
        );
        self.failed(&failure);
        failure
    }

    /// Says who signed what is installed, as far as it was noted. Where nobody had to, the status is as upstream's.
    fn signature(&mut self, installed: Option<&Revision>) {
        let noted = installed.and_then(|revision| revision.signature.as_deref());
        match noted.filter(|words| Acceptance::tells_of_signature(words)) {
            Some(words) => self.say(Statement::of_signature(words)),
            None => self
                .status
                .conditions
                .retain(|condition| condition.kind != SIGNATURE_VERIFIED),
        }
    }

    /// Says what is installed.
    pub fn installed(&mut self, standing: &Standing) {
        self.signature(standing.installed.as_ref());
        let Some(installed) = &standing.installed else {
            self.status.install = None;
            let reason = absence(&standing.rolling_out);
            self.tell(INSTALLED, ConditionStatus::False, reason, "No bundle installed");
            return;
        };
        self.status.install = Some(InstallStatus {
            bundle: installed.bundle.metadata.clone(),
        });
        let message = format!("Installed bundle {} successfully", installed.bundle.image);
        self.tell(INSTALLED, ConditionStatus::True, reason::SUCCEEDED, message);
    }

    /// Says how far the revisions are.
    pub fn progress(&mut self, standing: &Standing) {
        let mut active = Vec::new();
        if let Some(installed) = &standing.installed {
            if let Some(available) = find(&installed.conditions, AVAILABLE) {
                self.repeat(AVAILABLE, available);
            }
            match find(&installed.conditions, PROGRESSING) {
                Some(progressing) if progressing.reason != reason::SUCCEEDED => {
                    self.repeat(PROGRESSING, progressing);
                }
                _ => self.tell(
                    PROGRESSING,
                    ConditionStatus::True,
                    reason::SUCCEEDED,
                    "Desired state reached",
                ),
            }
            active.push(RevisionStatus {
                name: installed.name.clone(),
                conditions: Vec::new(),
            });
        }
        for revision in &standing.rolling_out {
            active.push(self.revision_status(revision));
        }
        if let Some(newest) = standing.rolling_out.last() {
            match find(&newest.conditions, PROGRESSING) {
                Some(progressing) => self.repeat(PROGRESSING, progressing),
                None => self.tell(
                    PROGRESSING,
                    ConditionStatus::True,
                    reason::ROLLING_OUT,
                    format!("Revision {} is rolling out.", newest.bundle.metadata.version),
                ),
            }
        }
        self.status.active_revisions = active;
    }

    fn revision_status(&self, revision: &Revision) -> RevisionStatus {
        let said = [AVAILABLE, PROGRESSING];
        let said = said
            .into_iter()
            .filter_map(|kind| find(&revision.conditions, kind));
        let conditions = said.map(|condition| Condition {
            observed_generation: self.generation,
            ..condition.clone()
        });
        RevisionStatus {
            name: revision.name.clone(),
            conditions: conditions.collect(),
        }
    }

    /// Says what of the package should not be used any more; none where no catalog could be asked.
    pub fn deprecations(
        &mut self,
        channels: &[String],
        installed: Option<&str>,
        deprecations: Option<&[Deprecation]>,
    ) {
        let Some(entries) = deprecations else {
            self.deprecations_unknown(installed.is_some());
            return;
        };
        let of_package = messages(entries, "olm.package", |_| true);
        let of_channels = messages(entries, "olm.channel", |name| {
            channels.is_empty() || channels.iter().any(|channel| channel == name)
        });
        let of_bundle = messages(entries, "olm.bundle", |name| installed == Some(name));
        let all = [of_package.as_slice(), &of_channels, &of_bundle].concat();
        self.deprecation(DEPRECATED, &all, "not deprecated");
        self.deprecation(PACKAGE_DEPRECATED, &of_package, "package not deprecated");
        self.deprecation(CHANNEL_DEPRECATED, &of_channels, "channel not deprecated");
        if installed.is_some() {
            self.deprecation(BUNDLE_DEPRECATED, &of_bundle, "bundle not deprecated");
        } else {
            self.no_bundle_to_deprecate();
        }
    }

    fn deprecation(&mut self, kind: &'static str, messages: &[&str], otherwise: &str) {
        if messages.is_empty() {
            self.tell(kind, ConditionStatus::False, reason::NOT_DEPRECATED, otherwise);
        } else {
            self.tell(
                kind,
                ConditionStatus::True,
                reason::DEPRECATED,
                messages.join("\n"),
            );
        }
    }

    fn deprecations_unknown(&mut self, is_installed: bool) {
        let mut kinds = vec![DEPRECATED, PACKAGE_DEPRECATED, CHANNEL_DEPRECATED];
        if is_installed {
            kinds.push(BUNDLE_DEPRECATED);
        } else {
            self.no_bundle_to_deprecate();
        }
        for kind in kinds {
            self.tell(
                kind,
                ConditionStatus::Unknown,
                reason::DEPRECATION_STATUS_UNKNOWN,
                "deprecation status unknown: catalog data unavailable",
            );
        }
    }

    fn no_bundle_to_deprecate(&mut self) {
        self.tell(
            BUNDLE_DEPRECATED,
            ConditionStatus::Unknown,
            reason::ABSENT,
            "no bundle installed yet",
        );
    }
}

/// Returns what is said of the entries of a schema; what says nothing does not count, as upstream has it.
fn messages<'a>(entries: &'a [Deprecation], schema: &str, counts: impl Fn(&str) -> bool) -> Vec<&'a str> {
    let entries = entries
        .iter()
        .filter(|entry| entry.reference.schema == schema && counts(&entry.reference.name));
    let messages = entries.map(|entry| entry.message.as_str());
    messages.filter(|message| !message.is_empty()).collect()
}

/// Returns why nothing is installed: it failed, or it just isn't there yet.
fn absence(rolling_out: &[Revision]) -> &'static str {
    let Some(newest) = rolling_out.last() else {
        return reason::FAILED;
    };
    match find(&newest.conditions, PROGRESSING) {
        Some(progressing) if progressing.reason == reason::RETRYING => reason::FAILED,
        _ => reason::ABSENT,
    }
}
