//! Charts with one fault each against what `helm lint` said about them.

use bytes::Bytes;
use chart::dependencies::ActiveChart;
use chart::lint::{LintInput, lint};
use chart::values::Table;

/// One row: the files of a chart without template actions, and the lines that Helm printed.
#[derive(serde::Deserialize)]
struct Row {
    files: std::collections::BTreeMap<String, String>,
    messages: String,
}

/// These charts render to themselves.
fn render(chart: &ActiveChart, files: &mut Vec<(String, Bytes)>) {
    let path = &chart.full_path;
    files.extend(
        chart
            .chart
            .templates
            .iter()
            .map(|file| (format!("{path}/{}", file.name), file.data.clone())),
    );
    chart
        .dependencies
        .iter()
        .for_each(|subchart| render(subchart, files));
}

#[test]
fn charts_are_linted_as_helm_lints_them() {
    let mut wrong = Vec::new();
    for line in include_str!("data/lint.jsonl").lines() {
        let row: Row = serde_json::from_str(line).expect("a row of the table");
        let directory = tempfile::tempdir().expect("a directory");
        for (name, content) in &row.files {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, content).expect("a file");
        }
        let values = Table::new();
        let input = LintInput {
            directory: directory.path(),
            values: &values,
            kubernetes: None,
            skip_schema_validation: false,
        };
        let mut rendering = |chart: &ActiveChart, _: &Table| {
            let mut files = Vec::new();
            render(chart, &mut files);
            Ok(files)
        };
        let messages: Vec<String> = lint(&input, &mut rendering, &mut |_| {})
            .iter()
            .map(ToString::to_string)
            .collect();
        let got = messages
            .join("\n")
            .replace(&*directory.path().to_string_lossy(), "CHART");
        let got = got.trim_end_matches('\n');
        if got != row.messages {
            wrong.push(format!("{line}\n    got {got}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn deprecations_depend_on_the_version_of_kubernetes() {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(directory.path().join("templates")).expect("a directory");
    let write =
        |name: &str, content: &str| std::fs::write(directory.path().join(name), content).expect("a file");
    write(
        "Chart.yaml",
        "apiVersion: v2\nname: x\nversion: 1.0.0\nicon: https://x/y\n",
    );
    write("values.yaml", "a: 1\n");
    write(
        "templates/a.yaml",
        "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n",
    );
    let messages = |kubernetes| {
        let values = Table::new();
        let input = LintInput {
            directory: directory.path(),
            values: &values,
            kubernetes,
            skip_schema_validation: false,
        };
        let mut rendering = |chart: &ActiveChart, _: &Table| {
            let mut files = Vec::new();
            render(chart, &mut files);
            Ok(files)
        };
        lint(&input, &mut rendering, &mut |_| {})
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(messages(Some((1, 20))), [""; 0]);
    assert_eq!(
        messages(Some((1, 21))),
        [
            "[WARNING] templates/a.yaml: policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in \
          v1.25+; use policy/v1 PodDisruptionBudget"
        ]
    );
}
