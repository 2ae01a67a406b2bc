//! `baton doctor` and `baton snapshot` on a cluster that works, and on the same one after somebody broke it.

#[path = "../story/cast/mod.rs"]
#[expect(dead_code, reason = "the stories use the rest of it")]
mod cast;
mod ward;

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;

use cast::cluster::Cluster;
use cast::world::World;
use regex::Regex;
use serde_json::json;
use ward::{PLANTED, Ward, flat, rights_decide_what_is_seen};

/// What differs from run to run, replaced.
fn plain(text: &str) -> String {
    [
        (r"127\.0\.0\.1:\d+", "127.0.0.1:[PORT]"),
        (r"install-[a-z0-9]{5}\b", "install-[ID]"),
        (r"for \d+ (s|min|h|days)", "for [TIME]"),
        (r"looked at \d+ objects", "looked at [N] objects"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (pattern, by)| {
        let pattern = Regex::new(pattern).expect("a pattern");
        pattern.replace_all(&text, *by).into_owned()
    })
}

/// The files of an archive, by path.
fn files(bytes: &[u8]) -> BTreeMap<String, String> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes));
    archive
        .entries()
        .expect("entries")
        .map(|entry| {
            let mut entry = entry.expect("an entry");
            let path = entry.path().expect("a path").display().to_string();
            let mut text = String::new();
            entry.read_to_string(&mut text).expect("a text");
            (path, text)
        })
        .collect()
}

#[test]
fn a_cluster_is_well_then_broken_and_its_archive_has_no_secrets() {
    let world = World::new();
    let cluster = Cluster::up(&world);
    let ward = Ward::new(&world, &cluster);

    let (code, report) = ward.report();
    assert_eq!(
        (code, report["broken"].as_u64()),
        (Some(0), Some(0)),
        "{report:#}"
    );

    rights_decide_what_is_seen(&ward);

    ward.break_things();
    ward.plant();
    let expected = [
        ("catalog-not-served", "ClusterCatalog /gone"),
        ("catalog-source-unhealthy", "CatalogSource olm/gone"),
        ("subscription-waits", "Subscription waits-for-catalog/stack"),
        (
            "subscription-waits-for-approval",
            "Subscription waits-for-somebody/stack",
        ),
        ("several-operator-groups", "OperatorGroup has-two-groups/first"),
        (
            "subscription-without-operator-group",
            "Subscription has-no-group/stack",
        ),
        ("webhook-silent", "ValidatingWebhookConfiguration /left-behind"),
        ("operator-silent", "Lease default/baton-helm-operator-gone"),
        ("resource-without-operator", "InferenceStack stacks/lost"),
    ];
    cluster.until("doctor finds everything", || {
        let (code, report) = ward.report();
        let found = flat(&report["findings"]);
        let missing = expected.iter().find(|(rule, object)| {
            !found
                .iter()
                .any(|one| (one.0.as_str(), one.1.as_str()) == (*rule, *object))
        });
        // The controller says it in the Subscription a moment after the groups are there.
        if !report.to_string().contains("found 2 operatorGroups, expected 1") {
            return Err(format!("nothing says what a Subscription waits for: {report:#}"));
        }
        match missing {
            None if code == Some(1) => Ok(()),
            None => Err(format!("exit code {code:?}")),
            Some(missing) => Err(format!("no {missing:?} in {found:#?}")),
        }
    });
    let told = ward.run(&["doctor"]);
    insta::assert_snapshot!("broken", plain(&String::from_utf8_lossy(&told.stdout)));
    let one = ward.run(&["doctor", "--namespace", "has-no-group"]);
    insta::assert_snapshot!("one_namespace", plain(&String::from_utf8_lossy(&one.stdout)));

    archive_without_secrets(&ward);
    cluster.stop();
}

fn archive_without_secrets(ward: &Ward<'_>) {
    let file = ward.world.path("snapshot.tar.gz");
    let path = file.display().to_string();
    let taken = ward.run(&["snapshot", &path, "--with-values"]);
    assert!(
        taken.status.success(),
        "{}",
        String::from_utf8_lossy(&taken.stderr)
    );
    let files = files(&fs::read(&file).expect("an archive"));
    for (path, text) in &files {
        for secret in PLANTED {
            assert!(!text.contains(secret), "{secret} is in {path}:\n{text}");
        }
    }
    for path in [
        "contents.json",
        "baton.yaml",
        "report.txt",
        "report.json",
        "server/version.json",
        "server/apis.json",
        "events/olm.yaml",
        "objects/cluster/ClusterCatalog.olm.operatorframework.io/gone.yaml",
        "objects/namespaces/olm/ConfigMap/planted.yaml",
        "objects/namespaces/olm/Secret/planted.yaml",
        "objects/namespaces/stacks/InferenceStack.models.example.com/lost.yaml",
    ] {
        assert!(
            files.contains_key(&format!("baton-snapshot/{path}")),
            "no {path} in {:#?}",
            files.keys().collect::<Vec<_>>()
        );
    }
    assert!(files.keys().any(|path| path.starts_with("baton-snapshot/logs/")));
    assert!(
        files
            .keys()
            .any(|path| path.starts_with("baton-snapshot/releases/"))
    );
    let settings = &files["baton-snapshot/objects/namespaces/olm/ConfigMap/planted.yaml"];
    assert!(settings.contains("harmless: shown"), "{settings}");
    let secret = &files["baton-snapshot/objects/namespaces/olm/Secret/planted.yaml"];
    assert!(secret.contains("anything: 19 bytes"), "{secret}");

    let refused = ward.run(&["snapshot", &path]);
    assert_eq!(refused.status.code(), Some(1));
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(
        words.contains("is there already; name another file, or overwrite it with --force"),
        "{words}"
    );
    let small = ward.run(&["snapshot", &path, "--force", "--limit", "1", "--limit-each", "1"]);
    assert!(small.status.success());
    let words = String::from_utf8_lossy(&small.stdout);
    assert!(
        words.contains("left out:") && words.contains("the rest of "),
        "{words}"
    );
}

#[test]
fn who_cannot_look_is_told_so() {
    let world = World::new();
    let kubeconfig = world.path("nowhere.kubeconfig");
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "a", "user": {}}]});
    fs::write(&kubeconfig, config.to_string()).expect("a kubeconfig");
    let kubeconfig = kubeconfig.display().to_string();
    for command in ["doctor", "snapshot"] {
        let output = world.run(&[command, "--kubeconfig", &kubeconfig]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(
            words.contains("could not look at the cluster: connection refused"),
            "{words}"
        );
    }
    assert_eq!(world.files(), ["nowhere.kubeconfig"]);
}
