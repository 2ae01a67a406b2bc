//! CatalogSources: what is served, and what their status says.

use std::time::Duration;

use classic::{Kind, World, Write};
use install_plan::source::{self, Observed, Said, Serve, SourceDecision, Told};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

fn now() -> Timestamp {
    "2026-01-01T00:10:00Z".parse().expect("a time")
}

fn source(spec: Value) -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
        "metadata": {
            "name": "cat.one", "namespace": "ns", "uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": spec,
    })
}

/// Decides until nothing is written; returns the last decision and every status on the way.
fn settle(world: &mut World, observed: &Observed) -> (SourceDecision, Vec<Value>) {
    let mut statuses = Vec::new();
    for _ in 0..10 {
        let decided = source::decide(world, "ns", "cat.one", observed, now());
        if decided.decision.writes.is_empty() {
            return (decided, statuses);
        }
        for write in decided.decision.writes {
            match write {
                Write::UpdateStatus(object) => {
                    statuses.push(object["status"].clone());
                    world.put(object);
                }
                Write::Update(object) => drop(world.put(object)),
                Write::Merge { id, patch } => {
                    let kind = Kind::named(&id.kind).expect("a kind");
                    let mut object = world
                        .get(kind, &id.namespace, &id.name)
                        .expect("an object")
                        .as_ref()
                        .clone();
                    for (key, value) in patch["metadata"].as_object().expect("metadata") {
                        object["metadata"][key] = value.clone();
                    }
                    world.put(object);
                }
                other => panic!("unexpected: {other:?}"),
            }
        }
    }
    panic!("it doesn't come to rest");
}

fn ready() -> Observed {
    Observed {
        connection: Some("READY".to_owned()),
        ..Observed::default()
    }
}

#[test]
fn specs_that_say_nothing_are_refused_in_upstreams_words() {
    let rows = [
        (
            json!({"sourceType": "grpc"}),
            "image and address unset: at least one must be set for sourcetype: grpc",
        ),
        (
            json!({"sourceType": "configmap"}),
            "configmap name unset: must be set for sourcetype: configmap",
        ),
        (
            json!({"sourceType": "internal"}),
            "configmap name unset: must be set for sourcetype: internal",
        ),
        (json!({"sourceType": "other"}), "unknown sourcetype: other"),
    ];
    for (spec, message) in rows {
        let mut world = World::default();
        world.put(source(spec));
        let (decided, statuses) = settle(&mut world, &Observed::default());
        assert_eq!(decided.serve, None);
        assert_eq!(
            statuses,
            [json!({"reason": "SpecInvalidError", "message": message})]
        );
        let refused = world
            .get(Kind::CatalogSource, "ns", "cat.one")
            .expect("the source");
        assert!(!source::is_healthy(refused));

        let mut mended = refused.as_ref().clone();
        mended["spec"] = json!({"sourceType": "grpc", "address": "host:1"});
        world.put(mended);
        let (decided, statuses) = settle(&mut world, &Observed::default());
        assert_eq!(decided.serve, Some(Serve::Address("host:1".to_owned())));
        let last = statuses.last().expect("a status");
        assert_eq!(last.get("reason"), None, "what was wrong is forgotten");
    }
}

#[test]
fn an_image_is_served_and_looked_for_again() {
    let mut world = World::default();
    world.put(source(json!({
        "sourceType": "grpc", "image": "registry/cat:1", "secrets": ["pull"],
        "updateStrategy": {"registryPoll": {"interval": "30m"}},
    })));
    let (decided, statuses) = settle(&mut world, &ready());
    let Some(Serve::Image { image, secrets, poll }) = decided.serve else {
        panic!("an image");
    };
    assert_eq!(
        (image.as_str(), secrets),
        ("registry/cat:1", vec!["pull".to_owned()])
    );
    let poll = poll.expect("a poll");
    assert!(!poll.is_due(now()));
    assert_eq!(poll.remaining(now()), Duration::from_mins(20));
    assert_eq!(decided.decision.look_again_after, Some(Duration::from_mins(20)));
    let states: Vec<&Value> = statuses
        .iter()
        .map(|status| &status["connectionState"]["lastObservedState"])
        .collect();
    assert_eq!(states, [&Value::Null, &json!("IDLE"), &json!("READY")]);
    let last = statuses.last().expect("a status");
    assert_eq!(last["registryService"]["serviceName"], "cat-one");
    assert_eq!(last["connectionState"]["address"], "cat-one.ns.svc:50051");

    let polled = Observed {
        polled_at: Some(now()),
        ..ready()
    };
    let (decided, statuses) = settle(&mut world, &polled);
    assert_eq!(statuses[0]["latestImageRegistryPoll"], "2026-01-01T00:10:00Z");
    assert_eq!(decided.decision.look_again_after, Some(Duration::from_mins(30)));
    // A registry that is away is polled later than is due, and nobody looks every moment whether it was.
    let later = now()
        .checked_add(SignedDuration::from_mins(31))
        .expect("a moment");
    let decided = source::decide(&world, "ns", "cat.one", &polled, later);
    assert_eq!(decided.decision.look_again_after, None);
}

#[test]
fn an_interval_that_cannot_be_read_is_a_quarter_of_an_hour() {
    let mut world = World::default();
    world.put(source(json!({
        "sourceType": "grpc", "image": "registry/cat:1",
        "updateStrategy": {"registryPoll": {"interval": "soon"}},
    })));
    let (decided, statuses) = settle(&mut world, &ready());
    let Some(Serve::Image { poll: Some(poll), .. }) = decided.serve else {
        panic!("an image that is polled");
    };
    assert_eq!(poll.interval, source::DEFAULT_INTERVAL);
    assert_eq!(
        statuses.last().expect("a status")["reason"],
        "InvalidIntervalError"
    );
}

