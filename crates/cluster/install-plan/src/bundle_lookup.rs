//! Bundle images that a plan needs: what is looked up, and how far it came.

use std::sync::Arc;

use jiff::Timestamp;
use resolve::classic::entry::CatalogKey;
use serde_json::{Value, json};

use crate::conditions::condition;
use crate::selection::Content;

/// The condition of a lookup whose steps aren't in the plan yet.
pub const NOT_PERSISTED: &str = "BundleLookupNotPersisted";

/// The condition of a lookup that isn't finished.
pub const PENDING: &str = "BundleLookupPending";

/// The condition of a lookup that failed.
pub const FAILED: &str = "BundleLookupFailed";

/// Why a lookup failed whose image is here, but is no bundle.
pub const NO_BUNDLE: &str = "InvalidBundle";

/// A bundle image that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleLookup {
    /// The image.
    pub path: String,
    /// The ClusterServiceVersion of the bundle.
    pub identifier: String,
    /// The installed ClusterServiceVersion that it takes the place of; empty for none.
    pub replaces: String,
    /// The catalog that names the image.
    pub source: CatalogKey,
    /// What the bundle says of itself, as an annotation.
    pub properties: String,
}

impl BundleLookup {
    /// Returns the lookup as upstream writes it before anything was pulled.
    pub fn not_started(&self) -> Value {
        let conditions = json!([
            condition(
                NOT_PERSISTED,
                "True",
                "BundleNotUnpacked",
                "bundle contents have not yet been persisted to installplan status"
            ),
            condition(PENDING, "True", "JobNotStarted", "unpack job not yet started"),
        ]);
        let mut lookup = self.finished();
        lookup["conditions"] = conditions;
        lookup
    }

    /// Returns the lookup as a plan's status holds it, once its steps are in the plan.
    pub fn finished(&self) -> Value {
        let mut lookup = json!({
            "path": self.path,
            "identifier": self.identifier,
            "replaces": self.replaces,
            "catalogSourceRef": {"namespace": self.source.namespace, "name": self.source.name},
        });
        if !self.properties.is_empty() {
            lookup["properties"] = Value::from(self.properties.as_str());
        }
        lookup
    }
}

/// What is known of a bundle image.
#[derive(Debug, Clone, PartialEq)]
pub enum Unpacked {
    /// It is being pulled, or will be.
    Pending {
        /// Why it takes long; empty where that isn't known.
        message: String,
        /// Since when.
        since: Timestamp,
    },
    /// It can't be pulled or read.
    Failed {
        /// A word for programs, such as `ErrImagePull`.
        reason: String,
        /// A sentence for people.
        message: String,
        /// When that was found out.
        at: Timestamp,
    },
    /// It is here.
    Ready {
        /// The image by digest, so that a step means the same bytes later.
        image: String,
        /// Its manifests.
        content: Arc<Content>,
    },
}
