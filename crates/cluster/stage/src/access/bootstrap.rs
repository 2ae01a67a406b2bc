//! The roles and bindings that every cluster has from the start.
//!
//! What is missing is made. What is there gets the rules, labels and subjects that it lacks, unless its annotation says
//! that it is to be left alone; what someone added stays.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::rbac::follow::GROUP;
use super::rbac::rules::{Rule, uncovered};
use crate::api::Api;
use crate::client::Client;
use crate::object::{Object as _, map_of, timestamp};
use crate::options::DeleteOptions;
use crate::status::Status;
use crate::store::{Change, Expect, Key, ResourceKey, Write};

/// The default roles and bindings of Kubernetes 1.36, one in a line.
const DEFAULTS: &str = include_str!("bootstrap/defaults.jsonl");

/// The annotation that says whether defaults may be added to.
const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// The label of defaults.
const BOOTSTRAPPING: (&str, &str) = ("kubernetes.io/bootstrapping", "rbac-defaults");

/// The version of defaults.
const API_VERSION: &str = "rbac.authorization.k8s.io/v1";

/// Returns the plural of a kind of role or binding.
fn plural(kind: &str) -> &'static str {
    match kind {
        "ClusterRole" => "clusterroles",
        "Role" => "roles",
        "ClusterRoleBinding" => "clusterrolebindings",
        _ => "rolebindings",
    }
}

/// Returns the default objects as they are stored, without what only a new object has.
fn defaults() -> Result<Vec<Value>, serde_json::Error> {
    let mut objects: Vec<Value> = DEFAULTS
        .lines()
        .map(|line| serde_json::from_str(line).map(object))
        .collect::<Result<_, _>>()?;
    // A role may gather one that gathers itself, as admin does with edit, and edit with view; nothing is deeper.
    for _ in 0..3 {
        let gathered: Vec<(usize, Value)> = objects
            .iter()
            .enumerate()
            .filter(|(_, object)| object["aggregationRule"].is_object())
            .map(|(index, object)| (index, aggregated(object, &objects)))
            .collect();
        for (index, rules) in gathered {
            objects[index]["rules"] = rules;
        }
    }
    Ok(objects)
}

/// Returns the object of a line.
fn object(mut line: Value) -> Value {
    let line = map_of(&mut line);
    let mut labels = match line.remove("labels") {
        Some(Value::Object(labels)) => labels,
        _ => Map::new(),
    };
    labels.insert(BOOTSTRAPPING.0.into(), BOOTSTRAPPING.1.into());
    let mut metadata = Map::new();
    for field in ["name", "namespace"] {
        if let Some(value) = line.remove(field) {
            metadata.insert(field.into(), value);
        }
    }
    metadata.insert("labels".into(), Value::Object(labels));
    metadata.insert("annotations".into(), json!({AUTO_UPDATE: "true"}));
    let mut object = std::mem::take(line);
    object.insert("apiVersion".into(), API_VERSION.into());
    object.insert("metadata".into(), Value::Object(metadata));
    let is_role = matches!(
        object.get("kind").and_then(Value::as_str),
        Some("Role" | "ClusterRole")
    );
    if is_role && !object.contains_key("rules") {
        object.insert("rules".into(), json!([]));
    }
    Value::Object(object)
}

