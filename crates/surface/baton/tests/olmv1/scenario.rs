//! One scenario: the names that only it uses, and the sentences that it is told in.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::conditions::{Says, holds};
use crate::images::Entry;
use crate::kubernetes::Kubernetes;
use crate::reference::Reference;
use crate::world::{SYSTEM_NAMESPACE, World};

/// A scenario in a world that it shares with others.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) world: Arc<World>,
    pub(crate) id: String,
}

/// A ClusterExtension that is going to be applied.
#[derive(Debug, Clone)]
pub(crate) struct Extension(pub(crate) Value);

impl Extension {
    /// An extension that asks for a package, in whichever catalog.
    pub(crate) fn new(name: &str, namespace: &str, package: &str) -> Self {
        Self(json!({
            "apiVersion": "olm.operatorframework.io/v1",
            "kind": "ClusterExtension",
            "metadata": {"name": name},
            "spec": {
                "namespace": namespace,
                "source": {"sourceType": "Catalog", "catalog": {"packageName": package}},
            },
        }))
    }

    /// Under another name.
    pub(crate) fn named(mut self, name: &str) -> Self {
        self.0["metadata"]["name"] = name.into();
        self
    }

    /// With an annotation.
    pub(crate) fn annotated(mut self, annotation: &str, value: &str) -> Self {
        self.0["metadata"]["annotations"][annotation] = value.into();
        self
    }

    /// In this version, or in one of this range.
    pub(crate) fn version(mut self, version: &str) -> Self {
        self.0["spec"]["source"]["catalog"]["version"] = version.into();
        self
    }

    /// From these channels.
    pub(crate) fn channels(mut self, channels: &[&str]) -> Self {
        self.0["spec"]["source"]["catalog"]["channels"] = json!(channels);
        self
    }

    /// From catalogs with these labels.
    pub(crate) fn selecting(mut self, labels: Value) -> Self {
        self.0["spec"]["source"]["catalog"]["selector"] = json!({"matchLabels": labels});
        self
    }

    /// From whichever catalog has it.
    pub(crate) fn whose_catalog_is_open(mut self) -> Self {
        if let Some(catalog) = self.0["spec"]["source"]["catalog"].as_object_mut() {
            catalog.remove("selector");
        }
        self
    }

    /// Whether or not the catalog leads there.
    pub(crate) fn self_certified(mut self) -> Self {
        self.0["spec"]["source"]["catalog"]["upgradeConstraintPolicy"] = "SelfCertified".into();
        self
    }

    /// Configured so.
    pub(crate) fn configured(mut self, inline: Value) -> Self {
        self.0["spec"]["config"] = json!({"configType": "Inline", "inline": inline});
        self
    }

    /// With a deadline in minutes.
    pub(crate) fn deadline(mut self, minutes: u32) -> Self {
        self.0["spec"]["progressDeadlineMinutes"] = minutes.into();
        self
    }

    /// With the field that nobody looks at any more.
    pub(crate) fn service_account(mut self, name: &str) -> Self {
        self.0["spec"]["serviceAccount"] = json!({"name": name});
        self
    }

    /// With or without the checks of definitions.
    pub(crate) fn definition_safety(mut self, enforcement: &str) -> Self {
        self.0["spec"]["install"] = json!({"preflight": {"crdUpgradeSafety": {"enforcement": enforcement}}});
        self
    }

    /// Where it is.
    pub(crate) fn reference(&self) -> Reference {
        Reference::of(&self.0)
    }
}

impl Scenario {
    /// The cluster, as its administrator.
    pub(crate) fn kubernetes(&self) -> &Kubernetes {
        &self.world.kubernetes
    }

    /// The name of the ClusterExtension.
    pub(crate) fn name(&self) -> String {
        format!("extension-{}", self.id)
    }

    /// The namespace that it is installed into.
    pub(crate) fn namespace(&self) -> String {
        format!("ns-{}", self.id)
    }

