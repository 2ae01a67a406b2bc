//! `olm.semver`: bundles in three grades of stability, from whose versions channels and upgrade edges are made.

mod channels;
mod links;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use gotemplate::format::quoted;
use goyaml::typed::{Decoding, decode_with};
use goyaml::{ReadOptions, go_struct};
use version::Version;

use super::release;
use super::{Compatibility, Lookup, TemplateType};
use crate::objects::properties::PackageProperty;
use crate::objects::{Bundle, Catalog, Package};
use crate::rendering::RenderedBundle;

/// How stable the bundles of a channel are, the least stable first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Grade {
    Candidate,
    Fast,
    Stable,
}

impl Grade {
    const ALL: [Self; 3] = [Self::Candidate, Self::Fast, Self::Stable];

    fn name(self) -> &'static str {
        match self {
            Self::Candidate => "candidate",
            Self::Fast => "fast",
            Self::Stable => "stable",
        }
    }
}

/// Which versions share a channel: those of a major version, or of a minor one. In doubt minor channels are preferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Stream {
    Major,
    Minor,
}

/// An `olm.semver` template.
#[derive(Debug, Clone, Default)]
pub struct SemverTemplate {
    schema: String,
    generate_major_channels: bool,
    generate_minor_channels: bool,
    default_channel_type_preference: String,
    candidate: NamedBundles,
    fast: NamedBundles,
    stable: NamedBundles,
}
go_struct!(SemverTemplate, "semver.SemverTemplateData", {
    "schema" => schema,
    "generateMajorChannels" => generate_major_channels,
    "generateMinorChannels" => generate_minor_channels,
    "defaultChannelTypePreference" => default_channel_type_preference as "semver.StreamType",
    "candidate" => candidate,
    "fast" => fast,
    "stable" => stable,
});

#[derive(Debug, Clone, Default)]
struct NamedBundles {
    bundles: Vec<NamedBundle>,
}
go_struct!(NamedBundles, "semver.channelBundles", { "bundles" => bundles });

#[derive(Debug, Clone, Default)]
struct NamedBundle {
    image: String,
}
go_struct!(NamedBundle, "semver.bundleEntry", { "image" => image });

/// The names and versions of a grade's bundles.
type Versions = BTreeMap<String, Version>;

