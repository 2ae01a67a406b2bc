//! Values: the tables that charts are configured with, how they are looked up, and how they are put together.

mod coalesce;
mod lookup;

use serde_json::{Map, Value};

pub use coalesce::{ChartValues, CoalesceError, coalesce, coalesce_tables, merge, merge_tables};
pub use lookup::{LookupError, path_value, table};

/// A table of values: keys in sorted order, as Go prints them.
pub type Table = Map<String, Value>;

/// The key whose table every subchart sees.
pub const GLOBAL_KEY: &str = "global";
