//! `baton catalog search`: the packages that a cluster's catalogs have.

use api::ClusterCatalog;
use catalog::store::Store;
use clap::Args;
use extension_controller::catalogs::Catalogs as _;
use kube::ResourceExt as _;
use resolve::package::{Package, Releases};
use resolve::search::{hits, latest};
use serde::Serialize;

use crate::catalogs;
use crate::failure::Failure;
use crate::observed_cluster::{self, ObservationFlags};
use crate::output::{OutputFlag, columns};
use crate::runtime;
use crate::terminal::Terminal;

/// Finds packages in the catalogs of the cluster.
#[derive(Args)]
pub(crate) struct Search {
    /// What the name or the description must contain; without it, all packages are printed
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    /// Only in this catalog
    #[arg(long, value_name = "CATALOG")]
    catalog: Option<String>,
    #[command(flatten)]
    observation: ObservationFlags,
    #[command(flatten)]
    output: OutputFlag,
}

/// A package that was found.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    package: String,
    catalog: String,
    default_channel: String,
    channels: Vec<String>,
    /// The version that would be installed where nothing is.
    latest: String,
    versions: usize,
}

impl Search {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let observer = observed_cluster::observe(&self.observation, terminal).await?;
            let known = observer.index.catalogs();
            let names: Vec<String> = known.iter().map(|catalog| catalog.name_any()).collect();
            if let Some(wanted) = self.catalog.as_ref().filter(|wanted| !names.contains(wanted)) {
                return Err(catalogs::not_among(wanted, &names));
            }
            let mut found = Vec::new();
            for catalog in known {
                let name = catalog.name_any();
                if self.catalog.as_ref().is_some_and(|wanted| *wanted != name) {
                    continue;
                }
                match observer.catalogs.content(&catalog).await {
                    Ok(store) => found.extend(self.find(&catalog, &store)?),
                    // One catalog that can't be read doesn't hide the others.
                    Err(error) => terminal.remark(error),
                }
            }
            found.sort_by(|one, other| (&one.package, &one.catalog).cmp(&(&other.package, &other.catalog)));
            if found.is_empty() {
                terminal.remark(match (names.is_empty(), &self.text) {
                    (true, _) => "there is no catalog yet; `baton catalog add` adds one".to_owned(),
                    (false, None) => "no package was found; `baton catalog list` shows how the catalogs are".to_owned(),
                    (false, Some(text)) => format!(
                        "no package has {text:?} in its name or description; `baton catalog search` shows all, `baton catalog add` \
                         adds a catalog"
                    ),
                });
            }
            self.output.print(terminal, &found, |found| {
                if found.is_empty() {
                    String::new()
                } else {
                    table(found)
                }
            })
        })
    }

    fn find(&self, catalog: &ClusterCatalog, store: &Store) -> Result<Vec<Found>, Failure> {
        let mut found = Vec::new();
        for hit in hits(store, self.text.as_deref().unwrap_or_default())? {
            let Some(package) = Package::read(store, &hit.package, Releases::Stated)? else {
                continue;
            };
            found.push(Found {
                package: hit.package,
                catalog: catalog.name_any(),
                default_channel: hit.default_channel,
                channels: package
                    .channels
                    .iter()
                    .map(|channel| channel.name.clone())
                    .collect(),
                latest: latest(&package),
                versions: package.bundles.len(),
            });
        }
        Ok(found)
    }
}

fn table(found: &[Found]) -> String {
    let mut rows = vec![
        ["PACKAGE", "CATALOG", "LATEST", "VERSIONS", "DEFAULT CHANNEL"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(found.iter().map(|one| {
        vec![
            one.package.clone(),
            one.catalog.clone(),
            one.latest.clone(),
            one.versions.to_string(),
            one.default_channel.clone(),
        ]
    }));
    columns(&rows)
}
