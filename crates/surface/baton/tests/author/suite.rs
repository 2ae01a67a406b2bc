//! The author's road with programs of others: at Debian's docker-registry, and looked at with skopeo.

mod debian;
#[expect(dead_code, reason = "the tests that need nothing else use the rest of it")]
mod registries;
#[expect(dead_code, reason = "the tests that need nothing else use the rest of it")]
mod tree;
mod walks;
#[expect(dead_code, reason = "the other test programs use the rest of it")]
#[path = "../world/mod.rs"]
mod world;

use std::process::{Command, ExitCode};

use debian::Debian;
use registries::{Embedded, Registry};
use serde_json::Value;
use suite::{Group, Suite, blocking_cases};
use tree::{Author, PACKAGE, tags};

/// What skopeo says about an image; its failure fails the test.
fn skopeo_inspect(image: &str) -> Value {
    let output = Command::new("skopeo")
        .args([
            "inspect",
            "--tls-verify=false",
            "--override-os",
            "linux",
            "--override-arch",
            "amd64",
        ])
        .arg(format!("docker://{image}"))
        .output()
        .expect("skopeo runs");
    assert!(
        output.status.success(),
        "skopeo inspect {image}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("skopeo prints JSON")
}

/// Labels and digests are what skopeo says that they are.
fn skopeo_sees_the_same(author: &Author, registry: &dyn Registry, version: &str) {
    let bundle = skopeo_inspect(&author.bundle(version));
    assert_eq!(
        bundle["Labels"]["operators.operatorframework.io.bundle.package.v1"],
        PACKAGE
    );
    let image = skopeo_inspect(&author.catalog(version));
    assert_eq!(
        image["Labels"]["operators.operatorframework.io.index.configs.v1"],
        "/configs"
    );
    let tags = tags(registry);
    assert_eq!(image["Digest"], tags[&format!("models/stack-catalog:{version}")]);
}

fn a_chart_becomes_a_catalog_at_debians_registry() {
    walks::a_chart_becomes_a_catalog(&Debian::start());
}

fn versions_follow_each_other_at_debians_registry() {
    walks::versions_follow_each_other(&Debian::start(), &skopeo_sees_the_same);
}

fn versions_follow_each_other_at_the_embedded_registry() {
    walks::versions_follow_each_other(&Embedded::start(), &skopeo_sees_the_same);
}

fn main() -> ExitCode {
    let group = Group::free("registries").at_once(2).cases(blocking_cases![
        a_chart_becomes_a_catalog_at_debians_registry,
        versions_follow_each_other_at_debians_registry,
        versions_follow_each_other_at_the_embedded_registry,
    ]);
    Suite::new("author").with(group).main()
}
