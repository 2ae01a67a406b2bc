//! Operators: everything that belongs to a package in a namespace, in one place.

use std::collections::BTreeSet;

use apply::object::{ObjectId, at, text};
use classic::{Decision, Key, Kind, World, Write, keys, names};
use serde_json::{Map, Value, json};

use crate::version::ServiceVersion;

/// The kinds that components may have.
const COMPONENTS: [Kind; 16] = [
    Kind::Deployment,
    Kind::Service,
    Kind::Namespace,
    Kind::ApiService,
    Kind::CustomResourceDefinition,
    Kind::Subscription,
    Kind::InstallPlan,
    Kind::ClusterServiceVersion,
    Kind::OperatorCondition,
    Kind::Secret,
    Kind::ConfigMap,
    Kind::ServiceAccount,
    Kind::Role,
    Kind::RoleBinding,
    Kind::ClusterRole,
    Kind::ClusterRoleBinding,
];

/// Decides what the Operator of a name lists; it is there as long as something belongs to it.
pub fn decide(world: &World, name: &str) -> Decision {
    let mut decision = Decision::default();
    let label = names::component_label(name);
    let mut components: Vec<(Kind, &Value)> = world
        .components(&label)
        .filter(|(key, _)| COMPONENTS.contains(&key.kind))
        .map(|(key, object)| (key.kind, &**object))
        .collect();
    let existing = world.get(Kind::Operator, "", name);
    if existing.is_none() && components.is_empty() {
        return decision;
    }
    components.sort_by_key(|(kind, object)| {
        let naming = kind.naming();
        (
            naming.kind,
            naming.api_version,
            text(object, "/metadata/namespace"),
            text(object, "/metadata/name"),
        )
    });
    let mut listed = json!({
        "labelSelector": {"matchExpressions": [{"key": label, "operator": "Exists"}]},
    });
    if !components.is_empty() {
        let references: Vec<Value> = components
            .into_iter()
            .map(|(kind, object)| reference(kind, object))
            .collect();
        listed["refs"] = Value::Array(references);
    }
    let naming = Kind::Operator.naming();
    match existing {
        None => decision.writes.push(Write::Create {
            object: json!({
                "apiVersion": naming.api_version,
                "kind": naming.kind,
                "metadata": {"name": name},
                "spec": {},
                "status": {"components": listed},
            }),
            or_update: false,
        }),
        Some(existing) if at(existing, "/status/components") != Some(&listed) => {
            let mut object = (**existing).clone();
            object["status"]["components"] = listed;
            decision.writes.push(Write::UpdateStatus(object));
        }
        Some(_) => {}
    }
    decision
}

/// Returns how an Operator lists a component.
fn reference(kind: Kind, object: &Value) -> Value {
    let naming = kind.naming();
    let mut reference = json!({
        "kind": naming.kind,
        "apiVersion": naming.api_version,
        "name": text(object, "/metadata/name"),
    });
    if naming.is_namespaced {
        reference["namespace"] = Value::from(text(object, "/metadata/namespace"));
    }
    let conditions: Vec<Value> = if kind == Kind::ClusterServiceVersion {
        let status = |field: &str| at(object, &format!("/status/{field}"));
        let mut condition = Map::new();
        condition.insert(
            "type".to_owned(),
            status("phase").cloned().unwrap_or_else(|| json!("")),
        );
        condition.insert("status".to_owned(), Value::from("True"));
        for field in ["reason", "message", "lastUpdateTime", "lastTransitionTime"] {
            if let Some(value) = status(field) {
                condition.insert(field.to_owned(), value.clone());
            }
        }
        vec![shortened(&Value::Object(condition))]
    } else {
        let listed = at(object, "/status/conditions").and_then(Value::as_array);
        listed.into_iter().flatten().map(shortened).collect()
    };
    if !conditions.is_empty() {
        reference["conditions"] = Value::Array(conditions);
    }
    reference
}

/// Returns the fields of a condition that Operators have room for.
fn shortened(condition: &Value) -> Value {
    let mut short = Map::new();
    for field in [
        "type",
        "status",
        "reason",
        "message",
        "lastUpdateTime",
        "lastTransitionTime",
    ] {
        let value = condition.get(field).filter(|value| !value.is_null());
        let is_needed = matches!(field, "type" | "status");
        if let Some(value) = value.filter(|value| is_needed || value.as_str() != Some("")) {
            short.insert(field.to_owned(), value.clone());
        }
    }
    Value::Object(short)
}

/// Adds a label to an object; none where it has it.
fn adoption(object: &Value, label: &str) -> Option<Write> {
    let is_labelled = object
        .pointer("/metadata/labels")
        .and_then(Value::as_object)
        .is_some_and(|labels| labels.contains_key(label));
    (!is_labelled).then(|| Write::Merge {
        id: ObjectId::of(object),
        patch: json!({"metadata": {"labels": {label: ""}}}),
    })
}

