//! What the rules need to know of each object.

use gotemplate::format::quoted;
use goyaml::typed::{self, Skimmer};

use crate::objects::properties::{self, PackageProperty};
use crate::objects::{Bundle, Catalog, Channel, Deprecations, Package};
use crate::reading::{self, BUNDLE, CHANNEL, DEPRECATIONS, Found, MetaRef, PACKAGE};

/// What the rules need to know of a catalog.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) packages: Vec<PackageFacts>,
    pub(super) channels: Vec<Channel>,
    pub(super) bundles: Vec<BundleFacts>,
    pub(super) deprecations: Vec<Deprecations>,
}

pub(super) struct PackageFacts {
    pub(super) name: String,
    pub(super) default_channel: String,
}

pub(super) struct BundleFacts {
    pub(super) name: String,
    pub(super) package: String,
    pub(super) has_image: bool,
    /// Whether the bundle holds its manifests itself.
    pub(super) has_objects: bool,
    /// The properties that say which version the bundle is, or what is wrong with a property.
    pub(super) packages: Result<Vec<PackageProperty>, String>,
    /// What is wrong with the first image that cannot be pulled.
    pub(super) bad_pull_spec: Option<String>,
}

impl Facts {
    /// Takes what is needed from a catalog in memory.
    pub(super) fn of(catalog: &Catalog) -> Self {
        Self {
            packages: catalog.packages.iter().map(PackageFacts::of).collect(),
            channels: catalog.channels.clone(),
            bundles: catalog.bundles.iter().map(BundleFacts::of).collect(),
            deprecations: catalog.deprecations.clone(),
        }
    }

    /// Takes what is needed from an object in its canonical form.
    pub(super) fn add_canonical(&mut self, meta: MetaRef<'_>) -> Result<(), String> {
        if meta.schema == BUNDLE
            && let Some(bundle) = skim_bundle(meta.blob)
        {
            self.bundles.push(bundle);
            return Ok(());
        }
        match meta.schema {
            PACKAGE => self
                .packages
                .push(PackageFacts::of(&reading::package(meta.blob)?)),
            CHANNEL => self.channels.push(reading::channel(meta.blob)?),
            BUNDLE => self.bundles.push(BundleFacts::of(&reading::bundle(meta.blob)?)),
            DEPRECATIONS => self.deprecations.push(reading::deprecations(meta.blob)?),
            "" => return Err(reading::missing_schema(meta.blob)),
            _ => {}
        }
        Ok(())
    }

    /// Takes what is needed from an object that was just found; `blob` is used again from object to object.
    pub(super) fn add(&mut self, found: &Found<'_>, blob: &mut Vec<u8>) -> Result<(), String> {
        if found.head.schema == BUNDLE
            && let Some(bundle) = skim_bundle(found.text)
        {
            self.bundles.push(bundle);
            return Ok(());
        }
        blob.clear();
        match found.head.schema.as_ref() {
            PACKAGE => {
                found.write_blob(blob);
                self.packages.push(PackageFacts::of(&reading::package(blob)?));
            }
            CHANNEL => {
                found.write_blob(blob);
                self.channels.push(reading::channel(blob)?);
            }
            BUNDLE => {
                found.write_blob(blob);
                self.bundles.push(BundleFacts::of(&reading::bundle(blob)?));
            }
            DEPRECATIONS => {
                found.write_blob(blob);
                self.deprecations.push(reading::deprecations(blob)?);
            }
            "" => {
                found.write_blob(blob);
                return Err(reading::missing_schema(blob));
            }
            _ => {}
        }
        Ok(())
    }
}

impl PackageFacts {
    fn of(package: &Package) -> Self {
        Self {
            name: package.name.clone(),
            default_channel: package.default_channel.clone(),
        }
    }
}

impl BundleFacts {
    fn of(bundle: &Bundle) -> Self {
        let related = bundle.related_images.iter().map(|related| related.image.as_str());
        Self {
            name: bundle.name.clone(),
            package: bundle.package.clone(),
            has_image: !bundle.image.is_empty(),
            has_objects: bundle
                .properties
                .iter()
                .any(|property| property.kind == properties::BUNDLE_OBJECT),
            packages: properties::parse(&bundle.properties),
            bad_pull_spec: bad_pull_spec(&bundle.package, &bundle.name, &bundle.image, related),
        }
    }
}

/// What is wrong with the first of a bundle's images that cannot be pulled; one that is not given is not looked at.
fn bad_pull_spec<'a>(
    package: &str,
    bundle: &str,
    image: &str,
    related: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let error = |image: &str, field: &dyn Fn() -> String| {
        let error = image::reference::normalized_error(image)?;
        let (package, bundle) = (quoted(package), quoted(bundle));
        let (field, image) = (field(), quoted(image));
        Some(format!(
            "package {package} bundle {bundle} {field}: invalid image pull spec {image}: {error}"
        ))
    };
    let mut images =
        std::iter::once((image, None)).chain(related.enumerate().map(|(index, image)| (image, Some(index))));
    images.find_map(|(image, index)| {
        if image.is_empty() {
            return None;
        }
        error(image, &|| match index {
            None => "image".to_owned(),
            Some(index) => format!("relatedImages[{index}].image"),
        })
    })
}

