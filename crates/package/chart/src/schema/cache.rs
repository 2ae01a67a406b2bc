//! Compiled schemas, kept between uses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::{Dialect, Schema, SchemaError, SchemaViolation, Walk};
use crate::dependencies::ActiveChart;
use crate::values::Table;

/// How many bytes of schema files are kept compiled. A chart with all its subcharts has less.
const MAX_CACHED_BYTES: usize = 16 << 20;

type Outcome = Arc<Result<Schema, SchemaError>>;

/// A schema's place in memory, and the dialect that it was compiled by.
type Key = (usize, usize, Dialect);

/// Schemas that were compiled before, with those that could not be.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// An entry holds its schema's bytes, so the place stays its own.
    schemas: HashMap<Key, (Bytes, Outcome)>,
    bytes: usize,
}

impl Schemas {
    /// Checks values against the schemas of a chart and its subcharts, each on its own section.
    pub(crate) fn validate_chart(
        &self,
        chart: &ActiveChart,
        values: &Table,
        dialect: Dialect,
    ) -> Result<(), SchemaViolation> {
        let mut walk = Walk {
            schemas: self,
            dialect,
            section: Vec::new(),
            violations: Vec::new(),
        };
        walk.visit(chart, values);
        if walk.violations.is_empty() {
            Ok(())
        } else {
            Err(SchemaViolation {
                charts: walk.violations,
            })
        }
    }

    /// Checks values against one schema.
    pub(super) fn validate(
        &self,
        schema: &Bytes,
        values: &Table,
        dialect: Dialect,
    ) -> Result<(), SchemaError> {
        match &*self.get(schema, dialect) {
            Ok(schema) => schema.validate(values),
            Err(error) => Err(error.clone()),
        }
    }

    fn get(&self, schema: &Bytes, dialect: Dialect) -> Outcome {
        let key = (schema.as_ptr() as usize, schema.len(), dialect);
        // What another thread has put there is whole, even if it panicked afterwards.
        let lock = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, outcome)) = lock().schemas.get(&key) {
            return Arc::clone(outcome);
        }
        let outcome = Arc::new(Schema::compile(schema, dialect));
        let mut kept = lock();
        if kept.bytes + schema.len() > MAX_CACHED_BYTES {
            *kept = Kept::default();
        }
        let entry = (schema.clone(), Arc::clone(&outcome));
        if schema.len() <= MAX_CACHED_BYTES && kept.schemas.insert(key, entry).is_none() {
            kept.bytes += schema.len();
        }
        outcome
    }
}