#[test]
fn an_image_that_cannot_be_served_makes_its_catalog_unhealthy() {
    let mut world = World::default();
    world.put(source(json!({"sourceType": "grpc", "image": "registry/cat:1"})));
    let failed = Observed {
        failure: Some("no such image".to_owned()),
        ..Observed::default()
    };
    let (_, statuses) = settle(&mut world, &failed);
    let last = statuses.last().expect("a status");
    assert_eq!(last["reason"], "RegistryServerError");
    assert_eq!(last["message"], "couldn't ensure registry server - no such image");
    let source = world
        .get(Kind::CatalogSource, "ns", "cat.one")
        .expect("the source");
    assert!(!source::is_healthy(source));
}

#[test]
fn a_config_map_is_taken_and_followed() {
    let mut world = World::default();
    world.put(source(json!({"sourceType": "configmap", "configMap": "map"})));
    let (decided, statuses) = settle(&mut world, &Observed::default());
    assert_eq!(
        statuses[0]["message"],
        "failed to get catalog config map map: configmaps \"map\" not found"
    );
    let awaited = Serve::MissingConfigMap {
        name: "map".to_owned(),
    };
    assert_eq!(
        decided.serve,
        Some(awaited),
        "somebody has to notice when it comes"
    );
    world.put(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "map", "namespace": "ns", "uid": "2", "resourceVersion": "7"},
    }));
    let (decided, statuses) = settle(&mut world, &ready());
    assert_eq!(
        decided.serve,
        Some(Serve::ConfigMap {
            name: "map".to_owned(),
            resource_version: "7".to_owned()
        })
    );
    let last = statuses.last().expect("a status");
    assert_eq!(last["configMapReference"]["resourceVersion"], "7");
    assert_eq!(last["connectionState"]["lastObservedState"], "READY");
    let map = world.get(Kind::ConfigMap, "ns", "map").expect("the map");
    assert_eq!(map["metadata"]["labels"]["olm.managed"], "false");
    assert_eq!(map["metadata"]["ownerReferences"][0]["name"], "cat.one");
}

#[test]
fn a_template_decides_the_image() {
    let mut world = World::default();
    "v1.36.3".clone_into(&mut world.server_version);
    let mut templated = source(json!({"sourceType": "grpc", "image": ""}));
    templated["metadata"]["annotations"] =
        json!({"olm.catalogImageTemplate": "registry/cat:v{kube_major_version}.{kube_minor_version}"});
    world.put(templated);
    let (decided, statuses) = settle(&mut world, &ready());
    assert!(matches!(decided.serve, Some(Serve::Image { image, .. }) if image == "registry/cat:v1.36"));
    let conditions = &statuses.last().expect("a status")["conditions"];
    assert_eq!(conditions[0]["reason"], "AllTemplatesResolved");
    assert_eq!(conditions[1]["message"], "registry/cat:v1.36");
}

#[test]
fn somebody_who_sees_a_catalog_differently_is_not_fought() {
    let mut world = World::default();
    world.put(source(json!({"sourceType": "grpc", "address": "host:1"})));
    settle(&mut world, &ready());
    let known = |world: &World| {
        world
            .get(Kind::CatalogSource, "ns", "cat.one")
            .expect("the source")
            .as_ref()
            .clone()
    };
    let told = |ago: i64| Observed {
        told: Some(Told {
            said: Said::of(&known(&world)),
            at: now() - SignedDuration::from_secs(ago),
        }),
        ..ready()
    };
    let (just_now, long_ago, in_the_future) = (told(1), told(61), told(-30));
    let mut contradicted = known(&world);
    contradicted["status"]["connectionState"]["lastObservedState"] = json!("TRANSIENT_FAILURE");
    world.put(contradicted);
    let decide = |observed: &Observed| source::decide(&world, "ns", "cat.one", observed, now()).decision;
    let left = decide(&just_now);
    assert_eq!(left.writes, []);
    assert_eq!(left.look_again_after, Some(Duration::from_secs(59)));
    for observed in [&long_ago, &in_the_future, &ready()] {
        assert_eq!(decide(observed).writes.len(), 1, "{:?}", observed.told);
    }
    let lost = Observed {
        connection: Some("CONNECTING".to_owned()),
        ..just_now
    };
    assert_eq!(decide(&lost).writes.len(), 1, "what is new is said at once");
}

#[test]
fn who_signed_an_image_is_told_and_nothing_where_nobody_had_to() {
    let mut world = World::default();
    world.put(source(
        json!({"sourceType": "grpc", "image": "registry.test/catalog:v1"}),
    ));
    let signed = Observed {
        signature: Some("signed by sigstore key sha256:ab".to_owned()),
        ..ready()
    };
    let (_, statuses) = settle(&mut world, &signed);
    assert_eq!(
        statuses.last().map(|status| status["conditions"].clone()),
        Some(json!([{
            "type": "SignatureVerified", "status": "True", "reason": "Signed",
            "message": "signed by sigstore key sha256:ab", "lastTransitionTime": "2026-01-01T00:10:00Z",
        }]))
    );
    let (_, statuses) = settle(&mut world, &ready());
    let last = statuses.last().expect("a status");
    assert!(last.get("conditions").is_none(), "{last}");
}
