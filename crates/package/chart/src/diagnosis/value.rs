//! The value that an error is about: which one it is, what it is, and who set it.

use serde_json::Value;

use crate::explanation::shown_origin;
use crate::provenance::Provenance;
use crate::values::Table;

/// How templates write the way to a value.
const VALUES: &str = ".Values";

/// The keys that lead to a value inside the section of its chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ValuePath(pub(super) Vec<String>);

/// What is known about a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Description {
    /// A sentence, such as `.Values.image is null, set by -f prod.yaml`.
    pub(super) text: String,
    /// Whether it is null or not there at all.
    pub(super) is_absent: bool,
    /// The path as `--set` takes it.
    pub(super) path: String,
}

impl ValuePath {
    /// Finds the values that a node mentions, as Go prints it.
    pub(super) fn all_in(node: &str) -> Vec<Self> {
        let mut paths = Vec::new();
        let mut rest = node;
        while let Some(found) = rest.find(VALUES) {
            let before = rest[..found].chars().next_back();
            rest = &rest[found + VALUES.len()..];
            // `.foo.Values.a` and `$x.Values.a` may be anything.
            let is_start = before.is_none_or(|character| matches!(character, ' ' | '(' | '$' | '{' | '='));
            let is_word = |character: char| character.is_alphanumeric() || character == '_';
            let end = rest
                .find(|character| !is_word(character) && character != '.')
                .unwrap_or(rest.len());
            let keys: Vec<String> = rest[..end]
                .split('.')
                .skip(1)
                .filter(|key| !key.is_empty())
                .map(str::to_owned)
                .collect();
            if is_start && rest.starts_with('.') && !keys.is_empty() {
                paths.push(Self(keys));
            }
            rest = &rest[end..];
        }
        paths
    }

    /// Reads the field of a schema's complaint, where elements of lists are numbers.
    pub(super) fn of_field(field: &str) -> Self {
        Self(field.split('.').map(str::to_owned).collect())
    }
}

/// Describes the value at a path, or the first one on the way that leads no further.
pub(super) fn describe(
    path: &ValuePath,
    section: &[String],
    values: &Table,
    provenance: &Provenance,
) -> Option<Description> {
    let mut keys: Vec<String> = section.to_vec();
    let mut current = section
        .iter()
        .try_fold(None::<&Value>, |table, key| match table {
            None => values.get(key).map(Some),
            Some(table) => table.get(key).map(Some),
        })?;
    for key in &path.0 {
        let (key, next) = match current {
            None => (key.clone(), values.get(key)),
            Some(Value::Object(table)) => (key.clone(), table.get(key)),
            Some(Value::Array(items)) => (
                format!("[{key}]"),
                key.parse::<usize>().ok().and_then(|index| items.get(index)),
            ),
            Some(_) => break,
        };
        keys.push(key);
        let Some(next) = next else {
            let whole = joined(&[section, &path.0].concat());
            return Some(absent(&keys, section.len(), whole, provenance));
        };
        current = Some(next);
    }
    let value = current?;
    let origin = provenance
        .origin_of(&borrowed(&keys))
        .map(|origin| format!(", set by {}", shown_origin(origin)));
    Some(Description {
        text: format!(
            "{} is {}{}",
            shown(&keys, section.len()),
            kind(value),
            origin.unwrap_or_default()
        ),
        is_absent: value.is_null(),
        path: joined(&[section, &path.0].concat()),
    })
}

/// Describes a value that is not there. Whoever set it to null is its origin, and not that of the table around it.
fn absent(keys: &[String], section: usize, path: String, provenance: &Provenance) -> Description {
    let own = provenance.origin_of(&borrowed(keys));
    let around = provenance.origin_of(&borrowed(&keys[..keys.len() - 1]));
    let text = match own {
        Some(origin) if around != Some(origin) => {
            format!(
                "{} is null, set by {}",
                shown(keys, section),
                shown_origin(origin)
            )
        }
        _ => format!("{} is not set", shown(keys, section)),
    };
    Description {
        text,
        is_absent: true,
        path,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(true) => "true",
        Value::Bool(false) => "false",
        Value::Number(_) => "a number",
        Value::String(text) if text.is_empty() => "an empty string",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    }
}

fn borrowed(keys: &[String]) -> Vec<&str> {
    keys.iter().map(String::as_str).collect()
}

fn joined(keys: &[String]) -> String {
    keys.iter().fold(String::new(), |path, key| {
        let separator = if path.is_empty() || key.starts_with('[') {
            ""
        } else {
            "."
        };
        path + separator + key
    })
}

/// Writes a path as templates of its chart do.
fn shown(keys: &[String], section: usize) -> String {
    format!("{VALUES}.{}", joined(keys.get(section..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::provenance::Origin;

    #[test]
    fn values_are_found_in_nodes() {
        let rows: &[(&str, &[&str])] = &[
            (".Values.image.repo", &["image.repo"]),
            ("$.Values.a", &["a"]),
            ("required \"x\" .Values.a.b", &["a.b"]),
            ("(eq .Values.a $.Values.b_c)", &["a", "b_c"]),
            (".foo.Values.a", &[]),
            ("$x.Values.a", &[]),
            (".Values", &[]),
            (".ValuesX.a", &[]),
        ];
        for (node, expected) in rows {
            let found: Vec<String> = ValuePath::all_in(node)
                .iter()
                .map(|path| path.0.join("."))
                .collect();
            assert_eq!(found, *expected, "{node}");
        }
    }

    #[test]
    fn the_first_value_that_leads_no_further_is_described_with_its_origin() {
        let table = |value: Value| value.as_object().cloned().unwrap_or_default();
        let mut provenance = Provenance::default();
        let chart =
            table(json!({"image": {"repo": "a"}, "port": 80, "list": [1, {"a": 2}], "sub": {"x": {}}}));
        provenance.record_table(&chart, Origin::Chart("c".to_owned()));
        let user = table(json!({"image": null, "port": "x", "empty": {}}));
        provenance.record_table(&user, Origin::File("prod.yaml".to_owned()));
        let values = table(json!({"port": "x", "list": [1, {"a": 2}], "sub": {"x": {}}, "empty": {}}));
        let rows: &[(&[&str], &str, &str)] = &[
            (&[], "image.repo", ".Values.image is null, set by -f prod.yaml"),
            (
                &[],
                "port.number",
                ".Values.port is a string, set by -f prod.yaml",
            ),
            (&[], "nothing", ".Values.nothing is not set"),
            (&[], "empty.a", ".Values.empty.a is not set"),
            (
                &[],
                "list.1.a",
                ".Values.list[1].a is a number, set by values.yaml of c",
            ),
            (&["sub"], "x", ".Values.x is a table, set by values.yaml of c"),
            (&["sub"], "y", ".Values.y is not set"),
        ];
        for (section, path, expected) in rows {
            let section: Vec<String> = section.iter().map(ToString::to_string).collect();
            let description = describe(&ValuePath::of_field(path), &section, &values, &provenance);
            assert_eq!(
                description.map(|description| description.text).as_deref(),
                Some(*expected),
                "{path}"
            );
        }
    }
}
