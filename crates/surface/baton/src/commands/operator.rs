//! `baton operator`: a Helm operator, in place of the Operator Framework's helm-operator.

mod readiness;
mod serving;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use duty::fence::Fence;
use duty::leader::Tenure;
use helm_operator::blueprint::Blueprint;
use helm_operator::controller::Controller;
use helm_operator::roster::{self, Roster};
use helm_operator::routing::Operator as RunningOperator;
use helm_operator::watches;
use helm_operator::world::Making;
use tokio::sync::watch;
use tracing_subscriber::Layer as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::cluster::ClusterAccess;
use crate::failure::Failure;
use crate::leadership::{self, TermMetrics, becomes_true};
use crate::logging;
use crate::runtime;
use crate::startup_code;
use crate::tenure;
use crate::terminal::Terminal;
use readiness::Readiness;

/// Who owns the fields of what the operator makes: the name that the real one has, so that both can follow each other.
const FIELD_MANAGER: &str = "helm-operator";

/// How long a Lease lasts that isn't renewed: shorter than the real operator's, so that another replica is at work within 15 s.
const LEASE_LASTS: Duration = Duration::from_secs(11);

/// How many revisions of a release are kept, as the real operator does.
const HISTORY: usize = 10;

/// Runs a Helm operator: custom resources become releases of a chart.
#[derive(Subcommand)]
pub(crate) enum OperatorCommand {
    Run(Box<Run>),
}

/// Looks after the custom resources that a watches file names, until it is stopped.
#[derive(Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub(crate) struct Run {
    /// The watches file: which kinds, with which charts
    #[arg(long, value_name = "FILE", default_value = "./watches.yaml")]
    watches_file: PathBuf,
    /// How often a resource is looked at although nothing changed, where its chart looks at the cluster or its objects
    /// aren't watched
    #[arg(long, value_name = "DURATION", default_value = "1m0s", value_parser = chart::go_duration::parse)]
    reconcile_period: Duration,
    /// How many resources of a kind are looked at at the same time; 0 is as many as the machine has cores
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    max_concurrent_reconciles: usize,
    /// Where metrics are served; 0 is nowhere
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = ":8080",
        conflicts_with = "metrics_addr"
    )]
    metrics_bind_address: String,
    /// The older name of --metrics-bind-address
    #[arg(long, value_name = "ADDRESS", hide = true)]
    metrics_addr: Option<String>,
    /// Serve metrics with TLS
    #[arg(long)]
    metrics_secure: bool,
    /// Serve metrics only to those whom the cluster allows to read them; needs --metrics-secure
    #[arg(long)]
    metrics_require_rbac: bool,
    /// Where it is told whether the operator is well; 0 is nowhere
    #[arg(long, value_name = "ADDRESS", default_value = ":8081")]
    health_probe_bind_address: String,
    /// Work only while no other replica does
    #[arg(long)]
    leader_elect: bool,
    /// The older name of --leader-elect
    #[arg(long, hide = true)]
    enable_leader_election: bool,
    /// The name of the Lease that says which replica works
    #[arg(long, value_name = "NAME")]
    leader_election_id: Option<String>,
    /// The namespace of that Lease; without it, the operator's own
    #[arg(long, value_name = "NAMESPACE")]
    leader_election_namespace: Option<String>,
    /// Serve HTTP/2 too
    #[arg(long)]
    enable_http2: bool,
    /// Leave the values that the operator sets out of events
    #[arg(long)]
    suppress_override_values: bool,
    /// Write logs for a person at a terminal
    #[arg(long)]
    zap_devel: bool,
    /// How much is told on standard error: debug, info, error, or a number that is higher the more is told
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = log_level)]
    zap_log_level: tracing::Level,
    /// How logs are written
    #[arg(long, value_enum, value_name = "FORMAT")]
    zap_encoder: Option<LogFormat>,
    /// From which level on logs have a stack trace; baton's have none
    #[arg(long, value_name = "LEVEL", hide = true)]
    zap_stacktrace_level: Option<String>,
    /// How times are written in logs; baton's are always RFC 3339
    #[arg(long, value_name = "FORMAT", hide = true)]
    zap_time_encoding: Option<String>,
    #[command(flatten)]
    access: ClusterAccess,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    Json,
    Console,
}

