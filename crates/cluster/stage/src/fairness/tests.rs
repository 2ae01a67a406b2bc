//! Rules as tables, floods on a clock that only the test moves, and what holds in any order of events.

use proptest::prelude::*;

use super::*;

const fn share(seats: usize, requests: usize, bytes: usize) -> Share {
    Share {
        seats,
        requests,
        bytes,
    }
}

/// Three seats, of which one user has two; eight requests of 1,000 bytes, four of 600 bytes for each.
const LIMITS: Limits = Limits {
    rooms: [Room {
        all: share(3, 8, 1_000),
        each: share(2, 4, 600),
    }; 4],
    budget: 10_000,
};

/// Requests that compute in slices, on a clock of their own.
struct World {
    fairness: Fairness,
    now: u64,
    /// Who sits, until when, and how many more slices there are after this one.
    seated: Vec<(u64, Ticket, u64, u64)>,
    /// How long each slice of a request is, and how many slices it has.
    work: HashMap<Ticket, (u64, u64)>,
    /// When each request had its answer.
    done: HashMap<Ticket, u64>,
}

impl World {
    fn new(limits: Limits) -> Self {
        Self {
            fairness: Fairness::new(limits),
            now: 0,
            seated: Vec::new(),
            work: HashMap::new(),
            done: HashMap::new(),
        }
    }

    fn ask(&mut self, user: &str, slice: u64, slices: u64) -> Ticket {
        let ticket = self
            .fairness
            .arrive(Level::Workload, user, 0)
            .expect("there is room");
        self.work.insert(ticket, (slice, slices));
        self.fairness.ready(ticket);
        self.sit();
        ticket
    }

    fn sit(&mut self) {
        while let Some(ticket) = self.fairness.seat_next() {
            let (slice, slices) = self.work[&ticket];
            self.seated.push((self.now + slice, ticket, slice, slices));
        }
    }

    /// Moves the clock to the end of the next slice; whether there was one.
    fn step(&mut self) -> bool {
        let Some(first) = (0..self.seated.len()).min_by_key(|&index| self.seated[index].0) else {
            return false;
        };
        let (until, ticket, slice, slices) = self.seated.remove(first);
        self.now = until;
        if slices > 1 {
            self.work.insert(ticket, (slice, slices - 1));
            self.fairness.ready(ticket);
            self.fairness.rise(ticket, slice);
        } else {
            self.fairness.rise(ticket, slice);
            self.fairness.leave(ticket);
            self.done.insert(ticket, until);
        }
        self.sit();
        true
    }
}

/// Room for any number of requests.
fn unlimited() -> Limits {
    let mut limits = LIMITS;
    for room in &mut limits.rooms {
        room.all = share(3, usize::MAX, usize::MAX);
        room.each = share(2, usize::MAX, usize::MAX);
    }
    limits.budget = u64::MAX;
    limits
}

#[test]
fn a_flood_of_one_user_does_not_take_the_seats_of_another() {
    for flood in [8, 64, 1_000] {
        let mut world = World::new(unlimited());
        for _ in 0..flood {
            world.ask("flooder", 100, 5);
        }
        // Another user asks for little, again and again, while all of that is there.
        for _ in 0..50 {
            let begun = world.now;
            let ticket = world.ask("other", 1, 3);
            while !world.done.contains_key(&ticket) {
                assert!(world.step(), "it is never answered");
            }
            // A seat is free at once: three slices of one, and nothing of the flood in between.
            assert_eq!(world.done[&ticket] - begun, 3, "behind {flood}");
        }
        assert!(world.done.len() < 50 + flood, "the flood was still there");
    }
}

#[test]
fn users_who_ask_for_much_get_as_much_as_each_other() {
    let mut world = World::new(unlimited());
    for _ in 0..40 {
        for user in ["a", "b", "c", "d"] {
            world.ask(user, 10, 10);
        }
    }
    for _ in 0..10 {
        world.ask("e", 10, 10);
    }
    for _ in 0..200 {
        world.step();
    }
    let used: Vec<u64> = ["a", "b", "c", "d", "e"]
        .iter()
        .map(|user| world.fairness.queues[Level::Workload.place()].flows[*user].used)
        .collect();
    let (least, most) = (
        used.iter().min().expect("users"),
        used.iter().max().expect("users"),
    );
    assert!(most - least <= 2 * 10, "{used:?}");
}

#[test]
fn who_stayed_away_saved_nothing_up() {
    let mut world = World::new(unlimited());
    for _ in 0..20 {
        world.ask("a", 10, 50);
    }
    for _ in 0..100 {
        world.step();
    }
    for _ in 0..20 {
        world.ask("b", 10, 50);
    }
    let flow = |world: &World, user: &str| world.fairness.queues[Level::Workload.place()].flows[user].used;
    let before = (flow(&world, "a"), flow(&world, "b"));
    for _ in 0..100 {
        world.step();
    }
    let got = (flow(&world, "a") - before.0, flow(&world, "b") - before.1);
    assert!(got.0.abs_diff(got.1) <= 4 * 10, "{got:?}");
}

