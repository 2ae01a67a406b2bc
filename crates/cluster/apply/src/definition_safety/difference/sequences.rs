//! Long texts and lists of bytes: told in chunks or lines, so that a small change in them can be seen.

use gotemplate::format::{is_print, quote, quoted as go_quoted, unquote};

use super::super::kind::Kind;
use super::super::typed::Typed;
use super::comparison::Node;
use super::edit_script::{Edit, Likeness, edit_script};
use super::report::{Options, TypeMode, quoted, suits_triple_quotes, typed, without_carriage_returns};
use super::text::{Comment, Counts, Item, Side, Text, push_ellipsis};

/// Shorter texts are told whole.
const MIN_LENGTH: usize = 32;
/// How many chunks of what is equal are shown on either side of a difference.
const CONTEXT: usize = 2;
/// How many bytes of text are in a chunk.
const TEXT_CHUNK: usize = 64;
/// How many bytes of anything else are in a chunk.
const BINARY_CHUNK: usize = 16;
/// From here on, lines are too long to be told line by line.
const MAX_LINE: usize = 1024;
/// Fewer lines aren't told line by line.
const MIN_LINES: usize = 4;

/// Returns whether both values are told in chunks or lines.
pub(crate) fn suit(node: &Node<'_>, options: Options) -> bool {
    if options.side != Side::Unknown || node.different == 0 {
        return false;
    }
    let (Some(old), Some(new)) = (node.old, node.new) else {
        return false;
    };
    match (node.kind, old, new) {
        (Kind::Text(_), Typed::Text(old), Typed::Text(new)) => {
            old.len() >= MIN_LENGTH && new.len() >= MIN_LENGTH
        }
        (Kind::List(_, Kind::Byte), ..) => {
            let (old, new) = (old.elements().len(), new.elements().len());
            old > 0 && new > 0 && (node.different > node.same || (old >= MIN_LENGTH && new >= MIN_LENGTH))
        }
        _ => false,
    }
}

/// Tells both values in chunks or lines.
pub(crate) fn tell(node: &Node<'_>, options: Options) -> Text {
    let bytes = |value: Option<&Typed>| match value {
        Some(Typed::Text(text)) => text.clone().into_bytes(),
        Some(value) => value.bytes(),
        None => Vec::new(),
    };
    let (old, new) = (bytes(node.old), bytes(node.new));
    let look = Look::at(&old, &new);
    let is_text = matches!(node.kind, Kind::Text(_));
    let unnamed = matches!(node.kind, Kind::Text("string"));
    let (items, delimiter) = if look.lines {
        let (old, new) = (lines(&old), lines(&new));
        let items = chunks(options, &old, &new, 1, "line", |lines, side| {
            Item::new(
                side,
                "",
                Text::Line(quoted(lines.first().copied().unwrap_or_default())),
            )
        });
        if let Some(told) = triple_quoted(&items) {
            return match is_text {
                true if unnamed => told,
                true => typed(node.kind, told, options),
                false => typed(node.kind, told, options.with_types(TypeMode::Told)),
            };
        }
        (items, "\n")
    } else if look.text {
        let items = chunks(options, &old, &new, TEXT_CHUNK, "byte", |chunk, side| {
            Item::new(side, "", Text::Line(quoted(chunk)))
        });
        (items, "")
    } else {
        (chunks(options, &old, &new, BINARY_CHUNK, "byte", hexadecimal), "")
    };
    let told = Text::braces(items);
    if !look.text {
        let options = if is_text {
            options.with_types(TypeMode::Told)
        } else {
            options
        };
        return typed(node.kind, told, options);
    }
    let suffix = format!(", {})", go_quoted(delimiter));
    let joined = told.wrapped(if is_text { "strings.Join(" } else { "bytes.Join(" }, suffix);
    if is_text && !unnamed {
        typed(node.kind, joined, options)
    } else {
        joined
    }
}

/// What two sequences of bytes look like.
struct Look {
    lines: bool,
    text: bool,
}

