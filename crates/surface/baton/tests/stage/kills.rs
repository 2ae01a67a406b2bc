//! The server is killed in the middle of its work, again and again, and what it acknowledged is there.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::running::{Events, Running, answer, client, kubeconfig};
use crate::world::World;

/// How often the server is killed.
const KILLS: usize = 20;

/// How many writes are on their way each time.
const WRITES: usize = 5000;

/// How many clients write at once.
const CLIENTS: usize = 32;

/// How many names each client writes to: few enough that most writes are to objects that are there.
const NAMES: usize = 24;

/// How long anything may take that happens by itself.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a client knows of one of its objects.
#[derive(Debug, Clone)]
enum Known {
    /// The last answer about it.
    Acknowledged(Option<Value>),
    /// It was so, and a write was on its way when the server went.
    Unsure {
        before: Option<Value>,
        /// The number that the write would have brought; `None` for a deletion.
        wanted: Option<u64>,
    },
}

impl Known {
    fn last(&self) -> Option<&Value> {
        match self {
            Self::Acknowledged(object) | Self::Unsure { before: object, .. } => object.as_ref(),
        }
    }
}

/// One client: it alone writes to its names.
#[derive(Debug)]
struct Writer {
    number: usize,
    known: BTreeMap<String, Known>,
    written: u64,
    random: u64,
}

/// Where the writes go, and how many were acknowledged there.
struct Place {
    client: reqwest::Client,
    configmaps: String,
    asked: AtomicUsize,
    acknowledged: AtomicUsize,
}

/// The content of every object follows from one number, so that half an object shows.
fn data(number: u64) -> Value {
    let length = usize::try_from(number % 900).expect("a small number");
    json!({"number": number.to_string(), "pad": "x".repeat(length), "same": number.to_string()})
}

fn number_of(object: &Value) -> u64 {
    let text = object["data"]["number"].as_str().expect("a number");
    let number = text.parse().expect("a number");
    assert_eq!(object["data"], data(number), "half an object");
    number
}

fn version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str().expect("a version");
    text.parse().expect("a version")
}

fn same(left: Option<&Value>, right: Option<&Value>) -> bool {
    let key = |object: &Value| {
        (
            version(object),
            number_of(object),
            object["metadata"]["uid"].clone(),
        )
    };
    left.map(key) == right.map(key)
}

impl Writer {
    fn new(number: usize) -> Self {
        Self {
            number,
            known: BTreeMap::new(),
            written: 0,
            random: RandomState::new().hash_one(number) | 1,
        }
    }

    fn roll(&mut self, sides: u64) -> u64 {
        // A xorshift is random enough to mix kinds of writes.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % sides
    }

    /// Writes until the server is gone or all writes are on their way.
    async fn write(mut self, place: Arc<Place>) -> Self {
        let mut last_version = 0;
        while place.asked.fetch_add(1, Ordering::Relaxed) < WRITES {
            let place_of_name = self.roll(NAMES as u64);
            let name = format!("client-{}-{place_of_name}", self.number);
            self.written += 1;
            let number = self.written * CLIENTS as u64 + self.number as u64;
            let before = self.known.get(&name).and_then(Known::last).cloned();
            let url = format!("{}/{name}", place.configmaps);
            let choice = self.roll(5);
            let wanted = (before.is_none() || choice > 0).then_some(number);
            let request = match (&before, choice) {
                (None, _) => place
                    .client
                    .post(&place.configmaps)
                    .body(json!({"metadata": {"name": name}, "data": data(number)}).to_string()),
                (Some(_), 0) => place.client.delete(&url),
                (Some(object), 1 | 2) => {
                    let mut object = object.clone();
                    object["data"] = data(number);
                    place.client.put(&url).body(object.to_string())
                }
                (Some(_), 3) => place
                    .client
                    .patch(&url)
                    .header("Content-Type", "application/merge-patch+json")
                    .body(json!({"data": data(number)}).to_string()),
                (Some(_), _) => place
                    .client
                    .patch(format!("{url}?fieldManager=kills&force=true"))
                    .header("Content-Type", "application/apply-patch+yaml")
                    .body(
                        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
                            "data": data(number)})
                        .to_string(),
                    ),
            };
            let request = if wanted.is_some() && !matches!((&before, choice), (Some(_), 3 | 4)) {
                request.header("Content-Type", "application/json")
            } else {
                request
            };
            // In doubt from the moment it leaves until its answer is there.
            self.known.insert(name.clone(), Known::Unsure { before, wanted });
            let Ok((code, answered)) = answer(request).await else {
                break;
            };
            assert!(matches!(code, 200 | 201), "{code}: {answered}");
            let object = wanted.map(|number| {
                assert_eq!(number_of(&answered), number);
                assert!(version(&answered) > last_version, "a version that isn't new");
                last_version = version(&answered);
                answered
            });
            self.known.insert(name, Known::Acknowledged(object));
            place.acknowledged.fetch_add(1, Ordering::Relaxed);
        }
        self
    }

    /// Holds what the client knows against what is there; afterwards it knows that.
    fn check(&mut self, there: &BTreeMap<String, Value>) {
        for (name, known) in &mut self.known {
            let found = there.get(name);
            match known {
                Known::Acknowledged(object) => {
                    assert_eq!(found, object.as_ref(), "{name} isn't what was acknowledged");
                }
                Known::Unsure { before, wanted } => {
                    let took_place = found.map(number_of) == *wanted;
                    assert!(
                        took_place || same(found, before.as_ref()),
                        "{name} is neither as before nor as wanted: {found:?}"
                    );
                }
            }
            *known = Known::Acknowledged(found.cloned());
        }
    }
}

