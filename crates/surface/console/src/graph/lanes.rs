//! Rows from top to bottom with ways between them, as SVG: beside the rows there is a lane for every way between two that
//! don't stand next to each other.

use std::fmt::Write as _;

/// The height of a row.
const ROW: usize = 40;
/// The distance between two lanes.
const LANE: usize = 22;
/// The radius of a row's dot, and of the corners of ways.
pub(crate) const RADIUS: usize = 6;
const MARGIN: usize = 20;
/// How many lanes there may be; ways that find none are counted instead, and a table beside the drawing names them.
const MOST_LANES: usize = 10;

/// A drawing, and how many ways had no room in it.
pub(crate) struct Drawing {
    pub(crate) svg: String,
    pub(crate) left_out: usize,
}

/// Ways of one sort that lead to the same row.
pub(crate) struct Span<'a> {
    /// What the style sheet knows the sort by.
    pub(crate) class: &'static str,
    /// Where they lead to.
    pub(crate) to: usize,
    /// Where they come from.
    pub(crate) from: &'a [usize],
    /// Those that are stressed, by where they come from.
    pub(crate) road_from: &'a [usize],
    /// Whether a way from the row below is a line without a lane.
    pub(crate) may_be_straight: bool,
}

impl Span<'_> {
    /// The first and the last row that the ways pass.
    fn extent(&self) -> (usize, usize) {
        let rows = || self.from.iter().copied().chain([self.to]);
        (rows().min().unwrap_or(self.to), rows().max().unwrap_or(self.to))
    }

    fn is_straight(&self) -> bool {
        self.may_be_straight && self.from == [self.to + 1]
    }
}

/// Where a row's dot stands.
pub(crate) struct Dot {
    pub(crate) x: usize,
    pub(crate) y: usize,
}

/// Draws so many rows and the ways between them. `row` draws a row with its label, which has `label` room; `words` say what
/// is drawn. What it looks like is said by the style sheet of the page.
pub(crate) fn draw(
    words: &str,
    rows: usize,
    label: usize,
    mut spans: Vec<Span<'_>>,
    mut row: impl FnMut(&mut String, usize, &Dot),
) -> Drawing {
    // The road gets its lanes first, and short ways lie inside long ones.
    spans.sort_by_key(|span| {
        let (first, last) = span.extent();
        (span.road_from.is_empty(), last - first, span.to)
    });
    let mut lanes: Vec<Vec<(usize, usize)>> = Vec::new();
    let mut ways: Vec<(&Span<'_>, usize)> = Vec::new();
    let mut left_out = 0;
    for span in &spans {
        if span.is_straight() {
            ways.push((span, 0));
            continue;
        }
        match free_lane(&mut lanes, span.extent()) {
            Some(lane) => ways.push((span, lane + 1)),
            None => left_out += span.from.len(),
        }
    }
    let column = MARGIN + lanes.len() * LANE;
    let (width, height) = (column + label, rows * ROW + MARGIN);
    let mut svg = format!(
        "<svg class=\"graph\" role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         <defs><marker id=\"arrow\" class=\"arrow\" viewBox=\"0 0 8 8\" refX=\"6\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\" markerUnits=\"userSpaceOnUse\"><path d=\"M0 0 8 4 0 8z\"/></marker>\
         <marker id=\"arrow-road\" class=\"arrow road\" viewBox=\"0 0 8 8\" refX=\"6\" refY=\"4\" markerWidth=\"11\" \
         markerHeight=\"11\" orient=\"auto\" markerUnits=\"userSpaceOnUse\"><path d=\"M0 0 8 4 0 8z\"/></marker></defs>\n",
        escaped(words),
    );
    for (span, lane) in &ways {
        for from in span.from {
            way(&mut svg, span, *from, *lane, column, false);
        }
    }
    // The road lies above all other ways.
    for (span, lane) in &ways {
        for from in span.road_from {
            way(&mut svg, span, *from, *lane, column, true);
        }
    }
    for place in 0..rows {
        let dot = Dot {
            x: column,
            y: middle(place),
        };
        row(&mut svg, place, &dot);
    }
    svg.push_str("</svg>\n");
    Drawing { svg, left_out }
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

fn way(svg: &mut String, span: &Span<'_>, from: usize, lane: usize, column: usize, is_road: bool) {
    let class = span.class;
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
        // Ways lead up as a rule, but what is drawn may say anything.
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

/// Draws the dot and the label of a row. `class` is what the style sheet knows it by, `told` what it is called in full, and
/// each mark is a class and a word behind the label.
pub(crate) fn dot(
    svg: &mut String,
    at: &Dot,
    radius: usize,
    class: &str,
    told: &str,
    label: &str,
    marks: &[(&str, &str)],
) {
    let marks = marks.iter().map(|(class, word)| {
        format!(
            "<tspan class=\"mark {class}\" dx=\"10\">{}</tspan>",
            escaped(word)
        )
    });
    let marks: String = marks.collect();
    let _ = writeln!(
        svg,
        "<g class=\"{class}\"><title>{}</title><circle cx=\"{}\" cy=\"{}\" r=\"{radius}\"/><text x=\"{}\" y=\"{}\"><tspan class=\"label\">{}</tspan>{marks}</text></g>",
        escaped(told),
        at.x,
        at.y,
        at.x + 18,
        at.y + 5,
        escaped(label),
    );
}

/// A label that has room: so many characters of a text, with a sign where there are more.
pub(crate) fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() > longest {
        text.chars().take(longest - 1).chain(['…']).collect()
    } else {
        text.to_owned()
    }
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
