//! Texts within texts, and how they are laid out: on one line where they fit, on several where they tell a difference.

/// Which side of a difference something belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Not said.
    Unknown,
    /// Both.
    Both,
    /// The old one.
    Old,
    /// The new one.
    New,
}

impl Side {
    fn within(self, outer: Side) -> Side {
        match (outer, self) {
            (Side::Unknown, Side::Both) => Side::Both,
            (outer, Side::Unknown | Side::Both) => outer,
            (_, side) => side,
        }
    }
}

/// How many elements of a list became what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// What the elements are called.
    pub(crate) name: &'static str,
    /// How many are equal.
    pub(crate) identical: usize,
    /// How many were removed.
    pub(crate) removed: usize,
    /// How many were added.
    pub(crate) inserted: usize,
    /// How many have changed.
    pub(crate) modified: usize,
}

impl Counts {
    /// Returns counts of nothing yet.
    pub(crate) fn new(name: &'static str) -> Counts {
        Counts {
            name,
            ..Counts::default()
        }
    }

    /// Returns how many differ.
    pub(crate) fn differing(&self) -> usize {
        self.removed + self.inserted + self.modified
    }

    /// Returns whether nothing was counted.
    pub(crate) fn is_zero(&self) -> bool {
        self.identical + self.differing() == 0
    }

    /// Adds other counts.
    pub(crate) fn add(&mut self, other: &Counts) {
        self.identical += other.identical;
        self.removed += other.removed;
        self.inserted += other.inserted;
        self.modified += other.modified;
    }

    fn words(&self) -> String {
        let counted = [
            (self.identical, "identical"),
            (self.removed, "removed"),
            (self.inserted, "inserted"),
            (self.modified, "modified"),
        ];
        let parts: Vec<String> = counted
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, label)| format!("{count} {label}"))
            .collect();
        let mut name = self.name.to_owned();
        if self.identical + self.differing() > 1 {
            name.push('s');
            if let Some(stem) = name.strip_suffix("ys") {
                name = format!("{stem}ies");
            }
        }
        match parts.as_slice() {
            [] => String::new(),
            [one] => format!("{one} {name}"),
            [one, other] => format!("{one} and {other} {name}"),
            [first @ .., last] => format!("{}, and {last} {name}", first.join(", ")),
        }
    }
}

/// What stands behind a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Comment {
    /// What was left out.
    Counts(Counts),
    /// Words.
    Words(String),
}

/// A text, or texts within one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Text {
    /// What stays on one line.
    Line(Vec<u8>),
    /// A text between two others.
    Wrapped(String, Box<Text>, String),
    /// Texts one after the other.
    List(Vec<Item>),
}

/// An element of a list of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// The side that has it.
    pub(crate) side: Side,
    /// Its name, if it has one.
    pub(crate) key: String,
    /// What it is.
    pub(crate) value: Text,
    /// Whether a comma follows.
    pub(crate) comma: bool,
    /// What stands behind it.
    pub(crate) comment: Option<Comment>,
}

impl Item {
    /// Returns an element.
    pub(crate) fn new(side: Side, key: &str, value: Text) -> Item {
        Item {
            side,
            key: key.to_owned(),
            value,
            comma: true,
            comment: None,
        }
    }

    /// Returns an element without a comma.
    pub(crate) fn bare(side: Side, value: Text) -> Item {
        Item {
            comma: false,
            ..Item::new(side, "", value)
        }
    }
}

/// Stands for what is left out.
pub(crate) const ELLIPSIS: &[u8] = b"...";

/// Longer texts of one side are laid out over several lines.
const MAX_COLUMNS: usize = 80;

/// Adds a sign that something was left out, or adds to the one that stands there.
pub(crate) fn push_ellipsis(items: &mut Vec<Item>, counts: Option<Counts>) {
    if let Some(last) = items.last_mut().filter(|last| last.value.is_ellipsis()) {
        if let (Some(Comment::Counts(before)), Some(counts)) = (&mut last.comment, counts) {
            before.add(&counts);
        }
        return;
    }
    items.push(Item {
        comment: counts.map(Comment::Counts),
        ..Item::bare(Side::Unknown, Text::Line(ELLIPSIS.to_vec()))
    });
}

impl Text {
    /// Returns a text on one line.
    pub(crate) fn line(text: impl Into<Vec<u8>>) -> Text {
        Text::Line(text.into())
    }

    /// Returns a list in braces.
    pub(crate) fn braces(items: Vec<Item>) -> Text {
        Text::Wrapped("{".into(), Box::new(Text::List(items)), "}".into())
    }

    /// Returns this text with others around it.
    pub(crate) fn wrapped(self, prefix: impl Into<String>, suffix: impl Into<String>) -> Text {
        Text::Wrapped(prefix.into(), Box::new(self), suffix.into())
    }

    /// Returns whether this stands for what was left out.
    pub(crate) fn is_ellipsis(&self) -> bool {
        matches!(self, Text::Line(text) if text == ELLIPSIS)
    }

    /// Returns how long this is on one line.
    pub(crate) fn len(&self) -> usize {
        match self {
            Text::Line(text) => text.len(),
            Text::Wrapped(prefix, value, suffix) => prefix.len() + value.len() + suffix.len(),
            Text::List(items) => {
                let key = |item: &Item| {
                    if item.key.is_empty() {
                        0
                    } else {
                        item.key.len() + 2
                    }
                };
                let separators = items.len().saturating_sub(1) * 2;
                items
                    .iter()
                    .map(|item| key(item) + item.value.len())
                    .sum::<usize>()
                    + separators
            }
        }
    }

