//! One chart, tried out with one set of values after the other.

mod linting;
mod words;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use chart::Chart;
use chart::capabilities::Capabilities;
use chart::cosmetic;
use chart::diagnosis::{self, Diagnosis, Situation};
use chart::engine::{Engine, Operation, ReleaseContext, RenderError};
use chart::host::{Host, NoCluster};
use chart::installation::{self, Installation, InstallationError, InstallationRequest};
use chart::provenance::Provenance;
use chart::schema::{ChartViolation, Dialect, SchemaError, SchemaViolation, field_name, json_pointer};
use chart::set_expression::{self, Reading};
use chart::source::Source;
use chart::values::{self, Table};
use serde_json::Value;

use super::super::project::Watched;
use super::super::trial_render::{RepeatableSource, with_well_known_operators};
use super::{ChartCheck, ChartFault, ChartReport, Sample, plain, position};
use words::{in_words, innermost_rule, is_by_design, object_fault, one_line};

/// The release that a chart becomes where no custom resource gives it a name, and the namespace that it goes to.
const RELEASE_NAME: &str = "sample";

/// How deep charts are followed into charts.
const MAXIMUM_CHART_DEPTH: usize = 32;

/// How many complaints of a schema about one set of values are told.
const MAXIMUM_COMPLAINTS: usize = 10;

/// A chart with everything that it is tried out with.
pub(super) struct Trial<'w> {
    watched: &'w Watched,
    /// The chart, for whatever version of Kubernetes: which one the operator meets isn't known here.
    chart: Arc<Chart>,
    /// The chart's directory or archive, as messages show it.
    path: PathBuf,
    engine: Engine,
    source: Rc<dyn Source>,
    /// A cluster with nothing in it, and one with operators that charts ask for.
    clusters: [Capabilities; 2],
}

/// What came of one set of values.
enum Outcome {
    /// They render to objects.
    Works,
    /// They don't.
    Refused {
        faults: Vec<Fault>,
        /// Whether the chart says so itself: its schema asks for a value, or a template for `required` or `fail`.
        is_by_design: bool,
    },
}

/// A fault of one set of values; which check it belongs to depends on the values.
struct Fault {
    /// By what two sets of values have the same fault: the rule of a schema, or else the place.
    about: String,
    place: String,
    cause: String,
    diagnosis: Diagnosis,
}

impl<'w> Trial<'w> {
    pub(super) fn new(watched: &'w Watched) -> Self {
        Self::of(watched, &watched.chart)
    }

    /// The same chart as its next version, with nothing else changed.
    pub(super) fn of_next_version(watched: &'w Watched) -> Self {
        Self::of(watched, &cosmetic::next_version(&watched.chart))
    }

    fn of(watched: &'w Watched, chart: &Chart) -> Self {
        let mut chart = chart.clone();
        let mut metadata = chart.metadata.as_ref().clone();
        metadata.kube_version.clear();
        chart.metadata = Arc::new(metadata);
        Self {
            watched,
            chart: Arc::new(chart),
            path: plain(&watched.path),
            engine: Engine::new().with_schema_dialect(Dialect::Helm4),
            source: Rc::new(RepeatableSource::default()),
            clusters: [Capabilities::default(), with_well_known_operators()],
        }
    }

