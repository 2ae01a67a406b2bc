//! What pages ask of those who decide.

use std::sync::Arc;

use api::{ClusterCatalog, ClusterExtension};
use apply::engine::Engine;
use catalog::store::Store;
use extension_controller::catalogs::{Catalogs, ContentError};
use extension_controller::explaining::{Explained, explained};
use extension_controller::index::Index;
use extension_controller::observing::Observer;
use extension_controller::planning::{PlanError, Planned, plan};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

/// What pages ask of those who decide; an observer of the extension controller has all the answers.
pub(crate) trait Insight: Send + Sync {
    /// Returns what is known of extensions, revisions and catalogs.
    fn index(&self) -> &Index;

    /// Returns the content of a catalog.
    fn content<'a>(&'a self, catalog: &'a ClusterCatalog) -> BoxFuture<'a, Result<Arc<Store>, ContentError>>;

    /// Says what the controller would do now.
    fn plan<'a>(
        &'a self,
        engine: &'a Engine,
        extension: &'a ClusterExtension,
    ) -> BoxFuture<'a, Result<Planned, PlanError>>;

    /// Says why an extension has its version.
    fn explain<'a>(&'a self, extension: &'a ClusterExtension) -> BoxFuture<'a, Result<Explained, String>>;
}

impl<C: Catalogs> Insight for Observer<C> {
    fn index(&self) -> &Index {
        &self.index
    }

    fn content<'a>(&'a self, catalog: &'a ClusterCatalog) -> BoxFuture<'a, Result<Arc<Store>, ContentError>> {
        self.catalogs.content(catalog).boxed()
    }

    fn plan<'a>(
        &'a self,
        engine: &'a Engine,
        extension: &'a ClusterExtension,
    ) -> BoxFuture<'a, Result<Planned, PlanError>> {
        plan(self, engine, extension).boxed()
    }

    fn explain<'a>(&'a self, extension: &'a ClusterExtension) -> BoxFuture<'a, Result<Explained, String>> {
        async move { explained(&self.observe(extension).await) }.boxed()
    }
}
