//! Plans that are executed, case by case as the real one was recorded.

use bundle::cluster_service_version::GroupVersionKind;
use classic::{Kind, World, Write};
use install_plan::plan::{self, Next, Outcome, Progress};
use install_plan::settings::Settings;
use jiff::Timestamp;
use serde_json::{Value, json};

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

/// A server that does what it is told, beside the World that it tells about it.
#[derive(Default)]
struct Server {
    objects: Vec<Value>,
}

fn identity(object: &Value) -> (String, String, String) {
    let text = |pointer| apply::object::text(object, pointer).to_owned();
    (text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

impl Server {
    fn write(&mut self, world: &mut World, write: Write) -> Outcome {
        let (object, outcome) = match write {
            Write::Create { object, or_update } => {
                let exists = self
                    .objects
                    .iter()
                    .any(|existing| identity(existing) == identity(&object));
                match (exists, or_update) {
                    (true, false) => return Outcome::Exists,
                    (true, true) => (object, Outcome::Updated),
                    (false, _) => (object, Outcome::Created),
                }
            }
            Write::Update(object) => (object, Outcome::Updated),
            other => panic!("no step does that: {other:?}"),
        };
        self.objects
            .retain(|existing| identity(existing) != identity(&object));
        self.objects.push(object.clone());
        world.put(object);
        outcome
    }
}

/// What the case compares of an object; upstream's fixtures leave out kinds.
fn comparable(object: &Value) -> Value {
    let mut object = object.clone();
    for field in ["apiVersion", "kind"] {
        object.as_object_mut().expect("an object").remove(field);
    }
    object
}

#[test]
fn plans_are_executed_as_upstream_executes_them() {
    let Some(corpus) = corpus::open("olmv0") else {
        return;
    };
    let path = corpus.join("olmv0-corpus/installplans/cases.json");
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).expect("the cases")).expect("JSON");
    let cases = list(&all["cases"]);
    assert_eq!(cases.len(), 11);
    let settings = Settings::default();
    for case in cases {
        let id = case["id"].as_str().expect("an id");
        let mut world = World::default();
        world.served.insert(GroupVersionKind {
            group: "monitoring.coreos.com".to_owned(),
            version: "v1".to_owned(),
            kind: "PrometheusRule".to_owned(),
        });
        world.put(json!({
            "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": "og", "namespace": "ns"}, "status": {"namespaces": ["ns"]},
        }));
        for object in list(&case["extObjects"]) {
            world.put(object.clone());
        }
        let mut start = case["plan"].clone();
        start["kind"] = json!("InstallPlan");
        world.put(start);

        let mut server = Server::default();
        let mut progress = Progress::default();
        let mut rounds = 0;
        let decision = loop {
            rounds += 1;
            assert!(rounds < 100, "{id}: no end");
            match plan::decide(&world, "ns", "p", &progress, &(), &settings, now()) {
                Next::Rest(decision) => break decision,
                Next::Write(action) => {
                    let outcome = server.write(&mut world, action.write);
                    progress.record(action.step, outcome, Vec::new());
                }
                Next::Look(wanted) => progress.looked(wanted),
                other => panic!("{id}: {other:?}"),
            }
        };
        if let Some(Write::UpdateStatus(plan)) = decision.writes.into_iter().next() {
            world.put(plan);
        }
        let after = world.get(Kind::InstallPlan, "ns", "p").expect("the plan");
        assert_eq!(
            list(&after["status"]["plan"]),
            list(&case["planAfter"]["plan"]),
            "{id}"
        );
        let message = after["status"]["message"].as_str();
        let error = message.and_then(|message| message.strip_prefix("retrying execution due to error: "));
        assert_eq!(error, case["error"].as_str(), "{id}");
        if let Some(wanted) = case["want"].as_array() {
            let ours: Vec<Value> = server.objects.iter().map(comparable).collect();
            let wanted: Vec<Value> = wanted.iter().map(comparable).collect();
            assert_eq!(ours, wanted, "{id}");
        }
    }
}
