//! What is published stays: every way of losing it is refused by name.

use crate::registries::{Embedded, Registry as _};
use crate::tree::{Author, PACKAGE, Published, tags};

const CONFIGS: &str = "catalog/configs/catalog.yaml";

/// Two versions in `Candidate` and `Stable`, published as `latest`.
fn two_versions(registry: &Embedded) -> Author {
    let author = Author::new(registry.address());
    for versions in [&["1.0.0"][..], &["1.0.0", "1.1.0"]] {
        author.template(&[("Candidate", versions), ("Stable", versions)]);
        author.succeeds(&author.publishing(versions[versions.len() - 1], "latest"));
    }
    author
}

/// Renders the template into the tree.
fn render(author: &Author) {
    author.succeeds(&[
        "catalog",
        "template",
        "catalog/operator_catalog.yaml",
        "--output",
        CONFIGS,
    ]);
}

/// Every way to publish the catalog in the tree as `latest`.
fn ways_to_publish(author: &Author) -> Vec<Vec<String>> {
    let latest = author.catalog("latest");
    let ways = [
        vec!["catalog", "build", "catalog/configs", "--image", &latest],
        vec!["catalog", "push", &latest, "--from", "catalog/configs"],
    ];
    ways.map(|way| way.into_iter().map(str::to_owned).collect())
        .to_vec()
}

/// Checks that neither way publishes what is in the tree, and that nothing happened.
fn assert_refused(name: &str, author: &Author, registry: &Embedded) {
    let before = Published::at(registry);
    let told: Vec<String> = ways_to_publish(author)
        .iter()
        .map(|way| author.fails(way))
        .collect();
    insta::assert_snapshot!(name, told.join("\n"));
    before.assert_still_there(registry);
}

#[test]
fn a_published_version_that_is_taken_out_of_the_template_is_refused() {
    let registry = Embedded::start();
    let author = two_versions(&registry);
    let before = Published::at(&registry);
    let configs = author.read(CONFIGS);
    author.template(&[("Candidate", &["1.1.0"]), ("Stable", &["1.1.0"])]);
    insta::assert_snapshot!(
        "removed_by_publish",
        author.fails(&author.publishing("1.1.0", "latest"))
    );
    before.assert_still_there(&registry);
    assert_eq!(
        author.read(CONFIGS),
        configs,
        "the rendered catalog stays when it is not published"
    );

    render(&author);
    assert_refused("removed", &author, &registry);

    // A tag that is new has the same customers: those of the highest version in the repository.
    author.succeeds(&[
        "catalog",
        "push",
        &author.catalog("1.1.0"),
        "--from",
        &author.catalog("latest"),
    ]);
    let before = Published::at(&registry);
    let next = author.catalog("2.0.0");
    insta::assert_snapshot!(
        "removed_under_a_new_tag",
        author.fails(&["catalog", "push", &next, "--from", "catalog/configs"])
    );
    before.assert_still_there(&registry);
}

#[test]
fn a_published_version_that_is_built_again_with_another_content_is_refused() {
    let registry = Embedded::start();
    let author = two_versions(&registry);
    let before = Published::at(&registry);
    author.replace(
        "versions/1.1.0/chart/Chart.yaml",
        "description: ",
        "description: now ",
    );
    author.has_built("1.1.0");
    let (operator, bundle) = (author.operator("1.1.0"), author.bundle("1.1.0"));
    insta::assert_snapshot!(
        "rebuilt_operator",
        author.fails(&["bundle", "push", &operator, &bundle])
    );

    author.replace(
        "config/manifests/bases/inference-stack-operator.clusterserviceversion.yaml",
        "displayName: ",
        "displayName: Our ",
    );
    author.has_built("1.1.0");
    insta::assert_snapshot!("rebuilt_bundle", author.fails(&["bundle", "push", &bundle]));
    insta::assert_snapshot!(
        "rebuilt_by_publish",
        author.fails(&author.publishing("1.1.0", "latest"))
    );
    before.assert_still_there(&registry);

    // Allowing the operator's image alone doesn't let the bundle's through, and none of the two is pushed.
    let mut allowing_one = author.publishing("1.1.0", "latest");
    allowing_one.extend(["--allow".to_owned(), operator.clone()]);
    insta::assert_snapshot!("rebuilt_and_one_allowed", author.fails(&allowing_one));
    before.assert_still_there(&registry);

    insta::assert_snapshot!(
        "rebuilt_and_another_allowed",
        author.fails(&[
            "bundle", "push", &bundle, "--allow", &bundle, "--allow", &operator
        ])
    );
    before.assert_still_there(&registry);
    author.succeeds(&["bundle", "push", &bundle, "--allow", &bundle]);
    render(&author);
    let before = Published::at(&registry);
    insta::assert_snapshot!(
        "rebuilt_in_the_catalog",
        author.fails(&[
            "catalog",
            "push",
            &author.catalog("latest"),
            "--from",
            "catalog/configs"
        ])
    );
    before.assert_still_there(&registry);
}