    /// Makes all checks.
    pub(super) fn check(&self, samples: &[Sample], are_written: bool, report: &mut ChartReport) {
        let defaults = Table::new();
        let mut values_that_work = None;
        let refused = match self.outcome(&defaults, RELEASE_NAME, "the chart's defaults", report) {
            None => return self.lint(None, report),
            Some(Outcome::Works) => {
                values_that_work = Some(defaults);
                None
            }
            Some(Outcome::Refused { faults, is_by_design }) => Some((faults, is_by_design)),
        };
        let mut do_all_work = true;
        for sample in samples {
            match self.sample(sample, report) {
                Ok(values) => {
                    values_that_work.get_or_insert(values);
                }
                Err(faults) => {
                    do_all_work = false;
                    // What the defaults are refused for isn't told once more.
                    let is_news = |fault: &Fault| {
                        let known = refused.iter().flat_map(|(known, _)| known);
                        !known.into_iter().any(|known| known.about == fault.about)
                    };
                    let faults = faults.into_iter().filter(is_news);
                    report.faults.extend(faults.map(|fault| ChartFault {
                        check: ChartCheck::Samples,
                        cause: if fault.place == sample.place {
                            fault.cause
                        } else {
                            format!("with {}: {}", sample.place, fault.cause)
                        },
                        place: fault.place,
                        remedy: "correct the sample, or the chart".to_owned(),
                        diagnosis: fault.diagnosis,
                    }));
                }
            }
        }
        if let Some((faults, is_by_design)) = refused {
            if is_by_design && are_written && do_all_work {
                let causes = faults
                    .iter()
                    .map(|fault| format!("{}: {}", fault.place, fault.cause));
                report.warnings.extend(causes.map(|cause| {
                    format!("{cause}; every sample says it, so the defaults may leave it open")
                }));
            } else {
                report
                    .faults
                    .extend(faults.into_iter().map(|fault| fault.of_defaults(is_by_design)));
            }
        }
        self.lint(values_that_work.as_ref(), report);
    }

    /// What the chart becomes with its defaults and with each sample, where it becomes something.
    pub(super) fn installations(&self, samples: &[Sample]) -> Vec<Installation> {
        self.renders(samples).into_iter().flatten().collect()
    }

    /// The same, with a place for each that becomes nothing.
    pub(super) fn renders(&self, samples: &[Sample]) -> Vec<Option<Installation>> {
        let defaults = self.render(&Table::new(), RELEASE_NAME, false).ok();
        let of_samples = samples.iter().map(|sample| {
            let values = self.values_of(sample).ok()?;
            self.render(&values, sample.name(), false).ok()
        });
        std::iter::once(defaults).chain(of_samples).collect()
    }

    /// Renders with a sample; returns the values that it gave.
    fn sample(&self, sample: &Sample, report: &mut ChartReport) -> Result<Table, Vec<Fault>> {
        let values = self.values_of(sample)?;
        match self.outcome(&values, sample.name(), &sample.place, report) {
            Some(Outcome::Works) => Ok(values),
            Some(Outcome::Refused { faults, .. }) => Err(faults),
            // That a template can't be parsed was told by then.
            None => Err(Vec::new()),
        }
    }

    /// The values that a sample gives the chart.
    fn values_of(&self, sample: &Sample) -> Result<Table, Vec<Fault>> {
        let said = |cause: &str| {
            vec![Fault::at(
                sample.place.clone(),
                cause.to_owned(),
                Diagnosis::default(),
            )]
        };
        let spec = match sample.resource.get("spec") {
            None | Some(Value::Null) => return Err(said("it has no spec; write spec: {} if it needs none")),
            Some(Value::Object(spec)) => spec,
            Some(_) => return Err(said("spec must be a map")),
        };
        let mut values = spec.clone();
        self.override_values(&mut values);
        // The operator joins a resource's values with the chart's before Helm does it once more.
        values::coalesce(self.chart.as_ref(), &values, &mut |_| ()).map_err(|error| said(&error.to_string()))
    }

    /// Sets what `watches.yaml` sets, but for what depends on the operator's environment.
    fn override_values(&self, values: &mut Table) {
        for (path, value) in &self.watched.watch.override_values {
            if let Some(text) = value
                .as_str()
                .filter(|text| !text.contains('$') && !text.contains("{{"))
            {
                // A path that can't be set is said by the operator, of itself and not of the chart.
                set_expression::apply(&format!("{path}={text}"), Reading::Typed, values, &mut |_| ()).ok();
            }
        }
    }

