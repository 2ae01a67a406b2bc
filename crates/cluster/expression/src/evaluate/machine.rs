//! Runs the steps of an evaluation, and counts what they cost.

use std::sync::Arc;

use super::attribute::go_type;
use super::plan::{Call, Fold, Program, Step};
use crate::cost::runtime::call_cost;
use crate::syntax::ast::operator;
use crate::syntax::parse::with_stack;
use crate::value::equality::equal;
use crate::value::map::Entries;
use crate::value::text::go;
use crate::value::{Failure, Map, Outcome, Value};

/// What making a list and a map costs.
const LIST_COST: u64 = 10;
const MAP_COST: u64 = 30;

/// What an evaluation came to.
#[derive(Debug)]
pub(crate) struct Evaluated<'a> {
    /// The value, or why there is none.
    pub(crate) outcome: Outcome<'a>,
    /// What it cost.
    pub(crate) cost: u64,
}

/// Gives the values of variables, by their places.
pub(crate) trait Variables<'a> {
    /// Returns the variable's value; `None` when it has none.
    fn get(&self, place: usize) -> Option<Outcome<'a>>;
}

impl<'a, F: Fn(usize) -> Option<Outcome<'a>>> Variables<'a> for F {
    fn get(&self, place: usize) -> Option<Outcome<'a>> {
        self(place)
    }
}

/// Evaluates a program. It is stopped when it costs more than `limit`.
pub(crate) fn run<'p, 'a>(
    program: &'p Program,
    variables: &'p dyn Variables<'a>,
    limit: u64,
) -> Evaluated<'a> {
    let mut slots = Vec::new();
    slots.resize_with(program.slots, || Slot::Empty);
    let mut machine = Machine {
        slots,
        variables,
        cost: 0,
        limit,
    };
    let outcome = machine.evaluate(&program.step);
    Evaluated {
        outcome,
        cost: machine.cost,
    }
}

/// A place for a local variable.
enum Slot<'p, 'a> {
    Empty,
    /// An accumulator that nobody has read yet: it is computed when somebody does.
    Later(&'p Step),
    Value(Outcome<'a>),
}

pub(super) struct Machine<'p, 'a> {
    slots: Vec<Slot<'p, 'a>>,
    variables: &'p dyn Variables<'a>,
    cost: u64,
    limit: u64,
}

impl<'p, 'a> Machine<'p, 'a> {
    /// Counts a cost.
    pub(super) fn charge(&mut self, cost: u64) -> Result<(), Failure> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit {
            Err(Failure::CostLimit)
        } else {
            Ok(())
        }
    }

    /// Reads a local variable.
    pub(super) fn local(&mut self, slot: usize) -> Outcome<'a> {
        let start = match self.slots.get(slot) {
            Some(Slot::Value(outcome)) => return outcome.clone(),
            Some(Slot::Later(start)) => *start,
            Some(Slot::Empty) | None => return Err(Failure::new("no such attribute(s): local")),
        };
        let outcome = self.evaluate(start);
        self.set(slot, Slot::Value(outcome.clone()));
        outcome
    }

