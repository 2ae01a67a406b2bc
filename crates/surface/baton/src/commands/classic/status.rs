//! `baton classic status`: a Subscription as a tree, down to the objects of its operator, with what each waits for.

mod drawing;

use apply::object::text;
use clap::Args;
use classic::{Kind, names};
use futures_util::{Stream, StreamExt as _};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde::Serialize;
use serde_json::Value;

use crate::cluster::ClusterAccess;
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::runtime;
use crate::subscriptions::{Followed, Standing, Subscriptions, place};
use crate::terminal::Terminal;
use crate::waiting::burst;

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
    /// Show the tree again whenever something changes, until the version that is asked for runs
    #[arg(short, long, conflicts_with = "output")]
    watch: bool,
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
            let (namespace, name) = place(&found);
            // Watching first: what changes while the tree is read must not be missed.
            let mut changes = std::pin::pin!(changes(&subscriptions, &namespace));
            let mut is_done = self.show(&subscriptions, found, terminal).await?;
            while self.watch && !is_done {
                burst(changes.as_mut()).await;
                terminal.print(b"\n")?;
                let found = subscriptions.find(&name, Some(&namespace)).await?;
                is_done = self.show(&subscriptions, found, terminal).await?;
            }
            Ok(())
        })
    }

    /// Shows the tree; returns whether the version that is asked for runs.
    async fn show(
        &self,
        subscriptions: &Subscriptions,
        found: Value,
        terminal: &mut Terminal,
    ) -> Result<bool, Failure> {
        let followed = subscriptions.follow(found).await?;
        let is_done = matches!(followed.standing(), Standing::Done(_));
        let sight = see(subscriptions, followed).await?;
        self.output
            .print(terminal, &sight, |sight| drawing::draw(sight, self.all))?;
        Ok(is_done)
    }
}

/// Something that happens whenever a Subscription, a plan or a version of a namespace changes.
fn changes(subscriptions: &Subscriptions, namespace: &str) -> impl Stream<Item = ()> + use<> {
    let kinds = [Kind::Subscription, Kind::InstallPlan, Kind::ClusterServiceVersion];
    let watches = kinds.map(|kind| {
        let watch = watcher(subscriptions.api(kind, namespace), watcher::Config::default());
        watch.default_backoff().touched_objects().boxed()
    });
    // What fails is tried again; the tree shows what could be read.
    futures_util::stream::select_all(watches).filter_map(async |seen| seen.ok().map(drop))
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
