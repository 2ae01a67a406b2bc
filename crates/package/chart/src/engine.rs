//! The render: every template of a chart and its subcharts, executed in Helm's order with Helm's scopes.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use bytes::Bytes;
use gotemplate::error::shortened;
use gotemplate::{
    Dialect, ExecutionError, Executor, Functions, MAX_STEPS, Map, MissingKey, Observer, Options, ParseError,
    Parsed, Templates, Value,
};

use crate::capabilities::Capabilities;
use crate::context::{VALUES, capabilities_value, chart_value, files_value, find_table};
use crate::dependencies::ActiveChart;
use crate::functions::{self, rendering};
use crate::host::Host;
use crate::manifest::Heads;
use crate::schema::{self, SchemaViolation, Schemas};
use crate::values::{GLOBAL_KEY, Table};

/// The name of the set of templates, which Helm's messages mention.
pub(crate) const SET_NAME: &str = "gotpl";

/// What Go prints for no value; Helm takes it out of everything it renders.
const NO_VALUE: &[u8] = b"<no value>";

/// How many bytes of sources the engine keeps parsed between renders.
const MAX_CACHED_SOURCE_BYTES: usize = 64 << 20;

/// What is being done with a release, as far as templates can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new release is made: `.Release.IsInstall` is true.
    Install,
    /// An earlier revision is replaced: `.Release.IsUpgrade` is true.
    Upgrade,
    /// The chart is only looked at: neither is true.
    Lint,
}

/// What `.Release` says.
#[derive(Clone, Debug)]
pub struct ReleaseContext {
    /// The name of the release.
    pub name: String,
    /// The namespace it goes to.
    pub namespace: String,
    /// What is being done with the release.
    pub operation: Operation,
    /// Which revision it is, from 1.
    pub revision: i64,
}

/// Everything that a render depends on, apart from the chart.
pub struct RenderInput<'input> {
    /// The values, coalesced with the chart's own.
    pub values: &'input Table,
    /// What `.Release` says.
    pub release: &'input ReleaseContext,
    /// What `.Capabilities` says.
    pub capabilities: &'input Capabilities,
    /// Whether a missing key is an error.
    pub strict: bool,
}

/// A rendered template file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedFile {
    /// The template's path, from the root chart's name on.
    pub name: String,
    /// What it printed.
    pub content: Bytes,
}

/// Why a render failed; prints as Helm 3.17 does.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A template cannot be parsed.
    #[error("{}", parse_text(.error))]
    Parse {
        /// Go's error.
        error: ParseError,
    },
    /// A template failed while it was executed.
    #[error("{}", execution_text(.error))]
    Execution {
        /// The template file that was being rendered.
        file: String,
        /// Go's error.
        error: Box<ExecutionError>,
    },
}

fn parse_text(error: &ParseError) -> String {
    let text = error.to_string();
    let message = text.rsplit(": ").next().unwrap_or_default();
    shortened(format!(
        "parse error at ({}:{}): {message}",
        error.file, error.line
    ))
}

/// Cuts the text of `fail` and `required` out of the error around it, as Helm does.
fn execution_text(error: &ExecutionError) -> String {
    let text = error.to_string();
    let mut parts = text.splitn(3, ": ");
    if let (Some(_), Some(location), Some(rest)) = (parts.next(), parts.next(), parts.next())
        && error.place.is_some()
        && let Some((_, marked)) = rest.split_once(rendering::MESSAGE_START)
        && let Some((message, _)) = marked.rsplit_once(rendering::MESSAGE_END)
    {
        return shortened(format!("execution error at ({location}): {message}"));
    }
    // Each of many templates within templates has its place in it.
    shortened(text)
}

/// Returns the text without Go's marks of missing values; none where it has none.
pub(crate) fn without_no_value(text: &[u8]) -> Option<Vec<u8>> {
    let finder = memchr::memmem::Finder::new(NO_VALUE);
    let mut kept_from = 0;
    let mut cleaned = Vec::new();
    for found in finder.find_iter(text) {
        cleaned.extend_from_slice(&text[kept_from..found]);
        kept_from = found + NO_VALUE.len();
    }
    if kept_from == 0 {
        return None;
    }
    cleaned.extend_from_slice(&text[kept_from..]);
    Some(cleaned)
}

/// Every function that templates can call.
pub(crate) fn functions() -> &'static Functions {
    static FUNCTIONS: LazyLock<Functions> = LazyLock::new(|| {
        let mut all = Functions::default();
        all.extend(functions::all());
        all
    });
    &FUNCTIONS
}

/// Returns the names of all template functions, sorted.
pub fn function_names() -> Vec<&'static str> {
    functions().names()
}

