//! The whole road from a chart and values to what an installation would create: manifests, hooks, CRDs and notes.

use std::sync::Arc;

use bytes::Bytes;

use crate::capabilities::{Capabilities, IncompatibleKubeVersion};
use crate::chart::Chart;
use crate::crds::{self, Crd};
use crate::dependencies::{self, ActiveChart, DependencyError};
use crate::engine::{Engine, ReleaseContext, RenderError, RenderInput, RenderObserver, RenderedFile};
use crate::host::Host;
use crate::manifest::{self, Hook, INSTALL_ORDER, Manifest, ManifestError};
use crate::release_name::{self, InvalidReleaseName};
use crate::schema::SchemaViolation;
use crate::values::{self, CoalesceError, Table};
use crate::warning::WarningSink;

/// The file whose output is shown to the user and not sent to the cluster.
const NOTES_FILE: &str = "NOTES.txt";

/// What is to be installed, and how.
pub struct InstallationRequest<'request> {
    /// The chart, as it was loaded.
    pub chart: &'request Arc<Chart>,
    /// The user's values.
    pub values: &'request Table,
    /// The release that it becomes.
    pub release: ReleaseContext,
    /// The cluster that it is for.
    pub capabilities: &'request Capabilities,
    /// Whether the notes of subcharts are wanted too.
    pub sub_notes: bool,
    /// Whether `values.schema.json` is left aside.
    pub skip_schema_validation: bool,
    /// Whether a missing key is an error.
    pub strict: bool,
}

/// What an installation would create.
#[derive(Debug)]
pub struct Installation {
    /// The objects, in the order in which they are created.
    pub manifests: Vec<Manifest>,
    /// The hooks, by kind in install order.
    pub hooks: Vec<Hook>,
    /// The definitions in `crds/`, created before everything else.
    pub crds: Vec<Crd>,
    /// What the chart tells the user.
    pub notes: String,
    /// The values that the templates saw.
    pub values: Table,
    /// The chart as it was rendered, which is what a release record holds.
    pub chart: ActiveChart,
}

impl Installation {
    /// The objects as one stream of YAML, as a release record holds them.
    pub fn manifest(&self) -> String {
        let mut stream = Vec::new();
        for manifest in &self.manifests {
            // Writing to memory cannot fail.
            manifest::write_document(&mut stream, &manifest.name, &manifest.content).ok();
        }
        String::from_utf8_lossy(&stream).into_owned()
    }
}

/// Why a chart cannot be installed; prints as Helm 3.17 does.
#[derive(Debug, thiserror::Error)]
pub enum InstallationError {
    /// The release may not have this name.
    #[error(transparent)]
    ReleaseName(InvalidReleaseName),
    /// Subcharts and values do not fit together.
    #[error(transparent)]
    Dependencies(DependencyError),
    /// The values of charts and user do not fit together.
    #[error(transparent)]
    Values(CoalesceError),
    /// The values are not what a chart's schema asks for.
    #[error(transparent)]
    Schema(SchemaViolation),
    /// The chart is not made for this cluster.
    #[error(transparent)]
    KubeVersion(IncompatibleKubeVersion),
    /// A template failed.
    #[error(transparent)]
    Render(RenderError),
    /// What a template printed is no manifest.
    #[error("{error}")]
    Manifest {
        /// What is wrong.
        error: ManifestError,
        /// Everything that was rendered, for whoever looks for the mistake.
        rendered: Vec<RenderedFile>,
    },
}

/// Works out what an installation would create, without touching anything.
pub fn plan(
    engine: &Engine,
    request: &InstallationRequest<'_>,
    host: &Host,
    observer: Option<&dyn RenderObserver>,
    warn: WarningSink<'_>,
) -> Result<Installation, InstallationError> {
    release_name::validate(&request.release.name).map_err(InstallationError::ReleaseName)?;
    let active = dependencies::activate(request.chart, request.values, warn)
        .map_err(InstallationError::Dependencies)?;
    let values = values::coalesce(&active, request.values, warn).map_err(InstallationError::Values)?;
    if !request.skip_schema_validation {
        engine
            .check_values(&active, &values)
            .map_err(InstallationError::Schema)?;
    }
    request
        .capabilities
        .check(&active.metadata.kube_version)
        .map_err(InstallationError::KubeVersion)?;
    let input = RenderInput {
        values: &values,
        release: &request.release,
        capabilities: request.capabilities,
        strict: request.strict,
    };
    let rendered = engine
        .render_observed(&active, &input, host, observer)
        .map_err(InstallationError::Render)?;
    let (notes, rendered) = take_notes(&active, rendered, request.sub_notes);
    let files = rendered.iter().map(|file| (file.name.as_str(), &file.content));
    match manifest::sort(files, INSTALL_ORDER, engine.heads(), warn) {
        Ok(sorted) => Ok(Installation {
            manifests: sorted.manifests,
            hooks: sorted.hooks,
            crds: crds::crds(&active),
            notes,
            values,
            chart: active,
        }),
        Err(error) => Err(InstallationError::Manifest { error, rendered }),
    }
}

/// Takes the notes out of the rendered files, which all go to the cluster otherwise.
fn take_notes(
    chart: &ActiveChart,
    rendered: Vec<RenderedFile>,
    sub_notes: bool,
) -> (String, Vec<RenderedFile>) {
    let own = format!("{}/templates/{NOTES_FILE}", chart.name());
    let (mut notes, files): (Vec<_>, Vec<_>) = rendered
        .into_iter()
        .partition(|file| file.name.ends_with(NOTES_FILE));
    notes.retain(|file| sub_notes || file.name == own);
    // Helm's order is that of a hash map; ours starts with the chart itself.
    notes.sort_by(|left, right| (left.name != own, &left.name).cmp(&(right.name != own, &right.name)));
    let text = |content: &Bytes| String::from_utf8_lossy(content).into_owned();
    let notes: Vec<String> = notes.iter().map(|file| text(&file.content)).collect();
    (notes.join("\n"), files)
}
