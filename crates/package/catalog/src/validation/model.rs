//! Packages with their channels with their entries; whatever has no place there ends validation.

use std::collections::{BTreeMap, BTreeSet};

use gotemplate::format::quoted;
use version::{Release, Version};

use super::facts::{BundleFacts, Facts};
use super::package_name;
use crate::objects::{ChannelEntry, DeprecationReference, Deprecations};
use crate::reading::{BUNDLE, CHANNEL, PACKAGE};

/// A catalog as the rules see it.
#[derive(Default)]
pub(super) struct Model<'f> {
    pub(super) packages: BTreeMap<&'f str, Package<'f>>,
}

#[derive(Default)]
pub(super) struct Package<'f> {
    pub(super) default_channel: &'f str,
    pub(super) channels: BTreeMap<&'f str, Channel<'f>>,
    pub(super) deprecation: Option<&'f str>,
    bundles: BTreeSet<&'f str>,
    /// The entries of the channel that was read last, as long as no bundle of their name was found.
    ///
    /// Upstream forgets the entries of earlier channels; they are missed later, in other words.
    missing: BTreeSet<&'f str>,
}

#[derive(Default)]
pub(super) struct Channel<'f> {
    pub(super) entries: BTreeMap<&'f str, Entry<'f>>,
    pub(super) deprecation: Option<&'f str>,
}

pub(super) struct Entry<'f> {
    pub(super) stated: &'f ChannelEntry,
    /// The bundle of that name; an entry may lack one.
    pub(super) bundle: Option<(&'f BundleFacts, VersionOf)>,
    pub(super) deprecation: Option<&'f str>,
}

/// A bundle's version and release.
#[derive(Clone)]
pub(super) struct VersionOf {
    pub(super) version: Version,
    pub(super) release: Release,
}

impl VersionOf {
    /// The version and, behind a dash, the release.
    pub(super) fn text(&self) -> String {
        if self.release.is_empty() {
            return self.version.to_string();
        }
        format!("{}-{}", self.version, self.release.as_str())
    }
}

impl<'f> Model<'f> {
    /// Puts everything into its place; the error is upstream's text about the first that has none.
    pub(super) fn build(facts: &'f Facts) -> Result<Self, String> {
        let mut model = Self::default();
        model.add_packages(facts)?;
        model.add_channels(facts)?;
        for bundle in &facts.bundles {
            model.add_bundle(bundle)?;
        }
        for (name, package) in &model.packages {
            if !package.missing.is_empty() {
                let entries: Vec<&str> = package.missing.iter().copied().collect();
                return Err(format!(
                    "no olm.bundle blobs found in package {} for olm.channel entries [{}]",
                    quoted(name),
                    entries.join(" ")
                ));
            }
        }
        for package in model.packages.values_mut() {
            if !package.default_channel.is_empty() {
                package.channels.entry(package.default_channel).or_default();
            }
        }
        let mut deprecated = BTreeSet::new();
        for (index, deprecations) in facts.deprecations.iter().enumerate() {
            model.add_deprecations(index, deprecations, &mut deprecated)?;
        }
        Ok(model)
    }

    fn add_packages(&mut self, facts: &'f Facts) -> Result<(), String> {
        for package in &facts.packages {
            let name = package.name.as_str();
            if name.is_empty() {
                return Err("config contains package with no name".to_owned());
            }
            if self.packages.contains_key(name) {
                return Err(format!("duplicate package {}", quoted(name)));
            }
            let problems = package_name::problems(name);
            if !problems.is_empty() {
                return Err(format!(
                    "invalid package name {}: [{}]",
                    quoted(name),
                    problems.join(" ")
                ));
            }
            self.packages.insert(
                name,
                Package {
                    default_channel: &package.default_channel,
                    ..Package::default()
                },
            );
        }
        Ok(())
    }

    fn add_channels(&mut self, facts: &'f Facts) -> Result<(), String> {
        for channel in &facts.channels {
            let (name, package_name) = (quoted(&channel.name), quoted(&channel.package));
            let Some(package) = self.packages.get_mut(channel.package.as_str()) else {
                return Err(format!("unknown package {package_name} for channel {name}"));
            };
            if channel.name.is_empty() {
                return Err(format!("package {package_name} contains channel with no name"));
            }
            if package.channels.contains_key(channel.name.as_str()) {
                return Err(format!("package {package_name} has duplicate channel {name}"));
            }
            let mut entries = BTreeMap::new();
            for entry in channel.entries.iter().flatten() {
                let place = Entry {
                    stated: entry,
                    bundle: None,
                    deprecation: None,
                };
                if entries.insert(entry.name.as_str(), place).is_some() {
                    let entry = quoted(&entry.name);
                    return Err(format!(
                        "invalid package {package_name}, channel {name}: duplicate entry {entry}"
                    ));
                }
            }
            package.missing = entries.keys().copied().collect();
            package.channels.insert(
                &channel.name,
                Channel {
                    entries,
                    deprecation: None,
                },
            );
        }
        Ok(())
    }

