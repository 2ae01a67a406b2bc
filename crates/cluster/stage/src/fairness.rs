//! Who computes next when many want to, as API priority and fairness decides it: a plain structure that is fed with what
//! happens and asked who sits down. It has no clock and no threads.
//!
//! ```text
//! arrive ─► waits ─► seat_next: sits ─► rise: rests (for the disk, a webhook) ─► ready: waits ─► … ─► leave
//! ```
//!
//! A request has a seat only while it computes. Each level has its own seats, so that leases are renewed whatever the others
//! do; within a level users take turns by what they have used, however many requests each of them sends, and nobody has all
//! seats. Of one user's requests the oldest goes first: what has begun ends, instead of all being begun at once.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// What a request is for. Levels don't take each other's seats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Who leads among several: a lease that isn't renewed costs its holder everything.
    LeaderElection,
    /// What runs in this process.
    Own,
    /// Everyone who is known.
    Workload,
    /// Everyone else.
    CatchAll,
}

impl Level {
    /// All levels, in the order in which they are looked at.
    pub const ALL: [Self; 4] = [Self::LeaderElection, Self::Own, Self::Workload, Self::CatchAll];

    /// Returns the level's name, as in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeaderElection => "leader-election",
            Self::Own => "own",
            Self::Workload => "workload",
            Self::CatchAll => "catch-all",
        }
    }

    const fn place(self) -> usize {
        match self {
            Self::LeaderElection => 0,
            Self::Own => 1,
            Self::Workload => 2,
            Self::CatchAll => 3,
        }
    }
}

/// What may be had at once, of a level or by one user of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// How many requests compute.
    pub seats: usize,
    /// How many requests are there, computing or not.
    pub requests: usize,
    /// How many bytes their bodies have.
    pub bytes: usize,
}

impl Share {
    /// As much as anyone could want.
    pub const ALL: Self = Self {
        seats: usize::MAX,
        requests: usize::MAX,
        bytes: usize::MAX,
    };
}

/// What a level has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// All users together.
    pub all: Share,
    /// Each of them.
    pub each: Share,
}

/// What all levels have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The room of each level, in the order of [`Level::ALL`].
    pub rooms: [Room; 4],
    /// How much a request may compute.
    pub budget: u64,
}

/// A request that was let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(u64);

/// Too much is there already: of the level, or of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full {
    /// Whether it is the user who has too much there.
    pub of_user: bool,
}

/// How a request goes on that gave its seat back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It waits for something else, and tells when it wants a seat again.
    Rests,
    /// It wants a seat again already.
    Waits,
    /// Nobody wants its answer any more. It has left.
    Abandoned,
    /// It has computed for longer than a request may. It has left.
    Exhausted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Rests,
    Waits,
    Sits { wants_more: bool, is_abandoned: bool },
}

#[derive(Debug)]
struct Request {
    level: Level,
    user: Arc<str>,
    bytes: usize,
    state: State,
    used: u64,
}

/// What one user has of a level.
#[derive(Debug, Default)]
struct Flow {
    /// How much the user's requests have computed. Who comes begins with what the one who is served now has, so that
    /// nobody saves up by staying away.
    used: u64,
    seated: usize,
    requests: usize,
    bytes: usize,
    waiting: BTreeSet<Ticket>,
}

#[derive(Debug, Default)]
struct Queue {
    flows: HashMap<Arc<str>, Flow>,
    /// What the one who sat down last had used.
    clock: u64,
    seated: usize,
    requests: usize,
    bytes: usize,
    refused: u64,
}

/// How many requests of a level do what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Count {
    /// How many are there.
    pub requests: usize,
    /// How many of them compute.
    pub seated: usize,
    /// How many of them wait for a seat.
    pub waiting: usize,
    /// How many were ever refused.
    pub refused: u64,
}

/// Who is there, who computes, and who waits.
#[derive(Debug)]
pub struct Fairness {
    limits: Limits,
    queues: [Queue; 4],
    requests: HashMap<Ticket, Request>,
    last: u64,
}

