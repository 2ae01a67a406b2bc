//! Who is told to try again, and how many.

use futures_util::FutureExt as _;
use serde_json::{Value, json};

use super::*;

const DEVICE: &str = "example.com/device";

fn amounts(devices: u32) -> Amounts {
    Amounts::from([(DEVICE.to_owned(), Quantity::read(&devices.to_string()))])
}

fn pod(name: &str, devices: u32) -> Value {
    let resources = json!({"limits": {DEVICE: devices.to_string()}});
    json!({"metadata": {"name": name, "namespace": "n", "uid": name, "labels": {"app": name}},
        "spec": {"containers": [{"resources": resources}]}})
}

/// A line for a node with so many devices, and those who wait in it.
struct World {
    line: Line,
    ledger: Ledger,
    notifies: HashMap<String, Arc<Notify>>,
}

impl World {
    fn new(devices: u32) -> Self {
        let mut line = Line::default();
        let mut room = amounts(devices);
        room.insert("pods".to_owned(), Quantity::read("1000"));
        line.note_room(&room);
        Self {
            line,
            ledger: Ledger::default(),
            notifies: HashMap::new(),
        }
    }

    fn wait(&mut self, name: &str, want: Want) {
        let notify = self.notifies.entry(name.to_owned()).or_default();
        let claims = vec![format!("{name}-claim"), "shared".to_owned()];
        self.line
            .wait(&self.ledger, &Item::new("n", name), notify, want, claims);
    }

    fn enter(&mut self, name: &str, devices: u32) {
        self.ledger.enter(&pod(name, devices));
        self.line.leave(&self.ledger, &Item::new("n", name));
    }

    fn strike(&mut self, name: &str) -> usize {
        self.ledger.strike(name);
        self.line.departed(&self.ledger)
    }

    /// Returns who was told since the last look.
    fn told(&self) -> Vec<&str> {
        let told = self.notifies.iter();
        let mut told: Vec<&str> = told
            .filter(|(_, notify)| notify.notified().now_or_never().is_some())
            .map(|(name, _)| name.as_str())
            .collect();
        told.sort_unstable();
        told
    }
}

#[test]
fn a_device_that_is_given_back_is_offered_to_one_of_many() {
    let mut world = World::new(2);
    world.enter("one", 1);
    world.enter("two", 1);
    for number in 0..1000 {
        world.wait(&format!("w{number:03}"), Want::Room(amounts(1)));
    }
    assert_eq!(world.told(), [""; 0]);
    assert_eq!(world.strike("one"), 1);
    assert_eq!(world.told(), ["w000"]);
    // It hasn't come yet, but the device is set aside for it.
    assert_eq!(world.strike("two"), 1);
    assert_eq!(world.told(), ["w001"]);
    world.enter("w000", 1);
    world.enter("w001", 1);
    assert_eq!(world.told(), [""; 0]);
    assert_eq!(world.line.count(), 998);
}

#[test]
fn who_asks_for_too_much_lets_others_pass_and_keeps_its_place() {
    let mut world = World::new(4);
    world.enter("holder", 2);
    world.enter("other", 2);
    world.wait("large", Want::Room(amounts(4)));
    world.wait("small", Want::Room(amounts(1)));
    world.wait("middle", Want::Room(amounts(2)));
    world.wait("late", Want::Room(amounts(1)));
    assert_eq!(world.strike("holder"), 2);
    assert_eq!(world.told(), ["late", "small"]);
    world.enter("small", 1);
    // It was quicker taken by another: back in line, in front of who came later.
    world.enter("thief", 1);
    world.wait("late", Want::Room(amounts(1)));
    assert_eq!(world.told(), [""; 0]);
    assert_eq!(world.strike("other"), 1);
    assert_eq!(world.told(), ["middle"]);
}

#[test]
fn who_is_called_in_vain_makes_way_for_the_next() {
    let mut world = World::new(1);
    world.enter("holder", 1);
    for name in ["a", "b", "c"] {
        world.wait(name, Want::Room(amounts(1)));
    }
    world.strike("holder");
    assert_eq!(world.told(), ["a"]);
    // Deleted meanwhile.
    world.line.leave(&world.ledger, &Item::new("n", "a"));
    assert_eq!(world.told(), ["b"]);
    // It fits nowhere now, for another reason than room.
    world.wait("b", Want::Node);
    assert_eq!(world.told(), ["c"]);
    world.enter("c", 1);
    assert_eq!(world.told(), [""; 0]);
}

#[test]
fn each_is_told_of_what_may_help_it() {
    let mut world = World::new(1);
    let term = json!({"metadata": {"namespace": "n"}, "spec": {"affinity": {"podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "friend"}}, "topologyKey": "kubernetes.io/hostname"}]}}}});
    world.wait("node", Want::Node);
    world.wait("departure", Want::Departure);
    world.wait(
        "company",
        Want::Company(NeighbourTerm::read(&term, "podAffinity")),
    );
    world.wait("room", Want::Room(amounts(2)));
    let labels = |app: &str| BTreeMap::from([("app".to_owned(), app.to_owned())]);
    assert_eq!(world.line.arrived("n", &labels("stranger")), 0);
    assert_eq!(world.line.arrived("elsewhere", &labels("friend")), 0);
    assert_eq!(world.line.arrived("n", &labels("friend")), 1);
    assert_eq!(world.told(), ["company"]);
    world.enter("guest", 0);
    assert_eq!(world.strike("guest"), 1);
    assert_eq!(world.told(), ["departure"]);
    assert_eq!(world.line.claim_changed(&Item::new("n", "room-claim")), 1);
    assert_eq!(world.told(), ["room"]);
    assert_eq!(world.line.claim_changed(&Item::new("m", "room-claim")), 0);
    assert_eq!(world.line.claim_changed(&Item::new("n", "shared")), 4);
    assert_eq!(world.told(), ["company", "departure", "node", "room"]);
    world.line.node_changed();
    assert_eq!(world.told().len(), 4);
    for name in ["node", "departure", "company", "room"] {
        world.line.leave(&world.ledger, &Item::new("n", name));
    }
    assert_eq!(world.line.claim_changed(&Item::new("n", "shared")), 0);
    assert_eq!(world.line.count(), 0);
}
