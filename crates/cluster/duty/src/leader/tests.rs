use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use http::{Method, Request, Response, StatusCode};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Patch, PatchParams};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, oneshot};

use super::*;

fn held_by(holder: &str) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(holder.to_owned()),
        lease_duration_seconds: Some(15),
        ..LeaseSpec::default()
    }
}

#[test]
fn a_lease_is_taken_when_it_was_not_renewed_for_its_time() {
    let spec = held_by("other");
    let sight = Sight {
        spec: Some(key(&spec)),
        lasts: stated(&spec),
        since: Instant::now(),
    };
    let lasts = Duration::from_secs(100);
    let at = |seconds| sight.since + Duration::from_secs(seconds);
    assert_eq!(claim(&spec, &sight, "me", lasts, at(14)), Claim::Leave);
    assert_eq!(claim(&spec, &sight, "me", lasts, at(15)), Claim::Take);
    assert_eq!(claim(&spec, &sight, "other", lasts, at(1)), Claim::Renew);
    assert_eq!(claim(&held_by(""), &sight, "me", lasts, at(0)), Claim::Take);
}

/// A server with one Lease, which agrees to everything else as soon as it may.
#[derive(Clone)]
struct Server {
    lease: Arc<Mutex<Option<Value>>>,
    namespace: watch::Sender<Space>,
    may_answer: Arc<Semaphore>,
}

/// The namespace of the Lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Space {
    There,
    /// It is being deleted.
    Going,
    /// The same, and something was refused for it.
    GoingAndTried,
    Gone,
}

impl Server {
    fn new() -> Self {
        Self {
            lease: Arc::default(),
            namespace: watch::Sender::new(Space::There),
            may_answer: Arc::new(Semaphore::new(0)),
        }
    }

    fn client(&self) -> Client {
        let server = self.clone();
        let answer = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        Client::new(answer, "default")
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let is_watch = request
            .uri()
            .query()
            .is_some_and(|query| query.contains("watch=true"));
        let about_leases = request.uri().path().contains("/leases");
        let about_namespaces = request.uri().path() == "/api/v1/namespaces";
        let method = request.method().clone();
        let body = request.into_body().collect_bytes().await.unwrap_or_default();
        if about_namespaces {
            let made: Value = serde_json::from_slice(&body).unwrap_or_default();
            let is_new = self.namespace.send_if_modified(|space| {
                let is_new = *space == Space::Gone;
                if is_new {
                    *space = Space::There;
                }
                is_new
            });
            return if is_new {
                said(StatusCode::CREATED, &made)
            } else {
                refused(StatusCode::CONFLICT, "AlreadyExists")
            };
        }
        if !about_leases {
            self.may_answer.acquire().await.expect("never closed").forget();
            return said(StatusCode::OK, &json!({"metadata": {"name": "a"}}));
        }
        let sent: Value = serde_json::from_slice(&body).unwrap_or_default();
        let mut lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        match (method, &*lease) {
            _ if is_watch => refused(StatusCode::FORBIDDEN, "Forbidden"),
            (Method::POST, None) if *self.namespace.borrow() != Space::There => self.refuse_to_make(),
            (Method::GET, None) => refused(StatusCode::NOT_FOUND, "NotFound"),
            (Method::GET, Some(lease)) => said(StatusCode::OK, lease),
            (Method::PUT, Some(lease))
                if lease["metadata"]["resourceVersion"] != sent["metadata"]["resourceVersion"] =>
            {
                refused(StatusCode::CONFLICT, "Conflict")
            }
            _ => said(StatusCode::OK, lease.insert(renewed(sent))),
        }
    }

    /// What is said of making something in a namespace that isn't there, or not for long.
    fn refuse_to_make(&self) -> Response<Body> {
        if *self.namespace.borrow() == Space::Gone {
            return refused(StatusCode::NOT_FOUND, "NotFound");
        }
        self.namespace.send_replace(Space::GoingAndTried);
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "it is being terminated", "reason": "Forbidden", "code": 403,
            "details": {"causes": [{"reason": "NamespaceTerminating", "field": "metadata.namespace"}]}});
        said(StatusCode::FORBIDDEN, &status)
    }

    /// Deletes the namespace with the Lease in it.
    fn delete_namespace(&self) {
        self.namespace.send_replace(Space::Going);
        self.lease.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    async fn becomes(&self, space: Space) {
        let mut seen = self.namespace.subscribe();
        seen.wait_for(|seen| *seen == space).await.expect("it lives");
    }

    fn holder(&self) -> String {
        let lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        let holder = lease
            .as_ref()
            .and_then(|lease| lease["spec"]["holderIdentity"].as_str());
        holder.unwrap_or("nobody yet").to_owned()
    }

    fn give_to(&self, holder: &str) {
        let mut lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lease) = lease.as_mut() {
            lease["spec"]["holderIdentity"] = holder.into();
            lease["spec"]["leaseDurationSeconds"] = 3600.into();
            *lease = renewed(lease.take());
        }
    }
}

