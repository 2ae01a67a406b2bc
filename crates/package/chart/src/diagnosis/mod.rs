//! What is known about an error beyond its text: the line where it happened, and who set the value that it is about.
//!
//! Helm's own text stays as it is; this stands below it.

mod excerpt;
mod value;

use std::sync::Arc;

use gotemplate::{ExecutionError, ParseError};
use serde_json::Value;

pub use excerpt::Excerpt;

use crate::chart::Chart;
use crate::dependencies::{self, ActiveChart};
use crate::engine::{RenderError, RenderedFile};
use crate::installation::InstallationError;
use crate::manifest::{Head, ManifestError, split};
use crate::provenance::Provenance;
use crate::schema::{self, SchemaError};
use crate::values::{self, Table};
use value::{ValuePath, describe};

/// How many complaints of schemas are explained; who has more will start with the first ones.
const MAX_EXPLAINED_COMPLAINTS: usize = 20;

/// What is known about an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnosis {
    /// Lines of templates or of rendered documents.
    pub excerpts: Vec<Excerpt>,
    /// Facts that belong to no line.
    pub notes: Vec<String>,
    /// What to do next, for a reader who is a person.
    pub hints: Vec<String>,
}

/// What an error happened with.
#[derive(Clone, Copy)]
pub struct Situation<'situation> {
    /// The chart, as it was loaded.
    pub chart: &'situation Arc<Chart>,
    /// The user's values.
    pub user_values: &'situation Table,
    /// Who set what.
    pub provenance: &'situation Provenance,
}

/// The chart and the values as templates saw them.
struct Rendering<'situation> {
    chart: ActiveChart,
    values: Table,
    provenance: &'situation Provenance,
}

impl<'situation> Rendering<'situation> {
    fn new(situation: &Situation<'situation>) -> Option<Self> {
        let chart = dependencies::activate(situation.chart, situation.user_values, &mut |_| {}).ok()?;
        let values = values::coalesce(&chart, situation.user_values, &mut |_| {}).ok()?;
        Some(Self {
            chart,
            values,
            provenance: situation.provenance,
        })
    }

    /// The names under which a parent configures the charts on the way to the one that a file belongs to.
    fn section_of(&self, file: &str) -> Vec<String> {
        let mut keys = Vec::new();
        let mut chart = &self.chart;
        while let Some(next) = chart.dependencies.iter().find(|subchart| {
            file.strip_prefix(&subchart.full_path)
                .is_some_and(|rest| rest.starts_with('/'))
        }) {
            keys.push(next.name().to_owned());
            chart = next;
        }
        keys
    }

    /// Finds the source of a template by its full name.
    fn source_of(&self, file: &str) -> Option<&[u8]> {
        let mut chart = &self.chart;
        loop {
            let name = file.strip_prefix(chart.full_path.as_str())?.strip_prefix('/')?;
            if let Some(template) = chart
                .chart
                .templates
                .iter()
                .find(|template| template.name == name)
            {
                return Some(&template.data);
            }
            chart = chart.dependencies.iter().find(|subchart| {
                file.strip_prefix(&subchart.full_path)
                    .is_some_and(|rest| rest.starts_with('/'))
            })?;
        }
    }
}

/// Tells what is known about why a chart cannot be installed.
pub fn of_installation(error: &InstallationError, situation: &Situation<'_>) -> Diagnosis {
    let Some(rendering) = Rendering::new(situation) else {
        return Diagnosis::default();
    };
    match error {
        InstallationError::Render(RenderError::Parse { error }) => of_parsing(error, &rendering),
        InstallationError::Render(RenderError::Execution { file, error }) => {
            of_execution(file, error, &rendering)
        }
        InstallationError::Manifest { error, rendered } => of_manifest(error, rendered),
        InstallationError::Schema(_) => of_schema(&rendering),
        _ => Diagnosis::default(),
    }
}

