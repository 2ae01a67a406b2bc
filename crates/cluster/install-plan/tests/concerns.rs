//! Which changes wake what.

use std::collections::BTreeSet;

use classic::World;
use install_plan::concerns::{Concern, concerns};
use install_plan::settings::Settings;
use serde_json::{Value, json};

fn object(kind: &str, namespace: &str, name: &str) -> Value {
    json!({"kind": kind, "metadata": {"name": name, "namespace": namespace}})
}

fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let mut at = &mut object;
    for part in parent.split('/').filter(|part| !part.is_empty()) {
        at = &mut at[part];
    }
    at[key] = value;
    object
}

/// What changes, from what, to what, and what that wakes.
type Row = (&'static str, Option<Value>, Option<Value>, Vec<Concern>);

fn namespace(name: &str) -> Concern {
    Concern::Namespace(name.to_owned())
}

fn subscription(namespace: &str, name: &str) -> Concern {
    Concern::Subscription {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

fn plan(namespace: &str, name: &str) -> Concern {
    Concern::Plan {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

fn source(namespace: &str, name: &str) -> Concern {
    Concern::Source {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

#[test]
fn a_change_wakes_what_depends_on_it() {
    let mut world = World::default();
    world.put(with(
        object("Subscription", "ns", "s"),
        "/status/installPlanRef",
        json!({"name": "waiting"}),
    ));
    world.put(object("Subscription", "far", "t"));
    world.put(json!({
        "kind": "InstallPlan", "metadata": {"name": "waiting", "namespace": "ns"},
        "status": {"phase": "Installing", "plan": [{
            "status": "WaitingForApi", "resource": {"kind": "CustomResourceDefinition", "name": "as.g"},
        }]},
    }));
    world.put(json!({
        "kind": "InstallPlan", "metadata": {"name": "scoped", "namespace": "ns"},
        "status": {"phase": "Failed", "attenuatedServiceAccountRef": {"name": "sa"}},
    }));
    world.put(with(
        object("CatalogSource", "ns", "maps"),
        "/spec/configMap",
        json!("map"),
    ));
    let subscribed = object("Subscription", "ns", "s");
    let ready = |state: &str| {
        with(
            object("CatalogSource", "olm", "global"),
            "/status/connectionState",
            json!({"lastObservedState": state, "lastConnect": "now"}),
        )
    };
    let version = object("ClusterServiceVersion", "ns", "a.v1");
    let rows: Vec<Row> = vec![
        (
            "a new Subscription",
            None,
            Some(subscribed.clone()),
            vec![namespace("ns"), subscription("ns", "s")],
        ),
        (
            "a condition that was written",
            Some(subscribed.clone()),
            Some(with(subscribed.clone(), "/status/conditions", json!([]))),
            vec![subscription("ns", "s")],
        ),
        (
            "a Subscription that moved on",
            Some(subscribed.clone()),
            Some(with(subscribed, "/status/state", json!("AtLatestKnown"))),
            vec![namespace("ns"), subscription("ns", "s")],
        ),
        (
            "a global catalog that got ready",
            Some(ready("IDLE")),
            Some(ready("READY")),
            vec![
                namespace("far"),
                namespace("ns"),
                source("olm", "global"),
                subscription("far", "t"),
                subscription("ns", "s"),
            ],
        ),
        (
            "a global catalog that is as it was",
            Some(ready("READY")),
            Some(ready("READY")),
            vec![
                source("olm", "global"),
                subscription("far", "t"),
                subscription("ns", "s"),
            ],
        ),
        (
            "an OperatorGroup",
            None,
            Some(object("OperatorGroup", "ns", "og")),
            vec![namespace("ns"), plan("ns", "waiting")],
        ),
        (
            "a plan that is deleted",
            Some(object("InstallPlan", "ns", "waiting")),
            None,
            vec![namespace("ns"), subscription("ns", "s")],
        ),
        (
            "a version that fails",
            Some(version.clone()),
            Some(with(version.clone(), "/status/phase", json!("Failed"))),
            vec![namespace("ns")],
        ),
        (
            "a version that goes on",
            Some(version.clone()),
            Some(with(version.clone(), "/status/phase", json!("Succeeded"))),
            vec![],
        ),
        (
            "a version's message",
            Some(version.clone()),
            Some(with(version, "/status/message", json!("waiting"))),
            vec![],
        ),
        (
            "a definition",
            None,
            Some(object("CustomResourceDefinition", "", "as.g")),
            vec![plan("ns", "waiting")],
        ),
        (
            "a role",
            None,
            Some(object("Role", "ns", "r")),
            vec![Concern::Permissions("ns".to_owned())],
        ),
        (
            "a ConfigMap with a catalog",
            None,
            Some(object("ConfigMap", "ns", "map")),
            vec![source("ns", "maps")],
        ),
        (
            "a Deployment",
            None,
            Some(object("Deployment", "ns", "d")),
            vec![],
        ),
    ];
    for (what, before, after, expected) in rows {
        let found = concerns(&world, before.as_ref(), after.as_ref(), &Settings::default());
        assert_eq!(found, BTreeSet::from_iter(expected), "{what}");
    }
}
