//! The door to the API: behind it requests compute, off the threads that serve connections, in the order that
//! [`fairness`](crate::fairness) says.
//!
//! ```text
//! request ─► enter (or 429) ─► body ─► work: polled on threads of their own, one seat each ─► answer
//!                                        │ waits for the disk, a webhook, …: no seat
//!                                        └ its client has gone: it isn't polled again
//! ```
//!
//! Work gives its thread back whenever it waits, and long work does so between its steps: see [`Call::pause`](crate::api::Call::pause).

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::caller::Caller;
use crate::fairness::{Count, Fairness, Full, Level, Limits, Room, Share, Standing, Ticket};
use crate::request::{ResourcePath, Verb};
use crate::status::Status;

/// How long a request may compute, in microseconds of a processor: many times what the largest body takes.
const BUDGET: u64 = 60_000_000;

/// How many requests a level holds: as many as there are connections.
const MOST_REQUESTS: usize = 8192;

/// How many of them are one user's: a client with a thousand watches comes with all of them at once.
const MOST_OF_ONE: usize = 2048;

/// How many bytes the bodies of all requests of a level have: what they become while they are read is ten times as much.
const MOST_BYTES: usize = 192 << 20;

/// How many bytes the bodies of one user's requests have: twenty of the largest.
const MOST_BYTES_OF_ONE: usize = 64 << 20;

/// How large the body is of a request about a lease that goes before others; nobody needs a larger one.
const LARGEST_LEASE: usize = 64 << 10;

/// After how many seconds a client that was sent away may come again.
const RETRY_SECONDS: u32 = 1;

/// Returns the limits for a machine with so many processors.
fn limits(processors: usize) -> Limits {
    let room = |all: usize, each: usize| Room {
        all: Share {
            seats: all,
            requests: MOST_REQUESTS,
            bytes: MOST_BYTES,
        },
        each: Share {
            seats: each,
            requests: MOST_OF_ONE,
            bytes: MOST_BYTES_OF_ONE,
        },
    };
    let usual = processors.max(2);
    let own = Share {
        seats: usual,
        ..Share::ALL
    };
    Limits {
        rooms: [
            room(2, 1),
            Room { all: own, each: own },
            // One user has all processors, and never all seats.
            room(usual + 1, usual),
            room(1, 1),
        ],
        budget: BUDGET,
    }
}

/// Whose turn a request takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    level: Level,
    user: String,
}

impl Flow {
    /// Returns whose turn a request about objects takes. `is_own` says that it comes from this process, in its own name.
    pub fn of_objects(caller: &Caller, is_own: bool, path: &ResourcePath, verb: Verb, bytes: usize) -> Self {
        let is_lease = path.group == "coordination.k8s.io"
            && path.resource == "leases"
            && bytes <= LARGEST_LEASE
            && !matches!(verb, Verb::List | Verb::Watch | Verb::DeleteCollection);
        Self::at(
            caller,
            is_own,
            if is_lease {
                Level::LeaderElection
            } else {
                Level::Workload
            },
        )
    }

    /// Returns whose turn a request for another path takes; `None` for one that needs no turn, since what asks for it wants
    /// to know whether there is an answer at all.
    pub fn of_path(caller: &Caller, is_own: bool, path: &str) -> Option<Self> {
        let first = path.split('/').nth(1).unwrap_or_default();
        let is_probe = matches!(first, "healthz" | "livez" | "readyz" | "version");
        (!is_probe).then(|| Self::at(caller, is_own, Level::Workload))
    }

    fn at(caller: &Caller, is_own: bool, level: Level) -> Self {
        let (level, user) = if is_own {
            (Level::Own, "")
        } else if caller.is_in("system:unauthenticated") {
            (Level::CatchAll, caller.user.as_str())
        } else {
            (level, caller.user.as_str())
        };
        Self {
            level,
            user: user.to_owned(),
        }
    }
}

/// Why a request that was let in has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// It computed for too long.
    Exhausted,
    /// It panicked, or the process ends.
    Failed,
}

impl From<Stopped> for Status {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Exhausted => Self::timeout(format_args!(
                "the request computed for more than {} s; ask for less at once",
                BUDGET / 1_000_000
            )),
            Stopped::Failed => Self::internal("the request could not be processed"),
        }
    }
}

/// The door to one API.
#[derive(Debug)]
pub struct Door {
    inside: Arc<Inside>,
}

impl Default for Door {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self::with(limits(processors))
    }
}

struct Inside {
    state: Mutex<State>,
}

impl fmt::Debug for Inside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Inside").finish_non_exhaustive()
    }
}

struct State {
    fairness: Fairness,
    works: HashMap<Ticket, Arc<Work>>,
}

/// The work of one request.
struct Work {
    ticket: Ticket,
    inside: Arc<Inside>,
    runtime: Handle,
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    exhausted: Mutex<bool>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns how long this thread has computed, in microseconds.
fn thread_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanoseconds) = (time.tv_sec, time.tv_nsec);
    u64::try_from(seconds).unwrap_or(0) * 1_000_000 + u64::try_from(nanoseconds).unwrap_or(0) / 1_000
}

