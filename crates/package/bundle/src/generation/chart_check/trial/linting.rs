//! Helm's linter, run on a chart with values that are known to render.

use std::fs;
use std::path::Path;

use chart::Chart;
use chart::dependencies::ActiveChart;
use chart::diagnosis::Diagnosis;
use chart::engine::{Operation, RenderInput};
use chart::lint::{self, LintInput, Message, Severity};
use chart::values::Table;

use super::super::{ChartCheck, ChartFault, ChartReport};
use super::words::one_line;
use super::{RELEASE_NAME, Trial, release_context};

impl Trial<'_> {
    /// Runs Helm's linter with values that render; where there are none, on everything but the templates.
    pub(super) fn lint(&self, values: Option<&Table>, report: &mut ChartReport) {
        let unpacked;
        let directory: &Path = if self.watched.archive.is_some() {
            match unpack(&self.chart) {
                Ok(folder) => {
                    unpacked = folder;
                    unpacked.path()
                }
                Err(error) => {
                    let chart = self.path.display();
                    report.warnings.push(format!(
                        "{chart}: not linted, because it can't be unpacked: {error}"
                    ));
                    return;
                }
            }
        } else {
            &self.watched.path
        };
        let nothing = Table::new();
        let input = LintInput {
            directory,
            values: values.unwrap_or(&nothing),
            kubernetes: None,
            skip_schema_validation: true,
        };
        let release = release_context(RELEASE_NAME, Operation::Lint);
        let mut render = |chart: &ActiveChart, coalesced: &Table| {
            if values.is_none() {
                return Err(String::new());
            }
            let mut rendered = Err(String::new());
            for capabilities in &self.clusters {
                let input = RenderInput {
                    values: coalesced,
                    release: &release,
                    capabilities,
                    strict: false,
                };
                rendered = self
                    .engine
                    .render(chart, &input, &self.host().linting())
                    .map(|files| files.into_iter().map(|file| (file.name, file.content)).collect())
                    .map_err(|error| error.to_string());
                if rendered.is_ok() {
                    break;
                }
            }
            rendered
        };
        for message in lint::lint(&input, &mut render, &mut |_| ()) {
            self.take_in(message, report);
        }
    }

    fn take_in(&self, message: Message, report: &mut ChartReport) {
        let place = if Path::new(&message.path).is_absolute() || message.path.is_empty() {
            self.path.clone()
        } else {
            self.path.join(&message.path)
        };
        let place = place.display().to_string();
        match message.severity {
            Severity::Info => {}
            Severity::Warning => report
                .warnings
                .push(format!("{place}: {}", one_line(&message.text))),
            // What the schema says is judged above, and as the operator judges it; Helm 3.17 knows fewer drafts.
            Severity::Error
                if message.path == "values.yaml" && !message.text.starts_with("unable to parse") => {}
            Severity::Error if message.text.is_empty() => {}
            Severity::Error => report.faults.push(ChartFault {
                check: ChartCheck::Lint,
                place,
                cause: one_line(&message.text),
                remedy: format!(
                    "correct it; baton lint {} says when it is right",
                    self.path.display()
                ),
                diagnosis: Diagnosis::default(),
            }),
        }
    }
}

/// Writes a chart's files to a folder, where the linter reads them.
fn unpack(chart: &Chart) -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::Builder::new().prefix("baton-lint").tempdir()?;
    for file in chart.raw.iter() {
        let path = Path::new(&file.name);
        let stays_inside = path
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)));
        if !stays_inside {
            return Err(std::io::Error::other(format!(
                "{} leads out of the chart",
                file.name
            )));
        }
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
        fs::write(&path, &file.data)?;
    }
    Ok(folder)
}
