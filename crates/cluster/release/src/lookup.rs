//! The template function `lookup`, asked of a cluster.

use std::cell::Cell;
use std::sync::Arc;

use apply::object::ObjectId;
use chart::host::Lookup;
use gotemplate::format::quoted;
use kube::api::ListParams;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;

use crate::cluster::{Cluster, Placed, ServerError};

/// The most questions of one render: charts look up a handful of Secrets, and a loop must not burden the server.
const MOST_QUESTIONS: usize = 1000;

/// How many objects a list is read at a time.
const PAGE: u32 = 500;

/// The most objects of one list: templates hold all of it in memory.
const MOST_OBJECTS: usize = 20_000;

/// Answers `lookup` from a cluster, for one render.
///
/// Templates can't wait, so each question holds up the thread: a render with lookups belongs on a thread that may be held
/// up, never on one of the runtime's own.
pub struct ClusterLookup {
    cluster: Cluster,
    runtime: Handle,
    questions: Cell<usize>,
}

impl ClusterLookup {
    /// Asks a cluster through a runtime.
    pub fn new(cluster: &Cluster, runtime: Handle) -> Self {
        Self {
            cluster: cluster.clone(),
            runtime,
            questions: Cell::new(0),
        }
    }

    /// Tells how often the cluster was asked.
    pub fn questions(&self) -> usize {
        self.questions.get()
    }

    async fn ask(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Value, String> {
        let id = ObjectId {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        let nothing = || Value::Object(Map::new());
        let served = match self.cluster.served(&id).await {
            Ok(served) => served,
            Err(ServerError::Unserved(_)) => return self.unserved(&id).await,
            Err(error) => return Err(unanswered(&id, &error.to_string())),
        };
        let placed = Placed {
            id: served.named(&id),
            is_namespaced: served.is_namespaced && !namespace.is_empty(),
            resource: served.resource,
            object: Arc::new(Value::Null),
        };
        if name.is_empty() {
            return self.list(&placed).await;
        }
        if served.is_namespaced && namespace.is_empty() {
            // Helm asks for it outside of all namespaces, where there is none.
            return Ok(nothing());
        }
        match self.cluster.get(&placed).await {
            Ok(found) => Ok(found.unwrap_or_else(nothing)),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn list(&self, placed: &Placed) -> Result<Value, String> {
        let objects = placed.api(self.cluster.client());
        let mut items: Vec<Value> = Vec::new();
        let mut parameters = ListParams::default().limit(PAGE);
        loop {
            let page = match objects.list(&parameters).await {
                Ok(page) => page,
                Err(error) if apply::refusal::is_not_found(&error) => return Ok(Value::Object(Map::new())),
                Err(error) => return Err(apply::refusal::words(&error)),
            };
            for mut item in page.items {
                // Lists leave out what all their items are.
                item.types.get_or_insert_with(|| kube::core::TypeMeta {
                    api_version: placed.id.api_version.clone(),
                    kind: placed.id.kind.clone(),
                });
                items.push(serde_json::to_value(item).unwrap_or_default());
            }
            if items.len() > MOST_OBJECTS {
                return Err(format!(
                    "lookup of {} {} found more than {MOST_OBJECTS} objects; look up one by its name",
                    placed.id.api_version, placed.id.kind
                ));
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => parameters = parameters.continue_token(&token),
                None => {
                    return Ok(json!({
                        "apiVersion": placed.id.api_version,
                        "kind": format!("{}List", placed.id.kind),
                        "metadata": {"resourceVersion": page.metadata.resource_version.unwrap_or_default()},
                        "items": items,
                    }));
                }
            }
        }
    }

    /// A version that the server doesn't have is an error; a kind that the version doesn't have is nothing found.
    async fn unserved(&self, id: &ObjectId) -> Result<Value, String> {
        let client = self.cluster.client();
        let listed = if id.group().is_empty() {
            client.list_core_api_resources(id.version()).await
        } else {
            client.list_api_group_resources(&id.api_version).await
        };
        match listed {
            Ok(_) => Ok(Value::Object(Map::new())),
            Err(error) => Err(unanswered(id, &apply::refusal::words(&error))),
        }
    }
}

/// Says in Helm's words that the server doesn't tell what a kind is.
fn unanswered(id: &ObjectId, cause: &str) -> String {
    format!(
        "unable to get apiresource from unstructured: {}/{}, Kind={}: {cause}",
        id.group(),
        id.version(),
        id.kind
    )
}

impl Lookup for ClusterLookup {
    fn lookup(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Value, String> {
        let asked = self.questions.get() + 1;
        self.questions.set(asked);
        if asked > MOST_QUESTIONS {
            return Err(format!(
                "the chart looks up more than {MOST_QUESTIONS} times; the last one was {} {}",
                quoted(kind),
                quoted(name)
            ));
        }
        self.runtime
            .block_on(self.ask(api_version, kind, namespace, name))
    }
}
