//! Schemas as Helm takes them since 3.18.5, by the library santhosh-tekuri/jsonschema v6.0.2: drafts 4, 6, 7, 2019-09
//! and 2020-12, of which the last counts where none is named.
//!
//! ```text
//! bytes ─ json ─ roots (resources and their anchors; held against the schemas in library) ─ compile, keywords ─► nodes
//! nodes, values ─ evaluate (scope, formats) ─► findings, worded in English ─► complaints
//! ```
//!
//! Some of what the library does is a mistake, and users see it: a number equals text that says it, elements after those
//! with a schema of their own are counted from 0, and the place of a wrong property name is not told. It is done here
//! as it is done there, but the paths of complaints are the true ones.

mod compile;
mod draft;
mod english;
mod evaluate;
mod finding;
mod format;
mod json;
mod keywords;
mod library;
mod limits;
mod loader;
mod node;
mod place;
mod resources;
mod roots;
mod sameness;
mod scope;
mod words;

use serde_json::Value;

use self::compile::Compiler;
use self::evaluate::Evaluation;
use self::json::Json;
use self::library::Nodes;
use self::limits::Budget;
use self::node::{Id, Node};
use super::SchemaError;
use crate::values::Table;

/// The address that Helm gives a chart's schema.
const URL: &str = "file:///values.schema.json";

/// A compiled schema.
#[derive(Debug)]
pub(super) struct Schema {
    nodes: Vec<Node>,
    root: Id,
}

impl Schema {
    pub(super) fn compile(bytes: &[u8]) -> Result<Self, SchemaError> {
        let document = Json::read(bytes)?;
        let mut compiler = Compiler::new()?;
        compiler.roots.add_document(URL, document);
        let root = compiler.compile(URL)?;
        Ok(Self {
            nodes: compiler.into_nodes(),
            root,
        })
    }

    pub(super) fn validate(&self, values: &Table) -> Result<(), SchemaError> {
        let values = Json::Object(
            values
                .iter()
                .map(|(key, value)| (key.clone(), Json::from(value as &Value)))
                .collect(),
        );
        let mut budget = Budget::default();
        let evaluation = Evaluation::of_values(Nodes::all(&self.nodes), &mut budget);
        let complaints = evaluation.judge_root(self.root, &values)?;
        if complaints.is_empty() {
            Ok(())
        } else {
            Err(SchemaError::Complaints(complaints))
        }
    }
}
