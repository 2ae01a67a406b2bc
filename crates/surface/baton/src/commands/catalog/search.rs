//! `baton catalog search`: the packages that a cluster's catalogs have.

use api::ClusterCatalog;
use catalog::store::Store;
use clap::Args;
use extension_controller::catalogs::Catalogs as _;
use kube::ResourceExt as _;
use resolve::package::{Bundle, Package, Releases};
use resolve::resolution::preference;
use serde::Serialize;
use serde_json::Value;

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
            let mut found = Vec::new();
            for catalog in observer.index.catalogs() {
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
                terminal.remark("no package was found; `baton catalog list` shows the catalogs, `baton catalog add` adds one");
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
        let text = self.text.as_ref().map(|text| text.to_lowercase());
        let mut found = Vec::new();
        for meta in store.packages() {
            let described: Value = serde_json::from_slice(meta.blob()?)?;
            let holds = |field: &str, text: &str| {
                described[field]
                    .as_str()
                    .is_some_and(|value| value.to_lowercase().contains(text))
            };
            if text
                .as_ref()
                .is_some_and(|text| !holds("name", text) && !holds("description", text))
            {
                continue;
            }
            let Some(package) = Package::read(store, meta.name(), Releases::Stated)? else {
                continue;
            };
            let best = package
                .bundles
                .iter()
                .min_by(|one, other| preference(&package, one, other));
            found.push(Found {
                package: meta.name().to_owned(),
                catalog: catalog.name_any(),
                default_channel: described["defaultChannel"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                channels: package
                    .channels
                    .iter()
                    .map(|channel| channel.name.clone())
                    .collect(),
                latest: best.map(version_text).unwrap_or_default(),
                versions: package.bundles.len(),
            });
        }
        Ok(found)
    }
}

fn version_text(bundle: &Bundle) -> String {
    match &bundle.version {
        Ok(version) => version.to_build_metadata().to_string(),
        Err(_) => String::new(),
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
