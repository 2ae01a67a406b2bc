//! The tables of a TOML text while it is read, and the rules for what may be defined where.

use std::collections::{BTreeMap, HashMap, HashSet};

use gotemplate::{List, Map, Text, Type, Value};

use super::key::dotted;

type Table = BTreeMap<Text, Node>;

enum Node {
    Value(Value),
    Table(Table),
    /// `[[…]]`
    Tables(Vec<Table>),
}

/// The tables, the one that is being filled, and what is known about keys.
#[derive(Default)]
pub(super) struct Document {
    root: Table,
    /// The key of the table that is being filled.
    pub(super) context: Vec<Text>,
    /// The key in that table whose value is being read.
    pub(super) current: Text,
    /// Which keys hold arrays; the last word about a key counts.
    arrays: HashMap<String, bool>,
    /// Tables that exist only because a longer key named them.
    implicit: HashSet<String>,
}

impl Document {
    /// Returns the last key, as errors mention it.
    pub(super) fn last_key(&self) -> String {
        let current = self.current.to_str();
        match (self.current.is_empty(), self.context.is_empty()) {
            (true, _) => dotted(&self.context),
            (false, true) => current.into_owned(),
            (false, false) => format!("{}.{current}", dotted(&self.context)),
        }
    }

    pub(super) fn add_implicit(&mut self, key: &[Text]) {
        self.implicit.insert(dotted(key));
    }

    /// Goes into a table that a dotted key names.
    pub(super) fn enter_implicit(&mut self, part: &Text) -> Result<(), String> {
        let mut key = self.context.clone();
        key.push(part.clone());
        self.add_implicit(&key);
        self.enter(&key, false)
    }

    /// Makes the table at `key` the one that is filled; a new one of an array where `in_array`.
    pub(super) fn enter(&mut self, key: &[Text], in_array: bool) -> Result<(), String> {
        let Some((last, parents)) = key.split_last() else {
            return Ok(());
        };
        let mut table = &mut self.root;
        for (depth, part) in parents.iter().enumerate() {
            let so_far = parents.get(..=depth).unwrap_or(parents);
            if !table.contains_key(part) {
                self.implicit.insert(dotted(so_far));
            }
            table = match table
                .entry(part.clone())
                .or_insert_with(|| Node::Table(Table::new()))
            {
                Node::Table(table) => table,
                Node::Tables(tables) if !tables.is_empty() => {
                    let last = tables.len() - 1;
                    &mut tables[last]
                }
                _ => return Err(format!("Key '{}' was already created as a hash.", dotted(so_far))),
            };
        }
        if in_array {
            let node = table
                .entry(last.clone())
                .or_insert_with(|| Node::Tables(Vec::new()));
            self.context = parents.to_vec();
            let Node::Tables(tables) = node else {
                let key = dotted(key);
                return Err(format!(
                    "Key '{key}' was already created and cannot be used as an array."
                ));
            };
            tables.push(Table::new());
        } else {
            self.context = parents.to_vec();
            self.put(last, Node::Table(Table::new()))?;
        }
        self.context.push(last.clone());
        Ok(())
    }

    /// Puts a value into the table that is being filled.
    pub(super) fn set(&mut self, key: &Text, value: Value) -> Result<(), String> {
        self.put(key, value_node(value))
    }

    fn put(&mut self, key: &Text, node: Node) -> Result<(), String> {
        let mut table = &mut self.root;
        for (depth, part) in self.context.iter().enumerate() {
            table = match table.get_mut(part) {
                Some(Node::Table(table)) => table,
                Some(Node::Tables(tables)) if !tables.is_empty() => {
                    let last = tables.len() - 1;
                    &mut tables[last]
                }
                _ => {
                    let so_far = self.context.get(..=depth).unwrap_or(&self.context);
                    return Err(format!("Key '{}' has already been defined.", dotted(so_far)));
                }
            };
        }
        if !table.contains_key(key) {
            table.insert(key.clone(), node);
            return Ok(());
        }
        let mut whole = self.context.clone();
        whole.push(key.clone());
        let whole = dotted(&whole);
        if self.arrays.get(&whole) == Some(&true) {
            self.implicit.remove(&whole);
            table.insert(key.clone(), node);
            return Ok(());
        }
        // A table that was only implied may be defined once; it keeps what it has.
        if self.implicit.remove(&whole) {
            return Ok(());
        }
        Err(format!("Key '{whole}' has already been defined."))
    }

    /// Notes whether the present key, or the present table, holds an array.
    pub(super) fn set_array(&mut self, key: &Text, is_array: bool) {
        let mut whole = self.context.clone();
        if !key.is_empty() {
            whole.push(key.clone());
        }
        if whole.is_empty() {
            whole.push(Text::default());
        }
        self.arrays.insert(dotted(&whole), is_array);
    }

    /// Returns everything that was read.
    pub(super) fn into_value(self) -> Value {
        table_value(self.root)
    }
}

/// Returns a value as a node; an inline table may be added to like any other.
fn value_node(value: Value) -> Node {
    match value {
        Value::Map(map) => Node::Table(
            map.entries()
                .into_iter()
                .map(|(key, value)| (key, value_node(value)))
                .collect(),
        ),
        value => Node::Value(value),
    }
}

fn table_value(table: Table) -> Value {
    Value::Map(
        table
            .into_iter()
            .map(|(key, node)| (key, node_value(node)))
            .collect::<Map>(),
    )
}

fn node_value(node: Node) -> Value {
    match node {
        Node::Value(value) => value,
        Node::Table(table) => table_value(table),
        Node::Tables(tables) => {
            Value::List(List::of(Type::Map, tables.into_iter().map(table_value).collect()))
        }
    }
}