    fn add_bundle(&mut self, bundle: &'f BundleFacts) -> Result<(), String> {
        let name = quoted(&bundle.name);
        if bundle.package.is_empty() {
            return Err(format!("package name must be set for bundle {name}"));
        }
        let package_name = quoted(&bundle.package);
        let Some(package) = self.packages.get_mut(bundle.package.as_str()) else {
            return Err(format!("unknown package {package_name} for bundle {name}"));
        };
        if !package.bundles.insert(&bundle.name) {
            return Err(format!("package {package_name} has duplicate bundle {name}"));
        }
        let packages = bundle
            .packages
            .as_ref()
            .map_err(|error| format!("parse properties for bundle {name}: {error}"))?;
        let [property] = packages.as_slice() else {
            return Err(format!(
                "package {package_name} bundle {name} must have exactly 1 {} property, found {}",
                quoted(PACKAGE),
                packages.len()
            ));
        };
        if bundle.package != property.package_name {
            return Err(format!(
                "package {package_name} does not match {} property {}",
                quoted(PACKAGE),
                quoted(&property.package_name)
            ));
        }
        if let Some(error) = &bundle.bad_pull_spec {
            return Err(error.clone());
        }
        let version = Version::parse(&property.version).map_err(|error| {
            let version = quoted(&property.version);
            format!("error parsing bundle {name} version {version}: {error}")
        })?;
        let release = Release::parse(&property.release).map_err(|error| {
            let release = quoted(&property.release);
            format!("error parsing bundle {name} release version {release}: {error}")
        })?;
        let version = VersionOf { version, release };
        package.missing.remove(bundle.name.as_str());
        let mut found = false;
        for channel in package.channels.values_mut() {
            if let Some(entry) = channel.entries.get_mut(bundle.name.as_str()) {
                found = true;
                entry.bundle = Some((bundle, version.clone()));
            }
        }
        if !found {
            return Err(format!(
                "package {package_name}, bundle {name} not found in any channel entries"
            ));
        }
        Ok(())
    }

    fn add_deprecations(
        &mut self,
        index: usize,
        deprecations: &'f Deprecations,
        deprecated: &mut BTreeSet<&'f str>,
    ) -> Result<(), String> {
        if deprecations.package.is_empty() {
            return Err(format!("package name must be set for deprecation item {index}"));
        }
        let package_name = quoted(&deprecations.package);
        let Some(package) = self.packages.get_mut(deprecations.package.as_str()) else {
            return Err(format!(
                "cannot apply deprecations to an unknown package {package_name}"
            ));
        };
        if !deprecated.insert(&deprecations.package) {
            return Err(format!(
                "expected a maximum of one deprecation per package: {package_name}"
            ));
        }
        let mut references = BTreeSet::new();
        for (index, deprecation) in deprecations.entries.iter().enumerate() {
            let reference = &deprecation.reference;
            if reference.schema.is_empty() {
                return Err(format!(
                    "schema must be set for deprecation entry [{index}] for package {package_name}"
                ));
            }
            if !references.insert(reference) {
                return Err(format!(
                    "duplicate deprecation entry {} for package {package_name}",
                    in_go_syntax(reference)
                ));
            }
            let name = quoted(&reference.name);
            let message = Some(deprecation.message.as_str());
            match reference.schema.as_str() {
                BUNDLE => {
                    if !package.bundles.contains(reference.name.as_str()) {
                        return Err(format!(
                            "cannot deprecate bundle {name} for package {package_name}: bundle not found"
                        ));
                    }
                    for channel in package.channels.values_mut() {
                        if let Some(entry) = channel.entries.get_mut(reference.name.as_str()) {
                            entry.deprecation = message;
                        }
                    }
                }
                CHANNEL => match package.channels.get_mut(reference.name.as_str()) {
                    Some(channel) => channel.deprecation = message,
                    None => {
                        return Err(format!(
                            "cannot deprecate channel {name} for package {package_name}: channel not found"
                        ));
                    }
                },
                PACKAGE if reference.name.is_empty() => package.deprecation = message,
                PACKAGE => {
                    return Err(format!(
                        "package name must be empty for deprecated package {package_name} (specified {name})"
                    ));
                }
                _ => {
                    return Err(format!(
                        "cannot deprecate object {} referenced by entry {index} for package {package_name}: \
                         object schema unknown",
                        in_go_syntax(reference)
                    ));
                }
            }
        }
        Ok(())
    }
}

/// A reference as Go's `%#v` prints it.
fn in_go_syntax(reference: &DeprecationReference) -> String {
    format!(
        "declcfg.PackageScopedReference{{Schema:{}, Name:{}}}",
        quoted(&reference.schema),
        quoted(&reference.name)
    )
}
