//! A bundle's annotations, which are its image's labels too, and the Dockerfile for those who build with one.

use std::fmt::Write as _;

use super::options::Options;
use super::service_version::{BUILDER, PROJECT_LAYOUT};

/// A bundle's core annotations, in the order in which they are written.
pub fn core_annotations(package: &str, options: &Options) -> Vec<(&'static str, String)> {
    let mut annotations = vec![
        (
            "operators.operatorframework.io.bundle.mediatype.v1",
            "registry+v1".to_owned(),
        ),
        (
            "operators.operatorframework.io.bundle.manifests.v1",
            "manifests/".to_owned(),
        ),
        (
            "operators.operatorframework.io.bundle.metadata.v1",
            "metadata/".to_owned(),
        ),
        (
            "operators.operatorframework.io.bundle.package.v1",
            package.to_owned(),
        ),
        (
            "operators.operatorframework.io.bundle.channels.v1",
            options.channels.join(","),
        ),
    ];
    if let Some(channel) = &options.default_channel {
        annotations.push((
            "operators.operatorframework.io.bundle.channel.default.v1",
            channel.clone(),
        ));
    }
    annotations.extend([
        (
            "operators.operatorframework.io.metrics.builder",
            BUILDER.to_owned(),
        ),
        (
            "operators.operatorframework.io.metrics.mediatype.v1",
            "metrics+v1".to_owned(),
        ),
        (
            "operators.operatorframework.io.metrics.project_layout",
            PROJECT_LAYOUT.to_owned(),
        ),
    ]);
    annotations
}

/// The annotations of a bundle that has tests for scorecard.
pub const TEST_ANNOTATIONS: [(&str, &str); 2] = [
    ("operators.operatorframework.io.test.mediatype.v1", "scorecard+v1"),
    (
        "operators.operatorframework.io.test.config.v1",
        "tests/scorecard/",
    ),
];

/// The text of `metadata/annotations.yaml`.
pub fn annotations_text(package: &str, options: &Options, tested: bool) -> String {
    let mut text = String::from("annotations:\n  # Core bundle annotations.\n");
    for (key, value) in core_annotations(package, options) {
        // Writing to a String can't fail.
        let _ = writeln!(text, "  {key}: {value}");
    }
    if tested {
        text.push_str("\n  # Annotations for testing.\n");
        for (key, value) in TEST_ANNOTATIONS {
            let _ = writeln!(text, "  {key}: {value}");
        }
    }
    text
}

/// The text of `bundle.Dockerfile`; `directory` is the bundle's, as the container tool sees it.
pub fn dockerfile(package: &str, options: &Options, directory: &str, tested: bool) -> String {
    let mut text = String::from("FROM scratch\n\n# Core bundle labels.\n");
    for (key, value) in core_annotations(package, options) {
        let _ = writeln!(text, "LABEL {key}={value}");
    }
    if tested {
        text.push_str("\n# Labels for testing.\n");
        for (key, value) in TEST_ANNOTATIONS {
            let _ = writeln!(text, "LABEL {key}={value}");
        }
    }
    let directory = directory.trim_end_matches('/');
    let _ = write!(
        text,
        "\n# Copy files to locations specified by labels.\nCOPY {directory}/manifests /manifests/\nCOPY {directory}/metadata /metadata/\n"
    );
    if tested {
        let _ = writeln!(text, "COPY {directory}/tests/scorecard /tests/scorecard/");
    }
    text
}
