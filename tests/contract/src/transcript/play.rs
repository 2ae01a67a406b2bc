//! Transcripts played to a server, to compare its answers or to take them down.

use std::time::{Duration, Instant};

use base64::Engine as _;
use bytes::Bytes;
use http::Method;
use serde_json::{Map, Value};

use super::normal::Names;
use super::parse::{Exchange, Expected, Script};
use crate::answer::Answer;
use crate::context::{Context, PATIENCE};

const POLL: Duration = Duration::from_millis(50);

/// What to do with the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// They must be those of the transcript; an exchange without a recorded answer fails.
    Compare,
    /// Take down those that are missing and compare the others.
    RecordMissing,
    /// Take down all.
    RecordAll,
}

/// Plays one case. In the recording modes, the answers are put into `script`.
pub async fn play(context: &Context, script: &mut Script, mode: Mode) {
    let mut names = Names::new(&context.id);
    prepare_namespace(context, script).await;
    let forgiving = script
        .differs
        .as_ref()
        .is_some_and(|reason| !context.differs(reason).is_real());
    for (number, exchange) in script.exchanges.iter_mut().enumerate() {
        let path = names.fill(&exchange.path);
        let what = format!("step {} ({} {})", number + 1, exchange.method, exchange.path);
        if exchange.method == "CRD" {
            context.define(&yaml(&what, &names.fill(&exchange.body))).await;
            continue;
        }
        let answer = ask(context, exchange, &names, &path, &what).await;
        if exchange.preparation {
            assert!(
                answer.status < 300,
                "{what}: expected a success, not {}: {}",
                answer.status,
                answer.text()
            );
            // Its placeholders may be wanted later.
            names.normalise(&mut value_of(&answer), false);
            continue;
        }
        let seen = take_down(exchange, &answer, &mut names);
        match (&exchange.expected, mode) {
            (Some(expected), Mode::Compare | Mode::RecordMissing) => {
                if !forgiving {
                    compare(&what, expected, &seen);
                }
            }
            (None, Mode::Compare) => {
                panic!("{what}: no answer was recorded; see CONTRIBUTING.md on how to record")
            }
            (_, Mode::RecordMissing | Mode::RecordAll) => exchange.expected = Some(seen),
        }
    }
}

async fn prepare_namespace(context: &Context, script: &Script) {
    let in_namespace = |exchange: &Exchange| {
        exchange.method != "CRD"
            && (!exchange.path.starts_with('/') || exchange.path.contains("namespaces/{id}/"))
    };
    if script.exchanges.iter().any(in_namespace) {
        context.namespace().await;
    }
    if script
        .exchanges
        .iter()
        .any(|exchange| exchange.method == "POST" && exchange.path.starts_with("pods"))
    {
        context.namespace_for_pods().await;
    }
}

async fn ask(context: &Context, exchange: &Exchange, names: &Names, path: &str, what: &str) -> Answer {
    let begun = Instant::now();
    loop {
        let answer = send(context, exchange, names, path, what).await;
        let Some(condition) = exchange.directive("until") else {
            return answer;
        };
        if let Some(field) = condition.strip_suffix(" exists") {
            if !field_of(&answer.json_or_null(), field).is_null() {
                return answer;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "{what}: there is still no {field}: {}",
                answer.text()
            );
            tokio::time::sleep(POLL).await;
            continue;
        }
        let (field, wanted) = condition
            .split_once(" = ")
            .unwrap_or_else(|| panic!("{what}: until what?"));
        let seen = field_of(&answer.json_or_null(), field);
        let wanted = names.fill(wanted);
        if seen == yaml(what, &wanted) || (field == "code" && answer.status.to_string() == wanted) {
            return answer;
        }
        assert!(
            begun.elapsed() < PATIENCE,
            "{what}: after {} s, {field} is {seen}, not {wanted}: {}",
            PATIENCE.as_secs(),
            answer.text()
        );
        tokio::time::sleep(POLL).await;
    }
}

async fn send(context: &Context, exchange: &Exchange, names: &Names, path: &str, what: &str) -> Answer {
    let (method, content_type) = match exchange.method.as_str() {
        "PATCH:json" => (Method::PATCH, "application/json-patch+json"),
        "PATCH:merge" => (Method::PATCH, "application/merge-patch+json"),
        "PATCH:strategic" => (Method::PATCH, "application/strategic-merge-patch+json"),
        "PATCH:apply" => (Method::PATCH, "application/apply-patch+yaml"),
        other => (
            other.parse().unwrap_or_else(|_| panic!("{what}: no such method")),
            "application/json",
        ),
    };
    let mut request = context.request(method, path);
    let text = names.fill(&exchange.body);
    if exchange.directive("raw").is_some() {
        request = request.body("", Bytes::from(text.trim_end().to_owned()));
    } else if exchange.directive("base64").is_some() {
        let text: String = text.split_whitespace().collect();
        let bytes = base64::engine::general_purpose::STANDARD.decode(text);
        request = request.body("", bytes.unwrap_or_else(|error| panic!("{what}: {error}")));
    } else if !text.is_empty() {
        let has_type = exchange.headers.iter().any(|(name, _)| name == "Content-Type");
        request = request.body(
            if has_type { "" } else { content_type },
            yaml(what, &text).to_string(),
        );
    }
    for (name, value) in &exchange.headers {
        request = request.header(name, &names.fill(value));
    }
    request.await
}

