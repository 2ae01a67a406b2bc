//! The values that a chart is rendered with to see what it can create.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use chart::Chart;
use chart::values::Table;
use regex::Regex;
use serde_json::{Map, Value, json};

use super::structural::Definitions;

/// How deep values are searched for flags. The deepest of the charts that were looked at is 9.
const MAXIMUM_DEPTH: usize = 16;

/// How many flags are kept. The largest chart that was looked at has 700.
const MAXIMUM_FLAGS: usize = 4_000;

/// How many choices of an enumeration are tried.
const MAXIMUM_CHOICES: usize = 16;

/// A set of values to render, and how a person would have asked for it.
#[derive(Debug, Clone)]
pub struct Variant {
    /// What is set, such as `ingress.enabled=true`.
    pub description: String,
    /// The values.
    pub values: Table,
    /// Whether the values were made up, so that it says nothing when they don't render.
    pub is_guess: bool,
}

/// One change to the default values.
#[derive(Debug, Clone)]
struct Setting {
    path: Vec<String>,
    value: Value,
    /// Whether it turns something on: those are also tried all together.
    enables: bool,
}

impl Setting {
    fn description(&self) -> String {
        let path = self.path.join(".");
        match &self.value {
            Value::Object(_) | Value::Array(_) => format!("an entry in {path}"),
            value => format!(
                "{path}={}",
                value.as_str().map_or_else(|| value.to_string(), str::to_owned)
            ),
        }
    }

    fn apply(&self, values: &mut Table) {
        let Some((last, parents)) = self.path.split_last() else {
            return;
        };
        let mut table = values;
        for key in parents {
            let next = table
                .entry(key.clone())
                .or_insert_with(|| Value::Object(Map::new()));
            if !next.is_object() {
                *next = Value::Object(Map::new());
            }
            match next {
                Value::Object(inner) => table = inner,
                _ => return,
            }
        }
        table.insert(last.clone(), self.value.clone());
    }
}

/// Variants of a chart's values, most telling first, at most `maximum` of them; each changes `base`, which may be a sample
/// that fills what the defaults leave empty.
pub fn variants(chart: &Chart, base: &Table, maximum: usize) -> Vec<Variant> {
    let (settings, entries) = settings(chart);
    let together = |description: &str, chosen: &mut dyn Iterator<Item = &Setting>, is_guess: bool| {
        let mut values = base.clone();
        chosen.for_each(|setting| setting.apply(&mut values));
        Variant {
            description: description.to_owned(),
            values,
            is_guess,
        }
    };
    let everything_on = || settings.iter().filter(|setting| setting.enables);
    let last = [
        together("everything enabled", &mut everything_on(), false),
        together("every flag turned over", &mut settings.iter(), false),
        together(
            "everything enabled and an entry in every empty list and map",
            &mut everything_on().chain(&entries),
            true,
        ),
    ];
    let room = maximum.saturating_sub(last.len());
    let mut variants = in_groups(&settings, base, room, false);
    let room = room - variants.len();
    variants.extend(in_groups(&entries, base, room, true));
    variants.extend(last);
    variants.truncate(maximum);
    variants
}

/// Single settings as long as there is room, and the rest in groups, so that none is left out.
fn in_groups(settings: &[Setting], base: &Table, room: usize, is_guess: bool) -> Vec<Variant> {
    let alone = if settings.len() <= room {
        settings.len()
    } else {
        room * 3 / 4
    };
    let (alone, grouped) = settings.split_at(alone);
    let groups = room - alone.len();
    let size = if groups == 0 {
        grouped.len().max(1)
    } else {
        grouped.len().div_ceil(groups).max(1)
    };
    let grouped = grouped.chunks(size).take(groups);
    let mut variants = Vec::new();
    for group in alone.chunks(1).chain(grouped) {
        let mut values = base.clone();
        for setting in group {
            setting.apply(&mut values);
        }
        let description = match group {
            [only] => only.description(),
            [first, rest @ ..] => format!("{} and {} more flags", first.description(), rest.len()),
            [] => continue,
        };
        variants.push(Variant {
            description,
            values,
            is_guess,
        });
    }
    variants
}

