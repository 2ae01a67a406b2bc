//! The scenarios of the users' description of OLM, by kubectl alone: what is applied, what is seen, what is approved.

use serde_json::json;

use crate::catalogs::{operator, versions};
use crate::images::Entry;
use crate::scenario::{ALPHA, Scenario, expect};

type Outcome = Result<(), String>;

/// A catalog, an OperatorGroup and a Subscription lead to a plan, that to a version, and that to an operator; each says how
/// far it is.
pub(crate) async fn a_subscription_leads_to_an_operator(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions(&["1.0.0"])).await?;
    let kubectl = scenario.kubectl();
    let mut states = kubectl.watch(&scenario.subscription_reference())?;
    let mut plans = kubectl.watch_all(&scenario.classic("InstallPlan", ""), &[])?;
    let mut phases = kubectl.watch(&scenario.version("1.0.0"))?;
    kubectl.apply(&[scenario.subscription("stable")]).await?;
    states
        .until(|subscription| subscription["status"]["state"] == "AtLatestKnown")
        .await?;
    plans.until(|plan| plan["status"]["phase"] == "Complete").await?;
    phases
        .until(|version| version["status"]["phase"] == "Succeeded")
        .await?;
    expect(
        "the state of the Subscription",
        states.values("/status/state"),
        ["", "UpgradePending", "AtLatestKnown"]
            .map(str::to_owned)
            .to_vec(),
    )?;
    expect(
        "the phase of the plan",
        plans.values("/status/phase"),
        ["", "Installing", "Complete"].map(str::to_owned).to_vec(),
    )?;
    expect(
        "the phase of the version",
        phases.values("/status/phase"),
        ["", "Pending", "InstallReady", "Installing", "Succeeded"]
            .map(str::to_owned)
            .to_vec(),
    )?;
    scenario.has_version("1.0.0").await?;
    let deployment = scenario.deployment();
    let waited = format!(
        "wait --for=condition=Available deployment/{} -n {} --timeout=60s",
        deployment.name,
        scenario.namespace()
    );
    kubectl.types(&waited).await?;
    // The definition is there, so that resources can be made of it.
    let resource = json!({"apiVersion": format!("e2e-{}.e2e.operatorframework.io/v1", scenario.id),
        "kind": "E2ETest", "metadata": {"name": "one"}, "spec": {"testField": "x"}});
    kubectl.apply(&[resource]).await
}

/// With manual approval nothing happens before somebody says so.
pub(crate) async fn a_plan_waits_for_approval(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions(&["1.0.0"])).await?;
    let kubectl = scenario.kubectl();
    kubectl.apply(&[scenario.manual_subscription("stable")]).await?;
    let plan = scenario.plan_in_phase("RequiresApproval").await?;
    let pending = kubectl.read(&scenario.subscription_reference()).await?;
    expect(
        "its state",
        pending["status"]["state"].as_str(),
        Some("UpgradePending"),
    )?;
    expect("there", kubectl.get(&scenario.version("1.0.0")).await?, None)?;
    let columns = kubectl
        .types(&format!(
            "get installplans.operators.coreos.com -n {}",
            scenario.namespace()
        ))
        .await?;
    let row: Vec<&str> = columns
        .lines()
        .nth(1)
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let name = scenario.version("1.0.0").name;
    expect("the row", row, vec![plan.name.as_str(), &name, "Manual", "false"])?;
    scenario.approve(&plan).await?;
    kubectl.until_is(&plan, "/status/phase", "Complete").await?;
    scenario.has_version("1.0.0").await
}

