//! `baton classic list`: Subscriptions, with what is installed, what is available, and how far each is.

use apply::object::text;
use clap::Args;
use classic::Kind;
use serde::Serialize;

use crate::cluster::ClusterAccess;
use crate::failure::Failure;
use crate::offers::{self, Offer};
use crate::output::{OutputFlag, columns};
use crate::runtime;
use crate::subscriptions::{Followed, Subscriptions, place};
use crate::terminal::Terminal;

/// Lists Subscriptions with the versions that are installed and available, and how far each is.
#[derive(Args)]
pub(crate) struct List {
    /// Only those of this namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

/// A Subscription in the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    namespace: String,
    name: String,
    package: String,
    catalog: String,
    channel: String,
    approval: String,
    installed: String,
    available: String,
    state: String,
    standing: String,
}

impl List {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let subscriptions = Subscriptions::of(self.access.connect().await?);
            let namespace = self.namespace.as_deref().unwrap_or_default();
            let all = subscriptions.list(Kind::Subscription, namespace).await?;
            if all.is_empty() {
                terminal.remark("there is no Subscription; `baton classic subscribe` makes one");
            }
            let offers = if all.is_empty() {
                Vec::new()
            } else {
                offers::listed(&subscriptions, namespace, None)
                    .await
                    .unwrap_or_default()
            };
            let mut rows = Vec::with_capacity(all.len());
            for subscription in all {
                let followed = subscriptions.follow(subscription).await?;
                rows.push(row(&followed, &offers));
            }
            self.output.print(terminal, &rows, |rows| table(rows))
        })
    }
}

fn row(followed: &Followed, offers: &[Offer]) -> Row {
    let subscription = &followed.subscription;
    let (namespace, name) = place(subscription);
    let said = |pointer: &str| text(subscription, pointer).to_owned();
    let (source, source_namespace) = (said("/spec/source"), said("/spec/sourceNamespace"));
    let package = said("/spec/name");
    let offer = offers.iter().find(|offer| {
        offer.package == package && offer.source == source && offer.source_namespace == source_namespace
    });
    let channel = Some(said("/spec/channel")).filter(|channel| !channel.is_empty());
    let head = offer.and_then(|offer| offer.channel(channel.as_deref()));
    let available = match head {
        Some(head) => head.head.clone(),
        // Where nobody lists packages, what was resolved last is known.
        None => said("/status/currentCSV"),
    };
    Row {
        namespace,
        name,
        package,
        catalog: format!("{source_namespace}/{source}"),
        channel: channel
            .or_else(|| offer.map(|offer| offer.default_channel.clone()))
            .unwrap_or_default(),
        approval: match text(subscription, "/spec/installPlanApproval") {
            "Manual" => "Manual".to_owned(),
            _ => "Automatic".to_owned(),
        },
        installed: said("/status/installedCSV"),
        available,
        state: said("/status/state"),
        standing: followed.standing().in_short(),
    }
}

fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let heading = [
        "NAMESPACE",
        "NAME",
        "PACKAGE",
        "CHANNEL",
        "INSTALLED",
        "AVAILABLE",
        "STATE",
        "HOW IT STANDS",
    ];
    let mut lines = vec![heading.map(str::to_owned).to_vec()];
    let shown = |text: &String| {
        if text.is_empty() {
            "-".to_owned()
        } else {
            text.clone()
        }
    };
    lines.extend(rows.iter().map(|row| {
        [
            &row.namespace,
            &row.name,
            &row.package,
            &row.channel,
            &row.installed,
            &row.available,
            &row.state,
            &row.standing,
        ]
        .map(shown)
        .to_vec()
    }));
    columns(&lines)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::offers::OfferedChannel;

    #[test]
    fn the_list_says_what_is_installed_and_what_is_available() {
        let followed = |name: &str, installed: &str, phase: &str| {
            Followed {
            subscription: json!({
                "metadata": {"name": name, "namespace": "operators"},
                "spec": {"name": "web", "source": "models", "sourceNamespace": "olm", "channel": "stable"},
                "status": {"installedCSV": installed, "currentCSV": installed, "state": "AtLatestKnown"},
            }),
            plan: None,
            version: (!installed.is_empty()).then(|| {
                json!({"metadata": {"name": installed}, "status": {"phase": phase, "message": "waiting for a pod"}})
            }),
        }
        };
        let offers = [Offer {
            package: "web".to_owned(),
            source: "models".to_owned(),
            source_namespace: "olm".to_owned(),
            default_channel: "stable".to_owned(),
            channels: vec![OfferedChannel {
                name: "stable".to_owned(),
                head: "web.v2".to_owned(),
                ..OfferedChannel::default()
            }],
        }];
        let rows = [
            row(&followed("one", "web.v2", "Succeeded"), &offers),
            row(&followed("two", "web.v1", "Installing"), &offers),
            row(&followed("three", "", ""), &[]),
        ];
        insta::assert_snapshot!(table(&rows), @"
        NAMESPACE   NAME    PACKAGE   CHANNEL   INSTALLED   AVAILABLE   STATE           HOW IT STANDS
        operators   one     web       stable    web.v2      web.v2      AtLatestKnown   installed
        operators   two     web       stable    web.v1      web.v2      AtLatestKnown   web.v1 is Installing: waiting for a pod
        operators   three   web       stable    -           -           AtLatestKnown   waiting for the controller to resolve it
        ");
    }
}
