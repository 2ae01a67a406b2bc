//! `opm alpha render-template`, and other commands that pull bundles from a registry.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bundle::files::BundleFiles;
use bundle::generation::operator_image::bundle_image;
use image::content::ContentStore;
use image::policy::PolicySource;
use image::reference::Reference;
use image::registry::Registry;
use image::remote::{Remote, RemoteOptions};
use image::surroundings::Surroundings;

use crate::program::{logged, opm, refused, text};
use crate::recordings::{catalog_corpus, json};
use crate::world::World;

/// The label that tells a bundle's image from a catalog's.
const PACKAGE_LABEL: &str = "operators.operatorframework.io.bundle.package.v1";

/// Publishes bundles in a registry, each below the name of the host that its name has.
async fn publish(host: &str, bundles: &BTreeMap<String, PathBuf>, folder: &Path) {
    let store = ContentStore::temporary().expect("a store");
    let options = RemoteOptions::from_surroundings(&Surroundings::under(folder), &PolicySource::Optional)
        .expect("options");
    let remote = Remote::new(options);
    for (name, directory) in bundles {
        let files = BundleFiles::read_directory(directory).expect("a bundle");
        let annotations = files
            .get("metadata/annotations.yaml")
            .and_then(|bytes| goyaml::to_value(bytes).ok())
            .unwrap_or_default();
        let mut labels: BTreeMap<String, String> = annotations["annotations"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect();
        labels.entry(PACKAGE_LABEL.to_owned()).or_default();
        let files = files
            .iter()
            .map(|(path, bytes)| (path.to_owned(), bytes.to_vec()))
            .collect();
        let built = bundle_image(&files, &labels, &store).expect("an image");
        let reference = Reference::parse(&format!("{host}/{name}")).expect("a reference");
        remote
            .push(&store, &built.descriptor, &reference)
            .await
            .expect("published");
    }
}

/// A world whose settings lead from the hosts of the corpus to a registry on this machine.
fn mirrored(host: &str) -> World {
    let entry = |prefix: &str| {
        format!("[[registry]]\nprefix = \"{prefix}\"\nlocation = \"{host}/{prefix}\"\ninsecure = true\n\n")
    };
    World::new()
        .file("registries.conf", entry("docker.io") + &entry("quay.io"))
        .file(
            "home/.config/containers/policy.json",
            r#"{"default": [{"type": "insecureAcceptAnything"}]}"#,
        )
}

#[test]
fn templates_are_rendered_from_bundles_in_a_registry() {
    /// Templates of every kind, with and without migration, and mistakes in each stage.
    const CASES: [&str; 12] = [
        "semver-titanml",
        "semver-titanml-auto",
        "semver-titanml-migrate",
        "semver-example-a-both",
        "semver-release-versions",
        "semver-err-duplicate-name",
        "semver-err-schema",
        "basic-ok",
        "basic-ok-migrate",
        "basic-err-schema-auto",
        "basic-no-entries",
        "substitutes-chain",
    ];
    let Some(corpus) = catalog_corpus() else {
        return;
    };
    let templates = corpus.join("templates");
    let read = |case: &str| {
        fs::read_to_string(templates.join("cases").join(case).join("template.yaml")).expect("a template")
    };
    let needed: String = CASES.iter().map(|case| read(case)).collect();
    let bundles: BTreeMap<String, PathBuf> = fs::read_to_string(templates.join("images.tsv"))
        .expect("a list")
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter(|(image, _)| needed.contains(image))
        .map(|(image, directory)| (image.to_owned(), templates.join(directory)))
        .collect();

    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = World::new();
    let registry = runtime
        .block_on(Registry::serve_on_loopback(folder.path("registry")))
        .expect("a registry");
    let host = registry
        .url()
        .trim_start_matches("http://")
        .trim_end_matches('/')
        .to_owned();
    runtime.block_on(publish(&host, &bundles, &folder.path("none")));
    let world = mirrored(&host);

    for case in CASES {
        let folder = templates.join("cases").join(case);
        let information = json(&folder.join("expect-info.json"));
        let file = folder.join("template.yaml");
        let mut line = vec!["alpha", "render-template"];
        line.extend(information["type"].as_str().filter(|kind| *kind != "auto"));
        line.push(file.to_str().expect("UTF-8"));
        let migrates = information["args"]
            .as_array()
            .is_some_and(|arguments| !arguments.is_empty());
        line.extend(migrates.then_some("--migrate-level=all"));
        if let Some(error) = information["error"].as_str() {
            assert_eq!(refused(&opm(&world, &line)), error, "{case}");
            continue;
        }
        for notation in ["json", "yaml", "mermaid"] {
            let Some(expected) = information[notation].as_str() else {
                continue;
            };
            let output = opm(&world, &[&line[..], &["-o", notation]].concat());
            let expected = fs::read(folder.join(expected)).expect("an expectation");
            assert_eq!(
                text(&output.stdout),
                text(&expected),
                "{case} {notation}: {}",
                text(&output.stderr)
            );
        }
    }

    let image = "docker.io/tytn/operator-bundle:2.0.0";
    let rendered = opm(&world, &["render", image]);
    let directory = templates.join("bundles/titanml/2.0.0");
    let from_directory = opm(
        &world,
        &[
            "render",
            directory.to_str().expect("UTF-8"),
            "--alpha-image-ref-template",
            image,
        ],
    );
    assert!(!rendered.stdout.is_empty() && rendered.stdout == from_directory.stdout);
    assert_eq!(
        logged(&opm(&world, &["alpha", "render-graph", image])),
        format!("render reference {image:?}: cannot render bundle image: not allowed")
    );
    let output = opm(&world, &["alpha", "list", "packages", image]);
    assert!(
        logged(&output).contains("cannot list non-index"),
        "{}",
        text(&output.stderr)
    );

    let output = opm(
        &world,
        &["alpha", "bundle", "unpack", image, "-o", "unpacked", "-v"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let unpacked = BundleFiles::read_directory(&world.path("unpacked")).expect("a bundle");
    let published = BundleFiles::read_directory(&directory).expect("a bundle");
    assert_eq!(unpacked, published);
    let output = opm(
        &world,
        &["alpha", "bundle", "validate", "-t", image, "-b", "none"],
    );
    assert!(
        text(&output.stderr).starts_with("Command \"validate\" is deprecated, This subcommand is deprecated"),
        "{}",
        text(&output.stderr)
    );

    let output = opm(&world, &["render", "tytn/operator-bundle:2.0.0"]);
    assert!(
        logged(&output).starts_with(
            "render reference \"tytn/operator-bundle:2.0.0\": failed to pull image \"tytn/operator-bundle:2.0.0\": "
        ) && logged(&output).contains("canonical"),
        "{}",
        logged(&output)
    );
    fs::remove_file(world.path("home/.config/containers/policy.json")).expect("removed");
    let output = opm(&world, &["render", image]);
    if !Path::new("/etc/containers/policy.json").exists() {
        assert!(logged(&output).contains("policy.json"), "{}", logged(&output));
        assert!(!output.status.success(), "without a policy, no image is trusted");
    }
    runtime.block_on(registry.stop());
}
