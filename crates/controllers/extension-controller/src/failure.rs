//! Why something did not work out, in the words that go into a condition.

use std::fmt;
use std::sync::LazyLock;

use api::cluster_extension::BundleMetadata;
use api::condition::{ConditionStatus, Statement};
use gotemplate::format::quoted;
use regex::Regex;

use crate::status::{PROGRESSING, reason};

/// Something did not work out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What happened.
    pub message: String,
    /// Whether trying again may help.
    pub remedy: Remedy,
}

/// What helps against a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// To try again.
    Retry,
    /// Nothing but a change by somebody; the reason says of what.
    Change(&'static str),
}

impl Failure {
    /// Makes a failure that may pass by itself.
    pub fn passing(cause: impl fmt::Display) -> Self {
        Self {
            message: cause.to_string(),
            remedy: Remedy::Retry,
        }
    }

    /// Makes a failure that stays until somebody changes something.
    pub fn lasting(cause: impl fmt::Display) -> Self {
        Self {
            message: cause.to_string(),
            remedy: Remedy::Change(reason::BLOCKED),
        }
    }

    /// Makes a failure that stays until somebody changes how the extension is configured.
    pub fn misconfigured(cause: impl fmt::Display) -> Self {
        Self {
            message: cause.to_string(),
            remedy: Remedy::Change(reason::INVALID_CONFIGURATION),
        }
    }

    /// Says of which bundle this is said.
    pub fn of_bundle(self, bundle: &BundleMetadata) -> Self {
        let Self { message, remedy } = self;
        let (name, version) = (quoted(&bundle.name), quoted(&bundle.version));
        Self {
            message: format!("error for resolved bundle {name} with version {version}: {message}"),
            remedy,
        }
    }

    /// Returns whether trying again may help.
    pub fn may_pass(&self) -> bool {
        self.remedy == Remedy::Retry
    }

    /// Returns what the condition `Progressing` says of it.
    pub fn statement(&self) -> Statement {
        let message = without_addresses(&self.message);
        match self.remedy {
            Remedy::Retry => Statement::new(PROGRESSING, ConditionStatus::True, reason::RETRYING, message),
            Remedy::Change(reason) => Statement::new(PROGRESSING, ConditionStatus::False, reason, message),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

/// Takes the addresses of single connections out of an error, so that the same error twice reads the same.
pub fn without_addresses(text: &str) -> String {
    static CONNECTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let address = r"(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9a-fA-F:]+\])(?::[0-9]+)?";
        Regex::new(&format!("(?:read|write) (?:tcp|udp) {address}->{address}(?:: )?")).ok()
    });
    match CONNECTION.as_ref() {
        Some(connection) => connection.replace_all(text, "").into_owned(),
        None => text.to_owned(),
    }
}
