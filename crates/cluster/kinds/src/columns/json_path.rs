//! The paths of printer columns: `.status.conditions[?(@.type=="Ready")].status`.
//!
//! The language is the part of kubectl's `JSONPath` that a column can use: fields, indices, slices, unions, wildcards,
//! descent and filters.

mod parser;

use std::cmp::Ordering;

use serde_json::Value;

/// How many values a path may lead to, so that repeated descents into a large object don't fill the memory.
const MAX_VALUES: usize = 10_000;

/// A path into an object.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

/// Why a text is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonPathError(String);

/// Why a path leads nowhere in an object: it indexes what is no list, or compares what can't be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the path doesn't fit the object")]
pub struct Mismatch;

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    Wildcard,
    Descent,
    Slice {
        start: Bound,
        end: Bound,
        step: Option<i64>,
    },
    Union(Vec<Vec<Step>>),
    Filter {
        left: Vec<Step>,
        comparison: Option<(Comparison, Vec<Step>)>,
    },
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    Open,
    At(i64),
    /// The end after an index that stands alone.
    After(i64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

type Values<'a> = Vec<&'a Value>;

impl JsonPath {
    /// Reads a path, which needn't stand in braces.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        parser::parse(text).map(|steps| Self { steps })
    }

    /// Returns the values that the path leads to; a field that isn't there leads nowhere.
    pub fn find<'a>(&'a self, object: &'a Value) -> Result<Vec<&'a Value>, Mismatch> {
        walk(vec![object], &self.steps)
    }
}

fn walk<'a>(mut values: Values<'a>, steps: &'a [Step]) -> Result<Values<'a>, Mismatch> {
    for step in steps {
        values = follow(values, step)?;
        if values.len() > MAX_VALUES {
            return Err(Mismatch);
        }
    }
    Ok(values)
}

/// Returns what is inside of a value: the values of its fields or its items.
fn inside(value: &Value) -> Values<'_> {
    match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

fn follow<'a>(values: Values<'a>, step: &'a Step) -> Result<Values<'a>, Mismatch> {
    let mut out = Vec::new();
    match step {
        Step::Literal(value) => out.push(value),
        Step::Field(name) => {
            for value in values {
                if let Value::Object(fields) = value
                    && let Some(field) = fields.get(name)
                {
                    out.push(field);
                }
            }
        }
        Step::Wildcard => out.extend(values.into_iter().flat_map(inside)),
        Step::Descent => descend(values, &mut out)?,
        Step::Union(paths) => {
            for path in paths {
                out.extend(walk(values.clone(), path)?);
            }
        }
        Step::Slice { start, end, step } => {
            for value in values {
                slice(value, *start, *end, *step, &mut out)?;
            }
        }
        Step::Filter { left, comparison } => {
            for value in values {
                filter(value, left, comparison.as_ref(), &mut out)?;
            }
        }
    }
    Ok(out)
}

/// Collects the values and everything inside of them that has something inside itself.
fn descend<'a>(values: Values<'a>, out: &mut Values<'a>) -> Result<(), Mismatch> {
    let mut open: Values<'a> = values.into_iter().rev().collect();
    while let Some(value) = open.pop() {
        let inner = inside(value);
        if inner.is_empty() {
            continue;
        }
        out.push(value);
        if out.len() > MAX_VALUES {
            return Err(Mismatch);
        }
        open.extend(inner.into_iter().rev());
    }
    Ok(())
}

fn slice<'a>(
    value: &'a Value,
    start: Bound,
    end: Bound,
    step: Option<i64>,
    out: &mut Values<'a>,
) -> Result<(), Mismatch> {
    let items = match value {
        Value::Array(items) => items,
        Value::Null => return Ok(()),
        _ => return Err(Mismatch),
    };
    let length = items.len() as i64;
    let start = match start {
        Bound::At(index) | Bound::After(index) if index < 0 => index + length,
        Bound::At(index) | Bound::After(index) => index,
        Bound::Open => 0,
    };
    let end = match end {
        Bound::Open => length,
        // The place after the last item, counted from the end, is the end.
        Bound::After(index) if index <= 0 => index + length,
        Bound::At(index) if index < 0 => index + length,
        Bound::At(index) | Bound::After(index) => index,
    };
    if start == end {
        return Ok(());
    }
    if start >= length
        || start < 0
        || end > length
        || end < 0
        || start > end
        || step.is_some_and(|step| step <= 0)
    {
        return Err(Mismatch);
    }
    let chosen = items.get(start as usize..end as usize).unwrap_or_default();
    out.extend(chosen.iter().step_by(step.unwrap_or(1).max(1) as usize));
    Ok(())
}

fn filter<'a>(
    value: &'a Value,
    left: &'a [Step],
    comparison: Option<&'a (Comparison, Vec<Step>)>,
    out: &mut Values<'a>,
) -> Result<(), Mismatch> {
    let Value::Array(items) = value else {
        return Err(Mismatch);
    };
    for item in items {
        let here = || vec![item];
        let Some((comparison, right)) = comparison else {
            if walk(here(), left).is_ok_and(|found| !found.is_empty()) {
                out.push(item);
            }
            continue;
        };
        let (lefts, rights) = (walk(here(), left)?, walk(here(), right)?);
        match (lefts.as_slice(), rights.as_slice()) {
            ([], _) | (_, []) => {}
            ([left], [right]) => {
                if compare(left, *comparison, right)? {
                    out.push(item);
                }
            }
            _ => return Err(Mismatch),
        }
    }
    Ok(())
}

fn compare(left: &Value, comparison: Comparison, right: &Value) -> Result<bool, Mismatch> {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => {
            match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => left.as_f64().partial_cmp(&right.as_f64()),
            }
        }
        (Value::Bool(left), Value::Bool(right))
            if matches!(comparison, Comparison::Equal | Comparison::NotEqual) =>
        {
            Some(left.cmp(right))
        }
        _ => return Err(Mismatch),
    };
    let order = order.ok_or(Mismatch)?;
    Ok(match comparison {
        Comparison::Equal => order == Ordering::Equal,
        Comparison::NotEqual => order != Ordering::Equal,
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
    })
}

#[cfg(test)]
mod tests;
