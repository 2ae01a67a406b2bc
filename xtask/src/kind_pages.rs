//! The pages of the book about kinds, written from their definitions: every field with its type, its meaning, its default
//! and its rules.

use std::fmt::Write as _;

use api::definitions::{Definition, OLM_V0, OLM_V1};
use serde_json::Value;

/// A page: its path below `docs/src`, and its text.
pub(crate) type Page = (String, String);

/// Fields that every object has, and that Kubernetes describes.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Returns the page of each kind, and the one that lists them.
pub(crate) fn all() -> Vec<Page> {
    let families = [("OLM v1", OLM_V1.as_slice()), ("OLM v0", OLM_V0.as_slice())];
    let mut list = "# All kinds\n\n\
        <!-- Generated: write it anew with `cargo run -p xtask -- reference`. -->\n\n\
        What the definitions that baton installs say, field by field. Beside them baton serves `PackageManifest`\n\
        ([OLM v0](../classic.md#packagemanifest)).\n"
        .to_owned();
    let mut pages = Vec::new();
    for (family, definitions) in families {
        let _ = write!(list, "\n## {family}\n\n| kind | what it is |\n|---|---|\n");
        for definition in definitions {
            let object = definition.object();
            let kind = text(&object, "/spec/names/kind").to_owned();
            let path = format!("kinds/{}.md", kind.to_lowercase());
            let newest = versions(&object).next_back();
            let told = newest.map_or("", |version| text(version, "/schema/openAPIV3Schema/description"));
            let _ = writeln!(list, "| [{kind}]({path}) | {} |", cell(told));
            pages.push((format!("reference/{path}"), page(definition, &object)));
        }
    }
    pages.insert(0, ("reference/kinds.md".to_owned(), list));
    pages
}

fn versions(object: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    let versions = object.pointer("/spec/versions").and_then(Value::as_array);
    versions.map(Vec::as_slice).unwrap_or_default().iter()
}

fn page(definition: &Definition, object: &Value) -> String {
    let kind = text(object, "/spec/names/kind");
    let group = text(object, "/spec/group");
    let mut page = format!(
        "# {kind}\n\n<!-- Generated: write it anew with `cargo run -p xtask -- reference`. -->\n\n\
        `{}`; {}.",
        definition.name,
        if text(object, "/spec/scope") == "Cluster" {
            "belongs to no namespace"
        } else {
            "lives in a namespace"
        },
    );
    let short: Vec<&str> = strings(object.pointer("/spec/names/shortNames")).collect();
    if !short.is_empty() {
        let _ = write!(page, " Short: `{}`.", short.join("`, `"));
    }
    page.push('\n');
    for version in versions(object).rev() {
        let name = text(version, "/name");
        let _ = write!(page, "\n## {group}/{name}\n");
        let schema = version.pointer("/schema/openAPIV3Schema").unwrap_or(&Value::Null);
        let _ = write!(page, "\n{}\n", escaped(text(schema, "/description")));
        if version["storage"] != Value::Bool(true) {
            let _ = write!(page, "\nObjects are not stored in this version.\n");
        }
        for part in ["spec", "status"] {
            let field = &schema["properties"][part];
            let mut rows = Vec::new();
            rows_below(field, part, &mut rows);
            if !rows.is_empty() {
                let _ = write!(
                    page,
                    "\n### {part}\n\n{}\n\n",
                    escaped(text(field, "/description"))
                );
                page.push_str("| field | type | meaning | rules |\n|---|---|---|---|\n");
                page.push_str(&rows.concat());
            }
        }
        other_fields(schema, &mut page);
        columns(version, &mut page);
    }
    page
}

/// Fields beside those that every object has.
fn other_fields(schema: &Value, page: &mut String) {
    let names = schema["properties"].as_object().into_iter().flatten();
    let mut rows = Vec::new();
    for (name, field) in names {
        if !OF_EVERY_OBJECT.contains(&name.as_str()) && name != "spec" && name != "status" {
            row(field, name, is_required(schema, name), &mut rows);
        }
    }
    if !rows.is_empty() {
        page.push_str("\n### Other fields\n\n| field | type | meaning | rules |\n|---|---|---|---|\n");
        page.push_str(&rows.concat());
    }
}

fn columns(version: &Value, page: &mut String) {
    let columns = version["additionalPrinterColumns"].as_array();
    let columns = columns.map(Vec::as_slice).unwrap_or_default();
    if !columns.is_empty() {
        page.push_str("\n### Columns of `kubectl get`\n\n| column | from |\n|---|---|\n");
        for column in columns {
            let _ = writeln!(
                page,
                "| {} | `{}` |",
                text(column, "/name"),
                code(text(column, "/jsonPath"))
            );
        }
    }
}

/// Adds a row for each field below one, depth first.
fn rows_below(field: &Value, path: &str, rows: &mut Vec<String>) {
    let (holder, path) = innermost(field, path);
    for (name, below) in holder["properties"].as_object().into_iter().flatten() {
        row(below, &format!("{path}.{name}"), is_required(holder, name), rows);
    }
}