fn of_parsing(error: &ParseError, rendering: &Rendering<'_>) -> Diagnosis {
    let excerpt = rendering
        .source_of(&error.file)
        .and_then(|source| Excerpt::new(&error.file, source, error.line, None));
    Diagnosis {
        excerpts: excerpt.into_iter().collect(),
        ..Diagnosis::default()
    }
}

fn of_execution(file: &str, error: &ExecutionError, rendering: &Rendering<'_>) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let Some(place) = &error.innermost().place else {
        return diagnosis;
    };
    let section = rendering.section_of(file);
    let about = ValuePath::all_in(&place.node)
        .into_iter()
        .filter_map(|path| describe(&path, &section, &rendering.values, rendering.provenance))
        .min_by_key(|description| !description.is_absent);
    let label = about.as_ref().map(|description| description.text.clone());
    // A template inside a value, given to `tpl`, stands in no file.
    let source = rendering.source_of(&place.file);
    match source.and_then(|source| Excerpt::new(&place.file, source, place.line, Some(place.column))) {
        Some(excerpt) => diagnosis.excerpts.push(excerpt.labelled(label)),
        None => diagnosis.notes.extend(label),
    }
    if let Some(description) = about.filter(|description| description.is_absent) {
        diagnosis.hints.push(format!(
            "set it with --set {}=VALUE, or in a file given with -f",
            description.path
        ));
    }
    diagnosis
}

/// Shows the lines of the rendered document that cannot be read.
fn of_manifest(error: &ManifestError, rendered: &[RenderedFile]) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    let document = rendered
        .iter()
        .filter(|file| file.name == error.file)
        .flat_map(|file| split(&file.content))
        .find(|document| Head::read(document).is_err());
    let line = error
        .message
        .split_once("yaml: line ")
        .and_then(|(_, rest)| rest.split(':').next())
        .and_then(|number| number.parse().ok());
    if let (Some(document), Some(line)) = (document, line) {
        if is_secret(&document) {
            let note = "the document is a Secret, so its lines are shown only with --debug".to_owned();
            diagnosis.notes.push(note);
        } else {
            diagnosis
                .excerpts
                .extend(Excerpt::of_rendered(&error.file, &document, line));
        }
    }
    diagnosis.hints.push(format!(
        "see all that the template made with --debug --show-only {}",
        error
            .file
            .split_once('/')
            .map_or(error.file.as_str(), |(_, name)| name)
    ));
    diagnosis
}

/// Tells whether a document that cannot be read seems to be a Secret.
fn is_secret(document: &[u8]) -> bool {
    document.split(|byte| *byte == b'\n').any(|line| {
        let line = String::from_utf8_lossy(line);
        line.strip_prefix("kind:")
            .is_some_and(|kind| kind.trim_matches([' ', '"', '\'', '\r']) == "Secret")
    })
}

/// Says who set the values that schemas complain about.
fn of_schema(rendering: &Rendering<'_>) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    collect_complaints(
        &rendering.chart,
        &rendering.values,
        &mut Vec::new(),
        rendering,
        &mut diagnosis.notes,
    );
    diagnosis.notes.truncate(MAX_EXPLAINED_COMPLAINTS);
    diagnosis
        .hints
        .push("see what can be set with: baton show values CHART".to_owned());
    diagnosis
}

fn collect_complaints(
    chart: &ActiveChart,
    values: &Table,
    section: &mut Vec<String>,
    rendering: &Rendering<'_>,
    notes: &mut Vec<String>,
) {
    if let Some(schema) = &chart.chart.schema
        && let Err(SchemaError::Complaints(complaints)) = schema::validate(schema, values)
    {
        for complaint in complaints.iter().filter(|complaint| complaint.field != "(root)") {
            let path = ValuePath::of_field(&complaint.field);
            if let Some(description) = describe(&path, section, &rendering.values, rendering.provenance)
                && !notes.contains(&description.text)
            {
                notes.push(description.text);
            }
        }
    }
    for subchart in &chart.dependencies {
        if let Some(Value::Object(values)) = values.get(subchart.name()) {
            section.push(subchart.name().to_owned());
            collect_complaints(subchart, values, section, rendering, notes);
            section.pop();
        }
    }
}
