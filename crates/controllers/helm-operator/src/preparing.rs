//! From a resource to the release that it asks for: values, render, marks, manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use apply::object::ObjectId;
use apply::served::Served;
use chart::capabilities::Capabilities;
use chart::cosmetic::{self, Cosmetic};
use chart::engine::Operation;
use chart::host::Lookup;
use chart::release::Release;
use chart::values::Table;
use release::cluster::{Cluster, ServerError};
use release::lookup::ClusterLookup;
use release::prepared::Prepared;
use serde_json::Value;

use crate::blueprint::{Blueprint, RenderError, RenderRequest, Rendered};
use crate::decoration::{self, Scope};
use crate::keeping;
use crate::randomness::{self, Seed};
use crate::resource::CustomResource;
use crate::restarts;

/// A release that a resource asks for.
pub struct Wanted {
    /// What would be released.
    pub prepared: Prepared,
    /// Its objects, named as the server names them.
    pub objects: Vec<(ObjectId, Served)>,
    /// Whether the templates looked at the cluster.
    pub looked_at_cluster: bool,
    /// Which pods keep which labels as they were, in words, if any do.
    pub kept: Option<String>,
}

/// Why it can't be worked out; prints as upstream says it.
#[derive(Debug, thiserror::Error)]
pub enum PreparationError {
    /// The chart can't be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// What was rendered is not for this cluster.
    #[error(
        "error while running post render on files: postrenderer[0] (*client.ownerPostRenderer) failed: {0}"
    )]
    PostRender(String),
    /// The server doesn't have a kind.
    #[error(
        "error while running post render on files: postrenderer[0] (*client.ownerPostRenderer) failed: {fault}"
    )]
    Unserved {
        /// An object of that kind.
        id: ObjectId,
        /// What is said of it.
        fault: Box<ServerError>,
    },
    /// The server didn't answer.
    #[error(transparent)]
    Server(#[from] ServerError),
}

/// Prepares releases of one resource.
pub struct Preparation<'a> {
    /// The way to the cluster.
    pub cluster: &'a Cluster,
    /// The chart.
    pub blueprint: &'a Arc<Blueprint>,
    /// What charts may ask about the cluster.
    pub capabilities: &'a Arc<Capabilities>,
    /// The resource.
    pub resource: &'a CustomResource,
    /// Its values.
    pub values: &'a Arc<Table>,
    /// The revision that is there, whose random values and, where that is asked for, labels of pods stay.
    pub before: Option<&'a Before<'a>>,
    /// Takes down which objects the templates looked up, also where that ends in a failure.
    pub looked_up: &'a LookedUp,
}

/// The objects that templates looked up; those without a name stand for all of their kind.
pub type LookedUp = Arc<Mutex<BTreeSet<ObjectId>>>;

/// The revision that is there.
pub struct Before<'a> {
    /// Its record.
    pub release: &'a Release,
    /// The labels of its record.
    pub labels: &'a BTreeMap<String, String>,
    /// The last revision, which is another one where an action failed or was cut off: pods may run as it says.
    pub last: &'a Release,
}

