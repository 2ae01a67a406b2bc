//! Upgrade graphs as mermaid text, as `opm alpha render-graph` draws them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use gotemplate::format::quoted;
use thiserror::Error;
use version::{Range, Version};

use crate::objects::properties;
use crate::objects::{Bundle, Catalog, Channel, ChannelEntry};
use crate::reading::{BUNDLE, CHANNEL, PACKAGE};

/// What to draw.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// The oldest bundle to draw; empty for all. Only its package is drawn.
    pub minimum_edge: &'a str,
    /// The package to draw; empty for all.
    pub package: &'a str,
    /// Whether to mark what OLM v0 never offers: skipped versions, and ways that lead to them.
    pub draw_v0_semantics: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            minimum_edge: "",
            package: "",
            draw_v0_semantics: true,
        }
    }
}

/// A graph that was drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    /// The mermaid text.
    pub text: String,
    /// What was left out, in upstream's words, a line each.
    pub warnings: Vec<String>,
}

/// Why a graph cannot be drawn. The texts are upstream's.
#[derive(Debug, Error)]
pub enum DrawError {
    /// A bundle's properties cannot be read.
    #[error("parse properties for bundle {bundle}: {error}")]
    Properties {
        /// The bundle's name, quoted.
        bundle: String,
        /// What is wrong.
        error: String,
    },
    /// A bundle does not say its version, or says two.
    #[error("bundle {0} has multiple \"olm.package\" properties, expected exactly 1")]
    PackageProperty(String),
    /// A bundle's version is none.
    #[error("bundle {bundle} has invalid version {version}: {error}")]
    Version {
        /// The bundle's name, quoted.
        bundle: String,
        /// The version, quoted.
        version: String,
        /// What is wrong with it.
        error: version::VersionError,
    },
    /// No bundle has the name that the graph is to start at.
    #[error("unknown minimum edge name: {0}")]
    UnknownMinimumEdge(String),
}

/// The versions of bundles by their name, whatever package they are in; a bundle that is not there has version 0.0.0.
struct Versions<'a>(BTreeMap<&'a str, Version>);

impl<'a> Versions<'a> {
    fn of(catalog: &'a Catalog) -> Result<Self, DrawError> {
        let mut versions = BTreeMap::new();
        for bundle in &catalog.bundles {
            if !versions.contains_key(bundle.name.as_str()) {
                versions.insert(bundle.name.as_str(), version_of(bundle)?);
            }
        }
        Ok(Self(versions))
    }

    fn get(&self, name: &str) -> Cow<'_, Version> {
        match self.0.get(name) {
            Some(version) => Cow::Borrowed(version),
            None => Cow::Owned(Version::new(0, 0, 0)),
        }
    }
}

fn version_of(bundle: &Bundle) -> Result<Version, DrawError> {
    let name = || quoted(&bundle.name);
    let packages = properties::parse(&bundle.properties).map_err(|error| DrawError::Properties {
        bundle: name(),
        error,
    })?;
    let [property] = packages.as_slice() else {
        return Err(DrawError::PackageProperty(name()));
    };
    Version::parse(&property.version).map_err(|error| DrawError::Version {
        bundle: name(),
        version: quoted(&property.version),
        error,
    })
}

/// What is deprecated, by name.
#[derive(Default)]
struct Deprecated<'a> {
    packages: BTreeSet<&'a str>,
    channels: BTreeSet<&'a str>,
    bundles: BTreeSet<&'a str>,
}

impl<'a> Deprecated<'a> {
    fn of(catalog: &'a Catalog) -> Self {
        let mut deprecated = Self::default();
        for deprecations in &catalog.deprecations {
            for entry in &deprecations.entries {
                let name = entry.reference.name.as_str();
                match entry.reference.schema.as_str() {
                    PACKAGE => deprecated.packages.insert(&deprecations.package),
                    CHANNEL => deprecated.channels.insert(name),
                    BUNDLE => deprecated.bundles.insert(name),
                    _ => false,
                };
            }
        }
        deprecated
    }
}