/// A new catalog under the same tag brings a new version; the old one is replaced, and its Deployment goes on.
pub(crate) async fn a_new_catalog_brings_a_new_version(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions(&["1.0.0"])).await?;
    let kubectl = scenario.kubectl();
    kubectl.apply(&[scenario.subscription("stable")]).await?;
    scenario.has_version("1.0.0").await?;
    let before = kubectl.read(&scenario.deployment()).await?;
    let mut states = kubectl.watch(&scenario.subscription_reference())?;
    let mut phases = kubectl.watch(&scenario.version("1.0.0"))?;
    scenario.image("latest", &versions(&["1.0.0", "1.1.0"])).await?;
    scenario.has_version("1.1.0").await?;
    kubectl.until_gone(&scenario.version("1.0.0")).await?;
    states
        .until(|subscription| subscription["status"]["installedCSV"] == scenario.version("1.1.0").name)
        .await?;
    expect(
        "the state of the Subscription",
        states.values("/status/state"),
        [
            "AtLatestKnown",
            "UpgradeAvailable",
            "UpgradePending",
            "AtLatestKnown",
        ]
        .map(str::to_owned)
        .to_vec(),
    )?;
    phases
        .until(|version| !version["metadata"]["deletionTimestamp"].is_null())
        .await?;
    expect(
        "the phase of the old version",
        phases.values("/status/phase"),
        ["Succeeded", "Replacing", "Deleting"].map(str::to_owned).to_vec(),
    )?;
    let after = kubectl.read(&scenario.deployment()).await?;
    expect(
        "the Deployment",
        &after["metadata"]["uid"],
        &before["metadata"]["uid"],
    )?;
    let owner = scenario.version("1.1.0").name;
    expect(
        "its owner",
        after["metadata"]["labels"]["olm.owner"].as_str(),
        Some(owner.as_str()),
    )
}

/// `startingCSV` says where to begin; what follows waits for approval.
pub(crate) async fn a_subscription_begins_where_it_says(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions(&["1.0.0", "1.1.0"])).await?;
    let kubectl = scenario.kubectl();
    let mut subscription = scenario.manual_subscription("stable");
    subscription["spec"]["startingCSV"] = scenario.version("1.0.0").name.into();
    kubectl.apply(&[subscription]).await?;
    scenario.approves("1.0.0").await?;
    scenario
        .is_in_phase(&scenario.version("1.0.0"), "Succeeded")
        .await?;
    scenario.approves("1.1.0").await?;
    scenario.has_version("1.1.0").await?;
    let plan = kubectl.read(&scenario.plan_in_phase("Complete").await?).await?;
    expect("its generation", &plan["spec"]["generation"], &json!(2))
}

/// Another channel leads on from what is installed.
pub(crate) async fn another_channel_leads_on(scenario: Scenario) -> Outcome {
    let entries = [
        Entry::new("1.0.0", "alpha", operator()),
        Entry::new("2.0.0", "stable", operator()).replacing("1.0.0"),
    ];
    scenario.prepare(&entries).await?;
    let kubectl = scenario.kubectl();
    kubectl.apply(&[scenario.subscription("alpha")]).await?;
    scenario.has_version("1.0.0").await?;
    let channel = json!({"spec": {"channel": "stable"}});
    kubectl
        .merge(&scenario.subscription_reference(), &channel)
        .await?;
    scenario.has_version("2.0.0").await?;
    kubectl.until_gone(&scenario.version("1.0.0")).await
}

/// What users write as a plan is planned and carried out, without a Subscription.
pub(crate) async fn a_plan_of_a_user_is_carried_out(scenario: Scenario) -> Outcome {
    scenario.prepare(&versions(&["1.0.0", "1.1.0"])).await?;
    let kubectl = scenario.kubectl();
    let version = scenario.version("1.0.0");
    let plan = scenario.classic("InstallPlan", "mine");
    let mut phases = kubectl.watch(&plan)?;
    kubectl
        .apply(&[json!({
            "apiVersion": ALPHA, "kind": "InstallPlan",
            "metadata": {"name": "mine", "namespace": scenario.namespace()},
            "spec": {"clusterServiceVersionNames": [version.name], "approval": "Manual", "approved": false},
        })])
        .await?;
    kubectl
        .until_is(&plan, "/status/phase", "RequiresApproval")
        .await?;
    expect("there", kubectl.get(&version).await?, None)?;
    scenario.approve(&plan).await?;
    scenario.is_in_phase(&version, "Succeeded").await?;
    phases.until(|plan| plan["status"]["phase"] == "Complete").await?;
    expect(
        "the phase of the plan",
        phases.values("/status/phase"),
        ["", "Planning", "RequiresApproval", "Installing", "Complete"]
            .map(str::to_owned)
            .to_vec(),
    )?;
    // Nobody subscribed, so nobody is brought up to date.
    let subscriptions = kubectl
        .list("subscriptions.operators.coreos.com", &scenario.namespace(), &[])
        .await?;
    expect("the number of Subscriptions", subscriptions.len(), 0)
}
