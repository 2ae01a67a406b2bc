//! The road itself: from a chart to a catalog, and from version to version.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::peers;
use crate::registries::{Embedded, Registry};
use crate::tree::{Author, tags};
use crate::walks::{a_chart_becomes_a_catalog, versions_follow_each_other};

#[test]
fn a_chart_becomes_a_catalog_at_the_embedded_registry() {
    a_chart_becomes_a_catalog(&Embedded::start());
}

#[test]
fn versions_follow_each_other_at_the_embedded_registry() {
    versions_follow_each_other(&Embedded::start(), &|_, _, _| {});
}

#[test]
fn the_same_tree_gives_the_same_images() {
    let digests = || {
        let author = Author::new("registry.example.com");
        author.has_built("1.1.0");
        let output = author
            .command(&[vec!["bundle".into(), "build".into()], author.build_flags("1.1.0")].concat())
            .output();
        String::from_utf8(output.expect("the program runs").stdout).expect("text")
    };
    let first = digests();
    assert_eq!(first.matches("@sha256:").count(), 2, "{first}");
    assert_eq!(digests(), first);
}

const SERVICE_VERSION: &str = "bundle/manifests/inference-stack-operator.clusterserviceversion.yaml";

/// Runs a command as on a machine on which nobody says when it is.
fn succeeds_without_a_given_time(author: &Author, arguments: &[String]) -> String {
    let mut command = author.command(arguments);
    let output = command.env_remove("SOURCE_DATE_EPOCH").output();
    let output = output.expect("the program runs");
    assert!(output.status.success(), "{}", author.describe(arguments, &output));
    String::from_utf8(output.stdout).expect("text")
}

/// The steps of `make bundle-build`: what they print, and the time that the bundle has then.
fn makes_a_bundle(author: &Author) -> (String, String) {
    let words = |words: [&str; 2]| words.map(str::to_owned).to_vec();
    let run = |arguments: Vec<String>| succeeds_without_a_given_time(author, &arguments);
    run([words(["bundle", "generate"]), author.version_flags("2.0.0")].concat());
    run([words(["bundle", "validate"]), vec!["bundle".to_owned()]].concat());
    let built = run([words(["bundle", "build"]), author.build_flags("2.0.0")].concat());
    let made = author.read(SERVICE_VERSION);
    let created_at = made.lines().find(|line| line.contains("createdAt: "));
    (built, created_at.expect("a time").trim().to_owned())
}

fn changes_at(path: &Path, seconds: u64) {
    let file = fs::File::open(path).expect("a file");
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
        .expect("another time");
}

#[test]
fn a_bundle_is_as_old_as_the_newest_file_that_it_is_made_of() {
    let registry = Embedded::start();
    let author = Author::new(registry.address());
    for file in author.everything() {
        changes_at(&author.beside(&file), 1_000_000_000);
    }
    changes_at(&author.path("chart/values.yaml"), 1_700_000_000);
    let (built, created_at) = makes_a_bundle(&author);
    assert_eq!(created_at, "createdAt: \"2023-11-14T22:13:20Z\"");
    let push = [
        "bundle",
        "push",
        &author.operator("2.0.0"),
        &author.bundle("2.0.0"),
    ]
    .map(str::to_owned);
    succeeds_without_a_given_time(&author, &push);

    // What was made of the tree meanwhile is newer, and so is what says something about it.
    author.write("README.md", "Hello\n");
    changes_at(&author.path("chart/Chart.yaml"), 1_600_000_000);
    assert_eq!(makes_a_bundle(&author), (built, created_at));
    let told = succeeds_without_a_given_time(&author, &push);
    assert_eq!(told.matches("(was published already)").count(), 2, "{told}");
}

