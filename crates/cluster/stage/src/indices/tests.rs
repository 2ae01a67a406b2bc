//! What an index finds, and a look at everything: they are the same, whatever changes.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::store::{Change, Expect, Key, Labels, Options, Write};

/// A change of one of a few objects, of which some share everything.
#[derive(Debug, Clone)]
struct Step {
    is_pod: bool,
    namespace: u8,
    name: u8,
    /// The labels or the selector that it gets; nothing for a deletion.
    labels: Option<Vec<(u8, u8)>>,
    /// What the selector asks for beside.
    other: u8,
    /// Whether the indices are asked after it.
    looks: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let labels = proptest::option::weighted(0.8, vec((0..3_u8, 0..3_u8), 0..3));
    let step = (any::<bool>(), 0..2_u8, 0..4_u8, labels, 0..4_u8, any::<bool>());
    let step = step.prop_map(|(is_pod, namespace, name, labels, other, looks)| Step {
        is_pod,
        namespace,
        name,
        labels,
        other,
        looks,
    });
    vec(step, 1..40)
}

fn resource(is_pod: bool) -> ResourceKey {
    if is_pod {
        ResourceKey::new("", "pods")
    } else {
        ResourceKey::new("policy", "poddisruptionbudgets")
    }
}

fn object(step: &Step, labels: &[(u8, u8)]) -> Value {
    let labels: serde_json::Map<String, Value> = labels
        .iter()
        .map(|(key, value)| (format!("k{key}"), format!("v{value}").into()))
        .collect();
    let (namespace, name) = (format!("n{}", step.namespace), format!("o{}", step.name));
    if step.is_pod {
        return json!({"metadata": {"namespace": namespace, "name": name, "labels": labels}});
    }
    let mut selector = json!({"matchLabels": labels});
    match step.other {
        0 => selector = Value::Null,
        1 => selector["matchExpressions"] = json!([{"key": "k0", "operator": "Exists"}]),
        2 => selector["matchExpressions"] = json!([{"key": "k0", "operator": "In", "values": ["v0", "v1"]}]),
        _ => {}
    }
    json!({"metadata": {"namespace": namespace, "name": name}, "spec": {"selector": selector}})
}

async fn take(store: &Store, step: &Step) {
    let key = Key::new(
        &resource(step.is_pod),
        &format!("n{}", step.namespace),
        &format!("o{}", step.name),
    );
    let there = store.get(&key).is_some();
    let change = match &step.labels {
        Some(labels) => Change::Put(object(step, labels)),
        None if there => Change::Delete,
        None => return,
    };
    let expect = if there { Expect::Present } else { Expect::Absent };
    store.write(Write { key, expect, change }).await.expect("a write");
}

fn all(store: &Store, is_pod: bool, namespace: &str) -> Vec<std::sync::Arc<Stored>> {
    let listing = store.list(&resource(is_pod), Some(namespace), None, None, None);
    listing.expect("a list").items
}

/// Holds the indices against a look at everything.
fn compare(store: &Store, indices: &Indices) {
    for namespace in ["n0", "n1"] {
        let (pods, budgets) = (all(store, true, namespace), all(store, false, namespace));
        for pod in &pods {
            let labels: [&Labels; 1] = [&pod.labels];
            let found = indices.budgets.ask(|budgets| budgets.of(namespace, &labels));
            let expected = budgets
                .iter()
                .filter(|budget| selector_of_budget(budget).is_some_and(|one| one.matches(&pod.labels)));
            let expected: Vec<&str> = expected.map(|budget| &*budget.key.name).collect();
            assert_eq!(found.iter().map(|name| &**name).collect::<Vec<_>>(), expected);
        }
        for selector in budgets.iter().filter_map(|budget| selector_of_budget(budget)) {
            let Some(found) = indices.candidates(&resource(true), namespace, &selector) else {
                assert_eq!(equalities_of(&selector), 0);
                continue;
            };
            let found = found
                .into_iter()
                .filter_map(|position| store.get(&position.of(&resource(true))));
            let found: Vec<_> = found
                .filter(|pod| selector.matches(&pod.labels))
                .map(|pod| pod.key.name.clone())
                .collect();
            let expected = pods.iter().filter(|pod| selector.matches(&pod.labels));
            let expected: Vec<_> = expected.map(|pod| pod.key.name.clone()).collect();
            assert_eq!(found, expected);
        }
    }
}

fn equalities_of(selector: &LabelSelector) -> usize {
    selecting::equalities(selector).count()
}

proptest! {
    #[test]
    fn an_index_finds_what_a_look_at_everything_finds(steps in steps(), ring_events in 1..16_usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        // A small ring, so that an index that isn't asked for a while loses its place.
        let store = Store::in_memory(Options { ring_events, ..Options::default() });
        let indices = Indices::of(&store);
        for step in &steps {
            runtime.block_on(take(&store, step));
            if step.looks {
                compare(&store, &indices);
            }
        }
        compare(&store, &indices);
    }
}

#[tokio::test]
async fn objects_that_share_a_label_are_found_by_the_one_they_dont_share() {
    let store = Store::in_memory(Options::default());
    let indices = Indices::of(&store);
    for number in 0..100 {
        let name = format!("b{number}");
        let selector = json!({"matchLabels": {"app": "all", "instance": name}});
        let object = json!({"metadata": {"namespace": "n", "name": name}, "spec": {"selector": selector}});
        let write = Write {
            key: Key::new(&resource(false), "n", &name),
            expect: Expect::Absent,
            change: Change::Put(object),
        };
        store.write(write).await.expect("a write");
    }
    let most = indices.budgets.ask(|budgets| budgets.most_under_a_label("n"));
    assert!(most <= 2, "{most} budgets are held against each pod");
}
