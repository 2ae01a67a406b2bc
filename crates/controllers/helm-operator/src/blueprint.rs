//! The chart of a watch: loaded and parsed once, rendered for each resource.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::rc::Rc;
use std::sync::Arc;

use chart::Chart;
use chart::capabilities::Capabilities;
use chart::engine::{Engine, Operation, ReleaseContext};
use chart::host::{Host, Lookup, NoCluster};
use chart::installation::{self, Installation, InstallationError, InstallationRequest};
use chart::release::RecordedCharts;
use chart::schema::SchemaViolation;
use chart::values::Table;
use chart::warning::Warning;
use kube::core::{Selector, SelectorExt as _};
use serde_json::Value;

use crate::packed::Packed;
use crate::randomness::Seed;
use crate::resource::CustomResource;
use crate::values::{self, ValuesError};
use crate::watches::{DryRun, Watch, WatchesError};

/// A watch with its chart.
pub struct Blueprint {
    /// What `watches.yaml` says.
    pub watch: Watch,
    /// Which resources are picked.
    pub selection: Selector,
    /// The chart, as it was loaded.
    pub chart: Arc<Chart>,
    /// The forms of the chart that records keep, made once.
    pub recorded: RecordedCharts,
    /// Tells the chart, and what the watch adds to it, from others.
    pub content: u64,
    engine: Engine,
}

/// What a chart is to be rendered as.
#[derive(Debug, Clone)]
pub struct RenderRequest {
    /// The values, from the resource.
    pub values: Arc<Table>,
    /// The name of the release.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Whether it is new or follows another revision.
    pub operation: Operation,
    /// The number of the revision.
    pub revision: i64,
    /// Where random values come from.
    pub seed: Seed,
}

/// What a chart was rendered to, before it is known what the cluster makes of it.
pub struct Rendered {
    /// Objects, hooks, notes.
    pub installation: Installation,
    /// The objects, in the order in which they are created.
    pub objects: Vec<Value>,
    /// Whether a render with another seed would differ.
    pub depends_on_chance: bool,
    /// Whether the templates looked at the cluster.
    pub looked_at_cluster: bool,
}

/// Why a chart could not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The chart's schema doesn't allow the values.
    #[error("{0}")]
    Values(SchemaViolation),
    /// Templates or manifests are at fault.
    #[error("{0}")]
    Chart(String),
    /// A document is no object.
    #[error("{0}")]
    Document(#[from] release::documents::DocumentError),
    /// Rendering ended early.
    #[error("rendering stopped: {0}")]
    Stopped(String),
}

impl From<InstallationError> for RenderError {
    fn from(error: InstallationError) -> Self {
        match error {
            InstallationError::ReleaseName(error) => {
                Self::Chart(format!("releaseContent: Release name is invalid: {error}"))
            }
            InstallationError::Schema(violation) => Self::Values(violation),
            error => Self::Chart(error.to_string()),
        }
    }
}

impl Blueprint {
    /// Loads the chart of a watch.
    pub fn load(watch: Watch) -> Result<Self, WatchesError> {
        let faulty = |cause: String| WatchesError::Chart {
            path: watch.chart.display().to_string(),
            cause,
        };
        let chart = chart::loader::load(&watch.chart, &mut |warning| log(&warning))
            .map_err(|error| faulty(error.to_string()))?;
        chart::dependencies::check(&chart).map_err(|error| faulty(error.to_string()))?;
        Ok(Self {
            selection: watch.selection()?,
            content: content(&watch, &chart),
            chart,
            recorded: RecordedCharts::default(),
            engine: Engine::new().with_schema_dialect(chart::schema::Dialect::Helm4),
            watch,
        })
    }

    /// Returns the version of the chart, by which operators are told apart.
    pub fn version(&self) -> &str {
        &self.chart.metadata.version
    }

    /// Returns whether a resource has the labels that this watch looks for.
    pub fn selects(&self, resource: &CustomResource) -> bool {
        self.selection.matches(&resource.labels)
    }

    /// Returns the values that a resource gives to the chart.
    pub fn values(&self, resource: &CustomResource) -> Result<Table, ValuesError> {
        let overrides = &self.watch.overrides;
        let spec = resource.spec.as_ref().map(Packed::open);
        values::of(spec.as_ref(), overrides, &self.chart, &mut |warning| {
            log(&warning);
        })
    }

    /// Renders; this takes its time, and `lookup` may wait for the cluster.
    pub fn render(
        &self,
        request: &RenderRequest,
        capabilities: &Capabilities,
        lookup: Option<Rc<dyn Lookup>>,
    ) -> Result<Rendered, RenderError> {
        let source = request.seed.source();
        let seen: Rc<dyn Lookup> = match (self.watch.dry_run, lookup) {
            (DryRun::Server, Some(lookup)) => lookup,
            _ => Rc::new(NoCluster),
        };
        let lookup = Rc::new(WatchedLookup {
            inner: seen,
            was_asked: std::cell::Cell::new(false),
        });
        let host = Host::new(
            Rc::clone(&source) as Rc<dyn chart::source::Source>,
            Rc::clone(&lookup) as Rc<dyn Lookup>,
        )
        .in_time();
        let installation = installation::plan(
            &self.engine,
            &InstallationRequest {
                chart: &self.chart,
                values: &request.values,
                release: ReleaseContext {
                    name: request.name.clone(),
                    namespace: request.namespace.clone(),
                    operation: request.operation,
                    revision: request.revision,
                },
                capabilities,
                sub_notes: false,
                skip_schema_validation: false,
                strict: false,
            },
            &host,
            None,
            &mut |warning| log(&warning),
        )?;
        let mut objects = Vec::new();
        for manifest in &installation.manifests {
            // A document ends with its line, as in the manifest: the last line of a text in it counts as a whole one.
            let text = format!("{}\n", String::from_utf8_lossy(&manifest.content));
            for document in release::documents::read(&text)? {
                objects.push(Arc::unwrap_or_clone(document.object));
            }
        }
        Ok(Rendered {
            installation,
            objects,
            depends_on_chance: source.was_asked(),
            looked_at_cluster: lookup.was_asked.get(),
        })
    }
}

/// Tells what is rendered for a resource from what another operator, or another version of this one, would render.
fn content(watch: &Watch, chart: &Chart) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (path, value) in watch.overrides.iter() {
        (path, value).hash(&mut hasher);
    }
    watch.restart_on_configuration.hash(&mut hasher);
    watch.cosmetic.hash(&mut hasher);
    let mut charts = vec![chart];
    while let Some(chart) = charts.pop() {
        (&chart.metadata.name, &chart.metadata.version).hash(&mut hasher);
        for file in chart.raw.iter() {
            (&file.name, &file.data[..]).hash(&mut hasher);
        }
        charts.extend(chart.dependencies.iter().map(Arc::as_ref));
    }
    hasher.finish()
}

fn log(warning: &Warning) {
    tracing::debug!(%warning, "the chart");
}

/// A lookup that knows whether it was asked.
struct WatchedLookup {
    inner: Rc<dyn Lookup>,
    was_asked: std::cell::Cell<bool>,
}

impl Lookup for WatchedLookup {
    fn lookup(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Value, String> {
        self.was_asked.set(true);
        self.inner.lookup(api_version, kind, namespace, name)
    }
}
