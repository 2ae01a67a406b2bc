//! `baton classic status`: a Subscription as a tree, down to the objects of its operator, with what each waits for.

mod drawing;

use apply::object::text;
use clap::Args;
use classic::{Kind, names};
use serde::Serialize;
use serde_json::Value;

use crate::cluster::ClusterAccess;
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::runtime;
use crate::subscriptions::{Followed, Subscriptions, place};
use crate::terminal::Terminal;

/// Shows a Subscription as a tree: its plan with its steps, its version with its requirements and objects, and what each waits
/// for.
#[derive(Args)]
pub(crate) struct Status {
    /// The Subscription, or its package
    #[arg(value_name = "NAME")]
    name: String,
    /// The namespace of the Subscription; without it, all are looked through
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// Show every step, requirement and object, not only those that something waits for
    #[arg(short, long)]
    all: bool,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

/// Everything that a Subscription has to do with.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sight {
    /// How far it is, in a sentence.
    standing: String,
    subscription: Value,
    catalog_source: Option<Value>,
    operator_groups: Vec<Value>,
    install_plan: Option<Value>,
    cluster_service_version: Option<Value>,
    /// What belongs to the operator, as its Operator object lists it.
    components: Vec<Value>,
}

impl Status {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let subscriptions = Subscriptions::of(self.access.connect().await?);
            let found = subscriptions.find(&self.name, self.namespace.as_deref()).await?;
            let followed = subscriptions.follow(found).await?;
            let sight = see(&subscriptions, followed).await?;
            self.output
                .print(terminal, &sight, |sight| drawing::draw(sight, self.all))
        })
    }
}

async fn see(subscriptions: &Subscriptions, followed: Followed) -> Result<Sight, Failure> {
    let standing = followed.standing().in_short();
    let Followed {
        subscription,
        plan,
        version,
    } = followed;
    let (namespace, _) = place(&subscription);
    // While the next one waits, the one that runs is of interest.
    let version = match (version, text(&subscription, "/status/installedCSV")) {
        (None, installed) if !installed.is_empty() => {
            subscriptions
                .get(Kind::ClusterServiceVersion, &namespace, installed)
                .await?
        }
        (version, _) => version,
    };
    let operator = names::operator(text(&subscription, "/spec/name"), &namespace);
    let source = (
        text(&subscription, "/spec/sourceNamespace"),
        text(&subscription, "/spec/source"),
    );
    let (groups, catalog_source, operator) = tokio::try_join!(
        subscriptions.list(Kind::OperatorGroup, &namespace),
        subscriptions.get(Kind::CatalogSource, source.0, source.1),
        subscriptions.get(Kind::Operator, "", &operator),
    )?;
    let components = operator.and_then(|mut operator| {
        let refs = operator.pointer_mut("/status/components/refs")?;
        refs.as_array_mut().map(std::mem::take)
    });
    Ok(Sight {
        standing,
        subscription,
        catalog_source,
        operator_groups: groups,
        install_plan: plan,
        cluster_service_version: version,
        components: components.unwrap_or_default(),
    })
}
