//! One scenario: the names that only it uses, the objects that it is about, and the sentences that it is told in.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::catalogs::{service_version, with_service_versions};
use crate::images::Entry;
use crate::kubectl::Kubectl;
use crate::reference::Reference;
use crate::world::{World, namespace};

/// The API of most kinds of OLM v0.
pub(crate) const ALPHA: &str = "operators.coreos.com/v1alpha1";

/// A scenario in a world that it shares with others.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) world: Arc<World>,
    pub(crate) id: String,
}

impl Scenario {
    /// The cluster, as its administrator.
    pub(crate) fn kubectl(&self) -> &Kubectl {
        &self.world.kubectl
    }

    /// The namespace of the Subscription and its operator.
    pub(crate) fn namespace(&self) -> String {
        format!("ns-{}", self.id)
    }

    /// The name of the package, and of the Subscription to it.
    pub(crate) fn package(&self) -> String {
        format!("test-{}", self.id)
    }

    /// An object of OLM v0 in the namespace.
    pub(crate) fn classic(&self, kind: &str, name: &str) -> Reference {
        Reference::namespaced(ALPHA, kind, &self.namespace(), name)
    }

    /// The Subscription.
    pub(crate) fn subscription_reference(&self) -> Reference {
        self.classic("Subscription", &self.package())
    }

    /// The ClusterServiceVersion of a version.
    pub(crate) fn version(&self, version: &str) -> Reference {
        self.classic(
            "ClusterServiceVersion",
            &service_version(&self.package(), version),
        )
    }

    /// The CatalogSource of the scenario.
    pub(crate) fn catalog(&self) -> Reference {
        self.classic("CatalogSource", "catalog")
    }

    /// The Deployment of the operator.
    pub(crate) fn deployment(&self) -> Reference {
        let name = format!("test-operator-{}", self.id);
        Reference::namespaced("apps/v1", "Deployment", &self.namespace(), &name)
    }

    /// Pushes a package in a catalog image; returns its reference.
    pub(crate) async fn image(&self, tag: &str, entries: &[Entry]) -> Result<String, String> {
        let images = &self.world.images;
        let metas = images.push_package(&self.id, &self.package(), entries).await?;
        let metas = with_service_versions(&self.id, metas);
        images
            .push_catalog(&format!("catalog-{}", self.id), tag, &metas)
            .await
    }

    /// A CatalogSource of an image, polled every second.
    pub(crate) fn catalog_source(&self, image: &str) -> Value {
        json!({
            "apiVersion": ALPHA, "kind": "CatalogSource",
            "metadata": {"name": "catalog", "namespace": self.namespace()},
            "spec": {"sourceType": "grpc", "image": image, "displayName": "Catalog", "publisher": "Scenarios",
                "updateStrategy": {"registryPoll": {"interval": "1s"}}},
        })
    }

    /// An OperatorGroup for namespaces; for all where there are none.
    pub(crate) fn group(&self, targets: &[&str]) -> Value {
        let mut group = json!({
            "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
            "metadata": {"name": "group", "namespace": self.namespace()}, "spec": {},
        });
        if !targets.is_empty() {
            group["spec"]["targetNamespaces"] = json!(targets);
        }
        group
    }

    /// A Subscription to the scenario's package in a channel.
    pub(crate) fn subscription(&self, channel: &str) -> Value {
        json!({
            "apiVersion": ALPHA, "kind": "Subscription",
            "metadata": {"name": self.package(), "namespace": self.namespace()},
            "spec": {"name": self.package(), "channel": channel, "source": "catalog",
                "sourceNamespace": self.namespace()},
        })
    }

    /// The same, which waits for approval.
    pub(crate) fn manual_subscription(&self, channel: &str) -> Value {
        let mut subscription = self.subscription(channel);
        subscription["spec"]["installPlanApproval"] = "Manual".into();
        subscription
    }

