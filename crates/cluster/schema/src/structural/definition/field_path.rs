//! Paths to fields as definitions write them: `.spec.replicas`, `.spec.labels['a.b']`.

use crate::{FieldPath, Reference, Schema};

/// A path that leads to a field that the schema describes.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<'a> {
    /// The path as errors show it.
    pub path: FieldPath,
    /// The first step of the path.
    pub first: String,
    /// The schema of the field.
    pub schema: &'a Schema,
}

/// Follows a path through a schema.
///
/// # Errors
///
/// What is wrong with the path, in the API server's words.
pub fn follow<'a>(path: &str, schema: &'a Schema, allows_brackets: bool) -> Result<Found<'a>, String> {
    let mut found = Found {
        path: FieldPath::root(),
        first: String::new(),
        schema,
    };
    let mut tokens = Tokens(path);
    while let Some(token) = tokens.next() {
        match token {
            "[" if !allows_brackets => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = tokens.next().ok_or("unexpected end of JSON path")?;
                let inner = quoted
                    .strip_prefix('\'')
                    .and_then(|rest| rest.strip_suffix('\''))
                    .ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                found.step(&unescaped(inner)?)?;
                match tokens.next() {
                    Some("]") => {}
                    Some(other) => return Err(format!("expected ] but got {other}")),
                    None => return Err("unexpected end of JSON path".to_owned()),
                }
            }
            "." => {
                let name = tokens.next().ok_or("unexpected end of JSON path")?;
                found.step(name)?;
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(found)
}

impl Found<'_> {
    fn step(&mut self, name: &str) -> Result<(), String> {
        let unknown = || "does not refer to a valid field".to_owned();
        if self.first.is_empty() {
            name.clone_into(&mut self.first);
        }
        let schema = self.schema;
        if schema.properties.is_empty() {
            let additional = schema.additional_properties.as_ref().map(Reference::schema);
            self.schema = additional.ok_or_else(unknown)?;
            self.path = self.path.key(name);
        } else {
            self.schema = schema.properties.get(name).ok_or_else(unknown)?.schema();
            self.path = self.path.child(name);
        }
        Ok(())
    }
}

/// The path cut at its dots and brackets, which are tokens themselves; text in single quotes is one token.
struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let first = self.0.chars().next()?;
        let end = match first {
            '.' | '[' | ']' => 1,
            '\'' => {
                let bytes = self.0.as_bytes();
                (1..bytes.len())
                    .find(|index| bytes.get(*index) == Some(&b'\'') && bytes.get(index - 1) != Some(&b'\\'))
                    .map_or(bytes.len(), |index| index + 1)
            }
            _ => self.0.find(['.', '[', ']']).unwrap_or(self.0.len()),
        };
        let (token, rest) = self.0.split_at_checked(end)?;
        self.0 = rest;
        Some(token)
    }
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some('a') => out.push('\u{7}'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('v') => out.push('\u{b}'),
            Some(same @ ('\'' | '\\')) => out.push(same),
            // A newline isn't escaped, and a backslash at the end stays.
            Some('\n') => out.push_str("\\\n"),
            None => out.push('\\'),
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
        }
    }
    Ok(out)
}
