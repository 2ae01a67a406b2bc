//! The graph as SVG: versions from top to bottom, the newest first, and beside them a lane for every way between two that
//! don't stand next to each other.

use std::fmt::Write as _;

use catalog::edges::Rule;

use super::{Graph, Node, Span};

/// The height of a version's row.
const ROW: usize = 40;
/// The distance between two lanes.
const LANE: usize = 22;
/// The radius of a version's dot, and of the corners of ways.
const RADIUS: usize = 6;
const MARGIN: usize = 20;
/// Room for the version and its marks.
const LABEL: usize = 380;
/// How many lanes there may be; ways that find none are counted instead, and the table below names them.
const MOST_LANES: usize = 10;
/// The longest version that is drawn; the title has it whole.
const LONGEST_LABEL: usize = 28;

/// A drawing, and how many ways had no room in it.
pub(crate) struct Drawing {
    pub(crate) svg: String,
    pub(crate) left_out: usize,
}

/// Draws a graph. What it looks like is said by the style sheet of the page.
pub(crate) fn draw(graph: &Graph) -> Drawing {
    let mut spans: Vec<&Span> = graph.spans.iter().collect();
    // The road gets its lanes first, and short ways lie inside long ones.
    spans.sort_by_key(|span| {
        (
            span.road_from.is_none(),
            extent(span).1 - extent(span).0,
            span.to,
            span.rule,
        )
    });
    let mut lanes: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut ways: Vec<(&Span, usize)> = Vec::new();
    let mut left_out = 0;
    for span in spans {
        if is_straight(span) {
            ways.push((span, 0));
            continue;
        }
        match free_lane(&mut lanes, extent(span)) {
            Some(lane) => ways.push((span, lane + 1)),
            None => left_out += span.from.len(),
        }
    }
    let column = MARGIN + lanes.len() * LANE;
    let (width, height) = (column + LABEL, graph.nodes.len() * ROW + MARGIN);
    let mut svg = format!(
        "<svg class=\"graph\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         <defs><marker id=\"arrow\" class=\"arrow\" viewBox=\"0 0 8 8\" refX=\"6\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\" markerUnits=\"userSpaceOnUse\"><path d=\"M0 0 8 4 0 8z\"/></marker>\
         <marker id=\"arrow-road\" class=\"arrow road\" viewBox=\"0 0 8 8\" refX=\"6\" refY=\"4\" markerWidth=\"11\" \
         markerHeight=\"11\" orient=\"auto\" markerUnits=\"userSpaceOnUse\"><path d=\"M0 0 8 4 0 8z\"/></marker></defs>\n",
        escaped(&graph.words()),
    );
    for (span, lane) in &ways {
        for from in &span.from {
            way(&mut svg, span, *from, *lane, column, false);
        }
    }
    // The road lies above all other ways.
    for (span, lane) in &ways {
        if let Some(from) = span.road_from {
            way(&mut svg, span, from, *lane, column, true);
        }
    }
    for (place, node) in graph.nodes.iter().enumerate() {
        version(&mut svg, place, node, column);
    }
    svg.push_str("</svg>\n");
    Drawing { svg, left_out }
}

/// The first and the last row that a way passes.
fn extent(span: &Span) -> (usize, usize) {
    let rows = || span.from.iter().copied().chain([span.to]);
    (rows().min().unwrap_or(span.to), rows().max().unwrap_or(span.to))
}

/// Whether a way is a line from one row to the next.
fn is_straight(span: &Span) -> bool {
    span.rule == Rule::Replaces && span.from == [span.to + 1]
}

/// Finds a lane that nothing else uses in these rows, and takes it.
fn free_lane(lanes: &mut Vec<Vec<(usize, usize)>>, (top, bottom): (usize, usize)) -> Option<usize> {
    let is_free =
        |taken: &Vec<(usize, usize)>| taken.iter().all(|(first, last)| *last < top || bottom < *first);
    let lane = lanes.iter().position(is_free).unwrap_or(lanes.len());
    if lane >= MOST_LANES {
        return None;
    }
    if lane == lanes.len() {
        lanes.push(Vec::new());
    }
    lanes.get_mut(lane)?.push((top, bottom));
    Some(lane)
}

fn middle(place: usize) -> usize {
    MARGIN / 2 + place * ROW + ROW / 2
}

fn way(svg: &mut String, span: &Span, from: usize, lane: usize, column: usize, is_road: bool) {
    let class = match span.rule {
        Rule::Replaces => "replaces",
        Rule::Skips => "skips",
        Rule::SkipRange => "skip-range",
    };
    let (class, arrow) = if is_road {
        (format!("way road {class}"), "arrow-road")
    } else {
        (format!("way {class}"), "arrow")
    };
    let (start, end) = (middle(from), middle(span.to));
    let path = if lane == 0 {
        format!("M{column} {}V{}", start - RADIUS, end + RADIUS + 2)
    } else {
        let (edge, beside) = (column - RADIUS, column - lane * LANE);
        let corner = RADIUS;
        // Ways lead up to newer versions, but a catalog may say anything.
        let (leave, arrive) = if start > end {
            (start - corner, end + corner)
        } else {
            (start + corner, end - corner)
        };
        format!(
            "M{edge} {start}H{turn}Q{beside} {start} {beside} {leave}V{arrive}Q{beside} {end} {turn} {end}H{stop}",
            turn = beside + corner,
            stop = edge - 2,
        )
    };
    let _ = writeln!(
        svg,
        "<path class=\"{class}\" marker-end=\"url(#{arrow})\" d=\"{path}\"/>"
    );
}

fn version(svg: &mut String, place: usize, node: &Node, column: usize) {
    let mut class = String::from("version");
    let mut marks = String::new();
    let mut told = vec![node.name.clone()];
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
        told.push(text.to_owned());
        let _ = write!(marks, "<tspan class=\"mark {word}\" dx=\"10\">{text}</tspan>");
    }
    let label: String = if node.version.chars().count() > LONGEST_LABEL {
        node.version
            .chars()
            .take(LONGEST_LABEL - 1)
            .chain(['…'])
            .collect()
    } else {
        node.version.clone()
    };
    let (y, radius) = (middle(place), if node.is_installed { RADIUS + 1 } else { RADIUS });
    let _ = writeln!(
        svg,
        "<g class=\"{class}\"><title>{}</title><circle cx=\"{column}\" cy=\"{y}\" r=\"{radius}\"/><text x=\"{}\" y=\"{}\"><tspan class=\"label\">{}</tspan>{marks}</text></g>",
        escaped(&told.join(", ")),
        column + 18,
        y + 5,
        escaped(&label),
    );
}

/// Text that may stand between tags and in attributes.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            character if character.is_control() => safe.push(' '),
            character => safe.push(character),
        }
    }
    safe
}
