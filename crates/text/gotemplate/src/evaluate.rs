//! Evaluates pipelines: constants, fields, variables, function and method calls, with Go's type rules.

use crate::builtins;
use crate::error::Cause;
use crate::execute::{Executor, Frame, MissingKey, Reflected, Result};
use crate::format;
use crate::function::{Call, Failure, Function};
use crate::node::{At, Command, Number, Operand, Pipeline, Term};
use crate::types::{Kind, Type};
use crate::value::{Text, Value};
use crate::work;

/// What is given to a field, method or function: its own arguments, and the previous command's value.
#[derive(Clone, Copy)]
struct Given<'template, 'value> {
    arguments: &'template [Operand],
    last: Option<&'value Reflected>,
}

impl Given<'_, '_> {
    const NONE: Given<'static, 'static> = Given {
        arguments: &[],
        last: None,
    };

    fn is_empty(self) -> bool {
        self.arguments.is_empty() && self.last.is_none()
    }
}

impl Executor<'_> {
    pub(crate) fn evaluate_pipeline<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Reflected,
        pipeline: &'t Pipeline,
    ) -> Result<Reflected> {
        frame.at = Some(At::Pipeline(pipeline));
        let mut value: Option<Reflected> = None;
        for command in &pipeline.commands {
            let result = self.evaluate_command(frame, dot, command, value.as_ref())?;
            value = Some(Reflected::plain(result.value));
        }
        let value = value.unwrap_or_default();
        let looked_at = frame.declare(pipeline, &value)?;
        self.charge(frame, work::of_elements(looked_at))?;
        Ok(value)
    }

    fn evaluate_command<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Reflected,
        command: &'t Command,
        last: Option<&Reflected>,
    ) -> Result<Reflected> {
        let head = &command.head;
        let given = Given {
            arguments: &command.arguments,
            last,
        };
        match &head.term {
            Term::Field(fields) => {
                frame.at = Some(At::Operand(head));
                self.field_chain(frame, dot, dot.clone(), head, fields, given)
            }
            Term::Chain { operand, fields } => self.chain(frame, dot, head, operand, fields, given),
            Term::Function(function) => {
                self.function(frame, dot, head, At::Command(command), function, given)
            }
            Term::Pipeline(pipeline) => {
                not_a_function(frame, head, given)?;
                crate::stack::with_room(|| self.evaluate_pipeline(frame, dot, pipeline))
            }
            Term::Variable { name, fields } => self.variable(frame, dot, head, name, fields, given),
            term => {
                frame.at = Some(At::Operand(head));
                not_a_function(frame, head, given)?;
                match term {
                    Term::Bool(value) => Ok(Reflected::plain(Value::Bool(*value))),
                    Term::Dot => Ok(dot.clone()),
                    Term::Number(number) => constant(frame, number).map(Reflected::plain),
                    Term::String { text, .. } => Ok(Reflected::plain(Value::String(text.clone()))),
                    _ => Err(frame.fail("nil is not a command")),
                }
            }
        }
    }

    fn chain<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Reflected,
        node: &'t Operand,
        operand: &'t Operand,
        fields: &'t [Text],
        given: Given<'t, '_>,
    ) -> Result<Reflected> {
        frame.at = Some(At::Operand(node));
        let receiver = self.operand(frame, dot, operand)?;
        self.field_chain(frame, dot, receiver, node, fields, given)
    }

    /// Evaluates an operand for its own sake, without a type that it has to fit.
    fn operand<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Reflected,
        operand: &'t Operand,
    ) -> Result<Reflected> {
        frame.at = Some(At::Operand(operand));
        match &operand.term {
            Term::Pipeline(pipeline) => {
                crate::stack::with_room(|| self.evaluate_pipeline(frame, dot, pipeline))
            }
            Term::Function(function) => {
                self.function(frame, dot, operand, At::Operand(operand), function, Given::NONE)
            }
            Term::Field(fields) => self.field_chain(frame, dot, dot.clone(), operand, fields, Given::NONE),
            Term::Variable { name, fields } => self.variable(frame, dot, operand, name, fields, Given::NONE),
            Term::Chain {
                operand: inner,
                fields,
            } => self.chain(frame, dot, operand, inner, fields, Given::NONE),
            Term::Dot => Ok(dot.clone()),
            Term::Bool(value) => Ok(Reflected::plain(Value::Bool(*value))),
            Term::Number(number) => constant(frame, number).map(Reflected::plain),
            Term::String { text, .. } => Ok(Reflected::plain(Value::String(text.clone()))),
            Term::Nil => Err(frame.fail(format!("indirection through explicit nil in {operand}"))),
        }
    }

    fn variable<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Reflected,
        node: &'t Operand,
        name: &str,
        fields: &'t [Text],
        given: Given<'t, '_>,
    ) -> Result<Reflected> {
        frame.at = Some(At::Operand(node));
        let Some((looked_at, value)) = frame.variable(name) else {
            return Err(frame.fail(format!("undefined variable: {name}")));
        };
        let value = value.clone();
        self.charge(frame, work::of_elements(looked_at))?;
        if fields.is_empty() {
            not_a_function(frame, node, given)?;
            return Ok(value);
        }
        self.field_chain(frame, dot, value, node, fields, given)
    }

    fn field_chain<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Reflected,
        mut receiver: Reflected,
        node: &'t Operand,
        fields: &'t [Text],
        given: Given<'t, '_>,
    ) -> Result<Reflected> {
        let Some((last, path)) = fields.split_last() else {
            return Ok(receiver);
        };
        for field in path {
            receiver = self.field(frame, dot, &receiver, node, field, Given::NONE)?;
        }
        self.field(frame, dot, &receiver, node, last, given)
    }

    /// Looks up a field, map entry or method.
    fn field<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Reflected,
        receiver: &Reflected,
        node: &'t Operand,
        name: &'t Text,
        given: Given<'t, '_>,
    ) -> Result<Reflected> {
        let shown = || name.to_str();
        let method = match &receiver.value {
            Value::Nil if receiver.in_interface => {
                return Err(frame.fail(format!("nil pointer evaluating interface {{}}.{}", shown())));
            }
            Value::Nil => {
                if self.options.missing_key == MissingKey::Error {
                    return Err(frame.fail(format!("nil data; no entry for key {}", format::quoted(name))));
                }
                return Ok(Reflected::default());
            }
            Value::TypedNil(nil) => {
                return match nil.kind() {
                    Kind::Pointer => Err(frame.fail(format!("nil pointer evaluating {nil}.{}", shown()))),
                    Kind::Map => self.missing(frame, name, Type::Any),
                    _ => Err(cannot_evaluate(frame, name, receiver)),
                };
            }
            Value::Map(map) => map.named_type().and_then(|named| (named.method)(&shown())),
            Value::List(list) => list.named_type().and_then(|named| (named.method)(&shown())),
            Value::Object(object) => object.method(&shown()),
            _ => None,
        };
        if let Some(method) = method {
            return self.call(
                frame,
                dot,
                At::Operand(node),
                method,
                receiver.value.clone(),
                given,
            );
        }
        match &receiver.value {
            Value::Map(map) => {
                if !given.is_empty() {
                    return Err(frame.fail(format!("{} is not a method but has arguments", shown())));
                }
                if let Some(observer) = self.observer {
                    observer.reads(map, name);
                }
                match map.get(name) {
                    Some(value) => Ok(Reflected::element(value, map.element())),
                    None => self.missing(frame, name, map.element()),
                }
            }
            Value::Object(object) => match object.field(&shown()) {
                Some(_) if !given.is_empty() => Err(frame.fail(format!(
                    "{} has arguments but cannot be invoked as function",
                    shown()
                ))),
                Some(value) => Ok(Reflected::plain(value)),
                None => Err(cannot_evaluate(frame, name, receiver)),
            },
            _ => Err(cannot_evaluate(frame, name, receiver)),
        }
    }

    /// Returns what a missing key gives, in a map with this element type.
    fn missing(&self, frame: &Frame<'_>, name: &Text, element: Type) -> Result<Reflected> {
        match self.options.missing_key {
            MissingKey::Invalid => Ok(Reflected::default()),
            MissingKey::Zero => Ok(Reflected::element(zero(element), element)),
            MissingKey::Error => {
                Err(frame.fail(format!("map has no entry for key {}", format::quoted(name))))
            }
        }
    }

    fn function<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Reflected,
        node: &'t Operand,
        call_node: At<'t>,
        function: &'static Function,
        given: Given<'t, '_>,
    ) -> Result<Reflected> {
        frame.at = Some(At::Operand(node));
        self.call(frame, dot, call_node, function, Value::Nil, given)
    }

    /// Checks the arguments against the signature, in Go's order, and calls.
    fn call<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Reflected,
        node: At<'t>,
        function: &'static Function,
        receiver: Value,
        given: Given<'t, '_>,
    ) -> Result<Reflected> {
        self.charge(frame, 1)?;
        let name = function.name;
        let fixed = function.parameters.len();
        let count = given.arguments.len() + usize::from(given.last.is_some());
        if function.variadic.is_some() {
            if count < fixed {
                return Err(frame.fail(format!(
                    "wrong number of args for {name}: want at least {fixed} got {}",
                    given.arguments.len()
                )));
            }
        } else if count != fixed {
            return Err(frame.fail(format!(
                "wrong number of args for {name}: want {fixed} got {count}"
            )));
        }
        if std::ptr::eq(function, &raw const builtins::AND) || std::ptr::eq(function, &raw const builtins::OR)
        {
            let stop_at = std::ptr::eq(function, &raw const builtins::OR);
            return self.and_or(frame, dot, given, stop_at).map(Reflected::plain);
        }
        let parameter = |index: usize| {
            function
                .parameters
                .get(index)
                .copied()
                .or(function.variadic)
                .unwrap_or(Type::Any)
        };
        let mut arguments = Vec::with_capacity(count);
        for (index, operand) in given.arguments.iter().enumerate() {
            arguments.push(self.argument(frame, dot, parameter(index), operand)?);
        }
        if let Some(last) = given.last {
            arguments.push(assign(frame, last, parameter(given.arguments.len()))?);
        }
        let result = if std::ptr::eq(function, &raw const builtins::CALL) {
            let callee = given
                .arguments
                .first()
                .map(ToString::to_string)
                .unwrap_or_default();
            self.call_value(&callee, arguments)
        } else {
            if let Err(message) = self.charge_before(function, &receiver, &arguments) {
                frame.at = Some(node);
                return Err(frame.fail(message));
            }
            (function.body)(&mut Call {
                receiver,
                arguments,
                executor: self,
            })
        };
        match result {
            Ok(value) => {
                self.charge(frame, work::after(function, &value))?;
                // Only a function that returns an interface can return nothing.
                let in_interface = matches!(value, Value::Nil);
                Ok(Reflected { value, in_interface })
            }
            Err(failure) => {
                frame.at = Some(node);
                Err(frame.fail_with(Cause::Call {
                    function: name.to_owned(),
                    failure: Box::new(failure),
                }))
            }
        }
    }

    /// `and` and `or` evaluate no further than they need.
    fn and_or<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Reflected,
        given: Given<'t, '_>,
        stop_at: bool,
    ) -> Result<Value> {
        let mut value = Value::Nil;
        for operand in given.arguments {
            value = self.argument(frame, dot, Type::Reflect, operand)?;
            if value.truth() == stop_at {
                return Ok(builtins::without_interface(value));
            }
        }
        if let Some(last) = given.last {
            value = last.value.clone();
        }
        Ok(builtins::without_interface(value))
    }

    /// The built-in `call`: calls a function that is a value.
    fn call_value(&mut self, callee: &str, mut arguments: Vec<Value>) -> std::result::Result<Value, Failure> {
        let function = match builtins::without_interface(arguments.remove(0)) {
            Value::Function(function) => function,
            Value::Nil => return Err("call of nil".into()),
            other => {
                return Err(format!("non-function {callee} of type {}", other.type_name()).into());
            }
        };
        let fixed = function.parameters.len();
        let given = arguments.len();
        if function.variadic.is_some() && given < fixed {
            return Err(
                format!("wrong number of args for {callee}: got {given} want at least {fixed}").into(),
            );
        }
        if function.variadic.is_none() && given != fixed {
            return Err(format!("wrong number of args for {callee}: got {given} want {fixed}").into());
        }
        for (index, argument) in arguments.iter_mut().enumerate() {
            let parameter = function
                .parameters
                .get(index)
                .copied()
                .or(function.variadic)
                .unwrap_or(Type::Any);
            builtins::prepare(argument, parameter).map_err(|message| format!("arg {index}: {message}"))?;
        }
        self.charge_before(function, &Value::Nil, &arguments)?;
        (function.body)(&mut Call {
            receiver: Value::Nil,
            arguments,
            executor: self,
        })
    }

    /// Evaluates an argument for a parameter of a type.
    fn argument<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Reflected,
        parameter: Type,
        operand: &'t Operand,
    ) -> Result<Value> {
        frame.at = Some(At::Operand(operand));
        match &operand.term {
            Term::Dot
            | Term::Field(_)
            | Term::Variable { .. }
            | Term::Pipeline(_)
            | Term::Function(_)
            | Term::Chain { .. } => {
                let value = self.operand(frame, dot, operand)?;
                assign(frame, &value, parameter)
            }
            Term::Nil => {
                if parameter.can_be_nil() {
                    Ok(nil_of(parameter))
                } else {
                    Err(frame.fail(format!("cannot assign nil to {parameter}")))
                }
            }
            term => literal(frame, operand, term, parameter),
        }
    }
}

