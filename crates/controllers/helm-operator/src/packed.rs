//! Values that are kept for long, as text: a tree of them takes several times as much memory.

use serde_json::Value;

/// A value as compact JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed(Box<str>);

impl Packed {
    /// Packs a value.
    pub fn new(value: &Value) -> Self {
        Self(value.to_string().into_boxed_str())
    }

    /// Returns the value.
    pub fn open(&self) -> Value {
        // It was written by `new`, so it can be read.
        serde_json::from_str(&self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_packed_comes_out_again() {
        for value in [
            json!(null),
            json!({"b": [1, 2.5, -3, 1e300, u64::MAX], "a": {"text": "ä\"\n\u{0}"}, "": true}),
            json!([]),
        ] {
            assert_eq!(Packed::new(&value).open(), value);
        }
    }
}
