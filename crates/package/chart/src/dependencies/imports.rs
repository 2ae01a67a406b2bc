//! `import-values`: tables of a subchart that become defaults of its parent.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use gotemplate::format::value_text;
use serde_json::{Value, json};

use super::DependencyError;
use super::plan::{NodeView, Plan};
use crate::values::{LookupError, Table, merge};
use crate::warning::{Warning, WarningSink};

/// How many values imports may lead to. Imports can multiply each other, because an imported table is shared; real
/// charts stay below a thousand.
const MAX_IMPORTED: usize = 100_000;

/// How deep imports may nest tables, for the same reason; values files nest less.
const MAX_DEPTH: usize = 512;

/// A table that several places hold at once, as Go's maps do.
///
/// An imported table is still the subchart's own while further imports are merged into it, so the subchart sees them.
#[derive(Clone)]
struct SharedTable(Rc<RefCell<BTreeMap<String, Shared>>>);

#[derive(Clone)]
enum Shared {
    Table(SharedTable),
    Leaf(Value),
}

impl SharedTable {
    fn new() -> Self {
        Self(Rc::new(RefCell::new(BTreeMap::new())))
    }

    fn from_table(table: Table) -> Self {
        let entries = table.into_iter().map(|(key, value)| {
            let shared = match value {
                Value::Object(inner) => Shared::Table(Self::from_table(inner)),
                leaf => Shared::Leaf(leaf),
            };
            (key, shared)
        });
        Self(Rc::new(RefCell::new(entries.collect())))
    }

    /// Checks that putting this table into `holder` makes neither a circle nor something huge.
    fn fits_into(&self, holder: &Self, depth: usize, budget: &mut usize) -> bool {
        if depth > MAX_DEPTH || Rc::ptr_eq(&self.0, &holder.0) {
            return false;
        }
        self.0.borrow().values().all(|value| {
            *budget = budget.saturating_sub(1);
            *budget > 0
                && match value {
                    Shared::Table(inner) => inner.fits_into(holder, depth + 1, budget),
                    Shared::Leaf(_) => true,
                }
        })
    }

    fn to_table(&self) -> Table {
        self.0
            .borrow()
            .iter()
            .map(|(key, value)| (key.clone(), value.to_value()))
            .collect()
    }

    /// Finds the table at a dotted path.
    fn find(&self, path: &str) -> Result<Self, LookupError> {
        path.split('.')
            .try_fold(self.clone(), |table, key| match table.0.borrow().get(key) {
                Some(Shared::Table(inner)) => Ok(inner.clone()),
                _ => Err(LookupError::NoTable(key.to_owned())),
            })
    }

    /// The table itself, or a new one if it is empty: Helm shares only tables that have something in them.
    fn or_fresh_if_empty(self) -> Self {
        if self.0.borrow().is_empty() {
            Self::new()
        } else {
            self
        }
    }

    /// Wraps the table so that it stands at a dotted path; `.` is the root.
    fn at(self, path: &str) -> Self {
        if path == "." {
            return self;
        }
        path.rsplit('.').fold(self, |inner, key| {
            Self(Rc::new(RefCell::new(BTreeMap::from([(
                key.to_owned(),
                Shared::Table(inner),
            )]))))
        })
    }

