//! `baton classic subscribe`: a Subscription to a package, with the OperatorGroup that it needs.

mod choice;
mod group;

use apply::object::text;
use clap::{Args, ValueEnum};
use classic::Kind;
use serde_json::{Value, json};

use self::choice::{Asked, Chosen, choose};
use self::group::{Targets, decide};
use crate::arguments::comma_separated;
use crate::cluster::make_namespace;
use crate::failure::Failure;
use crate::offers;
use crate::output::{OutputFlag, yaml};
use crate::runtime;
use crate::sources::SourceFlags;
use crate::subscriptions::{Followed, Standing, Subscriptions, Until, place};
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// Subscribes to a package of a CatalogSource, and waits until its operator runs.
#[derive(Args)]
pub(crate) struct Subscribe {
    /// The package
    #[arg(value_name = "PACKAGE")]
    package: String,
    /// The name of the Subscription; without it, that of the package
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The namespace of the Subscription, which the operator runs in
    #[arg(short, long, value_name = "NAMESPACE", default_value = "operators")]
    namespace: String,
    /// Make the namespace where it isn't there
    #[arg(long)]
    create_namespace: bool,
    /// The channel; without it, the default one of the package
    #[arg(short, long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// The CatalogSource; without it, the only one that has the package
    #[arg(long, value_name = "CATALOG")]
    source: Option<String>,
    /// The namespace of the CatalogSource
    #[arg(long, value_name = "NAMESPACE")]
    source_namespace: Option<String>,
    /// The ClusterServiceVersion to begin with; without it, the one at the end of the channel
    #[arg(long, value_name = "NAME")]
    starting_csv: Option<String>,
    /// The version to begin with
    #[arg(long, value_name = "VERSION", conflicts_with = "starting_csv")]
    version: Option<String>,
    /// Whether plans are carried out at once or after `baton classic approve`
    #[arg(short, long, value_enum, value_name = "HOW", default_value = "automatic")]
    approval: Approval,
    /// The namespaces that the operator watches, separated by commas; for the OperatorGroup, where there is none
    #[arg(short, long, value_name = "NAMESPACES", conflicts_with = "install_mode")]
    watch_namespaces: Vec<String>,
    /// How the operator watches: `AllNamespaces`, `OwnNamespace`, `SingleNamespace=NAMESPACE` or `MultiNamespace=A,B`; for the
    /// OperatorGroup, where there is none
    #[arg(long, value_name = "MODE")]
    install_mode: Option<String>,
    /// Print what would be made, as the API server would keep it where the namespace is there, and make nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    wait: WaitFlags,
    #[command(flatten)]
    sources: SourceFlags,
    #[command(flatten)]
    output: OutputFlag,
}

/// Who decides that a plan is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Approval {
    Automatic,
    Manual,
}

