//! Which body a call has, given the types that its arguments have when it runs.

use super::plan::{Call, Step};
use crate::check::Type;
use crate::check::functions::{Function, Overload};
use crate::library;
use crate::value::{Failure, Outcome, Value};

/// What is done when a function is called.
#[derive(Debug)]
pub(super) enum Body {
    /// One body for all types.
    Shared(library::Function),
    /// The body of one overload, after a look at the types.
    One(&'static Overload, library::Function),
    /// The first overload that fits.
    Any(&'static Function),
}

impl Body {
    pub(super) fn of(function: &'static Function, overload: Option<&str>) -> Result<Self, Failure> {
        if let Some(shared) = library::shared(function.name) {
            return Ok(Self::Shared(shared));
        }
        if let Some(overload) = overload
            && let Some(declared) = function.overloads.iter().find(|declared| declared.id == overload)
        {
            let body = library::overload(overload)
                .ok_or_else(|| Failure::new(format!("no such overload: {}(...)", function.name)))?;
            return Ok(Self::One(declared, body));
        }
        if function
            .overloads
            .iter()
            .all(|overload| library::overload(overload.id).is_none())
        {
            return Err(Failure::new(format!("no such overload: {}(...)", function.name)));
        }
        Ok(Self::Any(function))
    }
}

impl Call {
    /// Returns whether the arguments behind one that failed are not evaluated.
    pub(super) fn stops_early(&self) -> bool {
        self.arguments.len() > 2
            || matches!(self.body, Body::Any(_)) && self.arguments.len() > 1
            || self.overload == Some("string_format")
    }

    /// Calls the function.
    pub(super) fn invoke<'a>(&self, arguments: &[Value<'a>]) -> Outcome<'a> {
        match &self.body {
            Body::Shared(body) => body(arguments),
            Body::One(overload, body) if fits(overload, arguments) => body(arguments),
            Body::One(..) => Err(self.refused(arguments)),
            Body::Any(function) => {
                let found = function
                    .overloads
                    .iter()
                    .find(|overload| fits(overload, arguments));
                match found.and_then(|overload| library::overload(overload.id)) {
                    Some(body) => body(arguments),
                    None => Err(self.refused(arguments)),
                }
            }
        }
    }

    fn refused(&self, arguments: &[Value<'_>]) -> Failure {
        let types: Vec<&str> = arguments.iter().map(Value::type_name).collect();
        Failure::new(format!(
            "no such overload: {}({})",
            self.function,
            types.join(", ")
        ))
    }

    /// Calls the function while the expression is planned.
    pub(super) fn on_constants(&self) -> Outcome<'static> {
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for step in &self.arguments {
            match step {
                Step::Constant(value) => arguments.push(value.clone()),
                _ => return Err(Failure::no_such_overload()),
            }
        }
        self.invoke(&arguments)
    }
}

fn fits(overload: &Overload, arguments: &[Value<'_>]) -> bool {
    // The body of `flatten` looks at its arguments itself.
    overload.arguments.len() == arguments.len()
        && (overload.id.starts_with("list_flatten")
            || overload
                .arguments
                .iter()
                .zip(arguments)
                .all(|(wanted, found)| is_of(wanted, found)))
}

/// Returns whether a value is of a type. Of lists and maps, the first item speaks for all.
fn is_of(wanted: &Type, found: &Value<'_>) -> bool {
    match (wanted, found) {
        (Type::Dyn | Type::Parameter(_), _) => true,
        (Type::List(item), Value::List(list)) => match list.get(0) {
            Some(Ok(first)) => is_of(item, &first),
            Some(Err(_)) => false,
            None => true,
        },
        (Type::Map(both), Value::Map(map)) => match map.entries().into_iter().next() {
            Some((key, Ok(value))) => is_of(&both.0, &key) && is_of(&both.1, &value),
            Some(_) => false,
            None => true,
        },
        (wanted, found) => wanted.runtime_name() == found.type_name(),
    }
}