fn row(field: &Value, path: &str, is_required: bool, rows: &mut Vec<String>) {
    let mut meaning = vec![cell(text(field, "/description"))];
    let (holder, _) = innermost(field, path);
    // What nobody describes below a field is a type of Kubernetes, whose own reference says more.
    let descends = is_described_below(holder);
    if !descends && holder["properties"].is_object() {
        meaning.push("As Kubernetes has it.".to_owned());
    }
    meaning.retain(|part| !part.is_empty());
    let path_shown = path
        .strip_prefix("spec.")
        .or_else(|| path.strip_prefix("status."))
        .unwrap_or(path);
    rows.push(format!(
        "| `{path_shown}` | {} | {} | {} |\n",
        kind_of(field),
        meaning.join(" "),
        rules(field, is_required)
    ));
    if descends {
        rows_below(field, path, rows);
    }
}

/// Steps through lists and maps to what they hold; the path says so.
fn innermost<'v>(field: &'v Value, path: &str) -> (&'v Value, String) {
    let (mut field, mut path) = (field, path.to_owned());
    loop {
        if field["items"].is_object() {
            (field, path) = (&field["items"], format!("{path}[]"));
        } else if field["additionalProperties"].is_object() {
            (field, path) = (&field["additionalProperties"], format!("{path}.*"));
        } else {
            return (field, path);
        }
    }
}

fn is_described_below(field: &Value) -> bool {
    let below = field["properties"].as_object().into_iter().flatten();
    below.map(|(_, field)| field).any(|field| {
        field["description"].is_string() || {
            let (holder, _) = innermost(field, "");
            is_described_below(holder)
        }
    })
}

fn is_required(holder: &Value, name: &str) -> bool {
    strings(holder.get("required")).any(|required| required == name)
}

fn kind_of(field: &Value) -> String {
    if field["items"].is_object() {
        return format!("list of {}", kind_of(&field["items"]));
    }
    if field["additionalProperties"].is_object() {
        return format!("map of {}", kind_of(&field["additionalProperties"]));
    }
    if field["x-kubernetes-int-or-string"] == Value::Bool(true) {
        return "integer or string".to_owned();
    }
    match (text(field, "/type"), text(field, "/format")) {
        ("", _) => "any".to_owned(),
        (kind, "") => kind.to_owned(),
        (kind, format) => format!("{kind} ({format})"),
    }
}

/// What must hold for a field, and what it is where nothing is said.
fn rules(field: &Value, is_required: bool) -> String {
    let mut rules = Vec::new();
    if is_required {
        rules.push("required".to_owned());
    }
    if !field["default"].is_null() {
        rules.push(format!("default `{}`", code(&field["default"].to_string())));
    }
    let (holder, _) = innermost(field, "");
    let allowed: Vec<String> = strings(holder.get("enum"))
        .map(|value| format!("`{value}`"))
        .collect();
    if !allowed.is_empty() {
        rules.push(format!("one of {}", allowed.join(", ")));
    }
    for (key, word) in [
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("minLength", "length at least"),
        ("maxLength", "length at most"),
        ("minItems", "items at least"),
        ("maxItems", "items at most"),
        ("minProperties", "entries at least"),
        ("maxProperties", "entries at most"),
    ] {
        if field[key].is_number() {
            rules.push(format!("{word} {}", field[key]));
        }
    }
    if field["pattern"].is_string() {
        rules.push(format!("pattern `{}`", code(text(field, "/pattern"))));
    }
    let validations = field["x-kubernetes-validations"].as_array();
    for validation in validations.map(Vec::as_slice).unwrap_or_default() {
        let message = text(validation, "/message");
        rules.push(if message.is_empty() {
            format!("`{}`", code(text(validation, "/rule")))
        } else {
            cell(message)
        });
    }
    rules.join("; ")
}

fn strings(list: Option<&Value>) -> impl Iterator<Item = &str> {
    let items = list.and_then(Value::as_array);
    items
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
        .filter_map(Value::as_str)
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A text that Markdown takes as it is.
fn escaped(text: &str) -> String {
    text.replace('<', "&lt;").replace('*', "\\*")
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    escaped(&words.join(" ")).replace('|', "\\|")
}

/// A text between backticks in a cell of a table.
fn code(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_told_with_its_type_its_meaning_and_its_rules() {
        let field = json!({
            "description": "Where | it comes from.",
            "required": ["kind"],
            "properties": {
                "kind": {"type": "string", "description": "Which.", "enum": ["A", "B"], "default": "A"},
                "names": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
                "pod": {"type": "object", "description": "A pod.", "properties": {"x": {"type": "string"}}},
            },
        });
        let mut rows = Vec::new();
        rows_below(&field, "spec", &mut rows);
        assert_eq!(
            rows.concat(),
            "| `kind` | string | Which. | required; default `\"A\"`; one of `A`, `B` |\n\
             | `names` | list of string |  | items at most 2 |\n\
             | `pod` | object | A pod. As Kubernetes has it. |  |\n"
        );
    }

    #[test]
    fn the_pages_in_the_book_are_what_the_definitions_say() {
        let book = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/src");
        for (path, text) in all() {
            let there = std::fs::read_to_string(book.join(&path)).unwrap_or_default();
            assert!(
                there == text,
                "docs/src/{path} has drifted; write it anew with: cargo run -p xtask -- reference"
            );
        }
    }
}