impl Fairness {
    /// Returns an empty one.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            queues: Default::default(),
            requests: HashMap::new(),
            last: 0,
        }
    }

    /// Lets a request in whose body has so many bytes. It wants no seat yet.
    pub fn arrive(&mut self, level: Level, user: &str, bytes: usize) -> Result<Ticket, Full> {
        let room = self.limits.rooms[level.place()];
        let queue = &mut self.queues[level.place()];
        // One request is always let in, however large it is.
        let is_full = |share: Share, requests: usize, used: usize| {
            requests >= share.requests || (requests > 0 && used.saturating_add(bytes) > share.bytes)
        };
        let flow = queue.flows.get(user);
        let of_user = flow.is_some_and(|flow| is_full(room.each, flow.requests, flow.bytes));
        if of_user || is_full(room.all, queue.requests, queue.bytes) {
            queue.refused += 1;
            return Err(Full { of_user });
        }
        let user: Arc<str> = match queue.flows.get_key_value(user) {
            Some((user, _)) => user.clone(),
            None => user.into(),
        };
        let clock = queue.clock;
        let flow = queue.flows.entry(user.clone()).or_insert_with(|| Flow {
            used: clock,
            ..Flow::default()
        });
        flow.requests += 1;
        flow.bytes += bytes;
        queue.requests += 1;
        queue.bytes += bytes;
        self.last += 1;
        let ticket = Ticket(self.last);
        self.requests.insert(
            ticket,
            Request {
                level,
                user,
                bytes,
                state: State::Rests,
                used: 0,
            },
        );
        Ok(ticket)
    }

    /// Notes that a request wants a seat, or another one when it gives back the one it has.
    pub fn ready(&mut self, ticket: Ticket) {
        let Some(request) = self.requests.get_mut(&ticket) else {
            return;
        };
        match &mut request.state {
            State::Rests => {
                request.state = State::Waits;
                if let Some(flow) = self.queues[request.level.place()].flows.get_mut(&request.user) {
                    flow.waiting.insert(ticket);
                }
            }
            State::Waits => {}
            State::Sits { wants_more, .. } => *wants_more = true,
        }
    }

    /// Returns the request that sits down next; `None` where no seat is free or nobody wants one.
    pub fn seat_next(&mut self) -> Option<Ticket> {
        Level::ALL.into_iter().find_map(|level| self.next_of(level))
    }

    fn next_of(&mut self, level: Level) -> Option<Ticket> {
        let room = self.limits.rooms[level.place()];
        let queue = &mut self.queues[level.place()];
        if queue.seated >= room.all.seats {
            return None;
        }
        let (_, flow) = queue
            .flows
            .iter_mut()
            .filter(|(_, flow)| flow.seated < room.each.seats && !flow.waiting.is_empty())
            .min_by_key(|(_, flow)| (flow.used, flow.seated, flow.waiting.first().copied()))?;
        let ticket = flow.waiting.pop_first()?;
        flow.seated += 1;
        queue.clock = queue.clock.max(flow.used);
        queue.seated += 1;
        if let Some(request) = self.requests.get_mut(&ticket) {
            request.state = State::Sits {
                wants_more: false,
                is_abandoned: false,
            };
        }
        Some(ticket)
    }

    /// Returns whether someone still wants the answer of a request.
    pub fn is_wanted(&self, ticket: Ticket) -> bool {
        self.requests.get(&ticket).is_some_and(|request| {
            !matches!(
                request.state,
                State::Sits {
                    is_abandoned: true,
                    ..
                }
            )
        })
    }

    /// Takes the seat of a request back that has computed for so long.
    pub fn rise(&mut self, ticket: Ticket, used: u64) -> Standing {
        let Some(request) = self.requests.get_mut(&ticket) else {
            return Standing::Abandoned;
        };
        let State::Sits {
            wants_more,
            is_abandoned,
        } = request.state
        else {
            return Standing::Rests;
        };
        request.used = request.used.saturating_add(used);
        request.state = State::Rests;
        let queue = &mut self.queues[request.level.place()];
        queue.seated -= 1;
        if let Some(flow) = queue.flows.get_mut(&request.user) {
            flow.seated -= 1;
            flow.used = flow.used.saturating_add(used);
        }
        if is_abandoned {
            self.leave(ticket);
            return Standing::Abandoned;
        }
        if wants_more && request.used > self.limits.budget {
            self.leave(ticket);
            return Standing::Exhausted;
        }
        if !wants_more {
            return Standing::Rests;
        }
        self.ready(ticket);
        Standing::Waits
    }

    /// Notes that nobody wants the answer of a request any more. Returns whether it has left: one that computes does so when
    /// it gives its seat back.
    pub fn abandon(&mut self, ticket: Ticket) -> bool {
        if let Some(Request {
            state: State::Sits { is_abandoned, .. },
            ..
        }) = self.requests.get_mut(&ticket)
        {
            *is_abandoned = true;
            return false;
        }
        self.leave(ticket);
        true
    }

    /// Lets a request go, whatever it does.
    pub fn leave(&mut self, ticket: Ticket) {
        let Some(request) = self.requests.remove(&ticket) else {
            return;
        };
        let queue = &mut self.queues[request.level.place()];
        queue.requests -= 1;
        queue.bytes -= request.bytes;
        let sits = matches!(request.state, State::Sits { .. });
        queue.seated -= usize::from(sits);
        if let Some(flow) = queue.flows.get_mut(&request.user) {
            flow.requests -= 1;
            flow.bytes -= request.bytes;
            flow.seated -= usize::from(sits);
            flow.waiting.remove(&ticket);
            if flow.requests == 0 {
                queue.flows.remove(&request.user);
            }
        }
    }

    /// Returns how many requests of a level do what.
    pub fn count(&self, level: Level) -> Count {
        let queue = &self.queues[level.place()];
        Count {
            requests: queue.requests,
            seated: queue.seated,
            waiting: queue.flows.values().map(|flow| flow.waiting.len()).sum(),
            refused: queue.refused,
        }
    }
}

#[cfg(test)]
mod tests;
