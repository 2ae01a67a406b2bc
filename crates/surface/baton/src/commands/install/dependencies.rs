//! What a package needs, installed before it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use api::cluster_extension::{CatalogFilter, ClusterExtensionSpec, ExtensionSource};
use api::{ClusterCatalog, ClusterExtension};
use extension_controller::catalogs::Catalogs as _;
use extension_controller::observing::{labels_of, selection};
use extension_controller::snapshot::request;
use gotemplate::format::quoted;
use kube::ResourceExt as _;
use resolve::package::{Package, Releases};
use resolve::plan::{Install, Offers, plan};
use resolve::resolution::{BrokenCatalogs, Offer, OfferState};
use serde_json::json;

use super::only_catalog;
use crate::cluster::{make_namespace, refused};
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::observed_cluster::{self, ObservationFlags};
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// Plans what an extension needs, shows it, and installs it unless it is only tried.
pub(super) async fn install(
    extension: &ClusterExtension,
    observation: &ObservationFlags,
    wait: WaitFlags,
    try_only: bool,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let observer = observed_cluster::observe(observation, terminal).await?;
    let inventory = observer
        .whole_inventory()
        .await
        .map_err(|error| refused("ask the cluster for its kinds", error))?;
    let selection = selection(extension).map_err(Failure::new)?;
    let mut read: Vec<(String, i32, BTreeMap<String, Package>)> = Vec::new();
    for catalog in observer.index.catalogs() {
        if !selection.includes(&labels_of(&catalog)) {
            continue;
        }
        match observer.catalogs.content(&catalog).await {
            Ok(store) => read.push((
                catalog.name_any(),
                catalog.spec.priority,
                packages(&catalog, &store)?,
            )),
            Err(error) => terminal.remark(error),
        }
    }
    let mut offers: Offers<'_> = BTreeMap::new();
    for (catalog, priority, packages) in &read {
        for (name, package) in packages {
            offers.entry(name.clone()).or_default().push(Offer {
                catalog,
                priority: *priority,
                state: OfferState::Read(Some(package)),
            });
        }
    }
    let request = request(extension, None)?;
    let planned = plan(&request, &offers, &inventory, BrokenCatalogs::Skip)?;
    for install in &planned {
        terminal.remark(told(install));
    }
    if try_only {
        return Ok(());
    }
    let extensions = Extensions::of(observer.client.clone());
    let known = observer.index.extensions();
    // The last one is the package itself, which the caller makes.
    for install in planned
        .iter()
        .filter(|install| install.package != request.package)
    {
        let version = install.version.to_build_metadata().to_string();
        let existing = known
            .iter()
            .find(|known| package_of(known) == Some(install.package.as_str()));
        let wanted = if let Some(existing) = existing {
            let change = json!({"spec": {"source": {"catalog": {"version": version}}}});
            extensions.change(&existing.name_any(), &change).await?
        } else {
            make_namespace(&observer.client, &install.package).await?;
            extensions.create(&dependency(install, version), false).await?
        };
        extensions.wait_installed(&wanted, wait, terminal).await?;
    }
    Ok(())
}

fn packages(
    catalog: &ClusterCatalog,
    store: &catalog::store::Store,
) -> Result<BTreeMap<String, Package>, Failure> {
    let mut packages = BTreeMap::new();
    for meta in store.packages() {
        let read = Package::read(store, meta.name(), Releases::Stated).map_err(|error| {
            Failure::new(format!(
                "cannot read package {:?} of catalog {:?}: {error}",
                meta.name(),
                catalog.name_any()
            ))
        })?;
        packages.extend(read.map(|package| (meta.name().to_owned(), package)));
    }
    Ok(packages)
}

fn package_of(extension: &ClusterExtension) -> Option<&str> {
    let catalog = extension.spec.source.catalog.as_ref()?;
    Some(&catalog.package_name)
}

fn dependency(install: &Install<'_>, version: String) -> ClusterExtension {
    ClusterExtension::new(
        &install.package,
        ClusterExtensionSpec {
            namespace: install.package.clone(),
            source: ExtensionSource {
                source_type: "Catalog".to_owned(),
                catalog: Some(CatalogFilter {
                    package_name: install.package.clone(),
                    version,
                    selector: Some(only_catalog(install.catalog)),
                    ..CatalogFilter::default()
                }),
            },
            ..ClusterExtensionSpec::default()
        },
    )
}

fn told(install: &Install<'_>) -> String {
    let mut text = format!(
        "installs {} {} from catalog {}",
        install.package,
        install.version.to_build_metadata(),
        install.catalog
    );
    if let Some(before) = &install.replaces {
        let _ = write!(text, ", in place of {before}");
    }
    if !install.needed_by.is_empty() {
        let by: Vec<String> = install.needed_by.iter().map(quoted).collect();
        let _ = write!(text, ", which {} needs", by.join(", "));
    }
    text
}
