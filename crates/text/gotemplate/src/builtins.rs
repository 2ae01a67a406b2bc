//! Go's own functions: comparison is in `compare`, escaping in `escape`, printing in `format`.

use crate::compare;
use crate::escape;
use crate::evaluate::{is_assignable, zero};
use crate::format;
use crate::function::{Call, Failure, Function};
use crate::types::{IntegerKind, Kind, Type};
use crate::value::{Integer, List, Text, Value};

/// `and`: the executor evaluates its arguments itself, no further than needed.
pub(crate) static AND: Function =
    Function::variadic("and", &[Type::Reflect], Type::Reflect, handled_by_executor).fixed();
/// `or`: as [`AND`].
pub(crate) static OR: Function =
    Function::variadic("or", &[Type::Reflect], Type::Reflect, handled_by_executor).fixed();
/// `call`: the executor calls the function value.
pub(crate) static CALL: Function =
    Function::variadic("call", &[Type::Reflect], Type::Reflect, handled_by_executor).fixed();

static NOT: Function = Function::new("not", &[Type::Reflect], not).fixed();
static LEN: Function = Function::new("len", &[Type::Reflect], length).fixed();
static INDEX: Function = Function::variadic("index", &[Type::Reflect], Type::Reflect, index).fixed();
static SLICE: Function = Function::variadic("slice", &[Type::Reflect], Type::Reflect, slice).fixed();
static HTML: Function = Function::variadic("html", &[], Type::Any, html).heavy();
static JS: Function = Function::variadic("js", &[], Type::Any, js).heavy();
static URLQUERY: Function = Function::variadic("urlquery", &[], Type::Any, urlquery).heavy();
static PRINT: Function = Function::variadic("print", &[], Type::Any, print).heavy();
static PRINTF: Function = Function::variadic("printf", &[Type::String], Type::Any, printf).heavy();
static PRINTLN: Function = Function::variadic("println", &[], Type::Any, println).heavy();
static EQ: Function = Function::variadic("eq", &[Type::Reflect], Type::Reflect, eq);
static NE: Function = Function::new("ne", &[Type::Reflect, Type::Reflect], ne);
static LT: Function = Function::new("lt", &[Type::Reflect, Type::Reflect], lt);
static LE: Function = Function::new("le", &[Type::Reflect, Type::Reflect], le);
static GT: Function = Function::new("gt", &[Type::Reflect, Type::Reflect], gt);
static GE: Function = Function::new("ge", &[Type::Reflect, Type::Reflect], ge);

/// All of Go's functions.
pub(crate) static FUNCTIONS: [&Function; 19] = [
    &AND, &OR, &CALL, &NOT, &LEN, &INDEX, &SLICE, &HTML, &JS, &URLQUERY, &PRINT, &PRINTF, &PRINTLN, &EQ, &NE,
    &LT, &LE, &GT, &GE,
];

type Result = std::result::Result<Value, Failure>;

fn handled_by_executor(_: &mut Call<'_, '_>) -> Result {
    Err("is evaluated by the executor".into())
}

/// Takes a value out of the interface that it is in: a nil interface becomes no value.
pub(crate) fn without_interface(value: Value) -> Value {
    match value {
        Value::TypedNil(Type::Any) => Value::Nil,
        other => other,
    }
}

fn operand(call: &mut Call<'_, '_>, index: usize) -> Value {
    without_interface(call.take(index))
}

fn not(call: &mut Call<'_, '_>) -> Result {
    Ok(Value::Bool(!operand(call, 0).truth()))
}

fn length(call: &mut Call<'_, '_>) -> Result {
    let item = call.take(0);
    let length = match &item {
        Value::Nil => return Err("reflect: call of reflect.Value.Type on zero Value".into()),
        Value::TypedNil(nil) if matches!(nil.kind(), Kind::Interface | Kind::Pointer) => {
            return Err("len of nil pointer".into());
        }
        Value::TypedNil(nil) if matches!(nil.kind(), Kind::Map | Kind::Slice) => 0,
        Value::String(text) | Value::Bytes(text) => text.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        other => return Err(format!("len of type {}", dereferenced_type_name(other)).into()),
    };
    Ok(Value::int(length as i64))
}

/// Names the type that a pointer points to, or the value's own.
fn dereferenced_type_name(value: &Value) -> String {
    let name = value.type_name();
    name.strip_prefix('*').map(str::to_owned).unwrap_or(name)
}

