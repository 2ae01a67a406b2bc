//! The release record: what Helm writes down about every revision of a release, in the form that Helm reads.
//!
//! ```text
//! Release ─ JSON (Go's field order) ─ gzip ─┬─ base64 ─► Secret sh.helm.release.v1.<name>.v<revision>
//!                                           └─ chunks ─► Secrets, where one is too small
//! ```
//!
//! What this version does not know, such as fields of Helm 4, is kept and written back.

pub mod chunks;
mod codec;
mod json;
mod recorded_chart;
mod secret;
mod status;

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::dependencies::ActiveChart;
use crate::manifest::Hook;
use crate::values::Table;

pub use codec::DecodeError;
pub use recorded_chart::{RecordedChart, RecordedCharts, Spare};
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

impl Release {
    /// Makes the record of a render.
    pub fn new(name: &str, namespace: &str, version: i64, chart: &ActiveChart, config: &Table) -> Self {
        Self::with_chart(name, namespace, version, RecordedChart::new(chart), config)
    }

    /// Makes the record of a render whose chart was recorded before.
    pub fn with_chart(
        name: &str,
        namespace: &str,
        version: i64,
        chart: RecordedChart,
        config: &Table,
    ) -> Self {
        Self {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            version,
            chart,
            config: Some(json::raw(config)),
            ..Self::default()
        }
    }

    /// The text that another version of Helm added under a name, such as `apply_method`.
    pub fn extra_text(&self, field: &str) -> Option<String> {
        serde_json::from_str(self.extra.get(field)?.get()).ok()
    }

    /// Adds a text that only another version of Helm knows, such as `apply_method`.
    pub fn set_extra_text(&mut self, field: &str, value: &str) {
        self.extra.insert(field.to_owned(), json::raw(value));
    }

    /// The user's values as a table.
    pub fn config_table(&self) -> Table {
        self.config
            .as_ref()
            .and_then(|config| serde_json::from_str(config.get()).ok())
            .unwrap_or_default()
    }
}