/// The settings worth trying: flags turned over and choices made, and apart from them entries in what is empty.
fn settings(chart: &Chart) -> (Vec<Setting>, Vec<Setting>) {
    let mut found = Found::default();
    let mut path = Vec::new();
    search_chart(chart, &mut path, &mut found, 0);
    if let Some(schema) = &chart.schema
        && let Ok(schema) = serde_json::from_slice::<Value>(schema)
    {
        let definitions = Definitions::new(&schema);
        search_schema(&schema, definitions, &mut Vec::new(), &mut found, 0);
    }
    let mut words = HashSet::new();
    collect_words(chart, &mut words, 0);
    // A key that no template mentions decides nothing, unless it is a condition of a subchart.
    let decides = |setting: &&Setting| {
        setting.path.last().is_some_and(|key| {
            let plain = key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            key.eq_ignore_ascii_case("enabled") || key == "create" || !plain || words.contains(key.as_str())
        })
    };
    let mut settings: Vec<Setting> = found.settings.into_values().flatten().collect();
    settings.retain(|setting| decides(&setting));
    // Keys that turn whole objects on come first, so that they are tried alone when there is no room for all.
    settings.sort_by_key(|setting| {
        let key = setting.path.last().map_or("", String::as_str);
        (!switches_objects(key), setting.path.len())
    });
    let mut entries: Vec<Setting> = found.entries.into_values().collect();
    entries.retain(|setting| decides(&setting));
    (settings, entries)
}

fn switches_objects(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["enable", "create", "install", "deploy", "use", "expose"]
        .iter()
        .any(|word| key.contains(word))
}

static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new("[A-Za-z0-9_]+").expect("a constant expression"));

/// Every word in the templates of a chart and its subcharts.
fn collect_words(chart: &Chart, words: &mut HashSet<String>, depth: usize) {
    for file in chart.templates.iter() {
        let text = String::from_utf8_lossy(&file.data);
        for word in WORD.find_iter(&text) {
            if !words.contains(word.as_str()) {
                words.insert(word.as_str().to_owned());
            }
        }
    }
    if depth < MAXIMUM_DEPTH {
        for subchart in &chart.dependencies {
            collect_words(subchart, words, depth + 1);
        }
    }
}

#[derive(Default)]
struct Found {
    settings: BTreeMap<Vec<String>, Vec<Setting>>,
    entries: BTreeMap<Vec<String>, Setting>,
}

impl Found {
    fn set(&mut self, path: &[String], value: Value, enables: bool) {
        if self.settings.len() < MAXIMUM_FLAGS {
            let settings = self.settings.entry(path.to_vec()).or_default();
            if settings.iter().all(|setting| setting.value != value) {
                settings.push(Setting {
                    path: path.to_vec(),
                    value,
                    enables,
                });
            }
        }
    }

    fn enter(&mut self, path: &[String], value: Value) {
        if self.entries.len() < MAXIMUM_FLAGS {
            self.entries.insert(
                path.to_vec(),
                Setting {
                    path: path.to_vec(),
                    value,
                    enables: true,
                },
            );
        }
    }
}

/// Searches a chart's values and, below their sections, those of its subcharts.
fn search_chart(chart: &Chart, path: &mut Vec<String>, found: &mut Found, depth: usize) {
    if depth > MAXIMUM_DEPTH {
        return;
    }
    if let Some(values) = &chart.values {
        for (key, value) in values.iter() {
            path.push(key.clone());
            search_value(value, path, found, depth);
            path.pop();
        }
    }
    let declared = chart.metadata.dependencies.as_deref().unwrap_or_default();
    for subchart in &chart.dependencies {
        let aliases: Vec<&str> = declared
            .iter()
            .filter(|dependency| dependency.name == subchart.name() && !dependency.alias.is_empty())
            .map(|dependency| dependency.alias.as_str())
            .collect();
        let sections = if aliases.is_empty() {
            vec![subchart.name()]
        } else {
            aliases
        };
        for section in sections {
            path.push(section.to_owned());
            search_chart(subchart, path, found, depth + 1);
            path.pop();
        }
    }
    for dependency in declared {
        for condition in dependency
            .condition
            .split(',')
            .map(str::trim)
            .filter(|path| !path.is_empty())
        {
            let mut full = path.clone();
            full.extend(condition.split('.').map(str::to_owned));
            if !found.settings.contains_key(&full) {
                found.set(&full, Value::Bool(true), true);
            }
        }
    }
}

