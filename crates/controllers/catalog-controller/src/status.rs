//! What is said of a catalog in its status, in upstream's words.

use std::sync::LazyLock;

use api::cluster_catalog::{CatalogUrls, ClusterCatalogStatus, ResolvedImage, ResolvedSource};
use api::condition::{self, ConditionStatus, SIGNATURE_VERIFIED, Statement};
use image::policy::{Acceptance, PolicyError};
use jiff::Timestamp;
use regex::Regex;

/// The aspect: whether the content can be asked for.
pub const SERVING: &str = "Serving";
/// The aspect: whether the catalog is on the way to what is wanted.
pub const PROGRESSING: &str = "Progressing";

const UNAVAILABLE: &str = "Catalog availability mode is set to Unavailable";

/// Addresses of one connection, which differ with every attempt.
static ADDRESSES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let address = r"(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3}|\[[0-9a-fA-F:]+\])(?::\d+)?";
    Regex::new(&format!("(?:read|write) (?:tcp|udp) {address}->{address}(?:: )?")).ok()
});

/// The content that a catalog is served from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The image, by digest.
    pub reference: String,
    /// When it was unpacked.
    pub unpacked: Timestamp,
}

/// A text without what differs from one attempt to the next, so that an attempt that fails like the one before writes
/// nothing.
pub fn stable_text(text: &str) -> String {
    match &*ADDRESSES {
        Some(addresses) => addresses.replace_all(text, "").into_owned(),
        None => text.to_owned(),
    }
}

/// When and of which generation something is said.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The generation of the catalog.
    pub generation: i64,
    /// The time.
    pub now: Timestamp,
}

impl Moment {
    fn say(self, status: &mut ClusterCatalogStatus, statement: Statement) {
        condition::set(&mut status.conditions, statement, self.generation, self.now);
    }

    /// The content is served.
    pub fn serving(self, status: &mut ClusterCatalogStatus, content: &Content, base: String) {
        status.resolved_source = Some(ResolvedSource {
            kind: "Image".to_owned(),
            image: ResolvedImage {
                reference: content.reference.clone(),
            },
        });
        status.urls = Some(CatalogUrls { base });
        let seconds = Timestamp::from_second(content.unpacked.as_second());
        status.last_unpacked = Some(seconds.unwrap_or(content.unpacked));
        self.say(
            status,
            Statement::new(
                SERVING,
                ConditionStatus::True,
                "Available",
                "Serving desired content from resolved source",
            ),
        );
    }

    /// The trust policy accepts the content that is served. Where it demands nothing, the status is as upstream's.
    pub fn accepted(self, status: &mut ClusterCatalogStatus, acceptance: &Acceptance) {
        if acceptance.is_signed() {
            self.say(status, Statement::of_signature(acceptance.to_string()));
        } else {
            status
                .conditions
                .retain(|condition| condition.kind != SIGNATURE_VERIFIED);
        }
    }

    /// The trust policy refuses what is wanted, and nothing is served.
    pub fn rejected(self, status: &mut ClusterCatalogStatus, refusal: &PolicyError) {
        let statement = Statement::new(
            SIGNATURE_VERIFIED,
            ConditionStatus::False,
            "Rejected",
            refusal.to_string(),
        );
        self.say(status, statement);
    }

    /// Everything is as wanted.
    pub fn succeeded(self, status: &mut ClusterCatalogStatus) {
        self.say(
            status,
            Statement::new(
                PROGRESSING,
                ConditionStatus::True,
                "Succeeded",
                "Successfully unpacked and stored content from resolved source",
            ),
        );
    }

    /// Something failed, and is tried again unless that can't help.
    pub fn failed(self, status: &mut ClusterCatalogStatus, message: &str, is_terminal: bool) {
        let (holds, reason) = if is_terminal {
            (ConditionStatus::False, "Blocked")
        } else {
            (ConditionStatus::True, "Retrying")
        };
        self.say(
            status,
            Statement::new(PROGRESSING, holds, reason, stable_text(message)),
        );
    }

    /// Nothing is served any more.
    pub fn not_serving(self, status: &mut ClusterCatalogStatus) {
        status.resolved_source = None;
        status.urls = None;
        status.last_unpacked = None;
        // There is nothing left that could be signed.
        status
            .conditions
            .retain(|condition| condition.kind != SIGNATURE_VERIFIED);
        self.say(
            status,
            Statement::new(SERVING, ConditionStatus::False, "Unavailable", ""),
        );
    }

    /// The user wants nothing to be served.
    pub fn made_unavailable(self, status: &mut ClusterCatalogStatus) {
        self.say(
            status,
            Statement::new(PROGRESSING, ConditionStatus::True, "Succeeded", UNAVAILABLE),
        );
        self.say(
            status,
            Statement::new(
                SERVING,
                ConditionStatus::False,
                "UserSpecifiedUnavailable",
                UNAVAILABLE,
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_a_connection_are_left_out() {
        for (text, expected) in [
            ("some random error", "some random error"),
            (
                "dial tcp: lookup registry.svc on 10.96.0.10:53: read udp 10.244.0.8:46753->10.96.0.10:53: i/o timeout",
                "dial tcp: lookup registry.svc on 10.96.0.10:53: i/o timeout",
            ),
            (
                "dial tcp 10.0.0.1:52341->192.168.1.100:443: connect: connection refused",
                "dial tcp 10.0.0.1:52341->192.168.1.100:443: connect: connection refused",
            ),
            (
                "read tcp 10.0.0.1:52341->192.168.1.100:443: connection reset by peer",
                "connection reset by peer",
            ),
            (
                "write tcp 10.0.0.1:52341->192.168.1.100:443: broken pipe",
                "broken pipe",
            ),
            ("read udp [::1]:52341->[fd00::1]:53: i/o timeout", "i/o timeout"),
        ] {
            assert_eq!(stable_text(text), expected);
        }
    }
}
