//! Objects that were shown to a real server, and what it said of them.

use serde_json::Value;

use super::{validate_create, validate_update, warnings};

/// One object a line: what was sent, what was there before, and the causes that the server answered with.
const RECORDED: &str = include_str!("tests/recorded.jsonl");

fn group_of(object: &Value) -> (&str, &str, &str) {
    let (version, kind) = (
        object["apiVersion"].as_str().unwrap_or_default(),
        object["kind"].as_str().unwrap_or_default(),
    );
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    (group, version, kind)
}

/// Makes an object what it is when it comes to be checked.
fn prepared(record: &Value) -> Value {
    let mut object = record["object"].clone();
    let owned = record["object"].clone();
    let (group, version, kind) = group_of(&owned);
    let is_namespaced =
        crate::table::kind(group, kind).is_some_and(|row| row.scope == crate::Scope::Namespaced);
    if !object["metadata"].is_object() {
        object["metadata"] = serde_json::json!({});
    }
    if is_namespaced && object["metadata"]["namespace"].is_null() {
        object["metadata"]["namespace"] = "validation".into();
    }
    crate::defaults::apply(group, version, kind, &mut object);
    if kind == "Event" && !group.is_empty() {
        object = crate::conversion::convert(kind, "events.k8s.io/v1", "v1", object);
    }
    if kind == "Pod" && object["spec"]["serviceAccountName"].is_null() {
        object["spec"]["serviceAccountName"] = "default".into();
    }
    // Addresses are given before an object is checked.
    let address = object["spec"]["clusterIP"].clone();
    if kind == "Service" && address.is_string() && object["spec"]["clusterIPs"].is_null() {
        object["spec"]["clusterIPs"] = serde_json::json!([address]);
    }
    if record["old"].is_null() {
        let prefix = object["metadata"]["generateName"].as_str().map(str::to_owned);
        if let Some(prefix) = prefix.filter(|_| object["metadata"]["name"].is_null()) {
            object["metadata"]["name"] = format!("{prefix}abcde").into();
        }
        object["metadata"]["uid"] = "00000000-0000-0000-0000-000000000000".into();
        object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
        crate::strategy::prepare_for_create(group, kind, &mut object);
    } else {
        let below = record["subresource"].as_str();
        let now = jiff::Timestamp::UNIX_EPOCH;
        crate::strategy::prepare_for_update(group, kind, below, &mut object, &record["old"], now);
    }
    object
}

/// Returns the causes with what differs from one creation to the next made the same.
fn plain(mut causes: Vec<[String; 3]>) -> Vec<[String; 3]> {
    let uid = regex::Regex::new("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
        .expect("the pattern is right");
    let generated = regex::Regex::new("X_[a-z0-9]{5}").expect("the pattern is right");
    for cause in &mut causes {
        let text = uid.replace_all(&cause[2], "<uid>");
        cause[2] = generated.replace_all(&text, "X_<end>").into_owned();
    }
    causes
}

fn judged(record: &Value) -> (Vec<[String; 3]>, Vec<[String; 3]>) {
    let object = prepared(record);
    let (group, _, kind) = group_of(&record["object"]);
    let errors = if record["old"].is_null() {
        validate_create(group, kind, &object)
    } else {
        let below = record["subresource"].as_str();
        validate_update(group, kind, below, &object, &record["old"])
    };
    let ours = errors.told().iter().map(|error| {
        [
            error.kind.reason().to_owned(),
            error.field.to_string(),
            error.body(),
        ]
    });
    let theirs = record["causes"].as_array().into_iter().flatten().map(|cause| {
        let text = |index: usize| cause[index].as_str().unwrap_or_default().to_owned();
        [text(0), text(1), text(2)]
    });
    (plain(ours.collect()), plain(theirs.collect()))
}

#[test]
fn objects_are_refused_as_a_real_server_refuses_them() {
    let mut wrong = Vec::new();
    let mut count = 0;
    let given = std::env::var("RECORDED_OBJECTS").ok();
    let other = given.and_then(|path| std::fs::read_to_string(path).ok());
    for line in other.as_deref().unwrap_or(RECORDED).lines() {
        let record: Value = serde_json::from_str(line).expect("a recorded line is JSON");
        count += 1;
        let (mut ours, mut theirs) = judged(&record);
        if theirs.is_empty() {
            let object = prepared(&record);
            let (group, _, kind) = group_of(&record["object"]);
            let old = (!record["old"].is_null()).then_some(&record["old"]);
            let warning = |text: String| ["Warning".to_owned(), String::new(), text];
            let told = record["warnings"].as_array().into_iter().flatten();
            theirs.extend(told.map(|text| warning(text.as_str().unwrap_or_default().to_owned())));
            if record["subresource"].is_null() {
                ours.extend(warnings(group, kind, &object, old).into_iter().map(warning));
            }
        }
        if record["unordered"] == true {
            // The server walked a map, and might have told the same in another order.
            ours.sort_unstable();
            theirs.sort_unstable();
        }
        if ours != theirs {
            let show = |causes: &[[String; 3]]| {
                causes
                    .iter()
                    .map(|cause| format!("    {} {}: {}", cause[0], cause[1], cause[2]))
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            wrong.push(format!(
                "{}\n  server:\n{}\n  ours:\n{}",
                record["object"],
                show(&theirs),
                show(&ours)
            ));
        }
    }
    assert!(count > 0, "nothing was recorded");
    assert!(
        wrong.is_empty(),
        "{} of {count} differ:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}
