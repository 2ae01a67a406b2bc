//! The loop around a controller: what it watches, what waits to be looked at, and when it is tried again.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::api::Api;
use crate::caller::Caller;
use crate::client::Client;
use crate::status::Status;
use crate::store::{Event, ResourceKey, Stored, WatchEnd};

/// How long a failed object waits before it is looked at again; each failure doubles it.
const FIRST_RETRY: Duration = Duration::from_millis(50);

/// The longest that a failed object waits.
const LONGEST_RETRY: Duration = Duration::from_secs(30);

/// An object to look at.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Item {
    /// The namespace; empty for objects of the whole cluster.
    pub namespace: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl Item {
    /// Returns an item.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }

    /// Returns the item of a stored object.
    pub fn of(stored: &Stored) -> Self {
        Self {
            namespace: stored.key.namespace.clone(),
            name: stored.key.name.clone(),
        }
    }
}

/// What a controller wants after it has looked at an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// To be called when something changes.
    Wait,
    /// To be called after some time, or when something changes.
    After(Duration),
}

/// Which items an event is about.
pub type Affected = fn(&Api, &Event) -> Vec<Item>;

/// A controller.
pub trait Controller: Send + Sync + 'static {
    /// The controller's name: its user is `system:serviceaccount:kube-system:<name>`.
    const NAME: &'static str;

    /// Returns what the controller watches, and which items an event of each is about.
    fn watches(&self) -> Vec<(ResourceKey, Affected)>;

    /// Looks at an item and makes it what it should be.
    fn reconcile(&self, client: &Client, item: &Item) -> impl Future<Output = Result<Next, Status>> + Send;
}

/// Returns the object itself as the item.
pub fn itself(_: &Api, event: &Event) -> Vec<Item> {
    vec![Item::of(&event.object)]
}

/// A controller that runs; it stops when this is dropped.
#[derive(Debug)]
pub struct Running {
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Running {
    /// Returns the handle of tasks that run until it is dropped.
    pub fn of(tasks: Vec<JoinHandle<()>>) -> Self {
        Self { tasks }
    }
}

/// Starts a controller. Only a weak handle of the API is kept between two looks, so that the cluster can end.
pub fn start<C: Controller>(api: &Arc<Api>, controller: C) -> Running {
    let (sender, receiver) = mpsc::unbounded_channel();
    let mut tasks = Vec::new();
    for (resource, affected) in controller.watches() {
        tasks.push(tokio::spawn(feed(
            Arc::downgrade(api),
            resource,
            affected,
            sender.clone(),
        )));
    }
    tasks.push(tokio::spawn(run(Arc::downgrade(api), controller, receiver)));
    Running { tasks }
}

/// Sends the items that events are about, beginning with everything that is there.
async fn feed(
    api: Weak<Api>,
    resource: ResourceKey,
    affected: Affected,
    sender: mpsc::UnboundedSender<Item>,
) {
    loop {
        let mut watch = {
            let Some(api) = api.upgrade() else { return };
            let Ok(listing) = api.store.list(&resource, None, None, None, None) else {
                continue;
            };
            let Ok(watch) = api.store.watch(&resource, None, listing.revision) else {
                continue;
            };
            for stored in listing.items {
                for item in affected(&api, &Event::present(stored)) {
                    if sender.send(item).is_err() {
                        return;
                    }
                }
            }
            watch
        };
        loop {
            match watch.next().await {
                Ok(event) => {
                    let Some(api) = api.upgrade() else { return };
                    for item in affected(&api, &event) {
                        if sender.send(item).is_err() {
                            return;
                        }
                    }
                }
                Err(WatchEnd::Closed) => return,
                // So much happened that this watcher lost its place: everything is looked at again.
                Err(WatchEnd::Expired(_)) => break,
            }
        }
    }
}

#[derive(Default)]
struct Queue {
    ready: VecDeque<Item>,
    queued: HashSet<Item>,
    later: HashMap<Item, Instant>,
    /// The same as `later`, the next first.
    due: BTreeSet<(Instant, Item)>,
    failures: HashMap<Item, u32>,
}

impl Queue {
    fn add(&mut self, item: Item) {
        if let Some(at) = self.later.remove(&item) {
            self.due.remove(&(at, item.clone()));
        }
        if self.queued.insert(item.clone()) {
            self.ready.push_back(item);
        }
    }

    fn add_later(&mut self, item: Item, delay: Duration) {
        let at = Instant::now() + delay;
        if let Some(known) = self.later.get(&item).copied() {
            if known <= at {
                return;
            }
            self.due.remove(&(known, item.clone()));
        }
        self.later.insert(item.clone(), at);
        self.due.insert((at, item));
    }

    fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    fn take_due(&mut self) {
        if self.due.is_empty() {
            return;
        }
        let now = Instant::now();
        while self.next_due().is_some_and(|due| due <= now)
            && let Some((_, item)) = self.due.pop_first()
        {
            self.later.remove(&item);
            self.add(item);
        }
    }
}

async fn run<C: Controller>(api: Weak<Api>, controller: C, mut receiver: mpsc::UnboundedReceiver<Item>) {
    let mut queue = Queue::default();
    loop {
        while let Ok(item) = receiver.try_recv() {
            queue.add(item);
        }
        queue.take_due();
        let Some(item) = queue.ready.pop_front() else {
            let due = queue.next_due();
            let sleep = async {
                match due {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                item = receiver.recv() => match item {
                    Some(item) => queue.add(item),
                    None => return,
                },
                () = sleep => {}
            }
            continue;
        };
        queue.queued.remove(&item);
        let Some(api) = api.upgrade() else { return };
        let client = Client::new(api, Caller::controller(C::NAME), "kube-controller-manager");
        match controller.reconcile(&client, &item).await {
            Ok(next) => {
                queue.failures.remove(&item);
                if let Next::After(delay) = next {
                    queue.add_later(item, delay);
                }
            }
            Err(status) => {
                let failures = queue.failures.entry(item.clone()).or_insert(0);
                *failures = failures.saturating_add(1);
                let delay = FIRST_RETRY
                    .saturating_mul(1 << (*failures - 1).min(16))
                    .min(LONGEST_RETRY);
                tracing::debug!(controller = C::NAME, ?item, %status, "tried again later");
                queue.add_later(item, delay);
            }
        }
    }
}
