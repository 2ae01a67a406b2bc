//! A recorded flow played on a server: each step is done when the recording did it, and what comes of it is compared.

use std::collections::BTreeMap;
use std::time::Duration;

use classic_controller::controller::{Controller, Options};
use kube::Client;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::catalogs::Catalogs;
use crate::comparing::{Account, compare, compare_stories};
use crate::differences;
use crate::events::{self, Announced, Events};
use crate::kubelet::Kubelet;
use crate::observing::{EVENT, Scene, api_of};
use crate::recording::{Action, Recording, Step, Subject};
use crate::server::{self, SYSTEM};
use crate::story;
use crate::wording::Names;

/// How long something may take here that the recording waited for.
const PATIENCE: Duration = Duration::from_secs(40);

/// How long it may take once something took too long: the rest of the flow will not be the recorded one anyway.
const SPENT_PATIENCE: Duration = Duration::from_millis(500);

/// How often it is looked.
const PAUSE: Duration = Duration::from_millis(50);

/// How long nothing may happen before the next step is done.
const QUIET: Duration = Duration::from_millis(300);

/// How long nothing may happen before a step that the recording did in another state.
const LONG_QUIET: Duration = Duration::from_millis(1500);

/// How long a plan is tried again; a minute upstream, which nobody wants to wait for.
const PLAN_PATIENCE: Duration = Duration::from_secs(14);

/// Plays a recording; returns what differs from what is expected and is not known to, and what is known to and doesn't.
pub(crate) async fn play(client: Client, recording: &Recording, expected: &Account) -> Vec<String> {
    let mut tasks = JoinSet::new();
    let kubelet = Kubelet::default();
    let scene = Scene::new(&client).await;
    tasks.spawn(kubelet.clone().play(client.clone()));
    let controller = Controller::new(Options {
        settings: install_plan::settings::Settings {
            namespace: SYSTEM.to_owned(),
            global_namespace: SYSTEM.to_owned(),
            plan_patience: PLAN_PATIENCE,
            // One that fails stops all, as upstream.
            failures_stay_apart: false,
            ..install_plan::settings::Settings::default()
        },
        ..Options::new(client.clone())
    });
    let (stop, stopped) = oneshot::channel::<()>();
    tasks.spawn(async move {
        let stopped = async {
            stopped.await.ok();
        };
        controller.run(stopped).await;
    });
    let mut player = Player {
        client,
        recording,
        expected,
        scene,
        kubelet,
        catalogs: Catalogs::default(),
        addresses: BTreeMap::new(),
        is_late: false,
    };
    let complaints = player.play().await;
    drop(stop);
    // The controller ends by itself; nobody else does.
    tasks.join_next().await;
    complaints
}

struct Player<'a> {
    client: Client,
    recording: &'a Recording,
    /// What should come of it.
    expected: &'a Account,
    scene: Scene,
    kubelet: Kubelet,
    catalogs: Catalogs,
    /// The addresses of catalogs here, and in the recording.
    addresses: BTreeMap<String, String>,
    is_late: bool,
}

/// What was seen here, in the words of the recordings.
struct Seen {
    names: Names,
    sights: BTreeMap<Subject, Vec<Option<Value>>>,
    events: Events,
    now: BTreeMap<Subject, Value>,
}

impl Seen {
    fn account(&self) -> Account {
        let stories = story::tell(&self.sights);
        Account {
            events: events::tell(&self.events, &stories),
            stories,
            end: self.now.clone(),
        }
    }
}

