//! The tree of a Subscription as text for people.

use apply::object::text;
use install_plan::plan::versions;
use install_plan::steps::StepStatus;
use serde_json::Value;
use service_version::membership::targets_in_words;
use service_version::requirements::is_met;

use super::Sight;
use crate::subscriptions::place;

/// A line with what belongs to it.
#[derive(Debug, Default)]
struct Branch {
    line: String,
    below: Vec<Branch>,
}

impl Branch {
    fn leaf(line: impl Into<String>) -> Self {
        Self {
            line: line.into(),
            below: Vec::new(),
        }
    }

    fn draw(&self, first: &str, rest: &str, text: &mut String) {
        text.push_str(first);
        text.push_str(&self.line.replace('\n', &format!("\n{rest}")));
        text.push('\n');
        let last = self.below.len().saturating_sub(1);
        for (index, branch) in self.below.iter().enumerate() {
            let (fork, line) = if index == last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            branch.draw(&format!("{rest}{fork}"), &format!("{rest}{line}"), text);
        }
    }
}

/// Draws a tree; without `all`, what is as it should be is only counted.
pub(super) fn draw(sight: &Sight, all: bool) -> String {
    let subscription = &sight.subscription;
    let (namespace, name) = place(subscription);
    let channel = match text(subscription, "/spec/channel") {
        "" => "the default channel".to_owned(),
        channel => format!("channel {channel}"),
    };
    let mut tree = Branch::leaf(format!(
        "{name}: package {}, {channel} of {}/{}, in {namespace}: {}",
        text(subscription, "/spec/name"),
        text(subscription, "/spec/sourceNamespace"),
        text(subscription, "/spec/source"),
        sight.standing
    ));
    tree.below.extend(conditions(subscription));
    tree.below.push(catalog(sight));
    tree.below.extend(groups(sight, &namespace));
    tree.below
        .extend(sight.install_plan.as_ref().map(|plan| self::plan(plan, all)));
    tree.below.extend(version(sight, all));
    let mut text = String::new();
    tree.draw("", "", &mut text);
    text
}

/// What is wrong with a Subscription: conditions of OLM v0 are there for that.
fn conditions(subscription: &Value) -> impl Iterator<Item = Branch> + '_ {
    let conditions = subscription
        .pointer("/status/conditions")
        .and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .filter(|condition| text(condition, "/status") == "True")
        .map(|condition| {
            Branch::leaf(said(
                text(condition, "/type"),
                text(condition, "/reason"),
                text(condition, "/message"),
            ))
        })
}

/// Words with what is known beyond them.
fn said(what: &str, reason: &str, message: &str) -> String {
    match (reason, message) {
        ("", "") => what.to_owned(),
        (reason, "") => format!("{what}, {reason}"),
        ("", message) => format!("{what}: {message}"),
        (reason, message) => format!("{what}, {reason}: {message}"),
    }
}

fn catalog(sight: &Sight) -> Branch {
    let subscription = &sight.subscription;
    let name = format!(
        "CatalogSource {}/{}",
        text(subscription, "/spec/sourceNamespace"),
        text(subscription, "/spec/source")
    );
    Branch::leaf(match &sight.catalog_source {
        None => format!("{name}: isn't there"),
        Some(source) => {
            let state = match text(source, "/status/connectionState/lastObservedState") {
                "" => "not connected yet",
                state => state,
            };
            said(
                &format!("{name} {state}"),
                text(source, "/status/reason"),
                text(source, "/status/message"),
            )
        }
    })
}

fn groups(sight: &Sight, namespace: &str) -> Vec<Branch> {
    match sight.operator_groups.as_slice() {
        [] => vec![Branch::leaf(format!(
            "OperatorGroup: there is none in {namespace}, and nothing is installed without one"
        ))],
        [group] => {
            vec![Branch::leaf(format!(
                "OperatorGroup {namespace}/{}: {}",
                text(group, "/metadata/name"),
                targets_in_words(group)
            ))]
        }
        several => {
            let names: Vec<&str> = several
                .iter()
                .map(|group| text(group, "/metadata/name"))
                .collect();
            vec![Branch::leaf(format!(
                "OperatorGroups {}: there may be only one in {namespace}",
                names.join(", ")
            ))]
        }
    }
}

