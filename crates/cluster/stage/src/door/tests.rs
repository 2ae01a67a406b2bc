//! Work behind the door: where it runs, in which order, and how it ends.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use futures_util::FutureExt as _;
use http::Method;

use super::*;
use crate::request::Target;

/// One seat, so that the second who comes waits for the first.
const ONE_SEAT: Limits = Limits {
    rooms: [Room {
        all: Share {
            seats: 1,
            requests: 3,
            bytes: 100,
        },
        each: Share {
            seats: 1,
            requests: 2,
            bytes: 100,
        },
    }; 4],
    budget: u64::MAX,
};

fn flow(user: &str) -> Flow {
    Flow {
        level: Level::Workload,
        user: user.to_owned(),
    }
}

/// Work that holds its thread until it is told to go on.
fn blocking() -> (
    impl Future<Output = ()> + Send + 'static,
    mpsc::Receiver<()>,
    mpsc::Sender<()>,
) {
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let work = async move {
        let _ = begun.send(());
        let _ = may_go_on.recv();
    };
    (work, has_begun, go_on)
}

async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn work_runs_on_another_thread_and_leaves_this_one_free() {
    let door = Door::with(ONE_SEAT);
    let here = std::thread::current().id();
    let there = door
        .enter(&flow("a"), 0)
        .expect("there is room")
        .work(async { std::thread::current().id() })
        .await;
    assert_ne!(there, Ok(here));
    // Only this thread can let the work go on, and it does while the work is polled.
    let (work, has_begun, go_on) = blocking();
    let mut working = Box::pin(door.enter(&flow("a"), 0).expect("there is room").work(work));
    assert!((&mut working).now_or_never().is_none());
    has_begun.recv().expect("it begins");
    go_on.send(()).expect("it lives");
    assert_eq!(working.await, Ok(()));
    until(|| door.count(Level::Workload).requests == 0).await;
}

#[tokio::test]
async fn work_whose_client_has_gone_never_begins_or_ends_at_its_next_pause() {
    let door = Door::with(ONE_SEAT);
    let steps = Arc::new(AtomicUsize::new(0));
    let counting = || {
        let steps = steps.clone();
        async move {
            loop {
                steps.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
            }
        }
    };
    let (work, has_begun, go_on) = blocking();
    let begun = {
        let steps = steps.clone();
        async move {
            work.await;
            tokio::task::yield_now().await;
            steps.fetch_add(1, Ordering::SeqCst);
        }
    };
    let mut first = Box::pin(door.enter(&flow("a"), 0).expect("there is room").work(begun));
    assert!((&mut first).now_or_never().is_none());
    has_begun.recv().expect("it begins");
    let mut second = Box::pin(door.enter(&flow("b"), 0).expect("there is room").work(counting()));
    assert!((&mut second).now_or_never().is_none());
    drop(second);
    assert_eq!(door.count(Level::Workload).requests, 1, "it had not begun");
    drop(first);
    assert_eq!(door.count(Level::Workload).seated, 1, "it holds its thread");
    go_on.send(()).expect("it lives");
    until(|| door.count(Level::Workload).requests == 0).await;
    assert_eq!(steps.load(Ordering::SeqCst), 0);
    // Work that pauses for ever ends as well.
    let mut third = Box::pin(door.enter(&flow("b"), 0).expect("there is room").work(counting()));
    assert!((&mut third).now_or_never().is_none());
    until(|| steps.load(Ordering::SeqCst) > 2).await;
    drop(third);
    until(|| Arc::strong_count(&steps) == 1).await;
    assert_eq!(door.count(Level::Workload).requests, 0);
}

#[tokio::test]
async fn work_that_waits_has_no_seat() {
    let door = Door::with(ONE_SEAT);
    let (open, gate) = oneshot::channel::<()>();
    let mut first = Box::pin(door.enter(&flow("a"), 0).expect("there is room").work(gate));
    assert!((&mut first).now_or_never().is_none());
    let second = door
        .enter(&flow("b"), 0)
        .expect("there is room")
        .work(async { 2 });
    assert_eq!(second.await, Ok(2));
    open.send(()).expect("it waits");
    assert_eq!(first.await, Ok(Ok(())));
}

