//! The head of an object: what it is, what it is called, and its annotations.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

use crate::field_decoder::{FieldDecoder, declared_name};

/// How Go writes the type of the metadata that Helm looks at.
const METADATA_TYPE: &str =
    r#"struct { Name string "json:\"name\""; Annotations map[string]string "json:\"annotations\"" }"#;

const FIELDS: &[&str] = &["apiVersion", "kind", "metadata"];
const METADATA_FIELDS: &[&str] = &["name", "annotations"];

/// What sorting needs to know about an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The API version, such as `apps/v1`.
    pub api_version: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The name in the metadata.
    pub name: String,
    /// The annotations in the metadata.
    pub annotations: BTreeMap<String, String>,
}

impl Head {
    /// Reads the head of a YAML document. All of the document must be YAML; the error is Go's text.
    pub fn read(document: &[u8]) -> Result<Self, String> {
        let RawHead(raw) = goyaml::from_slice(document).map_err(|error| error.in_sigs_words())?;
        let mut head = Self::default();
        let mut decoder = FieldDecoder::default();
        decoder.structure(
            &raw,
            "SimpleHead",
            "releaseutil.SimpleHead",
            FIELDS,
            |decoder, field, item| match field {
                "apiVersion" => decoder.string(item, &mut head.api_version),
                "kind" => decoder.string(item, &mut head.kind),
                _ => decoder.structure(
                    item,
                    "",
                    METADATA_TYPE,
                    METADATA_FIELDS,
                    |decoder, field, item| match field {
                        "name" => decoder.string(item, &mut head.name),
                        _ => decoder.string_map(item, &mut head.annotations),
                    },
                ),
            },
        );
        decoder.finish().map_err(crate::document::decoding_error)?;
        Ok(head)
    }
}

/// The parts of a document that a head is made of, everything else skipped.
struct RawHead(Value);

impl<'de> Deserialize<'de> for RawHead {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Part::Document).map(RawHead)
    }
}

/// Which part of a document is being read.
#[derive(Clone, Copy)]
enum Part {
    Document,
    Metadata,
}

impl Part {
    /// What to read below a key, or nothing where the key does not matter.
    fn wants(self, key: &str) -> Option<Want> {
        let names: &[&'static str] = match self {
            Self::Document => FIELDS,
            Self::Metadata => METADATA_FIELDS,
        };
        match declared_name(names, key)? {
            "metadata" => Some(Want::Metadata),
            _ => Some(Want::Value),
        }
    }
}

enum Want {
    Metadata,
    Value,
}

impl<'de> DeserializeSeed<'de> for Part {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a Kubernetes object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = serde_json::Map::new();
        while let Some(key) = map.next_key::<String>()? {
            match self.wants(&key) {
                Some(Want::Metadata) => {
                    let value = map.next_value_seed(Self::Metadata)?;
                    entries.insert(key, value);
                }
                Some(Want::Value) => {
                    let value = map.next_value()?;
                    entries.insert(key, value);
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Value::Object(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(Vec::new()))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }
}
