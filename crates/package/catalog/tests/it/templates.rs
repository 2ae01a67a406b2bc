//! Every template of the corpus makes the catalog that opm makes of it, or fails with opm's text.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use bundle::files::BundleFiles;
use catalog::metadata::Metadata;
use catalog::objects::Catalog;
use catalog::rendering::{RenderedBundle, render};
use catalog::template::{Compatibility, Template, TemplateError, TemplateType, convert};
use serde_json::Value;

use crate::written;

/// The corpus's templates, and the bundles that they may name.
struct Templates {
    root: PathBuf,
    images: HashMap<String, PathBuf>,
}

impl Templates {
    fn open() -> Option<Self> {
        let root = corpus::open("catalog")?.join("catalog-corpus/templates");
        let table = fs::read_to_string(root.join("images.tsv")).expect("a table of images");
        let images = table
            .lines()
            .map(|line| line.split_once('\t').expect("two columns"))
            .map(|(image, directory)| (image.to_owned(), root.join(directory)))
            .collect();
        Some(Self { root, images })
    }

    fn lookup(&self, image: &str, migrate: bool) -> Result<RenderedBundle, String> {
        let of_reference = |error: String| format!("render reference {image:?}: {error}");
        let directory = self
            .images
            .get(image)
            .ok_or_else(|| of_reference("image not in the map".to_owned()))?;
        let files = BundleFiles::read_directory(directory).map_err(|error| error.to_string())?;
        let mut rendered = render(&files, image).map_err(|error| of_reference(error.to_string()))?;
        if migrate {
            rendered
                .migrate(Metadata::Full)
                .map_err(|error| format!("migrate: {error}"))?;
        }
        Ok(rendered)
    }

    fn render(&self, case: &Case, compatibility: Compatibility) -> Result<Catalog, TemplateError> {
        let template = Template::parse(&case.template, case.kind)?;
        let catalog = template.render(&|image| self.lookup(image, case.migrate), compatibility)?;
        for reference in template.references() {
            assert!(
                self.images.contains_key(reference),
                "{}: {reference} was not asked for",
                case.name
            );
        }
        Ok(catalog)
    }
}

struct Case {
    name: String,
    directory: PathBuf,
    template: Vec<u8>,
    kind: Option<TemplateType>,
    migrate: bool,
    error: Option<String>,
}

impl Case {
    fn read(directory: &Path) -> Self {
        let text = fs::read(directory.join("expect-info.json")).expect("an expectation");
        let info: Value = serde_json::from_slice(&text).expect("JSON");
        let template = fs::read(directory.join("template.yaml")).expect("a template");
        let kind = info["type"].as_str().expect("a type");
        Self {
            name: directory
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned(),
            directory: directory.to_owned(),
            template,
            kind: (kind != "auto").then(|| kind.parse().expect("a known type")),
            migrate: info["args"] == serde_json::json!(["--migrate"]),
            error: info["error"].as_str().map(str::to_owned),
        }
    }
}

#[test]
fn templates_make_the_catalogs_that_opm_makes() {
    let Some(templates) = Templates::open() else {
        return;
    };
    let mut failures = Vec::new();
    let mut count = 0;
    for directory in fs::read_dir(templates.root.join("cases")).expect("cases") {
        let case = Case::read(&directory.expect("a case").path());
        count += 1;
        match (templates.render(&case, Compatibility::Current), &case.error) {
            (Err(error), Some(expected)) if error.to_string() == *expected => {}
            (Err(error), expected) => {
                failures.push(format!("{}:\n  ours   {error}\n  theirs {expected:?}", case.name));
            }
            (Ok(_), Some(expected)) => failures.push(format!("{}: no error, but {expected:?}", case.name)),
            (Ok(catalog), None) => {
                for (file, ours) in [
                    ("expect.json", written::json(&catalog)),
                    ("expect.yaml", written::yaml(&catalog)),
                    ("expect.mermaid", written::mermaid(&catalog)),
                ] {
                    written::compare(&ours, &case.directory.join(file), &mut failures);
                }
            }
        }
    }
    assert!(count > 80, "every case is there");
    written::report(&failures);
}

#[test]
fn the_seed_template_makes_what_opm_1_51_made_of_it() {
    let Some(templates) = Templates::open() else {
        return;
    };
    let case = Case::read(&templates.root.join("cases/semver-titanml"));
    let catalog = templates
        .render(&case, Compatibility::Opm1_51)
        .expect("a catalog");
    let mut failures = Vec::new();
    let golden = case.directory.join("golden-opm-1.51.0.yaml");
    written::compare(&written::yaml(&catalog), &golden, &mut failures);
    written::report(&failures);
}

#[test]
fn catalogs_become_templates_as_opm_converts_them() {
    let Some(templates) = Templates::open() else {
        return;
    };
    let directory = templates.root.join("convert");
    let input = fs::read(directory.join("input.yaml")).expect("a catalog");
    let mut failures = Vec::new();
    for kind in [convert::Destination::Basic, convert::Destination::Substitutes] {
        let converted = convert::convert(input.as_slice(), kind).expect("a template");
        written::compare(
            &converted.to_json(),
            &directory.join(format!("{kind}.json")),
            &mut failures,
        );
        let yaml = converted.to_yaml().expect("YAML");
        written::compare(&yaml, &directory.join(format!("{kind}.yaml")), &mut failures);
    }
    written::report(&failures);
}
