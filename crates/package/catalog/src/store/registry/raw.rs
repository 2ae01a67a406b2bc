//! Canonical JSON taken apart without decoding it, by the rules that Go's encoding/json has for struct fields.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A JSON value as it is written.
pub(super) type Raw<'a> = &'a RawValue;

/// Reads a blob.
pub(super) fn parse<'a, T: Deserialize<'a>>(blob: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(blob).map_err(|error| format!("invalid JSON: {error}"))
}

/// Whether a value is `null`, which leaves a Go field as it is.
pub(super) fn is_null(value: Raw<'_>) -> bool {
    value.get() == "null"
}

/// The fields of an object in the order in which they are written.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, Raw<'a>)>);

impl<'a> Fields<'a> {
    /// The fields of a value; none if it is null.
    pub(super) fn of(value: Raw<'a>) -> Result<Self, String> {
        if is_null(value) {
            return Ok(Self::default());
        }
        serde_json::from_str(value.get()).map_err(|_| not("an object", value))
    }

    /// A field by its name. Go matches names without case; of several that match, the last one counts.
    pub(super) fn get(&self, name: &str) -> Option<Raw<'a>> {
        self.0
            .iter()
            .rev()
            .find(|(key, value)| !is_null(value) && matches_name(key, name))
            .map(|(_, value)| *value)
    }

    /// A field that Go keeps undecoded, for which null is a value too.
    pub(super) fn get_raw(&self, name: &str) -> Option<Raw<'a>> {
        self.0
            .iter()
            .rev()
            .find(|(key, _)| matches_name(key, name))
            .map(|(_, value)| *value)
    }

    /// A text field; empty if there is none.
    pub(super) fn text(&self, name: &str) -> Result<Cow<'a, str>, String> {
        self.get(name).map_or(Ok(Cow::Borrowed("")), text)
    }

    /// The elements of a list field; none if there is none.
    pub(super) fn list(&self, name: &str) -> Result<Vec<Raw<'a>>, String> {
        self.get(name).map_or(Ok(Vec::new()), list)
    }

    /// Every field.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(Cow<'a, str>, Raw<'a>)> {
        self.0.iter()
    }
}

/// A value as text; null is empty.
pub(super) fn text(value: Raw<'_>) -> Result<Cow<'_, str>, String> {
    if is_null(value) {
        return Ok(Cow::Borrowed(""));
    }
    serde_json::from_str(value.get())
        .map(|Text(text)| text)
        .map_err(|_| not("a string", value))
}

/// The elements of a list; null has none.
pub(super) fn list(value: Raw<'_>) -> Result<Vec<Raw<'_>>, String> {
    if is_null(value) {
        return Ok(Vec::new());
    }
    serde_json::from_str(value.get())
        .map(|Elements(elements)| elements)
        .map_err(|_| not("a list", value))
}

/// Says that a value isn't what its field needs; no more of it than a message can bear.
pub(super) fn not(expected: &str, value: Raw<'_>) -> String {
    const SHOWN: usize = 40;
    let text: String = value.get().chars().take(SHOWN).collect();
    format!("expected {expected}, got {text}")
}

/// Whether Go takes `key` for the field `name`: they are equal when case is folded.
///
/// Beside the ASCII letters there are two characters that fold to one: the Kelvin sign and the long s.
pub(super) fn matches_name(key: &str, name: &str) -> bool {
    key == name
        || key.eq_ignore_ascii_case(name)
        || (!key.is_ascii()
            && key
                .chars()
                .map(|character| match character {
                    '\u{212a}' => 'k',
                    '\u{17f}' => 's',
                    other => other.to_ascii_lowercase(),
                })
                .eq(name.chars().map(|character| character.to_ascii_lowercase())))
}

/// A text that is borrowed where it has no escapes.
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;

        impl<'de> Visitor<'de> for Borrowing {
            type Value = Text<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }

        deserializer.deserialize_str(Borrowing)
    }
}

struct Elements<'a>(Vec<Raw<'a>>);

impl<'de> Deserialize<'de> for Elements<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collecting;

        impl<'de> Visitor<'de> for Collecting {
            type Value = Elements<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
                let mut collected = Vec::new();
                while let Some(element) = elements.next_element()? {
                    collected.push(element);
                }
                Ok(Elements(collected))
            }
        }

        deserializer.deserialize_seq(Collecting)
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collecting;

        impl<'de> Visitor<'de> for Collecting {
            type Value = Fields<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((Text(key), value)) = map.next_entry()? {
                    fields.push((key, value));
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Collecting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(json: &str) -> Fields<'_> {
        Fields::of(serde_json::from_str(json).unwrap()).unwrap()
    }

    #[test]
    fn a_field_is_found_as_go_finds_it() {
        assert_eq!(fields(r#"{"Name":"a"}"#).text("name").unwrap(), "a");
        assert_eq!(fields(r#"{"NAME":"a","name":"b"}"#).text("name").unwrap(), "b");
        assert_eq!(fields(r#"{"name":"a","name":null}"#).text("name").unwrap(), "a");
        assert_eq!(fields(r#"{"ſkipſ":["a"]}"#).list("skips").unwrap().len(), 1);
        assert_eq!(fields(r#"{"\u212aind":"a"}"#).text("kind").unwrap(), "a");
        assert_eq!(fields(r#"{"näme":"a"}"#).text("name").unwrap(), "");
        assert_eq!(fields(r#"{"n":"a\nb"}"#).text("n").unwrap(), "a\nb");
    }

    #[test]
    fn a_value_of_another_kind_is_an_error() {
        let fields = fields(r#"{"name":1,"list":{},"object":[]}"#);
        assert_eq!(fields.text("name").unwrap_err(), "expected a string, got 1");
        assert_eq!(fields.list("list").unwrap_err(), "expected a list, got {}");
        assert_eq!(
            Fields::of(fields.get("object").unwrap()).unwrap_err(),
            "expected an object, got []"
        );
    }
}