#[test]
fn a_changed_object_in_the_catalog_is_refused() {
    let registry = Embedded::start();
    let author = two_versions(&registry);
    author.replace(
        CONFIGS,
        "models/stack-bundle:1.0.0",
        "models/stack-bundle:1.0.0-moved",
    );
    assert_refused("changed", &author, &registry);
}

#[test]
fn an_older_catalog_is_refused() {
    let registry = Embedded::start();
    let author = Author::new(registry.address());
    author.template(&[("Stable", &["1.0.0"])]);
    author.succeeds(&author.publishing("1.0.0", "1.0.0"));
    let older = author.read(CONFIGS);
    author.template(&[("Stable", &["1.0.0", "1.1.0"])]);
    author.succeeds(&author.publishing("1.1.0", "1.1.0"));
    author.succeeds(&[
        "catalog",
        "push",
        &author.catalog("latest"),
        "--from",
        &author.catalog("1.1.0"),
    ]);
    let before = Published::at(&registry);
    let (latest, old_image) = (author.catalog("latest"), author.catalog("1.0.0"));
    insta::assert_snapshot!(
        "older_image",
        author.fails(&["catalog", "push", &latest, "--from", &old_image])
    );
    before.assert_still_there(&registry);
    author.write(CONFIGS, older);
    assert_refused("older", &author, &registry);

    // One that was built in time and waits in dist while another is published is older by then.
    author.template(&[("Stable", &["1.0.0", "1.1.0"])]);
    render(&author);
    author.succeeds(&["catalog", "build", "catalog/configs", "--image", &latest]);
    author.template(&[("Stable", &["1.0.0", "1.1.0", "2.0.0"])]);
    author.succeeds(&author.publishing("2.0.0", "latest"));
    let before = Published::at(&registry);
    insta::assert_snapshot!("older_build", author.fails(&["catalog", "push", &latest]));
    before.assert_still_there(&registry);
}

#[test]
fn a_dropped_channel_is_refused() {
    let registry = Embedded::start();
    let author = two_versions(&registry);
    author.template(&[("Stable", &["1.0.0", "1.1.0"])]);
    render(&author);
    assert_refused("dropped_channel", &author, &registry);
}

#[test]
fn an_edge_that_strands_customers_is_refused() {
    let registry = Embedded::start();
    let author = two_versions(&registry);
    let channel = |entries: &str| format!("{entries}name: stable-v1\n");
    let first = format!("- name: {PACKAGE}.v1.0.0\n");
    let second = format!("- name: {PACKAGE}.v1.1.0\n");
    let whole = channel(&format!("{first}{second}  replaces: {PACKAGE}.v1.0.0\n"));
    author.replace(CONFIGS, &whole, &channel(&second));
    author.succeeds(&["catalog", "validate", "catalog/configs"]);
    assert_refused("stranded", &author, &registry);
}

