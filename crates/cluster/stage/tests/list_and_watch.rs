//! Any interleaving of lists, watches, writes and compactions rebuilds what is stored, through the API.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use proptest::prelude::*;
use serde_json::{Value, json};
use stage::{Body, Options, Service, Stage};
use tower::Service as _;

/// What is there: the names, each with its version and its content.
type Objects = BTreeMap<String, (u64, String)>;

/// How long the last event may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// One step of a case.
#[derive(Debug, Clone)]
enum Step {
    /// Writes an object, as one of those that are selected or not.
    Put { name: u8, selected: bool },
    /// Deletes an object.
    Delete { name: u8 },
    /// Forgets the past, except for the last writes.
    Compact { kept: u64 },
    /// The reader forgets everything and begins a list with pages of this size.
    List { limit: usize },
    /// The reader asks for the next page, if there is one.
    Page { limit: usize },
    /// The reader goes on from what it knows by a watch; one that is under way is left for it.
    Watch,
    /// The reader forgets everything and lets a watch tell it what is there.
    Stream,
    /// The reader takes events that are there already.
    Read { events: usize },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..6u8, any::<bool>()).prop_map(|(name, selected)| Step::Put { name, selected }),
        3 => (0..6u8).prop_map(|name| Step::Delete { name }),
        1 => (0..6u64).prop_map(|kept| Step::Compact { kept }),
        2 => (1..4usize).prop_map(|limit| Step::List { limit }),
        4 => (1..4usize).prop_map(|limit| Step::Page { limit }),
        3 => Just(Step::Watch),
        1 => Just(Step::Stream),
        5 => (1..5usize).prop_map(|events| Step::Read { events }),
    ]
}

struct World {
    stage: Stage,
    service: Service,
    cases: AtomicUsize,
}

impl World {
    async fn ask(&self, method: Method, path: &str, body: &Value) -> http::Response<Body> {
        let kind = if method == Method::PATCH {
            "application/apply-patch+yaml"
        } else {
            "application/json"
        };
        let bytes = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", kind)
            .body(Full::new(Bytes::from(bytes)))
            .expect("a request");
        let Ok(response) = self.service.clone().call(request).await;
        response
    }

    async fn call(&self, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let response = self.ask(method, path, body).await;
        let code = response.status().as_u16();
        let Ok(bytes) = response.into_body().collect().await;
        (code, serde_json::from_slice(&bytes.to_bytes()).expect("JSON"))
    }
}

fn version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str().expect("a version");
    text.parse().expect("a version")
}

fn entry(object: &Value) -> (String, (u64, String)) {
    let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
    let content = json!([
        object["data"],
        object["metadata"]["labels"],
        object["metadata"]["uid"]
    ]);
    (name, (version(object), content.to_string()))
}

/// Everything that was ever there, by version.
#[derive(Default)]
struct History(BTreeMap<u64, Objects>);

impl History {
    fn at(&self, version: u64) -> Objects {
        let states = self.0.range(..=version).next_back();
        states.map(|(_, state)| state.clone()).unwrap_or_default()
    }

    fn now(&self) -> Objects {
        self.at(u64::MAX)
    }
}

enum Doing {
    Nothing,
    Listing {
        token: String,
        at: u64,
        objects: Objects,
    },
    Watching {
        body: Body,
        rest: Vec<u8>,
        /// What was told of the beginning, which isn't over.
        beginning: Option<Objects>,
    },
}

/// Somebody who knows objects only by lists and watches.
struct Reader<'a> {
    world: &'a World,
    /// Where the objects are, with a selector if there is one.
    path: String,
    doing: Doing,
    /// What the reader knows, and as of which version.
    known: Option<(u64, Objects)>,
}

