//! The example, shown at work: three versions published, its operator installed, and a custom resource made.
//!
//! Everything that is there already is left as it is, so that a second start shows how far the first one came, with what
//! its user changed since.

mod example;
mod publishing;
mod resource;

use api::cluster_catalog::{CatalogSource, ClusterCatalog, ClusterCatalogSpec, ImageSource};
use api::cluster_extension::{CatalogFilter, ClusterExtension, ClusterExtensionSpec, ExtensionSource};
use kube::Client;
use kube::api::{Api, Patch, PatchParams};

use super::running::Running;
use crate::cluster::{make_namespace, refused};
use crate::commands::catalog::add::wait_served;
use crate::commands::install::only_catalog;
use crate::commands::status;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// The name of the catalog.
const CATALOG: &str = "inference-stack";

/// The name of the extension.
pub(super) const EXTENSION: &str = "inference-stack";

/// The namespace of the operator.
const OPERATOR_NAMESPACE: &str = "inference-stack-system";

/// The channel that leads to the newest version.
const CHANNEL: &str = "fast-v2";

/// How often it is looked whether the catalog's tag moved, in minutes: whoever publishes a version wants to see it come.
const POLL_MINUTES: u32 = 1;

/// Who writes the catalog, as managed fields name it.
const FIELD_MANAGER: &str = "baton";

/// Shows the example until everything in it is ready.
pub(super) async fn show(running: &Running, terminal: &mut Terminal) -> Result<(), Failure> {
    let client = &running.client;
    publish(running, terminal).await?;
    install(client, terminal).await?;
    status::follow(client, EXTENSION, terminal).await?;
    resource::follow(client, terminal).await?;
    terminal.remark(format!(
        "the demonstration is ready: an InferenceStack in namespace {}, looked after by the operator in namespace \
         {OPERATOR_NAMESPACE}",
        resource::NAMESPACE
    ));
    Ok(())
}

/// Publishes the versions, unless the cluster has the catalog with their names in it already.
async fn publish(running: &Running, terminal: &mut Terminal) -> Result<(), Failure> {
    let client = &running.client;
    let registry = running.registry_host();
    let catalogs: Api<ClusterCatalog> = Api::all(client.clone());
    let known = catalogs
        .get_opt(CATALOG)
        .await
        .map_err(|error| refused(&format!("read ClusterCatalog {CATALOG:?}"), error))?;
    let image = |catalog: &ClusterCatalog| Some(catalog.spec.source.image.as_ref()?.reference.clone());
    // It was made when everything was published; under another address the images would have other names.
    if known.as_ref().and_then(image) != Some(publishing::catalog_image(&registry)) {
        let versions: Vec<&str> = example::VERSIONS.iter().map(|one| one.version).collect();
        terminal.remark(format!("publishing {} of the example", versions.join(", ")));
        let reference = publishing::publish(&registry, running.registry_password.clone()).await?;
        let catalog = ClusterCatalog::new(
            CATALOG,
            ClusterCatalogSpec {
                source: CatalogSource {
                    kind: "Image".to_owned(),
                    image: Some(ImageSource {
                        reference,
                        poll_interval_minutes: Some(POLL_MINUTES),
                    }),
                },
                ..ClusterCatalogSpec::default()
            },
        );
        catalogs
            .patch(
                CATALOG,
                &PatchParams::apply(FIELD_MANAGER).force(),
                &Patch::Apply(&catalog),
            )
            .await
            .map_err(|error| refused(&format!("write ClusterCatalog {CATALOG:?}"), error))?;
    }
    wait_served(&catalogs, CATALOG, terminal).await.map(drop)
}

/// Installs the operator, unless it is there.
async fn install(client: &Client, terminal: &mut Terminal) -> Result<(), Failure> {
    let extensions = Extensions::of(client.clone());
    let known = extensions.all().await?;
    if known
        .iter()
        .any(|extension| extension.metadata.name.as_deref() == Some(EXTENSION))
    {
        return Ok(());
    }
    terminal.remark(format!("installing {} from channel {CHANNEL}", example::IMAGE));
    make_namespace(client, OPERATOR_NAMESPACE).await?;
    let extension = ClusterExtension::new(
        EXTENSION,
        ClusterExtensionSpec {
            namespace: OPERATOR_NAMESPACE.to_owned(),
            source: ExtensionSource {
                source_type: "Catalog".to_owned(),
                catalog: Some(CatalogFilter {
                    package_name: example::IMAGE.to_owned(),
                    channels: vec![CHANNEL.to_owned()],
                    selector: Some(only_catalog(CATALOG)),
                    ..CatalogFilter::default()
                }),
            },
            ..ClusterExtensionSpec::default()
        },
    );
    extensions.create(&extension, false).await.map(drop)
}
