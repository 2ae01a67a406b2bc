//! Values as go-yaml sees them when no JSON stands between: `toYamlPretty`.

use gotemplate::{Json, Kind, Value};
use serde::ser::{Error, Serialize, Serializer};

use super::limits;

/// A value and how many containers are around it.
pub(crate) struct Direct<'a> {
    pub(crate) value: &'a Value,
    pub(crate) depth: usize,
}

impl Serialize for Direct<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            // JSON has no infinities; YAML has.
            Value::Float(value) => serializer.serialize_f64(*value),
            // A nil map is an empty one to go-yaml, and null to JSON.
            Value::TypedNil(nil) if nil.kind() == Kind::Map => serializer.collect_map::<(), (), _>([]),
            Value::TypedNil(nil) if nil.kind() == Kind::Slice => serializer.collect_seq::<[(); 0]>([]),
            Value::List(list) => {
                let items = list.iter().map(|value| self.inner(value));
                self.deeper(|| serializer.collect_seq(items))
            }
            Value::Map(map) => {
                let entries = map.borrow();
                let entries = entries
                    .iter()
                    .map(|(key, value)| (key.to_str(), self.inner(value)));
                self.deeper(|| serializer.collect_map(entries))
            }
            Value::Object(object) => match (object.kind(), object.text(), object.json()) {
                // A duration is text to go-yaml, and a number to JSON.
                (Kind::Integer(_), Some(text), _) if object.type_name() == "time.Duration" => {
                    serializer.serialize_str(&text)
                }
                (_, _, Json::Value(value)) => self.deeper(|| self.inner(&value).serialize(serializer)),
                (_, _, Json::Object(_)) => self.value.serialize(serializer),
            },
            other => other.serialize(serializer),
        }
    }
}

impl<'a> Direct<'a> {
    fn inner(&self, value: &'a Value) -> Direct<'a> {
        Direct {
            value,
            depth: self.depth + 1,
        }
    }

    fn deeper<T, E: Error>(&self, write: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        limits::nested(self.depth, || Ok(write())).unwrap_or_else(|failure| Err(E::custom(failure)))
    }
}