impl Look {
    fn at(old: &[u8], new: &[u8]) -> Look {
        let both = [old, new].concat();
        let joined = String::from_utf8_lossy(&both);
        let (mut all, mut valid, mut count, mut start, mut longest) = (0_usize, 0_usize, 0_usize, 0, 0);
        for (index, character) in joined.char_indices() {
            all += 1;
            let printable = is_print(character) || character.is_whitespace();
            valid += usize::from(printable && character != char::REPLACEMENT_CHARACTER);
            if character == '\n' {
                longest = longest.max(index - start);
                start = index + 1;
                count += 1;
            }
        }
        // More than nine tenths, rounded down.
        let text = valid > all * 9 / 10;
        let lined = valid == all && count >= MIN_LINES && longest <= MAX_LINE;
        Look {
            lines: lined && lines_are_simpler(old, new, &both),
            text,
        }
    }
}

/// Returns whether a difference told by lines isn't much longer than one told by bytes.
fn lines_are_simpler(old: &[u8], new: &[u8], both: &[u8]) -> bool {
    let (old_lines, new_lines) = (lines(old), lines(new));
    let by_lines = edit_script(old_lines.len(), new_lines.len(), |x, y| {
        Likeness::of(old_lines.get(x) == new_lines.get(y))
    });
    let by_bytes = edit_script(old.len(), new.len(), |x, y| {
        Likeness::of(old.get(x) == new.get(y))
    });
    let differing = |edits: &[Edit]| edits.iter().filter(|edit| **edit != Edit::Same).count();
    // Share of lines that differ < 4 × share of bytes that differ, without division.
    let lines_weigh = differing(&by_lines) * by_bytes.len();
    let bytes_weigh = 4 * differing(&by_bytes) * by_lines.len();
    lines_weigh < bytes_weigh || quote(both).len() * 10 > both.len() * 11
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split(|byte| *byte == b'\n').collect()
}

fn hexadecimal(chunk: &[u8], side: Side) -> Item {
    let bytes: Vec<String> = chunk.iter().map(|byte| format!("0x{byte:02x}")).collect();
    let shown: String = chunk
        .iter()
        .map(|byte| {
            if (b' '..=b'~').contains(byte) {
                char::from(*byte)
            } else {
                '.'
            }
        })
        .collect();
    let sign = match side {
        Side::Old => '-',
        Side::New => '+',
        Side::Unknown | Side::Both => ' ',
    };
    Item {
        comment: Some(Comment::Words(format!("{sign}|{shown}|"))),
        ..Item::new(side, "", Text::line(bytes.join(", ")))
    }
}

/// Returns lines between triple quotes, unless that would hide what differs.
fn triple_quoted(items: &[Item]) -> Option<Text> {
    let quotes = || Item::bare(Side::Unknown, Text::line("\"\"\""));
    let (mut removed, mut inserted): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    let mut told = vec![quotes()];
    for item in items {
        let mut item = item.clone();
        if let Text::Line(literal) = &item.value
            && !item.value.is_ellipsis()
        {
            let line = String::from_utf8(unquote(literal).ok()?).ok()?;
            let line = without_carriage_returns(&line).to_owned();
            let bare: String = line
                .chars()
                .filter(|character| !character.is_whitespace())
                .collect();
            if !suits_triple_quotes("", &line) {
                return None;
            }
            match item.side {
                Side::Old if inserted.contains(&bare) => return None,
                Side::Old => removed.push(bare),
                Side::New if removed.contains(&bare) => return None,
                Side::New => inserted.push(bare),
                Side::Unknown | Side::Both => {}
            }
            item.value = Text::line(line);
            item.comma = false;
        }
        if !matches!(item.side, Side::Old | Side::New) {
            removed.clear();
            inserted.clear();
        }
        told.push(item);
    }
    if told
        .last()
        .is_some_and(|last| last.side == Side::Both && last.value == Text::line(""))
    {
        told.pop();
    }
    told.push(quotes());
    Some(Text::List(told).wrapped("(", ")"))
}

