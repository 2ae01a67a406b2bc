//! One table out of a chart's defaults, its subcharts' defaults and the user's values.
//!
//! The user's value wins, then the parent's, then the subchart's. Tables are put together key by key, anything else is
//! replaced as a whole. *Coalescing* lets a `null` remove the default below it; *merging* keeps the `null`, for a later
//! coalescing to act on.

use std::sync::Arc;

use gotemplate::format::{quoted, sprintf, value_text};
use serde_json::Value;
use thiserror::Error;

use super::{GLOBAL_KEY, Table};
use crate::chart::Chart;
use crate::warning::{Warning, WarningSink};

/// What coalescing asks of a chart, loaded or in the middle of a render.
pub trait ChartValues: Copy {
    /// The name under which the parent configures it.
    fn name(&self) -> &str;
    /// Its default values.
    fn values(&self) -> Option<&Table>;
    /// Its subcharts, in order.
    fn subcharts(&self) -> Vec<Self>;
}

impl ChartValues for &Chart {
    fn name(&self) -> &str {
        Chart::name(self)
    }

    fn values(&self) -> Option<&Table> {
        self.values.as_deref()
    }

    fn subcharts(&self) -> Vec<Self> {
        self.dependencies.iter().map(Arc::as_ref).collect()
    }
}

/// Values that cannot be put together.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CoalesceError {
    /// A subchart is configured with something that is no table.
    #[error("type mismatch on {subchart}: {given}")]
    SubchartNotTable {
        /// The subchart.
        subchart: String,
        /// What is there instead, in Go's words.
        given: String,
    },
}

/// Whether `null` removes the default below it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    Remove,
    Keep,
}

/// Coalesces the user's values with those of a chart and its subcharts.
pub fn coalesce(
    chart: impl ChartValues,
    user: &Table,
    warn: WarningSink<'_>,
) -> Result<Table, CoalesceError> {
    let mut values = user.clone();
    Coalescing { warn }.chart(chart, &mut values, "", Nulls::Remove)?;
    share_down_globals(chart, &mut values);
    Ok(values)
}

/// Like [`coalesce`], but a `null` stays.
pub fn merge(chart: impl ChartValues, user: &Table, warn: WarningSink<'_>) -> Result<Table, CoalesceError> {
    let mut values = user.clone();
    Coalescing { warn }.chart(chart, &mut values, "", Nulls::Keep)?;
    share_down_globals(chart, &mut values);
    Ok(values)
}

/// Coalesces `source` into `target`, which wins.
pub fn coalesce_tables(target: &mut Table, source: &Table, warn: WarningSink<'_>) {
    Coalescing { warn }.tables(target, source, "", Nulls::Remove);
}

/// Like [`coalesce_tables`], but a `null` stays.
pub fn merge_tables(target: &mut Table, source: &Table, warn: WarningSink<'_>) {
    Coalescing { warn }.tables(target, source, "", Nulls::Keep);
}

fn join(prefix: &str, key: &str) -> String {
    if prefix.is_empty() {
        key.to_owned()
    } else {
        format!("{prefix}.{key}")
    }
}

struct Coalescing<'a> {
    warn: WarningSink<'a>,
}