#[test]
fn a_bundle_is_as_old_as_the_newest_commit_of_what_it_is_made_of() {
    if !peers::is_installed("git") {
        return;
    }
    let author = Author::new("registry.example.com");
    let git = |arguments: &[&str], time: &str| {
        let mut command = Command::new("git");
        for setting in ["user.name=A", "user.email=a@example.com", "commit.gpgsign=false"] {
            command.args(["-c", setting]);
        }
        command.args(arguments);
        let mut command = author.at_home(command);
        let output = command
            .env("GIT_COMMITTER_DATE", time)
            .output()
            .expect("git runs");
        assert!(output.status.success(), "{}", author.describe(arguments, &output));
    };
    git(&["init", "--quiet"], "");
    // Nothing is committed: the newest file counts.
    for file in author.everything() {
        if file.starts_with("tree/") && !file.contains("/.git/") {
            changes_at(&author.beside(&file), 1_000_000_000);
        }
    }
    assert_eq!(makes_a_bundle(&author).1, "createdAt: \"2001-09-09T01:46:40Z\"");
    git(&["add", "--all"], "");
    git(&["commit", "--quiet", "--message", "Begin"], "1500000000 +0000");
    let (built, created_at) = makes_a_bundle(&author);
    assert_eq!(created_at, "createdAt: \"2017-07-14T02:40:00Z\"");

    // A fresh clone has other times of files, and a commit of something else makes no other bundle.
    changes_at(&author.path("chart/values.yaml"), 1_800_000_000);
    author.write("README.md", "Hello\n");
    git(&["add", "--all"], "");
    git(&["commit", "--quiet", "--message", "Explain"], "1600000000 +0000");
    fs::remove_dir_all(author.path("bundle")).expect("removed");
    assert_eq!(makes_a_bundle(&author), (built, created_at));

    author.replace("chart/values.yaml", "replicaCount: 2\n", "replicaCount: 3\n");
    git(&["add", "--all"], "");
    git(&["commit", "--quiet", "--message", "Grow"], "1700000000 +0000");
    assert_eq!(makes_a_bundle(&author).1, "createdAt: \"2023-11-14T22:13:20Z\"");
}

#[test]
fn the_time_of_a_bundle_can_be_given() {
    let author = Author::new("registry.example.com");
    let mut generate = vec!["bundle".to_owned(), "generate".to_owned()];
    generate.extend(author.version_flags("2.0.0"));
    author.succeeds(&generate);
    let made = author.read(SERVICE_VERSION);
    assert!(made.contains("createdAt: \"2025-05-01T00:00:00Z\""), "{made}");
    // What lies in the tree from before doesn't count: another machine hasn't got it.
    let mut command = author.command(&generate);
    command.env("SOURCE_DATE_EPOCH", "1764547200");
    assert!(command.output().expect("the program runs").status.success());
    let made = author.read(SERVICE_VERSION);
    assert!(made.contains("createdAt: \"2025-12-01T00:00:00Z\""), "{made}");
}

#[test]
fn nothing_is_published_without_a_yes() {
    let registry = Embedded::start();
    let author = Author::new(registry.address());
    author.template(&[("Stable", &["1.0.0"])]);
    let mut arguments = author.publishing("1.0.0", "latest");
    arguments.retain(|argument| argument != "--yes");
    insta::assert_snapshot!("nobody_to_ask", author.fails(&arguments));
    arguments.push("--dry-run".to_owned());
    author.succeeds(&arguments);
    author.template(&[("Stable", &[])]);
    insta::assert_snapshot!(
        "not_in_the_template",
        author.fails(&author.publishing("1.0.0", "latest"))
    );
    assert!(tags(&registry).is_empty(), "nothing was published");
    assert!(!author.path("catalog/configs").exists(), "nothing was rendered");
    assert!(!author.path("bundle").exists(), "nothing was written to the tree");
}