/// Lists all objects, page by page; returns them by name, and the version of the list.
async fn list(place: &Place) -> (BTreeMap<String, Value>, u64) {
    let mut objects = BTreeMap::new();
    let mut token = String::new();
    loop {
        let url = format!("{}?limit=100&continue={token}", place.configmaps);
        let (code, list) = answer(place.client.get(url)).await.expect("an answer");
        assert_eq!(code, 200, "{list}");
        for item in list["items"].as_array().expect("items") {
            let mut item = item.clone();
            item["apiVersion"] = "v1".into();
            item["kind"] = "ConfigMap".into();
            let name = item["metadata"]["name"].as_str().expect("a name").to_owned();
            if name != "kube-root-ca.crt" {
                number_of(&item);
                assert!(objects.insert(name, item).is_none(), "an object is there twice");
            }
        }
        list["metadata"]["continue"]
            .as_str()
            .unwrap_or_default()
            .clone_into(&mut token);
        if token.is_empty() {
            return (objects, version(&list));
        }
    }
}

/// Writes one more object; whoever watches and sees it has seen everything before.
async fn mark(place: &Place, round: usize) -> Value {
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mark"},
        "data": data(round as u64)});
    let request = place
        .client
        .patch(format!("{}/mark?fieldManager=mark", place.configmaps))
        .header("Content-Type", "application/apply-patch+yaml")
        .body(body.to_string());
    let (code, object) = answer(request).await.expect("an answer");
    assert!(matches!(code, 200 | 201), "{object}");
    object
}

/// What somebody knows who lists once and only watches from then on.
#[derive(Debug, Default)]
struct Watcher {
    objects: BTreeMap<String, Value>,
    seen: u64,
    resumed: usize,
    relisted: usize,
}

impl Watcher {
    /// Watches until the server is gone, or until everything up to a version was seen.
    async fn watch(mut self, place: Arc<Place>, until: Option<u64>) -> Self {
        loop {
            if self.seen == 0 {
                (self.objects, self.seen) = list(&place).await;
                self.relisted += 1;
            }
            let url = format!("{}?watch=true&resourceVersion={}", place.configmaps, self.seen);
            let Ok(mut events) = Events::start(place.client.get(url)).await else {
                return self;
            };
            self.resumed += 1;
            while until.is_none_or(|until| self.seen < until) {
                let Some(event) = events.next().await else { break };
                self.take(&event);
            }
            if until.is_none_or(|until| self.seen >= until) {
                return self;
            }
        }
    }

    fn take(&mut self, event: &Value) {
        let object = &event["object"];
        if event["type"] == "ERROR" {
            assert_eq!(object["code"], 410, "{event}");
            self.seen = 0;
            return;
        }
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        assert!(version(object) >= self.seen, "an event of the past: {event}");
        self.seen = version(object);
        match event["type"].as_str() {
            Some("ADDED" | "MODIFIED") if name != "kube-root-ca.crt" => {
                number_of(object);
                self.objects.insert(name, object.clone());
            }
            Some("DELETED") => {
                self.objects.remove(&name);
            }
            _ => {}
        }
    }
}

/// A Deployment beside the writes: what controllers make of it must go on after each start.
struct Deployment {
    url: String,
}

