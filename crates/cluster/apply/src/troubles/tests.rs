use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request as HttpRequest, Response, StatusCode};
use kube::client::Body;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;

/// Asks three times at once.
const AT_ONCE_THRICE: &[Duration] = &[Duration::ZERO, Duration::ZERO, Duration::ZERO];

/// Never asks a second time while a test runs.
const ONCE: &[Duration] = &[Duration::ZERO, Duration::from_hours(24)];

/// A server that answers each list of pods with the next answer, and with the last one from then on.
struct Server {
    client: Client,
    asked: Arc<AtomicUsize>,
    seen: UnboundedReceiver<String>,
}

fn server(answers: Vec<(StatusCode, Value)>) -> Server {
    let asked = Arc::new(AtomicUsize::new(0));
    let (sees, seen) = unbounded_channel();
    let counted = Arc::clone(&asked);
    let service = tower::service_fn(move |request: HttpRequest<Body>| {
        let number = counted.fetch_add(1, Ordering::SeqCst);
        sees.send(request.uri().to_string()).ok();
        let (code, answer) = answers[number.min(answers.len() - 1)].clone();
        async move {
            let response = Response::builder().status(code);
            let body = Body::from(answer.to_string().into_bytes());
            Ok::<_, tower::BoxError>(response.body(body).expect("a response"))
        }
    });
    Server {
        client: Client::new(service, "default"),
        asked,
        seen,
    }
}

fn pods(reason: &str) -> (StatusCode, Value) {
    let pod = json!({"metadata": {"name": "web-1"}, "status": {"containerStatuses": [
        {"name": "web", "restartCount": 2, "state": {"waiting": {"reason": reason}}}]}});
    (
        StatusCode::OK,
        json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod]}),
    )
}

fn forbidden() -> (StatusCode, Value) {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": "Forbidden", "message": "pods is forbidden", "code": 403});
    (StatusCode::FORBIDDEN, status)
}

fn deployment(name: &str, status: Value) -> (ObjectId, Workload) {
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "models"},
        "spec": {"selector": {"matchLabels": {"app": name}}}, "status": status});
    (ObjectId::of(&object), Workload::of(&object).expect("a workload"))
}

#[test]
fn pods_are_found_by_what_selects_them() {
    let labels = json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]});
    let rows = [
        ("apps/v1", "Deployment", labels.clone(), Some("labels a=b,c")),
        (
            "apps/v1",
            "StatefulSet",
            json!({"matchLabels": {"a": "b"}}),
            Some("labels a=b"),
        ),
        ("batch/v1", "Job", labels.clone(), Some("labels a=b,c")),
        (
            "v1",
            "ReplicationController",
            json!({"a": "b"}),
            Some("labels a=b"),
        ),
        ("v1", "Pod", json!(null), Some("name x")),
        // All pods of a namespace are nobody's.
        ("apps/v1", "Deployment", json!({}), None),
        ("apps/v1", "Deployment", json!(null), None),
        ("v1", "ReplicationController", json!({}), None),
        ("v1", "Service", json!({"a": "b"}), None),
        ("example.com/v1", "Deployment", labels, None),
    ];
    for (api_version, kind, selector, expected) in rows {
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": {"selector": selector}});
        let found = Workload::of(&object).map(|workload| match workload.pods {
            Pods::Selected(labels) => format!("labels {labels}"),
            Pods::Named(name) => format!("name {name}"),
        });
        assert_eq!(found.as_deref(), expected, "{object}");
    }
}

#[test]
fn a_status_says_something_new_when_more_than_its_time_changes() {
    let status = |replicas: i64, reason: &str, time: &str| {
        json!({"replicas": replicas, "conditions": [
            {"type": "Available", "status": "False", "reason": reason, "lastTransitionTime": time}]})
    };
    let (_, workload) = deployment("web", status(1, "MinimumReplicasUnavailable", "10:00"));
    for (status, is_same) in [
        (status(1, "MinimumReplicasUnavailable", "11:00"), true),
        (status(2, "MinimumReplicasUnavailable", "10:00"), false),
        (status(1, "ProgressDeadlineExceeded", "10:00"), false),
    ] {
        let (_, other) = deployment("web", status.clone());
        assert_eq!(other == workload, is_same, "{status}");
    }
}

#[tokio::test]
async fn a_cause_is_told_once_and_again_when_it_is_another() {
    let quiet = (
        StatusCode::OK,
        json!({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []}),
    );
    let mut server = server(vec![quiet, pods("CrashLoopBackOff"), pods("CrashLoopBackOff")]);
    let troubles = Troubles::with(server.client.clone(), AT_ONCE_THRICE);
    let (id, workload) = deployment("web", json!({}));
    let (tells, mut told) = unbounded_channel();
    troubles.unready(&id, workload.clone(), move || {
        tells.send(()).ok();
    });
    // The same again starts nothing.
    troubles.unready(&id, workload, || panic!("it is known already"));
    told.recv().await.expect("a cause");
    assert_eq!(
        troubles.cause(&id).as_deref(),
        Some("pod web-1: container web: CrashLoopBackOff after 2 restarts")
    );
    // What is told is dropped after the last look: the cause was news once.
    assert_eq!(told.recv().await, None);
    assert_eq!(server.asked.load(Ordering::SeqCst), 3);
    let asked = server.seen.recv().await.expect("a request");
    assert_eq!(
        asked,
        "/api/v1/namespaces/models/pods?&labelSelector=app%3Dweb&limit=100"
    );
    troubles.forget(&id);
    assert_eq!(troubles.cause(&id), None);
}

#[tokio::test]
async fn a_workload_that_says_something_new_is_asked_about_again() {
    let mut server = server(vec![pods("CrashLoopBackOff"), pods("ErrImagePull")]);
    let troubles = Troubles::with(server.client.clone(), ONCE);
    let (tells, mut told) = unbounded_channel();
    let unready = |status: Value| {
        let (id, workload) = deployment("web", status);
        let tells = tells.clone();
        troubles.unready(&id, workload, move || {
            tells.send(()).ok();
        });
        id
    };
    let id = unready(json!({"replicas": 1}));
    told.recv().await.expect("a cause");
    unready(json!({"replicas": 1}));
    unready(json!({"replicas": 2}));
    // Until it is asked, what was true a moment ago is.
    assert!(
        troubles
            .cause(&id)
            .is_some_and(|cause| cause.contains("CrashLoopBackOff"))
    );
    told.recv().await.expect("another cause");
    assert!(
        troubles
            .cause(&id)
            .is_some_and(|cause| cause.contains("ErrImagePull"))
    );
    assert_eq!(server.asked.load(Ordering::SeqCst), 2);
    server.seen.recv().await;
}

#[tokio::test]
async fn who_may_not_read_pods_asks_once_for_all_workloads_of_a_namespace() {
    let mut server = server(vec![forbidden()]);
    let troubles = Troubles::with(server.client.clone(), AT_ONCE_THRICE);
    let (ends, mut ended) = unbounded_channel::<()>();
    let first = ends.clone();
    let (id, workload) = deployment("web", json!({}));
    troubles.unready(&id, workload, move || drop(first.clone()));
    server.seen.recv().await.expect("a request");
    let (other, workload) = deployment("other", json!({}));
    troubles.unready(&other, workload, move || drop(ends.clone()));
    // Both have looked as often as they may.
    assert_eq!(ended.recv().await, None);
    assert_eq!(server.asked.load(Ordering::SeqCst), 1);
    assert_eq!((troubles.cause(&id), troubles.cause(&other)), (None, None));
}