/// Fits a literal to the type of a parameter.
fn literal(frame: &Frame<'_>, operand: &Operand, term: &Term, parameter: Type) -> Result<Value> {
    let expected = |what: &str| Err(frame.fail(format!("expected {what}; found {operand}")));
    match parameter.kind() {
        Kind::Bool => match term {
            Term::Bool(value) => Ok(Value::Bool(*value)),
            _ => expected("bool"),
        },
        Kind::String => match term {
            Term::String { text, .. } => Ok(Value::String(text.clone())),
            _ => expected("string"),
        },
        Kind::Float64 => match term {
            Term::Number(number) if number.float.is_some() => {
                Ok(Value::Float(number.float.unwrap_or_default()))
            }
            _ => expected("float"),
        },
        Kind::Integer(kind) if kind.is_unsigned() => match term {
            Term::Number(number) if number.unsigned.is_some() => Ok(Value::Integer(crate::value::Integer {
                kind,
                bits: number.unsigned.unwrap_or_default() as i64,
            })),
            _ => expected("unsigned integer"),
        },
        Kind::Integer(kind) => match term {
            Term::Number(number) if number.integer.is_some() => Ok(Value::Integer(
                crate::value::Integer::signed(kind, number.integer.unwrap_or_default()),
            )),
            _ => expected("integer"),
        },
        Kind::Complex128 => match term {
            Term::Number(number) if number.complex.is_some() => {
                let (real, imaginary) = number.complex.unwrap_or_default();
                Ok(Value::Complex(real, imaginary))
            }
            _ => expected("complex"),
        },
        _ if matches!(parameter, Type::Any | Type::Reflect) => match term {
            Term::Bool(value) => Ok(Value::Bool(*value)),
            Term::Number(number) => constant(frame, number),
            Term::String { text, .. } => Ok(Value::String(text.clone())),
            _ => Err(frame.fail(format!(
                "can't handle assignment of {operand} to empty interface argument"
            ))),
        },
        _ => Err(frame.fail(format!("can't handle {operand} for arg of type {parameter}"))),
    }
}