/// Renders charts, and keeps their templates parsed for the next render.
#[derive(Default)]
pub struct Engine {
    parsed: Mutex<ParsedSources>,
    heads: Heads,
    schemas: Schemas,
    schema_dialect: schema::Dialect,
    max_steps: Option<u64>,
}

/// Parsed sources, by their name and place in memory. An entry holds its source, so the place stays its own.
#[derive(Default)]
struct ParsedSources {
    by_source: HashMap<(String, usize, usize), (Bytes, Parsed)>,
    bytes: usize,
}

struct TemplateFile<'chart> {
    name: String,
    source: &'chart Bytes,
    base_path: String,
    /// What the template sees as `.`; shared by the templates of one chart.
    scope: Map,
}

impl Engine {
    /// Returns an engine that has parsed nothing yet.
    pub fn new() -> Engine {
        Engine::default()
    }

    /// Returns the heads of manifests that were rendered before.
    pub(crate) fn heads(&self) -> &Heads {
        &self.heads
    }

    /// Follows another Helm in what schemas mean, and in what is said about values.
    #[must_use]
    pub fn with_schema_dialect(mut self, dialect: schema::Dialect) -> Engine {
        self.schema_dialect = dialect;
        self
    }

    /// Checks values against the schemas of a chart and its subcharts, which are kept compiled for the next time.
    pub fn check_values(&self, chart: &ActiveChart, values: &Table) -> Result<(), SchemaViolation> {
        self.schemas.validate_chart(chart, values, self.schema_dialect)
    }

    /// Limits how much work a render may be, below the limit that all templates have.
    #[must_use]
    pub fn with_max_steps(mut self, max_steps: u64) -> Engine {
        self.max_steps = Some(max_steps);
        self
    }

    /// Renders every template of `chart` and its subcharts, in the order in which Helm executes them.
    pub fn render(
        &self,
        chart: &ActiveChart,
        input: &RenderInput<'_>,
        host: &Host,
    ) -> Result<Vec<RenderedFile>, RenderError> {
        self.render_observed(chart, input, host, None)
    }

    /// Renders, and tells `observer` what is read and written.
    pub fn render_observed(
        &self,
        chart: &ActiveChart,
        input: &RenderInput<'_>,
        host: &Host,
        observer: Option<&dyn RenderObserver>,
    ) -> Result<Vec<RenderedFile>, RenderError> {
        let values = Value::from(&serde_json::Value::Object(input.values.clone()));
        let values = values.as_map().cloned().unwrap_or_default();
        if let Some(observer) = observer {
            observer.starts(&values);
        }
        let root = Scopes {
            input,
            files: Vec::new(),
        };
        let files = root.collect(chart, &values);
        let mut templates = Templates::default();
        for file in &files {
            let parsed = self
                .parse(&file.name, file.source)
                .map_err(|error| RenderError::Parse { error })?;
            templates.add(&parsed);
        }
        let options = Options {
            missing_key: if input.strict {
                MissingKey::Error
            } else {
                MissingKey::Zero
            },
            dialect: Dialect::Go1_23,
            max_steps: self.max_steps.unwrap_or(MAX_STEPS),
            ..Options::default()
        };
        let mut executor = Executor::new(Arc::new(templates), options, host);
        if let Some(observer) = observer {
            executor.observe(observer.as_observer());
        }
        if let Some(interrupt) = &host.interrupt {
            executor.interrupt_by(interrupt.as_ref());
        }
        let mut rendered = Vec::new();
        for file in &files {
            if is_partial(&file.name) {
                continue;
            }
            if let Some(observer) = observer {
                observer.starts_file(&file.name);
            }
            let template = Map::new();
            template.insert("Name", Value::string(file.name.as_str()));
            template.insert("BasePath", Value::string(file.base_path.as_str()));
            file.scope.insert("Template", Value::Map(template.named(&VALUES)));
            let scope = Value::Map(file.scope.named(&VALUES));
            let output = executor
                .execute(file.name.as_bytes(), SET_NAME, scope)
                .map_err(|error| RenderError::Execution {
                    file: file.name.clone(),
                    error,
                })?;
            if let Some(observer) = observer {
                observer.ends_file(&output);
            }
            let output = without_no_value(&output).unwrap_or(output);
            rendered.push(RenderedFile {
                name: file.name.clone(),
                content: Bytes::from(output),
            });
        }
        Ok(rendered)
    }

    fn parse(&self, name: &str, source: &Bytes) -> Result<Parsed, ParseError> {
        let key = (name.to_owned(), source.as_ptr() as usize, source.len());
        let mut cache = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, parsed)) = cache.by_source.get(&key) {
            return Ok(parsed.clone());
        }
        let parsed = Parsed::new(name, source.clone(), functions())?;
        if cache.bytes + source.len() > MAX_CACHED_SOURCE_BYTES {
            cache.by_source.clear();
            cache.bytes = 0;
        }
        cache.bytes += source.len();
        cache.by_source.insert(key, (source.clone(), parsed.clone()));
        Ok(parsed)
    }
}

