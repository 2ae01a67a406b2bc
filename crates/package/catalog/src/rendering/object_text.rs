//! An object as JSON text: sorted keys, no blanks, and escaped for HTML, as Go's `json.Marshal` writes it.
//!
//! A bundle's objects go into a catalog as text, so they are written while they are read, without a tree of values in
//! between; that is a large part of what rendering costs.

use std::fmt::{self, Write as _};

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// JSON text of whatever it is read from.
pub(super) struct ObjectText(pub(super) String);

impl<'de> Deserialize<'de> for ObjectText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = String::new();
        Writer(&mut text).deserialize(deserializer)?;
        Ok(Self(text))
    }
}

/// Writes one value at the end of a text.
struct Writer<'t>(&'t mut String);

impl<'de> DeserializeSeed<'de> for Writer<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Writer<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON data")
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.0.push_str("null");
        Ok(())
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        self.0.push_str(if value { "true" } else { "false" });
        Ok(())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        self.0.push_str(&value.to_string());
        Ok(())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        // Kubernetes reads integers beyond 64 bits with a sign as floats.
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            #[expect(clippy::cast_precision_loss, reason = "so does Go")]
            Err(_) => self.visit_f64(value as f64),
        }
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        let text = goyaml::json::number_text(value);
        self.0.push_str(text.as_deref().unwrap_or("null"));
        Ok(())
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<(), E> {
        write_text(value, self.0);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.push('[');
        let start = self.0.len();
        loop {
            let before = self.0.len();
            if before > start {
                self.0.push(',');
            }
            if items.next_element_seed(Writer(self.0))?.is_none() {
                self.0.truncate(before);
                break;
            }
        }
        self.0.push(']');
        Ok(())
    }

    /// Entries come sorted, each key once.
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        self.0.push('{');
        let start = self.0.len();
        loop {
            let before = self.0.len();
            if before > start {
                self.0.push(',');
            }
            if entries.next_key_seed(Writer(self.0))?.is_none() {
                self.0.truncate(before);
                break;
            }
            self.0.push(':');
            entries.next_value_seed(Writer(self.0))?;
        }
        self.0.push('}');
        Ok(())
    }
}

/// Which bytes may need an escape: quotes, control characters, those of HTML, and the first of U+2028 and U+2029.
const MAY_NEED_ESCAPE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = true;
        byte += 1;
    }
    table[b'"' as usize] = true;
    table[b'\\' as usize] = true;
    table[b'<' as usize] = true;
    table[b'>' as usize] = true;
    table[b'&' as usize] = true;
    table[0xE2] = true;
    table
};

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(plain) = rest.bytes().position(|byte| MAY_NEED_ESCAPE[usize::from(byte)]) {
        // The byte that was found starts a character, so both parts are text.
        let (before, behind) = rest.split_at(plain);
        out.push_str(before);
        let mut characters = behind.chars();
        match characters.next() {
            Some(special @ ('"' | '\\')) => out.extend(['\\', special]),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some('\x08') => out.push_str("\\b"),
            Some('\x0C') => out.push_str("\\f"),
            Some('\u{2028}') => out.push_str("\\u2028"),
            Some('\u{2029}') => out.push_str("\\u2029"),
            Some(control @ ('\0'..='\x1F' | '<' | '>' | '&')) => {
                // Writing to text can't fail.
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            Some(other) => out.push(other),
            None => {}
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use goyaml::json::Escape;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn text_of(value: &Value) -> String {
        ObjectText::deserialize(value.clone()).expect("JSON").0
    }

    #[test]
    fn integers_beyond_a_sign_become_floats() {
        assert_eq!(
            text_of(&json!({"b": [], "a": {}, "c": 12_345_678_901_234_567_890_u64})),
            r#"{"a":{},"b":[],"c":12345678901234567000}"#
        );
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".*".prop_map(Value::from),
            "[<>&\"\\\\\u{2028}\u{2029}\u{2030}\t\u{1}]*".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(".*", inner, 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn text_is_what_go_marshals(value in any_json()) {
            prop_assert_eq!(text_of(&value), goyaml::json::to_string(&value, Escape::Html).expect("JSON"));
        }
    }
}
