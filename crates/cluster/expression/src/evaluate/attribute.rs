//! Variables, and the fields and items that are selected from them.

use std::sync::Arc;

use super::machine::Machine;
use super::plan::Step;
use crate::value::text::{exact_int, go};
use crate::value::{Failure, Outcome, Value};

/// Something with selections: `self.spec.containers[0]`.
#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) root: Root,
    pub(super) qualifiers: Vec<Qualifier>,
}

/// What is selected from.
#[derive(Debug)]
pub(super) enum Root {
    /// A variable of a comprehension.
    Local(usize),
    /// A variable that the evaluation is given.
    Global(usize, Arc<str>),
    /// The result of another step.
    Relative(Step),
    /// One of two, by a condition. Selections apply to both of them.
    Conditional(Box<(Step, Attribute, Attribute)>),
}

/// One selection.
#[derive(Debug, Clone)]
pub(super) struct Qualifier {
    pub(super) key: Arc<Key>,
    /// Whether nothing is found without an error (`.?field`).
    pub(super) optional: bool,
    /// Whether only the presence is asked for.
    pub(super) test: bool,
}

/// What is selected.
#[derive(Debug)]
pub(super) enum Key {
    Constant(Value<'static>),
    Attribute(Box<Attribute>),
    Computed(Step),
}

impl Attribute {
    /// Adds a selection.
    pub(super) fn qualify(&mut self, qualifier: &Qualifier) {
        match &mut self.root {
            Root::Conditional(parts) => {
                parts.1.qualify(qualifier);
                parts.2.qualify(qualifier);
            }
            _ => self.qualifiers.push(qualifier.clone()),
        }
    }

    /// Returns whether reading it has a cost of its own; a condition has none.
    pub(super) fn has_cost(&self) -> bool {
        !matches!(self.root, Root::Conditional(_))
    }

    /// Reads the attribute.
    pub(super) fn resolve<'p, 'a>(&'p self, machine: &mut Machine<'p, 'a>) -> Outcome<'a> {
        let root = match &self.root {
            Root::Local(slot) => machine.local(*slot)?,
            Root::Global(place, name) => machine.global(*place, name)?,
            Root::Relative(step) => machine.evaluate(step)?,
            Root::Conditional(parts) => {
                return match machine.evaluate(&parts.0)? {
                    Value::Bool(true) => parts.1.resolve(machine),
                    Value::Bool(false) => parts.2.resolve(machine),
                    _ => Err(Failure::no_such_overload()),
                };
            }
        };
        if self.qualifiers.is_empty() {
            return Ok(root);
        }
        let (mut value, mut optional) = match root {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => (inner.without_schema(), true),
            other => (other, false),
        };
        for qualifier in &self.qualifiers {
            optional |= qualifier.optional;
            if qualifier.test {
                let found = qualifier.look_up(machine, &value, true);
                machine.charge(1)?;
                let present = found?.is_some();
                // Under an optional, a test that finds nothing leaves nothing.
                if optional && !present {
                    return Ok(Value::Bool(false));
                }
                value = Value::Bool(present);
            } else if optional {
                match qualifier.look_up(machine, &value, true)? {
                    Some(found) => {
                        machine.charge(1)?;
                        value = found;
                    }
                    None => return Ok(Value::Optional(None)),
                }
            } else {
                let found = qualifier.look_up(machine, &value, false);
                machine.charge(1)?;
                value = match found? {
                    Some(found) => found,
                    None => return Err(Failure::no_such_overload()),
                };
            }
        }
        let tested = self.qualifiers.last().is_some_and(|last| last.test);
        Ok(if optional && !tested {
            Value::some(value)
        } else {
            value
        })
    }
}

impl Qualifier {
    /// Selects from a value. Nothing found is an error, unless it is only looked whether there is something.
    fn look_up<'p, 'a>(
        &'p self,
        machine: &mut Machine<'p, 'a>,
        value: &Value<'a>,
        lenient: bool,
    ) -> Result<Option<Value<'a>>, Failure> {
        let key = match &*self.key {
            Key::Constant(key) => key.clone(),
            Key::Attribute(attribute) => attribute.resolve(machine)?,
            Key::Computed(step) => machine.evaluate(step)?,
        };
        let usable = matches!(
            key,
            Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_)
        );
        if !usable {
            return Err(Failure::new(format!("invalid qualifier type: {}", go_type(&key))));
        }
        let missing = |what: &str| {
            if lenient {
                Ok(None)
            } else {
                Err(Failure::new(format!("{what}: {}", go(&key))))
            }
        };
        match value {
            Value::Map(map) => match map.find(&key)? {
                Some(found) => Ok(Some(found)),
                None => missing("no such key"),
            },
            Value::List(list) => {
                let index = index(&key)?;
                match usize::try_from(index).ok().and_then(|index| list.get(index)) {
                    Some(_) if !list.is_plain() && !matches!(key, Value::Int(_)) => {
                        Err(Failure::new(format!("unsupported index: {}", go(&key))))
                    }
                    Some(found) => found.map(Some),
                    None => missing("index out of bounds"),
                }
            }
            _ => missing("no such key"),
        }
    }
}

fn index(key: &Value<'_>) -> Result<i64, Failure> {
    match key {
        Value::Int(index) => Ok(*index),
        Value::Uint(index) => i64::try_from(*index)
            .map_err(|_| Failure::new(format!("unsupported index value {index} in list"))),
        Value::Double(index) => exact_int(*index)
            .ok_or_else(|| Failure::new(format!("unsupported index value {} in list", go(key)))),
        other => Err(Failure::new(format!(
            "unsupported index type '{}' in list",
            other.type_name()
        ))),
    }
}

/// Returns what Go calls the type of a value.
pub(super) fn go_type(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Duration(_) => "types.Duration",
        Value::Timestamp(_) => "types.Timestamp",
        Value::List(_) => "*types.baseList",
        Value::Map(_) => "*types.baseMap",
        Value::Optional(_) => "*types.Optional",
        Value::Type(_) => "*types.Type",
        Value::Quantity { .. } => "cel.Quantity",
        Value::Url(_) => "cel.URL",
        Value::Ip(_) => "cel.IP",
        Value::Cidr { .. } => "cel.CIDR",
        Value::Format(_) => "cel.Format",
        Value::Semver(_) => "cel.Semver",
        Value::Authorization(_) => "library.authorizerVal",
        Value::Preserved(_) => "*common.unknownPreserved",
    }
}
