//! The controllers are killed after each of their writes, and started again: a rollout ends as if nothing had happened.

use crate::catalogs::versions;
use crate::killed_rollouts::{Rollout, survives_every_kill};
use crate::leftovers::is_tidy;
use crate::processes::Server;
use crate::reference::Reference;
use crate::scenario::{ALPHA, Scenario};

type Outcome = Result<(), String>;

/// A Subscription, and a catalog that gets a newer version.
struct Subscribed;

pub(crate) async fn a_rollout_survives_every_kill(server: Server) -> Outcome {
    survives_every_kill::<Subscribed>(server).await
}

impl Rollout for Subscribed {
    const VERSIONS: [&'static str; 2] = ["1.0.0", "1.1.0"];
    const MOST_WRITES: usize = 160;
    const USUAL_STEP: usize = 12;

    async fn prepare(told: &Scenario) -> Outcome {
        told.prepare(&versions(&["1.0.0"])).await
    }

    fn written(told: &Scenario) -> Vec<(String, String)> {
        let own = told.namespace();
        let all = |api_version: &str, kind: &str| {
            let collection = Reference::namespaced(api_version, kind, &own, "").collection();
            (collection, String::new())
        };
        let rbac = "rbac.authorization.k8s.io/v1";
        vec![
            all(ALPHA, "Subscription"),
            all(ALPHA, "InstallPlan"),
            all(ALPHA, "ClusterServiceVersion"),
            all("operators.coreos.com/v1", "OperatorGroup"),
            all("operators.coreos.com/v2", "OperatorCondition"),
            all("apps/v1", "Deployment"),
            all("v1", "ServiceAccount"),
            all("v1", "ConfigMap"),
            all(rbac, "Role"),
            all(rbac, "RoleBinding"),
        ]
    }

    async fn begin(told: &Scenario, version: &'static str) -> Outcome {
        if version == "1.0.0" {
            told.kubectl().apply(&[told.subscription("stable")]).await
        } else {
            let image = told.image("latest", &versions(&["1.0.0", version])).await;
            image.map(drop)
        }
    }

    async fn ends(told: &Scenario, version: &'static str, rollouts: usize) -> Outcome {
        told.has_version(version).await?;
        is_tidy(told, version, rollouts).await
    }
}