fn renewed(mut lease: Value) -> Value {
    let before = lease["metadata"]["resourceVersion"]
        .as_str()
        .and_then(|version| version.parse::<u64>().ok());
    lease["metadata"]["resourceVersion"] = (before.unwrap_or(0) + 1).to_string().into();
    lease
}

fn said(code: StatusCode, object: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(object.to_string().into_bytes()));
    *response.status_mut() = code;
    response
}

fn refused(code: StatusCode, reason: &str) -> Response<Body> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": reason, "reason": reason, "code": code.as_u16()});
    said(code, &status)
}

fn tenure(identity: &str) -> Tenure {
    Tenure {
        lasts: Duration::from_mins(1),
        renews_within: Duration::from_secs(40),
        every: Duration::from_millis(20),
        ..Tenure::new("default", "test.example.com", identity)
    }
}

#[tokio::test]
async fn a_lease_is_given_back_after_the_last_write_was_answered() {
    let server = Server::new();
    let (fence, tenure) = (Fence::closed(), tenure("me"));
    let maps: Api<ConfigMap> = Api::default_namespaced(fence.guard(&server.client()));
    let (say_sent, sent) = oneshot::channel();
    let client = server.client();
    let leading = lead(&client, &tenure, &fence, async |_| {
        // Begun, but not waited for: the work is over before the server answers.
        tokio::spawn(async move {
            let merge = Patch::Merge(json!({}));
            maps.patch("a", &PatchParams::default(), &merge).await.map(drop)
        });
        while fence.is_quiet_within(Duration::ZERO).await {
            tokio::task::yield_now().await;
        }
        say_sent.send(()).expect("somebody listens");
    });
    let looking = async {
        sent.await.expect("it is sent");
        tokio::time::sleep(Duration::from_millis(50)).await;
        let before = server.holder();
        server.may_answer.add_permits(1);
        before
    };
    let (done, before) = tokio::join!(leading, looking);
    assert_eq!(
        (done, before.as_str(), server.holder().as_str()),
        (Some(()), "me", "")
    );
}

#[tokio::test]
async fn who_loses_the_lease_tells_its_work_when_nothing_can_be_written_any_more() {
    let server = Server::new();
    let (fence, tenure) = (Fence::closed(), tenure("me"));
    let client = server.client();
    let mut was_closed = None;
    let led = lead(&client, &tenure, &fence, async |term: Term| {
        assert!(fence.is_open());
        server.give_to("somebody else");
        term.is_over().await;
        was_closed = Some(!fence.is_open());
    });
    assert_eq!(led.await, None);
    assert_eq!(was_closed, Some(true));
    assert_eq!(server.holder(), "somebody else");
}

#[tokio::test]
async fn who_leads_gives_up_before_others_may_take_the_lease() {
    let server = Server::new();
    let fence = Fence::closed();
    let tenure = Tenure {
        lasts: Duration::from_hours(1),
        renews_within: Duration::from_millis(200),
        ..tenure("me")
    };
    let client = server.client();
    let away = Arc::new(Mutex::new(false));
    let is_away = Arc::clone(&away);
    // Everything hangs from some moment on, as behind a network that is cut.
    let hanging = tower::service_fn(move |request: Request<Body>| {
        let (client, is_away) = (client.clone(), Arc::clone(&is_away));
        async move {
            if *is_away.lock().expect("no panic") {
                std::future::pending::<()>().await;
            }
            client.send(request).await
        }
    });
    let client = Client::new(hanging, "default");
    let led = lead(&client, &tenure, &fence, async |term: Term| {
        *away.lock().expect("no panic") = true;
        term.is_over().await;
    });
    // The Lease would last for longer than anybody waits here.
    assert_eq!(timeout(Duration::from_mins(5), led).await, Ok(None));
    assert_eq!(server.holder(), "me");
    assert!(!fence.holds());
}