impl Reader<'_> {
    async fn list(&mut self, history: &History, limit: usize) {
        self.known = None;
        self.page(history, limit, String::new(), 0, Objects::new()).await;
    }

    async fn next_page(&mut self, history: &History, limit: usize) {
        match std::mem::replace(&mut self.doing, Doing::Nothing) {
            Doing::Listing { token, at, objects } => self.page(history, limit, token, at, objects).await,
            other => self.doing = other,
        }
    }

    async fn page(&mut self, history: &History, limit: usize, token: String, at: u64, mut objects: Objects) {
        let path = format!("{}&limit={limit}&continue={token}", self.path);
        let (code, page) = self.world.call(Method::GET, &path, &Value::Null).await;
        self.doing = Doing::Nothing;
        if code == 410 {
            assert!(!token.is_empty(), "a list of the present can't be too old");
            assert_eq!(page["reason"], "Expired", "{page}");
            return;
        }
        assert_eq!(code, 200, "{page}");
        assert!(
            at == 0 || at == version(&page),
            "the pages of a list are of one version"
        );
        let at = version(&page);
        let items = page["items"].as_array().expect("items");
        assert!(items.len() <= limit, "{page}");
        objects.extend(items.iter().map(entry));
        match page["metadata"]["continue"].as_str() {
            Some(token) if !token.is_empty() => {
                let token = token.to_owned();
                self.doing = Doing::Listing { token, at, objects };
            }
            _ => {
                assert_eq!(
                    objects,
                    history.at(at),
                    "a list isn't what was there at its version"
                );
                self.known = Some((at, objects));
            }
        }
    }

    async fn watch(&mut self) {
        let Some((since, _)) = &self.known else { return };
        let path = format!("{}&watch=true&resourceVersion={since}", self.path);
        self.start(&path, None).await;
    }

    async fn stream(&mut self) {
        self.known = None;
        let path = format!(
            "{}&watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
            self.path
        );
        self.start(&path, Some(Objects::new())).await;
    }

    async fn start(&mut self, path: &str, beginning: Option<Objects>) {
        let response = self.world.ask(Method::GET, path, &Value::Null).await;
        assert_eq!(response.status(), 200);
        self.doing = Doing::Watching {
            body: response.into_body(),
            rest: Vec::new(),
            beginning,
        };
    }

    /// Takes the next event, if it is there or, for one who waits, as soon as it is; returns whether there was one.
    async fn read(&mut self, history: &History, waits: bool) -> bool {
        let event = loop {
            let Doing::Watching { body, rest, .. } = &mut self.doing else {
                return false;
            };
            if let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = rest.drain(..=end).collect();
                break serde_json::from_slice::<Value>(&line).expect("an event");
            }
            let frame = if waits {
                Some(body.frame().await)
            } else {
                body.frame().now_or_never()
            };
            match frame {
                None => return false,
                Some(None) => {
                    self.doing = Doing::Nothing;
                    return false;
                }
                Some(Some(Ok(frame))) => rest.extend_from_slice(&frame.into_data().expect("bytes")),
            }
        };
        self.take(history, &event);
        true
    }

    fn take(&mut self, history: &History, event: &Value) {
        let object = &event["object"];
        let kind = event["type"].as_str().unwrap_or_default();
        if kind == "ERROR" {
            assert_eq!(
                (&object["code"], &object["reason"]),
                (&410.into(), &"Expired".into()),
                "{event}"
            );
            (self.doing, self.known) = (Doing::Nothing, None);
            return;
        }
        let Doing::Watching { beginning, .. } = &mut self.doing else {
            return;
        };
        if let Some(objects) = beginning {
            if kind == "BOOKMARK" {
                let end = &object["metadata"]["annotations"]["k8s.io/initial-events-end"];
                assert_eq!(end, "true", "{event}");
                let (at, objects) = (version(object), std::mem::take(objects));
                assert_eq!(
                    objects,
                    history.at(at),
                    "the beginning of a watch isn't what was there"
                );
                self.known = Some((at, objects));
                *beginning = None;
                return;
            }
            assert_eq!(kind, "ADDED", "{event}");
            let (name, found) = entry(object);
            assert!(objects.insert(name, found).is_none(), "{event}");
            return;
        }
        let Some((seen, objects)) = &mut self.known else {
            return;
        };
        assert!(
            version(object) > *seen || kind == "BOOKMARK",
            "an event of the past: {event}"
        );
        *seen = version(object).max(*seen);
        if kind == "BOOKMARK" {
            return;
        }
        let (name, found) = entry(object);
        match kind {
            "ADDED" => assert!(objects.insert(name, found).is_none(), "{event}"),
            "MODIFIED" => assert!(objects.insert(name, found).is_some(), "{event}"),
            "DELETED" => assert!(objects.remove(&name).is_some(), "{event}"),
            _ => panic!("{event}"),
        }
        assert_eq!(
            *objects,
            history.at(*seen),
            "an event doesn't lead to what was there"
        );
    }
}

