//! From the spec of a custom resource to the values of its chart.

use chart::Chart;
use chart::values::{self, Table};
use chart::warning::WarningSink;
use serde_json::Value;

use crate::overrides::Overrides;

/// A spec that is no values.
#[derive(Debug, thiserror::Error)]
pub enum ValuesError {
    /// The resource has none.
    #[error("spec not found")]
    Missing,
    /// It isn't an object.
    #[error("spec must be a map")]
    NotAMap,
    /// A value that the operator sets doesn't fit the spec.
    #[error(transparent)]
    Override(#[from] crate::overrides::OverrideError),
    /// The values of the spec and the chart don't fit together.
    #[error(transparent)]
    Coalesce(#[from] values::CoalesceError),
}

/// Returns the values for a chart.
///
/// The values are joined with those of the chart before Helm joins them once more. So a null in the spec keeps the
/// chart's default: the first time the key is dropped, the second time the default returns. Resources rely on it.
pub fn of(
    spec: Option<&Value>,
    overrides: &Overrides,
    chart: &Chart,
    warn: WarningSink<'_>,
) -> Result<Table, ValuesError> {
    let mut values = match spec {
        None | Some(Value::Null) => return Err(ValuesError::Missing),
        Some(Value::Object(spec)) => spec.clone(),
        Some(_) => return Err(ValuesError::NotAMap),
    };
    overrides.apply(&mut values)?;
    let mut joined = values::coalesce(chart, &values, warn)?;
    let defaults = chart.values.as_deref();
    for (name, value) in &values {
        if let (Value::Object(given), Some(Value::Object(default)), Some(Value::Object(joined))) = (
            value,
            defaults.and_then(|defaults| defaults.get(name)),
            joined.get_mut(name),
        ) {
            keep_nulls(given, default, joined);
        }
    }
    Ok(joined)
}

/// Keeps nulls that are null in the chart too: the Helm that upstream's operator has in it drops a key only if that takes
/// a value away.
fn keep_nulls(given: &Table, default: &Table, joined: &mut Table) {
    for (name, value) in given {
        match (value, default.get(name), joined.get_mut(name)) {
            (Value::Null, Some(Value::Null), None) => {
                joined.insert(name.clone(), Value::Null);
            }
            (Value::Object(given), Some(Value::Object(default)), Some(Value::Object(joined))) => {
                keep_nulls(given, default, joined);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_null_is_kept_where_it_takes_nothing_away() {
        let table = |value: Value| value.as_object().cloned().unwrap_or_default();
        let given = table(json!({"a": null, "b": null, "c": null, "d": {"e": null, "f": null}, "g": 1}));
        let default = table(json!({"a": null, "b": 1, "d": {"e": null, "f": {}}}));
        let mut joined = table(json!({"d": {}, "g": 1}));
        keep_nulls(&given, &default, &mut joined);
        assert_eq!(
            Value::Object(joined),
            json!({"a": null, "d": {"e": null}, "g": 1})
        );
    }
}
