//! `baton catalog remove`: a catalog that the cluster doesn't use any more.

use api::cluster_catalog::ClusterCatalog;
use clap::Args;
use kube::api::{Api, DeleteParams};

use crate::cluster::{ClusterAccess, refused};
use crate::failure::Failure;
use crate::runtime;
use crate::terminal::Terminal;

/// Removes a catalog from the cluster; what was installed from it stays.
#[derive(Args)]
pub(crate) struct Remove {
    /// The name of the ClusterCatalog
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    access: ClusterAccess,
}

impl Remove {
    pub(super) fn run(self, terminal: &mut Terminal) -> Result<(), Failure> {
        runtime::block_on(async {
            let catalogs: Api<ClusterCatalog> = Api::all(self.access.connect().await?);
            catalogs
                .delete(&self.name, &DeleteParams::default())
                .await
                .map_err(|error| refused(&format!("delete ClusterCatalog {:?}", self.name), error))?;
            terminal.remark(format!(
                "{} is removed; what was installed from it stays, and gets no new versions from it",
                self.name
            ));
            Ok(())
        })
    }
}