/// Reads a slice index; `limit` itself is allowed, as in Go, where looking up then fails in its own words.
fn index_argument(index: &Value, limit: usize) -> std::result::Result<usize, Failure> {
    match index {
        Value::Integer(integer) => {
            let wide = integer.wide();
            usize::try_from(wide)
                .ok()
                .filter(|index| *index <= limit)
                .ok_or_else(|| format!("index out of range: {wide}").into())
        }
        Value::Nil => Err("cannot index slice/array with nil".into()),
        other => Err(format!("cannot index slice/array with type {}", other.type_name()).into()),
    }
}

/// Fits a value to a type as Go does for map keys and the arguments of `call`.
pub(crate) fn prepare(value: &mut Value, wanted: Type) -> std::result::Result<(), String> {
    match (&*value, wanted) {
        (Value::Nil, _) if wanted.can_be_nil() => *value = zero(wanted),
        (Value::Nil, _) => return Err(format!("value is nil; should be of type {wanted}")),
        (other, _) if is_assignable(other, wanted) => {}
        (Value::Integer(integer), Type::Integer(kind)) => {
            *value = Value::Integer(Integer {
                kind,
                bits: integer.bits,
            });
        }
        (other, _) => {
            return Err(format!(
                "value has type {}; should be {wanted}",
                other.type_name()
            ));
        }
    }
    Ok(())
}

fn index(call: &mut Call<'_, '_>) -> Result {
    let mut item = operand(call, 0);
    if let Value::Nil = item {
        return Err("index of untyped nil".into());
    }
    for position in 1..call.arguments.len() {
        let mut key = operand(call, position);
        item = match &item {
            Value::Nil => return Err("index of nil pointer".into()),
            Value::TypedNil(nil) if nil.kind() == Kind::Pointer => return Err("index of nil pointer".into()),
            Value::TypedNil(nil) if nil.kind() == Kind::Map => {
                prepare(&mut key, Type::String)?;
                Value::Nil
            }
            Value::TypedNil(nil) if nil.kind() == Kind::Slice => {
                index_argument(&key, 0)?;
                return Err("reflect: slice index out of range".into());
            }
            Value::List(list) => {
                let at = index_argument(&key, list.len())?;
                list.get(at).cloned().ok_or("reflect: slice index out of range")?
            }
            Value::Bytes(bytes) => {
                let at = index_argument(&key, bytes.len())?;
                byte_at(bytes, at).ok_or("reflect: slice index out of range")?
            }
            Value::String(text) => {
                let at = index_argument(&key, text.len())?;
                byte_at(text, at).ok_or("reflect: string index out of range")?
            }
            Value::Map(map) => {
                prepare(&mut key, Type::String)?;
                let key = key.as_text().cloned().unwrap_or_default();
                if let Some(observer) = call.executor.observer {
                    observer.reads(map, &key);
                }
                map.get(key).unwrap_or_else(|| zero(map.element()))
            }
            other => {
                return Err(format!("can't index item of type {}", dereferenced_type_name(other)).into());
            }
        };
    }
    Ok(item)
}

fn byte_at(text: &Text, index: usize) -> Option<Value> {
    let byte = text.get(index)?;
    Some(Value::Integer(Integer::signed(
        IntegerKind::Uint8,
        i64::from(*byte),
    )))
}

fn slice(call: &mut Call<'_, '_>) -> Result {
    let item = operand(call, 0);
    let indexes = call.arguments.len() - 1;
    match &item {
        Value::Nil => return Err("slice of untyped nil".into()),
        Value::TypedNil(nil) if nil.kind() == Kind::Pointer => return Err("slice of nil pointer".into()),
        _ => {}
    }
    if indexes > 3 {
        return Err(format!("too many slice indexes: {indexes}").into());
    }
    let length = match &item {
        Value::String(_) if indexes == 3 => return Err("cannot 3-index slice a string".into()),
        Value::String(text) | Value::Bytes(text) => text.len(),
        Value::List(list) => list.len(),
        Value::TypedNil(nil) if nil.kind() == Kind::Slice => 0,
        other => return Err(format!("can't slice item of type {}", dereferenced_type_name(other)).into()),
    };
    let mut bounds = [0, length, length];
    for (bound, position) in bounds.iter_mut().zip(1..=indexes) {
        *bound = index_argument(&operand(call, position), length)?;
    }
    let [start, end, capacity] = bounds;
    for (low, high) in [(start, end), (end, capacity)] {
        if low > high {
            return Err(format!("invalid slice index: {low} > {high}").into());
        }
    }
    Ok(match &item {
        Value::String(text) => Value::String(Text::from(&text[start..end])),
        Value::Bytes(bytes) => Value::Bytes(Text::from(&bytes[start..end])),
        Value::List(list) => Value::List(List::of(list.element(), list[start..end].to_vec())),
        _ => item,
    })
}

