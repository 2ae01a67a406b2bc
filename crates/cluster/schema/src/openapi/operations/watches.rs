//! The old way to watch, by paths of its own.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::components::reference;
use super::super::parameters;
use super::{Describing, META, Operation, STREAM_FORMS, content};

impl Describing<'_> {
    /// Returns the paths of the old way to watch.
    pub(super) fn watches(&self, root: &str) -> BTreeMap<String, Value> {
        let plural = &self.resource.plural;
        let kind = &self.resource.kind;
        let watch = |action: &'static str, told: String, id: String| Operation {
            method: "get",
            description: told,
            id,
            parameters: parameters::LIST.to_vec(),
            body: None,
            answers: vec![("200", "OK")],
            content: content(&STREAM_FORMS, &reference(&format!("{META}WatchEvent"))),
            action,
            kind: self.own_kind(),
        };
        let many = format!(
            "watch individual changes to a list of {kind}. deprecated: use the 'watch' parameter with a list operation \
             instead."
        );
        let single = format!(
            "watch changes to an object of kind {kind}. deprecated: use the 'watch' parameter with a list operation \
             instead, filtered to a single item with the 'fieldSelector' parameter."
        );
        let mut paths = BTreeMap::new();
        let collection = if self.resource.namespaced {
            format!("{root}/watch/namespaces/{{namespace}}/{plural}")
        } else {
            format!("{root}/watch/{plural}")
        };
        if self.resource.namespaced {
            let everywhere = watch(
                "watchlist",
                many.clone(),
                self.id("watch", "", "ListForAllNamespaces"),
            );
            paths.insert(
                format!("{root}/watch/{plural}"),
                self.cluster_path_item(vec![everywhere]),
            );
        }
        let list = watch("watchlist", many, self.id("watch", self.scope(), "List"));
        paths.insert(collection.clone(), self.path_item(vec![list], false));
        if self.can("get") {
            let one = watch("watch", single, self.id("watch", self.scope(), ""));
            paths.insert(format!("{collection}/{{name}}"), self.path_item(vec![one], true));
        }
        paths
    }
}
