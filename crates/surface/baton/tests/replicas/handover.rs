//! One replica after the other is shut down, killed, held up and cut off: another one goes on, and the former one writes nothing
//! until it leads again.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::audit::Change;
use crate::replica::Replica;
use crate::upgrades::{Extending, Subscribing};
use crate::world::{EXTENSIONS_LEASE, SUBSCRIPTIONS_LEASE, World, controllers_of};

type Outcome = Result<(), String>;

/// How long a Lease lasts where nobody says otherwise.
const LEASE_LASTS: Duration = Duration::from_secs(11);

/// How long things may take on a machine that does much else. What is promised is 2 s and 15 s; what it took is printed.
const PATIENCE: Duration = Duration::from_mins(3);

/// How often it is looked whether something has happened.
const PAUSE: Duration = Duration::from_millis(100);

/// How long the server may still work on what had reached it when its sender was held up or cut off.
const ANSWERED_WITHIN: Duration = Duration::from_secs(1);

/// What is upgraded at each hand-over, and who leads.
struct Told {
    world: Arc<World>,
    extension: Extending,
    subscription: Subscribing,
}

/// The whole story, in one cluster.
pub(crate) async fn another_replica_goes_on() -> Result<String, String> {
    let world = Arc::new(World::prepare().await?);
    world.start_controllers().await?;
    let mut told = Told {
        extension: Extending::prepare(&world, "e1").await?,
        subscription: Subscribing::prepare(&world, "s1").await?,
        world: Arc::clone(&world),
    };
    let explain = |reason| format!("{reason}\n{}", world.last_words(60));
    told.upgrade().await.map_err(explain)?;
    let mut lines = Vec::new();
    lines.push(told.shut_down().await.map_err(explain)?);
    lines.push(told.killed().await.map_err(explain)?);
    lines.push(told.held_up().await.map_err(explain)?);
    let (line, former) = told.cut_off().await.map_err(explain)?;
    lines.push(line);
    told.comes_back(former).await.map_err(explain)?;
    told.extension.is_whole(PATIENCE).await.map_err(explain)?;
    told.subscription.is_whole(PATIENCE).await.map_err(explain)?;
    Ok(lines.join("; "))
}

impl Told {
    /// Upgrades both, which works only if somebody leads.
    async fn upgrade(&mut self) -> Outcome {
        let (extending, subscribing) = (&mut self.extension, &mut self.subscription);
        tokio::try_join!(extending.go_on(PATIENCE), subscribing.go_on(PATIENCE))?;
        let trespasses = self.world.audit()?.trespasses();
        if trespasses.is_empty() {
            Ok(())
        } else {
            Err(format!("two wrote at once:\n{}", trespasses.join("\n")))
        }
    }

    /// The number of the machine whose controllers lead.
    fn leader(&self) -> Result<usize, String> {
        let holder = self.world.audit()?.holder(EXTENSIONS_LEASE);
        let machines = self.world.machines.iter().map(|machine| machine.number);
        let mut leading =
            machines.filter(|number| holder.as_deref() == Some(controllers_of(*number).as_str()));
        leading
            .next()
            .ok_or_else(|| format!("{holder:?} holds the Lease"))
    }

    fn controllers(&self, machine: usize) -> &Replica {
        &self.world.machines[machine].controllers
    }