fn plan(plan: &Value, all: bool) -> Branch {
    let name = text(plan, "/metadata/name");
    let phase = text(plan, "/status/phase");
    let conditions = plan.pointer("/status/conditions").and_then(Value::as_array);
    let trouble = conditions
        .into_iter()
        .flatten()
        .find(|condition| text(condition, "/status") == "False");
    let head = format!("InstallPlan {name} ({}) {phase}", versions(plan).join(", "));
    let mut branch = Branch::leaf(match trouble {
        Some(trouble) => said(&head, text(trouble, "/reason"), text(trouble, "/message")),
        None => said(&head, "", text(plan, "/status/message")),
    });
    let lookups = plan.pointer("/status/bundleLookups").and_then(Value::as_array);
    for lookup in lookups.into_iter().flatten() {
        let conditions = lookup.get("conditions").and_then(Value::as_array);
        let waiting = conditions
            .into_iter()
            .flatten()
            .find(|condition| text(condition, "/status") == "True");
        if let Some(waiting) = waiting {
            branch.below.push(Branch::leaf(said(
                &format!("bundle {}", text(lookup, "/path")),
                text(waiting, "/reason"),
                text(waiting, "/message"),
            )));
        }
    }
    let steps = plan.pointer("/status/plan").and_then(Value::as_array);
    let steps: Vec<&Value> = steps.into_iter().flatten().collect();
    let is_done = |step: &&Value| StepStatus::named(text(step, "/status")).is_some_and(StepStatus::is_done);
    let done = steps.iter().filter(|step| is_done(step)).count();
    if !steps.is_empty() {
        let shown = steps.iter().filter(|step| all || !is_done(step)).map(|step| {
            Branch::leaf(format!(
                "{} {}: {}",
                text(step, "/resource/kind"),
                text(step, "/resource/name"),
                text(step, "/status")
            ))
        });
        branch.below.push(Branch {
            line: format!("steps: {done} of {} done", steps.len()),
            below: shown.collect(),
        });
    }
    branch
}

fn version(sight: &Sight, all: bool) -> Option<Branch> {
    let version = sight.cluster_service_version.as_ref()?;
    let phase = match text(version, "/status/phase") {
        "" => "not looked at yet",
        phase => phase,
    };
    let mut branch = Branch::leaf(said(
        &format!(
            "ClusterServiceVersion {} {phase}",
            text(version, "/metadata/name")
        ),
        text(version, "/status/reason"),
        text(version, "/status/message"),
    ));
    let requirements = version
        .pointer("/status/requirementStatus")
        .and_then(Value::as_array);
    let requirements: Vec<&Value> = requirements.into_iter().flatten().collect();
    if !requirements.is_empty() {
        let met = requirements.iter().filter(|one| is_met(one)).count();
        let shown = requirements.iter().filter(|one| all || !is_met(one)).map(|one| {
            let dependents = one.get("dependents").and_then(Value::as_array);
            let dependents: Vec<&Value> = dependents.into_iter().flatten().collect();
            let below = dependents.iter().filter(|one| all || !is_met(one)).map(|one| {
                Branch::leaf(said(
                    &format!("{} {}", text(one, "/kind"), text(one, "/status")),
                    "",
                    text(one, "/message"),
                ))
            });
            Branch {
                line: said(
                    &format!(
                        "{} {} {}",
                        text(one, "/kind"),
                        text(one, "/name"),
                        text(one, "/status")
                    ),
                    "",
                    text(one, "/message"),
                ),
                below: below.collect(),
            }
        });
        branch.below.push(Branch {
            line: format!("requirements: {met} of {} met", requirements.len()),
            below: shown.collect(),
        });
    }
    branch.below.extend(objects(&sight.components, all));
    Some(branch)
}

/// The objects of an operator: those that say they don't work, or all.
fn objects(components: &[Value], all: bool) -> Option<Branch> {
    const OWN: [&str; 4] = [
        "ClusterServiceVersion",
        "InstallPlan",
        "Subscription",
        "OperatorCondition",
    ];
    let objects: Vec<&Value> = components
        .iter()
        .filter(|one| !OWN.contains(&text(one, "/kind")))
        .collect();
    if objects.is_empty() {
        return None;
    }
    let is_well = |one: &Value| trouble(one).is_none();
    let well = objects.iter().filter(|one| is_well(one)).count();
    let shown = objects.iter().filter(|one| all || !is_well(one)).map(|one| {
        let name = match text(one, "/namespace") {
            "" => text(one, "/name").to_owned(),
            namespace => format!("{namespace}/{}", text(one, "/name")),
        };
        let head = format!("{} {name}", text(one, "/kind"));
        Branch::leaf(trouble(one).map_or_else(|| head.clone(), |trouble| format!("{head}: {trouble}")))
    });
    Some(Branch {
        line: format!("objects: {well} of {} well", objects.len()),
        below: shown.collect(),
    })
}

