use jiff::Timestamp;
use serde_json::json;

use super::{Columns, ColumnsError};

#[test]
fn a_definition_names_its_columns() {
    let definition = json!({"spec": {"versions": [{"name": "v1", "additionalPrinterColumns": [
        {"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"},
        {"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status", "description": "Whether it is."},
        {"name": "Load", "type": "number", "jsonPath": ".status.load", "priority": 1},
        {"name": "Paused", "type": "boolean", "jsonPath": ".spec.paused"},
        {"name": "Since", "type": "date", "jsonPath": ".status.since"},
        {"name": "Spec", "type": "string", "jsonPath": ".spec"},
        {"name": "None", "type": "string", "jsonPath": ".none"},
    ]}]}});
    let columns = Columns::from_crd(&definition, "v1").unwrap();
    let described: Vec<&str> = columns
        .columns()
        .iter()
        .map(|column| column.description.as_str())
        .collect();
    assert_eq!(
        described[1],
        "Custom resource definition column (in JSONPath format): .spec.replicas"
    );
    assert_eq!(described[2], "Whether it is.");
    assert_eq!(columns.columns()[3].priority, 1);
    let now: Timestamp = "2026-01-01T00:10:00Z".parse().unwrap();
    let object = json!({
        "metadata": {"name": "thing"},
        "spec": {"replicas": 3.0, "paused": true},
        "status": {"load": 2, "since": "2026-01-01T00:00:00Z", "conditions": [{"type": "Ready", "status": "True"}]},
    });
    assert_eq!(
        columns.row(&object, now).cells,
        [
            json!("thing"),
            json!(3),
            json!("True"),
            json!(2),
            json!(true),
            json!("10m"),
            json!("{\"paused\":true,\"replicas\":3}"),
            json!(null),
        ]
    );
    let wrong = json!({"metadata": {"name": "x"}, "spec": {"replicas": "a", "paused": 1}, "status": {"since": "now"}});
    assert_eq!(
        columns.row(&wrong, now).cells[1..6],
        [
            json!(null),
            json!(null),
            json!(null),
            json!(null),
            json!("<invalid>")
        ]
    );
}

#[test]
fn without_columns_the_age_is_shown() {
    let columns = Columns::from_crd(&json!({"spec": {"versions": [{"name": "v1"}]}}), "v1").unwrap();
    let names: Vec<&str> = columns
        .columns()
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(names, ["Name", "Age"]);
    assert_eq!(columns.columns()[1].column_type, "date");
    let object = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}});
    let cells = columns
        .row(&object, "2026-01-01T00:01:05Z".parse().unwrap())
        .cells;
    assert_eq!(cells, [json!("a"), json!("65s")]);
}

#[test]
fn what_can_not_be_used_is_refused() {
    let definition =
        json!({"spec": {"versions": [{"name": "v1", "additionalPrinterColumns": [{"jsonPath": ".a["}]}]}});
    assert_eq!(
        Columns::from_crd(&definition, "v2"),
        Err(ColumnsError::NoVersion("v2".to_owned()))
    );
    let error = Columns::from_crd(&definition, "v1").unwrap_err();
    assert_eq!(error.to_string(), "unrecognized column definition \".a[\"");
}