async fn run(world: &World, selective: bool, steps: Vec<Step>) {
    let namespace = format!("case-{}", world.cases.fetch_add(1, Ordering::Relaxed));
    let body = json!({"metadata": {"name": namespace}});
    let (code, made) = world.call(Method::POST, "/api/v1/namespaces", &body).await;
    assert_eq!(code, 201, "{made}");
    let all = format!("/api/v1/namespaces/{namespace}/configmaps");
    let selector = if selective {
        "labelSelector=selected%3Dtrue"
    } else {
        ""
    };
    let mut reader = Reader {
        world,
        path: format!("{all}?{selector}"),
        doing: Doing::Nothing,
        known: None,
    };
    let mut history = History::default();
    let mut contents = 0;
    let mut there = BTreeSet::new();
    for step in steps {
        match step {
            Step::Put { name, selected } => {
                contents += 1;
                put(
                    world,
                    &all,
                    &format!("object-{name}"),
                    selected,
                    contents,
                    selective,
                    &mut history,
                )
                .await;
                there.insert(name);
            }
            Step::Delete { name } if there.remove(&name) => {
                let path = format!("{all}/object-{name}");
                let (code, gone) = world.call(Method::DELETE, &path, &Value::Null).await;
                assert_eq!(code, 200, "{gone}");
                let mut now = history.now();
                now.remove(&format!("object-{name}"));
                history.0.insert(world.stage.api().store.revision(), now);
            }
            Step::Delete { .. } => {}
            Step::Compact { kept } => {
                let store = &world.stage.api().store;
                store
                    .compact(store.revision() - kept)
                    .await
                    .expect("a compaction");
            }
            Step::List { limit } => reader.list(&history, limit).await,
            Step::Page { limit } => reader.next_page(&history, limit).await,
            Step::Watch => reader.watch().await,
            Step::Stream => reader.stream().await,
            Step::Read { events } => {
                for _ in 0..events {
                    if !reader.read(&history, false).await {
                        break;
                    }
                }
            }
        }
    }
    // One last write: whoever has seen it, by whatever way, knows everything.
    put(world, &all, "last", true, contents + 1, selective, &mut history).await;
    let last = world.stage.api().store.revision();
    while reader.known.as_ref().is_none_or(|(seen, _)| *seen < last) {
        match &reader.doing {
            Doing::Nothing if reader.known.is_none() => reader.list(&history, 2).await,
            Doing::Nothing => reader.watch().await,
            Doing::Listing { .. } => reader.next_page(&history, 2).await,
            Doing::Watching { .. } => {
                let read = tokio::time::timeout(PATIENCE, reader.read(&history, true)).await;
                read.expect("the last write is told of");
            }
        }
    }
    let known = reader.known.map(|(_, objects)| objects);
    assert_eq!(known, Some(history.now()));
}

async fn put(
    world: &World,
    all: &str,
    name: &str,
    selected: bool,
    content: u64,
    selective: bool,
    history: &mut History,
) {
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"content": content.to_string()},
        "metadata": {"name": name, "labels": {"selected": selected.to_string()}}});
    let path = format!("{all}/{name}?fieldManager=writer");
    let (code, object) = world.call(Method::PATCH, &path, &body).await;
    assert!(matches!(code, 200 | 201), "{object}");
    let (name, found) = entry(&object);
    let at = found.0;
    let mut now = history.now();
    if selected || !selective {
        now.insert(name, found);
    } else {
        now.remove(&name);
    }
    history.0.insert(at, now);
}

#[test]
fn any_interleaving_of_lists_and_watches_rebuilds_what_is_stored() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let stage = runtime
        .block_on(Stage::in_memory(Options {
            without_controllers: true,
            ..Options::default()
        }))
        .expect("a stage");
    let world = World {
        service: stage.service(),
        stage,
        cases: AtomicUsize::new(0),
    };
    let steps = proptest::collection::vec(step(), 1..60);
    proptest!(ProptestConfig::with_cases(96), |(selective in any::<bool>(), steps in steps)| {
        runtime.block_on(run(&world, selective, steps));
    });
}
