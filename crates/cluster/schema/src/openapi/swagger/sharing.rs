//! Parameters that many operations have, told once.

use std::collections::BTreeMap;

use base64::Engine as _;
use serde_json::{Value, json};

/// Replaces the parameters that aren't an operation's own with references, and returns them by name.
pub(super) fn share(paths: &mut BTreeMap<String, Value>) -> BTreeMap<String, Value> {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut shared = BTreeMap::new();
    for item in paths.values_mut() {
        for (key, value) in item.as_object_mut().into_iter().flatten() {
            let parameters = if key == "parameters" {
                Some(value)
            } else {
                value.get_mut("parameters")
            };
            for parameter in parameters.and_then(Value::as_array_mut).into_iter().flatten() {
                if is_own(parameter) {
                    continue;
                }
                let text = parameter.to_string();
                let name = names.entry(text).or_insert_with_key(|text| {
                    let name = parameter["name"].as_str().unwrap_or("param");
                    let mut chosen = format!("{name}-{}", short_hash(text));
                    let mut another = 0;
                    while shared.contains_key(&chosen) {
                        another += 1;
                        chosen = format!("{name}-{another}");
                    }
                    shared.insert(chosen.clone(), parameter.clone());
                    chosen
                });
                *parameter = json!({ "$ref": format!("#/parameters/{name}") });
            }
        }
    }
    shared
}

/// Whether a parameter is told where it is used: it names the kind, or clients look for it there.
fn is_own(parameter: &Value) -> bool {
    let text = |key: &str| parameter[key].as_str().unwrap_or_default();
    match (text("in"), text("name")) {
        ("query" | "path", "name") | ("query", "fieldValidation" | "dryRun") => true,
        ("body", "body") => !parameter["schema"]["$ref"]
            .as_str()
            .is_some_and(|target| target.starts_with("#/definitions/io.k8s.apimachinery")),
        _ => false,
    }
}

/// Returns eight characters of the FNV hash.
fn short_hash(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte)
    });
    let [first, second, third, fourth, fifth, sixth, ..] = hash.to_be_bytes();
    base64::engine::general_purpose::URL_SAFE.encode([first, second, third, fourth, fifth, sixth])
}
