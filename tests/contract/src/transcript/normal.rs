//! Answers in a form that is the same in every run: what is new each time becomes a placeholder.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

static TIME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000 UTC|[+-]\d\d:\d\d)"));
static UID: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static REVISION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"((?i:resource ?version)[a-zA-Z ]*(?:: | \(|\\*":\\*"))(\d+)"#));
static TOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"eyJ[\w-]+\.[\w-]+\.[\w-]+"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern of this module")
}

/// Addresses and ports that a server picks.
const PICKED: [&str; 6] = [
    "clusterIP",
    "clusterIPs",
    "nodePort",
    "podIP",
    "hostIP",
    "healthCheckNodePort",
];

/// The placeholders given out so far in one case.
#[derive(Debug, Default)]
pub(super) struct Names {
    id: String,
    known: Vec<(&'static str, Vec<String>)>,
    keep_managed_fields: bool,
    /// Which columns of the last table are ages: later events of a watch don't repeat the columns.
    ages: Vec<usize>,
}

impl Names {
    pub(super) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            ..Self::default()
        }
    }

    /// Replaces `{id}`, `{rv1}` and so on in a request.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut text = text.replace("{id}", &self.id);
        for (kind, values) in &self.known {
            for (index, value) in values.iter().enumerate() {
                text = text.replace(&format!("{{{kind}{}}}", index + 1), value);
            }
        }
        text
    }

    fn placeholder(&mut self, kind: &'static str, value: &str) -> String {
        let position = self
            .known
            .iter()
            .position(|(known, _)| *known == kind)
            .unwrap_or_else(|| {
                self.known.push((kind, Vec::new()));
                self.known.len() - 1
            });
        let values = &mut self.known[position].1;
        let number = values.iter().position(|known| known == value).unwrap_or_else(|| {
            values.push(value.to_owned());
            values.len() - 1
        });
        format!("<{kind}{}>", number + 1)
    }

    /// Brings a whole answer into its normal form.
    pub(super) fn normalise(&mut self, value: &mut Value, keep_managed_fields: bool) {
        self.keep_managed_fields = keep_managed_fields;
        self.walk(value, false);
    }

    fn walk(&mut self, value: &mut Value, in_list: bool) {
        match value {
            Value::Object(map) => self.walk_object(map, in_list),
            Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item, false)),
            Value::String(text) => *text = self.text(text),
            _ => {}
        }
    }

    fn walk_object(&mut self, map: &mut Map<String, Value>, in_list: bool) {
        if !self.keep_managed_fields {
            map.remove("managedFields");
        } else if let Some(Value::Array(entries)) = map.get_mut("managedFields") {
            // Servers sort them by time first, and two writes may or may not happen in the same second.
            let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            entries.sort_by_key(|entry| {
                (
                    text(entry, "manager"),
                    text(entry, "operation"),
                    text(entry, "subresource"),
                )
            });
        }
        self.blank_ages(map);
        if let (Some(Value::String(prefix)), Some(Value::String(name))) =
            (map.get("generateName"), map.get("name"))
            && name.len() == prefix.len() + 5
            && name.starts_with(prefix.as_str())
        {
            let name = name.clone();
            let placeholder = self.placeholder("name", &name);
            map.insert("name".to_owned(), Value::String(placeholder));
        }
        let is_bookmark = map.get("type").is_some_and(|kind| kind == "BOOKMARK");
        let holds_items = map.contains_key("items") || map.contains_key("rows");
        for (key, value) in map.iter_mut() {
            match (key.as_str(), &mut *value) {
                ("resourceVersion", Value::String(revision)) if !matches!(revision.as_str(), "" | "0") => {
                    *revision = if in_list {
                        "<revision>".to_owned()
                    } else if revision.bytes().all(|byte| byte.is_ascii_digit()) {
                        self.placeholder("rv", revision)
                    } else {
                        continue;
                    };
                }
                // It is made of names that the case picked.
                ("storageVersionHash", Value::String(hash)) => "<hash>".clone_into(hash),
                ("continue", Value::String(token)) if !token.is_empty() => {
                    *token = self.placeholder("continue", token);
                }
                (field, value) if PICKED.contains(&field) => blank_picked(field, value),
                ("metadata", value) => self.walk(value, holds_items),
                ("object", Value::Object(object)) if is_bookmark => {
                    if let Some(metadata) = object.get_mut("metadata") {
                        self.walk(metadata, true);
                    }
                }
                (_, value) => self.walk(value, false),
            }
        }
    }

    /// An age is how long the run took so far.
    fn blank_ages(&mut self, table: &mut Map<String, Value>) {
        if let Some(Value::Array(columns)) = table.get("columnDefinitions") {
            let is_age = |column: &Value| column["type"] == "date" || column["name"] == "Age";
            self.ages = columns
                .iter()
                .enumerate()
                .filter(|(_, column)| is_age(column))
                .map(|(index, _)| index)
                .collect();
        }
        let Some(Value::Array(rows)) = table.get_mut("rows") else {
            return;
        };
        for row in rows {
            for index in &self.ages {
                if let Some(cell) = row.pointer_mut(&format!("/cells/{index}"))
                    && cell.as_str().is_some_and(|age| !age.starts_with('<'))
                {
                    *cell = Value::from("<age>");
                }
            }
        }
    }

    fn text(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (kind, values) in &self.known {
            if *kind == "name" {
                for (index, name) in values.iter().enumerate() {
                    text = text.replace(name, &format!("<name{}>", index + 1));
                }
            }
        }
        let text = text.replace(&self.id, "{id}");
        let text = TIME.replace_all(&text, "<time>").into_owned();
        let text = UID
            .replace_all(&text, |found: &Captures<'_>| self.placeholder("uid", &found[0]))
            .into_owned();
        let text = TOKEN
            .replace_all(&text, |found: &Captures<'_>| self.placeholder("token", &found[0]))
            .into_owned();
        REVISION
            .replace_all(&text, |found: &Captures<'_>| {
                format!("{}{}", &found[1], self.placeholder("rv", &found[2]))
            })
            .into_owned()
    }
}

