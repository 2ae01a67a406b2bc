//! Schemas against a table of answers that Helm's own schema library gave.

use chart::schema::validate;
use chart::values::Table;
use serde_json::Value;

/// One row: a schema, as JSON or as text, values, and what was said about them, with its lines sorted.
#[derive(serde::Deserialize)]
struct Row {
    #[serde(default)]
    schema: Value,
    text: Option<String>,
    values: Table,
    expected: String,
}

fn judge(row: &Row) -> String {
    let schema = row.text.clone().unwrap_or_else(|| row.schema.to_string());
    let said = validate(schema.as_bytes(), &row.values)
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    if !said.starts_with("- ") {
        return said;
    }
    // The library's order is that of a hash map.
    let mut lines: Vec<&str> = said.lines().collect();
    lines.sort_unstable();
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

#[test]
fn values_are_judged_as_helm_judges_them() {
    let mut wrong = Vec::new();
    for line in include_str!("data/schemas.jsonl").lines() {
        let row: Row = serde_json::from_str(line).expect("a row of the table");
        let got = judge(&row);
        if got != row.expected {
            wrong.push(format!("{line}\n    got {got:?}"));
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
fn the_order_of_complaints_is_always_the_same() {
    let schema = r#"{"required": ["z", "b"], "additionalProperties": false, "properties": {"c": {"type": "string"}, "a": {"type": "string"}}}"#;
    let values = serde_json::from_str(r#"{"c": 1, "a": 2, "y": 3, "x": 4}"#).expect("a table");
    assert_eq!(
        validate(schema.as_bytes(), &values).unwrap_err().to_string(),
        "- (root): z is required\n- (root): b is required\n- (root): Additional property x is not allowed\n- (root): Additional property y is not allowed\n- a: Invalid type. Expected: string, given: integer\n- c: Invalid type. Expected: string, given: integer\n"
    );
}

#[test]
fn schemas_that_never_end_are_refused() {
    let rows = [
        r##"{"$ref": "#"}"##.to_owned(),
        r##"{"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}"##.to_owned(),
        r##"{"allOf": [{"$ref": "#/definitions/a"}], "definitions": {"a": {"not": {"$ref": "#/definitions/b"}}, "b": {"$ref": "#/definitions/a"}}}"##.to_owned(),
        multiplying_schema(),
    ];
    for schema in rows {
        let error = validate(schema.as_bytes(), &Table::new())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("unable to validate schema: more than"),
            "{error}"
        );
    }
}

/// Thirty schemas, each of which applies the next one twice.
fn multiplying_schema() -> String {
    let link = |index: usize| {
        format!(
            r##""d{index}": {{"allOf": [{{"$ref": "#/definitions/d{0}"}}, {{"$ref": "#/definitions/d{0}"}}]}}"##,
            index + 1
        )
    };
    let links: Vec<String> = (0..30).map(link).collect();
    format!(
        r##"{{"$ref": "#/definitions/d0", "definitions": {{{}, "d30": {{"type": "object"}}}}}}"##,
        links.join(", ")
    )
}

#[test]
fn a_deep_schema_is_refused() {
    let schema = format!("{}{{}}{}", r#"{"not":"#.repeat(5000), "}".repeat(5000));
    assert!(validate(schema.as_bytes(), &Table::new()).is_err());
}