    /// Lays the text out.
    pub(crate) fn into_lines(self) -> String {
        let (_, laid_out) = self.compact(Side::Unknown);
        let mut out = Vec::new();
        indent(&mut out, 0, Side::Unknown);
        laid_out.expand(&mut out, Side::Unknown, 0);
        out.push(b'\n');
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Returns the text on one line, and the text with every part on one line that may be.
    fn compact(self, side: Side) -> (Vec<u8>, Text) {
        match self {
            Text::Line(text) => (text.clone(), Text::Line(text)),
            Text::Wrapped(prefix, value, suffix) => {
                let (inner, value) = value.compact(side);
                let line = [prefix.as_bytes(), &inner, suffix.as_bytes()].concat();
                if matches!(value, Text::Line(_)) {
                    (line.clone(), Text::Line(line))
                } else {
                    (line, Text::Wrapped(prefix, Box::new(value), suffix))
                }
            }
            Text::List(items) => {
                let mut line = Vec::new();
                let mut several = false;
                let count = items.len();
                let mut laid_out = Vec::with_capacity(count);
                for (index, mut item) in items.into_iter().enumerate() {
                    several |= matches!(item.side, Side::Old | Side::New) || item.comment.is_some();
                    if !item.key.is_empty() {
                        line.extend_from_slice(item.key.as_bytes());
                        line.extend_from_slice(b": ");
                    }
                    let (inner, value) = item.value.compact(item.side.within(side));
                    several |= !matches!(value, Text::Line(_));
                    line.extend_from_slice(&inner);
                    if index + 1 < count {
                        line.extend_from_slice(b", ");
                    }
                    item.value = value;
                    laid_out.push(item);
                }
                several |= matches!(side, Side::Old | Side::New) && line.len() > MAX_COLUMNS;
                if several {
                    (line, Text::List(laid_out))
                } else {
                    (line.clone(), Text::Line(line))
                }
            }
        }
    }

    fn expand(&self, out: &mut Vec<u8>, side: Side, level: usize) {
        match self {
            Text::Line(text) => out.extend_from_slice(text),
            Text::Wrapped(prefix, value, suffix) => {
                out.extend_from_slice(prefix.as_bytes());
                value.expand(out, side, level);
                out.extend_from_slice(suffix.as_bytes());
            }
            Text::List(items) => {
                match simple(items) {
                    Some(lines) => batch(out, &lines, side, level + 1),
                    None => rows(out, items, side, level + 1),
                }
                out.push(b'\n');
                indent(out, level, side);
            }
        }
    }
}

/// Returns the lines of a list that has nothing but lines, which share rows then.
fn simple(items: &[Item]) -> Option<Vec<&[u8]>> {
    if items.is_empty() {
        return None;
    }
    let line = |item: &'_ Item| item.side == Side::Unknown && item.key.is_empty() && item.comment.is_none();
    items
        .iter()
        .map(|item| match &item.value {
            Text::Line(text) if line(item) => Some(text.as_slice()),
            _ => None,
        })
        .collect()
}

fn batch(out: &mut Vec<u8>, lines: &[&[u8]], side: Side, level: usize) {
    let mut row: Vec<u8> = Vec::new();
    let mut emit = |row: &mut Vec<u8>| {
        if !row.is_empty() {
            out.push(b'\n');
            indent(out, level, side);
            let kept = row
                .iter()
                .rposition(|byte| *byte != b' ')
                .map_or(0, |last| last + 1);
            out.extend_from_slice(row.get(..kept).unwrap_or_default());
            row.clear();
        }
    };
    for line in lines {
        if row.len() + line.len() + 2 > MAX_COLUMNS {
            emit(&mut row);
        }
        row.extend_from_slice(line);
        row.extend_from_slice(b", ");
    }
    emit(&mut row);
}

fn rows(out: &mut Vec<u8>, items: &[Item], side: Side, level: usize) {
    let line = |item: &Item| matches!(item.value, Text::Line(_));
    let keys = padding(items, |item| {
        (!item.key.is_empty() && line(item)).then(|| item.key.chars().count())
    });
    let values = padding(items, |item| match &item.value {
        Text::Line(text) if item.comment.is_some() && !item.value.is_ellipsis() => {
            Some(String::from_utf8_lossy(text).chars().count())
        }
        _ => None,
    });
    for (item, (key, value)) in items.iter().zip(keys.into_iter().zip(values)) {
        let side = item.side.within(side);
        out.push(b'\n');
        indent(out, level, side);
        if !item.key.is_empty() {
            out.extend_from_slice(item.key.as_bytes());
            out.extend_from_slice(b": ");
        }
        out.resize(out.len() + key, b' ');
        item.value.expand(out, side, level);
        if item.comma {
            out.push(b',');
        }
        out.resize(out.len() + value, b' ');
        let words = match &item.comment {
            Some(Comment::Counts(counts)) => counts.words(),
            Some(Comment::Words(words)) => words.clone(),
            None => continue,
        };
        out.extend_from_slice(b" // ");
        out.extend_from_slice(words.as_bytes());
    }
}

/// Returns how many spaces make the widths of neighbours equal; what has no width parts neighbours.
fn padding(items: &[Item], width: impl Fn(&Item) -> Option<usize>) -> Vec<usize> {
    let widths: Vec<Option<usize>> = items.iter().map(width).collect();
    let mut out = Vec::with_capacity(items.len());
    for group in widths.split_inclusive(Option::is_none) {
        let greatest = group.iter().flatten().max().copied().unwrap_or(0);
        out.extend(
            group
                .iter()
                .map(|width| width.map_or(0, |width| greatest - width)),
        );
    }
    out
}

fn indent(out: &mut Vec<u8>, level: usize, side: Side) {
    out.extend_from_slice(match side {
        Side::Unknown | Side::Both => b"  ",
        Side::Old => b"- ",
        Side::New => b"+ ",
    });
    out.resize(out.len() + level, b'\t');
}
