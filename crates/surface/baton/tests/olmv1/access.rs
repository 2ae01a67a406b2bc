//! Scenarios 46–51: policies of the cluster say who may ask for what.

use std::time::Instant;

use serde_json::{Value, json};

use crate::bundles::Contents;
use crate::images::Entry;
use crate::kubernetes::PATIENCE;
use crate::scenario::{Extension, Scenario};

type Outcome = Result<(), String>;

/// What a policy demands, and what it says to those who don't do it.
struct Demand {
    expression: String,
    message: (&'static str, String),
}

impl Demand {
    fn computed(expression: impl Into<String>, message: &str) -> Self {
        Self {
            expression: expression.into(),
            message: ("messageExpression", format!("{message:?}")),
        }
    }

    fn fixed(expression: impl Into<String>, message: &str) -> Self {
        Self {
            expression: expression.into(),
            message: ("message", message.to_owned()),
        }
    }
}

/// Makes a labelled catalog, lets a group edit extensions, and puts a policy on that group.
async fn prepare(scenario: &Scenario, group: &str, demand: &Demand) -> Outcome {
    scenario
        .prepare(&[Entry::new("1.0.0", "stable", Contents::full())])
        .await?;
    let catalog = json!({"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog",
        "metadata": {"name": scenario.catalog_name("test")}});
    let team = json!({"metadata": {"labels": {"team": format!("monitoring-{}", scenario.id)}}});
    scenario
        .kubernetes()
        .merge(&crate::reference::Reference::of(&catalog), &team)
        .await?;
    let name = format!("ce-policy-{}", scenario.id);
    let mut validation = json!({"expression": demand.expression});
    validation[demand.message.0] = demand.message.1.clone().into();
    let objects = [
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [{"apiGroups": ["olm.operatorframework.io"], "resources": ["clusterextensions"],
                "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]}]}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "Group", "name": group, "apiGroup": "rbac.authorization.k8s.io"}]}),
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{"apiGroups": ["olm.operatorframework.io"], "apiVersions": ["v1"],
                "resources": ["clusterextensions"], "operations": ["CREATE", "UPDATE"]}]},
            "matchConditions": [{"name": "scoped-group",
                "expression": format!("request.userInfo.groups.exists(g, g == {group:?})")}],
            "validations": [validation],
        }}),
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}}),
    ];
    for object in &objects {
        scenario.kubernetes().apply(object).await?;
    }
    Ok(())
}

/// The extension that a member of the team asks for.
fn wanted(scenario: &Scenario) -> Extension {
    scenario.extension().version("1.0.0").selecting(team(scenario))
}

fn team(scenario: &Scenario) -> Value {
    json!({"team": format!("monitoring-{}", scenario.id)})
}

