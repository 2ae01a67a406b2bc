//! Functions and methods that templates can call: signature, arguments, failures.

use std::fmt;

use crate::error::ExecutionError;
use crate::execute::Executor;
use crate::types::Type;
use crate::value::{List, Map, Text, Value};
use crate::work::{self, Effort};

/// A function or method with the signature that Go's reflection would see.
pub struct Function {
    /// The name in templates.
    pub name: &'static str,
    /// The types of the fixed parameters.
    pub parameters: &'static [Type],
    /// The element type of the variadic parameter, where there is one.
    pub variadic: Option<Type>,
    /// How much it does with its arguments.
    pub effort: Effort,
    /// What it does; arguments have been checked against the signature.
    pub body: Body,
}

/// The code of a function.
pub type Body = fn(&mut Call<'_, '_>) -> Result<Value, Failure>;

impl Function {
    /// Describes a function with fixed parameters, which is light work.
    pub const fn new(name: &'static str, parameters: &'static [Type], body: Body) -> Function {
        Function {
            name,
            parameters,
            variadic: None,
            effort: Effort::Light,
            body,
        }
    }

    /// Describes a function whose last parameter takes any number of arguments; it is light work.
    pub const fn variadic(
        name: &'static str,
        parameters: &'static [Type],
        rest: Type,
        body: Body,
    ) -> Function {
        Function {
            name,
            parameters,
            variadic: Some(rest),
            effort: Effort::Light,
            body,
        }
    }

    /// Says that it costs the same whatever its arguments hold.
    #[must_use]
    pub const fn fixed(mut self) -> Function {
        self.effort = Effort::Fixed;
        self
    }

    /// Says that it works through everything that is in its arguments.
    #[must_use]
    pub const fn heavy(mut self) -> Function {
        self.effort = Effort::Heavy;
        self
    }

    /// Writes the type as Go prints it, without results.
    pub fn type_name(&self) -> String {
        let mut parameters: Vec<String> = self.parameters.iter().map(ToString::to_string).collect();
        parameters.extend(self.variadic.map(|rest| format!("...{rest}")));
        format!("func({})", parameters.join(", "))
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.name, self.type_name())
    }
}

/// One call: who it is called on, with what, and the executor for functions that render templates.
pub struct Call<'call, 'run> {
    /// The value that a method is called on; nil for functions.
    pub receiver: Value,
    /// The arguments, each assignable to its parameter's type (or nil where that type can be nil).
    pub arguments: Vec<Value>,
    /// The running execution.
    pub executor: &'call mut Executor<'run>,
}

impl Call<'_, '_> {
    /// Takes an argument, leaving nil.
    pub fn take(&mut self, index: usize) -> Value {
        self.arguments
            .get_mut(index)
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Returns a string argument; empty where it is not one.
    pub fn text(&self, index: usize) -> Text {
        self.arguments
            .get(index)
            .and_then(Value::as_text)
            .cloned()
            .unwrap_or_default()
    }

    /// Returns a string argument as UTF-8, with U+FFFD for what is not.
    pub fn string(&self, index: usize) -> String {
        self.text(index).to_str().into_owned()
    }

    /// Returns an integer argument; 0 where it is not one.
    pub fn integer(&self, index: usize) -> i64 {
        match self.arguments.get(index) {
            Some(Value::Integer(integer)) => integer.bits,
            _ => 0,
        }
    }

    /// Returns a boolean argument; false where it is not one.
    pub fn boolean(&self, index: usize) -> bool {
        matches!(self.arguments.get(index), Some(Value::Bool(true)))
    }

    /// Returns a map argument; none for a nil map.
    pub fn map(&self, index: usize) -> Option<Map> {
        self.arguments.get(index).and_then(Value::as_map).cloned()
    }

    /// Returns a list argument; none for a nil list.
    pub fn list(&self, index: usize) -> Option<List> {
        self.arguments.get(index).and_then(Value::as_list).cloned()
    }

    /// Counts work beyond that of a quick function, such as making a key; one unit is about 100 nanoseconds.
    pub fn charge(&mut self, units: u64) -> Result<(), Failure> {
        self.executor.charge_work(units).map_err(Failure::Message)
    }

    /// Counts the work of looking at so many elements, such as comparing each of them.
    pub fn charge_elements(&mut self, count: usize) -> Result<(), Failure> {
        self.charge(work::of_elements(count))
    }

    /// Counts the work of going over a text once, which is done with arguments for light functions.
    pub fn charge_text(&mut self, bytes: usize) -> Result<(), Failure> {
        self.charge(work::of_light_text(bytes))
    }

    /// Counts the work of parsing or encoding a text, which is done with arguments for heavy functions.
    pub fn charge_heavy_text(&mut self, bytes: usize) -> Result<(), Failure> {
        self.charge(work::of_heavy_text(bytes))
    }

    /// Counts the work of printing a value, for functions that are light or cost the same whatever they are given.
    pub fn charge_printing(&mut self, value: &Value) -> Result<(), Failure> {
        let left = self.executor.steps_left();
        self.charge(work::of_printing(value, left))
    }

    /// Returns the state that the program gave to the execution, when it is a `T`.
    pub fn host<T: 'static>(&self) -> Option<&T> {
        self.executor.host.downcast_ref()
    }
}

/// Why a function failed.
#[derive(Debug)]
pub enum Failure {
    /// The function's own words; Go's returned error or recovered panic.
    Message(String),
    /// A template that the function executed failed; `prefix` is what the function put before its text.
    Execution {
        /// Text before the inner error, such as `error during tpl function execution for "…": `.
        prefix: String,
        /// The inner error.
        error: Box<ExecutionError>,
    },
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Message(message) => formatter.write_str(message),
            Failure::Execution { prefix, error } => write!(formatter, "{prefix}{error}"),
        }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::Message(message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Failure {
        Failure::Message(message.to_owned())
    }
}

impl From<ExecutionError> for Failure {
    fn from(error: ExecutionError) -> Failure {
        Failure::Execution {
            prefix: String::new(),
            error: Box::new(error),
        }
    }
}