#[test]
fn what_was_begun_first_ends_first() {
    let mut world = World::new(unlimited());
    let tickets: Vec<Ticket> = (0..6).map(|_| world.ask("a", 10, 3)).collect();
    while world.step() {}
    let ends: Vec<u64> = tickets.iter().map(|ticket| world.done[ticket]).collect();
    assert_eq!(ends, [30, 30, 60, 60, 90, 90]);
}

#[test]
fn levels_do_not_take_each_others_seats() {
    let mut fairness = Fairness::new(LIMITS);
    for level in Level::ALL {
        for user in ["a", "b"] {
            for _ in 0..4 {
                let ticket = fairness.arrive(level, user, 0).expect("there is room");
                fairness.ready(ticket);
            }
        }
    }
    while fairness.seat_next().is_some() {}
    for level in Level::ALL {
        let count = fairness.count(level);
        assert_eq!((count.seated, count.waiting), (3, 5), "{}", level.name());
    }
}

#[test]
fn what_is_too_much_is_refused_and_let_in_when_something_has_gone() {
    /// A user, and how many bytes.
    type Body = (&'static str, usize);
    // What is there, then what comes.
    let cases: [(&[Body], Body, Option<bool>); 8] = [
        (&[], ("a", 0), None),
        (&[], ("a", 1_000_000), None),
        (&[("a", 0), ("a", 0), ("a", 0), ("a", 0)], ("a", 0), Some(true)),
        (&[("a", 0), ("a", 0), ("a", 0), ("a", 0)], ("b", 0), None),
        (&[("a", 600)], ("a", 1), Some(true)),
        (&[("a", 600)], ("b", 400), None),
        (&[("a", 600)], ("b", 401), Some(false)),
        (&[("a", 300), ("a", 200)], ("a", 100), None),
    ];
    for (there, (user, bytes), refused) in cases {
        let mut fairness = Fairness::new(LIMITS);
        let tickets: Vec<Ticket> = there
            .iter()
            .map(|(user, bytes)| {
                fairness
                    .arrive(Level::Workload, user, *bytes)
                    .expect("there is room")
            })
            .collect();
        let answer = fairness.arrive(Level::Workload, user, bytes);
        assert_eq!(
            answer.err().map(|full| full.of_user),
            refused,
            "{user} {bytes} behind {there:?}"
        );
        assert_eq!(
            fairness.count(Level::Workload).refused,
            u64::from(refused.is_some())
        );
        if refused.is_some() {
            fairness.leave(tickets[0]);
            assert!(
                fairness.arrive(Level::Workload, user, bytes).is_ok(),
                "{user} {bytes} behind {there:?}"
            );
        }
    }
}

#[test]
fn a_request_that_rests_has_no_seat_and_one_that_is_woken_while_it_sits_waits_again() {
    let mut fairness = Fairness::new(LIMITS);
    let ticket = fairness.arrive(Level::Workload, "a", 0).expect("there is room");
    assert_eq!(fairness.seat_next(), None, "it hasn't asked");
    fairness.ready(ticket);
    assert_eq!(fairness.seat_next(), Some(ticket));
    assert_eq!(fairness.rise(ticket, 1), Standing::Rests);
    assert_eq!(fairness.count(Level::Workload).seated, 0);
    fairness.ready(ticket);
    fairness.ready(ticket);
    assert_eq!(fairness.seat_next(), Some(ticket));
    fairness.ready(ticket);
    assert_eq!(fairness.rise(ticket, 1), Standing::Waits);
    assert_eq!(fairness.seat_next(), Some(ticket));
    assert_eq!(fairness.seat_next(), None);
}

#[test]
fn a_request_that_nobody_waits_for_goes_at_once_or_when_it_gives_its_seat_back() {
    let mut fairness = Fairness::new(LIMITS);
    let ask = |fairness: &mut Fairness| {
        let ticket = fairness.arrive(Level::Workload, "a", 0).expect("there is room");
        fairness.ready(ticket);
        ticket
    };
    let (one, other, third) = (ask(&mut fairness), ask(&mut fairness), ask(&mut fairness));
    assert_eq!(
        (fairness.seat_next(), fairness.seat_next()),
        (Some(one), Some(other))
    );
    assert!(fairness.abandon(third), "it hasn't begun");
    assert!(fairness.is_wanted(one));
    assert!(!fairness.abandon(one), "it computes");
    assert!(!fairness.is_wanted(one) && fairness.is_wanted(other) && !fairness.is_wanted(third));
    assert_eq!(fairness.count(Level::Workload).requests, 2);
    fairness.ready(one);
    assert_eq!(fairness.rise(one, 1), Standing::Abandoned);
    assert_eq!(fairness.rise(other, 1), Standing::Rests);
    assert!(fairness.abandon(other), "it rests");
    assert_eq!(fairness.count(Level::Workload), Count::default());
    assert_eq!(fairness.seat_next(), None);
}

#[test]
fn a_request_ends_when_it_has_used_its_budget_and_wants_more() {
    let mut fairness = Fairness::new(LIMITS);
    let ticket = fairness.arrive(Level::Workload, "a", 0).expect("there is room");
    for used in [4_000, 4_000, 2_000] {
        fairness.ready(ticket);
        assert_eq!(fairness.seat_next(), Some(ticket));
        fairness.ready(ticket);
        assert_eq!(fairness.rise(ticket, used), Standing::Waits);
    }
    assert_eq!(fairness.seat_next(), Some(ticket));
    fairness.ready(ticket);
    assert_eq!(fairness.rise(ticket, 1), Standing::Exhausted);
    assert_eq!(fairness.count(Level::Workload), Count::default());
}

#[derive(Debug, Clone)]
enum Event {
    Arrive { level: usize, user: u8, bytes: usize },
    Ready(usize),
    Next,
    Rise { which: usize, used: u64 },
    Abandon(usize),
    Leave(usize),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..4_usize, 0..4_u8, 0..400_usize)
            .prop_map(|(level, user, bytes)| Event::Arrive { level, user, bytes }),
        6 => any::<usize>().prop_map(Event::Ready),
        6 => Just(Event::Next),
        6 => (any::<usize>(), 0..3_000_u64).prop_map(|(which, used)| Event::Rise { which, used }),
        1 => any::<usize>().prop_map(Event::Abandon),
        1 => any::<usize>().prop_map(Event::Leave),
    ]
}

