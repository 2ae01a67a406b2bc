//! `baton lint`: Helm's checks, and after them baton's own.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use chart::archive::{self, ArchiveError, Budget};
use chart::capabilities::{Capabilities, KubeVersion};
use chart::dependencies::ActiveChart;
use chart::engine::{Engine, Operation, ReleaseContext, RenderInput};
use chart::host::{Host, NoCluster};
use chart::inspection::{self, InspectionRequest};
use chart::lint::{self, LintInput, Message, Severity};
use chart::source::SystemSource;
use chart::value_options;
use chart::values::Table;
use chart::{loader, warning::Warning};
use clap::Args;
use serde_json::Value;
use tempfile::TempDir;

use crate::arguments::{ClusterFlags, ValueFlags};
use crate::failure::Failure;
use crate::terminal::Terminal;
use crate::written_files;

/// What Helm calls the release that templates see while they are checked.
const RELEASE_NAME: &str = "test-release";

/// Checks charts for what would fail or is against convention, as `helm lint` does, and for more.
///
/// Lines that start with "[INFO] baton:" or "[WARNING] baton:" are checks that Helm does not have. They never change the
/// exit code.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(args_override_self = true, override_usage = "baton lint [CHART]... [flags]")]
pub(crate) struct Lint {
    /// Directories or packaged charts; the current directory otherwise
    #[arg(value_name = "CHART")]
    charts: Vec<String>,

    #[command(flatten)]
    values: ValueFlags,

    #[command(flatten)]
    cluster: ClusterFlags,

    /// Fail on warnings, too
    #[arg(long, help_heading = "Checks")]
    strict: bool,

    /// Print only warnings and errors
    #[arg(long, help_heading = "Checks")]
    quiet: bool,

    /// Check the charts in charts/ as well
    #[arg(long, help_heading = "Checks")]
    with_subcharts: bool,

    /// Do not check values against the chart's schema
    #[arg(long, help_heading = "Values")]
    skip_schema_validation: bool,

    /// Leave out the checks that Helm does not have
    #[arg(long, help_heading = "Checks")]
    helm_only: bool,
}

/// What was found in one chart.
#[derive(Default)]
struct Report {
    messages: Vec<Message>,
    /// Why the chart could not be looked at.
    obstacle: Option<String>,
    /// baton's own findings.
    findings: Vec<Message>,
}

impl Lint {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        let kube_version = self.cluster.kube_version()?;
        let paths = self.paths();
        let values = self
            .values
            .options()?
            .merge(&mut |name| value_options::read_file(name), None)?;
        let mut text = String::new();
        let (mut failed, mut remarkable) = (0, 0);
        for path in &paths {
            let report = self.check(path, &values, kube_version.as_ref(), terminal);
            if report.is_remarkable() {
                remarkable += 1;
            }
            if report.fails(self.strict) {
                failed += 1;
            }
            if !self.quiet || report.is_remarkable() || report.has_warnings_of_batons_own() {
                report.write(path, self.quiet, &mut text);
            }
        }
        let summary = format!("{} chart(s) linted, {failed} chart(s) failed", paths.len());
        if failed > 0 {
            terminal.print(text.as_bytes())?;
            return Err(Failure::new(summary));
        }
        if !self.quiet || remarkable > 0 {
            text.push_str(&summary);
            text.push('\n');
        }
        terminal.print(text.as_bytes())
    }

    /// The charts that were asked for, and with `--with-subcharts` those in them.
    fn paths(&self) -> Vec<String> {
        let mut paths = if self.charts.is_empty() {
            vec![".".to_owned()]
        } else {
            self.charts.clone()
        };
        if self.with_subcharts {
            for path in paths.clone() {
                collect_subcharts(&joined(&path, "charts"), &mut paths);
            }
        }
        paths
    }

    fn check(
        &self,
        path: &str,
        values: &Table,
        kube_version: Option<&KubeVersion>,
        terminal: &mut Terminal,
    ) -> Report {
        let unpacked;
        let directory = if has_archive_extension(path) {
            match unpack(Path::new(path)) {
                Ok((folder, chart)) => {
                    unpacked = folder;
                    unpacked.path().join(chart)
                }
                Err(obstacle) => {
                    return Report {
                        obstacle: Some(obstacle),
                        ..Report::default()
                    };
                }
            }
        } else {
            PathBuf::from(path)
        };
        let definition = directory.join("Chart.yaml");
        if let Err(source) = fs::metadata(&definition) {
            let missing = loader::LoadError::NotFound {
                path: definition,
                source,
            };
            let obstacle = Some(format!("unable to check Chart.yaml file in chart: {missing}"));
            return Report {
                obstacle,
                ..Report::default()
            };
        }
        let mut capabilities = Capabilities::default();
        if let Some(kube_version) = kube_version {
            capabilities.kube_version = kube_version.clone();
        }
        let messages = self.helms_checks(&directory, values, &capabilities, terminal);
        let findings = if self.helm_only {
            Vec::new()
        } else {
            self.batons_checks(&directory, values, &capabilities)
        };
        Report {
            messages,
            obstacle: None,
            findings,
        }
    }

    fn helms_checks(
        &self,
        directory: &Path,
        values: &Table,
        capabilities: &Capabilities,
        terminal: &mut Terminal,
    ) -> Vec<Message> {
        let number = |text: &str| text.parse().ok();
        let version = &capabilities.kube_version;
        let input = LintInput {
            directory,
            values,
            kubernetes: number(&version.major).zip(number(&version.minor)),
            skip_schema_validation: self.skip_schema_validation,
        };
        let release = ReleaseContext {
            name: RELEASE_NAME.to_owned(),
            namespace: self.cluster.namespace(),
            operation: Operation::Lint,
            revision: 0,
        };
        let mut log = Vec::new();
        let mut render = |chart: &ActiveChart, values: &Table| {
            let host = Host::new(Rc::new(SystemSource), Rc::new(NoCluster))
                .linting()
                .in_time();
            let input = RenderInput {
                values,
                release: &release,
                capabilities,
                strict: false,
            };
            let rendered = Engine::new().render(chart, &input, &host);
            log.extend(host.lint_log.map(RefCell::into_inner).unwrap_or_default());
            rendered
                .map(|files| files.into_iter().map(|file| (file.name, file.content)).collect())
                .map_err(|error| error.to_string())
        };
        let mut warnings: Vec<Warning> = Vec::new();
        let messages = lint::lint(&input, &mut render, &mut |warning| warnings.push(warning));
        for warning in warnings {
            terminal.remark(warning);
        }
        for line in log {
            terminal.remark(line);
        }
        messages
    }

    fn batons_checks(&self, directory: &Path, values: &Table, capabilities: &Capabilities) -> Vec<Message> {
        // A chart that cannot be loaded has been complained about.
        let Ok(chart) = loader::load(directory, &mut |_| {}) else {
            return Vec::new();
        };
        let namespace = self.cluster.namespace();
        let request = InspectionRequest {
            chart: &chart,
            values,
            namespace: &namespace,
            capabilities,
        };
        inspection::inspect(&request)
            .into_iter()
            .map(|finding| Message {
                severity: match finding.severity {
                    inspection::Severity::Info => Severity::Info,
                    inspection::Severity::Warning => Severity::Warning,
                },
                path: "baton".to_owned(),
                text: finding.message,
            })
            .collect()
    }
}

