//! The graph as SVG: versions from top to bottom, the newest first.

use catalog::edges::Rule;

use super::lanes::{Dot, Drawing, RADIUS, Span, cut, dot};
use super::{Graph, Node, lanes};

/// Room for the version and its marks.
const LABEL: usize = 380;
/// The longest version that is drawn; the title has it whole.
const LONGEST_LABEL: usize = 28;
/// The longest name of an extension that is drawn; the title has it whole.
const LONGEST_NAME: usize = 18;

/// Draws a graph.
pub(crate) fn draw(graph: &Graph) -> Drawing {
    let spans = graph.spans.iter().map(|span| Span {
        class: match span.rule {
            Rule::Replaces => "replaces",
            Rule::Skips => "skips",
            Rule::SkipRange => "skip-range",
        },
        to: span.to,
        from: &span.from,
        road_from: &span.road_from,
        may_be_straight: span.rule == Rule::Replaces,
    });
    lanes::draw(
        &graph.words(),
        graph.nodes.len(),
        LABEL,
        spans.collect(),
        |svg, place, at| {
            if let Some(node) = graph.nodes.get(place) {
                version(svg, at, node, graph.are_several());
            }
        },
    )
}

fn version(svg: &mut String, at: &Dot, node: &Node, are_several: bool) {
    let is_installed = !node.installed_by.is_empty();
    let (mark, name) = match node.installed_by.as_slice() {
        [one] if are_several => (
            format!("installed by {}", cut(one, LONGEST_NAME)),
            format!("installed by {one}"),
        ),
        [_, _, ..] => (
            format!("installed by {} extensions", node.installed_by.len()),
            format!("installed by {}", node.installed_by.join(", ")),
        ),
        _ => ("installed".to_owned(), "installed".to_owned()),
    };
    let mut class = String::from("version");
    let mut marks = Vec::new();
    let mut told = vec![node.name.as_str()];
    for (applies, word, text, in_full) in [
        (is_installed, "installed", mark.as_str(), name.as_str()),
        (node.is_on_road, "road", "on the road", "on the road"),
        (node.is_head, "head", "head", "head"),
        (node.is_deprecated, "deprecated", "deprecated", "deprecated"),
    ] {
        if !applies {
            continue;
        }
        class.push(' ');
        class.push_str(word);
        told.push(in_full);
        marks.push((word, text));
    }
    let radius = if is_installed { RADIUS + 1 } else { RADIUS };
    dot(
        svg,
        at,
        radius,
        &class,
        &told.join(", "),
        &cut(&node.version, LONGEST_LABEL),
        &marks,
    );
}