    /// Reads a variable that the evaluation is given.
    pub(super) fn global(&mut self, place: usize, name: &str) -> Outcome<'a> {
        // A policy's variable is a field of `variables`: it costs the selection too.
        if name.starts_with("variables.") {
            self.charge(1)?;
        }
        self.variables
            .get(place)
            .unwrap_or_else(|| Err(Failure::new(format!("no such attribute(s): {name}"))))
    }

    fn set(&mut self, slot: usize, value: Slot<'p, 'a>) {
        if let Some(place) = self.slots.get_mut(slot) {
            *place = value;
        }
    }

    pub(super) fn evaluate(&mut self, step: &'p Step) -> Outcome<'a> {
        with_stack(|| self.evaluate_here(step))
    }

    fn evaluate_here(&mut self, step: &'p Step) -> Outcome<'a> {
        match step {
            Step::Constant(value) => Ok(value.clone()),
            Step::Attribute(attribute) => {
                let outcome = attribute.resolve(self);
                if attribute.has_cost() && !is_stopped(&outcome) {
                    self.charge(1)?;
                }
                outcome
            }
            Step::Test(attribute) => match attribute.resolve(self)? {
                Value::Optional(value) => Ok(Value::Bool(value.is_some())),
                other => Ok(other),
            },
            Step::And(sides) => self.logic(sides, false),
            Step::Or(sides) => self.logic(sides, true),
            Step::Equal { sides, negated } => self.equal(sides, *negated),
            Step::Member { value, set } => {
                let value = self.evaluate(value)?;
                Ok(Value::Bool(
                    set.iter().any(|known| equal(&value, known) == Ok(true)),
                ))
            }
            Step::NotStrictlyFalse(argument) => {
                let value = self.evaluate(argument);
                if is_stopped(&value) {
                    return value;
                }
                self.charge(1)?;
                Ok(Value::Bool(!matches!(value, Ok(Value::Bool(false)))))
            }
            Step::OptionalOr { sides, unwrapped } => match self.evaluate(&sides.0)? {
                Value::Optional(Some(value)) if *unwrapped => Ok((*value).clone()),
                present @ Value::Optional(Some(_)) => Ok(present),
                Value::Optional(None) => self.evaluate(&sides.1),
                other => Ok(other),
            },
            Step::Call(call) => self.call(call),
            Step::List(elements) => self.list(elements),
            Step::Map(entries) => self.map(entries),
            Step::Fold(fold) => self.fold(fold),
        }
    }

    /// Evaluates `&&` and `||`: one side that decides hides what is wrong with the other.
    fn logic(&mut self, sides: &'p (Step, Step), deciding: bool) -> Outcome<'a> {
        let mut failure = None;
        for side in [&sides.0, &sides.1] {
            match self.evaluate(side) {
                Ok(Value::Bool(value)) if value == deciding => return Ok(Value::Bool(deciding)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => failure = failure.or_else(|| Some(Failure::no_such_overload())),
                Err(Failure::CostLimit) => return Err(Failure::CostLimit),
                Err(found) => failure = failure.or(Some(found)),
            }
        }
        failure.map_or(Ok(Value::Bool(!deciding)), Err)
    }

    fn equal(&mut self, sides: &'p (Step, Step), negated: bool) -> Outcome<'a> {
        let one = self.evaluate(&sides.0);
        if is_stopped(&one) {
            return one;
        }
        let other = self.evaluate(&sides.1);
        if is_stopped(&other) {
            return other;
        }
        let outcome = match (&one, &other) {
            (Ok(one), Ok(other)) => equal(one, other).map(|equal| Value::Bool(equal != negated)),
            (Err(failure), _) | (_, Err(failure)) => Err(failure.clone()),
        };
        let (function, overload) = if negated {
            (operator::NOT_EQUALS, "not_equals")
        } else {
            (operator::EQUALS, "equals")
        };
        self.charge(call_cost(function, Some(overload), &[one, other], &outcome))?;
        outcome
    }

    fn call(&mut self, call: &'p Call) -> Outcome<'a> {
        if let Some(slot) = call.in_place
            && let Some(outcome) = self.grow(call, slot)
        {
            return outcome;
        }
        let mut arguments: Vec<Outcome<'a>> = Vec::with_capacity(call.arguments.len());
        for step in &call.arguments {
            let argument = self.evaluate(step);
            match &argument {
                Err(Failure::CostLimit) => return argument,
                Err(_) if call.stops_early() => return argument,
                _ => arguments.push(argument),
            }
        }
        let mut values = Vec::with_capacity(arguments.len());
        let mut failure = None;
        for argument in &arguments {
            match argument {
                Ok(value) => values.push(value.clone()),
                Err(found) => failure = failure.or_else(|| Some(found.clone())),
            }
        }
        let outcome = match failure {
            Some(failure) => Err(failure),
            None => call.invoke(&values),
        };
        self.charge(call_cost(call.function, call.overload, &arguments, &outcome))?;
        outcome
    }

    /// Adds to an accumulator in place: a comprehension that collects would otherwise copy all it has at each step.
    fn grow(&mut self, call: &'p Call, slot: usize) -> Option<Outcome<'a>> {
        // Only an accumulator that holds a value is taken; one that failed goes the long way.
        if self.local(slot).is_err() {
            return None;
        }
        if let Err(failure) = self.charge(1) {
            return Some(Err(failure));
        }
        let mut added = Vec::with_capacity(call.arguments.len());
        for step in call.arguments.iter().skip(1) {
            match self.evaluate(step) {
                Ok(value) => added.push(value),
                Err(Failure::CostLimit) => return Some(Err(Failure::CostLimit)),
                Err(failure) => {
                    // The call has two arguments or stops early, as `call` does.
                    let charged = if call.stops_early() {
                        Ok(())
                    } else {
                        self.charge(1)
                    };
                    return Some(charged.and(Err(failure)));
                }
            }
        }
        let taken = self
            .slots
            .get_mut(slot)
            .map(|place| std::mem::replace(place, Slot::Empty));
        let Some(Slot::Value(Ok(accumulated))) = taken else {
            return Some(Err(Failure::no_such_overload()));
        };
        let outcome = add_all(accumulated, added);
        Some(self.charge(1).and(outcome))
    }

    fn list(&mut self, elements: &'p [(Step, bool)]) -> Outcome<'a> {
        let outcome = self.list_items(elements);
        if !is_stopped(&outcome) {
            self.charge(LIST_COST)?;
        }
        outcome
    }

    fn list_items(&mut self, elements: &'p [(Step, bool)]) -> Outcome<'a> {
        let mut items = Vec::with_capacity(elements.len());
        for (step, optional) in elements {
            match (self.evaluate(step)?, optional) {
                (Value::Optional(Some(value)), true) => items.push((*value).clone()),
                (Value::Optional(None), true) => {}
                (other, true) => {
                    let message = format!(
                        "cannot initialize optional list element from non-optional value {}",
                        go(&other)
                    );
                    return Err(Failure::new(message));
                }
                (value, false) => items.push(value),
            }
        }
        Ok(Value::list(items))
    }

    fn map(&mut self, entries: &'p [(Step, Step, bool)]) -> Outcome<'a> {
        let outcome = self.map_entries(entries);
        if !is_stopped(&outcome) {
            self.charge(MAP_COST)?;
        }
        outcome
    }

    fn map_entries(&mut self, steps: &'p [(Step, Step, bool)]) -> Outcome<'a> {
        let mut entries = Entries::default();
        for (key, value, optional) in steps {
            let key = self.evaluate(key)?;
            match (self.evaluate(value)?, optional) {
                (Value::Optional(Some(value)), true) => entries.set(key, (*value).clone()),
                (Value::Optional(None), true) => entries.remove(&key),
                (other, true) => {
                    return Err(Failure::new(format!(
                        "cannot initialize optional entry '{}' from non-optional value {}",
                        go(&key),
                        go(&other)
                    )));
                }
                (value, false) => entries.set(key, value),
            }
        }
        Ok(Value::Map(Map::of(entries)))
    }

    fn fold(&mut self, fold: &'p Fold) -> Outcome<'a> {
        let range = self.evaluate(&fold.range)?;
        self.set(fold.accumulator, Slot::Later(&fold.start));
        match (&range, fold.second_variable) {
            (Value::List(list), None) => {
                for item in list.iter() {
                    if !self.round(fold, item)? {
                        break;
                    }
                }
            }
            (Value::List(list), Some(second)) => {
                for (index, item) in list.iter().enumerate() {
                    self.set(second, Slot::Value(item));
                    if !self.round(fold, Ok(Value::Int(index as i64)))? {
                        break;
                    }
                }
            }
            (Value::Map(map), None) => {
                for key in map.keys() {
                    if !self.round(fold, Ok(key))? {
                        break;
                    }
                }
            }
            (Value::Map(map), Some(second)) => {
                for (key, value) in map.entries() {
                    self.set(second, Slot::Value(value));
                    if !self.round(fold, Ok(key))? {
                        break;
                    }
                }
            }
            (other, None) => {
                return Err(Failure::new(format!(
                    "got '{}', expected iterable type",
                    go_type(other)
                )));
            }
            (other, Some(_)) => {
                return Err(Failure::new(format!(
                    "unsupported comprehension range type: {}",
                    go_type(other)
                )));
            }
        }
        self.evaluate(&fold.result)
    }

    /// Does one round of a comprehension, and returns whether there may be another.
    fn round(&mut self, fold: &'p Fold, item: Outcome<'a>) -> Result<bool, Failure> {
        self.set(fold.variable, Slot::Value(item));
        match self.evaluate(&fold.condition) {
            Ok(Value::Bool(false)) => return Ok(false),
            Err(Failure::CostLimit) => return Err(Failure::CostLimit),
            _ => {}
        }
        let folded = self.evaluate(&fold.step);
        if is_stopped(&folded) {
            return Err(Failure::CostLimit);
        }
        self.set(fold.accumulator, Slot::Value(folded));
        Ok(true)
    }
}

fn is_stopped(outcome: &Outcome<'_>) -> bool {
    matches!(outcome, Err(Failure::CostLimit))
}

fn add_all<'a>(accumulated: Value<'a>, added: Vec<Value<'a>>) -> Outcome<'a> {
    let mut added = added.into_iter();
    match (accumulated, added.next(), added.next()) {
        (Value::List(mut list), Some(Value::List(items)), None) => {
            for item in items.iter() {
                list.push(item?)?;
            }
            Ok(Value::List(list))
        }
        (Value::Map(Map::Entries(mut entries)), Some(Value::Map(more)), None) => {
            let map = Arc::make_mut(&mut entries);
            for (key, value) in more.entries() {
                map.insert(key, value?)?;
            }
            Ok(Value::Map(Map::Entries(entries)))
        }
        (Value::Map(Map::Entries(mut entries)), Some(key), Some(value)) => {
            Arc::make_mut(&mut entries).insert(key, value)?;
            Ok(Value::Map(Map::Entries(entries)))
        }
        _ => Err(Failure::no_such_overload()),
    }
}
