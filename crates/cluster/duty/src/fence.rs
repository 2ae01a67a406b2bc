//! A fence around writes: who no longer holds the Lease changes nothing, even before it knows.
//!
//! A process that was stopped for a while goes on as if nothing had happened, in the middle of what it did. What it knows of
//! its Lease is old then, and somebody else may hold it. So each write looks at the clock first: the fence is open for as long
//! as nobody else can have taken the Lease, and no longer.
//!
//! That alone isn't enough, because a write takes its time. What happens to one that passes in the last moment:
//!
//! ```text
//! renewed                        the fence closes                        others may take the Lease
//!    |────────────── held ──────────────|────────────── settling ──────────────|
//!                               write ──►  on its way: at most half of that
//!                                                      the server works on it: at most the rest
//! ```
//!
//! - It waits here (for a connection, for a second try): it is broken off when the fence closes, and looks at the clock
//!   whenever it goes on.
//! - It lies in a socket: [`Fence::holds`] is asked before each byte is handed to the system, and the socket gives up what
//!   the other end doesn't confirm within half of the time for settling (`TCP_USER_TIMEOUT`, which [`transit`] says). So
//!   nothing is delivered when a network that was cut is whole again.
//! - The server works on it, and waits for a webhook, say: it is told with the request for how long it may.
//!
//! What remains is a process that is stopped in the very instructions between the look at the clock and the call of the
//! system. No client can close that gap; the names that controllers give to what they make, and the resource versions that
//! they send, see to it that such a write is refused or is put right by whoever leads.
//!
//! Who stops of its own accord gives the Lease back at once, without waiting until it runs out. So a write that was sent is
//! seen through even if nobody waits for its answer any more, and the Lease is given back after the last one.

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Method, Request, Response, Uri};
use kube::Client;
use kube::client::Body;
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::watch;
use tower::Service;

/// Says whether writes are let through.
#[derive(Debug, Clone, Default)]
pub struct Fence {
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Until when the Lease can't be anybody else's, in milliseconds of [`Moment`]; 0 if it isn't held.
    held_until: AtomicU64,
    /// For how long after that nobody else takes it, in milliseconds.
    settles_within: AtomicU64,
    /// Whether new writes are let through while the Lease is held.
    admits: AtomicBool,
    /// Whether the Lease was ever held.
    was_held: AtomicBool,
    /// How many writes wait for their answer.
    under_way: watch::Sender<usize>,
}

/// A time of the clock that goes on while a machine sleeps, which others' clocks do too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    /// The present.
    pub fn now() -> Self {
        let now = clock_gettime(ClockId::Boottime);
        let whole = u64::try_from(now.tv_sec).unwrap_or(0).saturating_mul(1_000);
        Self(whole.saturating_add(u64::try_from(now.tv_nsec / 1_000_000).unwrap_or(0)))
    }

    /// Some time later.
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(milliseconds(time)))
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// For how long a write may be on its way to the server: half of the time in which what was begun settles.
pub fn transit(settles_within: Duration) -> Duration {
    settles_within / 2
}

impl Fence {
    /// A fence that lets nothing through until a Lease is held.
    pub fn closed() -> Self {
        Self::default()
    }

    /// Returns whether new writes are let through now.
    pub fn is_open(&self) -> bool {
        self.state.admits.load(Ordering::Acquire) && self.holds()
    }

    /// Returns whether nobody else can have the Lease now: what was let through before may go on.
    pub fn holds(&self) -> bool {
        self.left().is_some()
    }

    /// For how long the Lease is held for certain, if it is.
    fn left(&self) -> Option<Duration> {
        let until = self.state.held_until.load(Ordering::Acquire);
        let left = until.checked_sub(Moment::now().0).filter(|left| *left > 0)?;
        Some(Duration::from_millis(left))
    }

    /// Lets writes through until a moment; nobody else takes the Lease for a while after it, so that what is under way then
    /// can come to its end.
    pub fn open_until(&self, moment: Moment, settles_within: Duration) {
        let state = &self.state;
        state
            .settles_within
            .store(milliseconds(settles_within), Ordering::Release);
        state.held_until.store(moment.0, Ordering::Release);
        state.was_held.store(true, Ordering::Release);
        state.admits.store(true, Ordering::Release);
    }