/// Draws the channels of a catalog.
pub fn draw(catalog: &Catalog, options: Options<'_>) -> Result<Drawing, DrawError> {
    let versions = Versions::of(catalog)?;
    let mut channels: Vec<&Channel> = catalog.channels.iter().collect();
    channels.sort_by(|a, b| a.name.cmp(&b.name));
    let floor = if options.minimum_edge.is_empty() {
        None
    } else {
        let version = versions.0.get(options.minimum_edge);
        Some(version.ok_or_else(|| DrawError::UnknownMinimumEdge(quoted(options.minimum_edge)))?)
    };
    let floor_package = floor.and_then(|_| {
        let holds = |channel: &&&Channel| {
            let mut entries = channel.entries.iter().flatten();
            entries.any(|entry| entry.name == options.minimum_edge)
        };
        channels
            .iter()
            .find(holds)
            .map(|channel| channel.package.as_str())
    });
    let mut pen = Pen {
        options,
        versions: &versions,
        deprecated: Deprecated::of(catalog),
        packages: BTreeMap::new(),
        deprecated_package: None,
        deprecated_channels: Vec::new(),
        marked: BTreeMap::new(),
        links: 0,
        skipped_links: Vec::new(),
        warnings: Vec::new(),
    };
    for channel in channels {
        let wanted = |package: &str| package.is_empty() || channel.package == package;
        if !wanted(options.package) || !wanted(floor_package.unwrap_or_default()) {
            continue;
        }
        let entries: Vec<Cow<'_, ChannelEntry>> = match floor {
            None => channel.entries.iter().flatten().map(Cow::Borrowed).collect(),
            Some(floor) => channel
                .entries
                .iter()
                .flatten()
                .filter_map(|entry| above(entry, floor, options.minimum_edge, &versions))
                .map(Cow::Owned)
                .collect(),
        };
        let filtered = floor.is_some() || !options.package.is_empty();
        if !(filtered && entries.is_empty()) {
            pen.channel(channel, &entries);
        }
    }
    Ok(pen.finish())
}

/// An entry with only those edges that come from the oldest version to draw, or from above it; `None` below.
fn above(
    entry: &ChannelEntry,
    floor: &Version,
    floor_name: &str,
    versions: &Versions<'_>,
) -> Option<ChannelEntry> {
    let is_above = |name: &str| versions.get(name).precedence(floor).is_ge();
    let mut kept = ChannelEntry {
        name: entry.name.clone(),
        ..ChannelEntry::default()
    };
    if entry.name == floor_name {
        return Some(kept);
    }
    if !entry.replaces.is_empty() && is_above(&entry.replaces) {
        kept.replaces.clone_from(&entry.replaces);
    }
    kept.skips = entry
        .skips
        .iter()
        .filter(|skip| is_above(skip))
        .cloned()
        .collect();
    if Range::parse(&entry.skip_range).is_ok_and(|range| !entry.skip_range.is_empty() && range.matches(floor))
    {
        kept.skip_range.clone_from(&entry.skip_range);
    }
    let has_edges = |entry: &ChannelEntry| {
        !entry.replaces.is_empty() || !entry.skips.is_empty() || !entry.skip_range.is_empty()
    };
    (has_edges(&kept) || (!has_edges(entry) && is_above(&entry.name))).then_some(kept)
}

/// Draws channel after channel.
struct Pen<'a> {
    options: Options<'a>,
    versions: &'a Versions<'a>,
    deprecated: Deprecated<'a>,
    /// The channels that were drawn, by package.
    packages: BTreeMap<&'a str, String>,
    /// Upstream marks only the last deprecated package.
    deprecated_package: Option<&'a str>,
    deprecated_channels: Vec<String>,
    /// The nodes of each class.
    marked: BTreeMap<&'static str, Vec<String>>,
    links: usize,
    skipped_links: Vec<String>,
    warnings: Vec<String>,
}