    /// Renders with values, in a cluster where that works. Faults of the schema itself go into the report; where templates
    /// can't be parsed, that goes there too, and nothing more can be known.
    fn outcome(
        &self,
        values: &Table,
        release: &str,
        setting: &str,
        report: &mut ChartReport,
    ) -> Option<Outcome> {
        let mut rendered = self.render(values, release, false);
        if let Err(InstallationError::Schema(violation)) = &rendered {
            let faulty: Vec<&ChartViolation> = violation
                .charts
                .iter()
                .filter(|chart| !matches!(chart.error, SchemaError::Complaints(_)))
                .collect();
            if !faulty.is_empty() {
                report
                    .faults
                    .extend(faulty.into_iter().map(|chart| self.schema_fault(chart)));
                let judged = violation
                    .charts
                    .iter()
                    .any(|chart| matches!(chart.error, SchemaError::Complaints(_)));
                if !judged {
                    rendered = self.render(values, release, true);
                }
            }
        }
        let error = match rendered {
            Ok(installation) => {
                let faults = self.object_faults(&installation);
                return Some(if faults.is_empty() {
                    Outcome::Works
                } else {
                    Outcome::Refused {
                        faults,
                        is_by_design: false,
                    }
                });
            }
            Err(error) => error,
        };
        if let InstallationError::Render(RenderError::Parse { error: fault }) = &error {
            report.faults.push(ChartFault {
                check: ChartCheck::Templates,
                place: format!("{}:{}", self.file(&fault.file), fault.line),
                cause: fault.message.clone(),
                remedy: format!(
                    "correct the template; baton lint {} says when it is right",
                    self.path.display()
                ),
                diagnosis: self.diagnosis(&error, values),
            });
            return None;
        }
        Some(Outcome::Refused {
            is_by_design: is_by_design(&error),
            faults: self.faults(&error, values, setting),
        })
    }

    fn render(
        &self,
        values: &Table,
        release: &str,
        skip_schema_validation: bool,
    ) -> Result<Installation, InstallationError> {
        let render = |capabilities: &Capabilities| {
            let request = InstallationRequest {
                chart: &self.chart,
                values,
                release: release_context(release, Operation::Install),
                capabilities,
                sub_notes: false,
                skip_schema_validation,
                strict: false,
            };
            installation::plan(&self.engine, &request, &self.host(), None, &mut |_| ())
        };
        let [plain, able] = &self.clusters;
        render(plain).or_else(|error| match error {
            InstallationError::Render(RenderError::Execution { .. }) => render(able).map_err(|_| error),
            error => Err(error),
        })
    }

    fn host(&self) -> Host {
        Host::new(Rc::clone(&self.source), Rc::new(NoCluster)).in_time()
    }

    /// What is wrong with values that don't render.
    fn faults(&self, error: &InstallationError, values: &Table, setting: &str) -> Vec<Fault> {
        let (place, cause) = match error {
            InstallationError::Schema(violation) => return self.complaints(violation, values, setting),
            InstallationError::Render(RenderError::Execution { file, error: fault }) => {
                let place = match &fault.innermost().place {
                    Some(place) => format!("{}:{}:{}", self.file(&place.file), place.line, place.column),
                    None => self.file(file),
                };
                (place, error.to_string())
            }
            InstallationError::Manifest { error, .. } => (self.file(&error.file), error.message.clone()),
            error => (self.path.display().to_string(), error.to_string()),
        };
        vec![Fault::at(place, cause, self.diagnosis(error, values))]
    }

    /// What schemas say against values, with the line that sets each where it is the chart's own.
    fn complaints(&self, violation: &SchemaViolation, values: &Table, setting: &str) -> Vec<Fault> {
        let is_default = values.is_empty();
        let own = self.chart.raw_values().map(|text| String::from_utf8_lossy(text));
        violation
            .complaints()
            .take(MAXIMUM_COMPLAINTS)
            .map(|(path, complaint)| {
                let (place, field) = if is_default {
                    let file = self.path.join("values.yaml");
                    let line = own.as_ref().and_then(|text| position::in_yaml(text, &path));
                    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
                    (format!("{}{line}", file.display()), field_name("", &path))
                } else {
                    (setting.to_owned(), field_name("spec", &path))
                };
                let field = if field.is_empty() {
                    "the values".to_owned()
                } else {
                    field
                };
                let rule = in_words(complaint);
                Fault {
                    about: format!("{} {rule}", json_pointer(&path)),
                    place,
                    cause: format!("values.schema.json refuses {field}: {rule}"),
                    diagnosis: Diagnosis::default(),
                }
            })
            .collect()
    }

