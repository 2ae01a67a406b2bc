//! The question: the catalogs, operators and Subscriptions of a namespace.

use std::sync::Arc;

use serde_json::Value;

use super::entry::{CatalogKey, Entry};
use super::existing::Existing;
use super::snapshot::Snapshot;

/// A CatalogSource that the namespace may use: one of its own, or a global one.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// Which one.
    pub key: CatalogKey,
    /// `spec.priority`: of several that offer a dependency, the one with the highest is preferred.
    pub priority: i32,
    /// What it offers, or why that isn't known, such as
    /// `no registry client established for catalogsource <namespace>/<name>`.
    pub content: Result<Arc<Snapshot>, String>,
}

/// What the resolver looks at of a Subscription.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subscription {
    /// The name.
    pub name: String,
    /// `spec.name`: the package.
    pub package: String,
    /// `spec.channel`; empty for every channel, the default one first.
    pub channel: String,
    /// `spec.sourceNamespace` and `spec.source`.
    pub catalog: CatalogKey,
    /// `spec.startingCSV`: what to begin with; empty for the end of the channel.
    pub starting_csv: String,
    /// `status.installedCSV`.
    pub installed_csv: String,
    /// `status.currentCSV`.
    pub current_csv: String,
}

impl Subscription {
    /// Returns what the resolver looks at of a Subscription; what isn't there is empty.
    pub fn from_object(object: &Value) -> Self {
        let text = |pointer: &str| {
            let value = object.pointer(pointer).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        Self {
            name: text("/metadata/name"),
            package: text("/spec/name"),
            channel: text("/spec/channel"),
            catalog: CatalogKey::new(text("/spec/sourceNamespace"), text("/spec/source")),
            starting_csv: text("/spec/startingCSV"),
            installed_csv: text("/status/installedCSV"),
            current_csv: text("/status/currentCSV"),
        }
    }

    /// Returns whether an entry is one that this Subscription asks for, whatever its version.
    pub fn asks_for(&self, entry: &Entry) -> bool {
        self.package == entry.package
            && (self.channel.is_empty() || self.channel == entry.channel)
            && (self.catalog.is_empty() || self.catalog == entry.catalog)
    }
}

/// How far a failure reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Isolation {
    /// A failure stops the Subscriptions that it is about, and no other.
    #[default]
    Subscription,
    /// A failure stops every Subscription of the namespace, as upstream has it.
    Namespace,
}

/// A rule of the cluster about what may be installed: it returns why an entry may not.
pub type Forbid<'a> = &'a dyn Fn(&Entry) -> Option<String>;

/// What is asked: which bundles to install next for the Subscriptions of a namespace.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The namespace.
    pub namespace: &'a str,
    /// The catalogs that it may use, in any order: its own, and the global ones unless its OperatorGroup excludes them.
    pub catalogs: &'a [Catalog],
    /// The operators that are installed in it.
    pub existing: &'a Existing,
    /// Its Subscriptions, in any order.
    pub subscriptions: &'a [Subscription],
    /// How far a failure reaches.
    pub isolation: Isolation,
    /// What the cluster doesn't allow, where it has such a rule. It doesn't count for what is installed.
    pub forbid: Option<Forbid<'a>>,
}

impl std::fmt::Debug for Request<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Request")
            .field("namespace", &self.namespace)
            .field("catalogs", &self.catalogs.len())
            .field("existing", &self.existing.versions.len())
            .field("subscriptions", &self.subscriptions)
            .field("isolation", &self.isolation)
            .finish_non_exhaustive()
    }
}
