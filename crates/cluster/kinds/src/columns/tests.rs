use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{columns, default_columns, human_duration, row};

/// An object, and what a real server's Table says about it at a time.
#[derive(Deserialize)]
struct Case {
    group: String,
    kind: String,
    now: String,
    object: Value,
    cells: Vec<Value>,
    #[serde(default)]
    conditions: Vec<Value>,
}

/// Ages may differ by the second that passed while the server answered.
fn near(actual: &Value, expected: &Value) -> bool {
    let seconds = |value: &Value| {
        value
            .as_str()
            .and_then(|text| text.strip_suffix('s')?.parse::<i64>().ok())
    };
    actual == expected
        || matches!((seconds(actual), seconds(expected)), (Some(actual), Some(expected)) if (actual - expected).abs() <= 1)
}

#[test]
fn rows_are_those_of_a_real_server() {
    let table = std::env::var("ROWS_TABLE").map_or_else(
        |_| include_str!("upstream.jsonl").to_owned(),
        |path| std::fs::read_to_string(path).expect("a table"),
    );
    let mut problems = Vec::new();
    for line in table.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let actual = row(&case.group, &case.kind, &case.object, case.now.parse().unwrap());
        let same = actual.cells.len() == case.cells.len()
            && actual
                .cells
                .iter()
                .zip(&case.cells)
                .all(|(actual, expected)| near(actual, expected));
        if !same || actual.conditions != case.conditions {
            let (kind, name) = (&case.kind, &case.object["metadata"]["name"]);
            problems.push(format!(
                "{kind} {name}\n  is  {:?}\n  not {:?}",
                actual.cells, case.cells
            ));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The table has the length of each description in place of its text.
#[test]
fn columns_are_those_of_a_real_server() {
    for line in include_str!("upstream_columns.tsv").lines() {
        let mut parts = line.split('\t');
        let (group, kind) = (parts.next().unwrap(), parts.next().unwrap());
        let expected: Vec<&str> = parts.collect();
        let actual: Vec<String> = columns(group, kind)
            .unwrap_or(default_columns())
            .iter()
            .map(|column| {
                let super::Column {
                    name,
                    column_type,
                    format,
                    description,
                    priority,
                } = column;
                format!("{name}|{column_type}|{format}|{priority}|{}", description.len())
            })
            .collect();
        assert_eq!(actual, expected, "{group} {kind}");
    }
}

#[test]
fn every_column_of_every_kind_has_a_cell() {
    let kinds = super::workload_definitions::KINDS
        .iter()
        .chain(super::platform_definitions::KINDS);
    for definition in kinds {
        let cells = row(
            definition.group,
            definition.kind,
            &json!({}),
            Timestamp::UNIX_EPOCH,
        )
        .cells;
        let wanted = columns(definition.group, definition.kind).unwrap().len();
        // Upstream has one cell more than columns for addresses.
        let extra = usize::from(definition.kind == "IPAddress");
        assert_eq!(cells.len(), wanted + extra, "{}", definition.kind);
    }
}

#[test]
fn every_column_is_described_except_one() {
    let kinds = super::workload_definitions::KINDS
        .iter()
        .chain(super::platform_definitions::KINDS);
    for definition in kinds {
        for column in columns(definition.group, definition.kind).unwrap() {
            let expected = (definition.kind, column.name.as_str()) == ("RuntimeClass", "Handler");
            assert_eq!(
                column.description.is_empty(),
                expected,
                "{} {}",
                definition.kind,
                column.name
            );
        }
    }
}

#[test]
fn durations_get_rougher_as_they_get_longer() {
    let cases = [
        (-2, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (10_799, "179m"),
        (10_800, "3h"),
        (11_460, "3h11m"),
        (28_800, "8h"),
        (172_800, "2d"),
        (176_400, "2d1h"),
        (691_200, "8d"),
        (63_072_000, "2y"),
        (63_158_400, "2y1d"),
        (252_288_000, "8y"),
    ];
    for (seconds, expected) in cases {
        assert_eq!(human_duration(seconds), expected, "{seconds}");
    }
}

#[test]
fn pods_say_in_one_word_how_they_are() {
    let now: Timestamp = "2026-01-01T00:10:00Z".parse().unwrap();
    let pod = |spec: Value, status: Value| {
        let object = json!({"metadata": {"name": "p"}, "spec": spec, "status": status});
        let cells = row("", "Pod", &object, now).cells;
        format!(
            "{} {} {}",
            cells[1].as_str().unwrap(),
            cells[2].as_str().unwrap(),
            cells[3].as_str().unwrap()
        )
    };
    let two = json!({"containers": [{"name": "a"}, {"name": "b"}]});
    let running = json!({"ready": true, "state": {"running": {}}});
    let crashed = json!({"restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}},
        "lastState": {"terminated": {"finishedAt": "2026-01-01T00:08:00Z"}}});
    let completed = json!({"state": {"terminated": {"reason": "Completed", "exitCode": 0}}});
    let failed = json!({"state": {"terminated": {"exitCode": 7}}});
    assert_eq!(pod(two.clone(), json!({"phase": "Pending"})), "0/2 Pending 0");
    assert_eq!(
        pod(
            two.clone(),
            json!({"phase": "Running", "containerStatuses": [running, crashed]})
        ),
        "1/2 CrashLoopBackOff 3 (2m ago)"
    );
    assert_eq!(
        pod(
            two.clone(),
            json!({"phase": "Running", "containerStatuses": [completed, running]})
        ),
        "1/2 NotReady 0"
    );
    assert_eq!(
        pod(
            two.clone(),
            json!({"phase": "Failed", "containerStatuses": [completed, failed]})
        ),
        "0/2 ExitCode:7 0"
    );
    let initialized = json!({"initContainers": [{"name": "i"}], "containers": [{"name": "a"}]});
    assert_eq!(
        pod(
            initialized.clone(),
            json!({"initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "PodInitializing"}}}]})
        ),
        "0/1 Init:0/1 0"
    );
    assert_eq!(
        pod(
            initialized,
            json!({"initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 2, "reason": "Error"}}}]})
        ),
        "0/1 Init:Error 0"
    );
    let sidecar =
        json!({"initContainers": [{"name": "i", "restartPolicy": "Always"}], "containers": [{"name": "a"}]});
    assert_eq!(
        pod(
            sidecar,
            json!({"phase": "Running", "initContainerStatuses": [{"name": "i", "started": true, "ready": true}], "containerStatuses": [running]})
        ),
        "2/2 Running 0"
    );
}