    /// Makes the namespace, an OperatorGroup for it alone, and a catalog with the scenario's package.
    pub(crate) async fn prepare(&self, entries: &[Entry]) -> Result<(), String> {
        let image = self.image("latest", entries).await?;
        let namespace_name = self.namespace();
        let objects = [
            namespace(&namespace_name),
            self.group(&[&namespace_name]),
            self.catalog_source(&image),
        ];
        self.kubectl().apply(&objects).await?;
        self.is_ready(&self.catalog()).await
    }

    /// Waits until a CatalogSource is ready, by the field that scripts wait for.
    pub(crate) async fn is_ready(&self, catalog: &Reference) -> Result<(), String> {
        let state = "/status/connectionState/lastObservedState";
        self.kubectl().until_is(catalog, state, "READY").await.map(drop)
    }

    /// Waits until a ClusterServiceVersion is in a phase; returns it.
    pub(crate) async fn is_in_phase(&self, version: &Reference, phase: &str) -> Result<Value, String> {
        self.kubectl().until_is(version, "/status/phase", phase).await
    }

    /// Waits until a version is installed: it works, and the Subscription says so.
    pub(crate) async fn has_version(&self, version: &str) -> Result<(), String> {
        let version = self.version(version);
        self.is_in_phase(&version, "Succeeded").await?;
        let subscription = self.subscription_reference();
        let installed = |object: &Value| {
            let status = &object["status"];
            if status["installedCSV"] == version.name && status["state"] == "AtLatestKnown" {
                Ok(())
            } else {
                Err(format!("its status is {status}"))
            }
        };
        self.kubectl().until(&subscription, installed).await
    }

    /// Waits until the Subscription has a plan in a phase; returns it.
    pub(crate) async fn plan_in_phase(&self, phase: &str) -> Result<Reference, String> {
        let named = self
            .kubectl()
            .until(&self.subscription_reference(), |subscription| {
                let name = subscription["status"]["installPlanRef"]["name"].as_str();
                name.map(str::to_owned)
                    .ok_or_else(|| format!("it has no plan: {}", subscription["status"]))
            })
            .await?;
        let plan = self.classic("InstallPlan", &named);
        self.kubectl().until_is(&plan, "/status/phase", phase).await?;
        Ok(plan)
    }

    /// Approves a plan, as people do.
    pub(crate) async fn approve(&self, plan: &Reference) -> Result<(), String> {
        let approved = json!({"spec": {"approved": true}});
        self.kubectl().merge(plan, &approved).await
    }

    /// Waits until a version is planned and waits for approval, and approves it.
    pub(crate) async fn approves(&self, version: &str) -> Result<(), String> {
        let name = self.version(version).name;
        let is_planned = |subscription: &Value| {
            let status = &subscription["status"];
            if status["currentCSV"] == name && status["state"] == "UpgradePending" {
                Ok(())
            } else {
                Err(format!("{name} isn't planned: {status}"))
            }
        };
        self.kubectl()
            .until(&self.subscription_reference(), is_planned)
            .await?;
        let plan = self.plan_in_phase("RequiresApproval").await?;
        self.approve(&plan).await
    }

    /// Waits until a condition of an object is true and says something; returns its message.
    pub(crate) async fn complains(
        &self,
        reference: &Reference,
        kind: &str,
        text: &str,
    ) -> Result<String, String> {
        let complaint = |object: &Value| {
            let says = crate::conditions::Says::Something(text);
            let condition = crate::conditions::holds(Some(object), kind, "True", "", says)?;
            Ok(condition["message"].as_str().unwrap_or_default().to_owned())
        };
        self.kubectl().until(reference, complaint).await
    }
}

/// Compares what was seen with what is expected.
pub(crate) fn expect<T: PartialEq + std::fmt::Debug>(
    what: &str,
    found: T,
    expected: T,
) -> Result<(), String> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what} is {found:?}, not {expected:?}"))
    }
}