impl Preparation<'_> {
    /// Works out what would be released as a revision.
    pub async fn revision(&self, operation: Operation, revision: i64) -> Result<Wanted, PreparationError> {
        let known = self
            .before
            .and_then(|before| Seed::from_label(before.labels.get(randomness::LABEL)?));
        let seed = known.clone().unwrap_or_else(Seed::draw);
        let mut rendered = self.render(operation, revision, seed.clone()).await?;
        if rendered.depends_on_chance && known.is_none() && self.before.is_some() {
            let other = self.render(operation, revision, Seed::draw()).await?;
            self.keep_random_values(&mut rendered, &other);
        }
        let objects = self.mark(&mut rendered.objects).await?;
        let mut manifest = manifest(&rendered.objects)?;
        let kept = self.keep_labels(&mut rendered.objects, &manifest);
        if kept.is_some() {
            manifest = self::manifest(&rendered.objects)?;
        }
        let mut labels = self
            .before
            .map(|before| before.labels.clone())
            .unwrap_or_default();
        labels.retain(|key, _| !chart::release::SYSTEM_LABELS.contains(&key.as_str()));
        if rendered.depends_on_chance && (known.is_some() || self.before.is_none()) {
            labels.insert(randomness::LABEL.to_owned(), seed.to_label());
        }
        let Rendered {
            installation,
            objects: values,
            looked_at_cluster,
            ..
        } = rendered;
        let mut release = Release::with_chart(
            &self.resource.id.name,
            &self.resource.id.namespace,
            revision,
            self.blueprint.recorded.of(&installation.chart),
            self.values,
        );
        release.manifest = manifest;
        release.hooks = installation.hooks;
        release.info.notes = installation.notes;
        let prepared = Prepared::with_objects(release, values).map_err(RenderError::from)?;
        Ok(Wanted {
            prepared: prepared.user_labels(labels),
            objects,
            looked_at_cluster,
            kept,
        })
    }

    async fn render(
        &self,
        operation: Operation,
        revision: i64,
        seed: Seed,
    ) -> Result<Rendered, PreparationError> {
        let request = RenderRequest {
            values: Arc::clone(self.values),
            name: self.resource.id.name.clone(),
            namespace: self.resource.id.namespace.clone(),
            operation,
            revision,
            seed,
        };
        let blueprint = Arc::clone(self.blueprint);
        let capabilities = Arc::clone(self.capabilities);
        let cluster = self.cluster.clone();
        let looked_up = Arc::clone(self.looked_up);
        let handle = tokio::runtime::Handle::current();
        let rendering = tokio::task::spawn_blocking(move || {
            let lookup: Rc<dyn Lookup> = Rc::new(NotedLookup {
                inner: ClusterLookup::new(&cluster, handle),
                noted: looked_up,
            });
            blueprint.render(&request, &capabilities, Some(lookup))
        });
        match rendering.await {
            Ok(rendered) => Ok(rendered?),
            Err(fault) => Err(RenderError::Stopped(fault.to_string()).into()),
        }
    }

    /// Puts the random values of the release that is there into a render of it.
    fn keep_random_values(&self, rendered: &mut Rendered, other: &Rendered) {
        let Some(before) = self.before else { return };
        let Ok(stored) = release::documents::read(&before.release.manifest) else {
            return;
        };
        let name = |object: &Value| {
            let id = ObjectId::of(object);
            (id.api_version, id.kind, id.name)
        };
        let stored: BTreeMap<_, _> = stored
            .iter()
            .map(|document| (name(&document.object), &document.object))
            .collect();
        for (object, other) in rendered.objects.iter_mut().zip(&other.objects) {
            if let Some(stored) = stored.get(&name(object)) {
                keeping::keep(object, other, stored);
            }
        }
    }

    /// Leaves pods as they are of which nothing changes but labels that name a version, if that is asked for; says which.
    /// `manifest` is what the objects would be released as otherwise.
    ///
    /// They are compared with the last revision, whatever became of it: an upgrade that failed or was cut off may have
    /// started pods anew, and one that was rolled back is not the last one.
    fn keep_labels(&self, objects: &mut [Value], manifest: &str) -> Option<String> {
        let last = self.before?.last;
        let wish = self.resource.wishes().cosmetic;
        // Where nothing differs, there is nothing to read.
        if wish.unwrap_or(self.blueprint.watch.cosmetic) == Cosmetic::Apply || last.manifest == manifest {
            return None;
        }
        let stored = release::documents::read(&last.manifest).ok()?;
        let stored = stored.iter().map(|document| document.object.as_ref());
        let restarts = cosmetic::needless_restarts(objects, stored, &self.resource.id.namespace);
        cosmetic::defer(objects, &restarts);
        cosmetic::kept_in_words(&restarts)
    }

    /// Marks the objects as those of the resource, and names them as the server does.
    async fn mark(&self, objects: &mut [Value]) -> Result<Vec<(ObjectId, Served)>, PreparationError> {
        let kind = &self.blueprint.watch.kind;
        let mut placed = Vec::with_capacity(objects.len());
        for object in objects.iter_mut() {
            let id = ObjectId::of(object);
            let served = match self.cluster.served(&id).await {
                Ok(served) => served,
                Err(fault) if fault.is_passing() => return Err(fault.into()),
                Err(fault @ ServerError::Unserved(_)) => {
                    return Err(PreparationError::Unserved {
                        id,
                        fault: Box::new(fault),
                    });
                }
                Err(fault) => return Err(PreparationError::PostRender(fault.to_string())),
            };
            let scope = if served.is_namespaced {
                Scope::Namespaced
            } else {
                Scope::Cluster
            };
            decoration::decorate(object, scope, self.resource, kind);
            placed.push((served.named(&ObjectId::of(object)), served));
        }
        let wishes = self.resource.wishes();
        if wishes
            .restart_on_configuration
            .unwrap_or(self.blueprint.watch.restart_on_configuration)
        {
            restarts::stamp(objects);
        }
        Ok(placed)
    }
}

/// A lookup that takes down what it was asked for.
struct NotedLookup {
    inner: ClusterLookup,
    noted: LookedUp,
}

impl Lookup for NotedLookup {
    fn lookup(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Value, String> {
        let id = ObjectId {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        noted.insert(id);
        drop(noted);
        self.inner.lookup(api_version, kind, namespace, name)
    }
}

/// Writes the objects as the real operator's manifest has them.
fn manifest(objects: &[Value]) -> Result<String, PreparationError> {
    let mut text = String::new();
    for object in objects {
        text.push_str("---\n");
        let yaml =
            goyaml::to_string(object).map_err(|fault| PreparationError::PostRender(fault.to_string()))?;
        text.push_str(&yaml);
    }
    Ok(text)
}