    /// The name of a package.
    pub(crate) fn package(&self) -> String {
        format!("test-{}", self.id)
    }

    /// The name of a ClusterCatalog.
    pub(crate) fn catalog_name(&self, name: &str) -> String {
        format!("{name}-catalog-{}", self.id)
    }

    /// The ClusterExtension.
    pub(crate) fn reference(&self) -> Reference {
        Reference::olm("ClusterExtension", &self.name())
    }

    /// One of its revisions.
    pub(crate) fn revision(&self, number: u32) -> Reference {
        Reference::olm("ClusterObjectSet", &format!("{}-{number}", self.name()))
    }

    /// The Deployment of the bundle.
    pub(crate) fn deployment(&self) -> Reference {
        let name = format!("test-operator-{}", self.id);
        Reference::namespaced("apps/v1", "Deployment", &self.namespace(), &name)
    }

    /// The ConfigMap of the bundle.
    pub(crate) fn config_map(&self) -> Reference {
        let name = format!("test-configmap-{}", self.id);
        Reference::namespaced("v1", "ConfigMap", &self.namespace(), &name)
    }

    /// The NetworkPolicy of the bundle.
    pub(crate) fn network_policy(&self) -> Reference {
        let name = format!("test-operator-{}-network-policy", self.id);
        Reference::namespaced("networking.k8s.io/v1", "NetworkPolicy", &self.namespace(), &name)
    }

    /// Makes the namespace of the scenario.
    pub(crate) async fn with_namespace(&self) -> Result<(), String> {
        self.world.namespace(&self.namespace()).await
    }

    /// Pushes a package in a catalog image; returns its reference.
    pub(crate) async fn image(&self, name: &str, tag: &str, entries: &[Entry]) -> Result<String, String> {
        let images = &self.world.images;
        let metas = images.push_package(&self.id, &self.package(), entries).await?;
        images.push_catalog(&self.catalog_name(name), tag, &metas).await
    }

    /// Makes a catalog with the scenario's package and waits until it is served.
    pub(crate) async fn with_catalog(&self, name: &str, entries: &[Entry]) -> Result<(), String> {
        let image = self.image(name, "v1", entries).await?;
        self.world.catalog(&self.catalog_name(name), &image).await
    }

    /// Makes a catalog called `test` and the namespace.
    pub(crate) async fn prepare(&self, entries: &[Entry]) -> Result<(), String> {
        self.with_namespace().await?;
        self.with_catalog("test", entries).await
    }

    /// The extension of the scenario, from its catalog `test`.
    pub(crate) fn extension(&self) -> Extension {
        let catalog = self.catalog_name("test");
        Extension::new(&self.name(), &self.namespace(), &self.package())
            .selecting(json!({"olm.operatorframework.io/metadata.name": catalog}))
    }

    /// Applies an extension.
    pub(crate) async fn apply(&self, extension: &Extension) -> Result<Value, String> {
        self.kubernetes().apply(&extension.0).await
    }

    /// Applies an extension and waits until it is rolled out and installed.
    pub(crate) async fn install(&self, extension: &Extension) -> Result<(), String> {
        self.apply(extension).await?;
        self.is_installed(&extension.reference()).await
    }

    /// Waits until an object reports a condition; returns it.
    pub(crate) async fn reports(
        &self,
        reference: &Reference,
        kind: &str,
        status: &str,
        reason: &str,
        says: Says<'_>,
    ) -> Result<Value, String> {
        self.kubernetes()
            .until(reference, |object| holds(object, kind, status, reason, says))
            .await
    }

    /// Waits until an object reports a condition, for a while that is longer than usual.
    pub(crate) async fn reports_within(
        &self,
        reference: &Reference,
        patience: Duration,
        (kind, status, reason): (&str, &str, &str),
        says: Says<'_>,
    ) -> Result<Value, String> {
        self.kubernetes()
            .until_within(reference, patience, |object| {
                holds(object, kind, status, reason, says)
            })
            .await
    }