    /// Lets no new writes through any more; those that are under way go on.
    pub fn shut(&self) {
        self.state.admits.store(false, Ordering::Release);
    }

    /// Lets no writes through any more, and breaks off those that are under way.
    pub fn close(&self) {
        self.shut();
        self.state.held_until.store(0, Ordering::Release);
    }

    /// Waits until no write is under way, but not for longer than a while; returns whether that is so.
    pub async fn is_quiet_within(&self, patience: Duration) -> bool {
        let mut under_way = self.state.under_way.subscribe();
        let quiet = under_way.wait_for(|count| *count == 0);
        tokio::time::timeout(patience, quiet).await.is_ok()
    }

    /// Returns a client whose writes go through the fence; it reads as before.
    pub fn guard(&self, client: &Client) -> Client {
        self.guard_apart(client, client)
    }

    /// Returns a client that reads with one client and writes with another one through the fence. The sockets of the latter
    /// can heed the fence too.
    pub fn guard_apart(&self, reads: &Client, writes: &Client) -> Client {
        let namespace = reads.default_namespace().to_owned();
        let guarded = Guarded {
            reads: reads.clone(),
            writes: writes.clone(),
            fence: self.clone(),
        };
        Client::new(guarded, namespace)
    }

    /// Lets a write through, or says why not.
    fn admit(&self) -> Result<Passage, Reason> {
        // Counted first: who waits for quiet after having shut the fence must not miss one that saw it open.
        self.state.under_way.send_modify(|count| *count += 1);
        let passage = Passage { fence: self.clone() };
        if self.is_open() {
            Ok(passage)
        } else if self.state.was_held.load(Ordering::Acquire) {
            Err(Reason::NoMore)
        } else {
            Err(Reason::NotYet)
        }
    }
}

/// A write that was let through and is under way.
struct Passage {
    fence: Fence,
}

impl Passage {
    /// For how long the server may work on it.
    fn server_time(&self) -> Duration {
        let settles = Duration::from_millis(self.fence.state.settles_within.load(Ordering::Acquire));
        let left = self.fence.left().unwrap_or_default();
        (left + settles).saturating_sub(transit(settles))
    }

    /// Sends the write, for as long as the Lease is held.
    async fn through<T>(self, sending: impl Future<Output = T>) -> Result<T, Reason> {
        let mut sending = pin!(sending);
        let end = async {
            while let Some(left) = self.fence.left() {
                tokio::time::sleep(left).await;
            }
        };
        let mut end = pin!(end);
        std::future::poll_fn(|context| {
            // The clock is asked each time: timers of a process that was stopped are late.
            if !self.fence.holds() || end.as_mut().poll(context).is_ready() {
                return Poll::Ready(Err(Reason::BrokenOff));
            }
            sending.as_mut().poll(context).map(Ok)
        })
        .await
    }
}

impl Drop for Passage {
    fn drop(&mut self) {
        self.fence.state.under_way.send_modify(|count| *count -= 1);
    }
}

/// Why a write was not made, or not for certain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    NotYet,
    NoMore,
    BrokenOff,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotYet => "was not sent: this replica doesn't hold the Lease yet, and the one that does writes",
            Self::NoMore => {
                "was not sent: this replica doesn't hold the Lease any more, so another one may be at work"
            }
            Self::BrokenOff => {
                "was broken off: the Lease could not be renewed before the server answered, so another replica may be at work"
            }
        })
    }
}

/// A write that was not made, or whose answer was not waited for.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{method} {path} {reason}")]
pub struct Refused {
    method: Method,
    path: String,
    reason: Reason,
}

#[derive(Clone)]
struct Guarded {
    reads: Client,
    writes: Client,
    fence: Fence,
}

impl fmt::Debug for Guarded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Guarded")
            .field("fence", &self.fence)
            .finish_non_exhaustive()
    }
}

