//! An upgrade graph of one channel: which versions there are, what follows what, and the road of the installed one.

mod drawing;
pub(crate) mod lanes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use catalog::edges::Rule;
use resolve::edges::{Edge, Edges};
use resolve::package::{Bundle, Package, PackageChannel};
use resolve::request::Installed;
use resolve::resolution::preference;
use resolve::road::road;
use resolve::search::version_text;

pub(crate) use drawing::draw;

/// How many versions are drawn: a few screens. The head, the installed one and those on the road are always among them.
const MOST_NODES: usize = 40;

/// How many installed versions have a road: more would be a tangle. Nobody has as many of one package side by side.
const MOST_ROADS: usize = 10;

/// What an extension has installed of the package.
#[derive(Debug, Clone)]
pub(crate) struct Holding {
    pub(crate) extension: String,
    pub(crate) bundle: Installed,
}

/// One version of the channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) is_head: bool,
    /// The extensions that have it installed.
    pub(crate) installed_by: Vec<String>,
    pub(crate) is_on_road: bool,
    pub(crate) is_deprecated: bool,
}

/// The versions that one version follows by one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) rule: Rule,
    /// The version that follows, by its place among the nodes.
    pub(crate) to: usize,
    /// Those that it follows.
    pub(crate) from: Vec<usize>,
    /// Those that a road comes from which takes this way.
    pub(crate) road_from: Vec<usize>,
}

/// The road from an installed version to the head, by the names of bundles.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Road {
    from: String,
    /// The extensions that are there.
    by: Vec<String>,
    steps: Vec<String>,
}

/// The upgrade graph of one channel, the newest version first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Graph {
    pub(crate) channel: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) spans: Vec<Span>,
    roads: Vec<Road>,
    /// How many versions are left out.
    pub(crate) hidden: usize,
}

impl Road {
    /// Whether it leads from one bundle to another in one step.
    fn takes(&self, older: &str, newer: &str) -> bool {
        let mut from = self.from.as_str();
        self.steps.iter().any(|to| {
            let step = (from, to.as_str());
            from = to;
            step == (older, newer)
        })
    }
}

impl Graph {
    /// Reads the graph of a channel, seen from what extensions have installed.
    pub(crate) fn of(package: &Package, channel: &PackageChannel, holdings: &[Holding]) -> Self {
        let roads = roads(package, channel, holdings);
        let road_of = |name: &str| roads.iter().find(|road| road.from == name);
        let heads = heads(channel);
        let entries: BTreeSet<&str> = channel.entries.iter().map(|entry| entry.name.as_str()).collect();
        let is_in = |name: &str| entries.contains(name) || road_of(name).is_some();
        let mut bundles: Vec<&Bundle> = package
            .bundles
            .iter()
            .filter(|bundle| is_in(&bundle.name))
            .collect();
        bundles.sort_by(|one, other| newest_first(one, other));
        let nodes: Vec<Node> = bundles
            .iter()
            .map(|bundle| Node {
                name: bundle.name.clone(),
                version: match version_text(bundle) {
                    version if version.is_empty() => bundle.name.clone(),
                    version => version,
                },
                is_head: heads.contains(bundle.name.as_str()),
                installed_by: road_of(&bundle.name)
                    .map(|road| road.by.clone())
                    .unwrap_or_default(),
                is_on_road: roads.iter().any(|road| road.steps.contains(&bundle.name)),
                is_deprecated: package
                    .deprecations
                    .as_ref()
                    .is_some_and(|deprecations| deprecations.name_bundle(&bundle.name)),
            })
            .collect();
        let total = nodes.len();
        let kept = kept(&nodes);
        let nodes: Vec<Node> = kept
            .iter()
            .filter_map(|place| nodes.get(*place).cloned())
            .collect();
        let bundles: Vec<&Bundle> = kept
            .iter()
            .filter_map(|place| bundles.get(*place).copied())
            .collect();
        Self {
            channel: channel.name.clone(),
            spans: spans(channel, &bundles, &roads),
            hidden: total - nodes.len(),
            nodes,
            roads,
        }
    }

    /// Whether several extensions have the package installed, so that their names tell them apart.
    pub(crate) fn are_several(&self) -> bool {
        self.roads.iter().map(|road| road.by.len()).sum::<usize>() > 1
    }