/// Tries until the policy and the role are known to the server; returns its last word.
async fn tried(
    scenario: &Scenario,
    (user, group): (&str, &str),
    extension: &Extension,
    is_final: impl Fn(u16, &str) -> bool,
) -> Result<(u16, String), String> {
    let somebody = scenario.kubernetes().played_by(user, group);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = somebody.apply_with(&extension.0, "&dryRun=All").await?;
        let message = answer.message();
        if is_final(answer.code, &message) {
            return Ok((answer.code, message));
        }
        if Instant::now() > deadline {
            return Err(format!("{user} of {group} is told {} {message}", answer.code));
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
}

/// Expects that a member of the group is refused with some words, and that nothing is there afterwards.
async fn is_denied(
    scenario: &Scenario,
    (user, group): (&str, &str),
    demand: Demand,
    extension: Extension,
    words: &str,
) -> Outcome {
    prepare(scenario, group, &demand).await?;
    tried(scenario, (user, group), &extension, |_, message| {
        message.contains(words)
    })
    .await?;
    let somebody = scenario.kubernetes().played_by(user, group);
    let answer = somebody.apply_with(&extension.0, "").await?;
    if answer.code != 422 && answer.code != 403 || !answer.message().contains(words) {
        return Err(format!("{user} is told {} {}", answer.code, answer.message()));
    }
    match scenario.kubernetes().get(&scenario.reference()).await? {
        None => Ok(()),
        Some(_) => Err("the extension is there all the same".to_owned()),
    }
}

/// 46
pub(crate) async fn who_keeps_to_the_policy_is_let_in(scenario: Scenario) -> Outcome {
    let package = scenario.package();
    let demand = Demand::computed(
        format!("object.spec.source.catalog.packageName == {package:?}"),
        "package not allowed",
    );
    let (user, group) = ("alice", "team-allowed");
    prepare(&scenario, group, &demand).await?;
    let extension = wanted(&scenario);
    tried(&scenario, (user, group), &extension, |code, _| {
        matches!(code, 200 | 201)
    })
    .await?;
    let alice = scenario.kubernetes().played_by(user, group);
    alice.apply(&extension.0).await?;
    scenario.is_installed(&scenario.reference()).await
}

/// 47
pub(crate) async fn another_package_is_denied(scenario: Scenario) -> Outcome {
    let package = scenario.package();
    let demand = Demand::computed(
        format!("object.spec.source.catalog.packageName == {package:?}"),
        "package not allowed; permitted: another",
    );
    let mut extension = wanted(&scenario);
    extension.0["spec"]["source"]["catalog"]["packageName"] = "grafana".into();
    is_denied(
        &scenario,
        ("bob", "team-package"),
        demand,
        extension,
        "package not allowed",
    )
    .await
}

/// 48
pub(crate) async fn another_namespace_is_denied(scenario: Scenario) -> Outcome {
    let demand = Demand::computed(
        "object.spec.namespace.startsWith(\"ns-\")",
        "namespace must match the test namespace convention (ns-*)",
    );
    let mut extension = wanted(&scenario);
    extension.0["spec"]["namespace"] = "default".into();
    is_denied(
        &scenario,
        ("carol", "team-namespace"),
        demand,
        extension,
        "namespace must match the test namespace convention",
    )
    .await
}

/// 49
pub(crate) async fn a_missing_selector_is_denied(scenario: Scenario) -> Outcome {
    let demand = Demand::computed(
        "has(object.spec.source.catalog) && has(object.spec.source.catalog.selector) && \
         has(object.spec.source.catalog.selector.matchLabels) && \
         \"team\" in object.spec.source.catalog.selector.matchLabels",
        "catalog selector must include team=monitoring",
    );
    let extension = wanted(&scenario).whose_catalog_is_open();
    is_denied(
        &scenario,
        ("dave", "team-selector"),
        demand,
        extension,
        "catalog selector must include team=monitoring",
    )
    .await
}

/// 50
pub(crate) async fn forcing_is_denied(scenario: Scenario) -> Outcome {
    let demand = Demand::fixed(
        "!has(object.spec.source.catalog.upgradeConstraintPolicy) || \
         object.spec.source.catalog.upgradeConstraintPolicy != \"SelfCertified\"",
        "upgradeConstraintPolicy SelfCertified is not allowed",
    );
    let extension = wanted(&scenario).self_certified();
    is_denied(
        &scenario,
        ("eve", "team-upgrade"),
        demand,
        extension,
        "SelfCertified is not allowed",
    )
    .await
}

/// 51
pub(crate) async fn giving_up_the_checks_is_denied(scenario: Scenario) -> Outcome {
    let demand = Demand::fixed(
        "!has(object.spec.install) || !has(object.spec.install.preflight) || \
         !has(object.spec.install.preflight.crdUpgradeSafety) || \
         object.spec.install.preflight.crdUpgradeSafety.enforcement != \"None\"",
        "CRD upgrade safety checks may not be disabled",
    );
    let extension = wanted(&scenario).definition_safety("None");
    is_denied(
        &scenario,
        ("frank", "team-crd"),
        demand,
        extension,
        "CRD upgrade safety checks may not be disabled",
    )
    .await
}
