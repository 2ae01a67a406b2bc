//! Where two documents differ: ours and a real server's.

use serde_json::Value;

/// The most differences that are told; with more, something general is wrong.
const MOST_DIFFERENCES: usize = 200;

/// The definitions whose text is ours: where the definitions come from, they have none.
const OWN_TEXTS: [&str; 2] = [
    "io.k8s.apimachinery.pkg.api.resource.Quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
];

/// Returns where the schemas of our document differ from those of a real server's, one line for each place.
pub fn component_differences(ours: &Value, theirs: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let at = |document: &Value| {
        document
            .pointer("/components/schemas")
            .cloned()
            .unwrap_or_default()
    };
    compare(&at(ours), &at(theirs), "", true, &mut found);
    found.retain(|line| {
        !OWN_TEXTS
            .iter()
            .any(|name| line.starts_with(&format!("/{name}/description")))
    });
    found
}

/// Returns where the paths of our document differ from those of a real server's, texts apart, one line for each place.
pub fn path_differences(ours: &Value, theirs: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let at = |document: &Value| document.get("paths").cloned().unwrap_or_default();
    compare(&at(ours), &at(theirs), "", false, &mut found);
    found
}

fn compare(ours: &Value, theirs: &Value, path: &str, with_texts: bool, found: &mut Vec<String>) {
    if found.len() >= MOST_DIFFERENCES {
        return;
    }
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for (key, value) in ours {
                match theirs.get(key) {
                    Some(other) if with_texts || key != "description" => {
                        compare(value, other, &format!("{path}/{key}"), with_texts, found);
                    }
                    Some(_) => {}
                    None => found.push(format!("{path}/{key}: only ours")),
                }
            }
            for key in theirs.keys().filter(|key| !ours.contains_key(*key)) {
                found.push(format!("{path}/{key}: only theirs"));
            }
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            for (index, (one, other)) in ours.iter().zip(theirs).enumerate() {
                compare(one, other, &format!("{path}/{index}"), with_texts, found);
            }
        }
        _ if ours == theirs => {}
        (Value::String(ours), Value::String(theirs)) if same_but_for_an_empty_line(ours, theirs) => {}
        _ => found.push(format!("{path}: ours is {ours}, theirs is {theirs}")),
    }
}

/// Some texts have an empty line more before the values of an enumeration, where a comment in Go ends with one.
fn same_but_for_an_empty_line(ours: &str, theirs: &str) -> bool {
    theirs.replace("\n\n\nPossible enum values:", "\n\nPossible enum values:") == ours
}