fn removal(object: &Value, label: &str) -> Write {
    Write::Merge {
        id: ObjectId::of(object),
        patch: json!({"metadata": {"labels": {label: null}}}),
    }
}

/// Returns the label of what belongs to the Operator of a Subscription's package; none while it has none.
fn label_of_package(subscription: &Value) -> Option<String> {
    let package = text(subscription, "/spec/name");
    let is_leaving = package.is_empty() || apply::object::is_terminating(subscription);
    let namespace = text(subscription, "/metadata/namespace");
    (!is_leaving).then(|| names::component_label(&names::operator(package, namespace)))
}

/// Decides what belongs to the Operator of a Subscription's package: itself and its version. Its latest plan does, too, but
/// that one may belong to many: see [`adopt_plan`].
pub fn adopt_subscription(world: &World, namespace: &str, name: &str) -> Decision {
    let mut decision = Decision::default();
    let Some(subscription) = world.get(Kind::Subscription, namespace, name) else {
        return decision;
    };
    let Some(label) = label_of_package(subscription) else {
        return decision;
    };
    decision.writes.extend(adoption(subscription, &label));
    let installed = text(subscription, "/status/installedCSV");
    if let Some(version) = ServiceVersion::find(world, namespace, installed)
        && !version.is_copy()
    {
        decision.writes.extend(adoption(version.object, &label));
    }
    decision
}

/// Decides to which Operators a plan belongs: to those of the Subscriptions that it is the latest plan of. A plan may be large
/// and serve many Subscriptions, so all that changes is one write.
pub fn adopt_plan(world: &World, namespace: &str, name: &str) -> Decision {
    let Some(plan) = world.get(Kind::InstallPlan, namespace, name) else {
        return Decision::default();
    };
    let mut wanted = BTreeSet::new();
    let mut unwanted = BTreeSet::new();
    for subscription in world.in_namespace(Kind::Subscription, namespace) {
        let Some(label) = label_of_package(subscription) else {
            continue;
        };
        match text(subscription, "/status/installPlanRef/name") {
            "" => {}
            latest if latest == name => drop(wanted.insert(label)),
            _ => drop(unwanted.insert(label)),
        }
    }
    let known: BTreeSet<&str> = classic::components::labels(plan).collect();
    let missing = wanted.iter().filter(|label| !known.contains(label.as_str()));
    let surplus = unwanted
        .difference(&wanted)
        .filter(|label| known.contains(label.as_str()));
    let labels: Map<String, Value> = missing
        .map(|label| (label.clone(), Value::from("")))
        .chain(surplus.map(|label| (label.clone(), Value::Null)))
        .collect();
    let write = (!labels.is_empty()).then(|| Write::Merge {
        id: ObjectId::of(plan),
        patch: json!({"metadata": {"labels": labels}}),
    });
    Decision {
        writes: write.into_iter().collect(),
        ..Decision::default()
    }
}

/// Decides what belongs to the Operators of a version: everything that the version owns. Copies belong to none.
pub fn adopt_version(world: &World, namespace: &str, name: &str) -> Decision {
    let mut decision = Decision::default();
    let Some(version) = ServiceVersion::find(world, namespace, name) else {
        return decision;
    };
    let labels: Vec<&str> = classic::components::labels(version.object).collect();
    if version.is_copy() {
        let removals = labels.iter().map(|label| removal(version.object, label));
        decision.writes.extend(removals);
        return decision;
    }
    if labels.is_empty() {
        return decision;
    }
    let mut owned: BTreeSet<Key> = world
        .owned_by(text(version.object, "/metadata/uid"))
        .filter(|(key, _)| COMPONENTS.contains(&key.kind) && key.namespace == namespace)
        .map(|(key, _)| key.clone())
        .collect();
    let key = version.key();
    let labelled = world.labelled_with(&key);
    owned.extend(
        labelled
            .filter(|(key, _)| COMPONENTS.contains(&key.kind))
            .map(|(key, _)| key.clone()),
    );
    for definition in version.owned_definitions() {
        owned.insert(Key::new(
            Kind::CustomResourceDefinition,
            "",
            text(definition, "/name"),
        ));
    }
    for key in &owned {
        let Some(object) = world.get(key.kind, &key.namespace, &key.name) else {
            continue;
        };
        for label in &labels {
            decision.writes.extend(adoption(object, label));
        }
    }
    decision
}

/// Returns the names of the Operators that an object belongs to.
pub fn operators_of(object: &Value) -> impl Iterator<Item = &str> {
    classic::components::labels(object).filter_map(|label| label.strip_prefix(keys::COMPONENT_PREFIX))
}
