//! Charts of all kinds, most of them faulty, against what Helm printed about them.

use std::path::Path;

use bytes::Bytes;
use chart::manifest::{self, INSTALL_ORDER};
use chart::values::Table;
use chart::warning::Warning;
use chart::{crds, dependencies, loader, schema, values};

/// One row: the files of a chart without template actions, and what `helm template` printed.
#[derive(serde::Deserialize)]
struct Row {
    files: std::collections::BTreeMap<String, String>,
    crds: bool,
    stdout: String,
    stderr: String,
}

/// Does what `helm template` does, but for executing templates, which these charts do not need.
fn template(directory: &Path, with_crds: bool, warn: &mut dyn FnMut(Warning)) -> Result<String, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let loaded = loader::load(directory, warn).map_err(|error| text(&error))?;
    if !loaded.metadata.is_installable() {
        return Err(format!(
            "{} charts are not installable",
            loaded.metadata.chart_type
        ));
    }
    dependencies::check(&loaded).map_err(|missing| missing.advice())?;
    let active = dependencies::activate(&loaded, &Table::new(), warn).map_err(|error| text(&error))?;
    let coalesced = values::coalesce(&active, &Table::new(), warn).map_err(|error| text(&error))?;
    schema::validate_chart(&active, &coalesced).map_err(|error| text(&error))?;
    let mut files = Vec::new();
    collect(&active, &mut files);
    let sorted = manifest::sort(
        files.iter().map(|(name, data)| (name.as_str(), data)),
        INSTALL_ORDER,
        &chart::manifest::Heads::default(),
        warn,
    )
    .map_err(|error| format!("{error}\n\nUse --debug flag to render out invalid YAML"))?;
    let mut stream = Vec::new();
    let mut write =
        |name: &str, data: &[u8]| manifest::write_document(&mut stream, name, data).expect("memory");
    if with_crds {
        for crd in crds::crds(&active) {
            write(&crd.file_name, &crd.data);
        }
    }
    for manifest in &sorted.manifests {
        write(&manifest.name, &manifest.content);
    }
    let mut output = manifest::trim_space(&Bytes::from(stream)).to_vec();
    output.push(b'\n');
    for hook in &sorted.hooks {
        manifest::write_document(&mut output, &hook.path, &hook.manifest).expect("memory");
    }
    Ok(String::from_utf8_lossy(&output).into_owned())
}

fn collect(active: &dependencies::ActiveChart, files: &mut Vec<(String, Bytes)>) {
    let templates = active
        .chart
        .templates
        .iter()
        .filter(|file| !file.name.ends_with("NOTES.txt"));
    files.extend(templates.map(|file| (format!("{}/{}", active.full_path, file.name), file.data.clone())));
    active
        .dependencies
        .iter()
        .for_each(|subchart| collect(subchart, files));
}

#[test]
fn charts_are_read_as_helm_reads_them() {
    let mut wrong = Vec::new();
    for line in include_str!("data/charts.jsonl").lines() {
        let row: Row = serde_json::from_str(line).expect("a row of the table");
        let directory = tempfile::tempdir().expect("a directory");
        for (name, content) in &row.files {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, content).expect("a file");
        }
        let mut log = String::new();
        let outcome = template(directory.path(), row.crds, &mut |warning| {
            log.extend([warning.to_string(), "\n".to_owned()]);
        });
        let stdout = match outcome {
            Ok(stdout) => stdout,
            Err(error) => {
                log.extend(["Error: ", &error, "\n"]);
                String::new()
            }
        };
        let log = log.replace(&*directory.path().to_string_lossy(), "CHART");
        // The remark on deprecated charts is the command line's.
        let expected = row.stderr.replace("WARNING: This chart is deprecated\n", "");
        if (stdout.as_str(), log.as_str()) != (row.stdout.as_str(), expected.as_str()) {
            wrong.push(format!("{line}\n    got {stdout:?} {log:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
