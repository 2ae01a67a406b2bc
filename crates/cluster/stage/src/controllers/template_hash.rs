//! A short name for a Pod template, and when two templates are the same.

use serde_json::{Map, Value};

/// What hashes are written in: no vowels, so that no words appear, and nothing that looks like something else.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

const OFFSET_BASIS: u32 = 2_166_136_261;
const PRIME: u32 = 16_777_619;

/// Maps which mean the same when they are empty and when they aren't there.
const PLAIN_MAPS: &[&str] = &[
    "labels",
    "annotations",
    "nodeSelector",
    "matchLabels",
    "limits",
    "requests",
];

/// Returns the FNV-1a hash of bytes, continued from another.
pub fn fnv(hash: u32, bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(hash, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(PRIME))
}

/// Returns a short name of a value, which another number of collisions makes another.
pub fn short_hash(value: &Value, collisions: Option<i64>) -> String {
    let mut hash = fnv(OFFSET_BASIS, normal(value).to_string().as_bytes());
    if let Some(collisions) = collisions {
        hash = fnv(hash, &collisions.to_le_bytes());
    }
    safe(&hash.to_string())
}

/// Returns a text in letters that form no words.
pub fn safe(text: &str) -> String {
    text.bytes()
        .map(|byte| char::from(LETTERS[usize::from(byte) % LETTERS.len()]))
        .collect()
}

/// Returns whether two Pod templates make the same Pods, but for the given label.
pub fn same_template(one: &Value, other: &Value, but_for_label: &str) -> bool {
    without_label(one, but_for_label) == without_label(other, but_for_label)
}

fn without_label(template: &Value, label: &str) -> Value {
    let mut template = template.clone();
    if let Some(labels) = template
        .pointer_mut("/metadata/labels")
        .and_then(Value::as_object_mut)
    {
        labels.remove(label);
    }
    normal(&template)
}

/// Returns the value without what is as good as absent.
fn normal(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept: Map<String, Value> = map
                .iter()
                .filter(|(name, value)| match value {
                    Value::Null => false,
                    Value::Array(items) => !items.is_empty(),
                    Value::Object(map) => !(map.is_empty() && PLAIN_MAPS.contains(&name.as_str())),
                    _ => true,
                })
                .map(|(name, value)| (name.clone(), normal(value)))
                .filter(|(name, value)| {
                    !(PLAIN_MAPS.contains(&name.as_str()) && value.as_object().is_some_and(Map::is_empty))
                })
                .collect();
            Value::Object(kept)
        }
        Value::Array(items) => items.iter().map(normal).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hash_is_that_of_fnv_1a() {
        assert_eq!(fnv(OFFSET_BASIS, b"foobar"), 0xbf9c_f968);
        assert_eq!(safe("0123456789"), "456789bcdf");
    }

    #[test]
    fn collisions_make_another_hash() {
        let template = json!({"spec": {"containers": [{"name": "a"}]}});
        assert_ne!(short_hash(&template, None), short_hash(&template, Some(1)));
        assert_ne!(short_hash(&template, Some(2)), short_hash(&template, Some(1)));
    }

    #[test]
    fn what_is_empty_is_as_good_as_absent() {
        let one = json!({"metadata": {"labels": {"h": "x"}, "creationTimestamp": null},
            "spec": {"containers": [{"name": "a", "env": []}], "nodeSelector": {}}});
        let other = json!({"metadata": {}, "spec": {"containers": [{"name": "a"}]}});
        assert!(same_template(&one, &other, "h"));
        assert_eq!(
            short_hash(&json!({"env": [], "x": 1}), None),
            short_hash(&json!({"x": 1}), None)
        );
        let third = json!({"metadata": {}, "spec": {"containers": [{"name": "a", "image": "b"}]}});
        assert!(!same_template(&third, &other, "h"));
        assert!(!same_template(&json!({"emptyDir": {}}), &json!({}), "h"));
    }
}