fn yaml(what: &str, text: &str) -> Value {
    goyaml::to_value(text.as_bytes()).unwrap_or_else(|error| panic!("{what}: {error}: {text}"))
}

/// JSON, the events of a watch, or text.
fn value_of(answer: &Answer) -> Value {
    if let Ok(value) = serde_json::from_slice(&answer.body) {
        return value;
    }
    if answer.header("Content-Type").starts_with("application/yaml")
        && let Ok(value) = goyaml::to_value(&answer.body)
    {
        return value;
    }
    let events: Result<Vec<Value>, _> = serde_json::Deserializer::from_slice(&answer.body)
        .into_iter()
        .collect();
    match events {
        Ok(events) if answer.status == 200 => Value::Array(events),
        _ => Value::String(answer.text()),
    }
}

fn take_down(exchange: &Exchange, answer: &Answer, names: &mut Names) -> Expected {
    let mut value = value_of(answer);
    if exchange.path.contains("watch=") && answer.status == 200 && !value.is_array() {
        value = Value::Array(vec![value]);
    }
    if let Value::Array(events) = &mut value {
        // A server may tell at any time how far it has come; only the end of the initial events is promised.
        let end = "/object/metadata/annotations/k8s.io~1initial-events-end";
        events.retain(|event| event["type"] != "BOOKMARK" || event.pointer(end).is_some());
    }
    names.normalise(&mut value, exchange.directive("with managedFields").is_some());
    if let Some(fields) = exchange.directive("show") {
        let fields = fields
            .split(", ")
            .map(|field| (field.to_owned(), field_of(&value, field)));
        value = Value::Object(fields.collect::<Map<_, _>>());
    }
    let mut headers = Vec::new();
    for name in ["Warning"].into_iter().chain(
        exchange
            .directive("headers")
            .into_iter()
            .flat_map(|all| all.split(", ")),
    ) {
        for header in answer.headers.get_all(name) {
            let mut text = Value::String(String::from_utf8_lossy(header.as_bytes()).into_owned());
            names.normalise(&mut text, false);
            headers.push(format!("{name}: {}", text.as_str().unwrap_or_default()));
        }
    }
    let body = match &value {
        Value::String(text) if text.is_empty() => String::new(),
        value => goyaml::to_string(value).unwrap_or_else(|error| panic!("{}: {error}", answer.what)),
    };
    Expected {
        status: answer.status,
        headers,
        body,
    }
}

/// A field by its path, such as `spec.containers.0.image`; what isn't there is null. `a~b` stands for `a.b`.
fn field_of(value: &Value, path: &str) -> Value {
    let mut value = value;
    for step in path.split('.') {
        let step = step.replace('~', ".");
        let next = match value {
            Value::Array(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
            other => other.get(&step),
        };
        let Some(next) = next else { return Value::Null };
        value = next;
    }
    value.clone()
}

fn compare(what: &str, expected: &Expected, seen: &Expected) {
    let wanted = expected
        .value()
        .unwrap_or_else(|error| panic!("{what}: the recorded answer: {error}"));
    let got = seen
        .value()
        .unwrap_or_else(|error| panic!("{what}: the answer: {error}"));
    if expected.status == seen.status && expected.headers == seen.headers && wanted == got {
        return;
    }
    let text = |expected: &Expected| {
        let mut headers = String::new();
        for header in &expected.headers {
            headers.push_str("< ");
            headers.push_str(header);
            headers.push('\n');
        }
        format!("< {}\n{headers}{}", expected.status, expected.body)
    };
    panic!(
        "{what}: the answer is another one (- expected, + seen)\n{}",
        difference(&text(expected), &text(seen))
    );
}

/// The lines that differ, with the lines around them.
fn difference(expected: &str, seen: &str) -> String {
    const AROUND: usize = 3;
    let (old, new): (Vec<_>, Vec<_>) = (expected.lines().collect(), seen.lines().collect());
    // Longest common subsequence; answers are short.
    let mut length = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            length[i][j] = if old[i] == new[j] {
                length[i + 1][j + 1] + 1
            } else {
                length[i + 1][j].max(length[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((false, format!("  {}", old[i])));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && length[i + 1][j] >= length[i][j + 1]) {
            lines.push((true, format!("- {}", old[i])));
            i += 1;
        } else {
            lines.push((true, format!("+ {}", new[j])));
            j += 1;
        }
    }
    let changed: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, (changed, _))| *changed)
        .map(|(index, _)| index)
        .collect();
    let near = |index: usize| changed.iter().any(|other| other.abs_diff(index) <= AROUND);
    let shown = lines
        .iter()
        .enumerate()
        .filter(|(index, _)| near(*index))
        .map(|(_, (_, line))| line.as_str());
    shown.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{difference, field_of};
    use serde_json::json;

    #[test]
    fn fields_are_found_by_path() {
        let value = json!({"a": [{"b.c": 1}]});
        assert_eq!(field_of(&value, "a.0.b~c"), json!(1));
        assert_eq!(field_of(&value, "a.1.b"), json!(null));
    }

    #[test]
    fn a_difference_shows_what_changed() {
        assert_eq!(difference("a\nb\nc", "a\nx\nc"), "  a\n- b\n+ x\n  c");
    }
}
