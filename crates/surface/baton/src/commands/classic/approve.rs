//! `baton classic approve`: the word that a plan with manual approval waits for.

use apply::object::text;
use clap::Args;
use classic::Kind;
use install_plan::approval::{self, in_words, waits};
use install_plan::plan::versions;
use serde_json::Value;

use super::subscribe::told;
use crate::cluster::ClusterAccess;
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::runtime;
use crate::subscriptions::{Subscriptions, Until, place};
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// Approves an InstallPlan that waits, and waits until what it installs runs.
#[derive(Args)]
pub(crate) struct Approve {
    /// The InstallPlan, or the Subscription whose plan waits; without it, the only plan that waits
    #[arg(value_name = "PLAN|SUBSCRIPTION")]
    name: Option<String>,
    /// The namespace of the plan; without it, all are looked through
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Approve only this ClusterServiceVersion of the plan, and what it needs; may be repeated. The rest goes on waiting
    #[arg(long, value_name = "CSV")]
    only: Vec<String>,
    #[command(flatten)]
    wait: WaitFlags,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

impl Approve {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let subscriptions = Subscriptions::of(self.access.connect().await?);
            let namespace = self.namespace.as_deref().unwrap_or_default();
            let plans = subscriptions.list(Kind::InstallPlan, namespace).await?;
            let all = subscriptions.list(Kind::Subscription, namespace).await?;
            let plan = choose(self.name.as_deref(), &plans, &all).map_err(Failure::new)?;
            let change =
                approval::change(plan, &self.only).map_err(|error| Failure::new(error.to_string()))?;
            let (namespace, name) = place(plan);
            let approved = subscriptions
                .change(Kind::InstallPlan, &namespace, &name, &change)
                .await?;
            let what = if self.only.is_empty() {
                versions(plan).join(", ")
            } else {
                self.only.join(", ")
            };
            terminal.remark(format!("approved InstallPlan {namespace}/{name}: {what}"));
            if self.wait.is_declined() {
                return self.output.print(terminal, &approved, |_| {
                    format!("{what} is being installed; see `baton classic list -n {namespace}`\n")
                });
            }
            if !self.only.is_empty() {
                // Those that share the plan go on waiting, so it tells nothing of what was approved.
                for version in &self.only {
                    let waited = subscriptions.wait_version(&namespace, version, self.wait, terminal);
                    waited.await?;
                }
                let names = self.only.iter();
                let lines = names.map(|version| format!("{version} is installed in namespace {namespace}\n"));
                return self.output.print(terminal, &approved, |_| lines.collect());
            }
            let points_here = |one: &Value| text(one, "/status/installPlanRef/name") == name;
            let mut about: Vec<&Value> = all.iter().filter(|one| is_about(one, plan)).collect();
            about.sort_by_key(|one| !points_here(one));
            let mut lines = Vec::new();
            for subscription in about {
                if !points_here(subscription) {
                    // Its own plan goes on waiting, and tells nothing of what was approved.
                    let version = text(subscription, "/status/currentCSV");
                    let waited = subscriptions.wait_version(&namespace, version, self.wait, terminal);
                    waited.await?;
                }
                let followed = subscriptions
                    .wait_installed(subscription, Until::CarriedOut(&name), self.wait, terminal)
                    .await?;
                lines.push(told(&followed));
            }
            lines.sort();
            let lines = lines.concat();
            self.output.print(terminal, &approved, |_| lines)
        })
    }
}

/// Whether a Subscription gets something from a plan.
fn is_about(subscription: &Value, plan: &Value) -> bool {
    let current = text(subscription, "/status/currentCSV");
    text(subscription, "/metadata/namespace") == text(plan, "/metadata/namespace")
        && versions(plan).contains(&current)
}

