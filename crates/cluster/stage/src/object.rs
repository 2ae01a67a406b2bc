//! A Kubernetes object as JSON, and the parts of it that every kind has.

use serde_json::{Map, Value};

/// Reads and writes the metadata of an object, whatever its kind.
pub trait Object {
    /// Returns the metadata, if there is any.
    fn metadata(&self) -> Option<&Map<String, Value>>;

    /// Returns the metadata, which is made where it is missing.
    fn metadata_mut(&mut self) -> &mut Map<String, Value>;

    /// Returns a text of the metadata; empty where it is missing.
    fn metadata_text(&self, field: &str) -> &str {
        self.metadata()
            .and_then(|metadata| metadata.get(field))
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Returns the object's name.
    fn name(&self) -> &str {
        self.metadata_text("name")
    }

    /// Returns the object's namespace; empty for objects of the whole cluster.
    fn namespace(&self) -> &str {
        self.metadata_text("namespace")
    }

    /// Returns the object's uid.
    fn uid(&self) -> &str {
        self.metadata_text("uid")
    }

    /// Returns the object's generation; 0 where it has none.
    fn generation(&self) -> i64 {
        self.metadata()
            .and_then(|metadata| metadata.get("generation"))
            .and_then(Value::as_i64)
            .unwrap_or_default()
    }

    /// Returns whether the object's deletion has begun.
    fn is_being_deleted(&self) -> bool {
        self.metadata()
            .is_some_and(|metadata| metadata.get("deletionTimestamp").is_some_and(|at| !at.is_null()))
    }

    /// Returns the object's finalizers.
    fn finalizers(&self) -> Vec<&str> {
        let listed = self
            .metadata()
            .and_then(|metadata| metadata.get("finalizers"))
            .and_then(Value::as_array);
        listed
            .map(|all| all.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default()
    }

    /// Returns the value of a label.
    fn label(&self, name: &str) -> Option<&str> {
        self.metadata()?.get("labels")?.get(name)?.as_str()
    }

    /// Returns the value of an annotation.
    fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata()?.get("annotations")?.get(name)?.as_str()
    }

    /// Sets a field of the metadata; an empty text removes it.
    fn set_metadata_text(&mut self, field: &str, text: &str) {
        let metadata = self.metadata_mut();
        if text.is_empty() {
            metadata.remove(field);
        } else {
            metadata.insert(field.to_owned(), text.into());
        }
    }

    /// Returns the reference to the controller that owns the object.
    fn controller(&self) -> Option<&Value> {
        let owners = self.metadata()?.get("ownerReferences")?.as_array()?;
        owners
            .iter()
            .find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))
    }
}

impl Object for Value {
    fn metadata(&self) -> Option<&Map<String, Value>> {
        self.get("metadata").and_then(Value::as_object)
    }

    fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        map_of(
            map_of(self)
                .entry("metadata")
                .or_insert_with(|| Value::Object(Map::new())),
        )
    }
}

/// Returns the value as an object, which it becomes where it is anything else.
pub fn map_of(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("the value was made an object above"),
    }
}

/// Returns the time as Kubernetes writes it in metadata: whole seconds, UTC.
pub fn timestamp(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Returns the time with microseconds, as leases and events have it.
pub fn micro_timestamp(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
