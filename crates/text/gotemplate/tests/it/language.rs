//! The language, row by row: templates with the output or error text that Go's text/template 1.26 gives.

use std::sync::Arc;

use bytes::Bytes;
use gotemplate::{
    Call, Executor, Failure, Function, Functions, List, Map, Options, Parsed, Templates, Text, Type, Value,
    format,
};

static ADD: Function = Function::new("add", &[Type::INT, Type::INT], |call| {
    Ok(Value::int(call.integer(0) + call.integer(1)))
});
static UPPER: Function = Function::new("upper", &[Type::String], |call| {
    Ok(Value::from(call.string(0).to_uppercase()))
});
static BOOM: Function = Function::new("boom", &[], |_: &mut Call<'_, '_>| Err(Failure::from("boom 5%")));
static NOTHING: Function = Function::new("nothing", &[], |_| Ok(Value::Nil));
static JOIN: Function = Function::variadic("join", &[Type::String], Type::String, |call| {
    let words: Vec<String> = (1..call.arguments.len())
        .map(|index| call.string(index))
        .collect();
    Ok(Value::from(words.join(&call.string(0))))
});
static TYPED: Function = Function::new("typed", &[Type::Map], |call| {
    let map = call.map(0);
    Ok(Value::from(format!(
        "{} {}",
        map.is_none(),
        map.map_or(0, |map| map.len())
    )))
});

fn functions() -> Functions {
    let mut functions = Functions::default();
    functions.extend([&ADD, &UPPER, &BOOM, &NOTHING, &JOIN, &TYPED]);
    functions
}

fn data() -> Value {
    let list = |items| Value::List(List::new(items));
    let data = Map::new();
    data.insert("a", Value::from(1.0));
    data.insert("f", Value::from(2.5));
    data.insert("s", Value::from("text"));
    data.insert("empty", Value::from(""));
    data.insert("t", Value::from(true));
    data.insert("no", Value::from(false));
    data.insert("nil", Value::Nil);
    data.insert(
        "list",
        list(vec![
            Value::from(1.0),
            Value::from("two"),
            Value::from(3.5),
            Value::Nil,
        ]),
    );
    data.insert(
        "nested",
        Value::map([("b", Value::map([("c", Value::from("deep"))])), ("n", Value::Nil)]),
    );
    data.insert("el", list(vec![]));
    data.insert("em", Value::Map(Map::new()));
    data.insert("html", Value::from("<a href='x'>&\"</a>"));
    data.insert("uni", Value::from("héllo"));
    data.insert("int", Value::int(7));
    data.insert("int64", Value::int64(-3));
    data.insert("strings", Value::strings(["x", "y"]));
    let strings = [(Text::from("k"), Value::from("v"))].into_iter().collect();
    data.insert("smap", Value::Map(Map::of(Type::String, strings)));
    Value::Map(data)
}

fn run(template: &str) -> Result<String, String> {
    let source = Bytes::copy_from_slice(template.as_bytes());
    let parsed = Parsed::new("main", source, &functions()).map_err(|error| error.to_string())?;
    let mut templates = Templates::default();
    templates.add(&parsed);
    let mut executor = Executor::new(Arc::new(templates), Options::default(), &());
    let output = executor
        .execute(b"main", "main", data())
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

#[test]
fn every_row_is_what_go_gives() {
    let mut failures = Vec::new();
    let rows = include_str!("language.jsonl").lines();
    for row in rows {
        let row: serde_json::Value = serde_json::from_str(row).expect("a row of JSON");
        let template = row["t"].as_str().expect("a template");
        let expected = match row["want"].as_str() {
            Some(want) => Ok(want.to_owned()),
            None => Err(row["error"].as_str().expect("an error").to_owned()),
        };
        let actual = run(template);
        if actual != expected {
            failures.push(format!(
                "{template:?}\n   expected {expected:?}\n   actual   {actual:?}"
            ));
        }
    }
    assert!(
        failures.is_empty(),
        "{} rows differ:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn a_map_that_a_function_changes_is_changed_for_everyone() {
    let shared = Map::new();
    let other_handle = shared.clone();
    shared.insert("key", Value::from("value"));
    assert_eq!(format::print_value(&Value::Map(other_handle)), b"map[key:value]");
}