/// What a component's conditions say is wrong with it.
fn trouble(component: &Value) -> Option<String> {
    const GOOD: [&str; 4] = ["Available", "Established", "NamesAccepted", "Upgradeable"];
    let conditions = component.get("conditions").and_then(Value::as_array)?;
    let bad = conditions
        .iter()
        .find(|one| GOOD.contains(&text(one, "/type")) && text(one, "/status") == "False")?;
    Some(said(
        &format!("{} False", text(bad, "/type")),
        text(bad, "/reason"),
        text(bad, "/message"),
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sight() -> Sight {
        Sight {
            standing: "web.v2 is Pending: one or more requirements couldn't be found".to_owned(),
            subscription: json!({
                "metadata": {"name": "web", "namespace": "operators"},
                "spec": {"name": "web-operator", "channel": "stable", "source": "models", "sourceNamespace": "olm"},
                "status": {"conditions": [
                    {"type": "CatalogSourcesUnhealthy", "status": "False", "reason": "AllCatalogSourcesHealthy"},
                    {"type": "BundleDeprecated", "status": "True", "message": "olm.bundle/web.v2: take 3"},
                ]},
            }),
            catalog_source: Some(json!({"status": {"connectionState": {"lastObservedState": "READY"}}})),
            operator_groups: vec![json!({"metadata": {"name": "global"}, "status": {"namespaces": [""]}})],
            install_plan: Some(json!({
                "metadata": {"name": "install-1"}, "spec": {"clusterServiceVersionNames": ["web.v2"]},
                "status": {"phase": "Installing", "plan": [
                    {"status": "Created", "resource": {"kind": "ClusterServiceVersion", "name": "web.v2"}},
                    {"status": "Unknown", "resource": {"kind": "Service", "name": "web"}},
                ]},
            })),
            cluster_service_version: Some(json!({
                "metadata": {"name": "web.v2"},
                "status": {
                    "phase": "Pending", "reason": "RequirementsNotMet",
                    "message": "one or more requirements couldn't be found",
                    "requirementStatus": [
                        {"kind": "CustomResourceDefinition", "name": "webs.example.com", "status": "Present"},
                        {"kind": "ServiceAccount", "name": "web", "status": "PresentNotSatisfied",
                         "message": "Policy rule not satisfied for service account",
                         "dependents": [
                             {"kind": "PolicyRule", "status": "Satisfied", "message": "cluster rule:{}"},
                             {"kind": "PolicyRule", "status": "NotSatisfied", "message": "namespaced rule:{}"},
                         ]},
                    ],
                },
            })),
            components: vec![
                json!({"kind": "ClusterServiceVersion", "name": "web.v2", "namespace": "operators"}),
                json!({"kind": "Deployment", "name": "web", "namespace": "operators", "conditions": [
                    {"type": "Available", "status": "False", "reason": "MinimumReplicasUnavailable", "message": "none"},
                ]}),
                json!({"kind": "ClusterRole", "name": "web-reader"}),
            ],
        }
    }

    #[test]
    fn a_tree_says_what_a_subscription_waits_for() {
        insta::assert_snapshot!(draw(&sight(), false), @"
        web: package web-operator, channel stable of olm/models, in operators: web.v2 is Pending: one or more requirements couldn't be found
        ├─ BundleDeprecated: olm.bundle/web.v2: take 3
        ├─ CatalogSource olm/models READY
        ├─ OperatorGroup operators/global: all namespaces
        ├─ InstallPlan install-1 (web.v2) Installing
        │  └─ steps: 1 of 2 done
        │     └─ Service web: Unknown
        └─ ClusterServiceVersion web.v2 Pending, RequirementsNotMet: one or more requirements couldn't be found
           ├─ requirements: 1 of 2 met
           │  └─ ServiceAccount web PresentNotSatisfied: Policy rule not satisfied for service account
           │     └─ PolicyRule NotSatisfied: namespaced rule:{}
           └─ objects: 1 of 2 well
              └─ Deployment operators/web: Available False, MinimumReplicasUnavailable: none
        ");
    }

    #[test]
    fn everything_is_shown_where_it_is_asked_for() {
        let text = draw(&sight(), true);
        for line in [
            "ClusterServiceVersion web.v2: Created",
            "CustomResourceDefinition webs.example.com Present",
            "PolicyRule Satisfied: cluster rule:{}",
            "ClusterRole web-reader",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        let text = draw(
            &Sight {
                operator_groups: Vec::new(),
                catalog_source: None,
                install_plan: None,
                cluster_service_version: None,
                components: Vec::new(),
                ..sight()
            },
            false,
        );
        assert!(text.contains("CatalogSource olm/models: isn't there"), "{text}");
        assert!(
            text.contains("OperatorGroup: there is none in operators"),
            "{text}"
        );
    }
}
