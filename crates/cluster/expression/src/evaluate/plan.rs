//! The steps of an evaluation.
//!
//! What is planned, and how, decides what an evaluation costs, so it follows upstream's planner: variables with
//! selections are one step, literals and conversions of literals are computed here and cost nothing later, and so does a
//! search in a list of literals.

use std::sync::Arc;

use super::attribute::{Attribute, Key, Qualifier, Root};
use super::dispatch::Body;
use crate::check::checker::Reference;
use crate::check::{Checked, functions};
use crate::library::regular;
use crate::syntax::ast::{Comprehension, operator};
use crate::syntax::parse::with_stack;
use crate::syntax::{Expression, Kind, Literal};
use crate::value::map::Entries;
use crate::value::{Failure, Map, Text, Value};

/// A planned expression.
#[derive(Debug)]
pub(crate) struct Program {
    pub(super) step: Step,
    /// How many places for local variables there are.
    pub(super) slots: usize,
}

/// One step.
#[derive(Debug)]
pub(super) enum Step {
    Constant(Value<'static>),
    Attribute(Box<Attribute>),
    /// Whether the last selection of the attribute finds something.
    Test(Box<Attribute>),
    And(Box<(Step, Step)>),
    Or(Box<(Step, Step)>),
    Equal {
        sides: Box<(Step, Step)>,
        negated: bool,
    },
    /// Whether the value is one of some constants.
    Member {
        value: Box<Step>,
        set: Arc<Vec<Value<'static>>>,
    },
    NotStrictlyFalse(Box<Step>),
    OptionalOr {
        sides: Box<(Step, Step)>,
        unwrapped: bool,
    },
    Call(Box<Call>),
    List(Vec<(Step, bool)>),
    Map(Vec<(Step, Step, bool)>),
    Fold(Box<Fold>),
}

/// A call of a function.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) function: &'static str,
    /// The overload, when the types leave only one.
    pub(super) overload: Option<&'static str>,
    pub(super) body: Body,
    pub(super) arguments: Vec<Step>,
    /// The accumulator that the call adds to, when it does nothing else: it can then be changed in place.
    pub(super) in_place: Option<usize>,
}

/// A comprehension.
#[derive(Debug)]
pub(super) struct Fold {
    pub(super) range: Step,
    pub(super) variable: usize,
    pub(super) second_variable: Option<usize>,
    pub(super) accumulator: usize,
    pub(super) start: Step,
    pub(super) condition: Step,
    pub(super) step: Step,
    pub(super) result: Step,
}

/// Plans an expression. `globals` are the variables that are known at run time, by their places.
pub(crate) fn plan(checked: &Checked, globals: &[&str]) -> Result<Program, Failure> {
    let mut planner = Planner {
        checked,
        globals,
        locals: Vec::new(),
        growing: Vec::new(),
        slots: 0,
    };
    let step = planner.plan(&checked.tree)?;
    Ok(Program {
        step,
        slots: planner.slots,
    })
}

struct Planner<'a> {
    checked: &'a Checked,
    globals: &'a [&'a str],
    locals: Vec<(Arc<str>, usize)>,
    /// The accumulators that start as an empty list or map, and so belong to their comprehension alone.
    growing: Vec<usize>,
    slots: usize,
}

/// The functions whose call on a constant is a constant.
const CONVERSIONS: [&str; 10] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "string",
    "timestamp",
    "type",
    "uint",
];

