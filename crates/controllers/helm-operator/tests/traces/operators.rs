//! Operators of ours, started and ended as the real ones were.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use chart::environment::Variables;
use helm_operator::blueprint::Blueprint;
use helm_operator::controller::Controller;
use helm_operator::roster::Roster;
use helm_operator::routing::Operator;
use helm_operator::watches;
use helm_operator::world::Making;
use kube::Client;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How many revisions the real operator keeps.
pub(crate) const HISTORY: usize = 10;

/// The field manager of the real operator.
const MANAGER: &str = "helm-operator";

/// Where the charts of the recordings are.
#[derive(Debug, Clone)]
pub(crate) struct Charts {
    own: PathBuf,
    users: PathBuf,
    newer: PathBuf,
}

impl Charts {
    /// Finds the charts; the newer one of the users is made in a folder.
    pub(crate) fn new(corpus: &Path, charts: &Path, folder: &Path) -> Self {
        let users = charts.join("titanml-helm-charts__charts__inference-stack");
        let newer = folder.join("inference-stack");
        copy(&users, &newer);
        let file = newer.join("Chart.yaml");
        let text = std::fs::read_to_string(&file).expect("a chart");
        let text = text
            .replace("version: 1.0.0", "version: 2.0.0")
            .replace("appVersion: \"0.22.0-rc20\"", "appVersion: \"9.9.9\"");
        assert!(text.contains("9.9.9") && text.contains("2.0.0"), "{text}");
        std::fs::write(file, text).expect("written");
        Self {
            own: corpus.join("charts"),
            users,
            newer,
        }
    }

    fn path(&self, named: &Path, operator: &str) -> PathBuf {
        let name = named.file_name().expect("a name");
        match (name.to_str(), operator) {
            (Some("inference-stack"), "v2") => self.newer.clone(),
            (Some("inference-stack"), _) => self.users.clone(),
            _ => self.own.join(name),
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// The operators of one recording.
pub(crate) struct Operators {
    client: Client,
    namespace: String,
    charts: Charts,
    running: HashMap<String, Running>,
}

struct Running {
    task: JoinHandle<()>,
    stop: oneshot::Sender<()>,
}

impl Operators {
    pub(crate) fn new(client: Client, namespace: &str, charts: Charts) -> Self {
        Self {
            client,
            namespace: namespace.to_owned(),
            charts,
            running: HashMap::new(),
        }
    }

    /// Starts an operator.
    pub(crate) fn start(
        &mut self,
        name: &str,
        period: Duration,
        watches: &Path,
        environment: &BTreeMap<String, String>,
    ) {
        let environment = environment.clone();
        let variables: Variables = Rc::new(move |name| environment.get(name).cloned().unwrap_or_default());
        let namespaces = vec![self.namespace.clone()];
        let blueprints: Vec<Arc<Blueprint>> = watches::load(watches, &variables)
            .expect("watches")
            .into_iter()
            .map(|mut watch| {
                watch.chart = self.charts.path(&watch.chart, name);
                Arc::new(Blueprint::load(watch).expect("a chart"))
            })
            .collect();
        let mine = blueprints
            .iter()
            .map(|blueprint| Operator::of(blueprint, &namespaces))
            .collect();
        let controller = Controller::new(
            Making {
                client: self.client.clone(),
                manager: MANAGER.to_owned(),
                blueprints,
                roster: Roster::new(&self.namespace, name, mine),
                namespaces,
                reconcile_period: period,
                suppress_override_values: false,
                history_limit: HISTORY,
            },
            2,
        );
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            controller
                .run(async {
                    stopped.await.ok();
                })
                .await;
        });
        self.running.insert(name.to_owned(), Running { task, stop });
    }

    /// Ends an operator as it should.
    pub(crate) async fn stop(&mut self, name: &str) {
        let running = self.running.remove(name).expect("it runs");
        running.stop.send(()).ok();
        running.task.await.expect("no panic");
    }

    /// Ends an operator in the middle of what it does.
    pub(crate) async fn kill(&mut self, name: &str) {
        let running = self.running.remove(name).expect("it runs");
        running.task.abort();
        running.task.await.ok();
    }
}

impl Drop for Operators {
    fn drop(&mut self) {
        for running in self.running.values() {
            running.task.abort();
        }
    }
}
