//! Replicas are killed, stopped, paused and cut off every few seconds while everything is upgraded again and again: nothing is
//! lost, nothing is done twice, and at no time two of them write.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedMutexGuard, Semaphore};
use tokio::task::JoinSet;

use crate::reference::Reference;
use crate::replica::Replica;
use crate::stacks::Stack;
use crate::upgrades::{Extending, Subscribing};
use crate::world::{
    CATALOGS_LEASE, EXTENSIONS_LEASE, MACHINES, Machine, OPERATOR_LEASE, SUBSCRIPTIONS_LEASE,
    SYSTEM_NAMESPACE, World,
};

/// How long it goes on if nobody says so with `BATON_CHAOS_MINUTES`.
const USUAL_LENGTH: Duration = Duration::from_secs(75);

/// What the usual run draws from: it is the same for everybody, so that it fails for whoever broke something. Runs that last
/// draw anew each time, to find what nobody knows of yet.
const USUAL_SEED: u64 = 20;

/// How long one upgrade may take while replicas come and go.
const PATIENCE: Duration = Duration::from_mins(6);

/// All Leases.
const LEASES: [&str; 4] = [
    CATALOGS_LEASE,
    EXTENSIONS_LEASE,
    SUBSCRIPTIONS_LEASE,
    OPERATOR_LEASE,
];

/// How many machines are disturbed at the same time: the last one is left to work.
const DISTURBED_AT_ONCE: usize = MACHINES - 1;

/// For how long a machine is paused or cut off at most, in milliseconds: a Lease lasts for 11 s.
const LONGEST_ABSENCE: u64 = 20_000;

/// Numbers that look random and are the same for the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    /// A number from a range.
    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.next() % (most - least + 1)
    }

    /// A time from a range, in milliseconds.
    fn time(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_millis(self.between(least, most))
    }
}

/// What happened, with when.
struct Timeline {
    begun: Instant,
    lines: Mutex<Vec<String>>,
}

impl Timeline {
    fn note(&self, text: &str) {
        let line = format!("{:8.3} {text}", self.begun.elapsed().as_secs_f64());
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }

    fn text(&self) -> String {
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .join("\n")
    }
}

/// What is done to a machine.
#[derive(Debug, Clone, Copy)]
enum Disturbance {
    Killed(Duration),
    Stopped,
    Paused(Duration),
    CutOff(Duration),
}

/// Which processes of a machine it is done to.
#[derive(Debug, Clone, Copy)]
enum Target {
    Controllers,
    Operator,
    Both,
}

impl Target {
    fn of(self, machine: &Machine) -> Vec<&Replica> {
        match self {
            Self::Controllers => vec![&machine.controllers],
            Self::Operator => vec![&machine.operator],
            Self::Both => vec![&machine.controllers, &machine.operator],
        }
    }
}

fn drawn(random: &mut Random) -> (usize, Disturbance, Target) {
    let machine = usize::try_from(random.between(0, MACHINES as u64 - 1)).unwrap_or(0);
    let absence = random.time(500, LONGEST_ABSENCE);
    let disturbance = match random.between(0, 3) {
        0 => Disturbance::Killed(random.time(0, 3_000)),
        1 => Disturbance::Stopped,
        2 => Disturbance::Paused(absence),
        _ => Disturbance::CutOff(absence),
    };
    let target = match random.between(0, 2) {
        0 => Target::Controllers,
        1 => Target::Operator,
        _ => Target::Both,
    };
    (machine, disturbance, target)
}

async fn disturb(
    world: &World,
    machine: &Machine,
    disturbance: Disturbance,
    target: Target,
) -> Result<(), String> {
    let replicas = target.of(machine);
    match disturbance {
        Disturbance::Killed(absence) => {
            for replica in &replicas {
                replica.kill();
            }
            tokio::time::sleep(absence).await;
            for replica in &replicas {
                replica.start()?;
            }
        }
        Disturbance::Stopped => {
            for replica in &replicas {
                replica.stop().await?;
                replica.start()?;
            }
        }
        Disturbance::Paused(absence) => {
            for replica in &replicas {
                replica.pause()?;
            }
            tokio::time::sleep(absence).await;
            for replica in &replicas {
                replica.resume()?;
            }
        }
        Disturbance::CutOff(absence) => {
            world.network.cut(machine.number)?;
            tokio::time::sleep(absence).await;
            world.network.heal(machine.number)?;
        }
    }
    Ok(())
}