impl Deployment {
    async fn create(client: &reqwest::Client, server: &str) -> Self {
        let all = format!("{server}/apis/apps/v1/namespaces/default/deployments");
        let template = json!({"metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]}});
        let body = json!({"metadata": {"name": "web"}, "spec": {"replicas": 1,
            "selector": {"matchLabels": {"app": "web"}}, "template": template}});
        let request = client.post(&all).header("Content-Type", "application/json");
        let (code, made) = answer(request.body(body.to_string())).await.expect("an answer");
        assert_eq!(code, 201, "{made}");
        Self {
            url: "/apis/apps/v1/namespaces/default/deployments/web".to_owned(),
        }
    }

    async fn scale(&self, client: &reqwest::Client, server: &str, replicas: usize) {
        let request = client
            .patch(format!("{server}{}", self.url))
            .header("Content-Type", "application/merge-patch+json")
            .body(json!({"spec": {"replicas": replicas}}).to_string());
        let (code, changed) = answer(request).await.expect("an answer");
        assert_eq!(code, 200, "{changed}");
    }

    async fn is_served(&self, client: &reqwest::Client, server: &str, replicas: usize) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let (_, found) = answer(client.get(format!("{server}{}", self.url)))
                .await
                .expect("an answer");
            let status = &found["status"];
            if status["readyReplicas"].as_u64() == Some(replicas as u64)
                && status["replicas"].as_u64() == Some(replicas as u64)
            {
                return;
            }
            assert!(
                tokio::time::Instant::now() < deadline,
                "{replicas} wanted: {status}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[test]
fn what_was_acknowledged_survives_twenty_kills_in_the_middle_of_5000_writes() {
    let world = World::new();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut writers: Vec<Writer> = (0..CLIENTS).map(Writer::new).collect();
    let mut watcher = Watcher::default();
    let mut acknowledged = 0;
    let mut newest = 0;
    let mut deployment: Option<Deployment> = None;
    let random = RandomState::new();
    for round in 0..=KILLS {
        let running = Running::start(&world, &["--data-dir", "data"]);
        let client = client(&kubeconfig(&world, "data/baton.kubeconfig"), true);
        let place = Arc::new(Place {
            configmaps: format!("{}/api/v1/namespaces/default/configmaps", running.url),
            client: client.clone(),
            asked: AtomicUsize::new(0),
            acknowledged: AtomicUsize::new(0),
        });
        // Everything is there, and the watcher learns from where it was what it missed.
        let (mut there, at) = runtime.block_on(list(&place));
        assert!(at >= newest, "the version went back from {newest} to {at}");
        for writer in &mut writers {
            writer.check(&there);
        }
        watcher = runtime.block_on(async {
            let mark = mark(&place, round).await;
            let until = Some(version(&mark));
            there.insert("mark".to_owned(), mark);
            tokio::time::timeout(PATIENCE, watcher.watch(place.clone(), until))
                .await
                .expect("a watch that catches up")
        });
        assert_eq!(watcher.objects, there, "what was watched isn't what is there");
        let replicas = |round: usize| 1 + round % 3;
        let known = match deployment.take() {
            None => runtime.block_on(Deployment::create(&client, &running.url)),
            Some(known) => {
                // Scaled just before the kill: nobody but the controllers of this process does it.
                if round % 5 == 0 {
                    runtime.block_on(known.is_served(&client, &running.url, replicas(round)));
                }
                known
            }
        };
        if round == KILLS {
            assert_eq!(running.stop(), Some(0));
            break;
        }
        // Killed at any moment of the first quarter: the others would only take longer.
        let moment = usize::try_from(random.hash_one(round) % (WRITES as u64 / 4)).expect("a small number");
        let (done, seen) = runtime.block_on(async {
            let watching = tokio::spawn(watcher.watch(place.clone(), None));
            let tasks: Vec<_> = writers
                .drain(..)
                .map(|writer| tokio::spawn(writer.write(place.clone())))
                .collect();
            while place.acknowledged.load(Ordering::Relaxed) <= moment {
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
            known.scale(&client, &running.url, replicas(round + 1)).await;
            running.kill();
            let mut done = Vec::new();
            for task in tasks {
                done.push(task.await.expect("no write was answered wrongly"));
            }
            (done, watching.await.expect("no event was wrong"))
        });
        (writers, watcher) = (done, seen);
        deployment = Some(known);
        let here = place.acknowledged.load(Ordering::Relaxed);
        assert!(here < WRITES, "the server was killed after the last write");
        acknowledged += here;
        let versions = writers.iter().flat_map(|writer| writer.known.values());
        newest = versions
            .filter_map(Known::last)
            .map(version)
            .max()
            .unwrap_or(0)
            .max(newest);
    }
    assert!(watcher.resumed > KILLS, "{watcher:?}");
    println!(
        "{acknowledged} writes acknowledged, {} lists by the watcher",
        watcher.relisted
    );
}
