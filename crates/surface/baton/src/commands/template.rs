//! `baton template`: renders a chart and prints the manifests.

mod flags;
mod output;
mod post_renderer;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use chart::capabilities::Capabilities;
use chart::diagnosis::{self, Situation};
use chart::engine::{Engine, Operation, ReleaseContext, RenderObserver};
use chart::explanation::{self, Document, Recorder};
use chart::host::{Host, NoCluster};
use chart::installation::{self, Installation, InstallationError, InstallationRequest};
use chart::provenance::Provenance;
use chart::source::SystemSource;
use chart::value_options::{self, ValueOptions};
use chart::values::Table;
use chart::{Chart, dependencies, loader, name_template};

pub(crate) use self::flags::Template;
use self::output::Rendered;
use self::post_renderer::PostRenderer;
use super::dependency_files;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// What Helm calls a release that nobody gave a name.
const DEFAULT_RELEASE_NAME: &str = "release-name";

/// What Helm adds to errors that happen once rendering has begun.
const DEBUG_ADVICE: &str = "\n\nUse --debug flag to render out invalid YAML";

impl Template {
    pub(crate) fn run(&self, terminal: &mut Terminal) -> Result<(), Failure> {
        self.refuse_what_needs_a_network()?;
        let post_renderer = self.post_renderer()?;
        let kube_version = self.cluster.kube_version()?;
        let (name, chart_name) = self.name_and_chart()?;
        let path = loader::locate(chart_name)?;
        let options = self.values.options()?;
        let files = ValueFiles::default();
        let values = options.merge(&mut |name| files.read(name), None)?;
        let (chart, before) = self.load(&path, terminal)?;

        let mut capabilities = Capabilities::default();
        if let Some(kube_version) = kube_version {
            capabilities.kube_version = kube_version;
        }
        capabilities.api_versions.extend(self.api_versions()?);
        let request = InstallationRequest {
            chart: &chart,
            values: &values,
            release: ReleaseContext {
                name,
                namespace: self.cluster.namespace(),
                operation: if self.is_upgrade {
                    Operation::Upgrade
                } else {
                    Operation::Install
                },
                revision: 1,
            },
            capabilities: &capabilities,
            sub_notes: self.render_subchart_notes,
            skip_schema_validation: self.skip_schema_validation,
            strict: false,
        };
        let recorder = self.explain.then(Recorder::default);
        let observer = recorder.as_ref().map(|recorder| recorder as &dyn RenderObserver);
        let host = Host::new(Rc::new(SystemSource), Rc::new(NoCluster)).in_time();
        let outcome = installation::plan(&Engine::new(), &request, &host, observer, &mut |warning| {
            terminal.remark(warning);
        });
        let provenance = || provenance(&chart, &values, &options, &files);
        match outcome {
            Ok(installation) => {
                let comments = recorder.map(|recorder| explain(recorder, &installation, &provenance()));
                let rendered = Rendered::new(
                    self,
                    &request.release.name,
                    &installation,
                    &comments.unwrap_or_default(),
                );
                rendered.deliver(before, post_renderer.as_ref(), terminal)
            }
            Err(error) => self.fail(&error, &request, &provenance(), terminal),
        }
    }

    /// Reports an error in the words of Helm, and below it what baton knows more.
    fn fail(
        &self,
        error: &InstallationError,
        request: &InstallationRequest<'_>,
        provenance: &Provenance,
        terminal: &mut Terminal,
    ) -> Result<(), Failure> {
        let mut text = error.to_string();
        if is_from_rendering(error) {
            if self.is_debugging() {
                terminal.print(&output::unsorted(error))?;
            } else {
                text.push_str(DEBUG_ADVICE);
            }
        }
        let situation = Situation {
            chart: request.chart,
            user_values: request.values,
            provenance,
        };
        Err(Failure::with_diagnosis(
            text,
            diagnosis::of_installation(error, &situation),
        ))
    }

