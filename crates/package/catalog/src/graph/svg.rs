//! Upgrade graphs drawn as SVG, for pages and reviews, without a browser's help.
//!
//! Each channel is one row; its versions stand in order from left to right. What replaces what is drawn above the row,
//! what skips what below it, so that a long channel stays readable.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::edges::{BundleVersions, ChannelEdges, Rule};
use crate::objects::{Catalog, Channel};

/// Width of a version's box; the longest versions of OperatorHub fit, longer texts are shortened.
const BOX_WIDTH: usize = 132;
const BOX_HEIGHT: usize = 32;
const GAP: usize = 48;
const MARGIN: usize = 24;
/// How far a curve rises for each box it passes over, and the most it rises.
const RISE: usize = 18;
const MAXIMUM_RISE: usize = 120;
/// The characters of a version that fit into its box.
const BOX_CHARACTERS: usize = 17;

/// Draws the channels of one package, or of all of them.
#[must_use]
pub fn draw(catalog: &Catalog, package: Option<&str>) -> String {
    let mut names: Vec<&str> = catalog
        .packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    names.retain(|name| package.is_none_or(|wanted| wanted == *name));
    names.sort_unstable();
    let mut drawing = Drawing {
        body: String::new(),
        width: 0,
        top: MARGIN,
    };
    for name in names {
        drawing.package(catalog, name);
    }
    drawing.finish()
}

struct Drawing {
    body: String,
    width: usize,
    top: usize,
}

impl Drawing {
    fn package(&mut self, catalog: &Catalog, name: &str) {
        let versions = BundleVersions::of(catalog, name);
        let deprecated: BTreeMap<(&str, &str), &str> = catalog
            .deprecations
            .iter()
            .filter(|deprecations| deprecations.package == name)
            .flat_map(|deprecations| &deprecations.entries)
            .map(|entry| {
                (
                    (entry.reference.schema.as_str(), entry.reference.name.as_str()),
                    entry.message.as_str(),
                )
            })
            .collect();
        let package = catalog.packages.iter().find(|package| package.name == name);
        let default_channel = package.map_or("", |package| package.default_channel.as_str());
        self.top += 20;
        let _ = writeln!(
            self.body,
            r#"<text class="package" x="{MARGIN}" y="{}">{}</text>"#,
            self.top,
            escaped(name)
        );
        self.top += 12;
        let mut channels: Vec<&Channel> = catalog
            .channels
            .iter()
            .filter(|channel| channel.package == name)
            .collect();
        channels.sort_by(|left, right| left.name.cmp(&right.name));
        for channel in channels {
            self.channel(channel, channel.name == default_channel, &versions, &deprecated);
        }
        self.top += MARGIN;
    }

    fn channel(
        &mut self,
        channel: &Channel,
        is_default: bool,
        versions: &BundleVersions<'_>,
        deprecated: &BTreeMap<(&str, &str), &str>,
    ) {
        let edges = ChannelEdges::new(channel, versions);
        let mut names: Vec<&str> = edges.names().collect();
        names.sort_by(|left, right| versions.compare(left, right));
        let place: BTreeMap<&str, usize> = names
            .iter()
            .enumerate()
            .map(|(place, name)| (*name, place))
            .collect();
        let arrows: Vec<(usize, usize, Rule)> = names
            .iter()
            .flat_map(|older| {
                edges
                    .successors(older)
                    .into_iter()
                    .map(|(newer, rule)| (*older, newer, rule))
            })
            .map(|(older, newer, rule)| (place[older], place[newer], rule))
            .collect();
        let room = |above: bool| {
            let spans = arrows
                .iter()
                .filter(|(_, _, rule)| (*rule == Rule::Replaces) == above);
            spans.map(|(from, to, _)| rise(*from, *to)).max().unwrap_or(0)
        };
        self.top += 28;
        let _ = writeln!(
            self.body,
            r#"<text class="channel" x="{MARGIN}" y="{}">{}{}{}</text>"#,
            self.top,
            escaped(&channel.name),
            if is_default { " (default)" } else { "" },
            if deprecated.contains_key(&("olm.channel", channel.name.as_str())) {
                " (deprecated)"
            } else {
                ""
            },
        );
        let row = self.top + 12 + room(true);
        for (from, to, rule) in &arrows {
            self.arrow(row, *from, *to, *rule);
        }
        let heads: BTreeSet<&str> = edges.heads().into_iter().collect();
        let skipped: BTreeSet<&str> = channel
            .entries
            .iter()
            .flatten()
            .flat_map(|entry| &entry.skips)
            .map(String::as_str)
            .collect();
        for (place, name) in names.iter().enumerate() {
            let message = deprecated.get(&("olm.bundle", *name)).copied();
            let mut class = String::from("version");
            for (applies, word) in [
                (heads.contains(name), " head"),
                (skipped.contains(name), " skipped"),
                (message.is_some(), " deprecated"),
            ] {
                class.push_str(if applies { word } else { "" });
            }
            let label = versions
                .get(name)
                .map_or_else(|| (*name).to_owned(), version::VersionRelease::to_name_part);
            self.version(row, place, name, &label, &class, message);
        }
        self.width = self.width.max(left(names.len()));
        self.top = row + BOX_HEIGHT + room(false) + 8;
    }

