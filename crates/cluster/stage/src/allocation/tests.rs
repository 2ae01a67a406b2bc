use serde_json::json;

use super::*;
use crate::store::{self, Change, Expect, Write};

struct World {
    store: Store,
    allocations: Allocations,
}

impl World {
    fn new() -> Self {
        let store = Store::in_memory(store::Options::default());
        let allocations = Allocations::of(&store);
        Self { store, allocations }
    }

    fn try_give(&self, name: &str, spec: &Value, old: Option<&Value>) -> Result<(Value, Claim), String> {
        let mut service = json!({"metadata": {"name": name, "namespace": "a", "uid": name}, "spec": spec});
        allocate_service(&self.allocations, &self.store, &mut service, old, false)
            .map(|claim| (service, claim))
            .map_err(|status| status.message)
    }

    async fn create(&self, name: &str, spec: &Value) -> Result<Value, String> {
        let (service, claim) = self.try_give(name, spec, None)?;
        let key = Key::new(&ResourceKey::new("", "services"), "a", name);
        let write = Write {
            key: key.clone(),
            expect: Expect::Absent,
            change: Change::Put(service.clone()),
        };
        self.store.write(write).await.unwrap();
        claim.keep(&key);
        Ok(service)
    }

    async fn delete(&self, name: &str) {
        let write = Write {
            key: Key::new(&ResourceKey::new("", "services"), "a", name),
            expect: Expect::Present,
            change: Change::Delete,
        };
        self.store.write(write).await.unwrap();
    }
}

#[tokio::test]
async fn a_service_gets_an_address_and_its_family() {
    let world = World::new();
    let service = world.create("s", &json!({"type": "ClusterIP"})).await.unwrap();
    let address: Ipv4Addr = service["spec"]["clusterIP"].as_str().unwrap().parse().unwrap();
    assert!(addresses::has(&service, address));
    assert_eq!(address.octets()[0], 10);
    assert_eq!(service["spec"]["clusterIPs"], json!([address.to_string()]));
    assert_eq!(service["spec"]["ipFamilies"], json!(["IPv4"]));
    assert_eq!(service["spec"]["ipFamilyPolicy"], "SingleStack");
}

#[tokio::test]
async fn an_address_is_given_once_and_again_when_its_service_is_gone() {
    let world = World::new();
    let wanted = json!({"type": "ClusterIP", "clusterIP": "10.96.1.2"});
    world.create("one", &wanted).await.unwrap();
    assert_eq!(
        world.create("two", &wanted).await.unwrap_err(),
        "Service \"two\" is invalid: spec.clusterIPs: Invalid value: [\"10.96.1.2\"]: failed to allocate IP 10.96.1.2: \
         provided IP is already allocated"
    );
    world.delete("one").await;
    world.create("two", &wanted).await.unwrap();
    let again = Allocations::of(&world.store);
    let mut third = json!({"metadata": {"name": "three"}, "spec": wanted});
    assert!(allocate_service(&again, &world.store, &mut third, None, false).is_err());
}

#[tokio::test]
async fn what_a_refused_write_claimed_is_free_again() {
    let world = World::new();
    let wanted =
        json!({"type": "NodePort", "clusterIP": "10.96.1.2", "ports": [{"port": 80, "nodePort": 30001}]});
    let (_, claim) = world.try_give("one", &wanted, None).unwrap();
    assert!(world.try_give("two", &wanted, None).is_err());
    drop(claim);
    assert!(world.try_give("two", &wanted, None).is_ok());
}

