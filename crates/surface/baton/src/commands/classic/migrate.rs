//! `baton classic migrate`: an operator of OLM v0, looked after by a ClusterExtension from now on.

use clap::Args;

use crate::commands::adopt::Adopt;
use crate::failure::Failure;
use crate::observed_cluster::ObservationFlags;
use crate::output::OutputFlag;
use crate::runtime;
use crate::subscriptions::{Subscriptions, place};
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// Lets a ClusterExtension of OLM v1 take over an operator, after showing what becomes of each object and right.
///
/// It is what `baton adopt` does, for a Subscription that is found by its name or its package.
#[derive(Args)]
pub(crate) struct Migrate {
    /// The Subscription, or its package
    #[arg(value_name = "NAME")]
    name: String,
    /// The namespace of the Subscription; without it, all are looked through
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// The name of the ClusterExtension; without it, that of the package
    #[arg(long, value_name = "NAME")]
    extension: Option<String>,
    /// Do it; without this, the plan is printed and nothing changes
    #[arg(short, long)]
    yes: bool,
    /// Take over although the operator may do more then, or in more namespaces
    #[arg(long)]
    allow_wider: bool,
    #[command(flatten)]
    wait: WaitFlags,
    #[command(flatten)]
    observation: ObservationFlags,
    #[command(flatten)]
    output: OutputFlag,
}

impl Migrate {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let (namespace, subscription) = runtime::block_on(async {
            let subscriptions = Subscriptions::of(self.observation.access.connect().await?);
            let found = subscriptions.find(&self.name, self.namespace.as_deref()).await?;
            Ok(place(&found))
        })?;
        let adopt = Adopt {
            subscription,
            namespace,
            name: self.extension,
            yes: self.yes,
            allow_wider: self.allow_wider,
            wait: self.wait,
            observation: self.observation,
            output: self.output,
        };
        adopt.run(terminal)
    }
}