/// Returns the rules that a role gathers from those that its selectors match, by name, each once.
fn aggregated(role: &Value, all: &[Value]) -> Value {
    let selectors: Vec<BTreeMap<&str, &str>> = role["aggregationRule"]["clusterRoleSelectors"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|selector| selector["matchLabels"].as_object())
        .map(|labels| {
            labels
                .iter()
                .filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
                .collect()
        })
        .collect();
    let mut rules: Vec<Value> = Vec::new();
    for other in all
        .iter()
        .filter(|other| other["kind"] == "ClusterRole" && other.name() != role.name())
    {
        let matches = selectors
            .iter()
            .any(|labels| labels.iter().all(|(key, value)| other.label(key) == Some(value)));
        for rule in other["rules"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|_| matches)
        {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    Value::Array(rules)
}

/// Returns a default as a new object.
fn fresh(mut object: Value, now: &str) -> Value {
    let gathers = object["aggregationRule"].is_object();
    let mut own = Map::new();
    let keys = |map: &Value| -> Value {
        let mut fields = Map::new();
        fields.insert(".".into(), json!({}));
        for key in map.as_object().into_iter().flat_map(Map::keys) {
            fields.insert(format!("f:{key}"), json!({}));
        }
        Value::Object(fields)
    };
    own.insert(
        "f:metadata".into(),
        json!({
            "f:annotations": keys(&object["metadata"]["annotations"]), "f:labels": keys(&object["metadata"]["labels"]),
        }),
    );
    if gathers {
        own.insert(
            "f:aggregationRule".into(),
            json!({".": {}, "f:clusterRoleSelectors": {}}),
        );
    }
    for field in ["rules", "roleRef", "subjects"] {
        if object.get(field).is_some() && !(gathers && field == "rules") {
            own.insert(format!("f:{field}"), json!({}));
        }
    }
    let entry = |manager: &str, operation: &str, fields: Value| {
        json!({
            "manager": manager, "operation": operation, "apiVersion": API_VERSION, "time": now,
            "fieldsType": "FieldsV1", "fieldsV1": fields,
        })
    };
    let mut entries = Vec::new();
    if gathers {
        entries.push(entry(
            "clusterrole-aggregation-controller",
            "Apply",
            json!({"f:rules": {}}),
        ));
    }
    entries.push(entry("kube-apiserver", "Update", Value::Object(own)));
    let metadata = object.metadata_mut();
    metadata.insert("uid".into(), uuid::Uuid::new_v4().to_string().into());
    metadata.insert("creationTimestamp".into(), now.into());
    metadata.insert("managedFields".into(), Value::Array(entries));
    object
}

impl Api {
    /// Makes the default roles and bindings that are missing, and adds to others what they lack.
    pub(crate) async fn bootstrap_policy(self: &Arc<Self>) -> Result<(), Status> {
        let now = timestamp(Timestamp::now());
        let mut writes = Vec::new();
        let mut changes = Vec::new();
        for object in defaults().map_err(Status::internal)? {
            let plural = plural(object["kind"].as_str().unwrap_or_default());
            let key = Key::new(
                &ResourceKey::new(GROUP, plural),
                object.namespace(),
                object.name(),
            );
            match self.store.get(&key) {
                None => writes.push(Write {
                    key,
                    expect: Expect::Absent,
                    change: Change::Put(fresh(object, &now)),
                }),
                Some(stored) => changes.push((plural, stored.value(), object)),
            }
        }
        if !writes.is_empty() {
            self.store.write_all(writes).await.map_err(Status::internal)?;
        }
        let client = Client::new(
            self.clone(),
            crate::caller::Caller::administrator(),
            "kube-apiserver",
        );
        for (plural, found, wanted) in changes {
            if found.annotation(AUTO_UPDATE) == Some("false") {
                continue;
            }
            let resource = (GROUP, plural);
            if found.get("roleRef") != wanted.get("roleRef") {
                // What a binding binds can't be changed.
                client
                    .delete(
                        resource,
                        found.namespace(),
                        found.name(),
                        &DeleteOptions::default(),
                    )
                    .await?;
                client.create(resource, wanted).await?;
                continue;
            }
            let reconciled = reconciled(&found, &wanted);
            if reconciled != found {
                client.update(resource, reconciled).await?;
            }
        }
        Ok(())
    }
}

/// Returns an object with all that the default has beyond it.
fn reconciled(found: &Value, wanted: &Value) -> Value {
    let mut object = found.clone();
    for field in ["labels", "annotations"] {
        let given = map_of(object.metadata_mut().entry(field).or_insert(Value::Null));
        for (key, value) in wanted["metadata"][field].as_object().into_iter().flatten() {
            given.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    let add = |object: &mut Value, path: [&str; 2], wanted: &Value| {
        let place = if path[1].is_empty() {
            &mut object[path[0]]
        } else {
            map_of(&mut object[path[0]]).entry(path[1]).or_insert(Value::Null)
        };
        let mut all = place.as_array().cloned().unwrap_or_default();
        let before = all.len();
        for one in wanted.as_array().into_iter().flatten() {
            if !all.contains(one) {
                all.push(one.clone());
            }
        }
        if all.len() > before {
            *place = Value::Array(all);
        }
    };
    if wanted["aggregationRule"].is_object() {
        add(
            &mut object,
            ["aggregationRule", "clusterRoleSelectors"],
            &wanted["aggregationRule"]["clusterRoleSelectors"],
        );
    } else if wanted.get("rules").is_some() {
        let missing = uncovered(&Rule::read_all(found), &Rule::read_all(wanted));
        let missing: Vec<Value> = missing.iter().map(Rule::to_value).collect();
        if !missing.is_empty() {
            add(&mut object, ["rules", ""], &Value::Array(missing));
        }
    }
    if wanted["subjects"].is_array() {
        add(&mut object, ["subjects", ""], &wanted["subjects"]);
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, kind: &str) -> Value {
        let all = defaults().expect("defaults");
        let found = all
            .into_iter()
            .find(|object| object.name() == name && object["kind"] == kind);
        found.unwrap_or_else(|| panic!("{kind} {name}"))
    }

    #[test]
    fn the_roles_for_people_gather_those_below_them() {
        // Measured on a real server.
        for (name, rules) in [("admin", 29), ("edit", 27), ("view", 12)] {
            let role = named(name, "ClusterRole");
            assert_eq!(role["rules"].as_array().map(Vec::len), Some(rules), "{name}");
        }
    }

    #[test]
    fn what_someone_added_stays_and_what_they_removed_comes_back() {
        let wanted = named("system:basic-user", "ClusterRole");
        let mut found = wanted.clone();
        let own = json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]});
        found["rules"] = json!([own]);
        found["metadata"]["labels"] = json!({"mine": "yes"});
        let result = reconciled(&found, &wanted);
        let rules = Rule::read_all(&result);
        assert!(uncovered(&rules, &Rule::read_all(&wanted)).is_empty());
        assert_eq!(result["rules"][0], own);
        assert_eq!(result.label("mine"), Some("yes"));
        assert_eq!(result.label(BOOTSTRAPPING.0), Some(BOOTSTRAPPING.1));
        assert_eq!(reconciled(&result, &wanted), result);
    }

    #[test]
    fn a_subject_that_is_missing_is_added() {
        let wanted = named("system:discovery", "ClusterRoleBinding");
        let mut found = wanted.clone();
        found["subjects"] = json!([{"kind": "User", "name": "bob"}]);
        let result = reconciled(&found, &wanted);
        assert_eq!(result["subjects"].as_array().map(Vec::len), Some(2));
    }
}
