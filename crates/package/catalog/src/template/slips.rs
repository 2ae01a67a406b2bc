//! Slips in a template: where each stands, and what was probably meant.
//!
//! What a template is refused for is said in opm's words, which name no place; and fields that aren't known are passed over
//! in silence by two of the three kinds. So the text is looked at once more, as its author has written it.

mod shape;

use std::collections::HashSet;
use std::fmt;

use goyaml::Written;

use super::TemplateType;
use crate::nearest::{alternatives, did_you_mean, distance, nearest};
use shape::{OBJECTS, Shape};

/// How many slips are told; who makes more starts with these.
const MAXIMUM_SLIPS: usize = 20;

/// In how many letters a schema that is one of the known ones, but for a slip, differs from it: others may be meant as they are.
const LETTERS_OF_A_SLIP: usize = 2;

/// Something in a template that isn't as it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slip {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What is wrong there.
    pub what: String,
    /// The question for what was meant, where something looks like it.
    pub meant: Option<String>,
}

impl fmt::Display for Slip {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)?;
        match &self.meant {
            Some(meant) => write!(formatter, "; {meant}"),
            None => Ok(()),
        }
    }
}

/// The slips of a template, in the order of its text; without a kind, its schema tells.
#[must_use]
pub fn slips(template: &[u8], kind: Option<TemplateType>) -> Vec<Slip> {
    let Some(Ok(document)) = goyaml::documents(template).next() else {
        return Vec::new();
    };
    let root = document.written();
    let mut found = Found::default();
    if let Some(kind) = kind.or_else(|| found.kind_of(root)) {
        found.look(root, shape::of(kind));
    }
    found.slips.sort_by_key(|slip| (slip.line, slip.column));
    found.slips.truncate(MAXIMUM_SLIPS);
    found.slips
}

/// Where a template isn't YAML, if it isn't.
#[must_use]
pub fn syntax(template: &[u8]) -> Option<Slip> {
    of_syntax(&goyaml::documents(template).next()?.err()?)
}

/// The lines and columns at which a template has a text as a value.
#[must_use]
pub fn places(template: &[u8], value: &str) -> Vec<(usize, usize)> {
    fn collect(node: Written<'_>, value: &str, depth: usize, places: &mut Vec<(usize, usize)>) {
        if node.scalar() == Some(value) {
            places.push((node.line(), node.column()));
        }
        if depth == 0 {
            return;
        }
        for item in node.items().into_iter().flatten() {
            collect(item, value, depth - 1, places);
        }
        for (_, item) in node.entries().into_iter().flatten() {
            collect(item, value, depth - 1, places);
        }
    }
    let mut places = Vec::new();
    if let Some(Ok(document)) = goyaml::documents(template).next() {
        collect(document.written(), value, shape::DEEPEST, &mut places);
    }
    places
}

/// What isn't YAML, with its place if it has one.
fn of_syntax(error: &goyaml::Error) -> Option<Slip> {
    let text = error.to_string();
    // The line that these words have is sometimes the one before.
    let what = text
        .split_once(": ")
        .filter(|(head, _)| head.starts_with("yaml"))
        .map_or(text.as_str(), |(_, what)| what);
    let what = match what.split_once(": ") {
        Some((line, what)) if line.starts_with("line ") => what,
        _ => what,
    };
    Some(Slip {
        line: error.line()?,
        column: error.column()?,
        what: what.to_owned(),
        meant: None,
    })
}

#[derive(Default)]
struct Found {
    slips: Vec<Slip>,
}

impl Found {
    fn add(&mut self, node: Written<'_>, what: impl Into<String>, meant: Option<String>) {
        self.slips.push(Slip {
            line: node.line(),
            column: node.column(),
            what: what.into(),
            meant,
        });
    }

    /// The kind that a template's schema tells; a slip where it tells none.
    fn kind_of(&mut self, root: Written<'_>) -> Option<TemplateType> {
        let mut keys = Vec::new();
        for (key, value) in root.entries()? {
            let name = key.scalar().unwrap_or_default();
            if name.eq_ignore_ascii_case("schema") {
                let schema = value.scalar()?;
                let kind = TemplateType::ALL.into_iter().find(|kind| kind.schema() == schema);
                if kind.is_none() {
                    let known = TemplateType::ALL.map(TemplateType::schema);
                    let what = format!("no template has this schema: there are {}", known.join(", "));
                    self.add(value, what, did_you_mean(schema, known));
                }
                return kind;
            }
            keys.push((key, name));
        }
        for (key, name) in keys {
            if let Some(meant) = asked(name, &["schema"]) {
                self.add(key, "the template has no schema", Some(meant));
                break;
            }
        }
        None
    }