impl Door {
    /// Returns a door with these limits.
    pub fn with(limits: Limits) -> Self {
        Self {
            inside: Arc::new(Inside {
                state: Mutex::new(State {
                    fairness: Fairness::new(limits),
                    works: HashMap::new(),
                }),
            }),
        }
    }

    /// Lets a request in whose body has at most so many bytes, or says when to come again.
    pub fn enter(&self, flow: &Flow, bytes: usize) -> Result<Entered, Status> {
        let mut state = lock(&self.inside.state);
        match state.fairness.arrive(flow.level, &flow.user, bytes) {
            Ok(ticket) => Ok(Entered {
                inside: self.inside.clone(),
                ticket,
            }),
            Err(Full { of_user }) => Err(Status::too_many_requests(
                if of_user {
                    "too many requests of this user wait already, please try again later"
                } else {
                    "too many requests, please try again later"
                },
                RETRY_SECONDS,
            )),
        }
    }

    /// Returns how many requests of a level do what.
    pub fn count(&self, level: Level) -> Count {
        lock(&self.inside.state).fairness.count(level)
    }
}

/// A request that was let in. It leaves when this is dropped.
#[derive(Debug)]
pub struct Entered {
    inside: Arc<Inside>,
    ticket: Ticket,
}

impl Entered {
    /// Computes an answer when it is the request's turn. What hasn't begun when this is dropped never begins, and what has
    /// begun ends at its next pause.
    pub async fn work<Working>(self, working: Working) -> Result<Working::Output, Stopped>
    where
        Working: Future + Send + 'static,
        Working::Output: Send + 'static,
    {
        let (send, answer) = oneshot::channel();
        let work = Arc::new(Work {
            ticket: self.ticket,
            inside: self.inside.clone(),
            runtime: Handle::current(),
            future: Mutex::new(Some(Box::pin(async move {
                // Nobody may want it any more.
                let _ = send.send(working.await);
            }))),
            exhausted: Mutex::new(false),
        });
        lock(&self.inside.state).works.insert(self.ticket, work.clone());
        work.clone().wake();
        answer.await.map_err(|_| {
            if *lock(&work.exhausted) {
                Stopped::Exhausted
            } else {
                Stopped::Failed
            }
        })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut state = lock(&self.inside.state);
        let dropped = if state.fairness.abandon(self.ticket) {
            state.works.remove(&self.ticket)
        } else {
            // Whoever polls it takes it away.
            None
        };
        drop(state);
        if let Some(work) = dropped {
            work.forget();
        }
    }
}

impl Wake for Work {
    fn wake(self: Arc<Self>) {
        let inside = self.inside.clone();
        let mut state = lock(&inside.state);
        state.fairness.ready(self.ticket);
        let seated = state.seated();
        drop(state);
        seated.into_iter().for_each(Work::sit);
    }
}

impl State {
    /// Returns the work of all who sit down now.
    fn seated(&mut self) -> Vec<Arc<Work>> {
        let mut seated = Vec::new();
        while let Some(ticket) = self.fairness.seat_next() {
            match self.works.get(&ticket) {
                Some(work) => seated.push(work.clone()),
                None => self.fairness.leave(ticket),
            }
        }
        seated
    }
}

impl Work {
    /// Computes on a thread of its own, and goes on with others for as long as someone sits down.
    fn sit(self: Arc<Self>) {
        let runtime = self.runtime.clone();
        // The handle isn't needed: the seat is given back by whoever has it.
        drop(runtime.spawn_blocking(move || {
            let mut next = Some(self);
            while let Some(work) = next {
                let mut seated = work.turn().into_iter();
                next = seated.next();
                seated.for_each(Work::sit);
            }
        }));
    }

    /// Computes until the work waits or is done, gives the seat back, and returns the work of those who sit down then.
    fn turn(self: Arc<Self>) -> Vec<Arc<Self>> {
        let begun = thread_time();
        let is_wanted = lock(&self.inside.state).fairness.is_wanted(self.ticket);
        let waker = Waker::from(self.clone());
        let mut context = Context::from_waker(&waker);
        let is_over = match lock(&self.future).as_mut() {
            // A panic ends the request, as it ends a task; the hook of the process has told of it.
            Some(future) if is_wanted => {
                catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)))
                    .map_or(true, |poll| matches!(poll, Poll::Ready(())))
            }
            _ => true,
        };
        let used = thread_time().saturating_sub(begun);
        let mut state = lock(&self.inside.state);
        let standing = state.fairness.rise(self.ticket, used);
        let ends = is_over || matches!(standing, Standing::Abandoned | Standing::Exhausted);
        if ends {
            state.fairness.leave(self.ticket);
            state.works.remove(&self.ticket);
        }
        let seated = state.seated();
        drop(state);
        if ends {
            *lock(&self.exhausted) = standing == Standing::Exhausted && !is_over;
            self.forget();
        }
        seated
    }

    /// Drops what is left of the work, which tells whoever waits for its answer.
    fn forget(&self) {
        let future = lock(&self.future).take();
        drop(future);
    }
}

#[cfg(test)]
mod tests;
