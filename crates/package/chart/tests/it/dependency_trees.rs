//! Trees of subcharts with aliases, tags, conditions and imports against the values that Helm gave to each chart.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use chart::dependencies::{ActiveChart, activate};
use chart::values::{Table, coalesce};
use chart::warning::Warning;
use chart::{Chart, File, loader};
use serde_json::Value;

/// One row: the files of a chart, the user's values, and the values that each chart's templates saw.
#[derive(serde::Deserialize)]
struct Row {
    files: BTreeMap<String, String>,
    user: Table,
    values: BTreeMap<String, Value>,
    warnings: Vec<String>,
}

fn load(files: &BTreeMap<String, String>) -> Arc<Chart> {
    let files = files.iter().map(|(name, content)| File {
        name: name.clone(),
        data: Bytes::from(content.clone()),
    });
    loader::load_files(files.collect(), &mut |_| {}).expect("a chart")
}

fn collect(chart: &ActiveChart, values: &Table, seen: &mut BTreeMap<String, Value>) {
    seen.insert(chart.full_path.clone(), Value::Object(values.clone()));
    for subchart in &chart.dependencies {
        let section = values
            .get(subchart.name())
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        collect(subchart, &section, seen);
    }
}

/// Numbers are floats here, whole ones look like integers in the table.
fn canonical(value: &Value) -> String {
    goyaml::json::to_string(value, goyaml::json::Escape::None).expect("JSON")
}

#[test]
fn every_chart_gets_the_values_that_helm_gives_it() {
    let mut wrong = Vec::new();
    for (number, line) in include_str!("data/dependency_trees.jsonl").lines().enumerate() {
        let row: Row = serde_json::from_str(line).expect("a row of the table");
        let mut warnings = Vec::new();
        let loaded = load(&row.files);
        let mut warn = |warning: Warning| warnings.push(warning.to_string());
        let active = activate(&loaded, &row.user, &mut warn).expect("a tree");
        let values = coalesce(&active, &row.user, &mut warn).expect("values");
        let mut seen = BTreeMap::new();
        collect(&active, &values, &mut seen);
        let names: Vec<&String> = seen.keys().collect();
        assert_eq!(names, row.values.keys().collect::<Vec<_>>(), "row {number}");
        for (name, values) in &seen {
            if canonical(values) != canonical(&row.values[name]) {
                wrong.push(format!(
                    "row {number}, {name}:\n  {values}\n  {}",
                    row.values[name]
                ));
            }
        }
        warnings.sort();
        if warnings != row.warnings {
            wrong.push(format!("row {number}: {warnings:#?}\n{:#?}", row.warnings));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_render_leaves_the_loaded_chart_as_it_was() {
    let row: Row = serde_json::from_str(
        include_str!("data/dependency_trees.jsonl")
            .lines()
            .next()
            .expect("a first row"),
    )
    .expect("a row of the table");
    let loaded = load(&row.files);
    let before = format!("{loaded:?}");
    activate(&loaded, &row.user, &mut |_| {}).expect("a tree");
    assert_eq!(format!("{loaded:?}"), before);
}

#[test]
fn imports_that_lead_in_a_circle_are_refused() {
    let files = BTreeMap::from([
        (
            "Chart.yaml".to_owned(),
            "{apiVersion: v2, name: r, version: 1.0.0, dependencies: [{name: s, version: '*', import-values: \
             [{child: a.b, parent: f}, {child: a, parent: f}]}]}"
                .to_owned(),
        ),
        ("charts/s/Chart.yaml".to_owned(), "{apiVersion: v2, name: s, version: 1.0.0}".to_owned()),
        ("charts/s/values.yaml".to_owned(), "a: {b: {c: 1}}".to_owned()),
    ]);
    let error = activate(&load(&files), &Table::new(), &mut |_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "import-values lead in a circle or to too many values at f.b"
    );
}

#[test]
fn charts_are_shared_between_threads() {
    fn assert_shareable<T: Send + Sync>() {}
    assert_shareable::<Chart>();
    assert_shareable::<ActiveChart>();
}