/// A world that is being disturbed.
struct Chaos {
    world: Arc<World>,
    timeline: Arc<Timeline>,
    is_over: Arc<AtomicBool>,
    steps: Arc<AtomicUsize>,
    disturbances: Arc<AtomicUsize>,
}

/// How long somebody wants it to last, if anybody says so.
fn asked_length() -> Option<Duration> {
    let minutes = std::env::var("BATON_CHAOS_MINUTES").ok()?;
    Duration::try_from_secs_f64(minutes.parse::<f64>().ok()? * 60.0).ok()
}

/// How long it goes on.
pub(crate) fn length() -> Duration {
    asked_length().unwrap_or(USUAL_LENGTH)
}

/// Runs for as long as it is asked to; tells how it went.
pub(crate) async fn everything_is_whole_in_the_end() -> Result<String, String> {
    let seed = std::env::var("BATON_CHAOS_SEED");
    let seed = seed.ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| {
        if asked_length().is_none() {
            return USUAL_SEED;
        }
        let now = jiff::Timestamp::now().as_nanosecond();
        u64::try_from(now & i128::from(u32::MAX)).unwrap_or(1)
    });
    let world = Arc::new(World::prepare().await?);
    world.start_controllers().await?;
    for machine in &world.machines {
        machine.operator.start()?;
    }
    let chaos = Chaos {
        world: Arc::clone(&world),
        timeline: Arc::new(Timeline {
            begun: Instant::now(),
            lines: Mutex::default(),
        }),
        is_over: Arc::default(),
        steps: Arc::default(),
        disturbances: Arc::default(),
    };
    let told = chaos.run(seed, length()).await;
    told.map_err(|reason| {
        format!(
            "{reason}\nwith BATON_CHAOS_SEED={seed}, this happened:\n{}\n{}",
            chaos.timeline.text(),
            world.last_words(40)
        )
    })
}

impl Chaos {
    async fn run(&self, seed: u64, length: Duration) -> Result<String, String> {
        let world = &self.world;
        let mut extensions = Vec::new();
        for id in ["e1", "e2"] {
            extensions.push(Extending::prepare(world, id).await?);
        }
        let mut subscriptions = Vec::new();
        for id in ["s1", "s2"] {
            subscriptions.push(Subscribing::prepare(world, id).await?);
        }
        let mut stacks = Vec::new();
        for id in ["h1", "h2"] {
            stacks.push(Stack::prepare(world, id).await?);
        }
        self.timeline.note("everything is prepared");
        let mut upgrading: JoinSet<Result<(), String>> = JoinSet::new();
        for extension in extensions {
            upgrading.spawn(self.extend(extension));
        }
        for subscription in subscriptions {
            upgrading.spawn(self.subscribe(subscription));
        }
        for stack in stacks {
            upgrading.spawn(self.stack(stack));
        }
        let ended = async {
            while let Some(ended) = upgrading.join_next().await {
                ended.map_err(|error| error.to_string())??;
            }
            Ok::<(), String>(())
        };
        let disturbing = async {
            self.disturb_for(seed, length).await?;
            self.timeline.note("nobody is disturbed any more");
            self.is_over.store(true, Ordering::Release);
            Ok(())
        };
        tokio::try_join!(ended, disturbing)?;
        let audit = world.audit()?;
        let trespasses = audit.trespasses();
        if !trespasses.is_empty() {
            return Err(format!("two wrote at once:\n{}", trespasses.join("\n")));
        }
        let mut told = format!(
            "{} s with seed {seed}: {} disturbances, {} upgrades, {} writes; Leases changed hands:",
            length.as_secs(),
            self.disturbances.load(Ordering::Relaxed),
            self.steps.load(Ordering::Relaxed),
            audit.writes(),
        );
        for lease in LEASES {
            let _ = write!(told, " {lease} {}", audit.changes(lease));
        }
        Ok(told)
    }