fn log_level(text: &str) -> Result<tracing::Level, String> {
    match text {
        "debug" => Ok(tracing::Level::DEBUG),
        "info" => Ok(tracing::Level::INFO),
        "warn" => Ok(tracing::Level::WARN),
        "error" | "panic" => Ok(tracing::Level::ERROR),
        number => match number.parse::<u32>() {
            Ok(1) => Ok(tracing::Level::DEBUG),
            Ok(more) if more > 1 => Ok(tracing::Level::TRACE),
            _ => Err("it must be debug, info, error or a number above 0".to_owned()),
        },
    }
}

impl OperatorCommand {
    pub(crate) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        match self {
            Self::Run(run) => run.run(terminal),
        }
    }
}

impl Run {
    fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        if self.metrics_require_rbac && !self.metrics_secure {
            return Err(Failure::new(
                "--metrics-require-rbac needs --metrics-secure: a token must not be sent in the open"
                    .to_owned(),
            ));
        }
        self.start_log();
        let watches = watches::load(&self.watches_file, &chart::environment::of_process())
            .map_err(|fault| Failure::new(fault.to_string()))?;
        if watches.is_empty() {
            return Err(Failure::new(format!(
                "{} names no kind; add one with group, version, kind and chart",
                self.watches_file.display()
            )));
        }
        let blueprints = watches.into_iter().map(Blueprint::load);
        let blueprints: Result<Vec<Arc<Blueprint>>, _> =
            blueprints.map(|blueprint| blueprint.map(Arc::new)).collect();
        let blueprints = blueprints.map_err(|fault| Failure::new(fault.to_string()))?;
        runtime::block_on(self.work(blueprints, terminal))
    }

    fn start_log(&self) {
        let for_person = self.zap_devel || std::io::stderr().is_terminal();
        let format = self.zap_encoder.unwrap_or(if for_person {
            LogFormat::Console
        } else {
            LogFormat::Json
        });
        let level = if self.zap_devel {
            self.zap_log_level.max(tracing::Level::DEBUG)
        } else {
            self.zap_log_level
        };
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal());
        let lines = match format {
            LogFormat::Json => lines.json().flatten_event(true).boxed(),
            LogFormat::Console => lines.with_target(false).boxed(),
        };
        tracing_subscriber::registry()
            .with(lines.with_filter(logging::up_to(level)))
            .init();
    }

    async fn work(self, blueprints: Vec<Arc<Blueprint>>, terminal: &mut Terminal) -> Result<(), Failure> {
        let stop = runtime::stop_signal()?;
        let connection = self.access.connection().await?;
        let client = connection.client.clone();
        let namespace = self.namespace(&client);
        let identity = self.identity(&blueprints);
        let namespaces = watched_namespaces();
        let mine: Vec<RunningOperator> = blueprints
            .iter()
            .map(|blueprint| RunningOperator::of(blueprint, &namespaces))
            .collect();
        for blueprint in &blueprints {
            tracing::info!(
                gvk = %blueprint.watch.kind,
                chart = %blueprint.watch.chart.display(),
                version = blueprint.version(),
                "configured watch"
            );
        }
        let is_elected = self.leader_elect || self.enable_leader_election;
        let fence = Fence::closed();
        let lease = self.leader_election_id.as_deref().unwrap_or(&identity);
        let place = self.leader_election_namespace.as_deref().unwrap_or(&namespace);
        let tenure = tenure::of(place, &lease_name(lease), LEASE_LASTS);
        // Whoever leads is known by the Lease for which it was elected.
        let (labels, annotations) = roster::marks(&mine);
        let tenure = Tenure {
            labels,
            annotations,
            ..tenure
        };
        let guarded = if is_elected {
            connection.guarded(&fence, tenure.settles_within())?
        } else {
            client.clone()
        };
        let make_controller = || {
            Controller::new(
                Making {
                    client: guarded.clone(),
                    manager: FIELD_MANAGER.to_owned(),
                    blueprints: blueprints.clone(),
                    roster: if is_elected {
                        Roster::of_election(&tenure.namespace, &tenure.lease, mine.clone())
                    } else {
                        Roster::new(&namespace, &identity, mine.clone())
                    },
                    namespaces: namespaces.clone(),
                    reconcile_period: self.reconcile_period,
                    suppress_override_values: self.suppress_override_values,
                    history_limit: HISTORY,
                },
                self.workers(),
            )
        };
        let controller = make_controller();
        let metrics = TermMetrics::new(controller.metrics());
        let told = metrics.clone();
        let leads = watch::Sender::new(!is_elected);
        let readiness = Readiness::new(&tenure, leads.subscribe(), controller.watches_are_read());
        let asked = readiness.clone();
        let serving = serving::start(&self, &client, move || told.text(), move || asked.answer()).await?;
        if let Some(address) = &serving.metrics_address {
            terminal.remark(format!("metrics are served at {address}"));
        }
        startup_code::give_back_as_work_begins();
        let (say_stop, stopped) = watch::channel(false);
        tokio::spawn(async move {
            stop.await;
            tracing::info!("stopping");
            say_stop.send_replace(true);
        });
        if is_elected {
            let work = |over| {
                let controller = make_controller();
                metrics.replace(controller.metrics());
                readiness.follow(controller.watches_are_read());
                Box::pin(async move { controller.run(becomes_true(over)).await })
            };
            leadership::hold(&client, &tenure, &fence, &leads, &stopped, work).await;
        } else {
            controller.run(becomes_true(stopped)).await;
        }
        serving.stop().await;
        Ok(())
    }

    fn workers(&self) -> usize {
        match self.max_concurrent_reconciles {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            number => number,
        }
    }

    /// The namespace that the operator lives in: where its pod is, or where the kubeconfig points.
    fn namespace(&self, client: &kube::Client) -> String {
        self.leader_election_namespace
            .clone()
            .or_else(|| std::env::var("POD_NAMESPACE").ok())
            .filter(|namespace| !namespace.is_empty())
            .unwrap_or_else(|| client.default_namespace().to_owned())
    }

    /// What tells this operator from others, and from its other versions: its Lease, the older variable, or what it watches
    /// with which chart.
    fn identity(&self, blueprints: &[Arc<Blueprint>]) -> String {
        let from_environment = || {
            std::env::var("OPERATOR_NAME")
                .ok()
                .filter(|name| !name.is_empty())
        };
        self.leader_election_id
            .clone()
            .or_else(from_environment)
            .unwrap_or_else(|| {
                let parts: Vec<String> = blueprints
                    .iter()
                    .map(|blueprint| {
                        let selector = serde_json::to_string(&blueprint.watch.selector).unwrap_or_default();
                        format!(
                            "{} {} {} {selector}",
                            blueprint.watch.kind,
                            blueprint.chart.metadata.name,
                            blueprint.version()
                        )
                    })
                    .collect();
                parts.join(";")
            })
    }
}

/// A name that a Lease can have.
fn lease_name(identity: &str) -> String {
    let plain: String = identity
        .to_lowercase()
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() || character == '.' {
                character
            } else {
                '-'
            }
        })
        .take(200)
        .collect();
    plain.trim_matches(['-', '.']).to_owned()
}

/// The namespaces that the environment names; none are all.
fn watched_namespaces() -> Vec<String> {
    let names = std::env::var("WATCH_NAMESPACE").unwrap_or_default();
    names
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}
