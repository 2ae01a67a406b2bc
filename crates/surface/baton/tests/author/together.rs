//! Several at once, and processes that end in the middle of something.

use std::process::Stdio;

use crate::proxy::{Fault, Proxy};
use crate::registries::{Embedded, Registry as _};
use crate::tree::{Author, Published, tags};

const TEMPLATE: &str = "catalog/operator_catalog.yaml";

/// Versions 1.0.0 and 1.1.0 and 2.0.0 are published as images, only the first is in the catalog, and two catalogs wait:
/// `ours` with 1.1.0 and `theirs` with 2.0.0.
fn two_catalogs(author: &Author, tag: &str) {
    author.template(&[("Stable", &["1.0.0"])]);
    author.succeeds(&author.publishing("1.0.0", tag));
    for version in ["1.1.0", "2.0.0"] {
        author.has_built(version);
        author.succeeds(&[
            "bundle",
            "push",
            &author.operator(version),
            &author.bundle(version),
        ]);
    }
    for (folder, version) in [("ours", "1.1.0"), ("theirs", "2.0.0")] {
        author.template(&[("Stable", &["1.0.0", version])]);
        let output = format!("{folder}/catalog.yaml");
        author.succeeds(&["catalog", "template", TEMPLATE, "--output", &output]);
    }
}

/// Pushes `ours` through a network that stops at the first upload; meanwhile `theirs` is pushed past it.
fn ours_while_theirs(name: &str, before: &str, ours: &str, theirs: &str) {
    let registry = Embedded::start();
    let proxy = Proxy::before(registry.address());
    let author = Author::new(proxy.address());
    two_catalogs(&author, before);
    proxy.suffer(Fault::Hold {
        text: "POST /v2/models/stack-catalog/blobs/uploads",
        after: 0,
    });
    let push = ["catalog", "push", &author.catalog(ours), "--from", "ours"];
    let pushing = author
        .command(&push)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    proxy.wait_until_held();
    let past = author
        .catalog(theirs)
        .replace(&proxy.address().to_string(), &registry.address().to_string());
    author.succeeds(&["catalog", "push", &past, "--from", "theirs"]);
    let published = Published::at(&registry);
    proxy.release();
    let output = pushing.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(name, author.describe(&push, &output));
    published.assert_still_there(&registry);

    // Told so, we take in what they published.
    author.template(&[("Stable", &["1.0.0", "1.1.0", "2.0.0"])]);
    author.succeeds(&["catalog", "template", TEMPLATE, "--output", "ours/catalog.yaml"]);
    author.succeeds(&push);
    let listed = author.succeeds(&["catalog", "list", "bundles", &author.catalog(ours)]);
    assert!(listed.contains("v1.1.0") && listed.contains("v2.0.0"), "{listed}");
}

#[test]
fn of_two_catalogs_under_one_tag_the_second_is_told() {
    ours_while_theirs("second_under_one_tag", "latest", "latest", "latest");
}

#[test]
fn of_two_catalogs_under_new_tags_the_second_is_told() {
    ours_while_theirs("second_under_a_new_tag", "1.0.0", "2.1.0", "2.0.0");
}

#[test]
fn of_two_builds_of_one_version_the_second_is_told() {
    let registry = Embedded::start();
    let proxy = Proxy::before(registry.address());
    let ours = Author::new(proxy.address());
    let theirs = Author::new(proxy.address());
    ours.has_built("1.0.0");
    theirs.replace(
        "versions/1.0.0/chart/Chart.yaml",
        "description: ",
        "description: now ",
    );
    theirs.has_built("1.0.0");
    proxy.suffer(Fault::Hold {
        text: "POST /v2/models/stack/blobs/uploads",
        after: 0,
    });
    let push = ["bundle", "push", &ours.operator("1.0.0")];
    let pushing = ours
        .command(&push)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    proxy.wait_until_held();
    let direct = theirs
        .operator("1.0.0")
        .replace(&proxy.address().to_string(), &registry.address().to_string());
    let index = theirs.read("dist/index.json");
    theirs.write(
        "dist/index.json",
        index.replace(&theirs.operator("1.0.0"), &direct),
    );
    theirs.succeeds(&["bundle", "push", &direct]);
    let published = Published::at(&registry);
    proxy.release();
    let output = pushing.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!("second_build", ours.describe(&push, &output));
    published.assert_still_there(&registry);
}

#[test]
fn several_versions_can_be_pushed_at_once_from_one_machine() {
    let registry = Embedded::start();
    let author = Author::new(registry.address());
    let versions = ["1.0.0", "1.1.0", "2.0.0"];
    for version in versions {
        author.has_built(version);
    }
    let pushes = versions.map(|version| {
        author
            .command(&[
                "bundle",
                "push",
                &author.operator(version),
                &author.bundle(version),
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs")
    });
    for push in pushes {
        let output = push.wait_with_output().expect("the program ends");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    assert_eq!(tags(&registry).len(), 6);
    author.template(&[("Stable", &versions)]);
    author.succeeds(&["catalog", "template", TEMPLATE]);
}

#[test]
fn a_registry_that_is_killed_during_a_push_goes_on_afterwards() {
    let mut registry = Embedded::start();
    let proxy = Proxy::before(registry.address());
    let author = Author::new(proxy.address());
    author.has_published(&["1.0.0"]);
    author.template(&[("Stable", &["1.0.0", "1.1.0"])]);
    let before = Published::at(&registry);
    let bundle = crate::faults::large_bundle(&author);
    // In the middle of the large blob.
    proxy.suffer(Fault::Hold {
        text: "",
        after: 200 << 10,
    });
    let mut pushing = author
        .command(&["bundle", "push", &bundle])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs");
    proxy.wait_until_held();
    registry.kill();
    // The author loses patience too.
    pushing.kill().expect("the program runs");
    pushing.wait().expect("the program ends");
    proxy.release();
    registry.start_again(None);

    before.assert_still_there(&registry);
    author.succeeds(&["bundle", "push", &bundle]);
    author.empty_the_cache();
    author.succeeds(&["bundle", "unpack", &bundle, "--output", "unpacked"]);
    author.succeeds(&author.publishing("1.1.0", "latest"));
    author.succeeds(&["catalog", "validate", &author.catalog("latest")]);
}

#[test]
fn a_registry_that_comes_back_soon_is_waited_for() {
    let mut registry = Embedded::start();
    let proxy = Proxy::before(registry.address());
    let author = Author::new(proxy.address());
    let bundle = crate::faults::large_bundle(&author);
    proxy.suffer(Fault::Hold {
        text: "",
        after: 200 << 10,
    });
    let pushing = author
        .command(&["bundle", "push", &bundle])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    proxy.wait_until_held();
    registry.kill();
    registry.start_again(None);
    proxy.release();
    let output = pushing.wait_with_output().expect("the program ends");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    author.empty_the_cache();
    author.succeeds(&["bundle", "unpack", &bundle, "--output", "unpacked"]);
}
