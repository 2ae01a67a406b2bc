//! `baton catalog remove`: a catalog that the cluster doesn't use any more.

use api::cluster_catalog::ClusterCatalog;
use clap::Args;
use kube::api::{Api, DeleteParams};

use crate::catalogs;
use crate::cluster::{ClusterAccess, refused};
use crate::failure::Failure;
use crate::output::OutputFlag;
use crate::runtime;
use crate::terminal::Terminal;
use crate::waiting::WaitFlags;

/// Removes a catalog from the cluster, and waits until it is gone; what was installed from it stays.
#[derive(Args)]
pub(crate) struct Remove {
    /// The name of the ClusterCatalog
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    wait: WaitFlags,
    #[command(flatten)]
    access: ClusterAccess,
    #[command(flatten)]
    output: OutputFlag,
}

impl Remove {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let catalogs: Api<ClusterCatalog> = Api::all(self.access.connect().await?);
            let catalog = match catalogs.get_opt(&self.name).await {
                Ok(Some(catalog)) => catalog,
                Ok(None) => return Err(catalogs::unknown(&catalogs, &self.name).await?),
                Err(error) => return Err(refused(&format!("read ClusterCatalog {:?}", self.name), error)),
            };
            catalogs
                .delete(&self.name, &DeleteParams::default())
                .await
                .map_err(|error| refused(&format!("delete ClusterCatalog {:?}", self.name), error))?;
            self.wait_gone(catalogs).await?;
            self.output.print(terminal, &catalog, |_| {
                format!(
                    "{} is removed; what was installed from it stays, and gets no new versions from it\n",
                    self.name
                )
            })
        })
    }

    async fn wait_gone(&self, catalogs: Api<ClusterCatalog>) -> Result<(), Failure> {
        if self.wait.is_declined() {
            return Ok(());
        }
        let name = &self.name;
        let is_gone = |catalog: Option<&ClusterCatalog>| catalog.is_none();
        let gone = kube::runtime::wait::await_condition(catalogs, name, is_gone);
        match tokio::time::timeout(self.wait.patience(), gone).await {
            Ok(ended) => ended
                .map(drop)
                .map_err(|error| Failure::new(format!("cannot watch ClusterCatalog {name:?}: {error}"))),
            Err(_) => Err(Failure::new(format!(
                "ClusterCatalog {name:?} isn't gone after {} s: is `baton controllers` running? It goes as soon as it is",
                self.wait.patience().as_secs()
            ))),
        }
    }
}
