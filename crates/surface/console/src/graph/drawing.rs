//! The graph as SVG: versions from top to bottom, the newest first.

use catalog::edges::Rule;

use super::lanes::{Dot, Drawing, RADIUS, Span, cut, dot};
use super::{Graph, Node, lanes};

/// Room for the version and its marks.
const LABEL: usize = 380;
/// The longest version that is drawn; the title has it whole.
const LONGEST_LABEL: usize = 28;

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
        road_from: span.road_from,
        may_be_straight: span.rule == Rule::Replaces,
    });
    lanes::draw(
        &graph.words(),
        graph.nodes.len(),
        LABEL,
        spans.collect(),
        |svg, place, at| {
            if let Some(node) = graph.nodes.get(place) {
                version(svg, at, node);
            }
        },
    )
}

fn version(svg: &mut String, at: &Dot, node: &Node) {
    let mut class = String::from("version");
    let mut marks = Vec::new();
    let mut told = vec![node.name.as_str()];
    for (applies, word) in [
        (node.is_installed, "installed"),
        (node.is_on_road, "road"),
        (node.is_head, "head"),
        (node.is_deprecated, "deprecated"),
    ] {
        if !applies {
            continue;
        }
        class.push(' ');
        class.push_str(word);
        let text = if word == "road" { "on the road" } else { word };
        told.push(text);
        marks.push((word, text));
    }
    let radius = if node.is_installed { RADIUS + 1 } else { RADIUS };
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