/// Returns the difference of two sequences in chunks.
fn chunks<T: PartialEq>(
    options: Options,
    mut old: &[T],
    mut new: &[T],
    size: usize,
    name: &'static str,
    item: impl Fn(&[T], Side) -> Item,
) -> Vec<Item> {
    let edits = edit_script(old.len(), new.len(), |x, y| {
        Likeness::of(old.get(x) == new.get(y))
    });
    let groups = tidy(joined(grouped(name, &edits), size / 4), old, new);
    let shown = options.limit(4);
    let mut items: Vec<Item> = Vec::new();
    let mut left_out = Counts::new(name);
    let mut told = 0;
    for (index, group) in groups.iter().enumerate() {
        let from_old = group.identical + group.removed + group.modified;
        let from_new = group.identical + group.inserted + group.modified;
        let (Some((these, rest)), Some((those, other_rest))) =
            (old.split_at_checked(from_old), new.split_at_checked(from_new))
        else {
            break;
        };
        (old, new) = (rest, other_rest);
        if shown.is_some_and(|shown| told >= shown) {
            left_out.add(group);
        } else if group.differing() == 0 {
            let before = if index == 0 {
                0
            } else {
                (size * CONTEXT).min(these.len())
            };
            let rest = these.len() - before;
            let mut after = if index + 1 == groups.len() {
                0
            } else {
                (size * CONTEXT).min(rest)
            };
            if rest - after <= size {
                after = rest;
            }
            let (head, tail) = (these.get(..before), these.get(these.len() - after..));
            items.extend(
                head.unwrap_or_default()
                    .chunks(size)
                    .map(|chunk| item(chunk, Side::Both)),
            );
            if rest > after {
                let identical = rest - after;
                push_ellipsis(&mut items, Some(Counts { identical, ..*group }));
            }
            items.extend(
                tail.unwrap_or_default()
                    .chunks(size)
                    .map(|chunk| item(chunk, Side::Both)),
            );
        } else {
            let start = items.len();
            items.extend(these.chunks(size).map(|chunk| item(chunk, Side::Old)));
            items.extend(those.chunks(size).map(|chunk| item(chunk, Side::New)));
            told += items.len() - start;
        }
    }
    if !left_out.is_zero() {
        push_ellipsis(&mut items, Some(left_out));
    }
    items
}

fn grouped(name: &'static str, edits: &[Edit]) -> Vec<Counts> {
    let mut groups: Vec<Counts> = Vec::new();
    for edit in edits {
        let equal = *edit == Edit::Same;
        if groups.last().is_none_or(|last| (last.differing() == 0) != equal) {
            groups.push(Counts::new(name));
        }
        let Some(last) = groups.last_mut() else { continue };
        match edit {
            Edit::Same => last.identical += 1,
            Edit::Removed => last.removed += 1,
            Edit::Inserted => last.inserted += 1,
            Edit::Modified => last.modified += 1,
        }
    }
    groups
}

/// Joins differences that have hardly anything between them.
fn joined(groups: Vec<Counts>, window: usize) -> Vec<Counts> {
    let mut out: Vec<Counts> = Vec::new();
    for group in groups {
        if group.differing() > 0
            && let [.., before, between] = out.as_mut_slice()
        {
            let removes = before.removed > 0 || group.removed > 0;
            let inserts = before.inserted > 0 || group.inserted > 0;
            if removes && inserts && between.identical <= window {
                before.add(between);
                before.add(&group);
                out.pop();
                continue;
            }
        }
        out.push(group);
    }
    out
}

/// Moves what is equal at the ends of a difference to its neighbours.
fn tidy<T: PartialEq>(groups: Vec<Counts>, old: &[T], new: &[T]) -> Vec<Counts> {
    let (mut x, mut y) = (0, 0);
    let mut out: Vec<Counts> = Vec::new();
    let mut carried = 0;
    for mut group in groups {
        if group.differing() == 0 {
            group.identical += std::mem::take(&mut carried);
            x += group.identical;
            y += group.identical;
            out.push(group);
            continue;
        }
        let from_old = group.identical + group.removed + group.modified;
        let from_new = group.identical + group.inserted + group.modified;
        let both = from_old.min(from_new);
        let leading = (0..both)
            .take_while(|index| old.get(x + index) == new.get(y + index))
            .count();
        let trailing = (1..=both - leading)
            .take_while(|index| old.get(x + from_old - index) == new.get(y + from_new - index))
            .count();
        if leading + trailing > 0 {
            if leading > 0 {
                match out.last_mut() {
                    Some(before) => before.identical += leading,
                    None => out.push(Counts {
                        identical: leading,
                        ..Counts::new(group.name)
                    }),
                }
                x += leading;
                y += leading;
            }
            carried = trailing;
            group = Counts {
                removed: from_old - leading - trailing,
                inserted: from_new - leading - trailing,
                ..Counts::new(group.name)
            };
            x += group.removed;
            y += group.inserted;
        } else {
            x += from_old;
            y += from_new;
        }
        out.push(group);
    }
    if carried > 0
        && let Some(last) = out.last()
    {
        out.push(Counts {
            identical: carried,
            ..Counts::new(last.name)
        });
    }
    out
}