    /// Does something to some machine every few seconds.
    async fn disturb_for(&self, seed: u64, length: Duration) -> Result<(), String> {
        let mut random = Random(seed);
        let machines: Vec<Arc<tokio::sync::Mutex<()>>> = (0..MACHINES).map(|_| Arc::default()).collect();
        let at_once = Arc::new(Semaphore::new(DISTURBED_AT_ONCE));
        let mut running: JoinSet<Result<(), String>> = JoinSet::new();
        while self.timeline.begun.elapsed() < length {
            tokio::time::sleep(random.time(1_000, 4_000)).await;
            while let Some(ended) = running.try_join_next() {
                ended.map_err(|error| error.to_string())??;
            }
            self.revive()?;
            let (mut machine, disturbance, target) = drawn(&mut random);
            // Half of the time it is who leads: what happens to others changes little.
            let lease = LEASES[usize::try_from(random.between(0, LEASES.len() as u64 - 1)).unwrap_or(0)];
            if random.between(0, 1) == 0 {
                machine = self.holder(lease).await.unwrap_or(machine);
            }
            let Ok(permit) = Arc::clone(&at_once).try_acquire_owned() else {
                continue;
            };
            let Ok(busy) = Arc::clone(&machines[machine]).try_lock_owned() else {
                continue;
            };
            self.disturbances.fetch_add(1, Ordering::Relaxed);
            let (world, timeline) = (Arc::clone(&self.world), Arc::clone(&self.timeline));
            running.spawn(async move {
                let _busy: (OwnedMutexGuard<()>, _) = (busy, permit);
                timeline.note(&format!("machine {machine}, {target:?}: {disturbance:?}"));
                let done = disturb(&world, &world.machines[machine], disturbance, target).await;
                timeline.note(&format!("machine {machine}, {target:?}: over"));
                done
            });
        }
        while let Some(ended) = running.join_next().await {
            ended.map_err(|error| error.to_string())??;
        }
        // Nobody is cut off any more, so that nobody ends by itself.
        self.revive()
    }

    /// Starts what ended by itself.
    fn revive(&self) -> Result<(), String> {
        for machine in &self.world.machines {
            for replica in [&machine.controllers, &machine.operator] {
                if replica.revive()? {
                    self.timeline
                        .note(&format!("{} ended by itself, and is started again", replica.name));
                }
            }
        }
        Ok(())
    }

    /// The machine that holds a Lease.
    async fn holder(&self, lease: &str) -> Option<usize> {
        let lease = Reference::namespaced("coordination.k8s.io/v1", "Lease", SYSTEM_NAMESPACE, lease);
        let lease = self.world.kubernetes.read(&lease).await.ok()?;
        let identity = lease["spec"]["holderIdentity"].as_str()?;
        let mut machines = self.world.machines.iter();
        let holder = machines
            .find(|machine| machine.controllers.is_holder(identity) || machine.operator.is_holder(identity));
        holder.map(|machine| machine.number)
    }

    /// What upgrades one thing until nobody is disturbed any more, and looks at what there is then.
    fn extend(&self, mut extension: Extending) -> impl Future<Output = Result<(), String>> + use<> {
        let (timeline, is_over, steps) = self.shared();
        async move {
            while !is_over.load(Ordering::Acquire) {
                extension.go_on(PATIENCE).await?;
                steps.fetch_add(1, Ordering::Relaxed);
                timeline.note(&extension.described());
            }
            extension.is_whole(PATIENCE).await
        }
    }

    fn subscribe(&self, mut subscription: Subscribing) -> impl Future<Output = Result<(), String>> + use<> {
        let (timeline, is_over, steps) = self.shared();
        async move {
            while !is_over.load(Ordering::Acquire) {
                subscription.go_on(PATIENCE).await?;
                steps.fetch_add(1, Ordering::Relaxed);
                timeline.note(&subscription.described());
            }
            subscription.is_whole(PATIENCE).await
        }
    }

    fn stack(&self, mut stack: Stack) -> impl Future<Output = Result<(), String>> + use<> {
        let (timeline, is_over, steps) = self.shared();
        let world = Arc::clone(&self.world);
        async move {
            while !is_over.load(Ordering::Acquire) {
                stack.go_on(&world, PATIENCE).await?;
                steps.fetch_add(1, Ordering::Relaxed);
                timeline.note(&stack.described());
                // A release takes no time at all; a thousand of them would be no better than fifty.
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
            stack.is_whole(&world, PATIENCE).await
        }
    }

    fn shared(&self) -> (Arc<Timeline>, Arc<AtomicBool>, Arc<AtomicUsize>) {
        (
            Arc::clone(&self.timeline),
            Arc::clone(&self.is_over),
            Arc::clone(&self.steps),
        )
    }
}
