//! The work of OLM v0 as those see it who watch over it: traces at a collector.

use std::collections::BTreeSet;

use crate::catalogs::versions;
use crate::collector::Collected;
use crate::faults::alone_with;
use crate::processes::Server;

/// An operator is installed, and every step of that is in the traces.
pub(crate) async fn work_is_traced(server: Server) -> Result<(), String> {
    let (collected, endpoint) = Collected::start().await?;
    let told = alone_with(server, "traced", &["--otlp-endpoint", &endpoint]).await?;
    told.prepare(&versions(&["1.0.0"])).await?;
    told.kubectl().apply(&[told.subscription("stable")]).await?;
    told.has_version("1.0.0").await?;
    // What isn't sent yet is sent at the end.
    told.world.controllers.stop().await?;
    let (namespace, version) = (told.namespace(), told.version("1.0.0").name);
    collected.tell_of(&[
        ("reconcile", "Namespace", &namespace),
        ("reconcile", "CatalogSource", "catalog"),
        ("reconcile", "Subscription", ""),
        ("reconcile", "InstallPlan", "install-"),
        ("reconcile", "ClusterServiceVersion", &version),
        ("pull", "", ""),
        ("resolve", "", ""),
        ("apply", "", ""),
    ])?;
    if collected.services() == BTreeSet::from(["baton".to_owned()]) {
        Ok(())
    } else {
        Err(format!("traces come from {:?}", collected.services()))
    }
}
