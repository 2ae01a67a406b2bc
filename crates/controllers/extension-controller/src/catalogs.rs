//! Where the content of catalogs comes from.

pub mod http;

use std::sync::Arc;

use api::ClusterCatalog;
use catalog::store::Store;
use gotemplate::format::quoted;
use thiserror::Error;

/// Gives the content of catalogs that are being served.
pub trait Catalogs: Send + Sync + 'static {
    /// Returns the content that the status of a catalog names.
    fn content(
        &self,
        catalog: &ClusterCatalog,
    ) -> impl Future<Output = Result<Arc<Store>, ContentError>> + Send;
}

/// Several may ask the same source.
impl<C: Catalogs> Catalogs for Arc<C> {
    async fn content(&self, catalog: &ClusterCatalog) -> Result<Arc<Store>, ContentError> {
        self.as_ref().content(catalog).await
    }
}

/// There is no content of a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ContentError {
    /// The catalog says itself that it isn't served.
    #[error("catalog {} is not being served", quoted(.0))]
    NotServed(String),
    /// The content that is there isn't the one that the catalog names, or there is none yet.
    #[error("cache for catalog {} not found", quoted(.0))]
    NotFound(String),
    /// It can't be fetched or kept.
    #[error("error fetching catalog contents for catalog {}: {cause}", quoted(.catalog))]
    NotFetched {
        /// The catalog.
        catalog: String,
        /// Why.
        cause: String,
    },
}
