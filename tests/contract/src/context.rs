//! What a case has at hand: a server, a name that is its own, and ways to ask and to wait.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::answer::Answer;
use crate::exchange::{Exchange, PatchKind};
use crate::server::{Backend, Server};

/// How long a case waits for something that a controller has to do. It is only used up when something is wrong.
pub const PATIENCE: Duration = Duration::from_mins(2);

const POLL: Duration = Duration::from_millis(50);

/// The world of one case. Nothing in it is shared with another case, so that all can run at once.
pub struct Context {
    server: Arc<dyn Server>,
    /// A name that no other case has: its namespace, and part of the name of whatever else it makes.
    pub id: String,
    namespace: OnceCell<()>,
    account: OnceCell<()>,
    differences: Mutex<Vec<String>>,
}

impl Context {
    /// Opens a world on `server`.
    pub fn new(server: Arc<dyn Server>, id: String) -> Self {
        Self {
            server,
            id,
            namespace: OnceCell::new(),
            account: OnceCell::new(),
            differences: Mutex::new(Vec::new()),
        }
    }

    /// The server itself.
    pub fn server(&self) -> &dyn Server {
        self.server.as_ref()
    }

    /// Notes that this case asks for different things of the servers, and why; returns which one is asked now.
    pub fn differs(&self, reason: &str) -> Backend {
        self.differences
            .lock()
            .expect("no case panics while it notes a reason")
            .push(reason.to_owned());
        self.server.backend()
    }

    /// The reasons given to [`Context::differs`].
    pub fn differences(&self) -> Vec<String> {
        self.differences
            .lock()
            .map(|reasons| reasons.clone())
            .unwrap_or_default()
    }

    /// Makes the case's namespace, named by its id, unless it is there.
    pub async fn namespace(&self) {
        self.namespace
            .get_or_init(|| async {
                let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.id}});
                self.post("/api/v1/namespaces", &body).await.expect(201);
            })
            .await;
    }

    /// Makes the namespace and waits until Pods can be made in it.
    pub async fn namespace_for_pods(&self) {
        self.namespace().await;
        self.account
            .get_or_init(|| async {
                self.until("serviceaccounts/default", |account| {
                    account["kind"] == "ServiceAccount"
                })
                .await;
            })
            .await;
    }

    /// Resolves a path: `{id}` is the case's id, and what has no leading `/` lies in the case's namespace:
    /// `configmaps/a` in the core group, `apps/v1:deployments/a` in another.
    pub fn path(&self, path: &str) -> String {
        let path = path.replace("{id}", &self.id);
        if path.starts_with('/') {
            return path;
        }
        match path.split_once(':') {
            Some((group_version, rest)) if is_group_version(group_version) => {
                format!("/apis/{group_version}/namespaces/{}/{rest}", self.id)
            }
            _ => format!("/api/v1/namespaces/{}/{path}", self.id),
        }
    }

    /// A request with a method, a path and no body.
    pub fn request(&self, method: Method, path: &str) -> Exchange<'_> {
        Exchange::new(self.server.as_ref(), method, self.path(path))
    }

    /// A GET.
    pub fn get(&self, path: &str) -> Exchange<'_> {
        self.request(Method::GET, path)
    }

    /// A POST of an object.
    pub fn post(&self, path: &str, body: &Value) -> Exchange<'_> {
        self.request(Method::POST, path)
            .body("application/json", Bytes::from(body.to_string()))
    }

    /// A PUT of an object.
    pub fn put(&self, path: &str, body: &Value) -> Exchange<'_> {
        self.request(Method::PUT, path)
            .body("application/json", Bytes::from(body.to_string()))
    }

    /// A DELETE without options.
    pub fn delete(&self, path: &str) -> Exchange<'_> {
        self.request(Method::DELETE, path)
    }

    /// A PATCH.
    pub fn patch(&self, kind: PatchKind, path: &str, body: &Value) -> Exchange<'_> {
        self.request(Method::PATCH, path)
            .body(kind.content_type(), Bytes::from(body.to_string()))
    }

    /// Creates an object in the place that its `apiVersion` and the given plural say, and returns it.
    pub async fn make(&self, path: &str, body: Value) -> Value {
        self.post(path, &body).await.expect(201).json()
    }

    /// Asks again and again until the answer (200 or not) satisfies `good`; panics with the last answer after [`PATIENCE`].
    pub async fn until(&self, path: &str, good: impl Fn(&Value) -> bool) -> Value {
        let answer = self
            .until_answer(path, |answer| good(&answer.json_or_null()))
            .await;
        answer.json()
    }

    /// Asks again and again until the object is gone.
    pub async fn until_gone(&self, path: &str) {
        self.until_answer(path, |answer| answer.status == 404).await;
    }

    /// Asks again and again until the whole answer satisfies `good`.
    pub async fn until_answer(&self, path: &str, good: impl Fn(&Answer) -> bool) -> Answer {
        let begun = Instant::now();
        loop {
            let answer = self.get(path).await;
            if good(&answer) {
                return answer;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "after {} s, {path} is still not as expected; it is {}",
                PATIENCE.as_secs(),
                answer.text()
            );
            tokio::time::sleep(POLL).await;
        }
    }

    /// Creates a definition of custom resources and waits until its resources are served.
    pub async fn define(&self, definition: &Value) -> Value {
        const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let made = self.make(DEFINITIONS, definition.clone()).await;
        let name = made["metadata"]["name"].as_str().expect("a name").to_owned();
        let made = self
            .until(&format!("{DEFINITIONS}/{name}"), |definition| {
                definition["status"]["conditions"]
                    .as_array()
                    .is_some_and(|conditions| {
                        conditions.iter().any(|condition| {
                            condition["type"] == "Established" && condition["status"] == "True"
                        })
                    })
            })
            .await;
        let spec = &made["spec"];
        let group = spec["group"].as_str().expect("a group");
        let plural = spec["names"]["plural"].as_str().expect("a plural");
        for version in spec["versions"].as_array().expect("versions") {
            if version["served"] == true {
                let version = version["name"].as_str().expect("a version");
                self.until_answer(&format!("/apis/{group}/{version}/{plural}"), |answer| {
                    answer.status == 200
                })
                .await;
            }
        }
        made
    }
}

/// Whether this is a group and a version, as in `apps/v1`, and not a resource and a name.
fn is_group_version(text: &str) -> bool {
    text.split_once("/v").is_some_and(|(group, version)| {
        !group.contains('/') && version.starts_with(|first: char| first.is_ascii_digit())
    })
}
