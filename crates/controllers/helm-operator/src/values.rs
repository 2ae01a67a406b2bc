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
    Ok(values::coalesce(chart, &values, warn)?)
}
