//! Values printed as Go source, the way Go's `%#v` puts them into error messages.

use std::cmp::Ordering;
use std::fmt::Write as _;

use crate::meaning::{Entry, effective_entries, meaning};
use crate::numbers;
use crate::resolve::Scalar;
use crate::tree::{Kind, NodeId, Tree};

/// How much of a value an error message shows at most.
///
/// Go has no bound, but a message that repeats a whole document, or an alias bomb, helps nobody.
const MAX_PRINTED_BYTES: usize = 4096;

/// Quotes text as Go's `strconv.Quote`.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0C' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0B' => quoted.push_str("\\v"),
            ' '..='~' => quoted.push(character),
            '\0'..='\x7F' => push_formatted(&mut quoted, format_args!("\\x{:02x}", u32::from(character))),
            _ if is_printable(character) => quoted.push(character),
            '\u{80}'..='\u{FFFF}' => {
                push_formatted(&mut quoted, format_args!("\\u{:04x}", u32::from(character)));
            }
            _ => push_formatted(&mut quoted, format_args!("\\U{:08x}", u32::from(character))),
        }
    }
    quoted.push('"');
    quoted
}

fn is_printable(character: char) -> bool {
    use unicode_properties::{GeneralCategoryGroup as Group, UnicodeGeneralCategory as _};
    matches!(
        character.general_category_group(),
        Group::Letter | Group::Mark | Group::Number | Group::Punctuation | Group::Symbol
    )
}

fn push_formatted(text: &mut String, part: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = text.write_fmt(part);
}

/// Prints a scalar's meaning; `<nil>` is how a lone nil prints.
pub(crate) fn scalar(scalar: &Scalar<'_>) -> String {
    match scalar {
        Scalar::Null => "<nil>".to_owned(),
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Uint(value) => format!("{value:#x}"),
        Scalar::Float(value) if value.is_nan() => "NaN".to_owned(),
        Scalar::Float(value) if value.is_infinite() => if *value > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        Scalar::Float(value) => numbers::format_general(*value),
        Scalar::Text(text) => quote(text),
    }
}

/// Names the Go type of a scalar's meaning, as `%s` prints a `reflect.Type`.
pub(crate) fn type_name(scalar: &Scalar<'_>) -> &'static str {
    match scalar {
        Scalar::Null => "%!s(<nil>)",
        Scalar::Bool(_) => "bool",
        Scalar::Int(_) => "int",
        Scalar::Uint(_) => "uint64",
        Scalar::Float(_) => "float64",
        Scalar::Text(_) => "string",
    }
}

/// Prints a node as the Go value it decodes to.
pub(crate) fn node(tree: &Tree<'_>, id: NodeId) -> String {
    let mut text = String::new();
    write_node(tree, id, true, 0, &mut text);
    if text.len() > MAX_PRINTED_BYTES {
        let mut end = MAX_PRINTED_BYTES;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str("...");
    }
    text
}

fn write_node(tree: &Tree<'_>, id: NodeId, alone: bool, depth: usize, text: &mut String) {
    if depth > crate::limits::MAX_VALUE_DEPTH || text.len() > MAX_PRINTED_BYTES {
        return;
    }
    let id = tree.resolve_alias(id);
    match tree.node(id).kind {
        Kind::Scalar | Kind::Alias => match meaning(tree, id) {
            Ok(Scalar::Null) if !alone => text.push_str("interface {}(nil)"),
            Ok(value) => text.push_str(&scalar(&value)),
            Err(_) => {}
        },
        Kind::Sequence => {
            text.push_str("[]interface {}{");
            for (index, child) in tree.children(id).enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                write_node(tree, child, false, depth + 1, text);
            }
            text.push('}');
        }
        Kind::Mapping => {
            let mut entries = effective_entries(tree, id);
            entries.sort_by(|a, b| compare_keys(&a.key, &b.key));
            text.push_str("map[interface {}]interface {}{");
            for (index, Entry { key, value }) in entries.into_iter().enumerate() {
                if index > 0 {
                    text.push_str(", ");
                }
                match key {
                    Scalar::Null => text.push_str("interface {}(nil)"),
                    key => text.push_str(&scalar(&key)),
                }
                text.push(':');
                write_node(tree, value, false, depth + 1, text);
            }
            text.push('}');
        }
    }
}

/// Go sorts keys of one type by value; between types it has no fixed order, so this one is ours.
fn compare_keys(a: &Scalar<'_>, b: &Scalar<'_>) -> Ordering {
    let rank = |scalar: &Scalar<'_>| match scalar {
        Scalar::Null => 0,
        Scalar::Bool(_) => 1,
        Scalar::Int(_) => 2,
        Scalar::Uint(_) => 3,
        Scalar::Float(_) => 4,
        Scalar::Text(_) => 5,
    };
    match (a, b) {
        (Scalar::Bool(a), Scalar::Bool(b)) => a.cmp(b),
        (Scalar::Int(a), Scalar::Int(b)) => a.cmp(b),
        (Scalar::Uint(a), Scalar::Uint(b)) => a.cmp(b),
        (Scalar::Float(a), Scalar::Float(b)) => a.total_cmp(b),
        (Scalar::Text(a), Scalar::Text(b)) => a.cmp(b),
        _ => rank(a).cmp(&rank(b)),
    }
}