#[tokio::test]
async fn a_lease_says_of_its_holder_what_it_was_told_as_long_as_it_is_held() {
    let server = Server::new();
    let marks = |version: &str| BTreeMap::from([("example.com/version".to_owned(), version.to_owned())]);
    let marked = || {
        let lease = server.lease.lock().unwrap_or_else(PoisonError::into_inner);
        let metadata = lease.as_ref().map(|lease| lease["metadata"].clone());
        let metadata = metadata.unwrap_or_default();
        let of = |map: &str| metadata[map]["example.com/version"].as_str().map(str::to_owned);
        (of("labels"), of("annotations"))
    };
    for version in ["1", "2"] {
        let (fence, client) = (Fence::closed(), server.client());
        let tenure = Tenure {
            labels: marks(version),
            annotations: marks(version),
            ..tenure(version)
        };
        assert_eq!(*tenure.holder.borrow(), None);
        let led = lead(&client, &tenure, &fence, async |_| {
            let held = (marked(), tenure.holder.borrow().clone());
            let version = Some(version.to_owned());
            assert_eq!(held, ((version.clone(), version.clone()), version));
        });
        assert_eq!(led.await, Some(()));
        assert_eq!(marked(), (None, None));
    }
}

#[tokio::test]
async fn who_waits_says_for_whom() {
    let server = Server::new();
    server
        .lease
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .replace(json!({
            "metadata": {"name": "test.example.com", "resourceVersion": "1"},
            "spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600},
        }));
    let (fence, tenure, client) = (Fence::closed(), tenure("me"), server.client());
    let mut holder = tenure.holder.subscribe();
    let seen = tokio::select! {
        _ = lead(&client, &tenure, &fence, async |_| ()) => None,
        seen = holder.wait_for(Option::is_some) => seen.ok().and_then(|seen| seen.clone()),
    };
    assert_eq!(seen.as_deref(), Some("another"));
}

#[tokio::test]
async fn who_leads_goes_on_when_the_namespace_is_deleted_and_makes_it_again() {
    let server = Server::new();
    let (fence, client) = (Fence::closed(), server.client());
    let tenure = Tenure {
        makes_namespace: true,
        ..tenure("me")
    };
    let led = lead(&client, &tenure, &fence, async |_| {
        server.delete_namespace();
        server.becomes(Space::GoingAndTried).await;
        assert!(fence.is_open(), "what is under way goes on");
        server.namespace.send_replace(Space::Gone);
        server.becomes(Space::There).await;
        while server.holder() != "me" {
            tokio::task::yield_now().await;
        }
    });
    // Losing the Lease would end the work before its end.
    assert_eq!(led.await, Some(()));
}

#[tokio::test]
async fn in_a_namespace_that_is_going_the_next_try_comes_within_a_second() {
    let server = Server::new();
    let tenure = Tenure {
        makes_namespace: true,
        every: Duration::from_secs(26),
        ..tenure("me")
    };
    let fence = Fence::closed();
    let mut election = Election::new(&server.client(), &tenure, &fence);
    server.delete_namespace();
    let tried = election.attempt().await;
    assert_eq!(tried, Attempt::NamespaceGoes);
    let second = Duration::from_secs(1);
    let patient = Duration::from_millis(6_500);
    for (every, tried, expected) in [
        (tenure.every, Some(tried), second),
        (tenure.every, Some(Attempt::NotHeld), patient),
        (tenure.every, None, patient),
        // Who is quicker than that stays so.
        (second, Some(tried), Duration::from_millis(250)),
    ] {
        assert_eq!(pause_after_failure(tried, every), expected, "{tried:?} {every:?}");
    }
    server.namespace.send_replace(Space::Gone);
    assert_eq!(election.attempt().await, Attempt::Held);
    assert_eq!(server.holder(), "me");
}

#[tokio::test]
async fn who_lives_in_a_namespace_does_not_make_it() {
    let server = Server::new();
    let (fence, client, tenure) = (Fence::closed(), server.client(), tenure("me"));
    server.namespace.send_replace(Space::Gone);
    let mut election = Election::new(&client, &tenure, &fence);
    assert_eq!(election.attempt().await, Attempt::NotHeld);
    assert_eq!(*server.namespace.borrow(), Space::Gone);
}
