//! Versions that can't be published.

use crate::registries::{Embedded, Registry as _};
use crate::tree::{Author, Published};

/// Runs `publish` with one flag's value replaced.
fn publishing_with(author: &Author, flag: &str, value: &str) -> Vec<String> {
    let mut arguments = author.publishing("2.0.0", "latest");
    let position = arguments
        .iter()
        .position(|argument| argument == flag)
        .expect("the flag");
    value.clone_into(&mut arguments[position + 1]);
    arguments
}

#[test]
fn a_version_that_is_none_publishes_nothing() {
    let registry = Embedded::start();
    let author = Author::new(registry.address());
    author.has_published(&["1.0.0"]);
    author.template(&[("Stable", &["1.0.0", "2.0.0"])]);
    let before = Published::at(&registry);
    for (name, version) in [
        ("version_with_a_letter", "v1.0"),
        ("version_of_two_numbers", "1.0"),
        ("version_of_nothing", ""),
        ("version_with_build_metadata", "2.0.0+build"),
    ] {
        insta::assert_snapshot!(
            name,
            author.fails(&publishing_with(&author, "--version", version))
        );
    }
    for (name, version) in [
        ("crd_version_that_is_not_watched", "v1"),
        ("crd_version_of_a_chart", "1.0.0"),
        ("crd_version_of_nothing", ""),
    ] {
        insta::assert_snapshot!(
            name,
            author.fails(&publishing_with(&author, "--crd-version", version))
        );
    }
    before.assert_still_there(&registry);
    assert!(
        author
            .read("bundle/manifests/inference-stack-operator.clusterserviceversion.yaml")
            .contains("version: 1.0.0"),
        "the bundle in the tree is the one before"
    );
}

#[test]
fn a_version_comes_from_the_surroundings_too() {
    let author = Author::new("registry.example.com");
    let arguments = [
        "bundle",
        "generate",
        "--image",
        "registry.example.com/models/stack:1",
    ];
    let mut command = author.command(&arguments);
    command.env("VERSION", "v2").env("CRD_VERSION", "v1alpha1");
    insta::assert_snapshot!(
        "version_from_the_surroundings",
        author.fails_as(&arguments, command)
    );
    let mut command = author.command(&arguments);
    command.env("VERSION", "2.0.0").env("CRD_VERSION", "v2");
    insta::assert_snapshot!(
        "crd_version_from_the_surroundings",
        author.fails_as(&arguments, command)
    );
    assert!(!author.path("bundle").exists(), "nothing was written");
}

#[test]
fn two_bundles_of_one_version_are_named() {
    let registry = Embedded::start();
    let author = Author::new(registry.address());
    author.has_published(&["1.0.0"]);
    let before = Published::at(&registry);

    author.template(&[("Stable", &["1.0.0", "1.0.0"])]);
    insta::assert_snapshot!(
        "one_line_twice",
        author.fails(&["catalog", "template", "catalog/operator_catalog.yaml"])
    );

    // The same version, built once more with another chart under another name.
    author.replace("versions/1.0.0/chart/values.yaml", "\n", "\n# changed\n");
    let other = author.bundle("1.0.0-again");
    let mut build = vec!["bundle".to_owned(), "build".to_owned()];
    build.extend(author.build_flags("1.0.0"));
    let position = build
        .iter()
        .position(|argument| argument == "--bundle-image")
        .expect("the flag");
    build[position + 1].clone_from(&other);
    author.succeeds(&build);
    author.template(&[("Stable", &["1.0.0", "1.0.0-again"])]);
    let local = format!("{other}=oci:dist:{other}");
    let render = [
        "catalog",
        "template",
        "catalog/operator_catalog.yaml",
        "--bundle",
        &local,
    ];
    insta::assert_snapshot!("one_version_twice", author.fails(&render));
    before.assert_still_there(&registry);
}
