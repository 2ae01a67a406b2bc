//! Whether an object fits its schema closely enough to be compared and merged.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::element::PathElement;
use super::fields_v1::MAX_DEPTH;
use super::problem::{Problems, scalar_problem, unexpected};
use super::shape::{Chosen, ItemNames, ListShape, MapShape, Shape};

/// Whether two items of a list may have the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// They may: an object that is stored has them when its kind doesn't forbid it.
    Allowed,
    /// They may not: what is applied must be clear.
    Refused,
}

/// Returns everything that keeps `value` from having this shape.
pub fn validate(value: &Value, shape: Shape<'_>, duplicates: Duplicates) -> Result<(), Problems> {
    let mut walk = Walk {
        duplicates,
        problems: Problems::default(),
    };
    walk.value(value, shape, 0);
    walk.problems.into_result(())
}

struct Walk {
    duplicates: Duplicates,
    problems: Problems,
}

impl Walk {
    fn value(&mut self, value: &Value, shape: Shape<'_>, depth: usize) {
        if depth > MAX_DEPTH {
            self.problems.report(format!("exceeded max depth {MAX_DEPTH}"));
            return;
        }
        match shape.atom().deduced(Some(value)).chosen() {
            Chosen::Map(shape) => match value {
                Value::Null => {}
                Value::Object(fields) => self.fields(fields, &shape, depth),
                other => self
                    .problems
                    .report(format!("expected map, got {}", unexpected(other))),
            },
            Chosen::Scalar(kind) => {
                if let Some(problem) = scalar_problem(kind, value) {
                    self.problems.report(problem);
                }
            }
            Chosen::List(shape) => match value {
                Value::Null => {}
                Value::Array(items) => self.items(items, &shape, depth),
                other => self
                    .problems
                    .report(format!("expected list, got {}", unexpected(other))),
            },
            Chosen::Nothing => self.problems.report("schema error: invalid atom: inlined"),
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>, shape: &MapShape<'_>, depth: usize) {
        for (name, value) in fields {
            let field = shape.field(name);
            let before = self.problems.count();
            let declared = !matches!(field, Shape::Undeclared);
            if declared {
                self.value(value, field, depth + 1);
            } else {
                self.problems.report("field not declared in schema");
            }
            self.problems.lead_in(before, format_args!(".{name}"));
            // One field that isn't declared ends the look at its object.
            if !declared {
                return;
            }
        }
    }

    fn items(&mut self, items: &[Value], shape: &ListShape<'_>, depth: usize) {
        let atomic = matches!(shape.names, ItemNames::Atomic);
        let item_shape = shape.item.shape();
        let mut seen = BTreeSet::new();
        for (position, item) in items.iter().enumerate() {
            if let Err(problem) = shape.check_item(item) {
                self.problems.report(format!("element {position}: {problem}"));
                return;
            }
            if !atomic && self.duplicates == Duplicates::Refused {
                self.note(shape, item, &mut seen);
            }
            let before = self.problems.count();
            self.value(item, item_shape, depth + 1);
            if self.problems.count() > before {
                let element = shape
                    .name_item(item)
                    .unwrap_or(PathElement::Index(position as i64));
                self.problems.lead_in(before, element);
            }
        }
    }

    fn note(&mut self, shape: &ListShape<'_>, item: &Value, seen: &mut BTreeSet<PathElement>) {
        let Ok(element) = shape.name_item(item) else {
            return;
        };
        if seen.contains(&element) {
            self.problems
                .report(format!("duplicate entries for key {element}"));
        } else {
            seen.insert(element);
        }
    }
}