impl Player<'_> {
    async fn play(&mut self) -> Vec<String> {
        let mut complaints = Vec::new();
        for (position, step) in self.recording.steps.iter().enumerate() {
            complaints.extend(self.wait_for(position, step).await);
            self.act(&step.action).await;
        }
        let (flow, expected) = (&self.recording.name, self.expected);
        let judge = |seen: &Seen| differences::judge(flow, &compare(expected, &seen.account()));
        self.is_late |= !self.waited(|seen| judge(seen).is_empty()).await;
        self.scene.quiet(QUIET, QUIET * 5).await;
        complaints.extend(judge(&self.seen()));
        complaints
    }

    /// Waits until a step is to be done; complains where it rests as recorded and isn't meant to.
    async fn wait_for(&mut self, position: usize, step: &Step) -> Option<String> {
        let moment = &step.moment;
        if moment.is_now() {
            return None;
        }
        let before = rest(&step.before);
        let flow = &self.recording.name;
        // What has not begun yet rests, too: only who went the same way is where the recording was.
        let rests = |seen: &Seen| {
            let way = compare_stories(&step.stories, &story::tell(&seen.sights));
            rest(&seen.now) == before
                && way
                    .iter()
                    .all(|difference| differences::is_known(flow, difference))
        };
        if moment.is_quiet && differences::rests_differently(flow, position) {
            self.scene.quiet(LONG_QUIET, PATIENCE).await;
            return rests(&self.seen()).then(|| {
                format!(
                    "  before step {position} it rests as recorded, take it from the list of those that don't"
                )
            });
        }
        self.wait(|seen| moment.is_seen(&seen.now) && (!moment.is_quiet || rests(seen)))
            .await;
        if moment.is_quiet {
            self.scene.quiet(QUIET, QUIET * 5).await;
        }
        None
    }

    async fn wait(&mut self, is_so: impl Fn(&Seen) -> bool) {
        if !self.waited(is_so).await {
            self.is_late = true;
        }
    }

    async fn waited(&self, is_so: impl Fn(&Seen) -> bool) -> bool {
        let patience = if self.is_late { SPENT_PATIENCE } else { PATIENCE };
        let deadline = Instant::now() + patience;
        let mut looked_at = None;
        loop {
            tokio::time::sleep(PAUSE).await;
            let count = self.scene.count();
            if looked_at.replace(count) != Some(count) && is_so(&self.seen()) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
        }
    }

    fn seen(&self) -> Seen {
        let sightings = self.scene.sightings();
        let mut seen = Seen {
            names: Names::new(self.addresses.clone()),
            sights: BTreeMap::new(),
            events: Events::new(),
            now: BTreeMap::new(),
        };
        for sighting in sightings.iter().filter(|sighting| sighting.kind != EVENT) {
            seen.names.meet(sighting.kind, &sighting.object);
        }
        let mut last: BTreeMap<Subject, Value> = BTreeMap::new();
        for sighting in sightings {
            let text = |key: &str| sighting.object["metadata"][key].as_str().unwrap_or_default();
            if sighting.kind == EVENT {
                let (about, told) = Announced::read(text("namespace"), &seen.names.tell(&sighting.object));
                seen.events.entry(about).or_default().insert(told);
                continue;
            }
            let subject = (
                sighting.kind.to_owned(),
                text("namespace").to_owned(),
                seen.names.name(text("name")),
            );
            let object = (!sighting.is_gone).then(|| seen.names.tell(&sighting.object));
            match &object {
                Some(object) => last.insert(subject.clone(), object.clone()),
                None => last.remove(&subject),
            };
            let sights = seen.sights.entry(subject).or_default();
            if sights.last() != Some(&object) {
                sights.push(object);
            }
        }
        seen.now = last;
        seen
    }

    async fn act(&mut self, action: &Action) {
        match action {
            Action::Serve { catalog, file } => self.catalogs.serve(catalog, file).await,
            Action::Create(objects) => {
                // What is in one file is there at the same time, but a namespace comes before what is in it.
                let mut objects = objects.clone();
                for object in &mut objects {
                    self.readdress(object);
                }
                let (first, others): (Vec<&Value>, Vec<&Value>) =
                    objects.iter().partition(|object| object["kind"] == "Namespace");
                for objects in [first, others] {
                    let made = objects
                        .into_iter()
                        .map(|object| server::create(&self.client, object));
                    futures_util::future::join_all(made).await;
                }
            }
            Action::Patch {
                subject: (kind, namespace, name),
                subresource,
                patch,
            } => {
                let api = api_of(&self.client, kind, namespace);
                let name = self.name(kind, namespace, name);
                let parameters = PatchParams::default();
                let patch = Patch::Merge(patch);
                let patched = if subresource.is_empty() {
                    api.patch(&name, &parameters, &patch).await
                } else {
                    api.patch_subresource(subresource, &name, &parameters, &patch)
                        .await
                };
                if let Err(fault) = patched {
                    assert!(
                        self.is_late,
                        "{kind} {namespace}/{name} can't be patched: {fault}"
                    );
                }
            }
            Action::Delete((kind, namespace, name)) => {
                let api = api_of(&self.client, kind, namespace);
                let name = self.seen().names.real(name);
                if let Err(fault) = api.delete(&name, &DeleteParams::background()).await {
                    assert!(
                        self.is_late,
                        "{kind} {namespace}/{name} can't be deleted: {fault}"
                    );
                }
            }
            Action::Release(namespace) => self.kubelet.release(&self.client, namespace).await,
        }
    }

    /// Returns the name that an object has here.
    fn name(&self, kind: &str, namespace: &str, name: &str) -> String {
        let seen = self.seen();
        if !(kind == "InstallPlan" && name.contains("referenced by the Subscription")) {
            return seen.names.real(name);
        }
        let mut subscriptions = seen
            .now
            .iter()
            .filter(|((kind, of, _), _)| kind == "Subscription" && of == namespace);
        let plan = subscriptions.find_map(|(_, object)| {
            object["status"]["installPlanRef"]["name"]
                .as_str()
                .map(str::to_owned)
        });
        seen.names.real(&plan.unwrap_or_default())
    }

    /// Lets a CatalogSource name the port that its catalog has here.
    fn readdress(&mut self, object: &mut Value) {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let recorded = object["spec"]["address"].as_str().unwrap_or_default().to_owned();
        if object["kind"] == "CatalogSource"
            && let Some(address) = self.catalogs.address(name)
        {
            object["spec"]["address"] = address.clone().into();
            self.addresses.insert(address, recorded);
        }
    }
}

/// Returns what says how far a flow came: where it rests before the next step.
fn rest(objects: &BTreeMap<Subject, Value>) -> BTreeMap<&Subject, Value> {
    let states = objects.iter().filter_map(|(subject, object)| {
        let status = &object["status"];
        let state = match subject.0.as_str() {
            "ClusterServiceVersion" => serde_json::json!([status["phase"], status["reason"]]),
            "InstallPlan" => status["phase"].clone(),
            "Subscription" => serde_json::json!([status["state"], status["installedCSV"]]),
            "CatalogSource" => status["connectionState"]["lastObservedState"].clone(),
            _ => return None,
        };
        Some((subject, state))
    });
    states.collect()
}