impl<'a> Pen<'a> {
    fn channel(&mut self, channel: &'a Channel, entries: &[Cow<'_, ChannelEntry>]) {
        let channel_id = format!("{}-{}", channel.package, channel.name);
        let mut text = self.packages.remove(channel.package.as_str()).unwrap_or_default();
        let name = quoted(&channel.name);
        line(&mut text, format_args!("    %% channel {name}"));
        line(&mut text, format_args!("    subgraph {channel_id}[{name}]"));
        if self.deprecated.packages.contains(channel.package.as_str()) {
            self.deprecated_package = Some(&channel.package);
        }
        if self.deprecated.channels.contains(channel.name.as_str()) {
            self.deprecated_channels.push(channel_id.clone());
        }
        let mut newest_first: Vec<&ChannelEntry> = entries.iter().map(AsRef::as_ref).collect();
        newest_first.sort_by(|a, b| self.versions.get(&b.name).precedence(&self.versions.get(&a.name)));
        let mut skipped: BTreeSet<&str> = BTreeSet::new();
        for entry in newest_first {
            let entry_id = format!("{channel_id}-{}", entry.name);
            let entry_name = quoted(&entry.name);
            line(&mut text, format_args!("      {entry_id}[{entry_name}]"));
            let is_deprecated = self.deprecated.bundles.contains(entry.name.as_str());
            let class = match (is_deprecated, skipped.contains(entry.name.as_str())) {
                (true, true) => Some("deprecatedskipped"),
                (true, false) => Some("deprecated"),
                (false, true) => Some("skipped"),
                (false, false) => None,
            };
            if let Some(class) = class {
                self.marked.entry(class).or_default().push(entry_id.clone());
            }
            let mut edge = |from: &str, label: &str| {
                line(
                    &mut text,
                    format_args!(
                        "      {channel_id}-{from}[{}]-- {label} --> {entry_id}[{entry_name}]",
                        quoted(from)
                    ),
                );
            };
            for skip in &entry.skips {
                edge(skip, "skip");
                let link = self.next_link();
                if self.options.draw_v0_semantics && !skipped.insert(skip) {
                    self.skipped_links.push(link);
                }
            }
            if !entry.skip_range.is_empty() {
                match Range::parse(&entry.skip_range) {
                    Ok(range) => {
                        let label = format!("\"skipRange({})\"", entry.skip_range);
                        for older in entries {
                            if range.matches(&self.versions.get(&older.name)) {
                                edge(&older.name, &label);
                                self.link_to(&entry.name, &skipped);
                            }
                        }
                    }
                    Err(error) => self.warnings.push(format!(
                        "warning: ignoring invalid SkipRange for package/edge {}/{entry_name}: {error}",
                        quoted(&channel.package)
                    )),
                }
            }
            // Replacements come last, because skips decide whether they count.
            if !entry.replaces.is_empty() {
                edge(&entry.replaces, "replace");
                self.link_to(&entry.name, &skipped);
            }
        }
        line(&mut text, format_args!("    end"));
        self.packages.insert(&channel.package, text);
    }

    fn next_link(&mut self) -> String {
        let link = self.links.to_string();
        self.links += 1;
        link
    }

    /// Counts a way to a version, and marks it if nobody gets there.
    fn link_to(&mut self, name: &str, skipped: &BTreeSet<&str>) {
        let link = self.next_link();
        if self.options.draw_v0_semantics && skipped.contains(name) {
            self.skipped_links.push(link);
        }
    }

    fn finish(self) -> Drawing {
        let mut text = "graph LR\n  \
             classDef deprecated fill:#E8960F\n  \
             classDef skipped stroke:#FF0000,stroke-width:4px\n  \
             classDef deprecatedskipped fill:#E8960F,stroke:#FF0000,stroke-width:4px\n"
            .to_owned();
        for (package, channels) in &self.packages {
            let name = quoted(package);
            line(&mut text, format_args!("  %% package {name}"));
            line(&mut text, format_args!("  subgraph {name}"));
            text.push_str(channels);
            line(&mut text, format_args!("  end"));
        }
        if let Some(package) = self.deprecated_package.filter(|package| !package.is_empty()) {
            line(&mut text, format_args!("style {package} fill:#989695"));
        }
        for channel in &self.deprecated_channels {
            line(&mut text, format_args!("style {channel} fill:#DCD0FF"));
        }
        for (class, mut nodes) in self.marked {
            nodes.sort_unstable();
            line(&mut text, format_args!("class {} {class}", nodes.join(",")));
        }
        if !self.skipped_links.is_empty() {
            line(
                &mut text,
                format_args!(
                    "linkStyle {} stroke:#FF0000,stroke-width:3px,stroke-dasharray:5;",
                    self.skipped_links.join(",")
                ),
            );
        }
        Drawing {
            text,
            warnings: self.warnings,
        }
    }
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(line);
    text.push('\n');
}