    /// Merges `source` into this table, which wins; tables that are only in the source are shared from then on.
    fn merge(&self, source: &Self, prefix: &str, warn: WarningSink<'_>) -> Result<(), DependencyError> {
        if Rc::ptr_eq(&self.0, &source.0) {
            return Ok(());
        }
        let entries: Vec<(String, Shared)> = source
            .0
            .borrow()
            .iter()
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        for (key, value) in entries {
            let given = self.0.borrow().get(&key).cloned();
            let full_key = || {
                if prefix.is_empty() {
                    key.clone()
                } else {
                    format!("{prefix}.{key}")
                }
            };
            match (given, &value) {
                (None, _) => {
                    if let Shared::Table(table) = &value {
                        let depth = prefix.split('.').count();
                        if !table.fits_into(self, depth, &mut { MAX_IMPORTED }) {
                            return Err(DependencyError::CircularImport { path: full_key() });
                        }
                    }
                    self.0.borrow_mut().insert(key, value);
                }
                (Some(Shared::Table(given)), Shared::Table(value)) => {
                    given.merge(value, &full_key(), warn)?;
                }
                (Some(Shared::Leaf(_)), Shared::Table(_)) => warn(Warning::new(
                    "coalesce.go:298",
                    format!(
                        "warning: cannot overwrite table with non table for {} ({})",
                        full_key(),
                        value_text(&value.to_value().into())
                    ),
                )),
                (Some(Shared::Table(_)), Shared::Leaf(leaf)) if !leaf.is_null() => warn(Warning::new(
                    "coalesce.go:301",
                    format!(
                        "warning: destination for {} is a table. Ignoring non-table value ({})",
                        full_key(),
                        value_text(&leaf.into())
                    ),
                )),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Shared {
    fn to_value(&self) -> Value {
        match self {
            Self::Table(table) => Value::Object(table.to_table()),
            Self::Leaf(leaf) => leaf.clone(),
        }
    }
}

impl Plan {
    /// Imports values into a chart, after its subcharts have imported theirs.
    pub(super) fn import(&mut self, id: usize, warn: WarningSink<'_>) -> Result<(), DependencyError> {
        for child in self.nodes[id].children.clone() {
            self.import(child, warn)?;
        }
        let Some(declared) = self.nodes[id].declared.clone() else {
            return Ok(());
        };
        let values = merge(NodeView { plan: self, id }, &Table::new(), warn)?;
        let has_imports = |declaration: &usize| {
            !self.declarations[*declaration]
                .dependency
                .import_values
                .is_empty()
        };
        let values = if declared.iter().any(has_imports) {
            let values = SharedTable::from_table(values);
            let imported = SharedTable::new();
            for declaration in declared {
                self.import_declared(declaration, &values, &imported, warn)?;
            }
            let target = SharedTable::from_table(values.to_table());
            target.merge(&imported, "", warn)?;
            target.to_table()
        } else {
            values
        };
        self.nodes[id].values = Some(Arc::new(values));
        Ok(())
    }

    fn import_declared(
        &mut self,
        declaration: usize,
        values: &SharedTable,
        imported: &SharedTable,
        warn: WarningSink<'_>,
    ) -> Result<(), DependencyError> {
        let declaration = &mut self.declarations[declaration];
        let name = declaration.dependency.name.clone();
        let already_resolved = std::mem::replace(&mut declaration.imports_resolved, true);
        let entries = std::mem::take(&mut declaration.dependency.import_values);
        if already_resolved {
            return Ok(());
        }
        for entry in entries {
            let (child, parent) = match &entry {
                Value::Object(pair) => {
                    let path = |key: &str| pair.get(key).and_then(Value::as_str).map(str::to_owned);
                    path("child")
                        .zip(path("parent"))
                        .ok_or_else(|| DependencyError::IncompleteImport {
                            dependency: name.clone(),
                        })?
                }
                Value::String(export) => (format!("exports.{export}"), ".".to_owned()),
                _ => continue,
            };
            declaration
                .dependency
                .import_values
                .push(json!({"child": child, "parent": parent}));
            match values.find(&format!("{name}.{child}")) {
                Ok(_) if parent.split('.').count() > MAX_DEPTH => {
                    return Err(DependencyError::CircularImport { path: parent });
                }
                Ok(table) => imported.merge(&table.or_fresh_if_empty().at(&parent), "", warn)?,
                Err(error) if entry.is_string() => warn(Warning::new(
                    "dependencies.go:286",
                    format!("Warning: ImportValues missing table: {error}"),
                )),
                Err(error) => warn(Warning::new(
                    "dependencies.go:269",
                    format!("Warning: ImportValues missing table from chart {name}: {error}"),
                )),
            }
        }
        Ok(())
    }
}
