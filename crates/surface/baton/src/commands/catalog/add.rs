//! `baton catalog add`: a catalog image for the cluster, and the wait until it is served.

use api::cluster_catalog::{CatalogSource, ClusterCatalog, ClusterCatalogSpec, ImageSource};
use api::condition::{self, ConditionStatus};
use api::keys;
use apply::refusal::is_already_there;
use clap::Args;
use futures_util::TryStreamExt as _;
use kube::api::{Api, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};

use crate::cluster::{ClusterAccess, FIELD_MANAGER, refused};
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// How often a tag is looked up where nothing else is said, in minutes.
const POLL_MINUTES: u32 = 10;

/// Adds a catalog image to the cluster, and waits until it is served.
#[derive(Args)]
pub(crate) struct Add {
    /// The name of the ClusterCatalog
    #[arg(value_name = "NAME")]
    name: String,
    /// The catalog image, with a tag or a digest
    #[arg(value_name = "IMAGE")]
    image: String,
    /// Whose word counts when several catalogs have a package: the highest
    #[arg(long, value_name = "NUMBER", default_value_t = 0, allow_hyphen_values = true)]
    priority: i32,
    /// How often to look whether the tag moved, in minutes; 0 is never
    #[arg(long, value_name = "MINUTES")]
    poll: Option<u32>,
    /// The Secret with the registry's password, as NAMESPACE/NAME
    #[arg(long, value_name = "SECRET")]
    pull_secret: Option<String>,
    /// A label, as KEY=VALUE, for the selectors of extensions; may be repeated
    #[arg(long, value_name = "LABEL")]
    label: Vec<String>,
    #[command(flatten)]
    wait: WaitFlags,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

impl Add {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        let catalog = self.catalog()?;
        runtime::block_on(async {
            let catalogs: Api<ClusterCatalog> = Api::all(self.access.connect().await?);
            let parameters = PostParams {
                field_manager: Some(FIELD_MANAGER.to_owned()),
                ..PostParams::default()
            };
            let made = match catalogs.create(&parameters, &catalog).await {
                Err(error) if is_already_there(&error) => {
                    return Err(Failure::new(format!(
                        "ClusterCatalog {0:?} is there already; remove it with `baton catalog remove {0}`, or choose another name",
                        self.name
                    )));
                }
                made => {
                    made.map_err(|error| refused(&format!("make ClusterCatalog {:?}", self.name), error))?
                }
            };
            if self.wait.is_declined() {
                return self.output.print(terminal, &made, told);
            }
            let waiting = wait_served(&catalogs, &self.name, terminal);
            let served = tokio::time::timeout(self.wait.patience(), waiting).await;
            let served = match served {
                Ok(served) => served?,
                Err(_) => return Err(self.unserved(&catalogs).await),
            };
            self.output.print(terminal, &served, told)
        })
    }

    /// What is said of a catalog that isn't served in time.
    async fn unserved(&self, catalogs: &Api<ClusterCatalog>) -> Failure {
        let (name, seconds) = (&self.name, self.wait.patience().as_secs());
        let seen = catalogs.get_opt(name).await.ok().flatten();
        let is_seen = seen.is_some_and(|catalog| !catalog.status.conditions.is_empty());
        Failure::new(if is_seen {
            format!(
                "ClusterCatalog {name:?} isn't served after {seconds} s; the cluster goes on trying: see `baton get catalogs \
                 {name} -o yaml`, or remove it with `baton catalog remove {name}`"
            )
        } else {
            format!(
                "no controller has looked at ClusterCatalog {name:?} for {seconds} s: is `baton controllers` running? It is \
                 served as soon as it is; `baton catalog remove {name}` takes it back"
            )
        })
    }

    fn catalog(&self) -> Result<ClusterCatalog, Failure> {
        let has_digest = self.image.contains('@');
        if has_digest && self.poll.is_some_and(|minutes| minutes > 0) {
            return Err(Failure::new(format!(
                "cannot poll {}: an image with a digest never changes; leave out --poll, or name a tag",
                self.image
            )));
        }
        let mut catalog = ClusterCatalog::new(
            &self.name,
            ClusterCatalogSpec {
                source: CatalogSource {
                    kind: "Image".to_owned(),
                    image: Some(ImageSource {
                        reference: self.image.clone(),
                        poll_interval_minutes: Some(self.poll.unwrap_or(POLL_MINUTES))
                            .filter(|minutes| *minutes > 0 && !has_digest),
                    }),
                },
                priority: self.priority,
                ..ClusterCatalogSpec::default()
            },
        );
        if let Some(secret) = &self.pull_secret {
            if !secret
                .split_once('/')
                .is_some_and(|(namespace, name)| !namespace.is_empty() && !name.is_empty())
            {
                return Err(Failure::new(format!(
                    "invalid --pull-secret {secret:?}: name the Secret with its namespace, as NAMESPACE/NAME"
                )));
            }
            let annotations = catalog.metadata.annotations.get_or_insert_default();
            annotations.insert(keys::PULL_SECRET.to_owned(), secret.clone());
        }
        for label in &self.label {
            let Some((key, value)) = label.split_once('=') else {
                return Err(Failure::new(format!(
                    "invalid --label {label:?}: write it as KEY=VALUE"
                )));
            };
            let labels = catalog.metadata.labels.get_or_insert_default();
            labels.insert(key.to_owned(), value.to_owned());
        }
        Ok(catalog)
    }
}

/// Waits until a catalog is served, and says on the way what keeps it.
pub(crate) async fn wait_served(
    catalogs: &Api<ClusterCatalog>,
    name: &str,
    terminal: &mut Terminal,
) -> Result<ClusterCatalog, Failure> {
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut changes = std::pin::pin!(
        watcher(catalogs.clone(), config)
            .default_backoff()
            .applied_objects()
    );
    let mut said = String::new();
    loop {
        let seen = changes
            .try_next()
            .await
            .map_err(|error| Failure::new(format!("cannot watch ClusterCatalog {name:?}: {error}")))?;
        let Some(catalog) = seen else {
            return Err(Failure::new(format!(
                "the watch of ClusterCatalog {name:?} ended"
            )));
        };
        let conditions = &catalog.status.conditions;
        if condition::is_true(conditions, "Serving") {
            return Ok(catalog);
        }
        let Some(progressing) = condition::find(conditions, "Progressing") else {
            continue;
        };
        if progressing.status == ConditionStatus::False {
            return Err(Failure::new(format!(
                "ClusterCatalog {name:?}: {}: {}; change it, or remove it with `baton catalog remove {name}`",
                progressing.reason, progressing.message
            )));
        }
        if progressing.message != said {
            terminal.remark(format!("{}: {}", progressing.reason, progressing.message));
            said.clone_from(&progressing.message);
        }
    }
}

fn told(catalog: &ClusterCatalog) -> String {
    let name = catalog.metadata.name.as_deref().unwrap_or_default();
    match catalog.resolved_reference() {
        Some(reference) => format!("{name}: serves {reference}\n"),
        None => format!("{name}: asked for; see `baton get catalogs {name}`\n"),
    }
}
