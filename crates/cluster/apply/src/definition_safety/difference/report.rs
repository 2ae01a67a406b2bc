//! From a comparison to texts: what is equal is shortened, what differs is told from both sides.

use gotemplate::format::{is_print, quote};

use super::super::go_text::{described, number};
use super::super::kind::Kind;
use super::super::typed::Typed;
use super::comparison::Node;
use super::sequences;
use super::text::{Comment, Counts, ELLIPSIS, Item, Side, Text, push_ellipsis};

/// How many equal parts are shown on either side of a difference.
const CONTEXT: usize = 2;
/// How often more is shown of two values that look the same though they differ.
const MAX_PRESET: i32 = 6;
/// From here on, more detail changes nothing.
const MAX_VERBOSITY: i32 = 16;

/// Whether the type is told with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypeMode {
    /// Always.
    Told,
    /// Never.
    Silent,
    /// For structs, lists and maps.
    Composite,
}

/// What is told, and with how much detail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// Which side is told.
    pub(crate) side: Side,
    /// Whether types are told.
    pub(crate) types: TypeMode,
    plain: bool,
    /// How much is told; `None` is everything.
    detail: Option<i32>,
}

impl Options {
    /// Returns the same for another side.
    pub(crate) fn of_side(self, side: Side) -> Options {
        Options { side, ..self }
    }

    /// Returns the same with another treatment of types.
    pub(crate) fn with_types(self, types: TypeMode) -> Options {
        Options { types, ..self }
    }

    fn verbosity(&self) -> u32 {
        self.detail.unwrap_or(0).clamp(0, MAX_VERBOSITY).unsigned_abs()
    }

    fn preset(self, level: i32) -> Options {
        Options {
            detail: self.detail.map(|_| self.verbosity().cast_signed() + 2 * level),
            plain: self.plain || level > 0,
            ..self
        }
    }

    /// Returns `unit` doubled for each level of detail; nothing where there is no limit.
    pub(crate) fn limit(&self, unit: usize) -> Option<usize> {
        self.detail.map(|_| unit << self.verbosity())
    }

    /// Returns how many parts of a value are shown.
    fn shown_parts(&self) -> Option<usize> {
        self.detail.map(|_| ((1 << self.verbosity()) >> 1) << 2)
    }

    fn one_less(self) -> Options {
        Options {
            detail: self.detail.map(|detail| detail - 1),
            ..self
        }
    }
}

/// Tells the difference of what two pointers point to.
pub(crate) fn tell_pointed(node: &Node<'_>) -> Text {
    let options = Options {
        side: Side::Unknown,
        types: TypeMode::Told,
        plain: false,
        detail: None,
    };
    tell(node, options)
        .unwrap_or_else(|| Text::line(""))
        .wrapped("&", "")
}

fn tell(node: &Node<'_>, mut options: Options) -> Option<Text> {
    if options.side == Side::Both {
        options.detail = Some(1);
    } else if options.verbosity() < 3 {
        options.detail = Some(3);
    }
    if sequences::suit(node, options) {
        return Some(sequences::tell(node, options));
    }
    let bytes = matches!(node.kind, Kind::List(_, Kind::Byte));
    if node.depth == 0 || (bytes && node.different == 0) {
        return tell_leaf(node, options);
    }
    match node.kind {
        Kind::Pointer(_) => {
            let pointed = node.pointed.as_deref()?;
            Some(tell(pointed, options)?.wrapped("&", ""))
        }
        kind => Some(typed(kind, tell_parts(node, options), options)),
    }
}

fn tell_leaf(node: &Node<'_>, options: Options) -> Option<Text> {
    let old = |options| node.old.map(|value| value_text(value, node.kind, options));
    let new = |options| node.new.map(|value| value_text(value, node.kind, options));
    match options.side {
        Side::Old => old(options),
        Side::New => new(options),
        Side::Unknown | Side::Both if node.different == 0 => match (old(options), new(options)) {
            (Some(old), Some(new)) if old.len() < new.len() => Some(old),
            (old, new) => new.or(old),
        },
        Side::Unknown | Side::Both => {
            let silent = options.with_types(TypeMode::Silent);
            let (mut one, mut other) = (old(silent), new(silent));
            for level in 0..=MAX_PRESET {
                if one.is_none() || one != other {
                    break;
                }
                let silent = options.preset(level).with_types(TypeMode::Silent);
                (one, other) = (old(silent), new(silent));
            }
            let mut items = Vec::new();
            items.extend(one.map(|text| Item::new(Side::Old, "", text)));
            items.extend(other.map(|text| Item::new(Side::New, "", text)));
            Some(typed(
                node.kind,
                Text::List(items),
                options.with_types(TypeMode::Told),
            ))
        }
    }
}

