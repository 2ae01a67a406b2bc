//! How much work a call is: charged for its arguments before it runs, and for its result afterwards.
//!
//! A step is about 100 nanoseconds. The rates come from measuring one function after the other with texts of 1.2 MB,
//! on a machine that was busy otherwise: the slowest take five times what they are charged, so that all the steps of
//! an execution are some seconds whatever they are spent on.

use crate::function::Function;
use crate::stack;
use crate::value::Value;

/// How much a function does with its arguments, by which its work is charged before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// The same whatever they hold: `get`, `include`. What grows nevertheless, the function charges itself.
    Fixed,
    /// Goes over a text, or the elements of a list or a map, a few times, and not into them: `contains`, `reverse`.
    Light,
    /// Reads, writes, copies or builds everything that is in them, all the way down: `toYaml`, `shuffle`.
    Heavy,
}

/// Bytes of a text that a light function goes over in a step: checksums take 30 to 190 nanoseconds for them, and
/// `replace` 210.
const LIGHT_BYTES: usize = 64;

/// Elements that a light function goes over in a step; it copies or compares them, and makes nothing new.
const LIGHT_ELEMENTS: usize = 16;

/// Bytes of a text that a heavy function goes over in a step: `upper` takes 140 nanoseconds for them, `swapcase` 510.
const HEAVY_BYTES: usize = 8;

/// What an element costs a heavy function, in steps; it is written, or made anew with its place in memory.
const HEAVY_STEPS_PER_ELEMENT: u64 = 2;

/// Bytes that any function returns in a step: they are memory, and have been copied at least.
const RESULT_BYTES: usize = 1024;

/// Elements of a list that any function returns in a step.
const RESULT_ELEMENTS: usize = 16;

/// A map that a function returns is so many steps: it takes hundreds of bytes even when it is small.
const STEPS_PER_MAP: u64 = 20;

/// Values may contain themselves. Functions refuse what is deeper than this, and read no further.
const MAX_DEPTH: usize = 1_000;

/// Returns the work that a call is before it has run.
///
/// Counting ends soon above `most`: lists that hold the same list many times have more elements than fit in any memory.
pub(crate) fn before(function: &Function, receiver: &Value, arguments: &[Value], most: u64) -> u64 {
    if function.effort == Effort::Fixed {
        return 0;
    }
    let mut work = Work { units: 0, most };
    for value in std::iter::once(receiver).chain(arguments) {
        match function.effort {
            Effort::Fixed => {}
            Effort::Light => work.add(light(value)),
            Effort::Heavy => work.heavy(value, 0),
        }
    }
    work.units
}

/// Returns the work that the result of a call stands for, which also bounds memory.
pub(crate) fn after(function: &Function, result: &Value) -> u64 {
    match result {
        Value::String(text) | Value::Bytes(text) => match function.effort {
            Effort::Heavy => in_steps(text.len(), HEAVY_BYTES),
            _ => in_steps(text.len(), RESULT_BYTES),
        },
        Value::List(list) => 1 + in_steps(list.len(), RESULT_ELEMENTS),
        Value::Map(_) => STEPS_PER_MAP,
        _ => 0,
    }
}

/// Returns the work of printing a value with everything in it.
pub(crate) fn of_printing(value: &Value, most: u64) -> u64 {
    match value {
        Value::String(text) => in_steps(text.len(), RESULT_BYTES),
        other => {
            let mut work = Work { units: 0, most };
            work.heavy(other, 0);
            work.units
        }
    }
}

/// Returns the work of looking at so many elements of a map or a list, or at so many variables.
pub(crate) fn of_elements(count: usize) -> u64 {
    in_steps(count, LIGHT_ELEMENTS)
}

/// Returns the work of parsing a text, or of another function that is heavy.
pub(crate) fn of_heavy_text(bytes: usize) -> u64 {
    in_steps(bytes, HEAVY_BYTES)
}

/// Returns the work of going over a text once.
pub(crate) fn of_light_text(bytes: usize) -> u64 {
    in_steps(bytes, LIGHT_BYTES)
}

fn in_steps(amount: usize, in_a_step: usize) -> u64 {
    (amount / in_a_step) as u64
}

fn light(value: &Value) -> u64 {
    match value {
        Value::String(text) => in_steps(text.len(), LIGHT_BYTES),
        // To functions for lists these are elements, each made anew.
        Value::Bytes(bytes) => in_steps(bytes.len(), LIGHT_ELEMENTS),
        Value::List(list) => in_steps(list.len(), LIGHT_ELEMENTS),
        Value::Map(map) => in_steps(map.len(), LIGHT_ELEMENTS),
        _ => 0,
    }
}

/// Work that is being counted.
struct Work {
    units: u64,
    most: u64,
}

impl Work {
    fn add(&mut self, units: u64) {
        self.units = self.units.saturating_add(units);
    }

    fn heavy(&mut self, value: &Value, depth: usize) {
        if depth > MAX_DEPTH || self.units > self.most {
            return;
        }
        match value {
            Value::String(text) => self.add(in_steps(text.len(), HEAVY_BYTES)),
            Value::Bytes(bytes) => self.add(in_steps(bytes.len(), HEAVY_BYTES)),
            Value::List(list) => stack::with_room(|| {
                for item in list.iter() {
                    self.element(item, depth);
                }
            }),
            Value::Map(map) => stack::with_room(|| {
                for (key, item) in map.borrow().iter() {
                    self.add(in_steps(key.len(), HEAVY_BYTES));
                    self.element(item, depth);
                }
            }),
            _ => {}
        }
    }

    fn element(&mut self, item: &Value, depth: usize) {
        if self.units <= self.most {
            self.add(HEAVY_STEPS_PER_ELEMENT);
            self.heavy(item, depth + 1);
        }
    }
}
