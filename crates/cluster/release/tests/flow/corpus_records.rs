//! The recorded sessions of Helm 3, played again: the same commands leave the same records.

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use chart::host::NoCluster;
use chart::release::{RecordedChart, Release};
use chart::{Chart, loader};
use release::{Options, Prepared, ReleaseId, Releases};
use serde_json::{Value, json};

use crate::world::{World, prepared, render};

/// The steps of a session that are played, by their numbers: what is given to Helm by files.
const STEPS: [(usize, &str); 4] = [
    (1, "install VALUES1"),
    (15, "upgrade VALUES2"),
    (21, "upgrade VALUES3"),
    (27, "rollback 1"),
];

/// The records that a session had after a step.
fn recorded(session: &Path, step: usize) -> Vec<Release> {
    let steps = std::fs::read_to_string(session.join("steps.jsonl")).expect("the steps");
    let line = steps.lines().nth(step - 1).expect("a step");
    let step: Value = serde_json::from_str(line).expect("JSON");
    let files = step["secrets_after"].as_array().expect("records");
    let read = |file: &Value| {
        let name = file["file"].as_str().expect("a name");
        let secret = std::fs::read(session.join("secrets").join(format!("{name}.json"))).expect("a Secret");
        Release::from_secret(&serde_json::from_slice(&secret).expect("JSON")).expect("a record")
    };
    files.iter().map(read).collect()
}

/// A record without what differs from run to run: times, and the addresses in them.
fn comparable(release: &Release) -> Value {
    let mut json: Value = serde_json::from_str(&release.to_json()).expect("JSON");
    let first = json["info"]["first_deployed"].clone();
    let is_first = first == json["info"]["last_deployed"];
    for time in ["first_deployed", "last_deployed"] {
        assert!(
            json["info"][time].as_str().is_some_and(|time| time.contains('T')),
            "{}",
            json["info"]
        );
        json["info"][time] = json!(is_first);
    }
    for hook in json["hooks"].as_array_mut().into_iter().flatten() {
        for time in ["started_at", "completed_at"] {
            let is_set = hook["last_run"][time]
                .as_str()
                .is_some_and(|time| !time.is_empty());
            hook["last_run"][time] = json!(is_set);
        }
    }
    json
}

async fn play(session: &Path, chart: &Path, namespace: &str) {
    let world = World::new().await;
    world
        .create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))
        .await;
    let chart: Arc<Chart> = loader::load(chart, &mut |_| {}).expect("a chart");
    let id = ReleaseId::new(namespace, "rel");
    let releases = Releases::new(&world.cluster, &id, Options::default());
    let values = |number: &str| -> Value {
        let text = std::fs::read(session.join(format!("values{number}.yaml"))).expect("values");
        goyaml::to_value(&text).expect("YAML")
    };
    let prepare = |version: i64, values: &Value| -> Prepared {
        let rendered = render(&chart, &id, version, values, Rc::new(NoCluster));
        let recorded = RecordedChart::new(&rendered.chart);
        prepared(rendered, recorded, &id, version, values)
    };
    for (step, command) in STEPS {
        match command.split_once(' ').expect("a command") {
            ("install", file) => {
                let values = values(file.trim_start_matches("VALUES"));
                let crds = render(&chart, &id, 1, &values, Rc::new(NoCluster)).crds;
                release::definitions::install(&world.cluster, &crds, release::definitions::TIMEOUT)
                    .await
                    .expect("definitions");
                releases.install(prepare(1, &values)).await.expect("installed");
            }
            ("upgrade", file) => {
                let standing = releases
                    .records()
                    .standing()
                    .await
                    .expect("records")
                    .expect("a release");
                let prepared = prepare(
                    standing.next_version(),
                    &values(file.trim_start_matches("VALUES")),
                );
                // Some of them fail, as they did.
                releases.upgrade(standing, prepared, &BTreeSet::new()).await.ok();
            }
            (_, version) => {
                let standing = releases
                    .records()
                    .standing()
                    .await
                    .expect("records")
                    .expect("a release");
                let to = version.parse().expect("a number");
                releases.rollback(standing, Some(to)).await.expect("back");
            }
        }
        let history = releases.records().history().await.expect("a history");
        let expected = recorded(session, step);
        assert_eq!(
            history.revisions().len(),
            expected.len(),
            "{} step {step}",
            session.display()
        );
        for release in &expected {
            let ours = releases
                .records()
                .read(release.version)
                .await
                .expect("a record")
                .expect("there");
            pretty(&comparable(&ours.release), &comparable(release), session, step);
        }
    }
}

/// Compares records field by field, so that a difference can be seen.
fn pretty(ours: &Value, theirs: &Value, session: &Path, step: usize) {
    for field in [
        "name",
        "namespace",
        "version",
        "info",
        "config",
        "manifest",
        "hooks",
        "chart",
    ] {
        assert_eq!(
            ours[field],
            theirs[field],
            "{field} of {} after step {step}",
            session.display()
        );
    }
    assert_eq!(ours, theirs, "{} after step {step}", session.display());
}

#[tokio::test]
async fn the_same_commands_leave_the_same_records() {
    let Some(corpus) = corpus::open("operator") else {
        return;
    };
    let corpus = corpus.join("operator-corpus");
    for chart in ["plain", "kitchen"] {
        let session = corpus.join(format!("helm-cli/{chart}-v3"));
        play(
            &session,
            &corpus.join("charts").join(chart),
            &format!("cli-{chart}-v3"),
        )
        .await;
    }
}