/// Gives a numeric constant the type that it has on its own.
fn constant(frame: &Frame<'_>, number: &Number) -> Result<Value> {
    let text = &number.text;
    if let Some((real, imaginary)) = number.complex {
        return Ok(Value::Complex(real, imaginary));
    }
    let is_hexadecimal_integer =
        (text.starts_with("0x") || text.starts_with("0X")) && !text.contains(['p', 'P']);
    if let Some(float) = number.float
        && !is_hexadecimal_integer
        && !text.starts_with('\'')
        && text.contains(['.', 'e', 'E', 'p', 'P'])
    {
        return Ok(Value::Float(float));
    }
    match number.integer {
        Some(integer) => Ok(Value::int(integer)),
        None => Err(frame.fail(format!("{text} overflows int"))),
    }
}

fn not_a_function(frame: &Frame<'_>, head: &Operand, given: Given<'_, '_>) -> Result<()> {
    if given.is_empty() {
        return Ok(());
    }
    Err(frame.fail(format!("can't give argument to non-function {head}")))
}

fn cannot_evaluate(
    frame: &Frame<'_>,
    name: &Text,
    receiver: &Reflected,
) -> Box<crate::error::ExecutionError> {
    frame.fail(format!(
        "can't evaluate field {} in type {}",
        name.to_str(),
        receiver.type_name()
    ))
}

