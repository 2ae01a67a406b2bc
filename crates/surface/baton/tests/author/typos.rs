//! Slips of the keyboard: each is shown where it stands, with what was probably meant.

use crate::registries::{Embedded, Registry as _};
use crate::tree::Author;

const TEMPLATE: &str = "catalog/operator_catalog.yaml";

/// Renders a template; returns what is said.
fn rendered(author: &Author, template: &str) -> String {
    author.write(TEMPLATE, template);
    author.fails(&["catalog", "template", TEMPLATE])
}

#[test]
fn a_slip_in_a_template_is_shown_in_its_line() {
    let author = Author::new("registry.example.com");
    let whole = "Schema: olm.semver\nGenerateMajorChannels: true\nStable:\n  Bundles:\n  - Image: registry.example.com/a:1\n";
    for (name, from, to) in [
        ("unknown_grade", "Stable:", "Stabel:"),
        ("unknown_field", "- Image:", "- Imgae:"),
        ("unknown_schema", "olm.semver", "olm.semvre"),
        ("no_flag", "true", "ture"),
        ("no_yaml", "  - Image", "\t- Image"),
    ] {
        insta::assert_snapshot!(name, rendered(&author, &whole.replace(from, to)));
    }
    author.write(TEMPLATE, whole.replace("Stable:", "Stabel:"));
    insta::assert_snapshot!(
        "slip_when_publishing",
        author.fails(&author.publishing("2.0.0", "latest"))
    );
}

#[test]
fn what_opm_passes_over_is_remarked() {
    let author = Author::new("registry.example.com");
    author.write(
        "basic.yaml",
        "schema: olm.template.basic\nentries:\n- schema: olm.package\n  name: stack\n  defaultChanel: stable\n",
    );
    let arguments = ["catalog", "template", "basic.yaml"];
    let output = author.command(&arguments).output().expect("the program runs");
    assert!(
        output.status.success(),
        "{}",
        author.describe(&arguments, &output)
    );
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "basic.yaml:5:3: there is no such field here; did you mean \"defaultChannel\"?\n"
    );
}

#[test]
fn a_version_that_is_not_published_is_told_with_those_that_are() {
    let registry = Embedded::start();
    let author = Author::new(registry.address());
    author.has_published(&["1.0.0", "1.1.0"]);
    author.template(&[("Stable", &["1.0.0", "1.1.1"])]);
    insta::assert_snapshot!(
        "unknown_version",
        author.fails(&["catalog", "template", TEMPLATE])
    );

    // An image with a v where the other has none.
    author.template(&[("Stable", &["1.0.0", "v2.0.0"])]);
    let told = author.fails(&author.publishing("2.0.0", "latest"));
    assert!(
        told.contains("names [REGISTRY]/models/stack-bundle:v2.0.0, and the bundle's image is to be [REGISTRY]/models/stack-bundle:2.0.0"),
        "{told}"
    );
}

#[test]
fn an_unknown_name_is_told_with_the_nearest() {
    let registry = Embedded::start();
    let author = Author::new(registry.address());
    author.has_published(&["1.0.0"]);
    let catalog = author.catalog("latest");
    let package = "inference-stack-operater";
    let channel = "inference-stack-operator=stabel-v1";
    let table: [(&[&str], &str); 5] = [
        (
            &["list", "channels", &catalog, package],
            "did you mean \"inference-stack-operator\"?",
        ),
        (
            &["graph", &catalog, "--package", package],
            "did you mean \"inference-stack-operator\"?",
        ),
        (
            &[
                "graph",
                &catalog,
                "--minimum-edge",
                "inference-stack-operator.v1.0.1",
            ],
            "did you mean \"inference-stack-operator.v1.0.0\"?",
        ),
        (
            &["prune", &catalog, "--package", package],
            "did you mean \"inference-stack-operator\"?",
        ),
        (
            &["prune", &catalog, "--package", channel],
            "did you mean \"stable-v1\"?",
        ),
    ];
    for (arguments, expected) in table {
        let told = author.fails(&[&["catalog"], arguments].concat());
        assert!(told.contains(expected), "{told}");
    }
    author.replace(
        "catalog/configs/catalog.yaml",
        "defaultChannel: stable-v1",
        "defaultChannel: stabel-v1",
    );
    for arguments in [
        &["catalog", "validate", "catalog/configs"][..],
        &["catalog", "build", "catalog/configs", "--image", &catalog],
    ] {
        let told = author.fails(arguments);
        assert!(
            told.contains("there is no channel \"stabel-v1\"; did you mean \"stable-v1\"?"),
            "{told}"
        );
    }
}
