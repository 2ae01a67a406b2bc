//! The road walked at one registry or another.

use std::fs;

use crate::registries::Registry;
use crate::tree::{Author, tags};

/// What the documentation tells a new author to do, step by step.
pub(crate) fn a_chart_becomes_a_catalog(registry: &dyn Registry) {
    let author = Author::new(registry.address());
    let image = format!("{}/team/answers", registry.address());
    let (operator, bundle) = (format!("{image}:0.1.0"), format!("{image}-bundle:0.1.0"));
    let catalog = format!("{image}-catalog:latest");
    let told = author.succeeds(&[
        "init",
        "--chart",
        "chart",
        "../answers",
        "--group",
        "team.example.com",
        "--kind",
        "Answers",
        "--image",
        &image,
    ]);
    assert!(told.contains("next: cd there, and make help"), "{told}");
    fs::remove_dir_all(author.path("")).expect("removed");
    fs::rename(author.beside("answers"), author.path("")).expect("the new tree takes the place of the other");

    let version = ["--version", "0.1.0", "--image", &operator];
    author.succeeds(&[&["bundle", "generate"][..], &version].concat());
    for checks in ["", "name=operatorhub", "name=good-practices"] {
        author.succeeds(&["bundle", "validate", "bundle", "--select-optional", checks]);
    }
    author.succeeds(
        &[
            &[
                "bundle",
                "build",
                "--bundle-image",
                &bundle,
                "--binary",
                "../program",
            ][..],
            &version,
        ]
        .concat(),
    );
    author.succeeds(&["bundle", "push", &operator, &bundle]);
    author.write(
        "catalog/operator_catalog.yaml",
        format!(
            "Schema: olm.semver\nGenerateMajorChannels: true\nStable:\n  Bundles:\n  - Image: {bundle}\n"
        ),
    );
    author.succeeds(&[
        "catalog",
        "template",
        "catalog/operator_catalog.yaml",
        "--output",
        "catalog/configs/catalog.yaml",
    ]);
    author.succeeds(&["catalog", "validate", "catalog/configs"]);
    author.succeeds(&["catalog", "build", "catalog/configs", "--image", &catalog]);
    author.succeeds(&["catalog", "push", &catalog]);

    let tags = |repository: &str| registry.tags(&format!("team/{repository}"));
    assert_eq!(
        tags("answers").len() + tags("answers-bundle").len() + tags("answers-catalog").len(),
        3
    );
    let channels = author.succeeds(&["catalog", "list", "channels", &catalog]);
    assert!(channels.contains("stable-v0"), "{channels}");
    author.succeeds(&[
        "bundle",
        "validate",
        &bundle,
        "--select-optional",
        "name=operatorhub",
    ]);
    author.succeeds(&["bundle", "unpack", &bundle, "--output", "unpacked"]);
    let service_version = author.read("bundle/manifests/inference-stack-operator.clusterserviceversion.yaml");
    assert_eq!(
        author.read("unpacked/manifests/inference-stack-operator.clusterserviceversion.yaml"),
        service_version
    );
}

/// Versions are published, one after the other; with each, `look` sees who publishes, at which registry, and the version.
pub(crate) fn versions_follow_each_other(
    registry: &dyn Registry,
    look: &dyn Fn(&Author, &dyn Registry, &str),
) {
    let author = Author::new(registry.address());
    let mut seen = String::new();
    let versions = ["1.0.0", "1.1.0", "2.0.0"];
    for (count, version) in versions.iter().enumerate() {
        author.template(&[
            ("Candidate", &versions[..=count]),
            ("Stable", &versions[..=count.min(1)]),
        ]);
        author.succeeds(&author.publishing(version, version));
        let catalog = author.catalog(version);
        author.succeeds(&["catalog", "validate", &catalog]);
        seen.push_str(&author.succeeds(&["catalog", "list", "channels", &catalog]));
        seen.push_str(&author.succeeds(&["catalog", "list", "bundles", &catalog]));
        if let Some(before) = count
            .checked_sub(1)
            .map(|before| author.catalog(versions[before]))
        {
            seen.push_str(&author.succeeds(&["catalog", "diff", &before, &catalog]));
            let different = author
                .command(&["catalog", "diff", "--exit-code", &before, &catalog])
                .output();
            assert_eq!(different.expect("the program runs").status.code(), Some(1));
        }
        look(&author, registry, version);
    }
    // Without the name of the program: every registry shows the same.
    insta::with_settings!({prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("road__versions", seen);
    });

    // The catalog that was rendered before the last bundle was pushed is the one that the pushed bundle gives.
    let configs = author.read("catalog/configs/catalog.yaml");
    assert_eq!(
        author.succeeds(&["catalog", "template", "catalog/operator_catalog.yaml"]),
        configs.replace(&registry.address().to_string(), "[REGISTRY]")
    );

    // Somebody else makes the last version again, on another machine: all of it is published already.
    let published = tags(registry);
    let other = Author::new(registry.address());
    other.template(&[("Candidate", &versions), ("Stable", &versions[..2])]);
    let output = other
        .command(&other.publishing("2.0.0", "2.0.0"))
        .output()
        .expect("the program runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert_eq!(told.matches("published already").count(), 3, "{told}");
    assert_eq!(tags(registry), published);
}