impl Coalescing<'_> {
    fn warn(&mut self, place: &'static str, message: String) {
        (self.warn)(Warning::new(place, message));
    }

    fn chart(
        &mut self,
        chart: impl ChartValues,
        target: &mut Table,
        prefix: &str,
        nulls: Nulls,
    ) -> Result<(), CoalesceError> {
        self.own_values(chart, target, prefix, nulls);
        self.subcharts(chart, target, prefix, nulls)
    }

    /// Fills in the chart's own defaults.
    fn own_values(&mut self, chart: impl ChartValues, target: &mut Table, prefix: &str, nulls: Nulls) {
        let Some(defaults) = chart.values() else { return };
        let prefix = join(prefix, chart.name());
        let subcharts = chart.subcharts();
        for (key, default) in defaults {
            match target.get_mut(key) {
                None => {
                    target.insert(key.clone(), default.clone());
                }
                Some(Value::Null) if nulls == Nulls::Remove => {
                    target.remove(key);
                }
                Some(Value::Object(given)) => match default {
                    Value::Object(default) => {
                        // A subchart's null must survive until the subchart itself is coalesced.
                        let is_subchart = subcharts.iter().any(|subchart| subchart.name() == key);
                        let nulls = if is_subchart { Nulls::Keep } else { nulls };
                        self.tables(given, default, &join(&prefix, key), nulls);
                    }
                    Value::Null => {}
                    _ => self.warn(
                        "coalesce.go:237",
                        format!("warning: skipped value for {prefix}.{key}: Not a table."),
                    ),
                },
                Some(_) => {}
            }
        }
    }

    fn subcharts(
        &mut self,
        chart: impl ChartValues,
        target: &mut Table,
        prefix: &str,
        nulls: Nulls,
    ) -> Result<(), CoalesceError> {
        for subchart in chart.subcharts() {
            let name = subchart.name();
            let section = target.entry(name).or_insert_with(|| Value::Object(Table::new()));
            let Value::Object(section) = section else {
                return Err(CoalesceError::SubchartNotTable {
                    subchart: name.to_owned(),
                    given: printed_as_boolean(section),
                });
            };
            let mut section = std::mem::take(section);
            let prefix = join(prefix, chart.name());
            self.globals(&mut section, target.get(GLOBAL_KEY), &prefix);
            let outcome = self.chart(subchart, &mut section, &prefix, nulls);
            share_back_globals(&section, target);
            target.insert(name.to_owned(), Value::Object(section));
            outcome?;
        }
        Ok(())
    }

    /// Puts the parent's globals over those in a subchart's section.
    fn globals(&mut self, section: &mut Table, parent: Option<&Value>, prefix: &str) {
        match section.get(GLOBAL_KEY) {
            None | Some(Value::Object(_)) => {}
            Some(_) => {
                return self.warn(
                    "coalesce.go:138",
                    format!("warning: skipping globals because destination {GLOBAL_KEY} is not a table."),
                );
            }
        }
        let empty = Table::new();
        let parent = match parent {
            None => &empty,
            Some(Value::Object(parent)) => parent,
            Some(_) => {
                return self.warn(
                    "coalesce.go:145",
                    format!("warning: skipping globals because source {GLOBAL_KEY} is not a table."),
                );
            }
        };
        let Value::Object(globals) = section
            .entry(GLOBAL_KEY)
            .or_insert_with(|| Value::Object(Table::new()))
        else {
            return;
        };
        for (key, value) in parent {
            match (value, globals.get_mut(key)) {
                (Value::Object(parent), Some(Value::Object(own))) => {
                    let own = std::mem::replace(own, parent.clone());
                    if let Some(Value::Object(merged)) = globals.get_mut(key) {
                        self.tables(merged, &own, &join(prefix, key), Nulls::Keep);
                    }
                }
                (Value::Object(_), Some(_)) => self.warn(
                    "coalesce.go:161",
                    format!(
                        "Conflict: cannot merge map onto non-map for {}. Skipping.",
                        quoted(key)
                    ),
                ),
                (_, Some(Value::Object(_))) => {
                    self.warn("coalesce.go:175", format!("key {key} is table. Skipping"));
                }
                (_, _) => {
                    globals.insert(key.clone(), value.clone());
                }
            }
        }
    }

    fn tables(&mut self, target: &mut Table, source: &Table, prefix: &str, nulls: Nulls) {
        for (key, value) in source {
            match (target.get_mut(key), value) {
                (None, _) => {
                    target.insert(key.clone(), value.clone());
                }
                (Some(Value::Null), _) if nulls == Nulls::Remove => {
                    target.remove(key);
                }
                (Some(Value::Object(inner)), Value::Object(value)) => {
                    self.tables(inner, value, &join(prefix, key), nulls);
                }
                (Some(_), Value::Object(_)) => self.warn(
                    "coalesce.go:298",
                    format!(
                        "warning: cannot overwrite table with non table for {} ({})",
                        join(prefix, key),
                        value_text(&value.into())
                    ),
                ),
                (Some(Value::Object(_)), value) if !value.is_null() => self.warn(
                    "coalesce.go:301",
                    format!(
                        "warning: destination for {} is a table. Ignoring non-table value ({})",
                        join(prefix, key),
                        value_text(&value.into())
                    ),
                ),
                _ => {}
            }
        }
    }
}

/// Gives what a subchart added to tables inside the global tables back to its parent.
///
/// Helm copies each global table into the subchart, but not the tables inside it: those are one and the same for all
/// charts of a tree, so one subchart's own globals show up in its parent and in all other subcharts. Charts can see it.
fn share_back_globals(section: &Table, target: &mut Table) {
    if let (Some(Value::Object(own)), Some(Value::Object(parent))) =
        (section.get(GLOBAL_KEY), target.get_mut(GLOBAL_KEY))
    {
        share_inner_tables(own, parent);
    }
}

/// Gives the final tables inside the global tables to all subcharts, those that were done early as well.
fn share_down_globals(chart: impl ChartValues, values: &mut Table) {
    let globals = values.remove(GLOBAL_KEY);
    for subchart in chart.subcharts() {
        let Some(Value::Object(section)) = values.get_mut(subchart.name()) else {
            continue;
        };
        if let (Some(Value::Object(globals)), Some(Value::Object(own))) =
            (&globals, section.get_mut(GLOBAL_KEY))
        {
            share_inner_tables(globals, own);
        }
        share_down_globals(subchart, section);
    }
    if let Some(globals) = globals {
        values.insert(GLOBAL_KEY.to_owned(), globals);
    }
}

/// Makes the tables that are two levels down in both the same as in the first.
fn share_inner_tables(from: &Table, to: &mut Table) {
    for (key, value) in to {
        let (Value::Object(value), Some(Value::Object(from))) = (value, from.get(key)) else {
            continue;
        };
        for (key, shared) in value {
            if let (true, Some(from @ Value::Object(_))) = (shared.is_object(), from.get(key))
                && shared != from
            {
                shared.clone_from(from);
            }
        }
    }
}

/// Prints a value with `%t`, as Helm does whatever the value is; Go marks what is no boolean.
fn printed_as_boolean(value: &Value) -> String {
    String::from_utf8_lossy(&sprintf(b"%t", &[value.into()])).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_that_is_no_boolean_is_marked() {
        for (value, expected) in [
            (json!(["a", 1.0]), "[%!t(string=a) %!t(float64=1)]"),
            (
                json!({"a": 1.5, "b": null}),
                "map[%!t(string=a):%!t(float64=1.5) %!t(string=b):<nil>]",
            ),
            (Value::Null, "%!t(<nil>)"),
        ] {
            assert_eq!(printed_as_boolean(&value), expected);
        }
    }
}
