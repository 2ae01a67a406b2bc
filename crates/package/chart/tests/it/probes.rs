//! Small templates with what the real Helm 3.17.3 printed for them, rendered through the whole engine.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use chart::capabilities::Capabilities;
use chart::engine::{Engine, Operation, ReleaseContext, RenderInput};
use chart::host::{Host, NoCluster};
use chart::source::SystemSource;
use chart::{File, dependencies, loader, values};
use serde_json::{Map, Value};

/// The recorded templates, where the repository's neighbour with test data is present.
fn probes() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/facts/helm-probes.jsonl");
    if path.is_file() {
        return Some(path);
    }
    let required = std::env::var("BATON_REQUIRE_CORPUS").is_ok_and(|value| value == "1");
    assert!(
        !required,
        "{} is absent, and BATON_REQUIRE_CORPUS=1 asks for it",
        path.display()
    );
    corpus::skipped(&format!("{} is absent", path.display()));
    None
}

/// How the templates of a set were wrapped before Helm rendered them.
struct Wrapping {
    chart: &'static str,
    name: &'static str,
    data: &'static str,
}

const PLAIN: Wrapping = Wrapping {
    chart: "fl",
    name: "c",
    data: ".",
};
const LANGUAGE: Wrapping = Wrapping {
    chart: "c",
    name: "case",
    data: ".Values.d",
};

impl Wrapping {
    /// Renders a template as `helm template` does, or returns the first line of the error.
    fn render(&self, template: &str, chart_values: &Value) -> Result<String, String> {
        let Wrapping { chart, name, data } = self;
        // A template cannot be defined inside another, so definitions stood outside of the wrapping.
        let (definitions, template) = template.split_at(leading_definitions(template));
        let file = |path: &str, content: String| File {
            name: path.to_owned(),
            data: content.into(),
        };
        let files = vec![
            file(
                "Chart.yaml",
                format!("apiVersion: v2\nname: {chart}\nversion: 0.1.0\nappVersion: \"1.0\"\n"),
            ),
            file("values.yaml", chart_values.to_string()),
            file(
                "templates/_c.tpl",
                format!("{definitions}{{{{define \"{name}\"}}}}{template}{{{{end}}}}"),
            ),
            file(
                "templates/a.yaml",
                format!("v: {{{{ include \"{name}\" {data} | toJson }}}}\n"),
            ),
        ];
        let chart = loader::load_files(files, &mut |_| {}).map_err(|error| error.to_string())?;
        let active =
            dependencies::activate(&chart, &Map::new(), &mut |_| {}).map_err(|error| error.to_string())?;
        let values =
            values::coalesce(&active, &Map::new(), &mut |_| {}).map_err(|error| error.to_string())?;
        let release = ReleaseContext {
            name: "r".into(),
            namespace: "default".into(),
            operation: Operation::Install,
            revision: 1,
        };
        let input = RenderInput {
            values: &values,
            release: &release,
            capabilities: &Capabilities::default(),
            strict: false,
        };
        let host = Host::new(Rc::new(SystemSource), Rc::new(NoCluster));
        let rendered = Engine::new().render(&active, &input, &host).map_err(|error| {
            format!("Error: {error}")
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned()
        })?;
        let file = rendered.first().ok_or("nothing was rendered")?;
        let json = file
            .content
            .strip_prefix(b"v: ")
            .ok_or("the line has lost its key")?;
        serde_json::from_slice(json).map_err(|error| error.to_string())
    }
}

/// Returns the length of the definition at the beginning; it ends with the first `end`.
fn leading_definitions(template: &str) -> usize {
    const END: &str = "{{end}}";
    if !template.starts_with("{{define ") {
        return 0;
    }
    template.find(END).map_or(0, |end| end + END.len())
}

#[test]
fn every_recorded_template_gives_what_helm_gave() {
    let Some(path) = probes() else { return };
    let rows = std::fs::read_to_string(&path).expect("the recorded templates can be read");
    let mut wrapping = PLAIN;
    let mut chart_values = Value::Null;
    let mut failures = Vec::new();
    let mut count = 0;
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).expect("every line is JSON");
        if let Some(values) = row.get("values") {
            (wrapping, chart_values) = match row["set"].as_str() {
                Some("L") => (LANGUAGE, serde_json::json!({ "d": values })),
                _ => (PLAIN, values.clone()),
            };
            continue;
        }
        let template = row["t"].as_str().expect("a row has a template");
        let want = match row["want"].as_str() {
            Some(output) => Ok(output.to_owned()),
            None => Err(row["err"]
                .as_str()
                .expect("a row has output or an error")
                .to_owned()),
        };
        let got = wrapping.render(template, &chart_values);
        if got != want {
            failures.push(format!("{template}\n  want {want:?}\n  got  {got:?}"));
        }
        count += 1;
    }
    assert!(count > 400, "only {count} templates are recorded");
    assert!(
        failures.is_empty(),
        "{} of {count} differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
}