    /// The release's name and the chart's, out of one or two arguments and the flags.
    fn name_and_chart(&self) -> Result<(String, &str), Failure> {
        match self.arguments.as_slice() {
            [] => Err(Failure::new(
                "\"baton template\" requires at least 1 argument\n\nUsage:  baton template [NAME] CHART [flags]",
            )),
            [chart] => match &self.name_template {
                Some(template) if !template.is_empty() => Ok((name_template::render(template)?, chart)),
                _ => Ok((DEFAULT_RELEASE_NAME.to_owned(), chart)),
            },
            [_, _] if self.generate_name => {
                Err(Failure::new("cannot set --generate-name and also specify a name"))
            }
            [_, _]
                if self
                    .name_template
                    .as_ref()
                    .is_some_and(|template| !template.is_empty()) =>
            {
                Err(Failure::new("cannot set --name-template and also specify a name"))
            }
            [name, chart] => Ok((name.clone(), chart)),
            [_, _, more @ ..] => Err(Failure::new(format!(
                "expected at most two arguments, unexpected arguments: {}",
                more.join(", ")
            ))),
        }
    }

    /// Loads the chart and checks that it can be installed and has all its dependencies. The text is what Helm prints
    /// about updating them.
    fn load(&self, path: &Path, terminal: &mut Terminal) -> Result<(Arc<Chart>, String), Failure> {
        let load = |terminal: &mut Terminal| loader::load(path, &mut |warning| terminal.remark(warning));
        let chart = load(terminal)?;
        let kind = chart.metadata.chart_type.as_str();
        if !matches!(kind, "" | "application") {
            return Err(Failure::new(format!("{kind} charts are not installable")));
        }
        if chart.metadata.deprecated {
            terminal.remark("WARNING: This chart is deprecated");
        }
        match dependencies::check(&chart) {
            Ok(()) => Ok((chart, String::new())),
            Err(_) if self.dependency_update => {
                let update = dependency_files::update(path, terminal)?;
                let text = format!(
                    "Saving {} charts\nDeleting outdated charts\n",
                    update.dependencies
                );
                let chart = load(terminal).map_err(|error| {
                    Failure::new(format!("failed reloading chart after repo update: {error}"))
                })?;
                Ok((chart, text))
            }
            Err(missing) => Err(Failure::with_hint(
                missing.advice(),
                "charts in directories are packed by --dependency-update",
            )),
        }
    }

    fn post_renderer(&self) -> Result<Option<PostRenderer>, Failure> {
        match self.post_renderer.as_deref() {
            None | Some("") if !self.post_renderer_args.is_empty() => Err(Failure::new(
                "--post-renderer-args is given, but --post-renderer is not",
            )),
            None | Some("") => Ok(None),
            Some(program) => PostRenderer::find(program, &self.post_renderer_args).map(Some),
        }
    }
}

/// The files that flags name, read once each: standard input can be read only once.
#[derive(Default)]
struct ValueFiles {
    contents: RefCell<HashMap<String, Result<Vec<u8>, String>>>,
}

impl ValueFiles {
    fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        let mut contents = self.contents.borrow_mut();
        contents
            .entry(name.to_owned())
            .or_insert_with(|| value_options::read_file(name))
            .clone()
    }
}

/// Whether Helm had a release in its hands when the error happened; it then speaks of `--debug`.
fn is_from_rendering(error: &InstallationError) -> bool {
    matches!(
        error,
        InstallationError::KubeVersion(_) | InstallationError::Render(_) | InstallationError::Manifest { .. }
    )
}

/// Finds out who set which value; only explanations and errors need it.
fn provenance(chart: &Arc<Chart>, values: &Table, options: &ValueOptions, files: &ValueFiles) -> Provenance {
    let mut provenance = Provenance::default();
    if let Ok(active) = dependencies::activate(chart, values, &mut |_| {}) {
        provenance.record_chart(&active);
    }
    // The same options were merged before, so there is nothing new to report.
    options
        .merge(&mut |name| files.read(name), Some(&mut provenance))
        .ok();
    provenance
}

/// Writes the comments for the manifests and then the hooks of an installation.
fn explain(recorder: Recorder, installation: &Installation, provenance: &Provenance) -> Vec<String> {
    let manifests = installation.manifests.iter().map(|manifest| Document {
        source: &manifest.name,
        kind: &manifest.head.kind,
        content: &manifest.content,
    });
    let hooks = installation.hooks.iter().map(|hook| Document {
        source: &hook.path,
        kind: &hook.kind,
        content: &hook.manifest,
    });
    let documents: Vec<Document<'_>> = manifests.chain(hooks).collect();
    explanation::explain(recorder, &documents, &installation.values, provenance)
}
