//! TOML to and from values, as BurntSushi's library reads and writes it.
//!
//! ```text
//! text ─ characters ─► parser ─► document (tables, what is defined already) ─► values
//! values ─ writer ─► text
//! ```

mod characters;
mod document;
mod key;
mod numbers;
mod parser;
mod writer;

use gotemplate::{Failure, Function, Type, Value};

use super::generic::error_map;
use super::limits;
use crate::source;
use crate::time::Location;

pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("toToml", &[Type::Any], |call| {
        let value = call.take(0);
        check(&value)?;
        match writer::write(&value) {
            Ok(text) => limits::text(text),
            // Helm's function returns the text of the error.
            Err(error) => limits::text(error.to_string().into_bytes()),
        }
    }),
    // Helm has this one from 3.18 on.
    Function::new("mustToToml", &[Type::Any], |call| {
        let value = call.take(0);
        check(&value)?;
        limits::text(writer::write(&value)?)
    }),
    Function::new("fromToml", &[Type::String], |call| {
        let local = Location::local(call);
        // Times without a zone get the offset that is in force now, whatever it was then.
        let offset = local.offset_at(source::of(call).now().as_second());
        let zones = parser::Zones { local, offset };
        Ok(match parser::parse(&call.text(0), &zones) {
            Ok(value) => value,
            Err(error) => error_map(error.to_string()),
        })
    }),
];

fn check(value: &Value) -> Result<(), Failure> {
    match value {
        Value::Nil => Err("reflect: call of reflect.Value.Type on zero Value".into()),
        _ => Ok(()),
    }
}