#[test]
fn what_is_allowed_passes_alone_and_is_written_down() {
    let registry = Embedded::start();
    let author = two_versions(&registry);
    author.template(&[("Stable", &["1.1.0"])]);
    render(&author);
    let latest = author.catalog("latest");
    let removed = format!("{PACKAGE}.v1.0.0");
    let build = [
        "catalog",
        "build",
        "catalog/configs",
        "--image",
        &latest,
        "--allow",
    ];
    let before = Published::at(&registry);
    insta::assert_snapshot!(
        "allowed_too_little",
        author.fails(&[&build[..], &["candidate-v1"]].concat())
    );
    let both = ["candidate-v1", "--allow", &removed];
    let needless = [&build[..], &both, &["--allow", "fast-v1"]].concat();
    insta::assert_snapshot!("allowed_needlessly", author.fails(&needless));
    assert!(!author.path("dist/index.json").exists(), "nothing was built");
    before.assert_still_there(&registry);

    author.succeeds(&[&build[..], &both].concat());
    insta::assert_snapshot!(
        "allowed_only_when_built",
        author.fails(&["catalog", "push", &latest])
    );
    before.assert_still_there(&registry);
    author.succeeds(&[&["catalog", "push", &latest, "--allow"][..], &both].concat());

    let listed = author.succeeds(&["catalog", "list", "bundles", &latest]);
    assert!(
        listed.contains("v1.1.0") && !listed.contains("v1.0.0"),
        "{listed}"
    );
    let history = |author: &Author| {
        let rendered = author.succeeds(&["catalog", "render", &latest, "--output", "json"]);
        serde_json::Deserializer::from_str(&rendered)
            .into_iter::<serde_json::Value>()
            .map(|object| object.expect("an object"))
            .filter(|object| object["schema"] == "baton.history")
            .map(|object| serde_json::to_string_pretty(&object).expect("text"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    insta::assert_snapshot!("history", history(&author));

    // The history is carried on by whoever publishes next, from a template that knows nothing of it.
    let written = history(&author);
    author.template(&[("Stable", &["1.1.0", "2.0.0"])]);
    author.succeeds(&author.publishing("2.0.0", "latest"));
    assert_eq!(history(&author), written);
    let needless = author.fails(&["catalog", "push", &latest, "--from", &latest, "--allow", &removed]);
    assert!(needless.contains("take it out of --allow"), "{needless}");
}

#[test]
fn nothing_can_be_allowed_before_anything_is_published() {
    let registry = Embedded::start();
    let author = Author::new(registry.address());
    author.template(&[("Stable", &["1.0.0"])]);
    let mut publishing = author.publishing("1.0.0", "latest");
    publishing.extend(["--allow".to_owned(), "stable-v1".to_owned()]);
    insta::assert_snapshot!("allowed_too_early", author.fails(&publishing));
    assert!(tags(&registry).is_empty(), "nothing was published");
}

#[test]
fn a_catalog_can_be_compared_with_another_name() {
    let registry = Embedded::start();
    let author = two_versions(&registry);
    let (latest, stable) = (author.catalog("latest"), author.catalog("stable"));
    author.succeeds(&["catalog", "push", &stable, "--from", &latest]);
    author.succeeds(&[
        "catalog",
        "push",
        &stable,
        "--from",
        &latest,
        "--published",
        &latest,
    ]);
    let none = author.catalog("none");
    insta::assert_snapshot!(
        "published_nowhere",
        author.fails(&[
            "catalog",
            "push",
            &stable,
            "--from",
            &latest,
            "--published",
            &none
        ])
    );
    insta::assert_snapshot!(
        "published_bundle",
        author.fails(&[
            "catalog",
            "push",
            &stable,
            "--from",
            &latest,
            "--published",
            &author.bundle("1.0.0")
        ])
    );
}

#[test]
fn a_tag_that_moves_takes_nothing_from_who_polls_it() {
    let registry = Embedded::start();
    let author = Author::new(registry.address());
    author.template(&[("Stable", &["1.0.0"])]);
    author.succeeds(&author.publishing("1.0.0", "1.0.0"));
    author.template(&[("Stable", &["1.0.0", "1.1.0"])]);
    author.succeeds(&author.publishing("1.1.0", "latest"));
    let before = Published::at(&registry);
    let with = |more: &[&str]| {
        let mut publishing = author.publishing("2.0.0", "2.0.0");
        publishing.extend(["--moving-tag".to_owned(), "latest".to_owned()]);
        publishing.extend(more.iter().map(|&word| word.to_owned()));
        publishing
    };

    // Customers of the highest version would lose nothing, but those who follow the tag would.
    author.template(&[("Stable", &["1.0.0", "2.0.0"])]);
    let told = author.fails(&with(&[]));
    assert!(
        told.contains("would take something from customers of [REGISTRY]/models/stack-catalog:latest")
            && told.contains("bundle inference-stack-operator.v1.1.0 is removed"),
        "{told}"
    );
    before.assert_still_there(&registry);
    author.succeeds(&with(&[
        "--dry-run",
        "--allow",
        "inference-stack-operator.v1.1.0",
    ]));
    author.fails(&with(&[
        "--dry-run",
        "--allow",
        "inference-stack-operator.v1.0.0",
    ]));

    author.template(&[("Stable", &["1.0.0", "1.1.0", "2.0.0"])]);
    let told = author.succeeds(&with(&[]));
    assert_eq!(told.matches("/models/stack-catalog:").count(), 2, "{told}");
    let catalogs = registry.tags("models/stack-catalog");
    assert_eq!(
        catalogs["models/stack-catalog:latest"],
        catalogs["models/stack-catalog:2.0.0"]
    );
    assert_ne!(
        catalogs["models/stack-catalog:latest"],
        catalogs["models/stack-catalog:1.0.0"]
    );
}

#[test]
fn a_tag_that_moves_follows_a_catalog_that_is_pushed() {
    let registry = Embedded::start();
    let author = two_versions(&registry);
    author.template(&[
        ("Candidate", &["1.0.0", "1.1.0"]),
        ("Stable", &["1.0.0", "1.1.0"]),
    ]);
    let next = author.catalog("1.1.0");
    let moving = ["--moving-tag", "latest", "--moving-tag", "stable"];
    author.succeeds(
        &[
            &["catalog", "build", "catalog/configs", "--image", &next],
            &moving[..],
        ]
        .concat(),
    );
    author.succeeds(&[&["catalog", "push", &next], &moving[..]].concat());
    let catalogs = registry.tags("models/stack-catalog");
    let digests: std::collections::BTreeSet<&String> = catalogs.values().collect();
    assert_eq!((catalogs.len(), digests.len()), (3, 1), "{catalogs:?}");
}