proptest! {
    #[test]
    fn in_any_order_of_events_nobody_has_more_than_allowed_and_nothing_is_left_behind(
        events in prop::collection::vec(event(), 0..200),
    ) {
        let mut fairness = Fairness::new(LIMITS);
        let mut known: Vec<Ticket> = Vec::new();
        let mut seated: Vec<Ticket> = Vec::new();
        let pick = |all: &[Ticket], which: usize| (!all.is_empty()).then(|| all[which % all.len()]);
        for event in events {
            match event {
                Event::Arrive { level, user, bytes } => {
                    known.extend(fairness.arrive(Level::ALL[level], &user.to_string(), bytes).ok());
                }
                Event::Ready(which) => pick(&known, which).into_iter().for_each(|ticket| fairness.ready(ticket)),
                Event::Next => {
                    if let Some(ticket) = fairness.seat_next() {
                        prop_assert!(known.contains(&ticket) && !seated.contains(&ticket));
                        seated.push(ticket);
                    }
                }
                Event::Rise { which, used } => {
                    if let Some(ticket) = pick(&seated, which) {
                        seated.retain(|one| *one != ticket);
                        let standing = fairness.rise(ticket, used);
                        if matches!(standing, Standing::Abandoned | Standing::Exhausted) {
                            known.retain(|one| *one != ticket);
                        }
                    }
                }
                Event::Abandon(which) => {
                    if let Some(ticket) = pick(&known, which) {
                        let is_gone = fairness.abandon(ticket);
                        prop_assert_eq!(is_gone, !seated.contains(&ticket));
                        if is_gone {
                            known.retain(|one| *one != ticket);
                        }
                    }
                }
                Event::Leave(which) => {
                    if let Some(ticket) = pick(&known, which) {
                        fairness.leave(ticket);
                        known.retain(|one| *one != ticket);
                        seated.retain(|one| *one != ticket);
                    }
                }
            }
            let mut total = 0;
            for level in Level::ALL {
                let queue = &fairness.queues[level.place()];
                let room = LIMITS.rooms[level.place()];
                prop_assert!(queue.seated <= room.all.seats && queue.requests <= room.all.requests);
                prop_assert_eq!(queue.seated, queue.flows.values().map(|flow| flow.seated).sum::<usize>());
                prop_assert_eq!(queue.bytes, queue.flows.values().map(|flow| flow.bytes).sum::<usize>());
                for flow in queue.flows.values() {
                    prop_assert!(flow.seated <= room.each.seats && flow.requests <= room.each.requests);
                    prop_assert!(flow.requests > 0 && flow.waiting.len() + flow.seated <= flow.requests);
                }
                total += queue.requests;
            }
            prop_assert_eq!(total, known.len());
        }
        for ticket in known {
            fairness.leave(ticket);
        }
        for level in Level::ALL {
            let refused = fairness.count(level).refused;
            prop_assert_eq!(fairness.count(level), Count { refused, ..Count::default() });
        }
        prop_assert_eq!(fairness.seat_next(), None);
    }
}