fn tell_parts(node: &Node<'_>, options: Options) -> Text {
    let (name, types) = match node.kind {
        Kind::Structure(_) => ("field", TypeMode::Composite),
        Kind::Map(..) => ("entry", TypeMode::Silent),
        _ => ("element", TypeMode::Silent),
    };
    let options = options.with_types(types);
    if options.side == Side::Unknown {
        return tell_changes(node, name, options.limit(2), options.one_less());
    }
    let shown = match options.side {
        Side::Both => options.shown_parts(),
        _ => options.limit(2),
    };
    let structure = matches!(node.kind, Kind::Structure(_));
    let options = options.one_less();
    let mut items = Vec::new();
    for (key, part) in &node.parts {
        if Some(items.len()) == shown {
            push_ellipsis(&mut items, None);
            break;
        }
        let zero = |value: Option<&Typed>| value.is_some_and(Typed::is_zero);
        let elided = match options.side {
            Side::Old => zero(part.old),
            Side::New => zero(part.new),
            _ => zero(part.old) || zero(part.new),
        };
        if structure && elided {
            continue;
        }
        if let Some(text) = tell(part, options) {
            items.push(Item::new(Side::Unknown, &key_text(node.kind, key), text));
        }
    }
    Text::braces(items)
}

fn tell_changes(node: &Node<'_>, name: &'static str, shown: Option<usize>, options: Options) -> Text {
    let mut items = Vec::new();
    let mut left_out = Counts::new(name);
    let mut told = 0;
    let groups = groups(name, node);
    let mut parts = node.parts.as_slice();
    for (index, group) in groups.iter().enumerate() {
        let size = group.identical + group.differing();
        let Some((these, rest)) = parts.split_at_checked(size) else {
            break;
        };
        parts = rest;
        if shown.is_some_and(|shown| told >= shown) {
            left_out.add(group);
        } else if group.differing() == 0 {
            let (first, last) = (index == 0, index + 1 == groups.len());
            tell_equal(
                &mut items,
                node.kind,
                these,
                group,
                (first, last),
                options.of_side(Side::Both),
            );
        } else {
            for (key, part) in these {
                tell_change(&mut items, &key_text(node.kind, key), part, options);
            }
            told += group.differing();
        }
    }
    if !left_out.is_zero() {
        push_ellipsis(&mut items, Some(left_out));
    }
    Text::braces(items)
}

