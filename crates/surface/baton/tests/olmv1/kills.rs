//! The controllers are killed after each of their writes, and started again: a rollout ends as if nothing had happened.

use crate::bundles::definition_name;
use crate::killed_rollouts::{Rollout, survives_every_kill};
use crate::leftovers::is_tidy;
use crate::processes::Server;
use crate::scenario::Scenario;
use crate::update::versions;

type Outcome = Result<(), String>;

/// An extension that is pinned to one version after the other.
struct Pinned;

pub(crate) async fn a_rollout_survives_every_kill(server: Server) -> Outcome {
    survives_every_kill::<Pinned>(server).await
}

impl Rollout for Pinned {
    const VERSIONS: [&'static str; 2] = ["1.0.0", "1.0.1"];
    const MOST_WRITES: usize = 120;

    /// The tests of the crates `apply` and `extension-controller` kill at every write within one process.
    const USUAL_STEP: usize = 8;

    async fn prepare(told: &Scenario) -> Outcome {
        told.prepare(&versions()).await
    }

    fn written(told: &Scenario) -> Vec<(String, String)> {
        let namespace = told.namespace();
        let owned = format!(
            "labelSelector=olm.operatorframework.io/owner-name%3D{}",
            told.name()
        );
        let named = |name: &str| format!("fieldSelector=metadata.name%3D{name}");
        let olm = "/apis/olm.operatorframework.io/v1";
        vec![
            (format!("{olm}/clusterextensions"), named(&told.name())),
            (format!("{olm}/clusterobjectsets"), owned.clone()),
            (
                format!("/api/v1/namespaces/{}/secrets", crate::world::SYSTEM_NAMESPACE),
                owned.clone(),
            ),
            (
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(),
                named(&definition_name(&told.id)),
            ),
            (
                format!("/api/v1/namespaces/{namespace}/configmaps"),
                owned.clone(),
            ),
            (
                format!("/api/v1/namespaces/{namespace}/serviceaccounts"),
                owned.clone(),
            ),
            (format!("/apis/apps/v1/namespaces/{namespace}/deployments"), owned),
        ]
    }

    async fn begin(told: &Scenario, version: &'static str) -> Outcome {
        let applied = told.apply(&told.extension().version(version)).await;
        applied.map(drop)
    }

    async fn ends(told: &Scenario, version: &'static str, rollouts: usize) -> Outcome {
        told.is_installed(&told.reference()).await?;
        told.has_version(version).await?;
        is_tidy(told, rollouts).await
    }
}
