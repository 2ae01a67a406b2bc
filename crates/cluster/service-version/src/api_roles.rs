//! The ClusterRoles by which people may use what operators provide.
//!
//! For each API there are `admin`, `edit` and `view`, which become part of the roles of the same names and of those of
//! OperatorGroups that provide the API, and for custom resources one to look at their definition.

use apply::object::{at, text};
use apply::owners;
use bundle::cluster_service_version::GroupVersionKind;
use classic::{Key, Kind, World, Write, keys, names};
use serde_json::{Map, Value, json};

use crate::ownership;
use crate::provided_apis::Apis;
use crate::requirements::api_service_name;
use crate::version::ServiceVersion;

/// What each role may do.
const ROLES: [(&str, &[&str]); 3] = [
    ("admin", &["*"]),
    ("edit", &["create", "update", "patch", "delete"]),
    ("view", VIEW),
];

/// What someone may do who only looks.
pub const VIEW: &[&str] = &["get", "list", "watch"];

/// Returns the writes that make the ClusterRoles of the APIs of a version what they shall be.
///
/// # Errors
///
/// Upstream's text where a definition or an APIService isn't there.
pub fn of_version(world: &World, version: ServiceVersion<'_>) -> Result<Vec<Write>, String> {
    let mut writes = Vec::new();
    for owned in version.owned_definitions() {
        let name = text(owned, "/name");
        let Some(definition) = world.get(Kind::CustomResourceDefinition, "", name) else {
            return Err(format!(
                "crd \"{name}\" not found: customresourcedefinition.apiextensions.k8s.io \"{name}\" not found"
            ));
        };
        let Some((plural, group)) = name.split_once('.') else {
            continue;
        };
        let roles = Roles {
            world,
            // As upstream writes it, in spite of the kind's real name.
            owner: owner(
                definition,
                Kind::CustomResourceDefinition,
                "customresourcedefinition",
            ),
            owner_uid: text(definition, "/metadata/uid"),
            api: api(group, owned),
            prefix: format!("{name}-{}-", text(owned, "/version")),
        };
        roles.add(group, plural, &mut writes);
        let rule = json!({
            "verbs": ["get"],
            "apiGroups": ["apiextensions.k8s.io"],
            "resources": ["customresourcedefinitions"],
            "resourceNames": [name],
        });
        writes.extend(roles.ensure("crdview", "view", &rule));
    }
    for owned in version.owned_api_services() {
        let name = api_service_name(owned);
        let Some(service) = world.get(Kind::ApiService, "", &name) else {
            return Err(format!(
                "apiservice \"{name}\" not found: apiservice.apiregistration.k8s.io \"{name}\" not found"
            ));
        };
        let (group, plural) = (text(owned, "/group"), text(owned, "/name"));
        let roles = Roles {
            world,
            owner: owner(service, Kind::ApiService, "APIService"),
            owner_uid: text(service, "/metadata/uid"),
            api: api(group, owned),
            prefix: format!("{plural}-{}-", text(owned, "/version")),
        };
        roles.add(group, plural, &mut writes);
    }
    Ok(writes)
}

fn api(group: &str, description: &Value) -> GroupVersionKind {
    GroupVersionKind {
        group: group.to_owned(),
        version: text(description, "/version").to_owned(),
        kind: text(description, "/kind").to_owned(),
    }
}

fn owner(object: &Value, kind: Kind, called: &str) -> Value {
    json!({
        "apiVersion": kind.naming().api_version,
        "kind": called,
        "name": text(object, "/metadata/name"),
        "uid": text(object, "/metadata/uid"),
        "blockOwnerDeletion": false,
        "controller": false,
    })
}

/// The roles of one API.
struct Roles<'a> {
    world: &'a World,
    owner: Value,
    owner_uid: &'a str,
    api: GroupVersionKind,
    prefix: String,
}

impl Roles<'_> {
    fn add(&self, group: &str, plural: &str, writes: &mut Vec<Write>) {
        for (suffix, verbs) in ROLES {
            let rule = json!({"verbs": verbs, "apiGroups": [group], "resources": [plural]});
            writes.extend(self.ensure(suffix, suffix, &rule));
        }
    }

    fn ensure(&self, name: &str, suffix: &str, rule: &Value) -> Option<Write> {
        let mut object = ownership::managed(Kind::ClusterRole, "", &format!("{}{name}", self.prefix));
        let labels = &mut object["metadata"]["labels"];
        labels[format!("{}{suffix}", keys::AGGREGATE_TO_PREFIX)] = Value::from("true");
        labels[names::aggregation_label(&self.api, suffix)] = Value::from("true");
        object["metadata"]["ownerReferences"] = json!([self.owner]);
        object["rules"] = json!([rule]);
        let existing = self
            .world
            .get(Kind::ClusterRole, "", text(&object, "/metadata/name"));
        let is_there = existing.is_some_and(|existing| {
            existing.get("rules") == object.get("rules")
                && at(existing, "/metadata/labels") == at(&object, "/metadata/labels")
                && owners::references(existing)
                    .iter()
                    .any(|reference| text(reference, "/uid") == self.owner_uid)
        });
        (!is_there).then_some(Write::Create {
            object,
            or_update: true,
        })
    }
}

/// Returns the writes that make the three ClusterRoles of an OperatorGroup gather the roles of its APIs.
pub fn of_group(world: &World, group: &Value, apis: &Apis) -> Vec<Write> {
    let (namespace, name) = (text(group, "/metadata/namespace"), text(group, "/metadata/name"));
    let owner = Key::new(Kind::OperatorGroup, namespace, name);
    let mut writes = Vec::new();
    for (suffix, _) in ROLES {
        let role = names::operator_group_role(namespace, name, suffix);
        let rule = aggregation_rule(apis, suffix);
        if let Some(existing) = world.get(Kind::ClusterRole, "", &role) {
            let mut object = (**existing).clone();
            ownership::add_labels(&mut object, &owner);
            set_rule(&mut object, rule);
            let is_same = at(&object, "/metadata/labels") == at(existing, "/metadata/labels")
                && rule_of(&object) == rule_of(existing);
            if !is_same {
                writes.push(Write::Update(object));
            }
        } else {
            let mut object = ownership::managed(Kind::ClusterRole, "", &role);
            ownership::add_labels(&mut object, &owner);
            set_rule(&mut object, rule);
            writes.push(Write::Create {
                object,
                or_update: false,
            });
        }
    }
    writes
}

fn rule_of(role: &Value) -> &Value {
    role.get("aggregationRule").unwrap_or(&Value::Null)
}

fn set_rule(role: &mut Value, rule: Option<Value>) {
    match rule {
        Some(rule) => role["aggregationRule"] = rule,
        None => {
            if let Some(role) = role.as_object_mut() {
                role.remove("aggregationRule");
            }
        }
    }
}

/// Returns which roles a role of an OperatorGroup gathers; none where it provides nothing.
pub fn aggregation_rule(apis: &Apis, suffix: &str) -> Option<Value> {
    if apis.0.is_empty() {
        return None;
    }
    let mut labels: Vec<String> = apis
        .0
        .iter()
        .map(|api| names::aggregation_label(api, suffix))
        .collect();
    labels.sort();
    let selectors: Vec<Value> = labels
        .into_iter()
        .map(|label| {
            let mut labels = Map::new();
            labels.insert(label, Value::from("true"));
            json!({"matchLabels": labels})
        })
        .collect();
    Some(json!({"clusterRoleSelectors": selectors}))
}