impl Service<Request<Body>> for Guarded {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        if matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS) {
            let client = self.reads.clone();
            return Box::pin(async move { client.send(request).await });
        }
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let refused = move |reason| kube::Error::Service(Box::new(Refused { method, path, reason }));
        let passage = match self.fence.admit() {
            Ok(passage) => passage,
            Err(reason) => return Box::pin(std::future::ready(Err(refused(reason)))),
        };
        limit(&mut request, passage.server_time());
        let client = self.writes.clone();
        // A task of its own: who asked may be gone before the answer is there, and the fence has to know of it all the same.
        let sending = tokio::spawn(passage.through(async move { client.send(request).await }));
        Box::pin(async move {
            match sending.await {
                Ok(Ok(answer)) => answer,
                Ok(Err(reason)) => Err(refused(reason)),
                Err(fault) => Err(kube::Error::Service(Box::new(fault))),
            }
        })
    }
}

/// Tells the server for how long it may work on a request. It counts from when it reads it, and gives it up afterwards.
fn limit(request: &mut Request<Body>, time: Duration) {
    let uri = request.uri();
    let path = uri.path();
    let before = uri.query().map(|query| format!("{query}&")).unwrap_or_default();
    let limited = format!("{path}?{before}timeout={}ms", time.as_millis().max(1));
    let mut parts = uri.clone().into_parts();
    // What was part of a request a moment ago is part of one still.
    if let Ok(path) = limited.parse() {
        parts.path_and_query = Some(path);
        if let Ok(uri) = Uri::from_parts(parts) {
            *request.uri_mut() = uri;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
    use serde_json::json;
    use tokio::sync::Semaphore;

    use super::*;

    const SETTLES: Duration = Duration::from_secs(4);

    fn soon(time: Duration) -> Moment {
        Moment::now().after(time)
    }

    /// A server that says yes to everything, as soon as it may.
    struct Agreeable {
        may_answer: Arc<Semaphore>,
        asked: Arc<Mutex<Vec<String>>>,
    }

    impl Agreeable {
        fn new(answers: usize) -> Self {
            Self {
                may_answer: Arc::new(Semaphore::new(answers)),
                asked: Arc::default(),
            }
        }

        fn client(&self) -> Client {
            let (may_answer, asked) = (Arc::clone(&self.may_answer), Arc::clone(&self.asked));
            let answer = tower::service_fn(move |request: Request<Body>| {
                let (may_answer, asked) = (Arc::clone(&may_answer), Arc::clone(&asked));
                async move {
                    asked
                        .lock()
                        .expect("no panic")
                        .push(format!("{} {}", request.method(), request.uri()));
                    may_answer.acquire().await.expect("never closed").forget();
                    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
                    let body = Body::from(object.to_string().into_bytes());
                    Ok::<_, std::convert::Infallible>(Response::new(body))
                }
            });
            Client::new(answer, "default")
        }

        async fn until_asked(&self) -> String {
            loop {
                if let Some(asked) = self.asked.lock().expect("no panic").pop() {
                    return asked;
                }
                tokio::task::yield_now().await;
            }
        }
    }

    async fn merge(maps: &Api<ConfigMap>) -> Result<(), kube::Error> {
        let merge = Patch::Merge(json!({}));
        maps.patch("a", &PatchParams::default(), &merge).await.map(drop)
    }

    #[tokio::test]
    async fn only_reads_pass_a_closed_fence() {
        let fence = Fence::closed();
        let server = Agreeable::new(100);
        let maps: Api<ConfigMap> = Api::default_namespaced(fence.guard(&server.client()));
        let write = async || {
            let map = ConfigMap::default();
            [
                maps.create(&PostParams::default(), &map).await.map(drop),
                maps.replace("a", &PostParams::default(), &map).await.map(drop),
                merge(&maps).await,
                maps.delete("a", &DeleteParams::default()).await.map(drop),
            ]
        };
        assert!(maps.get("a").await.is_ok());
        for written in write().await {
            let refused = written.expect_err("it is closed").to_string();
            assert!(refused.contains("doesn't hold the Lease yet"), "{refused}");
        }

        fence.open_until(soon(Duration::from_mins(1)), SETTLES);
        for written in write().await {
            assert!(written.is_ok(), "{written:?}");
        }

        fence.close();
        for written in write().await {
            let refused = written.expect_err("it is closed").to_string();
            assert!(refused.contains("doesn't hold the Lease any more"), "{refused}");
        }
        assert!(maps.get("a").await.is_ok());
    }

    #[tokio::test]
    async fn a_fence_closes_when_its_time_is_over() {
        let fence = Fence::closed();
        fence.open_until(soon(Duration::from_mins(1)), SETTLES);
        assert!(fence.is_open());
        fence.open_until(Moment::now(), SETTLES);
        assert!(!fence.is_open());
        assert!(!fence.holds());
    }

    #[tokio::test]
    async fn a_write_that_is_under_way_when_the_lease_ends_is_broken_off() {
        let fence = Fence::closed();
        let server = Agreeable::new(0);
        let maps: Api<ConfigMap> = Api::default_namespaced(fence.guard(&server.client()));
        fence.open_until(soon(Duration::from_millis(50)), SETTLES);
        let refused = merge(&maps).await.expect_err("nobody answers").to_string();
        assert!(refused.contains("was broken off"), "{refused}");

        // One that is renewed goes on.
        fence.open_until(soon(Duration::from_millis(50)), SETTLES);
        let writing = tokio::spawn(async move { merge(&maps).await });
        server.until_asked().await;
        fence.open_until(soon(Duration::from_mins(1)), SETTLES);
        tokio::time::sleep(Duration::from_millis(100)).await;
        server.may_answer.add_permits(1);
        writing.await.expect("no panic").expect("it is held");
    }

    #[tokio::test]
    async fn a_write_is_seen_through_although_nobody_waits_for_its_answer() {
        let fence = Fence::closed();
        let server = Agreeable::new(0);
        let maps: Api<ConfigMap> = Api::default_namespaced(fence.guard(&server.client()));
        assert!(fence.is_quiet_within(Duration::ZERO).await);
        fence.open_until(soon(Duration::from_mins(1)), SETTLES);
        let writing = tokio::spawn(async move { merge(&maps).await });
        server.until_asked().await;
        writing.abort();
        writing.await.expect_err("it was aborted");

        fence.shut();
        assert!(!fence.is_open());
        assert!(fence.holds());
        assert!(!fence.is_quiet_within(Duration::from_millis(20)).await);
        server.may_answer.add_permits(1);
        assert!(fence.is_quiet_within(Duration::from_mins(1)).await);
    }

    #[tokio::test]
    async fn the_server_is_told_for_how_long_it_may_work() {
        let fence = Fence::closed();
        let server = Agreeable::new(100);
        let maps: Api<ConfigMap> = Api::default_namespaced(fence.guard(&server.client()));
        fence.open_until(soon(Duration::from_secs(7)), SETTLES);
        merge(&maps).await.expect("it is open");
        let asked = server.until_asked().await;
        let (request, time) = asked.split_once("timeout=").expect("a limit");
        assert!(
            request.starts_with("PATCH /api/v1/namespaces/default/configmaps/a?"),
            "{asked}"
        );
        // Held for 7 s, and half of the 4 s after that.
        let time: u64 = time
            .strip_suffix("ms")
            .and_then(|time| time.parse().ok())
            .expect("a time");
        assert!((8_000..=9_000).contains(&time), "{asked}");

        maps.get("a").await.expect("it reads");
        assert!(!server.until_asked().await.contains("timeout"));
    }

    #[test]
    fn a_limit_is_added_to_what_is_asked() {
        for (uri, expected) in [
            ("/a", "/a?timeout=1500ms"),
            ("/a?", "/a?&timeout=1500ms"),
            ("/a?b=c", "/a?b=c&timeout=1500ms"),
            ("https://host/a?b=%20", "https://host/a?b=%20&timeout=1500ms"),
        ] {
            let mut request = Request::patch(uri).body(Body::empty()).expect("a request");
            limit(&mut request, Duration::from_millis(1_500));
            assert_eq!(request.uri(), expected);
        }
    }
}
