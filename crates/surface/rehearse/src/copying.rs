//! Copies objects from the live cluster to the stage, each once, and notes what it may not see.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use apply::object::{ObjectId, text};
use apply::refusal::{is_not_found, words};
use apply::served::{Kinds, Served, Unfound};
use futures_util::{StreamExt as _, stream};
use kube::api::{ApiResource, DynamicObject, GetParams, ListParams};
use kube::core::Request;
use kube::{Client, Resource as _};
use serde_json::{Value, json};
use stage::Stage;

use crate::copies::copied;
use crate::impossible::Impossible;

/// How many objects are read at once: the live cluster has others to serve.
const AT_ONCE: usize = 8;

/// How many objects a list is read at a time.
const PAGE: u32 = 500;

/// How long a definition may take to be served on the stage.
const SERVED_WITHIN: Duration = Duration::from_secs(10);

/// How often it is looked whether it is.
const SERVED_PAUSE: Duration = Duration::from_millis(5);

/// Returns the name of a definition as an object's.
pub(crate) fn definition_named(name: &str) -> ObjectId {
    ObjectId {
        api_version: "apiextensions.k8s.io/v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
        namespace: String::new(),
        name: name.to_owned(),
    }
}

/// Objects of a kind, as far as they were read.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub(crate) objects: Vec<Value>,
    /// Whether they may not be listed.
    pub(crate) is_forbidden: bool,
    /// How many more there are.
    pub(crate) left_out: usize,
}

/// The way from the live cluster to the stage.
pub(crate) struct Copier {
    live: Client,
    kinds: Kinds,
    stage: Stage,
    /// What was looked for, whether it was there or not.
    asked: HashSet<ObjectId>,
    /// The identities of what is on the stage.
    identities: BTreeSet<String>,
    copies: usize,
    /// What can't be seen, and what that means.
    blind_spots: BTreeSet<String>,
}

impl Copier {
    /// Copies through a client that only reads.
    pub(crate) fn new(live: Client, stage: Stage) -> Self {
        Self {
            kinds: Kinds::new(live.clone()),
            live,
            stage,
            asked: HashSet::new(),
            identities: BTreeSet::new(),
            copies: 0,
            blind_spots: BTreeSet::new(),
        }
    }

    /// How many objects were copied.
    pub(crate) fn count(&self) -> usize {
        self.copies
    }

    /// Notes what can't be seen.
    pub(crate) fn note(&mut self, blind_spot: String) {
        self.blind_spots.insert(blind_spot);
    }

    /// What can't be seen, in the order of the words.
    pub(crate) fn into_blind_spots(self) -> impl Iterator<Item = String> {
        self.blind_spots.into_iter()
    }

    /// Finds a kind of the live cluster; none where it doesn't have it.
    pub(crate) async fn live_kind(&self, id: &ObjectId) -> Result<Option<Served>, Impossible> {
        match self.kinds.find(id).await {
            Ok(served) => Ok(Some(served)),
            Err(Unfound::Unserved { .. }) => Ok(None),
            Err(Unfound::Unanswered(error)) => Err(Impossible::live("ask which kinds there are", &error)),
        }
    }

    /// Returns the name of the definition of a kind; none for kinds that the live cluster doesn't have, or has built in.
    pub(crate) async fn definition_of(&self, id: &ObjectId) -> Result<Option<String>, Impossible> {
        let served = self.live_kind(id).await?;
        let custom = served.filter(|served| served.resource.group.contains('.'));
        Ok(custom.map(|served| format!("{}.{}", served.resource.plural, served.resource.group)))
    }

    /// Brings the definition of a kind, if the stage doesn't have the kind; returns whether it has it now.
    pub(crate) async fn bring_kind(&mut self, id: &ObjectId) -> Result<bool, Impossible> {
        if self.has_kind(id) {
            return Ok(true);
        }
        let Some(name) = self.definition_of(id).await? else {
            return Ok(false);
        };
        Box::pin(self.bring([definition_named(&name)])).await?;
        let deadline = tokio::time::Instant::now() + SERVED_WITHIN;
        while !self.has_kind(id) {
            if tokio::time::Instant::now() > deadline {
                return Ok(false);
            }
            tokio::time::sleep(SERVED_PAUSE).await;
        }
        Ok(true)
    }

    fn has_kind(&self, id: &ObjectId) -> bool {
        let served = self.stage.api().resources.now();
        served.of_kind(&id.api_version, &id.kind).is_some()
    }

    /// Puts an object on the stage, in its namespace.
    pub(crate) async fn put(&mut self, object: Value) -> Result<(), Impossible> {
        let id = ObjectId::of(&object);
        self.bring_kind(&id).await?;
        if !id.namespace.is_empty() {
            let namespace = ObjectId {
                api_version: "v1".to_owned(),
                kind: "Namespace".to_owned(),
                namespace: String::new(),
                name: id.namespace.clone(),
            };
            Box::pin(self.bring_namespace(namespace)).await?;
        }
        self.asked.insert(id);
        self.store(object).await
    }

    async fn store(&mut self, object: Value) -> Result<(), Impossible> {
        let id = ObjectId::of(&object);
        let identity = text(&object, "/metadata/uid").to_owned();
        let copy = copied(object, &self.identities);
        self.stage
            .api()
            .restore(copy)
            .await
            .map_err(|refused| Impossible::Stage {
                doing: format!("copy {id}"),
                cause: refused.message,
            })?;
        self.identities.insert(identity);
        self.copies += 1;
        Ok(())
    }