/// Returns nil as a value of a type that can be nil.
fn nil_of(parameter: Type) -> Value {
    match parameter {
        Type::Any | Type::Reflect => Value::Nil,
        other => Value::TypedNil(other),
    }
}

/// Returns the zero value of a type.
pub(crate) fn zero(of: Type) -> Value {
    match of {
        Type::Bool => Value::Bool(false),
        Type::Integer(kind) => Value::Integer(crate::value::Integer::signed(kind, 0)),
        Type::Float64 => Value::Float(0.0),
        Type::String => Value::String(Text::default()),
        other => nil_of(other),
    }
}

/// Fits a value to the type of a parameter, as Go's `validateType` does.
fn assign(frame: &Frame<'_>, value: &Reflected, parameter: Type) -> Result<Value> {
    if let Value::Nil = value.value {
        match parameter {
            // Go's built-in `len` tells a nil interface from no value at all.
            Type::Reflect if value.in_interface => return Ok(Value::TypedNil(Type::Any)),
            Type::Any | Type::Reflect => return Ok(Value::Nil),
            _ => {}
        }
        if value.in_interface {
            return Err(frame.fail(format!(
                "wrong type for value; expected {parameter}; got interface {{}}"
            )));
        }
        if parameter.can_be_nil() {
            return Ok(nil_of(parameter));
        }
        return Err(frame.fail(format!("invalid value; expected {parameter}")));
    }
    if is_assignable(&value.value, parameter) {
        return Ok(value.value.clone());
    }
    Err(frame.fail(format!(
        "wrong type for value; expected {parameter}; got {}",
        value.value.type_name()
    )))
}

/// Returns whether Go would take the value for a parameter of this type.
pub(crate) fn is_assignable(value: &Value, parameter: Type) -> bool {
    match (parameter, value) {
        (Type::Any | Type::Reflect, _)
        | (Type::Bool, Value::Bool(_))
        | (Type::Float64, Value::Float(_))
        | (Type::String, Value::String(_))
        | (Type::Bytes, Value::Bytes(_)) => true,
        (Type::Integer(kind), Value::Integer(integer)) => integer.kind == kind,
        (Type::List, Value::List(list)) => list.element() == Type::Any,
        (Type::Strings, Value::List(list)) => list.element() == Type::String,
        (Type::Map, Value::Map(map)) => map.element() == Type::Any,
        (_, Value::TypedNil(nil)) => *nil == parameter,
        // A pointer is followed where the struct is wanted.
        (Type::Named(name, _), value) => {
            let actual = value.type_name();
            actual == name || actual.strip_prefix('*') == Some(name)
        }
        _ => false,
    }
}

/// Shows a value in messages as `%s` does.
pub(crate) fn shown_as_text(value: &Value) -> String {
    String::from_utf8_lossy(&format::sprintf(b"%s", std::slice::from_ref(value))).into_owned()
}