#[tokio::test]
async fn what_the_cluster_has_not_is_refused_with_the_real_texts() {
    let world = World::new();
    for (spec, expected) in [
        (
            json!({"clusterIP": "11.0.0.1"}),
            "Service \"s\" is invalid: spec.clusterIPs: Invalid value: [\"11.0.0.1\"]: failed to allocate IP 11.0.0.1: the \
             provided IP (11.0.0.1) is not in the valid range. The range of valid IPs is 10.96.0.0/12",
        ),
        (
            json!({"clusterIP": "10.96.0.0"}),
            "Service \"s\" is invalid: spec.clusterIPs: Invalid value: [\"10.96.0.0\"]: failed to allocate IP 10.96.0.0: the \
             provided IP (10.96.0.0) is not in the valid range. The range of valid IPs is 10.96.0.0/12",
        ),
        (
            json!({"clusterIP": "fd00::1"}),
            "Service \"s\" is invalid: spec.clusterIPs[0]: Invalid value: [\"fd00::1\"]: IPv6 is not configured on this \
             cluster",
        ),
        (
            json!({"ipFamilyPolicy": "RequireDualStack"}),
            "Service \"s\" is invalid: spec.ipFamilyPolicy: Invalid value: \"RequireDualStack\": this cluster is not \
             configured for dual-stack services",
        ),
        (
            json!({"ipFamilies": ["IPv6"]}),
            "Service \"s\" is invalid: spec.ipFamilies[0]: Invalid value: \"IPv6\": not configured on this cluster",
        ),
        (
            json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 99}]}),
            "Service \"s\" is invalid: spec.ports[0].nodePort: Invalid value: 99: provided port is not in the valid range. \
             The range of valid ports is 30000-32767",
        ),
    ] {
        assert_eq!(world.try_give("s", &spec, None).unwrap_err(), expected);
    }
}

#[tokio::test]
async fn a_headless_service_without_a_selector_has_both_families() {
    let world = World::new();
    let (service, _claim) = world.try_give("s", &json!({"clusterIP": "None"}), None).unwrap();
    assert_eq!(service["spec"]["ipFamilies"], json!(["IPv4", "IPv6"]));
    assert_eq!(service["spec"]["ipFamilyPolicy"], "RequireDualStack");
    let (service, _claim) = world
        .try_give("s", &json!({"clusterIP": "None", "selector": {"a": "b"}}), None)
        .unwrap();
    assert_eq!(service["spec"]["ipFamilies"], json!(["IPv4"]));
    assert_eq!(service["spec"]["clusterIPs"], json!(["None"]));
}

#[tokio::test]
async fn an_update_keeps_addresses_and_ports_that_it_does_not_name() {
    let world = World::new();
    let old = world
        .create(
            "s",
            &json!({"type": "NodePort", "ports": [{"name": "w", "port": 80}]}),
        )
        .await
        .unwrap();
    let spec = json!({"type": "NodePort", "ports": [{"name": "w", "port": 81}, {"name": "x", "port": 82}]});
    let (new, _claim) = world.try_give("s", &spec, Some(&old)).unwrap();
    assert_eq!(new["spec"]["clusterIP"], old["spec"]["clusterIP"]);
    assert_eq!(new["spec"]["clusterIPs"], old["spec"]["clusterIPs"]);
    let port = |service: &Value, index: usize| service["spec"]["ports"][index]["nodePort"].clone();
    assert_eq!(port(&new, 0), port(&old, 0));
    assert_ne!(port(&new, 1), port(&old, 0));
}

#[tokio::test]
async fn two_protocols_of_one_port_share_the_node_port() {
    let world = World::new();
    let ports =
        json!([{"name": "t", "port": 53, "protocol": "TCP"}, {"name": "u", "port": 53, "protocol": "UDP"}]);
    let (service, _claim) = world
        .try_give("s", &json!({"type": "NodePort", "ports": ports}), None)
        .unwrap();
    let ports = &service["spec"]["ports"];
    assert_eq!(ports[0]["nodePort"], ports[1]["nodePort"]);
}

#[tokio::test]
async fn a_balanced_service_that_stays_local_gets_a_port_for_health_checks() {
    let world = World::new();
    let spec = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]});
    let (service, _claim) = world.try_give("s", &spec, None).unwrap();
    assert!(service["spec"]["healthCheckNodePort"].as_u64().unwrap() >= 30_000);
    assert_ne!(
        service["spec"]["healthCheckNodePort"],
        service["spec"]["ports"][0]["nodePort"]
    );
}

#[tokio::test]
async fn a_dry_run_takes_nothing() {
    let world = World::new();
    let mut service =
        json!({"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 1}, {"port": 2}]}});
    let _claim = allocate_service(&world.allocations, &world.store, &mut service, None, true)
        .map_err(|_| ())
        .unwrap();
    assert_eq!(service["spec"]["clusterIP"], "10.96.0.0");
    assert_eq!(service["spec"]["ports"][0]["nodePort"], 32_769);
    assert_eq!(service["spec"]["ports"][1]["nodePort"], 32_770);
    let pools = world.allocations.pools.lock().unwrap();
    assert!(pools.addresses.taken.is_empty() && pools.ports.taken.is_empty());
}