    /// Brings a namespace; one that may not be seen is made up, since there must be one.
    async fn bring_namespace(&mut self, id: ObjectId) -> Result<(), Impossible> {
        if !self.asked.insert(id.clone()) {
            return Ok(());
        }
        let made_up = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": id.name}, "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        });
        let found = self.read(&id).await?.unwrap_or(made_up);
        self.store(found).await
    }

    /// Brings objects from the live cluster, as far as they are there.
    pub(crate) async fn bring(&mut self, ids: impl IntoIterator<Item = ObjectId>) -> Result<(), Impossible> {
        let new: Vec<ObjectId> = ids
            .into_iter()
            .filter(|id| self.asked.insert(id.clone()))
            .collect();
        let mut found = Vec::new();
        for some in new.chunks(AT_ONCE) {
            let reading: Vec<_> = some.iter().map(|id| self.look(id)).collect();
            found.extend(stream::iter(reading).buffered(AT_ONCE).collect::<Vec<_>>().await);
        }
        for seen in found {
            if let Some(object) = self.noted(seen)? {
                self.put(object).await?;
            }
        }
        Ok(())
    }

    /// Reads an object of the live cluster; what isn't there, or may not be seen, is none.
    pub(crate) async fn read(&mut self, id: &ObjectId) -> Result<Option<Value>, Impossible> {
        let seen = self.look(id).await;
        self.noted(seen)
    }

    fn noted(&mut self, seen: Result<Option<Value>, Unseen>) -> Result<Option<Value>, Impossible> {
        match seen {
            Ok(object) => Ok(object),
            Err(Unseen::Forbidden(told)) => {
                self.note(format!("{told}; what it holds is taken as absent"));
                Ok(None)
            }
            Err(Unseen::Unanswered { doing, error }) => Err(Impossible::live(&doing, &error)),
        }
    }

    async fn look(&self, id: &ObjectId) -> Result<Option<Value>, Unseen> {
        let served = match self.kinds.find(id).await {
            Ok(served) => served,
            Err(Unfound::Unserved { .. }) => return Ok(None),
            Err(Unfound::Unanswered(error)) => return Err(Unseen::of("ask which kinds there are", *error)),
        };
        let namespace = served.is_namespaced.then_some(id.namespace.as_str());
        let address = Request::new(DynamicObject::url_path(&served.resource, namespace));
        let request = address.get(&id.name, &GetParams::default());
        let request = request.map_err(|error| Unseen::of("ask", kube::Error::BuildRequest(error)))?;
        match self.live.request::<Value>(request).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) => Err(Unseen::of(&format!("read {id}"), error)),
        }
    }

    /// Lists objects of the live cluster, up to a number; what may not be listed is none, and noted.
    pub(crate) async fn list(
        &mut self,
        resource: &ApiResource,
        namespace: Option<&str>,
        selector: &str,
        most: usize,
    ) -> Result<Listed, Impossible> {
        let doing = format!("list {}", resource.plural);
        let mut listed = Listed::default();
        let mut parameters = ListParams::default().labels(selector);
        loop {
            let page = u32::try_from(most - listed.objects.len())
                .unwrap_or(PAGE)
                .min(PAGE);
            parameters = parameters.limit(page);
            let address = Request::new(DynamicObject::url_path(resource, namespace));
            let request = address
                .list(&parameters)
                .map_err(|error| Impossible::live(&doing, &kube::Error::BuildRequest(error)))?;
            let mut answer = match self.live.request::<Value>(request).await {
                Ok(answer) => answer,
                Err(error) if is_not_found(&error) => return Ok(listed),
                Err(error) => match Unseen::of(&doing, error) {
                    Unseen::Forbidden(told) => {
                        self.note(format!("{told}; none of them is part of the rehearsal"));
                        listed.is_forbidden = true;
                        return Ok(listed);
                    }
                    Unseen::Unanswered { doing, error } => return Err(Impossible::live(&doing, &error)),
                },
            };
            let items = answer["items"]
                .as_array_mut()
                .map(std::mem::take)
                .unwrap_or_default();
            listed.objects.extend(items.into_iter().map(|mut item| {
                // Lists leave out what all their items are.
                item["apiVersion"] = json!(resource.api_version);
                item["kind"] = json!(resource.kind);
                item
            }));
            let further = text(&answer, "/metadata/continue").to_owned();
            if further.is_empty() {
                return Ok(listed);
            }
            if listed.objects.len() >= most {
                let remaining = answer
                    .pointer("/metadata/remainingItemCount")
                    .and_then(Value::as_u64);
                listed.left_out = remaining.map_or(1, |count| usize::try_from(count).unwrap_or(usize::MAX));
                return Ok(listed);
            }
            parameters = parameters.continue_token(&further);
        }
    }
}

/// Why an object wasn't seen.
enum Unseen {
    /// The user has no right to see it.
    Forbidden(String),
    /// The server didn't answer.
    Unanswered { doing: String, error: kube::Error },
}

impl Unseen {
    fn of(doing: &str, error: kube::Error) -> Self {
        match &error {
            kube::Error::Api(status) if status.code == 403 => {
                Self::Forbidden(format!("cannot {doing}: {}", words(&error)))
            }
            _ => Self::Unanswered {
                doing: doing.to_owned(),
                error,
            },
        }
    }
}