    fn look(&mut self, node: Written<'_>, shape: &Shape) {
        // Nothing, which is the same as a field that isn't there.
        if node
            .scalar()
            .is_some_and(|text| matches!(text, "" | "~" | "null"))
        {
            return;
        }
        match shape {
            Shape::Anything => {}
            Shape::Text => {
                if node.scalar().is_none() {
                    self.add(node, "this must be a text", None);
                }
            }
            Shape::Flag => match node.scalar() {
                Some(text) if shape::is_flag(text) => {}
                Some(text) => self.add(
                    node,
                    "this must be true or false",
                    asked(text, &["true", "false"]),
                ),
                None => self.add(node, "this must be true or false", None),
            },
            Shape::OneOf(texts) => match node.scalar() {
                Some(text) if texts.contains(&text) => {}
                Some(text) => self.add(
                    node,
                    format!("this must be {}", texts.join(" or ")),
                    asked(text, texts),
                ),
                None => self.add(node, "this must be a text", None),
            },
            Shape::List(item) => match node.items() {
                Some(items) => items.for_each(|node| self.look(node, item)),
                None => self.add(node, "this must be a list, each item behind a hyphen", None),
            },
            Shape::Fields(fields) => self.look_at_fields(node, fields),
            Shape::Object => self.look_at_object(node),
        }
    }

    fn look_at_object(&mut self, node: Written<'_>) {
        let Some(entries) = node.entries() else {
            return self.add(node, "this must be an object of a catalog", None);
        };
        let mut others = Vec::new();
        for (key, value) in entries {
            let name = key.scalar().unwrap_or_default();
            if !name.eq_ignore_ascii_case("schema") {
                others.push((key, name));
                continue;
            }
            let schema = value.scalar().unwrap_or_default();
            if let Some(shape) = shape::of_object(schema) {
                self.look(node, shape);
            } else if let Some(meant) = OBJECTS
                .iter()
                .find(|known| distance(schema, known) <= LETTERS_OF_A_SLIP)
            {
                self.add(
                    value,
                    "nothing reads objects of this schema",
                    Some(format!("did you mean \"{meant}\"?")),
                );
            }
            return;
        }
        for (key, name) in others {
            if let Some(meant) = asked(name, &["schema"]) {
                return self.add(key, "the object has no schema", Some(meant));
            }
        }
    }

    fn look_at_fields(&mut self, node: Written<'_>, fields: &[(&'static str, Shape)]) {
        let Some(entries) = node.entries() else {
            let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
            let what = format!("this must be a map of fields, which may be {}", names.join(", "));
            return self.add(node, what, None);
        };
        let mut seen = HashSet::new();
        for (key, value) in entries {
            let name = key.scalar().unwrap_or_default();
            if !seen.insert(name) {
                self.add(key, "this field is here already", None);
            }
            // As Go's decoder finds them.
            let found = fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name));
            if let Some((_, shape)) = found {
                self.look(value, shape);
            } else {
                let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
                self.add(key, "there is no such field here", asked(name, &names));
            }
        }
    }
}

/// The question for what a text may mean, in whatever case it is written.
fn asked(text: &str, known: &[&str]) -> Option<String> {
    let is_capital = text.starts_with(|first: char| first.is_ascii_uppercase());
    let written = |name: &str| {
        let (first, rest) = name.split_at(name.len().min(1));
        if is_capital {
            first.to_ascii_uppercase() + rest
        } else {
            name.to_owned()
        }
    };
    let lower: Vec<String> = known.iter().map(|name| name.to_ascii_lowercase()).collect();
    let near = nearest(&text.to_ascii_lowercase(), lower.iter().map(String::as_str));
    let names: Vec<String> = near
        .iter()
        .filter_map(|near| known.iter().find(|name| name.eq_ignore_ascii_case(near)))
        .map(|name| written(name))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    alternatives(&names).map(|names| format!("did you mean {names}?"))
}

#[cfg(test)]
mod tests;
