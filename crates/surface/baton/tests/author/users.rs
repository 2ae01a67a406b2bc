//! The tree that users really had before there was baton: it works as it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::tree::{Author, copy};

const SERVICE_VERSION: &str = "bundle/manifests/inference-stack-operator.clusterserviceversion.yaml";

/// An author with the users' tree in place of the example's; the chart lies where they copy it to.
fn users() -> Option<(Author, PathBuf)> {
    let folder = corpus::open("users-tree")?.join("users-tree");
    let author = Author::new("registry.example.com");
    fs::remove_dir_all(author.path("")).expect("removed");
    copy(&folder.join("operator-lifecycle-manager"), &author.path(""));
    copy(
        &folder.join("charts/inference-stack"),
        &author.path("helm-charts/inference-stack"),
    );
    Some((author, folder))
}

/// What the users wrote, file by file.
fn written(author: &Author) -> BTreeMap<String, Vec<u8>> {
    author
        .everything()
        .into_iter()
        .filter(|file| file.starts_with("tree/"))
        .map(|file| {
            let bytes = fs::read(author.beside(&file)).expect("a file");
            (file, bytes)
        })
        .collect()
}

fn flags(author: &Author) -> Vec<String> {
    let flags = [
        "--version",
        "2.13.0",
        "--crd-version",
        "v1alpha1",
        "--separate-crds",
        "--image",
    ];
    let mut flags: Vec<String> = flags.map(str::to_owned).to_vec();
    flags.push(author.operator("2.13.0"));
    flags
}

#[test]
fn the_users_tree_makes_a_bundle_as_it_is() {
    let Some((author, _)) = users() else { return };
    let before = written(&author);
    let generate = [vec!["bundle".to_owned(), "generate".to_owned()], flags(&author)].concat();
    let output = author.command(&generate).output().expect("the program runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    // Their chart leaves pods alone when their configuration changes; that is said once, with what helps.
    assert_eq!(told.matches("restartOnConfiguration: true").count(), 1, "{told}");
    assert!(
        told.contains("pods of InferenceStack don't follow their configuration")
            && told.contains("helm-charts/inference-stack/templates/"),
        "{told}"
    );
    let version = author.read(SERVICE_VERSION);
    assert!(
        version.contains("name: inference-stack-operator.v2.13.0"),
        "{version}"
    );
    author.succeeds(&["bundle", "validate", "./bundle"]);
    let build = [
        "--bundle-image",
        &author.bundle("2.13.0"),
        "--binary",
        "../program",
    ]
    .map(str::to_owned);
    let build = [
        vec!["bundle".to_owned(), "build".to_owned()],
        flags(&author),
        build.to_vec(),
    ]
    .concat();
    let output = author.command(&build).output().expect("the program runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    assert!(
        !told.contains("restartOnConfiguration"),
        "it was said when the bundle was made: {told}"
    );

    let after = written(&author);
    for (file, content) in &before {
        assert_eq!(after.get(file), Some(content), "{file} is as they wrote it");
    }
    // Whoever says how it is to be hears no more of it.
    author.replace(
        "watches.yaml",
        "  chart: helm-charts/inference-stack\n",
        "  chart: helm-charts/inference-stack\n  restartOnConfiguration: true\n",
    );
    let output = author.command(&generate).output().expect("the program runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !told.contains("restartOnConfiguration"),
        "{told}"
    );
}

#[test]
fn the_users_catalog_is_read_as_it_is() {
    let Some((author, folder)) = users() else { return };
    let configs = folder.join("operator-lifecycle-manager/catalog/configs");
    let configs = configs.to_string_lossy();
    author.succeeds(&["catalog", "validate", &configs]);
    let channels = author.succeeds(&["catalog", "list", "channels", &configs]);
    assert!(
        channels.contains("fast-v2") && channels.contains("stable-v2"),
        "{channels}"
    );
    // Their template is read; the images that it names lie elsewhere.
    let template = "catalog/operator_catalog.yaml";
    let local = "docker.io/none/none:1=./bundle";
    let told = author.fails(&["catalog", "template", template, "--bundle", local]);
    assert!(
        told.contains("--bundle names image \"docker.io/none/none:1\", which the template doesn't"),
        "{told}"
    );
}

#[test]
fn the_users_catalog_chart_renders_as_it_is() {
    let Some((author, folder)) = users() else { return };
    let chart = folder.join("charts/catalog");
    let chart = chart.to_string_lossy();
    author.succeeds(&["lint", &chart]);
    author.write("values.yaml", EXTENSION);
    let kinds = |more: &[&str]| -> Vec<String> {
        let rendered =
            author.succeeds(&[&["template", "catalog", &chart, "--namespace", "catalogs"], more].concat());
        goyaml::documents(rendered.as_bytes())
            .filter_map(|document| {
                let object = document
                    .expect("YAML")
                    .to_value(goyaml::ReadOptions::default())
                    .expect("YAML");
                let text = |pointer| object.pointer(pointer).and_then(serde_json::Value::as_str);
                Some(format!("{} {}", text("/kind")?, text("/metadata/name")?))
            })
            .collect()
    };
    let plain = [
        "ServiceAccount catalog",
        "CustomResourceDefinition inferencestacks.doublewordai.co",
        "ClusterRole catalog-role",
        "ClusterRoleBinding catalog-role-binding",
        "ClusterCatalog inference-stack-catalog",
    ];
    assert_eq!(kinds(&[]), plain);
    let with_extension = [
        &plain[..],
        &["ClusterExtension inference-stack-operator-stable-v2"],
    ]
    .concat();
    assert_eq!(kinds(&["--values", "values.yaml"]), with_extension);
}

/// The values that their chart's README tells users to write.
const EXTENSION: &str = "clusterExtension:
  enabled: true
  versions:
  - name: inference-stack-operator-stable-v2
    annotations: {}
    spec:
      namespace: inference-stack-operator-system
      source:
        sourceType: Catalog
        catalog:
          packageName: inference-stack-operator
          channels: [stable-v2]
";