    /// Waits until somebody else than a machine holds a Lease.
    async fn taken_from(&self, machine: usize, lease: &str) -> Result<Change, String> {
        let former = controllers_of(machine);
        let begun = std::time::Instant::now();
        while begun.elapsed() < PATIENCE {
            let change = self.world.audit()?.last_change(lease);
            if let Some(change) = change.filter(|change| change.from == former && change.to != former) {
                return Ok(change);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err(format!("nobody took the Lease {lease} from {former}"))
    }

    /// Waits until somebody else has both Leases; returns how long that took since a moment.
    async fn hands_over(&self, machine: usize, since: Timestamp) -> Result<Duration, String> {
        let extensions = self.taken_from(machine, EXTENSIONS_LEASE).await?;
        let mut taken = extensions.taken;
        // The other Lease may have been somebody else's.
        let holder = self.world.audit()?.holder(SUBSCRIPTIONS_LEASE);
        if holder.as_deref() == Some(controllers_of(machine).as_str()) {
            taken = taken.max(self.taken_from(machine, SUBSCRIPTIONS_LEASE).await?.taken);
        }
        Ok(Duration::try_from(taken.duration_since(since)).unwrap_or_default())
    }

    /// Who is asked to end gives its Lease back, and nobody waits until it runs out.
    async fn shut_down(&mut self) -> Result<String, String> {
        let leader = self.leader()?;
        let since = Timestamp::now();
        self.controllers(leader).stop().await?;
        let took = self.hands_over(leader, since).await?;
        if took >= LEASE_LASTS {
            return Err(format!("a leader that was shut down was waited for: {took:?}"));
        }
        self.upgrade().await?;
        self.controllers(leader).start()?;
        Ok(format!("shut down: {took:?}"))
    }

    /// Who is killed is waited for until its Lease has run out, and no longer.
    async fn killed(&mut self) -> Result<String, String> {
        let leader = self.leader()?;
        let since = Timestamp::now();
        self.controllers(leader).kill();
        let took = self.hands_over(leader, since).await?;
        self.upgrade().await?;
        self.controllers(leader).start()?;
        Ok(format!("killed: {took:?}"))
    }

    /// Who is held up for longer than its Lease lasts, in the middle of an upgrade, writes nothing when it goes on.
    async fn held_up(&mut self) -> Result<String, String> {
        let leader = self.leader()?;
        let since = self.pauses_in_an_upgrade(leader).await?;
        let took = self.hands_over(leader, since).await?;
        self.upgrade().await?;
        self.controllers(leader).resume()?;
        self.knows(leader).await?;
        self.wrote_nothing(leader, since)?;
        self.upgrade().await?;
        Ok(format!("held up: {took:?}"))
    }

    /// Begins an upgrade, and holds up whoever leads as soon as it has begun to write.
    async fn pauses_in_an_upgrade(&mut self, leader: usize) -> Result<Timestamp, String> {
        let before = Timestamp::now();
        let name = controllers_of(leader);
        self.extension.ask().await?;
        while self.world.audit()?.writes_since(&name, before).is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.controllers(leader).pause()?;
        tokio::time::sleep(ANSWERED_WITHIN).await;
        Ok(Timestamp::now())
    }

    /// Who is cut off hands over, and writes nothing when it is reached again.
    async fn cut_off(&mut self) -> Result<(String, usize), String> {
        let leader = self.leader()?;
        self.extension.ask().await?;
        self.world.network.cut(leader)?;
        let cut = Timestamp::now();
        let since = cut + ANSWERED_WITHIN;
        let took = self.hands_over(leader, cut).await?;
        self.upgrade().await?;
        // It gave up by itself, before anybody else took over.
        self.knows(leader).await?;
        self.world.network.heal(leader)?;
        self.upgrade().await?;
        self.wrote_nothing(leader, since)?;
        Ok((format!("cut off: {took:?}"), leader))
    }

    /// Who was cut off leads again when nobody else does.
    async fn comes_back(&mut self, former: usize) -> Outcome {
        for machine in &self.world.machines {
            if machine.number != former {
                machine.controllers.stop().await?;
            }
        }
        self.upgrade().await?;
        let leads = self.leader()?;
        if leads == former {
            Ok(())
        } else {
            Err(format!("machine {leads} leads, and not {former}"))
        }
    }

    /// Waits until a process knows that it doesn't lead any more.
    async fn knows(&self, machine: usize) -> Outcome {
        let begun = std::time::Instant::now();
        while begun.elapsed() < PATIENCE {
            let words = self.controllers(machine).words();
            let mut told = words.lines().rev().filter(|line| {
                line.contains(EXTENSIONS_LEASE)
                    && (line.contains("leading") || line.contains("no longer leading"))
            });
            if told.next().is_some_and(|line| line.contains("no longer leading")) {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Err("the former leader doesn't notice that it leads no more".to_owned())
    }

    fn wrote_nothing(&self, machine: usize, since: Timestamp) -> Outcome {
        let writes = self.world.audit()?.writes_since(&controllers_of(machine), since);
        if writes.is_empty() {
            Ok(())
        } else {
            Err(format!("the former leader wrote:\n{}", writes.join("\n")))
        }
    }
}
