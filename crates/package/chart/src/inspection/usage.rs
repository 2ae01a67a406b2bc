//! Values that templates use and `values.yaml` does not have, and the other way round.

use std::collections::BTreeMap;

use gotemplate::Mentioned;
use memchr::memmem;
use serde_json::Value;

use super::{Finding, Severity, TemplateFile};
use crate::chart::Chart;
use crate::values::{GLOBAL_KEY, Table};

/// The field below which templates find values.
const VALUES: &str = "Values";

/// The methods of `.Values`, which look like keys.
const METHODS: &[&str] = &["AsMap", "Table", "YAML", "PathValue", "Encode"];

/// Values that Helm itself looks at.
const HELMS_OWN: &[&str] = &[GLOBAL_KEY, "tags", "exports"];

/// Tells which values templates use although `values.yaml` does not show that they exist.
pub(super) fn undeclared(chart: &Chart, templates: &[TemplateFile<'_>]) -> Vec<Finding> {
    let nothing = Table::new();
    let declared = chart.values.as_deref().unwrap_or(&nothing);
    if chart.metadata.chart_type == "library" {
        return Vec::new();
    }
    let mut found: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for file in templates.iter().filter(|file| file.is_own) {
        for mention in file.parsed.templates().flat_map(gotemplate::Template::mentions) {
            let Mentioned::Fields(fields) = &mention.what else {
                continue;
            };
            let Some(path) = value_path(fields) else { continue };
            let belongs_elsewhere = path.first().is_none_or(|first| {
                HELMS_OWN.contains(&first.as_str())
                    || METHODS.contains(&first.as_str())
                    || is_subchart(chart, first)
            });
            if belongs_elsewhere {
                continue;
            }
            if let Some(missing) = first_missing(declared, path) {
                found
                    .entry(missing)
                    .or_insert_with(|| (file.name.to_owned(), mention.line));
            }
        }
    }
    found
        .into_iter()
        .map(|(path, (file, line))| Finding {
            severity: Severity::Info,
            message: format!("{file}:{line}: .Values.{path} is used, but values.yaml does not have it"),
        })
        .collect()
}

/// Tells which values of `values.yaml` nothing uses.
pub(super) fn unused(chart: &Chart, templates: &[TemplateFile<'_>]) -> Vec<Finding> {
    let Some(declared) = chart.values.as_deref() else {
        return Vec::new();
    };
    let mut used = Used::default();
    for file in templates {
        for mention in file.parsed.templates().flat_map(gotemplate::Template::mentions) {
            if let Mentioned::Fields(fields) = &mention.what
                && let Some(path) = value_path(fields)
            {
                let method = path
                    .first()
                    .is_some_and(|first| METHODS.contains(&first.as_str()));
                used.add(if method { &[] } else { path });
            }
        }
    }
    // Values and files may be templates, too.
    for data in chart
        .raw_values()
        .into_iter()
        .chain(chart.files.iter().map(|file| &file.data))
    {
        used.add_text(data);
    }
    for dependency in chart.metadata.dependencies.iter().flatten() {
        used.add(std::slice::from_ref(&dependency.name));
        used.add(std::slice::from_ref(&dependency.alias));
        for condition in dependency.condition.split(',') {
            used.add(&condition.trim().split('.').map(str::to_owned).collect::<Vec<_>>());
        }
    }
    for name in HELMS_OWN
        .iter()
        .copied()
        .chain(chart.dependencies.iter().map(|subchart| subchart.name()))
    {
        used.add(&[name.to_owned()]);
    }
    let mut found = Vec::new();
    used.collect_unused(declared, &mut Vec::new(), &mut found);
    found
        .into_iter()
        .map(|path| Finding {
            severity: Severity::Info,
            message: format!("values.yaml: {path} is not used by any template"),
        })
        .collect()
}

/// The keys after `Values`, wherever that stands: a context may be handed around under any name.
fn value_path(fields: &[String]) -> Option<&[String]> {
    let at = fields.iter().position(|field| field == VALUES)?;
    fields.get(at + 1..)
}

fn is_subchart(chart: &Chart, name: &str) -> bool {
    chart.dependencies.iter().any(|subchart| subchart.name() == name)
        || chart
            .metadata
            .dependencies
            .iter()
            .flatten()
            .any(|dependency| dependency.name == name || dependency.alias == name)
}

/// The path up to the first key that is not declared. Below an empty table, and below anything that is no table, users may
/// put what they like.
fn first_missing(declared: &Table, path: &[String]) -> Option<String> {
    let mut table = declared;
    for (at, key) in path.iter().enumerate() {
        match table.get(key) {
            None => return Some(path[..=at].join(".")),
            Some(Value::Object(inner)) if !inner.is_empty() => table = inner,
            Some(_) => return None,
        }
    }
    None
}

/// The values that something uses.
#[derive(Default)]
struct Used {
    /// Whether the value itself is used, and so everything in it.
    whole: bool,
    below: BTreeMap<String, Used>,
}

impl Used {
    fn add(&mut self, path: &[String]) {
        let node = path
            .iter()
            .fold(self, |node, key| node.below.entry(key.clone()).or_default());
        node.whole = true;
    }

    /// Adds what a text mentions that may be given to `tpl`.
    fn add_text(&mut self, text: &[u8]) {
        for found in memmem::find_iter(text, b".Values") {
            let rest = &text[found + b".Values".len()..];
            let is_path = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
            let end = rest.iter().take_while(is_path).count();
            let path = String::from_utf8_lossy(&rest[..end]);
            let keys: Vec<String> = path
                .split('.')
                .skip(1)
                .filter(|key| !key.is_empty())
                .map(str::to_owned)
                .collect();
            // A comment that speaks of all values uses none.
            if !keys.is_empty() {
                self.add(&keys);
            }
        }
    }

    fn collect_unused(&self, declared: &Table, path: &mut Vec<String>, found: &mut Vec<String>) {
        if self.whole {
            return;
        }
        for (key, value) in declared {
            path.push(key.clone());
            match (self.below.get(key), value) {
                (None, _) => found.push(path.join(".")),
                (Some(used), Value::Object(inner)) => used.collect_unused(inner, path, found),
                (Some(_), _) => {}
            }
            path.pop();
        }
    }
}