    fn version(
        &mut self,
        row: usize,
        place: usize,
        name: &str,
        label: &str,
        class: &str,
        message: Option<&str>,
    ) {
        let (x, middle) = (left(place), left(place) + BOX_WIDTH / 2);
        let shown: String = if label.chars().count() > BOX_CHARACTERS {
            label.chars().take(BOX_CHARACTERS - 1).chain(['…']).collect()
        } else {
            label.to_owned()
        };
        let told = message.map_or_else(|| name.to_owned(), |message| format!("{name}: {message}"));
        let _ = writeln!(
            self.body,
            r#"<g class="{class}"><title>{}</title><rect x="{x}" y="{row}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"/><text x="{middle}" y="{}">{}</text></g>"#,
            escaped(&told),
            row + BOX_HEIGHT / 2 + 5,
            escaped(&shown),
        );
    }

    fn arrow(&mut self, row: usize, from: usize, to: usize, rule: Rule) {
        let (class, baseline) = match rule {
            Rule::Replaces => ("replaces", row),
            Rule::Skips => ("skips", row + BOX_HEIGHT),
            Rule::SkipRange => ("skip-range", row + BOX_HEIGHT),
        };
        let path = if rule == Rule::Replaces && to == from + 1 {
            let middle = row + BOX_HEIGHT / 2;
            format!("M {} {middle} H {}", left(from) + BOX_WIDTH, left(to) - 2)
        } else {
            // A cubic curve reaches three quarters of the way to its control points.
            let reach = rise(from, to) * 4 / 3;
            let control = if rule == Rule::Replaces {
                baseline.saturating_sub(reach)
            } else {
                baseline + reach
            };
            let (start, end) = (left(from) + BOX_WIDTH / 2 + 8, left(to) + BOX_WIDTH / 2 - 8);
            format!("M {start} {baseline} C {start} {control} {end} {control} {end} {baseline}")
        };
        let _ = writeln!(self.body, r#"<path class="{class}" d="{path}"/>"#);
    }

    fn finish(self) -> String {
        let (width, height) = (self.width.max(320) + MARGIN, self.top + MARGIN);
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="system-ui, sans-serif" font-size="13">
<style>
.package {{ font-size: 18px; font-weight: 600 }}
.channel {{ font-weight: 600; fill: #555 }}
.version rect {{ fill: #eef4ff; stroke: #5b7fb5 }}
.version text {{ text-anchor: middle }}
.version.head rect {{ fill: #d8f5dc; stroke: #2e8540; stroke-width: 2 }}
.version.skipped rect {{ stroke: #c62828; stroke-dasharray: 4 3 }}
.version.deprecated rect {{ fill: #fbe3c0 }}
path {{ fill: none; stroke: #5b7fb5; marker-end: url(#arrow) }}
.skips {{ stroke: #c62828; stroke-dasharray: 5 4 }}
.skip-range {{ stroke: #999; stroke-dasharray: 1 4 }}
</style>
<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M 0 0 L 8 4 L 0 8 z" style="fill: #5b7fb5; stroke: none; marker-end: none"/></marker></defs>
{}</svg>
"#,
            self.body
        )
    }
}

fn left(place: usize) -> usize {
    MARGIN + place * (BOX_WIDTH + GAP)
}

fn rise(from: usize, to: usize) -> usize {
    match from.abs_diff(to) {
        0 | 1 => RISE,
        distance => (distance * RISE).min(MAXIMUM_RISE),
    }
}

/// Text that may stand between tags and in attributes; characters that XML can't hold become a question mark.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' | '\t' => safe.push(' '),
            character if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => {
                safe.push('?');
            }
            character => safe.push(character),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::world;

    #[test]
    fn every_version_and_every_edge_is_drawn() {
        let catalog = world(
            "stable-v1: 1.0.0 | 1.1.0 <- 1.0.0 | 1.2.0 <- 1.1.0 skips 1.0.0\nfast: 2.0.0 range <2.0.0 | 1.0.0",
        );
        insta::assert_snapshot!(draw(&catalog, Some("stack")));
        assert!(!draw(&catalog, Some("other")).contains("class=\"version"));
    }

    #[test]
    fn names_can_not_break_out_of_the_drawing() {
        let mut catalog = world("stable: 1.0.0");
        catalog.channels[0].name = "<script>\"&\u{1}".to_owned();
        assert!(draw(&catalog, None).contains("&lt;script&gt;&quot;&amp;?"));
    }
}
