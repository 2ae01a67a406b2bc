//! The order in which objects are written.

use std::collections::BTreeMap;

use crate::objects::{Bundle, Catalog, Channel, Deprecations, Meta, Package};

/// The objects of one package.
#[derive(Default)]
pub(super) struct PackageObjects<'a> {
    pub(super) packages: Vec<&'a Package>,
    pub(super) channels: Vec<&'a Channel>,
    pub(super) bundles: Vec<&'a Bundle>,
    pub(super) others: Vec<&'a Meta>,
    pub(super) deprecations: Vec<&'a Deprecations>,
}

/// Sorts objects by package; those without one are left out, except for objects of unknown schemas, which come last.
pub(super) fn by_package(catalog: &Catalog) -> (BTreeMap<&str, PackageObjects<'_>>, Vec<&Meta>) {
    let mut packages: BTreeMap<&str, PackageObjects<'_>> = BTreeMap::new();
    for package in &catalog.packages {
        packages.entry(&package.name).or_default().packages.push(package);
    }
    for channel in &catalog.channels {
        packages
            .entry(&channel.package)
            .or_default()
            .channels
            .push(channel);
    }
    for bundle in &catalog.bundles {
        packages.entry(&bundle.package).or_default().bundles.push(bundle);
    }
    for other in &catalog.others {
        packages.entry(&other.package).or_default().others.push(other);
    }
    for deprecations in &catalog.deprecations {
        let package = packages.entry(&deprecations.package).or_default();
        package.deprecations.push(deprecations);
    }
    let roots = packages.remove("").map(|root| root.others).unwrap_or_default();
    for package in packages.values_mut() {
        package.channels.sort_by(|a, b| a.name.cmp(&b.name));
        package.bundles.sort_by(|a, b| a.name.cmp(&b.name));
        package.others.sort_by(|a, b| a.schema.cmp(&b.schema));
    }
    (packages, roots)
}
