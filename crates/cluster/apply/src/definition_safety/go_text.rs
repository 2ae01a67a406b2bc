//! Schemas as Go prints them: what their `String` method says, and what `%v` makes of them.
//!
//! Upstream names the alternatives of a `oneOf` this way. One thing differs: where Go prints the address of a number,
//! which is another one each time, the number itself is printed, so that equal schemas look equal.

use gotemplate::format::value_text;

use super::kind::{Kind, Structure};
use super::typed::Typed;

/// Returns what the `String` method of a struct says.
pub(crate) fn described(value: &Typed, structure: &Structure) -> String {
    let mut out = format!("&{}{{", structure.name);
    if let Typed::Structure(fields) = value {
        for (field, value) in structure.fields.iter().zip(fields) {
            out.push_str(field.name);
            out.push(':');
            out.push_str(&member(value, field.kind));
            out.push(',');
        }
    }
    out.push('}');
    out
}

/// Returns a number as `%v` prints it.
pub(crate) fn number(value: f64) -> String {
    value_text(&gotemplate::Value::from(value))
}

fn member(value: &Typed, kind: &Kind) -> String {
    match (kind, value) {
        (Kind::Pointer(Kind::Structure(structure)), Typed::Pointer(to)) => to
            .as_deref()
            .map_or_else(|| "nil".into(), |to| described(to, structure)),
        (Kind::Pointer(to_kind), Typed::Pointer(to)) => to
            .as_deref()
            .map_or_else(|| "nil".into(), |to| format!("*{}", plain(to, to_kind))),
        (Kind::List(_, Kind::Byte), Typed::List(None)) => "nil".into(),
        (Kind::List(_, Kind::Byte), _) => format!("*{}", plain(value, kind)),
        (Kind::List(_, Kind::Structure(structure)), _) => {
            let elements = value.elements().iter();
            let elements: Vec<String> = elements
                .map(|element| described(element, structure).replacen('&', "", 1) + ",")
                .collect();
            format!("[]{}{{{}}}", structure.name, elements.concat())
        }
        (Kind::Map(name, element), _) => {
            let entries: Vec<String> = value
                .entries()
                .map(|(key, value)| format!("{key}: {},", plain(value, element)))
                .collect();
            let name = name.replace("v1.", "");
            format!("{name}{{{}}}", entries.concat())
        }
        _ => plain(value, kind),
    }
}

/// Returns a value as `%v` prints it.
fn plain(value: &Typed, kind: &Kind) -> String {
    match (kind, value) {
        (_, Typed::Bool(value)) => value.to_string(),
        (_, Typed::Integer(value)) => value.to_string(),
        (_, Typed::Float(value)) => number(*value),
        (_, Typed::Text(text)) => text.clone(),
        (_, Typed::Byte(byte)) => byte.to_string(),
        (Kind::Pointer(Kind::Structure(structure)), Typed::Pointer(to)) => to
            .as_deref()
            .map_or_else(|| "nil".into(), |to| described(to, structure)),
        (Kind::Pointer(to_kind), Typed::Pointer(to)) => to
            .as_deref()
            .map_or_else(|| "<nil>".into(), |to| plain(to, to_kind)),
        (Kind::List(_, element), Typed::List(_)) => {
            let elements: Vec<String> = value
                .elements()
                .iter()
                .map(|value| plain(value, element))
                .collect();
            format!("[{}]", elements.join(" "))
        }
        (Kind::Map(_, element), Typed::Map(_)) => {
            let entries: Vec<String> = value
                .entries()
                .map(|(key, value)| format!("{key}:{}", plain(value, element)))
                .collect();
            format!("map[{}]", entries.join(" "))
        }
        (Kind::Structure(structure), Typed::Structure(fields)) => {
            let fields: Vec<String> = structure
                .fields
                .iter()
                .zip(fields)
                .map(|(field, value)| plain(value, field.kind))
                .collect();
            format!("{{{}}}", fields.join(" "))
        }
        // A value always has the shape of its kind.
        _ => String::new(),
    }
}
