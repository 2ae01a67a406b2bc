//! `opm render`, and what else is made of a catalog: graphs and verdicts.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::program::{logged, opm};
use crate::recordings::{catalog_corpus, json};
use crate::world::World;

#[test]
fn bundles_are_rendered_as_opm_does() {
    let Some(corpus) = catalog_corpus() else {
        return;
    };
    let world = World::new();
    let listed = fs::read_to_string(corpus.join("bundles/index.tsv")).expect("an index");
    let rendered = |directory: &str, image: &str, more: &[&str]| {
        let directory = corpus.join(directory);
        let template = format!("--alpha-image-ref-template={image}");
        let arguments = [&["render", directory.to_str().expect("UTF-8"), &template], more].concat();
        opm(&world, &arguments)
    };
    for line in listed.lines().step_by(16) {
        let mut fields = line.split('\t');
        let (directory, image) = (
            fields.next().expect("a directory"),
            fields.next().expect("an image"),
        );
        let expected = corpus.join(directory.replacen("bundles", "bundles-expected", 1));
        for (ending, more) in [
            ("json", &[][..]),
            ("migrated.json", &["--migrate"]),
            (
                "migrated.json",
                &["--migrate-level=bundle-object-to-csv-metadata"],
            ),
        ] {
            let output = rendered(directory, image, more);
            let expected = fs::read(format!("{}.{ending}", expected.display())).expect("an expectation");
            assert!(output.stdout == expected, "{directory} {more:?}");
        }
    }
    let errors = fs::read_dir(corpus.join("bundles-made-expected")).expect("a directory");
    for entry in errors.map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_stem().expect("a name").to_string_lossy().into_owned();
        let only_migrated = entry.with_extension("json").exists();
        if entry.extension().is_none_or(|ending| ending != "err")
            || only_migrated
            || name.ends_with("-dir-missing")
        {
            continue;
        }
        let output = rendered(&format!("bundles-made/{name}"), "quay.io/made/bundle:x", &[]);
        let expected = fs::read_to_string(&entry).expect("an expectation");
        let told = logged(&output).replace(&format!("{}/", corpus.display()), "");
        assert_eq!(told, expected.trim_end(), "{name}");
        assert_eq!(output.status.code(), Some(1), "{name}");
    }
}

#[test]
fn a_template_names_the_images_of_bundles_that_are_not_built_yet() {
    let Some(corpus) = catalog_corpus() else {
        return;
    };
    let world = World::new();
    let bundle = corpus.join("templates/bundles/titanml/2.0.0");
    let bundle = bundle.to_str().expect("UTF-8");
    let image = |template: &str| {
        let output = opm(
            &world,
            &["render", bundle, "--alpha-image-ref-template", template],
        );
        let rendered: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| logged(&output))
            .ok()?;
        Some(rendered["image"].as_str()?.to_owned())
    };
    assert_eq!(
        image("r/{{.Package}}:v{{.Version}}{{ if eq .Name \"x\" }}!{{ end }}").as_deref(),
        Some("r/inference-stack-operator:v2.0.0")
    );
    let output = opm(
        &world,
        &["render", bundle, "--alpha-image-ref-template", "{{.Nope}}"],
    );
    assert!(
        logged(&output).contains("can't evaluate field Nope in type action.imageReferenceTemplateData"),
        "{}",
        logged(&output)
    );
    let output = opm(&world, &["render", bundle, "--alpha-image-ref-template", "{{"]);
    assert!(
        logged(&output).starts_with("invalid image reference template: template: image-ref-template:1:"),
        "{}",
        logged(&output)
    );
}

#[test]
fn catalogs_are_validated_rendered_and_drawn_as_opm_does() {
    let Some(corpus) = catalog_corpus() else {
        return;
    };
    let world = World::new();
    let mut cases: Vec<PathBuf> = fs::read_dir(corpus.join("fbc"))
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    cases.sort();
    for case in cases.iter().step_by(7) {
        let catalog = case.join("in");
        let catalog = catalog.to_str().expect("UTF-8");
        let expected = json(&case.join("expect.json"));
        for (key, arguments) in [
            ("write_json", &["render", catalog][..]),
            ("write_yaml", &["render", "-o=yaml", catalog]),
            (
                "mermaid",
                &["alpha", "render-graph", "--draw-v0-semantics", catalog],
            ),
            ("mermaid_no_v0", &["alpha", "render-graph", catalog]),
        ] {
            let Some(file) = expected[key]["file"].as_str() else {
                continue;
            };
            let output = opm(&world, arguments);
            let wanted = fs::read(case.join(file)).expect("an expectation");
            assert!(output.stdout == wanted, "{} {arguments:?}", case.display());
        }
    }
    let all = json(&corpus.join("fbc-edge/validate-summary.json"));
    let all = all.as_object().expect("cases");
    for (name, expected) in all.iter().step_by(9) {
        let catalog = corpus.join("fbc-edge").join(name).join("in");
        let catalog = catalog.to_str().expect("UTF-8");
        let error = expected["error"].as_str();
        let output = opm(&world, &["validate", catalog]);
        assert_eq!(output.status.success(), error.is_none(), "{name}");
        let line = error.map(|error| {
            format!(
                "time=\"[TIME]\" level=fatal msg={}",
                bundle::validation::log_value(error)
            )
        });
        assert_eq!(logged(&output), line.unwrap_or_default(), "{name}");

        let output = opm(&world, &["validate", catalog, "-ojson"]);
        let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        assert_eq!(report["passed"], error.is_none(), "{name}");
        assert_eq!(report["error"]["message"].as_str(), error, "{name}");
        assert!(output.stderr.is_empty(), "{name}");
    }
}
