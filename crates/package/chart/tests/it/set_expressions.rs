//! `--set` and its relatives against a table of answers that Helm's own parser gave.

use chart::set_expression::{Reading, apply};
use chart::values::Table;
use serde_json::Value;

/// One row: an expression, the values it is applied to, and what came of it.
#[derive(serde::Deserialize)]
struct Row {
    kind: String,
    expression: String,
    #[serde(default)]
    base: Table,
    values: Option<Table>,
    error: Option<String>,
}

fn run(row: &Row) -> Result<Table, String> {
    let mut values = row.base.clone();
    let mut read = |name: &str| match name {
        "missing" => Err("open missing: no such file or directory".to_owned()),
        name => Ok(Value::String(format!("<{name}>"))),
    };
    let reading = match row.kind.as_str() {
        "set" => Reading::Typed,
        "string" => Reading::Text,
        "json" => Reading::Json,
        "literal" => Reading::Literal,
        _ => Reading::File(&mut read),
    };
    apply(&row.expression, reading, &mut values, &mut |_| {}).map_err(|error| error.to_string())?;
    Ok(values)
}

/// Whole floats and integers look alike in the table.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| left.0 == right.0 && same(left.1, right.1))
        }
        _ => left == right,
    }
}

#[test]
fn expressions_set_what_helm_sets() {
    let table = include_str!("data/set_expressions.jsonl");
    let mut wrong = Vec::new();
    for line in table.lines() {
        let row: Row = serde_json::from_str(line).expect("a row of the table");
        let agrees = match (run(&row), &row.values, &row.error) {
            (Ok(got), Some(expected), _) => same(&Value::Object(got), &Value::Object(expected.clone())),
            // The text of a JSON fault is not shown to users.
            (Err(_), None, Some(_)) if row.kind == "json" => true,
            (Err(got), None, Some(expected)) => got == *expected,
            _ => false,
        };
        if !agrees {
            wrong.push(format!("{line}\n    got {:?}", run(&row)));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn integers_are_integers_and_json_numbers_are_floats() {
    let mut values = Table::new();
    apply("a=1", Reading::Typed, &mut values, &mut |_| {}).expect("an expression");
    apply("b=1", Reading::Json, &mut values, &mut |_| {}).expect("an expression");
    assert!(values["a"].is_i64());
    assert!(values["b"].is_f64());
}

#[test]
fn assigned_paths_are_told() {
    let mut values = Table::new();
    let mut paths = Vec::new();
    apply(
        "a.b[1].c=1,d={x,y},e[0][2]=3",
        Reading::Typed,
        &mut values,
        &mut |path| paths.push(path.to_owned()),
    )
    .expect("an expression");
    assert_eq!(paths, ["a.b[1].c", "d", "e[0][2]"]);
}

#[test]
fn deep_and_huge_expressions_are_refused() {
    for expression in [
        format!("a{}=1", "[0]".repeat(100_000)),
        format!("a{}=1", "[0].b".repeat(100_000)),
        format!(
            "a{}",
            (0..1000).fold(String::new(), |text, index| text + &format!("{index}[65536]=1,a"))
        ),
        format!("a{}=1", ".b".repeat(100_000)),
    ] {
        assert!(apply(&expression, Reading::Typed, &mut Table::new(), &mut |_| {}).is_err());
        assert!(
            expression.contains(',')
                || apply(&expression, Reading::Literal, &mut Table::new(), &mut |_| {}).is_err()
        );
    }
}

proptest::proptest! {
    #[test]
    fn no_expression_panics(expression in "[ab.\\[\\]=,{}\\\\0-9\"é -]{0,40}") {
        for reading in [Reading::Typed, Reading::Text, Reading::Json, Reading::Literal] {
            let _ = apply(&expression, reading, &mut Table::new(), &mut |_| {});
        }
    }
}
