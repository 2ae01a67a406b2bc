//! The chart of a revision, as its record holds it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use serde::Serialize;
use serde_json::value::RawValue;

use super::{codec, json};
use crate::chart::Chart;
use crate::dependencies::ActiveChart;
use crate::metadata::Metadata;
use crate::values::Table;

/// The chart of a revision, each part as JSON; subcharts are not recorded.
///
/// Copies share what they hold, and what it becomes when it is compressed: the releases of one chart pay for that once.
#[derive(Clone, Debug, Default)]
pub struct RecordedChart {
    content: Arc<Content>,
}

#[derive(Debug, Default)]
struct Content {
    metadata: Option<Box<RawValue>>,
    rest: Vec<(String, Box<RawValue>)>,
    compressed: OnceLock<Vec<u8>>,
}

/// A part of a chart that a record can do without: no command of Helm needs it once the release is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spare {
    /// Files that templates read, but for the definitions in `crds/`: licences, notes, pictures.
    Files,
    /// The definitions in `crds/`, too.
    Definitions,
    /// The content of the templates; their names stay.
    Templates,
    /// The schema of the values.
    Schema,
}

/// A file of a chart, as records write it.
#[derive(serde::Deserialize, Serialize)]
struct RecordedFile {
    name: String,
    #[serde(flatten)]
    rest: serde_json::Map<String, serde_json::Value>,
}

impl RecordedChart {
    /// Records a chart as it was rendered, imports and aliases included.
    pub fn new(chart: &ActiveChart) -> Self {
        use base64::Engine as _;
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
        let rest = parts
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        Self::of_parts(Some(json::raw(&*chart.metadata)), rest)
    }

    pub(super) fn of_parts(metadata: Option<Box<RawValue>>, rest: Vec<(String, Box<RawValue>)>) -> Self {
        Self {
            content: Arc::new(Content {
                metadata,
                rest,
                compressed: OnceLock::new(),
            }),
        }
    }

    /// What `Chart.yaml` said.
    pub fn metadata(&self) -> Option<&RawValue> {
        self.content.metadata.as_deref()
    }

    /// The parts besides the metadata, in the order in which they are written.
    pub(super) fn parts(&self) -> &[(String, Box<RawValue>)] {
        &self.content.rest
    }

    /// The JSON of the chart, compressed for itself.
    pub(super) fn compressed(&self) -> &[u8] {
        self.content
            .compressed
            .get_or_init(|| codec::compress(json::write_chart(self).as_bytes()))
    }

    /// A part of the chart, such as `templates` or `values`, as JSON.
    pub fn part(&self, name: &str) -> Option<&RawValue> {
        self.content
            .rest
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_ref())
    }

    /// A text in the metadata, such as `name`, `version` or `appVersion`.
    pub fn metadata_text(&self, field: &str) -> String {
        let value = self
            .content
            .metadata
            .as_ref()
            .and_then(|raw| serde_json::from_str::<serde_json::Value>(raw.get()).ok());
        value
            .and_then(|value| value.get(field)?.as_str().map(str::to_owned))
            .unwrap_or_default()
    }

    /// Returns the chart without a part that can be spared.
    #[must_use]
    pub fn without(&self, spare: Spare) -> Self {
        let leave_out = |name: &str, value: &RawValue| match (spare, name) {
            (Spare::Files, "files") => only(value, |file| file.name.starts_with("crds/").then_some(file)),
            (Spare::Definitions, "files") | (Spare::Schema, "schema") => json::raw(&()),
            (Spare::Templates, "templates") => only(value, |mut file| {
                file.rest.insert("data".to_owned(), "".into());
                Some(file)
            }),
            _ => value.to_owned(),
        };
        let rest = self.content.rest.iter();
        Self::of_parts(
            self.content.metadata.clone(),
            rest.map(|(name, value)| (name.clone(), leave_out(name, value)))
                .collect(),
        )
    }
}

/// Go writes an empty list that nothing was added to as `null`.
fn list<T: Serialize>(items: &[T]) -> Box<RawValue> {
    if items.is_empty() {
        json::raw(&())
    } else {
        json::raw(items)
    }
}

/// Keeps what is wanted of a list of files; what isn't such a list stays as it is.
fn only(files: &RawValue, wanted: impl FnMut(RecordedFile) -> Option<RecordedFile>) -> Box<RawValue> {
    match serde_json::from_str::<Vec<RecordedFile>>(files.get()) {
        Ok(files) => list(&files.into_iter().filter_map(wanted).collect::<Vec<_>>()),
        Err(_) => files.to_owned(),
    }
}

/// How many charts are kept recorded: an operator has a handful, each in a few shapes.
const MOST_CHARTS: usize = 32;

/// Charts that were recorded before, so that the releases of one chart share its record.
#[derive(Debug, Default)]
pub struct RecordedCharts {
    known: Mutex<VecDeque<Known>>,
}

/// A chart in the shape that its subcharts and imports gave it.
#[derive(Debug)]
struct Known {
    chart: Weak<Chart>,
    metadata: Arc<Metadata>,
    values: Option<Arc<Table>>,
    recorded: RecordedChart,
}

impl Known {
    fn is(&self, chart: &ActiveChart) -> bool {
        std::ptr::eq(self.chart.as_ptr(), Arc::as_ptr(&chart.chart))
            && (Arc::ptr_eq(&self.metadata, &chart.metadata) || self.metadata == chart.metadata)
            && match (&self.values, &chart.values) {
                (Some(known), Some(values)) => Arc::ptr_eq(known, values) || known == values,
                (None, None) => true,
                _ => false,
            }
    }
}

impl RecordedCharts {
    /// Records a chart, or finds it recorded.
    pub fn of(&self, chart: &ActiveChart) -> RecordedChart {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // A chart that is gone may have left its address to another one.
        known.retain(|known| known.chart.strong_count() > 0);
        if let Some(found) = known.iter().find(|known| known.is(chart)) {
            return found.recorded.clone();
        }
        let recorded = RecordedChart::new(chart);
        if known.len() >= MOST_CHARTS {
            known.pop_front();
        }
        known.push_back(Known {
            chart: Arc::downgrade(&chart.chart),
            metadata: Arc::clone(&chart.metadata),
            values: chart.values.clone(),
            recorded: recorded.clone(),
        });
        recorded
    }
}