impl Subscribe {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let targets = self.targets()?;
        runtime::block_on(async {
            let subscriptions = Subscriptions::of(self.sources.access.connect().await?);
            let is_missing = self.check_namespace(&subscriptions, terminal).await?;
            let namespace = self.namespace.as_str();
            let offers =
                offers::of_package(&self.sources, &subscriptions, namespace, &self.package, terminal).await?;
            let chosen = choose(&self.asked(), &offers).map_err(Failure::new)?;
            let groups = subscriptions.list(Kind::OperatorGroup, namespace).await?;
            let modes = chosen.install_modes.as_deref();
            let group =
                decide(namespace, &self.package, &groups, targets.as_ref(), modes).map_err(Failure::new)?;
            let subscription = self.subscription(&chosen);
            if is_missing {
                // Without the namespace, the API server can't say how it would keep what is in it.
                let made = [Some(namespace_of(namespace)), group, Some(subscription)];
                return self.print_dry_run(terminal, &made.into_iter().flatten().collect::<Vec<_>>());
            }
            let mut made = Vec::new();
            if let Some(group) = group {
                let group = subscriptions
                    .create(Kind::OperatorGroup, &group, self.dry_run)
                    .await?;
                if !self.dry_run {
                    terminal.remark(format!(
                        "made OperatorGroup {namespace}/{} for {}",
                        place(&group).1,
                        Targets::of_group(&group).told()
                    ));
                }
                made.push(group);
            }
            let subscription = subscriptions
                .create(Kind::Subscription, &subscription, self.dry_run)
                .await?;
            if self.dry_run {
                made.push(subscription);
                return self.print_dry_run(terminal, &made);
            }
            let until = match self.approval {
                Approval::Automatic => Until::Installed,
                Approval::Manual => Until::Approvable,
            };
            let followed = subscriptions
                .wait_installed(&subscription, until, self.wait, terminal)
                .await?;
            let told = told(&followed);
            self.output.print(terminal, &followed.subscription, |_| told)
        })
    }

    fn asked(&self) -> Asked<'_> {
        Asked {
            package: &self.package,
            namespace: &self.namespace,
            source: self.source.as_deref(),
            source_namespace: self.source_namespace.as_deref(),
            channel: self.channel.as_deref(),
            starting_csv: self.starting_csv.as_deref(),
            version: self.version.as_deref(),
        }
    }

    /// Which namespaces are to be watched; none if that isn't said.
    fn targets(&self) -> Result<Option<Targets>, Failure> {
        if let Some(mode) = &self.install_mode {
            return Targets::of_mode(mode, &self.namespace)
                .map(Some)
                .map_err(Failure::new);
        }
        let namespaces = comma_separated("-w, --watch-namespaces", &self.watch_namespaces)?;
        Ok((!namespaces.is_empty()).then(|| Targets::some(namespaces)))
    }

    fn print_dry_run(&self, terminal: &mut Terminal, made: &[Value]) -> Result<(), Failure> {
        let for_people = made.iter().map(yaml).collect::<Result<Vec<_>, _>>()?;
        self.output.print(terminal, made, |_| for_people.join("---\n"))
    }

    /// Makes the namespace where that is asked for; returns whether it is missing all the same, since nothing is to be made.
    async fn check_namespace(
        &self,
        subscriptions: &Subscriptions,
        terminal: &mut Terminal,
    ) -> Result<bool, Failure> {
        let namespace = self.namespace.as_str();
        if subscriptions.get(Kind::Namespace, "", namespace).await?.is_some() {
            return Ok(false);
        }
        if !self.create_namespace {
            return Err(Failure::new(format!(
                "Namespace {namespace:?} isn't there; make it with --create-namespace, or name another one with -n"
            )));
        }
        if !self.dry_run && make_namespace(subscriptions.client(), namespace).await? {
            terminal.remark(format!("made the namespace {namespace}"));
        }
        Ok(self.dry_run)
    }

    fn subscription(&self, chosen: &Chosen) -> Value {
        let naming = Kind::Subscription.naming();
        let mut spec = json!({
            "name": self.package,
            "source": chosen.source,
            "sourceNamespace": chosen.source_namespace,
            "channel": chosen.channel,
            "installPlanApproval": match self.approval {
                Approval::Automatic => "Automatic",
                Approval::Manual => "Manual",
            },
        });
        if let Some(starting) = &chosen.starting_csv {
            spec["startingCSV"] = starting.as_str().into();
        }
        json!({
            "apiVersion": naming.api_version,
            "kind": naming.kind,
            "metadata": {
                "name": self.name.as_deref().unwrap_or(&self.package),
                "namespace": self.namespace,
            },
            "spec": spec,
        })
    }
}

fn namespace_of(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// How far a Subscription is, in a line for people.
pub(super) fn told(followed: &Followed) -> String {
    let (namespace, name) = place(&followed.subscription);
    match followed.standing() {
        Standing::Done(version) => format!("{name}: {version} is installed in namespace {namespace}\n"),
        Standing::NeedsApproval { plan, versions } => {
            let installed = match text(&followed.subscription, "/status/installedCSV") {
                "" => String::new(),
                installed => format!("{installed} is installed; "),
            };
            format!(
                "{name}: {installed}InstallPlan {plan} ({}) waits; let it come with `baton classic approve {plan} -n \
                 {namespace}`\n",
                versions.join(", ")
            )
        }
        Standing::Underway(_) | Standing::Stopped(_) => {
            format!("{name}: asked for; see `baton classic status {name} -n {namespace}`\n")
        }
    }
}