#[test]
fn the_makefile_publishes_too() {
    if !peers::is_installed("make") {
        return;
    }
    let registry = Embedded::start();
    let author = Author::new(registry.address());
    let base = format!("{}/models/stack", registry.address());
    let make = |arguments: &[&str]| {
        let mut command = Command::new("make");
        command
            .arg(format!("BATON={}", env!("CARGO_BIN_EXE_baton")))
            .arg(format!("IMAGE_TAG_BASE={base}"))
            .arg("BINARIES=--binary ../program")
            .args(arguments);
        let output = author.at_home(command).output().expect("make runs");
        assert!(output.status.success(), "{}", author.describe(arguments, &output));
        String::from_utf8(output.stdout).expect("text")
    };
    insta::assert_snapshot!("make_help", make(&["help"]));

    // The versions that customers have, with the charts that they were made of.
    make(&["published"]);
    author.replace(
        "catalog/operator_catalog.yaml",
        "registry.example.com/models/inference-stack-operator",
        &base,
    );
    make(&["catalog-build-push"]);
    let names = |tags: BTreeMap<String, String>| tags.into_keys().collect::<Vec<_>>();
    let customers = tags(&registry);
    assert_eq!(
        names(customers.clone()),
        [
            "models/stack-bundle:1.0.0",
            "models/stack-bundle:1.1.0",
            "models/stack-bundle:2.0.0",
            "models/stack-catalog:2.0.0",
            "models/stack-catalog:latest",
            "models/stack:1.0.0",
            "models/stack:1.1.0",
            "models/stack:2.0.0",
        ]
    );

    // Clusters that poll the moving tag see what was published last.
    let (version, latest) = ("models/stack-catalog:2.0.0", "models/stack-catalog:latest");
    assert_eq!(customers[latest], customers[version]);

    // The developers' versions go elsewhere. With a v, as tags in git have it, it is the same version.
    author.write(
        "catalog/operator_catalog_dev.yaml",
        format!("Schema: olm.semver\nGenerateMajorChannels: true\nCandidate:\n  Bundles:\n  - Image: {base}-dev-bundle:2.0.0\n"),
    );
    make(&[
        "bundle-build-push",
        "catalog-build-push",
        "DEV=1",
        "VERSION=v2.0.0",
    ]);
    for (repository, expected) in [
        ("stack-dev", &["2.0.0"][..]),
        ("stack-dev-bundle", &["2.0.0"]),
        ("stack-dev-catalog", &["2.0.0", "dev"]),
    ] {
        let repository = format!("models/{repository}");
        let expected: Vec<String> = expected.iter().map(|tag| format!("{repository}:{tag}")).collect();
        assert_eq!(names(registry.tags(&repository)), expected);
    }
    assert_eq!(tags(&registry), customers, "what customers see is untouched");
}

#[test]
fn who_publishes_to_this_machine_needs_no_static_program() {
    let own = Path::new(env!("CARGO_BIN_EXE_baton"));
    let is_dynamic = image::program::Program::read(own).expect("a program").is_dynamic;
    // The version is none, so that nothing is built of what is let through; the program is looked at before.
    let told = |registry: &str, more: &[&str]| {
        let author = Author::new(registry);
        let mut arguments = vec!["bundle".to_owned(), "build".to_owned()];
        arguments.extend(author.build_flags("2.0.0"));
        let position = |arguments: &[String], flag: &str| {
            arguments
                .iter()
                .position(|argument| argument == flag)
                .expect("the flag")
        };
        let binary = position(&arguments, "--binary");
        arguments.drain(binary..binary + 2);
        let version = position(&arguments, "--version") + 1;
        "no version".clone_into(&mut arguments[version]);
        arguments.extend(more.iter().map(|&word| word.to_owned()));
        author.fails(&arguments)
    };
    let here = told("127.0.0.1:5000", &[]);
    assert!(here.contains("is not a semantic version"), "{here}");
    assert_eq!(
        here.contains("needs libraries of this machine"),
        is_dynamic,
        "{here}"
    );
    let elsewhere = told("registry.example.com", &[]);
    assert_eq!(
        elsewhere.contains("needs libraries that an operator image does not have"),
        is_dynamic,
        "{elsewhere}"
    );
    let said = told("registry.example.com", &["--for-this-machine"]);
    assert!(said.contains("is not a semantic version"), "{said}");
    let given = told("127.0.0.1:5000", &["--binary", &own.to_string_lossy()]);
    assert_eq!(
        given.contains("needs libraries that the image does not have; link it statically"),
        is_dynamic,
        "{given}"
    );
}