    /// Says in words what the drawing shows.
    pub(crate) fn words(&self) -> String {
        let version = |name: &str| {
            let node = self.nodes.iter().find(|node| node.name == name)?;
            Some(node.version.as_str())
        };
        let mut text = format!(
            "Channel {}: {} versions",
            self.channel,
            self.nodes.len() + self.hidden
        );
        let heads = self.nodes.iter().rev().filter(|node| node.is_head);
        let heads: Vec<&str> = heads.map(|node| node.version.as_str()).collect();
        if !heads.is_empty() {
            let _ = write!(text, ", head {}", heads.join(" and "));
        }
        for road in &self.roads {
            let Some(installed) = version(&road.from) else {
                continue;
            };
            let _ = write!(text, "; {installed} is installed");
            if self.are_several() {
                let _ = write!(text, " by {}", road.by.join(" and "));
            }
            let steps: Vec<&str> = road.steps.iter().filter_map(|name| version(name)).collect();
            if steps.is_empty() {
                text.push_str(", and nothing of this channel follows it");
            } else {
                let _ = write!(text, ", and the road from it leads to {}", steps.join(", then "));
            }
        }
        text
    }
}

/// The roads of what is installed, each once, whoever is there.
fn roads(package: &Package, channel: &PackageChannel, holdings: &[Holding]) -> Vec<Road> {
    let mut roads: Vec<Road> = Vec::new();
    for holding in holdings {
        if let Some(known) = roads.iter_mut().find(|known| known.from == holding.bundle.name) {
            known.by.push(holding.extension.clone());
            continue;
        }
        if roads.len() == MOST_ROADS {
            continue;
        }
        let steps = road(package, &channel.name, &holding.bundle);
        roads.push(Road {
            from: holding.bundle.name.clone(),
            by: vec![holding.extension.clone()],
            steps: steps.iter().map(|bundle| bundle.name.clone()).collect(),
        });
    }
    roads
}

fn newest_first(one: &Bundle, other: &Bundle) -> std::cmp::Ordering {
    // Without deprecations: a drawing has its versions in order, whatever is preferred.
    preference(&Package::default(), one, other).then_with(|| one.name.cmp(&other.name))
}

/// The versions that nothing replaces or skips.
fn heads(channel: &PackageChannel) -> BTreeSet<&str> {
    let followed: BTreeSet<&str> = channel
        .entries
        .iter()
        .flat_map(|entry| {
            std::iter::once(entry.replaces.as_str()).chain(entry.skips.iter().map(String::as_str))
        })
        .collect();
    let names = channel.entries.iter().map(|entry| entry.name.as_str());
    names.filter(|name| !followed.contains(name)).collect()
}

/// The places of the nodes that are drawn, in order: what matters, and then the newest.
fn kept(nodes: &[Node]) -> Vec<usize> {
    let matters = |node: &Node| node.is_head || !node.installed_by.is_empty() || node.is_on_road;
    let (first, then): (Vec<usize>, Vec<usize>) =
        (0..nodes.len()).partition(|place| nodes.get(*place).is_some_and(matters));
    let mut kept: Vec<usize> = first.into_iter().chain(then).take(MOST_NODES).collect();
    kept.sort_unstable();
    kept
}

/// What follows what among the versions that are drawn, as the resolver has it.
fn spans(channel: &PackageChannel, bundles: &[&Bundle], roads: &[Road]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut places: BTreeMap<(usize, Rule), usize> = BTreeMap::new();
    for (from, older) in bundles.iter().enumerate() {
        let Some(installed) = installed(older) else {
            continue;
        };
        let Ok(edges) = Edges::new(&installed, [channel]) else {
            continue;
        };
        for (to, newer) in bundles.iter().enumerate() {
            let Some(Edge::Channel(_, rule)) = edges.lead_to(newer).filter(|_| from != to) else {
                continue;
            };
            let place = *places.entry((to, rule)).or_insert_with(|| {
                spans.push(Span {
                    rule,
                    to,
                    from: Vec::new(),
                    road_from: Vec::new(),
                });
                spans.len() - 1
            });
            let is_road = roads.iter().any(|road| road.takes(&older.name, &newer.name));
            if let Some(span) = spans.get_mut(place) {
                span.from.push(from);
                if is_road {
                    span.road_from.push(from);
                }
            }
        }
    }
    spans.sort_by_key(|span| (span.to, span.rule));
    spans
}

/// A bundle as if it were installed.
pub(crate) fn installed(bundle: &Bundle) -> Option<Installed> {
    let version = bundle.version.as_ref().ok()?;
    let release = version.release.as_ref();
    Some(Installed {
        name: bundle.name.clone(),
        version: version.version.to_string(),
        release: release.map(|release| release.as_str().to_owned()),
    })
}

#[cfg(test)]
mod tests;
