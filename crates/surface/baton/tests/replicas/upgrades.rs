//! What is upgraded again and again: a `ClusterExtension`, and a `Subscription`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::bundles::Contents;
use crate::catalogs;
use crate::images::Entry;
use crate::leftovers;
use crate::reference::Reference;
use crate::scenario::Scenario;
use crate::world::World;

const ALPHA: &str = "operators.coreos.com/v1alpha1";

/// The versions of an extension's package, each of which may follow each other one.
const VERSIONS: [&str; 3] = ["1.0.0", "1.1.0", "1.2.0"];

/// A ClusterExtension that goes from version to version.
pub(crate) struct Extending {
    told: Scenario,
    /// How many versions were asked for.
    steps: usize,
}

impl Extending {
    /// Makes a catalog and a namespace; the extension itself comes with the first step.
    pub(crate) async fn prepare(world: &Arc<World>, id: &str) -> Result<Self, String> {
        let told = Scenario {
            world: Arc::clone(world),
            id: id.to_owned(),
        };
        let entries = VERSIONS.map(|version| Entry::new(version, "stable", Contents::full()));
        told.prepare(&entries).await?;
        Ok(Self { told, steps: 0 })
    }

    fn version(&self) -> &'static str {
        VERSIONS[self.steps.saturating_sub(1) % VERSIONS.len()]
    }

    /// Asks for another version.
    pub(crate) async fn ask(&mut self) -> Result<(), String> {
        self.steps += 1;
        let extension = self.told.extension().version(self.version()).self_certified();
        self.told.apply(&extension).await.map(drop)
    }

    /// Asks for another version, and waits until it is installed.
    pub(crate) async fn go_on(&mut self, patience: Duration) -> Result<(), String> {
        if self.steps > 0 {
            self.told.has_version_within(self.version(), patience).await?;
        }
        self.ask().await?;
        self.told.has_version_within(self.version(), patience).await
    }

    /// Checks what there is in the end: the version that the spec asks for, one revision for each that was asked for and the
    /// last one active, and its objects as they are written.
    pub(crate) async fn is_whole(&self, patience: Duration) -> Result<(), String> {
        let told = &self.told;
        let explain = |reason| format!("{}: {reason}", self.described());
        told.has_version_within(self.version(), patience)
            .await
            .map_err(explain)?;
        told.is_installed(&told.reference()).await.map_err(explain)?;
        let sets = told.revisions_of(&told.name()).await?;
        let mut found: Vec<(i64, &str)> = sets
            .iter()
            .map(|set| {
                let state = set["spec"]["lifecycleState"].as_str().unwrap_or_default();
                (set["spec"]["revision"].as_i64().unwrap_or_default(), state)
            })
            .collect();
        found.sort_unstable();
        let last = i64::try_from(self.steps).unwrap_or_default();
        let first = found.first().map_or(1, |(number, _)| *number);
        let expected: Vec<(i64, &str)> = (first..=last)
            .map(|number| (number, if number == last { "Active" } else { "Archived" }))
            .collect();
        if found != expected {
            return Err(explain(format!("the revisions are {found:?}, not {expected:?}")));
        }
        leftovers::is_whole(told, &sets).await.map_err(explain)
    }

    /// How far it is.
    pub(crate) fn described(&self) -> String {
        format!("{} at step {} ({})", self.told.name(), self.steps, self.version())
    }
}

/// The version that a Subscription leads to at a step.
fn version_of(step: usize) -> String {
    format!("1.{step}.0")
}

/// A Subscription whose catalog gets one version after the other.
pub(crate) struct Subscribing {
    world: Arc<World>,
    id: String,
    steps: usize,
}

impl Subscribing {
    /// Makes a catalog with a first version, and subscribes to it.
    pub(crate) async fn prepare(world: &Arc<World>, id: &str) -> Result<Self, String> {
        let mut subscribing = Self {
            world: Arc::clone(world),
            id: id.to_owned(),
            steps: 0,
        };
        let own = subscribing.namespace();
        world.namespace(&own).await?;
        let image = subscribing.push_next().await?;
        let package = subscribing.package();
        for object in [
            json!({"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
                "metadata": {"name": "group", "namespace": own}, "spec": {"targetNamespaces": [own]}}),
            json!({"apiVersion": ALPHA, "kind": "CatalogSource", "metadata": {"name": "catalog", "namespace": own},
                "spec": {"sourceType": "grpc", "image": image, "updateStrategy": {"registryPoll": {"interval": "1s"}}}}),
            json!({"apiVersion": ALPHA, "kind": "Subscription", "metadata": {"name": package, "namespace": own},
                "spec": {"name": package, "channel": "stable", "source": "catalog", "sourceNamespace": own}}),
        ] {
            world.kubernetes.apply(&object).await?;
        }
        Ok(subscribing)
    }

    fn namespace(&self) -> String {
        format!("ns-{}", self.id)
    }

    fn package(&self) -> String {
        format!("test-{}", self.id)
    }

