//! A namespace with its catalogs, operators and Subscriptions, written in a few lines.

use std::sync::Arc;

use resolve::classic::{
    Catalog, CatalogKey, Entry, Existing, ExistingVersion, Isolation, Property, Request, Resolution,
    Snapshot, Subscription, resolve,
};
use serde_json::json;
use version::{Range, Version};

pub(crate) const NAMESPACE: &str = "here";

/// A bundle, `name.v1` or `name.v1.2.3`, in the channel `stable` of the package `name`.
#[derive(Debug, Clone)]
pub(crate) struct Bundle {
    name: String,
    channel: String,
    replaces: String,
    skips: Vec<String>,
    skip_range: Option<String>,
    properties: Vec<Property>,
}

pub(crate) fn bundle(name: &str) -> Bundle {
    let (package, version) = name.split_once(".v").expect("a name with a version");
    let version = Version::parse_tolerant(version).expect("a version").to_string();
    let package = json!({"packageName": package, "version": version});
    Bundle {
        name: name.to_owned(),
        channel: "stable".to_owned(),
        replaces: String::new(),
        skips: Vec::new(),
        skip_range: None,
        properties: vec![Property::new("olm.package", package.to_string())],
    }
}

impl Bundle {
    pub(crate) fn channel(mut self, name: &str) -> Self {
        name.clone_into(&mut self.channel);
        self
    }

    pub(crate) fn replaces(mut self, name: &str) -> Self {
        name.clone_into(&mut self.replaces);
        self
    }

    pub(crate) fn skips(mut self, name: &str) -> Self {
        self.skips.push(name.to_owned());
        self
    }

    pub(crate) fn skip_range(mut self, range: &str) -> Self {
        self.skip_range = Some(range.to_owned());
        self
    }

    pub(crate) fn property(mut self, kind: &str, value: serde_json::Value) -> Self {
        self.properties.push(Property::new(kind, value.to_string()));
        self
    }

    /// Says that it provides a kind of group `g` and version `v1`.
    pub(crate) fn provides(self, kind: &str) -> Self {
        self.property("olm.gvk", json!({"group": "g", "version": "v1", "kind": kind}))
    }

    pub(crate) fn requires(self, kind: &str) -> Self {
        self.property(
            "olm.gvk.required",
            json!({"group": "g", "version": "v1", "kind": kind}),
        )
    }

    pub(crate) fn requires_package(self, package: &str, range: &str) -> Self {
        self.property(
            "olm.package.required",
            json!({"packageName": package, "versionRange": range}),
        )
    }

    fn entry(&self, catalog: CatalogKey) -> Arc<Entry> {
        let (package, version) = self.name.split_once(".v").expect("a name with a version");
        let mut entry = Entry::new(self.name.clone(), self.properties.clone());
        package.clone_into(&mut entry.package);
        entry.version = Version::parse_tolerant(version).ok();
        entry.is_in_default_channel = self.channel == "stable";
        if !catalog.is_existing() {
            entry.channel.clone_from(&self.channel);
            entry.replaces.clone_from(&self.replaces);
            entry.skips.clone_from(&self.skips);
            entry.skip_range = self
                .skip_range
                .as_deref()
                .map(|range| Range::parse(range).expect("a range"));
        }
        entry.catalog = catalog;
        Arc::new(entry)
    }
}

/// A namespace.
#[derive(Debug, Clone, Default)]
pub(crate) struct World {
    pub(crate) catalogs: Vec<Catalog>,
    pub(crate) existing: Existing,
    pub(crate) subscriptions: Vec<Subscription>,
    pub(crate) isolation: Isolation,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a catalog of the namespace.
    pub(crate) fn catalog(self, name: &str, bundles: impl IntoIterator<Item = Bundle>) -> Self {
        self.catalog_with(name, 0, bundles)
    }

    pub(crate) fn catalog_with(
        mut self,
        name: &str,
        priority: i32,
        bundles: impl IntoIterator<Item = Bundle>,
    ) -> Self {
        let key = CatalogKey::new(NAMESPACE, name);
        let entries = bundles.into_iter().map(|bundle| bundle.entry(key.clone()));
        self.catalogs.push(Catalog {
            content: Ok(Arc::new(Snapshot::new(entries))),
            key: key.clone(),
            priority,
        });
        self
    }

    /// Adds a catalog that can't be asked.
    pub(crate) fn broken_catalog(mut self, name: &str, priority: i32) -> Self {
        let key = CatalogKey::new(NAMESPACE, name);
        self.catalogs.push(Catalog {
            content: Err(format!("no registry client established for catalogsource {key}")),
            key,
            priority,
        });
        self
    }

    /// Adds an operator that no Subscription asks for.
    pub(crate) fn installed(mut self, bundle: Bundle) -> Self {
        self.existing.versions.push(ExistingVersion {
            entry: bundle.entry(CatalogKey::existing(NAMESPACE)),
            subscription: None,
            replaced_by: None,
        });
        self
    }

    /// Adds a Subscription to the channel `stable` of a package, named like the package.
    pub(crate) fn subscription(self, catalog: &str, package: &str) -> Self {
        self.subscription_with(catalog, package, |_| {})
    }

    pub(crate) fn subscription_with(
        mut self,
        catalog: &str,
        package: &str,
        change: impl Fn(&mut Subscription),
    ) -> Self {
        let mut subscription = Subscription {
            name: package.to_owned(),
            package: package.to_owned(),
            channel: "stable".to_owned(),
            catalog: CatalogKey::new(NAMESPACE, catalog),
            ..Subscription::default()
        };
        change(&mut subscription);
        self.subscriptions.push(subscription);
        self
    }

    /// Adds an operator, and the Subscription that it is installed for.
    pub(crate) fn installed_by_subscription(mut self, catalog: &str, bundle: Bundle) -> Self {
        let (package, _) = bundle.name.split_once(".v").expect("a name with a version");
        let (package, name) = (package.to_owned(), bundle.name.clone());
        self = self.installed(bundle);
        if let Some(version) = self.existing.versions.last_mut() {
            version.subscription = Some(package.clone());
        }
        self.subscription_with(catalog, &package, |subscription| {
            subscription.installed_csv.clone_from(&name);
            subscription.current_csv.clone_from(&name);
        })
    }

    /// Lets a failure stop the whole namespace, as upstream does.
    pub(crate) fn like_upstream(mut self) -> Self {
        self.isolation = Isolation::Namespace;
        self
    }

    pub(crate) fn resolve(&self) -> Resolution {
        resolve(&Request {
            namespace: NAMESPACE,
            catalogs: &self.catalogs,
            existing: &self.existing,
            subscriptions: &self.subscriptions,
            isolation: self.isolation,
            forbid: None,
        })
    }

    /// Returns what is to be installed, each as `catalog/name`.
    pub(crate) fn installs(&self) -> Vec<String> {
        installs(&self.resolve())
    }
}

pub(crate) fn installs(resolution: &Resolution) -> Vec<String> {
    let install = |install: &resolve::classic::Install| {
        format!("{}/{}", install.entry.catalog.name, install.entry.name)
    };
    resolution.installs.iter().map(install).collect()
}

/// Returns the Subscriptions for which nothing can be installed, each with why.
pub(crate) fn failures(resolution: &Resolution) -> Vec<(String, String)> {
    let failure =
        |failure: &resolve::classic::Failure| (failure.subscriptions.join(" "), failure.to_string());
    resolution.failures.iter().map(failure).collect()
}