/// Chooses the plan that is meant.
fn choose<'a>(name: Option<&str>, plans: &'a [Value], subscriptions: &[Value]) -> Result<&'a Value, String> {
    let listed = |plans: &[&Value]| {
        let plans = plans.iter().map(|plan| in_words(plan));
        plans.collect::<Vec<_>>().join(", ")
    };
    let waiting: Vec<&Value> = plans.iter().filter(|plan| waits(plan)).collect();
    let nothing = "`baton classic list` shows how far Subscriptions are";
    let Some(name) = name else {
        return match waiting.as_slice() {
            [plan] => Ok(plan),
            [] => Err(format!("no InstallPlan waits for approval; {nothing}")),
            several => Err(format!(
                "several InstallPlans wait: {}; say which",
                listed(several)
            )),
        };
    };
    let is_meant = |plan: &&Value| {
        let is_of = |subscription: &Value| {
            let refers = text(subscription, "/status/installPlanRef/name");
            let is_named =
                text(subscription, "/metadata/name") == name || text(subscription, "/spec/name") == name;
            let (namespace, plan) = place(plan);
            is_named && refers == plan && text(subscription, "/metadata/namespace") == namespace
        };
        text(plan, "/metadata/name") == name || subscriptions.iter().any(is_of)
    };
    let meant: Vec<&Value> = plans.iter().filter(is_meant).collect();
    let meant_and_waiting: Vec<&Value> = meant.iter().copied().filter(|plan| waits(plan)).collect();
    match (meant_and_waiting.as_slice(), meant.as_slice()) {
        ([plan], _) => Ok(plan),
        ([], []) if waiting.is_empty() => Err(format!(
            "{name:?} is neither an InstallPlan nor a Subscription with one, and no plan waits for approval; {nothing}"
        )),
        ([], []) => Err(format!(
            "{name:?} is neither an InstallPlan nor a Subscription with one; these wait: {}",
            listed(&waiting)
        )),
        ([], [plan, ..]) => Err(format!("{}; {nothing}", approval::not_waiting(plan))),
        (several, _) => Err(format!(
            "{name:?} may be any of {}; say which with -n NAMESPACE",
            listed(several)
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(namespace: &str, name: &str, phase: &str) -> Value {
        json!({
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"clusterServiceVersionNames": ["a.v1", "b.v1"], "approved": phase != "RequiresApproval"},
            "status": {"phase": phase},
        })
    }

    #[test]
    fn a_plan_is_found_by_its_name_or_by_its_subscription() {
        let waiting = plan("ns", "install-1", "RequiresApproval");
        let other = plan("other", "install-2", "RequiresApproval");
        let complete = plan("ns", "install-0", "Complete");
        let subscription = json!({
            "metadata": {"namespace": "ns", "name": "web"}, "spec": {"name": "web-operator"},
            "status": {"installPlanRef": {"name": "install-1"}},
        });
        let subscriptions = [subscription];
        let one = [complete.clone(), waiting.clone()];
        let two = [waiting, other, complete.clone()];
        for (name, plans, expected) in [
            (None, &one[..], Ok("install-1")),
            (Some("install-1"), &two, Ok("install-1")),
            (Some("web"), &two, Ok("install-1")),
            (Some("web-operator"), &two, Ok("install-1")),
            (
                None,
                &two,
                Err(
                    "several InstallPlans wait: ns/install-1 (a.v1, b.v1), other/install-2 (a.v1, b.v1); say which",
                ),
            ),
            (
                None,
                std::slice::from_ref(&complete),
                Err(
                    "no InstallPlan waits for approval; `baton classic list` shows how far Subscriptions are",
                ),
            ),
            (
                Some("install-0"),
                &one,
                Err(
                    "InstallPlan ns/install-0 (a.v1, b.v1) doesn't wait for approval: it is Complete; `baton classic list` shows how far Subscriptions are",
                ),
            ),
            (
                Some("none"),
                &one,
                Err(
                    "\"none\" is neither an InstallPlan nor a Subscription with one; these wait: ns/install-1 (a.v1, b.v1)",
                ),
            ),
        ] {
            let found =
                choose(name, plans, &subscriptions).map(|plan| text(plan, "/metadata/name").to_owned());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{name:?}");
        }
    }
}