fn search_value(value: &Value, path: &mut Vec<String>, found: &mut Found, depth: usize) {
    if depth > MAXIMUM_DEPTH {
        return;
    }
    let key = path.last().map_or("", String::as_str);
    match value {
        Value::Bool(flag) => found.set(path, Value::Bool(!flag), !flag),
        Value::Null if switches_objects(key) => found.set(path, Value::Bool(true), true),
        Value::String(text) => match text.as_str() {
            "true" => found.set(path, json!("false"), false),
            "false" => found.set(path, json!("true"), true),
            _ => {}
        },
        Value::Object(map) if map.is_empty() => found.enter(path, json!({"example": {}})),
        Value::Array(list) if list.is_empty() => found.enter(path, json!([{"name": "example"}])),
        Value::Object(map) => {
            for (key, value) in map {
                path.push(key.clone());
                search_value(value, path, found, depth + 1);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Adds what only the schema knows: choices, and flags that the values don't have.
fn search_schema(
    schema: &Value,
    definitions: Definitions<'_>,
    path: &mut Vec<String>,
    found: &mut Found,
    depth: usize,
) {
    if depth > MAXIMUM_DEPTH {
        return;
    }
    let schema = definitions.resolve(schema);
    if let Some(choices) = schema.get("enum").and_then(Value::as_array)
        && !path.is_empty()
    {
        for choice in choices
            .iter()
            .filter(|choice| !choice.is_null())
            .take(MAXIMUM_CHOICES)
        {
            found.set(path, choice.clone(), false);
        }
    } else if schema.get("type").and_then(Value::as_str) == Some("boolean")
        && !path.is_empty()
        && !found.settings.contains_key(path.as_slice())
    {
        found.set(path, Value::Bool(true), true);
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (key, property) in properties {
            path.push(key.clone());
            search_schema(property, definitions, path, found, depth + 1);
            path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &str, schema: &str, template: &str) -> std::sync::Arc<Chart> {
        let mut files = vec![
            ("Chart.yaml", "apiVersion: v2\nname: demo\nversion: 1.0.0\n"),
            ("values.yaml", values),
            ("templates/a.yaml", template),
        ];
        if !schema.is_empty() {
            files.push(("values.schema.json", schema));
        }
        let files = files
            .into_iter()
            .map(|(name, text)| chart::File {
                name: name.to_owned(),
                data: text.to_owned().into(),
            })
            .collect();
        chart::loader::load_files(files, &mut |_| ()).expect("a chart")
    }

    #[test]
    fn every_flag_choice_and_empty_entry_is_tried() {
        let chart = chart(
            "ingress:\n  enabled: false\nkeep: true\nextra: []\nunused: false\n",
            r#"{"properties": {"mode": {"enum": ["a", "b"]}, "ingress": {"properties": {"tls": {"type": "boolean"}}}}}"#,
            "{{ .Values.keep }}{{ .Values.extra }}{{ .Values.mode }}{{ .Values.ingress.tls }}",
        );
        let described: Vec<String> = variants(&chart, &Table::new(), 100)
            .into_iter()
            .map(|variant| variant.description)
            .collect();
        assert_eq!(
            described,
            [
                "ingress.enabled=true",
                "keep=false",
                "mode=a",
                "mode=b",
                "ingress.tls=true",
                "an entry in extra",
                "everything enabled",
                "every flag turned over",
                "everything enabled and an entry in every empty list and map",
            ]
        );
    }

    #[test]
    fn where_there_is_no_room_for_each_flag_they_are_tried_in_groups() {
        let lines = |form: &dyn Fn(usize) -> String| (0..50).map(form).collect::<Vec<_>>().concat();
        let values = lines(&|number| format!("flag{number}: false\n"));
        let template = lines(&|number| format!("{{{{ .Values.flag{number} }}}}"));
        let tried = variants(&chart(&values, "", &template), &Table::new(), 20);
        assert!(tried.len() <= 20);
        let mut flags: Vec<&String> = tried[..tried.len() - 3]
            .iter()
            .flat_map(|variant| variant.values.keys())
            .collect();
        flags.sort();
        flags.dedup();
        assert_eq!(flags.len(), 50);
    }
}
