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

/// One version of the channel.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a mark of its own, and a version may have them all"
)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) is_head: bool,
    pub(crate) is_installed: bool,
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
    /// The one that the road comes from, if it takes this way.
    pub(crate) road_from: Option<usize>,
}

/// The upgrade graph of one channel, the newest version first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Graph {
    pub(crate) channel: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) spans: Vec<Span>,
    /// How many versions are left out.
    pub(crate) hidden: usize,
}

impl Graph {
    /// Reads the graph of a channel, seen from what is installed.
    pub(crate) fn of(package: &Package, channel: &PackageChannel, installed: Option<&Installed>) -> Self {
        let steps = installed
            .map(|installed| road(package, &channel.name, installed))
            .unwrap_or_default();
        let installed_name = installed.map(|installed| installed.name.as_str());
        let on_road: BTreeSet<&str> = steps.iter().map(|bundle| bundle.name.as_str()).collect();
        let heads = heads(channel);
        let entries: BTreeSet<&str> = channel.entries.iter().map(|entry| entry.name.as_str()).collect();
        let is_in = |name: &str| entries.contains(name) || installed_name == Some(name);
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
                is_installed: installed_name == Some(bundle.name.as_str()),
                is_on_road: on_road.contains(bundle.name.as_str()),
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
        let road: Vec<&str> = installed_name
            .into_iter()
            .chain(steps.iter().map(|bundle| bundle.name.as_str()))
            .collect();
        Self {
            channel: channel.name.clone(),
            spans: spans(channel, &bundles, &road),
            hidden: total - nodes.len(),
            nodes,
        }
    }

    /// Says in words what the drawing shows.
    pub(crate) fn words(&self) -> String {
        let named = |pick: fn(&Node) -> bool| -> Vec<&str> {
            let picked = self.nodes.iter().rev().filter(|node| pick(node));
            picked.map(|node| node.version.as_str()).collect()
        };
        let mut text = format!(
            "Channel {}: {} versions",
            self.channel,
            self.nodes.len() + self.hidden
        );
        let heads = named(|node| node.is_head);
        if !heads.is_empty() {
            let _ = write!(text, ", head {}", heads.join(" and "));
        }
        let installed = named(|node| node.is_installed);
        if let [installed] = installed.as_slice() {
            let _ = write!(text, "; {installed} is installed");
            let road = named(|node| node.is_on_road);
            if road.is_empty() {
                text.push_str(", and nothing of this channel follows it");
            } else {
                let _ = write!(text, ", and the road from it leads to {}", road.join(", then "));
            }
        }
        text
    }
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
    let matters = |node: &Node| node.is_head || node.is_installed || node.is_on_road;
    let (first, then): (Vec<usize>, Vec<usize>) =
        (0..nodes.len()).partition(|place| nodes.get(*place).is_some_and(matters));
    let mut kept: Vec<usize> = first.into_iter().chain(then).take(MOST_NODES).collect();
    kept.sort_unstable();
    kept
}

/// What follows what among the versions that are drawn, as the resolver has it.
fn spans(channel: &PackageChannel, bundles: &[&Bundle], road: &[&str]) -> Vec<Span> {
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
                    road_from: None,
                });
                spans.len() - 1
            });
            let is_road = road
                .windows(2)
                .any(|step| step == [older.name.as_str(), newer.name.as_str()]);
            if let Some(span) = spans.get_mut(place) {
                span.from.push(from);
                if is_road {
                    span.road_from = Some(from);
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