#[tokio::test]
async fn what_is_too_much_is_asked_to_come_again() {
    let door = Door::with(ONE_SEAT);
    let _there = [door.enter(&flow("a"), 0), door.enter(&flow("a"), 0)];
    let refused = |user: &str, bytes| {
        let status = door.enter(&flow(user), bytes).err()?;
        let seconds = status
            .details
            .as_ref()
            .map_or(0, |details| details.retry_after_seconds);
        Some((status.code.as_u16(), seconds, status.message))
    };
    let of_user = "too many requests of this user wait already, please try again later";
    assert_eq!(refused("a", 0), Some((429, 1, of_user.to_owned())));
    assert_eq!(
        refused("b", 101),
        Some((429, 1, "too many requests, please try again later".to_owned()))
    );
    assert_eq!(refused("b", 100), None);
}

#[tokio::test]
async fn work_that_computes_for_too_long_or_panics_has_no_answer_and_leaves_its_seat() {
    let door = Door::with(Limits {
        budget: 0,
        ..ONE_SEAT
    });
    let endless = async {
        for number in 0_u64.. {
            std::hint::black_box((0..number).sum::<u64>());
            tokio::task::yield_now().await;
        }
    };
    let entered = door.enter(&flow("a"), 0).expect("there is room");
    assert_eq!(entered.work(endless).await, Err(Stopped::Exhausted));
    let entered = door.enter(&flow("a"), 0).expect("there is room");
    let panicking = async {
        assert!(tokio::time::Duration::ZERO.as_secs() > 0, "as the test wants it");
    };
    assert_eq!(entered.work(panicking).await, Err(Stopped::Failed));
    let entered = door.enter(&flow("a"), 0).expect("there is room");
    assert_eq!(entered.work(async { 1 }).await, Ok(1));
    until(|| door.count(Level::Workload).requests == 0).await;
}

#[test]
fn a_request_takes_the_turn_of_its_user_at_the_level_of_what_it_is_for() {
    let alice = Caller::named("alice", &["system:authenticated"]);
    let administrator = Caller::named("kubernetes-admin", &["system:masters", "system:authenticated"]);
    let nobody = Caller::named("system:anonymous", &["system:unauthenticated"]);
    let leases = "/apis/coordination.k8s.io/v1/namespaces/a/leases";
    let lease = "/apis/coordination.k8s.io/v1/namespaces/a/leases/b";
    let pods = "/api/v1/namespaces/a/pods";
    let cases = [
        (&alice, false, Method::POST, pods, 0, Some(("workload", "alice"))),
        (
            &administrator,
            false,
            Method::POST,
            pods,
            0,
            Some(("workload", "kubernetes-admin")),
        ),
        (&administrator, true, Method::POST, pods, 0, Some(("own", ""))),
        (
            &nobody,
            false,
            Method::POST,
            pods,
            0,
            Some(("catch-all", "system:anonymous")),
        ),
        (
            &alice,
            false,
            Method::POST,
            leases,
            100,
            Some(("leader-election", "alice")),
        ),
        (
            &alice,
            false,
            Method::PUT,
            lease,
            100,
            Some(("leader-election", "alice")),
        ),
        (&alice, false, Method::GET, leases, 0, Some(("workload", "alice"))),
        (
            &alice,
            false,
            Method::PUT,
            lease,
            LARGEST_LEASE + 1,
            Some(("workload", "alice")),
        ),
        (
            &nobody,
            false,
            Method::PUT,
            lease,
            100,
            Some(("catch-all", "system:anonymous")),
        ),
        (&nobody, false, Method::GET, "/readyz", 0, None),
        (&nobody, false, Method::GET, "/livez/ping", 0, None),
        (&alice, false, Method::GET, "/version", 0, None),
        (
            &alice,
            false,
            Method::GET,
            "/openapi/v3",
            0,
            Some(("workload", "alice")),
        ),
        (&alice, false, Method::GET, "/", 0, Some(("workload", "alice"))),
    ];
    for (caller, is_own, method, path, bytes, expected) in cases {
        let flow = match Target::read(path) {
            Target::Resource(resource) => {
                let verb = Verb::of(&method, &resource, false).expect("a verb");
                Some(Flow::of_objects(caller, is_own, &resource, verb, bytes))
            }
            Target::Other => Flow::of_path(caller, is_own, path),
        };
        let told = flow.as_ref().map(|flow| (flow.level.name(), flow.user.as_str()));
        assert_eq!(told, expected, "{method} {path}");
    }
}