/// Takes what is needed from a bundle's text as it stands; `None` if there is anything unusual in it.
///
/// Unusual is what Go's rules treat in a special way (repeated keys, keys in another case, escapes in names, null),
/// and whatever would be an error.
fn skim_bundle(text: &[u8]) -> Option<BundleFacts> {
    let mut name = None;
    let mut package = None;
    let mut image = None;
    let mut packages = Vec::new();
    let mut has_objects = false;
    let mut related = None;
    let mut seen_properties = false;
    typed::skim(text, |skimmer| {
        skimmer.object(|skimmer, key| match key {
            b"schema" => skimmer.string().map(drop),
            b"name" => once(&mut name, plain_text(skimmer)?),
            b"package" => once(&mut package, plain_text(skimmer)?),
            b"image" => once(&mut image, plain_text(skimmer)?),
            b"relatedImages" => once(&mut related, related_images(skimmer)?),
            b"properties" if !std::mem::replace(&mut seen_properties, true) => skimmer.array(|skimmer| {
                let (kind, value) = property(skimmer)?;
                match kind {
                    properties::PACKAGE => {
                        packages.push(package_property(value)?);
                        Some(())
                    }
                    properties::BUNDLE_OBJECT => {
                        has_objects = true;
                        reading::check_bundle_object(Some(value)).ok()
                    }
                    _ => properties::certainly_fits(kind, value).then_some(()),
                }
            }),
            _ => skip_unless_like(
                skimmer,
                key,
                &[
                    "schema",
                    "name",
                    "package",
                    "image",
                    "properties",
                    "relatedImages",
                ],
            ),
        })
    })?;
    let (name, package) = (name.unwrap_or_default(), package.unwrap_or_default());
    let image = image.unwrap_or_default();
    let related = related.unwrap_or_default();
    Some(BundleFacts {
        name: name.to_owned(),
        package: package.to_owned(),
        has_image: !image.is_empty(),
        has_objects,
        packages: Ok(packages),
        bad_pull_spec: bad_pull_spec(package, name, image, related.into_iter()),
    })
}

/// Sets what is not set yet.
fn once<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}

/// A string without escapes.
fn plain_text<'a>(skimmer: &mut Skimmer<'a>) -> Option<&'a str> {
    let text = skimmer.string()?;
    if memchr::memchr(b'\\', text).is_some() {
        return None;
    }
    std::str::from_utf8(text).ok()
}

/// Passes over the value of a key that is none of `names`, and could not be taken for one.
fn skip_unless_like(skimmer: &mut Skimmer<'_>, key: &[u8], names: &[&str]) -> Option<()> {
    if names.iter().any(|name| typed::resembles(name, key)) {
        return None;
    }
    skimmer.skip().map(drop)
}

fn property<'a>(skimmer: &mut Skimmer<'a>) -> Option<(&'a str, &'a [u8])> {
    let mut kind = None;
    let mut value = None;
    skimmer.object(|skimmer, key| match key {
        b"type" => once(&mut kind, plain_text(skimmer)?),
        b"value" => once(&mut value, skimmer.skip()?),
        _ => skip_unless_like(skimmer, key, &["type", "value"]),
    })?;
    Some((kind?, value?))
}

fn package_property(value: &[u8]) -> Option<PackageProperty> {
    let (mut package_name, mut version, mut release) = (None, None, None);
    typed::skim(value, |skimmer| {
        skimmer.object(|skimmer, key| match key {
            b"packageName" => once(&mut package_name, plain_text(skimmer)?),
            b"version" => once(&mut version, plain_text(skimmer)?),
            b"release" => once(&mut release, plain_text(skimmer)?),
            _ => skip_unless_like(skimmer, key, &["packageName", "version", "release"]),
        })
    })?;
    Some(PackageProperty {
        package_name: package_name.unwrap_or_default().to_owned(),
        version: version.unwrap_or_default().to_owned(),
        release: release.unwrap_or_default().to_owned(),
    })
}

fn related_images<'a>(skimmer: &mut Skimmer<'a>) -> Option<Vec<&'a str>> {
    let mut images = Vec::new();
    skimmer.array(|skimmer| {
        let mut image = None;
        let mut name = None;
        skimmer.object(|skimmer, key| match key {
            b"image" => once(&mut image, plain_text(skimmer)?),
            b"name" => once(&mut name, skimmer.string()?),
            _ => skip_unless_like(skimmer, key, &["name", "image"]),
        })?;
        images.push(image.unwrap_or_default());
        Some(())
    })?;
    Some(images)
}
