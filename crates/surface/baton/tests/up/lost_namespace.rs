//! What becomes of the controllers when somebody deletes the namespace that says who leads.

use serde_json::Value;

use super::world::World;
use super::{Up, read, until};

const NAMESPACE: &str = "/api/v1/namespaces/olmv1-system";

/// The Leases of catalogs, of extensions and of OLM v0.
const LEASES: [&str; 3] = [
    "catalogd-operator-lock",
    "9c4404e7.operatorframework.io",
    "classic.baton.dev",
];

/// Who holds the Leases, where all are there.
fn holders(up: &Up<'_>) -> Option<Vec<Value>> {
    let holder = |lease: &&str| {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/olmv1-system/leases/{lease}");
        let (code, found) = up.ask("GET", &path, None);
        (code == 200).then(|| found["spec"]["holderIdentity"].clone())
    };
    LEASES.iter().map(holder).collect()
}

#[test]
fn controllers_lead_again_by_themselves_when_their_namespace_was_deleted() {
    let world = World::new();
    let up = Up::start(&world, &["--in-memory"]);
    let all_lead = || holders(&up).is_some_and(|holders| holders.iter().all(|holder| holder == "baton-up"));
    until("leaders are waited for", all_lead);
    let (_, before) = up.ask("GET", NAMESPACE, None);
    let (code, deleted) = up.ask("DELETE", NAMESPACE, None);
    assert_eq!(code, 200, "{deleted}");
    until("the namespace is waited for", || {
        let (code, now) = up.ask("GET", NAMESPACE, None);
        code == 200 && now["metadata"]["uid"] != before["metadata"]["uid"]
    });
    until("leaders are waited for", all_lead);
    let log = read(&world, "up.log");
    assert!(log.contains("the namespace was gone, and is made again"), "{log}");
    assert!(
        !log.contains("no longer leading"),
        "nobody's work was broken off: {log}"
    );
}