fn blank_picked(field: &str, value: &mut Value) {
    match value {
        Value::String(text) if !text.is_empty() && text != "None" => *text = format!("<{field}>"),
        Value::Number(number) if number.as_u64() != Some(0) => *value = Value::from(format!("<{field}>")),
        Value::Array(items) => items.iter_mut().for_each(|item| blank_picked(field, item)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::Names;
    use serde_json::json;

    #[test]
    fn what_is_new_in_each_run_becomes_a_placeholder() {
        let mut names = Names::new("c1");
        let mut value = json!({"metadata": {"name": "a", "namespace": "c1", "resourceVersion": "17",
            "uid": "01234567-89ab-cdef-0123-456789abcdef", "creationTimestamp": "2026-01-02T03:04:05Z",
            "managedFields": []}, "message": "resourceVersion: 17 of 01234567-89ab-cdef-0123-456789abcdef"});
        names.normalise(&mut value, false);
        assert_eq!(
            value,
            json!({"metadata": {"name": "a", "namespace": "{id}", "resourceVersion": "<rv1>", "uid": "<uid1>",
                "creationTimestamp": "<time>"}, "message": "resourceVersion: <rv1> of <uid1>"})
        );
        assert_eq!(names.fill("/x/{id}?rv={rv1}"), "/x/c1?rv=17");
    }

    #[test]
    fn the_revision_of_a_list_is_nobody_s_business() {
        let mut names = Names::new("c1");
        let mut value =
            json!({"items": [{"metadata": {"resourceVersion": "5"}}], "metadata": {"resourceVersion": "9"}});
        names.normalise(&mut value, false);
        assert_eq!(
            value,
            json!({"items": [{"metadata": {"resourceVersion": "<rv1>"}}], "metadata": {"resourceVersion": "<revision>"}})
        );
    }
}
