//! Takes the clusters that upstream left behind, and checks that nothing more is wanted of them.

use std::collections::BTreeMap;
use std::path::Path;

use apply::object::text;
use bundle::cluster_service_version::GroupVersionKind;
use classic::{Decision, Kind, World, Write, hashes, keys, names};
use serde_json::Value;
use service_version::Concern;

use crate::support::at;

/// The moment that stands for all moments of the recordings.
const MOMENT: &str = "2026-11-15T20:00:00Z";

/// Shortly after it.
const NOW: &str = "2026-11-15T20:01:00Z";

fn read(folder: &Path) -> World {
    let mut world = World::default();
    "v1.36.3".clone_into(&mut world.server_version);
    for kind in Kind::ALL {
        let naming = kind.naming();
        let (group, version) = naming
            .api_version
            .split_once('/')
            .unwrap_or(("", naming.api_version));
        world.served.insert(GroupVersionKind {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: naming.kind.to_owned(),
        });
    }
    let entries = std::fs::read_dir(folder).expect("a folder");
    for entry in entries {
        let path = entry.expect("an entry").path();
        let text_of_file = std::fs::read_to_string(&path).expect("a file");
        let object: Value = goyaml::from_str(&text_of_file.replace("<time>", MOMENT)).expect("YAML");
        if text(&object, "/kind") == "CustomResourceDefinition" {
            for version in object["spec"]["versions"].as_array().into_iter().flatten() {
                world.served.insert(GroupVersionKind {
                    group: text(&object, "/spec/group").to_owned(),
                    version: text(version, "/name").to_owned(),
                    kind: text(&object, "/spec/names/kind").to_owned(),
                });
            }
        }
        world.put(object);
    }
    world
}

fn traces() -> Option<BTreeMap<String, World>> {
    let folder = corpus::open("olmv0")?.join("olmv0-corpus").join("traces");
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("traces") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        all.insert(name, read(&path.join("final")));
    }
    Some(all)
}

/// Describes what a decision wants.
fn wanted(decision: &Decision) -> Vec<String> {
    let attempt = decision.attempt.iter().flat_map(|attempt| &attempt.writes);
    attempt
        .chain(&decision.writes)
        .map(|write| match write {
            Write::Create { object, .. } => format!(
                "create {} {}",
                text(object, "/kind"),
                text(object, "/metadata/name")
            ),
            Write::Update(object) => format!(
                "update {} {}",
                text(object, "/kind"),
                text(object, "/metadata/name")
            ),
            Write::UpdateStatus(object) => format!(
                "status of {} {}: {} {}",
                text(object, "/kind"),
                text(object, "/metadata/name"),
                text(object, "/status/phase"),
                text(object, "/status/reason"),
            ),
            Write::Merge { id, patch } => format!("merge {} {} {patch}", id.kind, id.name),
            Write::Apply { object, .. } => format!(
                "apply {} {}",
                text(object, "/kind"),
                text(object, "/metadata/name")
            ),
            Write::Delete { id, .. } => format!("delete {} {}", id.kind, id.name),
        })
        .collect()
}

/// What is wanted of a cluster that upstream left behind, by the trace, and why.
const EXCEPTIONS: [(&str, &str, &str); 2] = [
    (
        "scoped-serviceaccount-missing",
        "apply ServiceAccount installer",
        "upstream isn't woken by the account that it waits for",
    ),
    (
        "scoped-serviceaccount-missing",
        "status of OperatorGroup og",
        "upstream isn't woken by the account that it waits for",
    ),
];

#[test]
fn nothing_more_is_wanted_of_the_clusters_that_upstream_left() {
    let Some(traces) = traces() else { return };
    assert_eq!(traces.len(), 45);
    let mut failures = Vec::new();
    for (trace, world) in &traces {
        for concern in Concern::all(world) {
            for want in wanted(&concern.decide(world, &at(NOW))) {
                let is_known = EXCEPTIONS
                    .iter()
                    .any(|(exception, part, _)| exception == trace && want.contains(part));
                if !is_known {
                    failures.push(format!("{trace}: {concern:?} wants to {want}"));
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} wishes:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn roles_and_bindings_have_the_names_and_hashes_that_upstream_gave_them() {
    let Some(traces) = traces() else { return };
    let mut checked = 0;
    for world in traces.values() {
        for kind in [
            Kind::Role,
            Kind::ClusterRole,
            Kind::RoleBinding,
            Kind::ClusterRoleBinding,
        ] {
            for object in world.all(kind) {
                let Some(hash) = apply::object::label(object, keys::PERMISSIONS_HASH) else {
                    continue;
                };
                let is_lifted = kind == Kind::ClusterRole
                    && object["rules"].as_array().is_some_and(|rules| {
                        rules.len() > 1
                            && rules
                                .last()
                                .is_some_and(|rule| rule["resources"] == serde_json::json!(["namespaces"]))
                    });
                let is_lifted_binding = kind == Kind::ClusterRoleBinding
                    && world
                        .all(Kind::Role)
                        .any(|role| text(role, "/metadata/name") == text(object, "/metadata/name"));
                if is_lifted || is_lifted_binding {
                    // It keeps the label of what it was lifted from.
                    continue;
                }
                let ours = match kind {
                    Kind::Role | Kind::ClusterRole => hashes::rules_hash(&object["rules"]),
                    _ => hashes::binding_hash(&object["roleRef"], &object["subjects"]),
                };
                assert_eq!(ours, hash, "{object}");
                checked += 1;
            }
        }
        for version in world.all(Kind::ClusterServiceVersion) {
            let version = service_version::ServiceVersion::of(version);
            let key = version.key();
            let is_by_hand = !world.labelled_with(&key).any(|(key, _)| key.kind == Kind::Role);
            if version.is_copy() || is_by_hand {
                continue;
            }
            for permission in version.permissions() {
                let name = names::role(version.name(), permission);
                assert!(
                    world.get(Kind::Role, version.namespace(), &name).is_some(),
                    "{name}"
                );
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 79, "as many as the recordings have");
}