fn tell_equal(
    items: &mut Vec<Item>,
    kind: &Kind,
    parts: &[(String, Node<'_>)],
    group: &Counts,
    (first, last): (bool, bool),
    options: Options,
) {
    let before = if first { 0 } else { CONTEXT.min(parts.len()) };
    let mut after = if last {
        0
    } else {
        CONTEXT.min(parts.len() - before)
    };
    if parts.len() - before - after == 1 {
        after += 1;
    }
    let left_out = parts.len() - before - after;
    for (index, (key, part)) in parts.iter().enumerate() {
        if index < before || index >= before + left_out {
            if let Some(text) = tell(part, options) {
                items.push(Item::new(Side::Unknown, &key_text(kind, key), text));
            }
        } else if index == before {
            let counts = Counts {
                identical: left_out,
                ..*group
            };
            push_ellipsis(items, Some(counts));
        }
    }
}

fn tell_change(items: &mut Vec<Item>, key: &str, part: &Node<'_>, options: Options) {
    if sequences::suit(part, options) {
        items.push(Item::new(Side::Unknown, key, sequences::tell(part, options)));
        return;
    }
    // A leaf, or pointers that lead to one.
    if part.below == part.depth {
        let sides = |options: Options| {
            (
                tell(part, options.of_side(Side::Old)),
                tell(part, options.of_side(Side::New)),
            )
        };
        let (mut old, mut new) = sides(options);
        for level in 0..=MAX_PRESET {
            if old.is_none() || old != new {
                break;
            }
            (old, new) = sides(options.preset(level));
        }
        items.extend(old.map(|text| Item::new(Side::Old, key, text)));
        items.extend(new.map(|text| Item::new(Side::New, key, text)));
    } else if let Some(text) = tell(part, options) {
        items.push(Item::new(Side::Unknown, key, text));
    }
}

/// Returns how many parts in a row are equal, how many differ, and so on in turn.
fn groups(name: &'static str, node: &Node<'_>) -> Vec<Counts> {
    let mut groups: Vec<Counts> = Vec::new();
    for (_, part) in &node.parts {
        let equal = part.different == 0;
        if groups.last().is_none_or(|last| (last.differing() == 0) != equal) {
            groups.push(Counts::new(name));
        }
        let Some(last) = groups.last_mut() else { continue };
        match (part.old, part.new) {
            _ if equal => last.identical += 1,
            (_, None) => last.removed += 1,
            (None, _) => last.inserted += 1,
            _ => last.modified += 1,
        }
    }
    groups
}

fn key_text(kind: &Kind, key: &str) -> String {
    if !matches!(kind, Kind::Map(..)) {
        return key.to_owned();
    }
    let options = Options {
        side: Side::Both,
        types: TypeMode::Silent,
        plain: false,
        detail: Some(MAX_PRESET),
    };
    match string_text("", key.as_bytes(), options) {
        Text::Line(line) => String::from_utf8_lossy(&line).trim().to_owned(),
        _ => key.to_owned(),
    }
}

/// Returns a text with its type, where that is told.
pub(crate) fn typed(kind: &Kind, text: Text, options: Options) -> Text {
    match options.types {
        TypeMode::Silent => return text,
        TypeMode::Composite => {
            let composite = matches!(kind, Kind::Structure(_) | Kind::List(..) | Kind::Map(..));
            if !composite || text == Text::line("nil") || options.side == Side::Both {
                return text;
            }
        }
        TypeMode::Told => {}
    }
    let name = match kind {
        Kind::Pointer(_) => format!("({})", kind.type_name()),
        kind => kind.type_name(),
    };
    let enclosed = matches!(&text, Text::Wrapped(prefix, _, suffix)
        if (prefix.starts_with('(') && suffix.ends_with(')')) || (prefix.starts_with('{') && suffix.ends_with('}')));
    if enclosed {
        text.wrapped(name, "")
    } else {
        text.wrapped("(", ")").wrapped(name, "")
    }
}

fn value_text(value: &Typed, kind: &Kind, options: Options) -> Text {
    let text = match (kind, value) {
        (Kind::Pointer(Kind::Structure(structure)), Typed::Pointer(Some(to))) if !options.plain => {
            return string_text("s", described(to, structure).as_bytes(), options);
        }
        (Kind::Pointer(to_kind), Typed::Pointer(Some(to))) => {
            return value_text(to, to_kind, options).wrapped("&", "");
        }
        (_, Typed::Bool(value)) => Text::line(value.to_string()),
        (_, Typed::Integer(value)) => Text::line(value.to_string()),
        (_, Typed::Float(value)) => Text::line(number(*value)),
        (_, Typed::Text(text)) => string_text("", text.as_bytes(), options),
        (_, Typed::Byte(byte)) => Text::line(format!("0x{byte:02x}")),
        (_, Typed::Pointer(None) | Typed::List(None) | Typed::Map(None)) => Text::line("nil"),
        (Kind::List(_, Kind::Byte), Typed::List(Some(_))) if is_text(&value.bytes()) => {
            string_text("", &value.bytes(), options)
        }
        (Kind::List(_, element), Typed::List(Some(elements))) => {
            let parts = elements.iter().map(|value| (String::new(), value, *element));
            parts_text(parts, options.with_types(TypeMode::Silent))
        }
        (Kind::Map(_, element), Typed::Map(Some(entries))) => {
            let parts = entries
                .iter()
                .map(|(key, value)| (key_text(kind, key), value, *element));
            parts_text(parts, options.with_types(TypeMode::Silent))
        }
        (Kind::Structure(structure), Typed::Structure(fields)) => {
            let parts = structure.fields.iter().zip(fields);
            let parts = parts.filter(|(_, value)| !value.is_zero());
            let parts = parts.map(|(field, value)| (field.name.to_owned(), value, field.kind));
            parts_text(parts, options.with_types(TypeMode::Composite))
        }
        // A value always has the shape of its kind.
        _ => Text::line(""),
    };
    typed(kind, text, options)
}

fn parts_text<'a>(parts: impl Iterator<Item = (String, &'a Typed, &'static Kind)>, options: Options) -> Text {
    let shown = options.shown_parts();
    let options = options.one_less();
    let mut items = Vec::new();
    for (key, value, kind) in parts {
        if Some(items.len()) == shown {
            push_ellipsis(&mut items, None);
            break;
        }
        items.push(Item::new(Side::Unknown, &key, value_text(value, kind, options)));
    }
    Text::braces(items)
}

fn is_text(bytes: &[u8]) -> bool {
    let printable = |character: char| is_print(character) || character.is_whitespace();
    !bytes.is_empty() && std::str::from_utf8(bytes).is_ok_and(|text| text.chars().all(printable))
}

/// Returns whether a line may stand between triple quotes.
pub(crate) fn suits_triple_quotes(prefix: &str, line: &str) -> bool {
    let unprefixed = line.strip_prefix(prefix).unwrap_or(line);
    !unprefixed.starts_with("\"\"\"")
        && !line.starts_with("...")
        && line
            .trim_matches(|character: char| is_print(character) || character == '\t')
            .is_empty()
}

/// Returns a text in quotes, shortened where it is longer than the detail allows.
fn string_text(prefix: &str, text: &[u8], options: Options) -> Text {
    let longest = options.limit(32).unwrap_or(text.len());
    let most_lines = options.limit(4).unwrap_or(usize::MAX);
    if matches!(options.side, Side::Old | Side::New)
        && let Ok(text) = std::str::from_utf8(text)
    {
        let lines: Vec<&str> = text.strip_suffix('\n').unwrap_or(text).split('\n').collect();
        let lines: Vec<&str> = lines.into_iter().map(without_carriage_returns).collect();
        let suits = |line: &&str| suits_triple_quotes(prefix, line) && line.len() <= longest;
        if lines.len() >= 4 && lines.iter().all(suits) {
            return triple_quoted(prefix, &lines, most_lines, options.side);
        }
    }
    let mut out = prefix.as_bytes().to_vec();
    match text.get(..longest) {
        Some(start) if text.len() > longest + ELLIPSIS.len() => {
            out.extend(quoted(start));
            out.extend_from_slice(ELLIPSIS);
        }
        _ => out.extend(quoted(text)),
    }
    Text::Line(out)
}

fn triple_quoted(prefix: &str, lines: &[&str], most_lines: usize, side: Side) -> Text {
    let quotes = || Item::bare(side, Text::line(format!("{prefix}\"\"\"")));
    let mut items = vec![quotes()];
    for (index, line) in lines.iter().enumerate() {
        let rest = lines.len() - index;
        if index + 1 == most_lines && rest > 1 {
            items.push(Item {
                comment: Some(Comment::Words(format!("{rest} elided lines"))),
                ..Item::bare(side, Text::line(ELLIPSIS))
            });
            break;
        }
        items.push(Item::bare(side, Text::line(*line)));
    }
    items.push(quotes());
    Text::List(items).wrapped("(", ")")
}

/// Returns a line without the carriage returns at its ends.
pub(crate) fn without_carriage_returns(line: &str) -> &str {
    let line = line.strip_suffix('\r').unwrap_or(line);
    line.strip_prefix('\r').unwrap_or(line)
}

/// Returns a text in quotes, or in backquotes where that saves escapes.
pub(crate) fn quoted(text: &[u8]) -> Vec<u8> {
    let quoted = quote(text);
    if quoted.len() == text.len() + 2 {
        return quoted;
    }
    let raw = |character: char| character != '`' && (is_print(character) || character == '\t');
    match std::str::from_utf8(text) {
        Ok(valid) if valid.chars().all(raw) => [b"`", text, b"`"].concat(),
        _ => quoted,
    }
}
