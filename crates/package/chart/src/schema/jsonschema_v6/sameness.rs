//! Equal items of long lists.

use std::collections::HashMap;
use std::fmt::Write;

use super::json::Json;

/// The first item that is the same as an earlier one, after that one.
pub(super) fn first_same(items: &[Json]) -> Option<(usize, usize)> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (second, item) in items.iter().enumerate() {
        let mut key = String::new();
        write_key(item, &mut key);
        if let Some(first) = seen.get(&key) {
            return Some((*first, second));
        }
        seen.insert(key, second);
    }
    None
}

/// Writes a text that only equal values have in common.
fn write_key(value: &Json, key: &mut String) {
    // Writing to a text cannot fail.
    match value {
        Json::Null => key.push('n'),
        Json::Bool(flag) => drop(write!(key, "{flag}")),
        Json::Number(numeral) => drop(write!(key, "{}", numeral.number)),
        Json::String(text) => drop(write!(key, "{text:?}")),
        Json::Array(items) => {
            key.push('[');
            for item in items {
                write_key(item, key);
                key.push(',');
            }
            key.push(']');
        }
        Json::Object(entries) => {
            key.push('{');
            for (name, value) in entries {
                let _ = write!(key, "{name:?}:");
                write_key(value, key);
                key.push(',');
            }
            key.push('}');
        }
    }
}