    /// Waits until what an extension asks for now is rolled out, and installed.
    pub(crate) async fn is_installed(&self, extension: &Reference) -> Result<(), String> {
        let Err(mut reason) = self.becomes_installed(extension).await else {
            return Ok(());
        };
        for revision in self.revisions_of(&extension.name).await? {
            let _ = write!(
                reason,
                "\n    its revision {} is {} and says:{}",
                revision["metadata"]["name"],
                revision["spec"]["lifecycleState"],
                crate::conditions::described(&revision)
            );
        }
        Err(reason)
    }

    async fn becomes_installed(&self, extension: &Reference) -> Result<(), String> {
        self.kubernetes()
            .until(extension, |object| {
                let condition = holds(object, "Progressing", "True", "Succeeded", Says::Anything)?;
                let generation = object.map_or(&Value::Null, |object| &object["metadata"]["generation"]);
                if condition["observedGeneration"] != *generation {
                    return Err(format!(
                        "it is at generation {generation}, and {} was looked at",
                        condition["observedGeneration"]
                    ));
                }
                holds(object, "Installed", "True", "Succeeded", Says::Anything).map(drop)
            })
            .await
    }

    /// Waits until a version of the package is what is installed.
    pub(crate) async fn has_version(&self, version: &str) -> Result<(), String> {
        self.has_version_within(version, crate::kubernetes::PATIENCE)
            .await
    }

    /// The same, for a while that is longer than usual.
    pub(crate) async fn has_version_within(&self, version: &str, patience: Duration) -> Result<(), String> {
        let expected = json!({"name": format!("{}.{version}", self.package()), "version": version});
        self.kubernetes()
            .until_within(&self.reference(), patience, |object| {
                let object = object.ok_or("it isn't there")?;
                let found = &object["status"]["install"]["bundle"];
                if *found == expected {
                    Ok(())
                } else {
                    Err(format!(
                        "installed is {found}, not {expected}; its conditions:{}",
                        crate::conditions::described(object)
                    ))
                }
            })
            .await
    }

    /// Returns the objects of a ClusterObjectSet, wherever they are written.
    pub(crate) async fn objects_of(&self, revision: &Reference) -> Result<Vec<Value>, String> {
        let set = self.kubernetes().read(revision).await?;
        let phases = set["spec"]["phases"].as_array().cloned().unwrap_or_default();
        let mut objects = Vec::new();
        for entry in phases
            .iter()
            .flat_map(|phase| phase["objects"].as_array().into_iter().flatten())
        {
            if entry["object"].is_object() {
                objects.push(entry["object"].clone());
                continue;
            }
            let text = |name: &str| entry["ref"][name].as_str().unwrap_or_default().to_owned();
            let secret = Reference::namespaced("v1", "Secret", &text("namespace"), &text("name"));
            let secret = self.kubernetes().read(&secret).await?;
            objects.push(crate::secrets::object(&secret, &text("key"))?);
        }
        Ok(objects)
    }

    /// Lists the revisions of an extension.
    pub(crate) async fn revisions_of(&self, extension: &str) -> Result<Vec<Value>, String> {
        let collection = Reference::olm("ClusterObjectSet", "").collection();
        let query = format!("labelSelector=olm.operatorframework.io/owner-name%3D{extension}");
        Ok(self.kubernetes().list(&collection, &query).await?.0)
    }

    /// Waits until the Secrets that hold objects of an extension are as wanted; returns what was found in them.
    pub(crate) async fn until_secrets_of<T>(
        &self,
        extension: &str,
        patience: Duration,
        wanted: impl Fn(&[Value]) -> Result<T, String>,
    ) -> Result<T, String> {
        let collection = Reference::namespaced("v1", "Secret", SYSTEM_NAMESPACE, "").collection();
        let query = format!("labelSelector=olm.operatorframework.io/owner-name%3D{extension}");
        self.kubernetes()
            .until_all(&collection, &query, patience, wanted)
            .await
    }
}