impl Planner<'_> {
    fn plan(&mut self, node: &Expression) -> Result<Step, Failure> {
        with_stack(|| self.plan_here(node))
    }

    fn plan_here(&mut self, node: &Expression) -> Result<Step, Failure> {
        match &node.kind {
            Kind::Literal(literal) => Ok(Step::Constant(constant(literal))),
            Kind::Identifier(name) => self.identifier(node, name),
            Kind::Select { operand, field, test } => {
                let mut attribute = self.attribute(operand)?;
                attribute.qualify(&Qualifier {
                    key: Arc::new(Key::Constant(Value::String(Text::Shared(field.clone())))),
                    optional: false,
                    test: *test,
                });
                Ok(if *test {
                    Step::Test(attribute)
                } else {
                    Step::Attribute(attribute)
                })
            }
            Kind::Call {
                function,
                target,
                arguments,
            } => self.call(node, function, target.as_deref(), arguments),
            Kind::List { elements, optional } => {
                let mut steps = Vec::with_capacity(elements.len());
                for (element, optional) in elements.iter().zip(optional) {
                    steps.push((self.plan(element)?, *optional));
                }
                Ok(constant_list(&steps)?.unwrap_or(Step::List(steps)))
            }
            Kind::Map { entries } => {
                let mut steps = Vec::with_capacity(entries.len());
                for entry in entries {
                    steps.push((self.plan(&entry.key)?, self.plan(&entry.value)?, entry.optional));
                }
                Ok(constant_map(&steps)?.unwrap_or(Step::Map(steps)))
            }
            Kind::Struct { name, .. } => Err(Failure::new(format!("unknown type: {name}"))),
            Kind::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    fn identifier(&mut self, node: &Expression, name: &str) -> Result<Step, Failure> {
        if let Some(Some(Reference::TypeName(name))) = self.checked.references.get(node.id) {
            // These are names of types only to the checker.
            if matches!(&**name, "duration" | "timestamp") {
                return Err(Failure::new(format!("reference to undefined type: {name}")));
            }
            return Ok(Step::Constant(Value::Type(name.clone())));
        }
        let root = match self.locals.iter().rev().find(|(known, _)| &**known == name) {
            Some((_, slot)) => Root::Local(*slot),
            None => match self.globals.iter().position(|known| *known == name) {
                Some(place) => Root::Global(place, name.into()),
                None => return Err(Failure::new(format!("no such attribute(s): {name}"))),
            },
        };
        Ok(Step::Attribute(Box::new(Attribute {
            root,
            qualifiers: Vec::new(),
        })))
    }

    /// Plans the operand of a selection: what is an attribute grows, anything else starts one.
    fn attribute(&mut self, operand: &Expression) -> Result<Box<Attribute>, Failure> {
        Ok(match self.plan(operand)? {
            Step::Attribute(attribute) | Step::Test(attribute) => attribute,
            step => Box::new(Attribute {
                root: Root::Relative(step),
                qualifiers: Vec::new(),
            }),
        })
    }

    fn pair(&mut self, arguments: &[Expression]) -> Result<Box<(Step, Step)>, Failure> {
        match arguments {
            [one, other] => Ok(Box::new((self.plan(one)?, self.plan(other)?))),
            _ => Err(Failure::no_such_overload()),
        }
    }

    fn call(
        &mut self,
        node: &Expression,
        function: &str,
        target: Option<&Expression>,
        arguments: &[Expression],
    ) -> Result<Step, Failure> {
        match function {
            operator::AND => return Ok(Step::And(self.pair(arguments)?)),
            operator::OR => return Ok(Step::Or(self.pair(arguments)?)),
            operator::EQUALS => {
                return Ok(Step::Equal {
                    sides: self.pair(arguments)?,
                    negated: false,
                });
            }
            operator::NOT_EQUALS => {
                return Ok(Step::Equal {
                    sides: self.pair(arguments)?,
                    negated: true,
                });
            }
            operator::CONDITIONAL => return self.conditional(arguments),
            operator::INDEX => return self.index(arguments, false),
            operator::OPTIONAL_INDEX | operator::OPTIONAL_SELECT => return self.index(arguments, true),
            operator::NOT_STRICTLY_FALSE => {
                let [argument] = arguments else {
                    return Err(Failure::no_such_overload());
                };
                return Ok(Step::NotStrictlyFalse(Box::new(self.plan(argument)?)));
            }
            "or" | "orValue" => {
                if let (Some(target), [other]) = (target, arguments) {
                    let sides = Box::new((self.plan(target)?, self.plan(other)?));
                    return Ok(Step::OptionalOr {
                        sides,
                        unwrapped: function == "orValue",
                    });
                }
            }
            _ => {}
        }
        let mut steps = Vec::with_capacity(arguments.len() + 1);
        for argument in target.into_iter().chain(arguments) {
            steps.push(self.plan(argument)?);
        }
        let declared = functions::function(function)
            .ok_or_else(|| Failure::new(format!("no such overload: {function}(...)")))?;
        let overload = match self.checked.overloads_of(node.id) {
            [only] => Some(*only),
            _ => None,
        };
        if overload == Some("in_list") {
            steps = match membership(steps) {
                Ok(step) => return Ok(step),
                Err(steps) => steps,
            };
        }
        if let ("matches" | "find" | "findAll", Some(Step::Constant(Value::String(pattern)))) =
            (function, steps.get(1))
        {
            regular::compile(pattern).map_err(Failure::Message)?;
        }
        let in_place = match (function, steps.first()) {
            (operator::ADD | operator::MAP_INSERT, Some(Step::Attribute(attribute))) => {
                match attribute.root {
                    Root::Local(slot) if attribute.qualifiers.is_empty() && self.growing.contains(&slot) => {
                        Some(slot)
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        let call = Call {
            function: declared.name,
            overload,
            body: Body::of(declared, overload)?,
            arguments: steps,
            in_place,
        };
        if let ([Step::Constant(_)], true) = (call.arguments.as_slice(), CONVERSIONS.contains(&declared.name))
        {
            return Ok(Step::Constant(call.on_constants()?));
        }
        Ok(Step::Call(Box::new(call)))
    }

    fn conditional(&mut self, arguments: &[Expression]) -> Result<Step, Failure> {
        let [condition, truthy, falsy] = arguments else {
            return Err(Failure::no_such_overload());
        };
        let condition = self.plan(condition)?;
        let (truthy, falsy) = (self.attribute(truthy)?, self.attribute(falsy)?);
        let root = Root::Conditional(Box::new((condition, *truthy, *falsy)));
        Ok(Step::Attribute(Box::new(Attribute {
            root,
            qualifiers: Vec::new(),
        })))
    }

    fn index(&mut self, arguments: &[Expression], optional: bool) -> Result<Step, Failure> {
        let [operand, key] = arguments else {
            return Err(Failure::no_such_overload());
        };
        let mut attribute = self.attribute(operand)?;
        let key = Arc::new(match self.plan(key)? {
            Step::Constant(value) => Key::Constant(value),
            Step::Attribute(attribute) => Key::Attribute(attribute),
            step => Key::Computed(step),
        });
        attribute.qualify(&Qualifier {
            key,
            optional,
            test: false,
        });
        Ok(Step::Attribute(attribute))
    }

    fn slot(&mut self, name: &Arc<str>) -> usize {
        self.slots += 1;
        self.locals.push((name.clone(), self.slots - 1));
        self.slots - 1
    }

    fn comprehension(&mut self, comprehension: &Comprehension) -> Result<Step, Failure> {
        let range = self.plan(&comprehension.range)?;
        let start = self.plan(&comprehension.start)?;
        let outside = self.locals.len();
        let accumulator = self.slot(&comprehension.accumulator);
        let grows = match &comprehension.start.kind {
            Kind::List { elements, .. } => elements.is_empty(),
            Kind::Map { entries } => entries.is_empty(),
            _ => false,
        };
        if grows && &*comprehension.accumulator == crate::syntax::ast::ACCUMULATOR {
            self.growing.push(accumulator);
        }
        let inside = self.locals.len();
        let variable = self.slot(&comprehension.variable);
        let second_variable = comprehension.second_variable.as_ref().map(|name| self.slot(name));
        let condition = self.plan(&comprehension.condition)?;
        let step = self.plan(&comprehension.step)?;
        self.locals.truncate(inside);
        let result = self.plan(&comprehension.result)?;
        self.locals.truncate(outside);
        Ok(Step::Fold(Box::new(Fold {
            range,
            variable,
            second_variable,
            accumulator,
            start,
            condition,
            step,
            result,
        })))
    }
}

fn constant(literal: &Literal) -> Value<'static> {
    match literal {
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Int(value) => Value::Int(*value),
        Literal::Uint(value) => Value::Uint(*value),
        Literal::Double(value) => Value::Double(*value),
        Literal::String(text) => Value::String(Text::Shared(text.clone())),
        Literal::Bytes(bytes) => Value::Bytes(bytes.clone()),
    }
}

fn constant_list(steps: &[(Step, bool)]) -> Result<Option<Step>, Failure> {
    let mut values = Vec::with_capacity(steps.len());
    for (step, optional) in steps {
        match (step, optional) {
            (Step::Constant(value), false) => values.push(value.clone()),
            _ => return Ok(None),
        }
    }
    Ok(Some(Step::Constant(Value::list(values))))
}

fn constant_map(steps: &[(Step, Step, bool)]) -> Result<Option<Step>, Failure> {
    let mut entries = Entries::default();
    for (key, value, optional) in steps {
        match (key, value, optional) {
            (Step::Constant(key), Step::Constant(value), false) => entries.set(key.clone(), value.clone()),
            _ => return Ok(None),
        }
    }
    Ok(Some(Step::Constant(Value::Map(Map::of(entries)))))
}

/// Makes a search in a list of constants, or gives the steps back.
fn membership(steps: Vec<Step>) -> Result<Step, Vec<Step>> {
    let Some(Step::Constant(Value::List(list))) = steps.get(1) else {
        return Err(steps);
    };
    let Ok(values) = list.values() else {
        return Err(steps);
    };
    if values.is_empty() {
        return Ok(Step::Constant(Value::Bool(false)));
    }
    let plain = |value: &Value<'_>| {
        matches!(
            value,
            Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_)
        )
    };
    if !values.iter().all(plain) {
        return Err(steps);
    }
    let set = Arc::new(values);
    match steps.into_iter().next() {
        Some(value) => Ok(Step::Member {
            value: Box::new(value),
            set,
        }),
        None => Err(Vec::new()),
    }
}