/// The text that the escaping functions work on: a single string as it is, anything else printed.
fn printed_arguments(call: &Call<'_, '_>) -> Text {
    match call.arguments.as_slice() {
        [Value::String(text)] => text.clone(),
        arguments => {
            let printable = |argument: &Value| match argument {
                Value::Nil => Value::from("<no value>"),
                other => other.clone(),
            };
            Text::from(format::print(
                &arguments.iter().map(printable).collect::<Vec<_>>(),
            ))
        }
    }
}

fn html(call: &mut Call<'_, '_>) -> Result {
    check_printed(call)?;
    Ok(Value::string(escape::html(&printed_arguments(call))))
}

fn js(call: &mut Call<'_, '_>) -> Result {
    check_printed(call)?;
    Ok(Value::string(escape::javascript(&printed_arguments(call))))
}

fn urlquery(call: &mut Call<'_, '_>) -> Result {
    check_printed(call)?;
    Ok(Value::string(escape::url_query(&printed_arguments(call))))
}

/// The most bytes of text that one call may print: doubling a text in a loop must end before memory does.
const MAX_PRINTED_BYTES: usize = 32 << 20;

/// Refuses to print more than is sensible, before it is printed.
fn check_printed(call: &Call<'_, '_>) -> std::result::Result<(), Failure> {
    let texts = call.arguments.iter().filter_map(Value::as_text);
    let bytes: usize = texts.map(|text| text.len()).sum();
    if bytes > MAX_PRINTED_BYTES {
        return Err(format!("text of {bytes} bytes exceeds the limit of {MAX_PRINTED_BYTES}").into());
    }
    Ok(())
}

fn print(call: &mut Call<'_, '_>) -> Result {
    check_printed(call)?;
    Ok(Value::string(format::print(&call.arguments)))
}

fn printf(call: &mut Call<'_, '_>) -> Result {
    check_printed(call)?;
    Ok(Value::string(format::sprintf(
        &call.text(0),
        &call.arguments[1..],
    )))
}

fn println(call: &mut Call<'_, '_>) -> Result {
    check_printed(call)?;
    Ok(Value::string(format::println(&call.arguments)))
}

fn eq(call: &mut Call<'_, '_>) -> Result {
    let dialect = call.executor.options.dialect;
    let first = operand(call, 0);
    if call.arguments.len() < 2 {
        return Err("missing argument for comparison".into());
    }
    for position in 1..call.arguments.len() {
        if compare::equal(&first, &operand(call, position), dialect)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn ne(call: &mut Call<'_, '_>) -> Result {
    let dialect = call.executor.options.dialect;
    Ok(Value::Bool(!compare::equal(
        &operand(call, 0),
        &operand(call, 1),
        dialect,
    )?))
}

fn lt(call: &mut Call<'_, '_>) -> Result {
    let dialect = call.executor.options.dialect;
    Ok(Value::Bool(compare::less(
        &operand(call, 0),
        &operand(call, 1),
        dialect,
    )?))
}

/// `le` is `lt` or `eq`, in this order, which decides about NaN and about errors.
fn less_or_equal(call: &mut Call<'_, '_>) -> std::result::Result<bool, Failure> {
    let dialect = call.executor.options.dialect;
    let (left, right) = (operand(call, 0), operand(call, 1));
    Ok(compare::less(&left, &right, dialect)? || compare::equal(&left, &right, dialect)?)
}

fn le(call: &mut Call<'_, '_>) -> Result {
    less_or_equal(call).map(Value::Bool)
}

fn gt(call: &mut Call<'_, '_>) -> Result {
    less_or_equal(call).map(|less_or_equal| Value::Bool(!less_or_equal))
}

fn ge(call: &mut Call<'_, '_>) -> Result {
    let dialect = call.executor.options.dialect;
    Ok(Value::Bool(!compare::less(
        &operand(call, 0),
        &operand(call, 1),
        dialect,
    )?))
}