impl SemverTemplate {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        Self::read(bytes).map_err(|error| format!("render: unable to read file: {error}"))
    }

    fn read(bytes: &[u8]) -> Result<Self, String> {
        let strict = ReadOptions {
            strict: true,
            ..ReadOptions::default()
        };
        let decoding = Decoding {
            known_fields_only: true,
            scalars_as_text: true,
        };
        let mut template: Self = goyaml::to_value_with(bytes, strict)
            .and_then(|value| decode_with(&value, decoding))
            .map_err(|error| error.in_sigs_words())?;
        let schema = TemplateType::Semver.schema();
        if template.schema != schema {
            return Err(format!(
                "readFile: input file has unknown schema, should be {}",
                quoted(schema)
            ));
        }
        if !template.generate_major_channels && !template.generate_minor_channels {
            template.generate_minor_channels = true;
        }
        template.check_preference()?;
        Ok(template)
    }

    fn check_preference(&self) -> Result<(), String> {
        let generated = match self.default_channel_type_preference.as_str() {
            "" => true,
            "minor" => self.generate_minor_channels,
            "major" => self.generate_major_channels,
            other => {
                return Err(format!(
                    "unknown DefaultChannelTypePreference: {}\nValid values are 'major' or 'minor'",
                    quoted(other)
                ));
            }
        };
        if generated {
            return Ok(());
        }
        let preference = &self.default_channel_type_preference;
        Err(format!(
            "schema attribute mismatch: DefaultChannelTypePreference set to '{preference}' doesn't make sense if not \
             generating {preference}-version channels"
        ))
    }

    fn bundles(&self, grade: Grade) -> &[NamedBundle] {
        match grade {
            Grade::Candidate => &self.candidate.bundles,
            Grade::Fast => &self.fast.bundles,
            Grade::Stable => &self.stable.bundles,
        }
    }

    /// The streams that channels are made for.
    fn streams(&self) -> Vec<Stream> {
        let generated = [
            (Stream::Major, self.generate_major_channels),
            (Stream::Minor, self.generate_minor_channels),
        ];
        generated
            .into_iter()
            .filter_map(|(stream, generate)| generate.then_some(stream))
            .collect()
    }

    /// The stream whose channel is the default where all else is equal.
    fn preferred(&self) -> Stream {
        match self.default_channel_type_preference.as_str() {
            "major" => Stream::Major,
            "" if !self.generate_minor_channels => Stream::Major,
            _ => Stream::Minor,
        }
    }

    pub(super) fn references(&self) -> Vec<&str> {
        let named = Grade::ALL.into_iter().flat_map(|grade| self.bundles(grade));
        named.map(|bundle| bundle.image.as_str()).collect()
    }

    pub(super) fn render(
        &self,
        lookup: &Lookup<'_>,
        compatibility: Compatibility,
    ) -> Result<Catalog, String> {
        let mut rendered: BTreeMap<&str, RenderedBundle> = BTreeMap::new();
        for image in BTreeSet::from_iter(self.references()) {
            rendered.insert(image, lookup(image)?);
        }
        if rendered.is_empty() {
            return Err("render: no bundles specified or no bundles could be rendered".to_owned());
        }
        let mut packages = Vec::new();
        let versions = self
            .versions(&rendered, &mut packages)
            .map_err(|error| format!("render: unable to post-process bundle info: {error}"))?;
        let package = packages.first().map_or("", |package| package.name.as_str());
        let grown = channels::grow(package, &versions, &self.streams(), self.preferred());
        let default_channel = grown.default_channel.clone();
        let channels = match compatibility {
            Compatibility::Current => links::across_channels(grown),
            Compatibility::Opm1_51 => links::within_channels(grown),
        };
        if let Some(package) = packages.first_mut() {
            if compatibility == Compatibility::Current {
                let default = channels.iter().find(|channel| channel.name == default_channel);
                let last = default.and_then(|channel| channel.entries.as_ref()?.last());
                let head = last.and_then(|head| {
                    let mut bundles = rendered.values();
                    bundles.find(|rendered| rendered.bundle.name == head.name)
                });
                if let Some(head) = head {
                    package.description = head.description();
                    package.icon = head.icon();
                }
            }
            package.default_channel = default_channel;
        }
        Ok(Catalog {
            packages,
            channels,
            bundles: rendered.into_values().map(|rendered| rendered.bundle).collect(),
            ..Catalog::default()
        })
    }

    /// The versions of every grade, in the order of [`Grade::ALL`]; the package that they all belong to is noted.
    fn versions(
        &self,
        rendered: &BTreeMap<&str, RenderedBundle>,
        packages: &mut Vec<Package>,
    ) -> Result<[Versions; 3], String> {
        let mut versions: [Versions; 3] = Default::default();
        for (grade, found) in Grade::ALL.into_iter().zip(&mut versions) {
            for named in self.bundles(grade) {
                let Some(rendered) = rendered.get(named.image.as_str()) else {
                    continue;
                };
                note_version(&rendered.bundle, packages, found)?;
            }
            check_order(found)?;
        }
        Ok(versions)
    }
}

/// Notes a bundle's version, and its package if it is the first.
fn note_version(bundle: &Bundle, packages: &mut Vec<Package>, versions: &mut Versions) -> Result<(), String> {
    let name = quoted(&bundle.name);
    let mut found = Vec::new();
    for (index, property) in bundle.properties.iter().enumerate() {
        let package = release::check_property(property).map_err(|error| {
            format!(
                "parse properties for bundle {name}: parse property[{index}] of type {}: {error}",
                quoted(&property.kind)
            )
        })?;
        found.extend(package);
    }
    let package: PackageProperty = match (found.pop(), found.is_empty()) {
        (Some(package), true) => package,
        _ => {
            return Err(format!(
                "bundle {name} has multiple \"olm.package\" properties, expected exactly 1"
            ));
        }
    };
    let version = Version::parse(&package.version).map_err(|error| {
        format!(
            "bundle {name} has invalid version {}: {error}",
            quoted(&package.version)
        )
    })?;
    match packages.last().filter(|known| !known.name.is_empty()) {
        Some(known) if known.name != package.package_name => {
            return Err(format!(
                "bundle {} does not belong to this package: {}",
                quoted(&package.package_name),
                quoted(&known.name)
            ));
        }
        Some(_) => {}
        None => packages.push(Package {
            name: package.package_name,
            ..Package::default()
        }),
    }
    if versions.insert(bundle.name.clone(), version).is_some() {
        return Err(format!("duplicate bundle name {name}"));
    }
    Ok(())
}

/// Refuses versions of one grade that differ by nothing but build metadata, which has no order.
fn check_order(versions: &Versions) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut problems: Vec<String> = Vec::new();
    for version in versions.values() {
        let ordered = version.without_build().to_string();
        if seen.contains(&ordered) {
            let problem = format!(
                "bundle version {} cannot be compared to {}",
                quoted(version.to_string()),
                quoted(&ordered)
            );
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
        seen.insert(ordered);
    }
    let all = match problems.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Err(format!(
        "encountered bundle versions which differ only by build metadata, which cannot be ordered: {all}"
    ))
}
