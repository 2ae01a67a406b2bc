//! Where each value came from: the chart, a file, or a flag.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::dependencies::ActiveChart;
use crate::values::Table;

/// Something that sets values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The defaults of a chart; the text is its path, such as `parent/charts/child`.
    Chart(String),
    /// A file given with `-f`.
    File(String),
    /// A flag with its expression, such as `--set` and `a.b=1`.
    Flag {
        /// The flag.
        flag: &'static str,
        /// What it was given.
        expression: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chart(path) => write!(formatter, "values.yaml of {path}"),
            Self::File(name) => write!(formatter, "-f {name}"),
            Self::Flag { flag, expression } => write!(formatter, "{flag} {expression}"),
        }
    }
}

/// The origin of every value, recorded layer by layer from the weakest to the strongest.
#[derive(Clone, Debug, Default)]
pub struct Provenance {
    origins: Vec<Origin>,
    root: Node,
}

/// A place in the values: who set it as a whole, and who set what is below it since.
#[derive(Clone, Debug, Default)]
struct Node {
    origin: Option<usize>,
    below: BTreeMap<String, Node>,
}

impl Provenance {
    /// Records a table as a layer over what is there: tables are merged, anything else is replaced.
    pub fn record_table(&mut self, table: &Table, origin: Origin) {
        let origin = self.add(origin);
        self.root.record(table, origin);
    }

    /// Records a table as a layer below a path, such as the defaults of a subchart below its name.
    pub fn record_table_at(&mut self, path: &[&str], table: &Table, origin: Origin) {
        let origin = self.add(origin);
        let node = path.iter().fold(&mut self.root, |node, key| {
            node.below.entry((*key).to_owned()).or_default()
        });
        node.record(table, origin);
    }

    /// Records single paths, such as `a.b[0]`, as set by one origin.
    pub fn record_paths<'a>(&mut self, paths: impl IntoIterator<Item = &'a str>, origin: Origin) {
        let origin = self.add(origin);
        for path in paths {
            let node = segments(path).fold(&mut self.root, |node, key| {
                node.below.entry(key.to_owned()).or_default()
            });
            *node = Node {
                origin: Some(origin),
                below: BTreeMap::new(),
            };
        }
    }

    fn add(&mut self, origin: Origin) -> usize {
        self.origins.push(origin);
        self.origins.len() - 1
    }

    /// Records the defaults of a chart and its subcharts; those of a parent win over those of its subcharts.
    pub fn record_chart(&mut self, chart: &ActiveChart) {
        self.record_chart_at(chart, &mut Vec::new());
    }

    fn record_chart_at<'chart>(&mut self, chart: &'chart ActiveChart, path: &mut Vec<&'chart str>) {
        for subchart in &chart.dependencies {
            path.push(subchart.name());
            self.record_chart_at(subchart, path);
            path.pop();
        }
        // What is not in the chart's own file was imported from a subchart.
        if let Some(values) = &chart.values {
            let origin = Origin::Chart(format!("{} (import-values)", chart.full_path));
            self.record_table_at(path, values, origin);
        }
        if let Some(values) = &chart.chart.values {
            self.record_table_at(path, values, Origin::Chart(chart.full_path.clone()));
        }
    }

    /// Who set the value at a path, such as `a.b[0]`: the latest that set it or something that contains it.
    pub fn origin(&self, path: &str) -> Option<&Origin> {
        self.find(segments(path))
    }

    /// Who set the value that these keys lead to, such as `a`, `b.c`, `[0]`.
    pub fn origin_of(&self, keys: &[&str]) -> Option<&Origin> {
        self.find(keys.iter().copied())
    }

    /// Everyone who set the value that these keys lead to, or something inside it, from the weakest to the strongest.
    pub fn origins_in(&self, keys: &[&str]) -> Vec<&Origin> {
        let mut node = &self.root;
        let mut around = node.origin;
        for key in keys {
            let Some(next) = node.below.get(*key) else {
                return around
                    .and_then(|origin| self.origins.get(origin))
                    .into_iter()
                    .collect();
            };
            node = next;
            around = node.origin.or(around);
        }
        let mut found: BTreeSet<usize> = around.into_iter().collect();
        node.collect_origins(&mut found);
        let mut origins: Vec<&Origin> = Vec::with_capacity(found.len());
        for origin in found.into_iter().filter_map(|origin| self.origins.get(origin)) {
            if !origins.contains(&origin) {
                origins.push(origin);
            }
        }
        origins
    }

    fn find<'key>(&self, keys: impl Iterator<Item = &'key str>) -> Option<&Origin> {
        let mut node = &self.root;
        let mut found = node.origin;
        for key in keys {
            let Some(next) = node.below.get(key) else { break };
            node = next;
            found = node.origin.or(found);
        }
        found.and_then(|origin| self.origins.get(origin))
    }

    /// Every value of a table with its path and origin, in order of path.
    pub fn explain<'a>(&'a self, values: &'a Table) -> Vec<(String, &'a Value, Option<&'a Origin>)> {
        let mut leaves = Vec::new();
        collect_leaves(values, "", &mut leaves);
        leaves
            .into_iter()
            .map(|(path, value)| {
                let origin = self.origin(&path);
                (path, value, origin)
            })
            .collect()
    }
}