    /// A schema that is none.
    fn schema_fault(&self, violation: &ChartViolation) -> ChartFault {
        let cause = violation.error.to_string();
        let (folder, schema) = find(&self.chart, &violation.chart, "", 0)
            .map(|(folder, chart)| (folder, chart.schema.clone().unwrap_or_default()))
            .unwrap_or_default();
        let file = self.path.join(folder).join("values.schema.json");
        let file = file.display();
        let (place, cause) = if let Some((position, fault)) = position::json_fault(&schema) {
            (format!("{file}:{position}"), format!("it is no JSON: {fault}"))
        } else {
            let (pointer, rule) = innermost_rule(&cause).unzip();
            let text = String::from_utf8_lossy(&schema);
            let position = pointer.and_then(|pointer| position::in_json(&text, pointer));
            let place = position.map_or_else(|| file.to_string(), |position| format!("{file}:{position}"));
            let rule = rule.map_or_else(|| one_line(&cause), str::to_owned);
            (place, format!("it is no schema: {rule}"))
        };
        ChartFault {
            check: ChartCheck::Schema,
            place,
            cause,
            remedy: "correct it, or take the file out of the chart".to_owned(),
            diagnosis: Diagnosis::default(),
        }
    }

    /// Documents that no API server takes for an object.
    fn object_faults(&self, installation: &Installation) -> Vec<Fault> {
        let manifests = installation
            .manifests
            .iter()
            .map(|manifest| (&manifest.name, &manifest.content));
        let hooks = installation.hooks.iter().map(|hook| (&hook.path, &hook.manifest));
        manifests
            .chain(hooks)
            .filter_map(|(file, content)| {
                let cause = object_fault(&goyaml::to_value(content))?;
                Some(Fault::at(self.file(file), cause, Diagnosis::default()))
            })
            .collect()
    }

    /// The path of a template that messages of Helm name from the chart's name on.
    pub(super) fn file(&self, name: &str) -> String {
        let inside = name.split_once('/').map_or(name, |(_, inside)| inside);
        self.path.join(inside).display().to_string()
    }

    fn diagnosis(&self, error: &InstallationError, values: &Table) -> Diagnosis {
        let mut provenance = Provenance::default();
        if let Ok(active) = chart::dependencies::activate(&self.chart, values, &mut |_| ()) {
            provenance.record_chart(&active);
        }
        let situation = Situation {
            chart: &self.chart,
            user_values: values,
            provenance: &provenance,
        };
        Diagnosis {
            // They tell users of `baton template` which flag to give.
            hints: Vec::new(),
            ..diagnosis::of_installation(error, &situation)
        }
    }
}

impl Sample {
    /// The release that the operator makes of it.
    fn name(&self) -> &str {
        let name = self.resource.pointer("/metadata/name").and_then(Value::as_str);
        name.unwrap_or(RELEASE_NAME)
    }
}

impl Fault {
    fn at(place: String, cause: String, diagnosis: Diagnosis) -> Self {
        Self {
            about: place.clone(),
            place,
            cause,
            diagnosis,
        }
    }

    fn of_defaults(self, is_by_design: bool) -> ChartFault {
        ChartFault {
            check: ChartCheck::Defaults,
            place: self.place,
            cause: format!("with the chart's defaults: {}", self.cause),
            remedy: if is_by_design {
                "give it a default, or have all of config/samples show how it is set"
            } else {
                "correct values.yaml or what refuses it"
            }
            .to_owned(),
            diagnosis: self.diagnosis,
        }
    }
}

fn release_context(name: &str, operation: Operation) -> ReleaseContext {
    ReleaseContext {
        name: name.to_owned(),
        namespace: RELEASE_NAME.to_owned(),
        operation,
        revision: 1,
    }
}

/// A chart or subchart by its name, with the folder that it is in.
fn find<'c>(chart: &'c Chart, name: &str, folder: &str, depth: usize) -> Option<(String, &'c Chart)> {
    if chart.name() == name && chart.schema.is_some() {
        return Some((folder.to_owned(), chart));
    }
    if depth >= MAXIMUM_CHART_DEPTH {
        return None;
    }
    chart.dependencies.iter().find_map(|subchart| {
        let folder = format!("{folder}charts/{}/", subchart.name());
        find(subchart, name, &folder, depth + 1)
    })
}