/// Hears what a render does.
pub trait RenderObserver {
    /// A render starts with these values; maps inside can be recognised by [`Map::identity`].
    fn starts(&self, values: &Map);

    /// A template file starts.
    fn starts_file(&self, name: &str);

    /// The template file that was started last has printed this; marks of missing values are still in it.
    fn ends_file(&self, output: &[u8]);

    /// Hears what the templates read and write.
    fn as_observer(&self) -> &dyn Observer;
}

/// Returns whether a template only defines others and prints nothing itself.
fn is_partial(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|base| base.starts_with('_'))
}

/// Collects the template files of a chart and its subcharts, with what each sees.
struct Scopes<'chart, 'input> {
    input: &'input RenderInput<'input>,
    files: Vec<TemplateFile<'chart>>,
}

impl<'chart> Scopes<'chart, '_> {
    fn collect(mut self, chart: &'chart ActiveChart, values: &Map) -> Vec<TemplateFile<'chart>> {
        let release = self.release();
        let capabilities = capabilities_value(self.input.capabilities);
        let root = ScopeValues {
            release,
            capabilities,
        };
        self.add_chart(chart, &values.named(&VALUES), &root);
        // A later chart of the same path replaces an earlier one, as in Go's map.
        let by_name: BTreeMap<String, TemplateFile<'chart>> = self
            .files
            .into_iter()
            .map(|file| (file.name.clone(), file))
            .collect();
        let mut files: Vec<_> = by_name.into_values().collect();
        // Deepest first, and within a depth from the end of the alphabet: what is executed first has changed the
        // values for what comes later, and of two definitions the last parsed one stays.
        files.sort_by(|left, right| {
            let depth = |name: &str| name.matches('/').count();
            depth(&right.name)
                .cmp(&depth(&left.name))
                .then_with(|| right.name.cmp(&left.name))
        });
        files
    }

    fn release(&self) -> Value {
        let release = self.input.release;
        Value::map([
            ("Name", Value::string(release.name.as_str())),
            ("Namespace", Value::string(release.namespace.as_str())),
            ("IsUpgrade", Value::Bool(release.operation == Operation::Upgrade)),
            ("IsInstall", Value::Bool(release.operation == Operation::Install)),
            ("Revision", Value::int(release.revision)),
            ("Service", Value::from("Helm")),
        ])
    }

    fn add_chart(&mut self, chart: &'chart ActiveChart, values: &Map, shared: &ScopeValues) -> Map {
        let path = &chart.full_path;
        let subcharts = Map::new();
        let scope = Map::new();
        scope.insert("Chart", chart_value(&chart.metadata, chart.is_root));
        scope.insert("Files", files_value(&chart.chart.files));
        scope.insert("Release", shared.release.clone());
        scope.insert("Capabilities", shared.capabilities.clone());
        scope.insert("Values", Value::Map(values.clone()));
        scope.insert("Subcharts", Value::Map(subcharts.clone()));
        for child in &chart.dependencies {
            let child_values = find_table(values, child.name())
                .unwrap_or_default()
                .named(&VALUES);
            share_globals(values, &child_values);
            let child_scope = self.add_chart(child, &child_values, shared);
            subcharts.insert(child.name(), Value::Map(child_scope));
        }
        let is_library = chart.metadata.chart_type.eq_ignore_ascii_case("library");
        let base_path = format!("{path}/templates");
        for template in chart.chart.templates.iter() {
            if is_library && !is_partial(&template.name) {
                continue;
            }
            self.files.push(TemplateFile {
                name: format!("{path}/{}", template.name),
                source: &template.data,
                base_path: base_path.clone(),
                scope: scope.clone(),
            });
        }
        scope
    }
}

/// Makes a subchart see the very tables that its parent has two levels below `global`.
///
/// Helm copies `global` and the tables in it for every subchart, but not what is inside those: what one chart's
/// templates change there, all see.
fn share_globals(parent: &Map, child: &Map) {
    let globals = |values: &Map| {
        values
            .get(GLOBAL_KEY)
            .and_then(|globals| globals.as_map().cloned())
    };
    let (Some(parent), Some(child)) = (globals(parent), globals(child)) else {
        return;
    };
    for (key, table) in parent.entries() {
        let (Value::Map(table), Some(Value::Map(copy))) = (table, child.get(&key)) else {
            continue;
        };
        for (name, inner) in table.entries() {
            if matches!(inner, Value::Map(_)) && matches!(copy.get(&name), Some(Value::Map(_))) {
                copy.insert(name, inner);
            }
        }
    }
}

/// What all charts of a render see alike.
struct ScopeValues {
    release: Value,
    capabilities: Value,
}