    fn classic(&self, kind: &str, name: &str) -> Reference {
        Reference::namespaced(ALPHA, kind, &self.namespace(), name)
    }

    /// Pushes a catalog that leads from the present version to a next one.
    async fn push_next(&mut self) -> Result<String, String> {
        self.steps += 1;
        // Versions are written in tables elsewhere; a few words more stay in memory here.
        let leaked = |step: usize| -> &'static str { Box::leak(version_of(step).into_boxed_str()) };
        let next = Entry::new(leaked(self.steps), "stable", catalogs::operator());
        let entries = if self.steps == 1 {
            vec![next]
        } else {
            let before = leaked(self.steps - 1);
            vec![
                Entry::new(before, "stable", catalogs::operator()),
                next.replacing(before),
            ]
        };
        let images = &self.world.images;
        let metas = images.push_package(&self.id, &self.package(), &entries).await?;
        let metas = catalogs::with_service_versions(&self.id, metas);
        images
            .push_catalog(&format!("catalog-{}", self.id), "latest", &metas)
            .await
    }

    /// Publishes another version, and waits until it is installed.
    pub(crate) async fn go_on(&mut self, patience: Duration) -> Result<(), String> {
        self.is_installed(patience).await?;
        self.push_next().await?;
        self.is_installed(patience).await
    }

    /// Waits until the last version that was published is installed.
    pub(crate) async fn is_installed(&self, patience: Duration) -> Result<(), String> {
        let name = catalogs::service_version(&self.package(), &version_of(self.steps));
        let kubernetes = &self.world.kubernetes;
        let subscription = self.classic("Subscription", &self.package());
        let is_followed = |subscription: Option<&Value>| {
            let status = subscription.map_or(&Value::Null, |subscription| &subscription["status"]);
            if status["installedCSV"] == name && status["state"] == "AtLatestKnown" {
                Ok(())
            } else {
                Err(format!("its status is {status}"))
            }
        };
        kubernetes
            .until_within(&subscription, patience, is_followed)
            .await?;
        let version = self.classic("ClusterServiceVersion", &name);
        let works = |version: Option<&Value>| {
            let status = version.map_or(&Value::Null, |version| &version["status"]);
            if status["phase"] == "Succeeded" {
                Ok(())
            } else {
                Err(format!("its phase is {}: {}", status["phase"], status["message"]))
            }
        };
        kubernetes.until_within(&version, patience, works).await
    }

    /// Checks what there is in the end: one version, one complete plan for each that there was, and one Deployment of the last
    /// one.
    pub(crate) async fn is_whole(&self, patience: Duration) -> Result<(), String> {
        let explain = |reason| format!("{}: {reason}", self.described());
        self.is_installed(patience).await.map_err(explain)?;
        let kubernetes = &self.world.kubernetes;
        let name = catalogs::service_version(&self.package(), &version_of(self.steps));
        let named = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let versions = self.classic("ClusterServiceVersion", "").collection();
        // The one before may be about to go.
        let is_alone = |found: &[Value]| {
            let found: Vec<String> = found.iter().map(named).collect();
            if found == [name.clone()] {
                Ok(())
            } else {
                Err(format!("installed are {found:?}"))
            }
        };
        kubernetes
            .until_all(&versions, "", patience, is_alone)
            .await
            .map_err(explain)?;
        let (plans, _) = kubernetes
            .list(&self.classic("InstallPlan", "").collection(), "")
            .await?;
        let mut found: Vec<(i64, String)> = plans
            .iter()
            .map(|plan| {
                let phase = plan["status"]["phase"].as_str().unwrap_or_default();
                let versions = &plan["spec"]["clusterServiceVersionNames"];
                let generation = plan["spec"]["generation"].as_i64().unwrap_or_default();
                (generation, format!("{phase} {versions}"))
            })
            .collect();
        found.sort_unstable();
        let first = found.first().map_or(1, |(generation, _)| *generation);
        let last = i64::try_from(self.steps).unwrap_or_default();
        let expected: Vec<(i64, String)> = (first..=last)
            .map(|generation| {
                let step = usize::try_from(generation).unwrap_or_default();
                let name = catalogs::service_version(&self.package(), &version_of(step));
                (generation, format!("Complete [\"{name}\"]"))
            })
            .collect();
        if found != expected {
            return Err(explain(format!("the plans are {found:?}, not {expected:?}")));
        }
        let deployments = Reference::namespaced("apps/v1", "Deployment", &self.namespace(), "").collection();
        let (deployments, _) = kubernetes.list(&deployments, "").await?;
        let owners: Vec<&Value> = deployments
            .iter()
            .map(|deployment| &deployment["metadata"]["labels"]["olm.owner"])
            .collect();
        if owners != [&Value::from(name)] {
            return Err(explain(format!("Deployments are of {owners:?}")));
        }
        Ok(())
    }

    /// How far it is.
    pub(crate) fn described(&self) -> String {
        format!("Subscription {} at step {}", self.id, self.steps)
    }
}
