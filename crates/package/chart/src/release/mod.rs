//! The release record: what Helm writes down about every revision of a release, in the form that Helm reads.
//!
//! ```text
//! Release ─ JSON (Go's field order) ─ gzip ─ base64 ─► Secret sh.helm.release.v1.<name>.v<revision>
//! ```
//!
//! What this version does not know, such as fields of Helm 4, is kept and written back.

mod codec;
mod json;
mod secret;
mod status;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::dependencies::ActiveChart;
use crate::manifest::Hook;
use crate::values::Table;

pub use codec::DecodeError;
pub use secret::{SECRET_TYPE, SYSTEM_LABELS, Stored, object_name};
pub use status::Status;

/// Fields that are kept as they were found.
pub(crate) type Extra = BTreeMap<String, Box<RawValue>>;

/// One revision of a release.
#[derive(Clone, Debug, Default)]
pub struct Release {
    /// The name.
    pub name: String,
    /// What happened to it.
    pub info: Info,
    /// The chart that it was made from.
    pub chart: RecordedChart,
    /// The user's values, as JSON.
    pub config: Option<Box<RawValue>>,
    /// The objects, as one stream of YAML.
    pub manifest: String,
    /// The hooks.
    pub hooks: Vec<Hook>,
    /// The number of the revision, from 1.
    pub version: i64,
    /// The namespace.
    pub namespace: String,
    pub(crate) extra: Extra,
}

/// What happened to a revision. Times are in RFC 3339; an empty one is not known, an absent one is not written.
#[derive(Clone, Debug)]
pub struct Info {
    /// When the first revision was made.
    pub first_deployed: Option<String>,
    /// When this revision was made.
    pub last_deployed: Option<String>,
    /// When the release was uninstalled.
    pub deleted: Option<String>,
    /// What was done last.
    pub description: String,
    /// What state it is in.
    pub status: Status,
    /// The rendered `NOTES.txt`.
    pub notes: String,
    pub(crate) extra: Extra,
}

impl Default for Info {
    fn default() -> Self {
        Self {
            first_deployed: Some(String::new()),
            last_deployed: Some(String::new()),
            deleted: Some(String::new()),
            description: String::new(),
            status: Status::Unknown,
            notes: String::new(),
            extra: Extra::new(),
        }
    }
}

/// The chart of a revision, each part as JSON; subcharts are not recorded.
#[derive(Clone, Debug, Default)]
pub struct RecordedChart {
    /// What `Chart.yaml` said.
    pub metadata: Option<Box<RawValue>>,
    pub(crate) rest: Vec<(String, Box<RawValue>)>,
}

impl Release {
    /// Makes the record of a render.
    pub fn new(name: &str, namespace: &str, version: i64, chart: &ActiveChart, config: &Table) -> Self {
        Self {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            version,
            chart: RecordedChart::new(chart),
            config: Some(json::raw(config)),
            ..Self::default()
        }
    }

    /// The user's values as a table.
    pub fn config_table(&self) -> Table {
        self.config
            .as_ref()
            .and_then(|config| serde_json::from_str(config.get()).ok())
            .unwrap_or_default()
    }
}

impl RecordedChart {
    /// Records a chart as it was rendered, imports and aliases included.
    pub fn new(chart: &ActiveChart) -> Self {
        use base64::Engine as _;
        /// Go writes an empty list that nothing was added to as `null`.
        fn list<T: Serialize>(items: &[T]) -> Box<RawValue> {
            if items.is_empty() {
                json::raw(&())
            } else {
                json::raw(items)
            }
        }
        let source = &chart.chart;
        let schema = source
            .schema
            .as_ref()
            .map(|schema| base64::engine::general_purpose::STANDARD.encode(schema));
        let parts = [
            ("lock", json::raw(&source.lock)),
            ("templates", list(&source.templates)),
            ("values", json::raw(&chart.values.as_deref())),
            ("schema", json::raw(&schema)),
            ("files", list(&source.files)),
        ];
        Self {
            metadata: Some(json::raw(&*chart.metadata)),
            rest: parts
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        }
    }

    /// A part of the chart, such as `templates` or `values`, as JSON.
    pub fn part(&self, name: &str) -> Option<&RawValue> {
        self.rest
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_ref())
    }

    /// A text in the metadata, such as `name`, `version` or `appVersion`.
    pub fn metadata_text(&self, field: &str) -> String {
        let value = self
            .metadata
            .as_ref()
            .and_then(|raw| serde_json::from_str::<serde_json::Value>(raw.get()).ok());
        value
            .and_then(|value| value.get(field)?.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}