impl Node {
    fn collect_origins(&self, found: &mut BTreeSet<usize>) {
        found.extend(self.origin);
        for node in self.below.values() {
            node.collect_origins(found);
        }
    }

    fn record(&mut self, table: &Table, origin: usize) {
        for (key, value) in table {
            let node = self.below.entry(key.clone()).or_default();
            match value {
                Value::Object(inner) if !inner.is_empty() => node.record(inner, origin),
                // An empty table over a table changes nothing.
                Value::Object(_) if !node.below.is_empty() => {}
                _ => {
                    *node = Node {
                        origin: Some(origin),
                        below: BTreeMap::new(),
                    }
                }
            }
        }
    }
}

/// Splits `a.b[0].c` into `a`, `b`, `[0]`, `c`.
fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').flat_map(|part| {
        let mut rest = part;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let end = rest
                .char_indices()
                .skip(1)
                .find(|(_, character)| *character == '[');
            let (segment, tail) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
            rest = tail;
            Some(segment)
        })
    })
}

fn collect_leaves<'a>(table: &'a Table, prefix: &str, leaves: &mut Vec<(String, &'a Value)>) {
    for (key, value) in table {
        let path = if prefix.is_empty() {
            key.clone()
        } else {
            format!("{prefix}.{key}")
        };
        match value {
            Value::Object(inner) if !inner.is_empty() => collect_leaves(inner, &path, leaves),
            _ => leaves.push((path, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table(value: Value) -> Table {
        match value {
            Value::Object(table) => table,
            _ => Table::new(),
        }
    }

    #[test]
    fn the_last_layer_that_set_a_value_is_its_origin() {
        let mut provenance = Provenance::default();
        provenance.record_table(
            &table(json!({"a": {"b": 1, "c": 2}, "l": [1, 2]})),
            Origin::Chart("demo".to_owned()),
        );
        provenance.record_table(
            &table(json!({"a": {"b": 3}})),
            Origin::File("prod.yaml".to_owned()),
        );
        let flag = Origin::Flag {
            flag: "--set",
            expression: "l[1].x=5".to_owned(),
        };
        provenance.record_paths(["l[1].x"], flag.clone());
        assert_eq!(
            provenance.origin("a.b").map(ToString::to_string).as_deref(),
            Some("-f prod.yaml")
        );
        assert_eq!(
            provenance.origin("a.c").map(ToString::to_string).as_deref(),
            Some("values.yaml of demo")
        );
        assert_eq!(provenance.origin("l[0]"), Some(&Origin::Chart("demo".to_owned())));
        assert_eq!(provenance.origin("l[1].x"), Some(&flag));
        assert_eq!(provenance.origin("none"), None);
        let all = |keys: &[&str]| {
            provenance
                .origins_in(keys)
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
        };
        assert_eq!(all(&["a"]), ["values.yaml of demo", "-f prod.yaml"]);
        assert_eq!(all(&["l"]), ["values.yaml of demo", "--set l[1].x=5"]);
        assert_eq!(all(&["a", "b"]), ["-f prod.yaml"]);
        assert_eq!(all(&["none"]), [""; 0]);
    }

    #[test]
    fn an_empty_table_over_a_table_sets_nothing() {
        let mut provenance = Provenance::default();
        provenance.record_table(&table(json!({"a": {"b.c": 1}})), Origin::Chart("demo".to_owned()));
        provenance.record_table(&table(json!({"a": {}, "e": {}})), Origin::File("f".to_owned()));
        assert_eq!(
            provenance.origin_of(&["a", "b.c"]),
            Some(&Origin::Chart("demo".to_owned()))
        );
        assert_eq!(provenance.origin("e"), Some(&Origin::File("f".to_owned())));
    }

    #[test]
    fn a_scalar_over_a_table_hides_what_was_below() {
        let mut provenance = Provenance::default();
        provenance.record_table(&table(json!({"a": {"b": 1}})), Origin::Chart("demo".to_owned()));
        provenance.record_table(&table(json!({"a": 7})), Origin::File("f".to_owned()));
        provenance.record_table(&table(json!({"a": {"z": 1}})), Origin::File("g".to_owned()));
        assert_eq!(provenance.origin("a.b"), Some(&Origin::File("f".to_owned())));
        assert_eq!(provenance.origin("a.z"), Some(&Origin::File("g".to_owned())));
    }
}
