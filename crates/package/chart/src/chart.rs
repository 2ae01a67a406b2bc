//! A chart in memory: what was in its directory or archive, sorted into buckets.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Serialize, Serializer};

use crate::lock::Lock;
use crate::metadata::Metadata;
use crate::values::Table;

/// A loaded chart. It is never changed after loading, so any number of renders share it by `Arc`.
#[derive(Clone, Debug)]
pub struct Chart {
    /// What `Chart.yaml` says.
    pub metadata: Arc<Metadata>,
    /// What `Chart.lock` says.
    pub lock: Option<Lock>,
    /// The default values; absent where there is no `values.yaml` or it is empty.
    pub values: Option<Arc<Table>>,
    /// The bytes of `values.schema.json`.
    pub schema: Option<Bytes>,
    /// The files below `templates/`, in the order they were found.
    pub templates: Arc<[File]>,
    /// The files that templates may read, `crds/` among them, in the order they were found.
    pub files: Arc<[File]>,
    /// Every file as it was found.
    pub raw: Arc<[File]>,
    /// The charts below `charts/`, by file name.
    pub dependencies: Vec<Arc<Chart>>,
}

/// A file of a chart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct File {
    /// The path in the chart, with forward slashes.
    pub name: String,
    /// The content, without a byte order mark.
    #[serde(serialize_with = "base64_text")]
    pub data: Bytes,
}

fn base64_text<S: Serializer>(data: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    use base64::Engine as _;
    serializer.serialize_str(&base64::engine::general_purpose::STANDARD.encode(data))
}

impl Chart {
    /// The name of the chart.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// The bytes of `values.yaml` as they were found, comments included.
    pub fn raw_values(&self) -> Option<&Bytes> {
        self.raw
            .iter()
            .find(|file| file.name == "values.yaml")
            .map(|file| &file.data)
    }
}
