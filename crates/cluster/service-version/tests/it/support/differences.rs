//! What became of a cluster otherwise than a recording says.

use apply::object::text;
use classic::Kind;
use serde_json::{Value, json};

use super::Cluster;

/// Each as one text, with both sides.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    pub(crate) found: Vec<String>,
}

impl Differences {
    pub(crate) fn compare(&mut self, what: &str, ours: Value, theirs: &Value) {
        if ours != *theirs {
            self.found
                .push(format!("{what}\n   ours: {ours}\n theirs: {theirs}"));
        }
    }

    /// Compares what was made, deleted and changed, and the recorded objects without what differs from run to run.
    pub(crate) fn in_cluster(
        &mut self,
        cluster: &Cluster,
        expected: &Value,
        comparable: impl Fn(&Value) -> Value,
    ) {
        let (created, deleted, changed) = cluster.changes();
        self.compare("created", json!(created), &expected["created"]);
        self.compare("deleted", json!(deleted), &expected["deleted"]);
        self.compare("changed", json!(changed), &expected["changed"]);
        for theirs in expected["objects"].as_array().into_iter().flatten() {
            let kind = Kind::named(text(theirs, "/kind")).expect("a kind");
            let found = cluster.world.get(
                kind,
                text(theirs, "/metadata/namespace"),
                text(theirs, "/metadata/name"),
            );
            let ours = found.map(|found| comparable(found)).unwrap_or_default();
            self.compare("object", ours, &comparable(theirs));
        }
    }
}
