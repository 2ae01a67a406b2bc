//! Expressions (CEL) over the properties of a bundle.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bundle::validation::expression_fault;
use cel::common::ast::{EntryExpr, Expr, IdedExpr};
use cel::objects::Key;
use cel::{Context, ExecutionError, Program, Value};
use serde_json::Value as Json;
use version::Version;

/// How many steps an expression may take over the properties of one bundle: loops within loops multiply, and a catalog
/// is written by strangers.
pub const MAX_STEPS: u64 = 1_000_000;

/// An expression that says yes or no of a bundle's properties.
#[derive(Clone)]
pub struct Expression {
    rule: String,
    program: Arc<Program>,
    loops: u32,
}

impl fmt::Debug for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Expression({:?})", self.rule)
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.rule)
    }
}

impl Expression {
    /// Reads an expression.
    pub(crate) fn compile(rule: &str) -> Result<Expression, String> {
        if let Some(fault) = expression_fault(rule) {
            return Err(fault);
        }
        let program = Program::compile(rule).map_err(|fault| fault.to_string())?;
        Ok(Expression {
            rule: rule.to_owned(),
            loops: loops(program.expression()),
            program: Arc::new(program),
        })
    }

    /// Returns whether it says yes of properties, which are a list of `{type, value}`; what fails doesn't say yes.
    pub fn holds(&self, properties: &Json) -> bool {
        let size = nodes(properties) + self.rule.len() as u64;
        if size
            .checked_pow(self.loops.max(1))
            .is_none_or(|steps| steps > MAX_STEPS)
        {
            return false;
        }
        let mut context = Context::default();
        if context.add_function("semver_compare", semver_compare).is_err() {
            return false;
        }
        context.add_variable_from_value("properties", value(properties));
        matches!(self.program.execute(&context), Ok(Value::Bool(true)))
    }
}

/// Returns how deep loops are nested.
fn loops(expression: &IdedExpr) -> u32 {
    let deepest = |parts: &mut dyn Iterator<Item = &IdedExpr>| parts.map(loops).max().unwrap_or(0);
    match &expression.expr {
        Expr::Call(call) => deepest(&mut call.target.as_deref().into_iter().chain(&call.args)),
        Expr::Comprehension(each) => {
            let inside = deepest(&mut [&each.loop_cond, &each.loop_step, &each.result].into_iter());
            let before = deepest(&mut [&each.iter_range, &each.accu_init].into_iter());
            before.max(inside + 1)
        }
        Expr::List(list) => deepest(&mut list.elements.iter()),
        Expr::Map(map) => entries(map.entries.iter().map(|entry| &entry.expr)),
        Expr::Struct(structure) => entries(structure.entries.iter().map(|entry| &entry.expr)),
        Expr::Select(select) => loops(&select.operand),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => 0,
    }
}

fn entries<'a>(entries: impl Iterator<Item = &'a EntryExpr>) -> u32 {
    let entry = |entry: &EntryExpr| match entry {
        EntryExpr::StructField(field) => loops(&field.value),
        EntryExpr::MapEntry(entry) => loops(&entry.key).max(loops(&entry.value)),
    };
    entries.map(entry).max().unwrap_or(0)
}

fn nodes(json: &Json) -> u64 {
    1 + match json {
        Json::Array(elements) => elements.iter().map(nodes).sum(),
        Json::Object(fields) => fields.values().map(nodes).sum(),
        _ => 0,
    }
}

/// Every number is a double, as Go reads JSON.
fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => Value::Float(number.as_f64().unwrap_or_default()),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(elements) => Value::from(elements.iter().map(value).collect::<Vec<_>>()),
        Json::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, field)| (Key::String(Arc::new(key.clone())), value(field)));
            Value::from(fields.collect::<HashMap<_, _>>())
        }
    }
}

fn semver_compare(one: Value, other: Value) -> Result<i64, ExecutionError> {
    let version = |value: Value| {
        let text = match value {
            Value::String(text) => text.to_string(),
            Value::Int(number) => number.to_string(),
            Value::UInt(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            _ => String::new(),
        };
        Version::parse_tolerant(&text).map_err(|_| {
            ExecutionError::function_error(
                "semver_compare",
                format!("unable to parse '{text}' to semver format"),
            )
        })
    };
    Ok(version(one)?.precedence(&version(other)?) as i64)
}