impl Report {
    /// Whether Helm would show it even when it is told to be quiet.
    fn is_remarkable(&self) -> bool {
        self.obstacle.is_some()
            || self
                .messages
                .iter()
                .any(|message| message.severity > Severity::Info)
    }

    fn has_warnings_of_batons_own(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity > Severity::Info)
    }

    fn fails(&self, strict: bool) -> bool {
        let tolerated = if strict { Severity::Info } else { Severity::Warning };
        self.obstacle.is_some() || self.messages.iter().any(|message| message.severity > tolerated)
    }

    fn write(&self, path: &str, quiet: bool, text: &mut String) {
        // Writing to memory cannot fail.
        writeln!(text, "==> Linting {path}").ok();
        if let Some(obstacle) = &self.obstacle {
            writeln!(text, "Error {obstacle}").ok();
        }
        let shown = self.messages.iter().chain(&self.findings);
        for message in shown.filter(|message| !quiet || message.severity > Severity::Info) {
            writeln!(text, "{message}").ok();
        }
        text.push('\n');
    }
}

fn has_archive_extension(path: &str) -> bool {
    [".tgz", ".tar.gz"]
        .iter()
        .any(|extension| path.ends_with(extension))
}

/// Joins paths as Go does: without a leading `./`.
fn joined(directory: &str, name: &str) -> PathBuf {
    Path::new(directory)
        .join(name)
        .components()
        .filter(|component| !matches!(component, std::path::Component::CurDir))
        .collect()
}

/// Finds charts below a directory, in order of their names. Links are not followed.
fn collect_subcharts(directory: &Path, paths: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    let mut entries: Vec<fs::DirEntry> = entries.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect_subcharts(&path, paths);
        } else if entry.file_name() == "Chart.yaml" {
            paths.push(directory.to_string_lossy().into_owned());
        } else if has_archive_extension(&path.to_string_lossy()) {
            paths.push(path.to_string_lossy().into_owned());
        }
    }
}

/// Unpacks an archive into a temporary folder, below a directory with the chart's name. The chart may be faulty: that is
/// what checks are for.
fn unpack(path: &Path) -> Result<(TempDir, String), String> {
    let failed = |reason: &dyn std::fmt::Display| format!("unable to extract tarball: {reason}");
    let file = fs::File::open(path).map_err(|source| {
        let error = ArchiveError::FileSystem {
            operation: "open",
            path: path.to_owned(),
            source,
        };
        format!("unable to open tarball: {error}")
    })?;
    let files = archive::read(file, &mut Budget::default()).map_err(|error| failed(&error))?;
    let definitions = files.iter().filter(|file| file.name == "Chart.yaml");
    let mut name = String::new();
    for definition in definitions {
        let definition = goyaml::to_value(&definition.data)
            .map_err(|error| failed(&format_args!("cannot load Chart.yaml: {}", error.in_sigs_words())))?;
        definition
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .clone_into(&mut name);
    }
    if name.is_empty() {
        return Err(failed(&"chart name not specified"));
    }
    let folder = tempfile::Builder::new()
        .prefix("baton-lint")
        .tempdir()
        .map_err(|error| format!("unable to create temp dir to extract tarball: {error}"))?;
    for file in &files {
        let inside = format!("{name}/{}", file.name);
        if !written_files::stays_inside(&inside) {
            return Err(failed(&"chart illegally references parent directory"));
        }
        let path = folder.path().join(inside);
        let parent = path.parent().unwrap_or(folder.path());
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, &file.data))
            .map_err(|error| failed(&error))?;
    }
    Ok((folder, name))
}
