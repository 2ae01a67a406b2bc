//! How an item of a list is named in a path.

use gotemplate::format::quoted;
use serde_json::Value;

use super::element::PathElement;
use super::shape::{ItemNames, ListShape};

impl ListShape<'_> {
    /// Returns the path element of an item, or why it has none.
    pub(super) fn name_item(&self, item: &Value) -> Result<PathElement, String> {
        match self.names {
            ItemNames::Atomic => Err("invalid indexing of non-associative list".to_owned()),
            ItemNames::Value => {
                self.check_item(item)?;
                Ok(PathElement::Value(item.clone()))
            }
            ItemNames::Keys(keys) => {
                self.check_item(item)?;
                let fields = keys.iter().filter_map(|key| {
                    let value = item.get(&**key).or_else(|| self.key_default(key))?;
                    Some((key.clone(), value.clone()))
                });
                Ok(PathElement::key(fields))
            }
        }
    }

    /// Returns why an item can't be named, without naming it.
    pub(super) fn check_item(&self, item: &Value) -> Result<(), String> {
        let problem = match (self.names, item) {
            (ItemNames::Value, Value::Object(_)) => {
                "associative list without keys has an element that's a map type"
            }
            (ItemNames::Value, Value::Array(_)) => "not supported: associative list with lists as elements",
            (ItemNames::Value, Value::Null) => {
                "associative list without keys has an element that's an explicit null"
            }
            (ItemNames::Atomic | ItemNames::Value, _) => return Ok(()),
            (ItemNames::Keys(_), Value::Null) => "associative list with keys may not have a null element",
            (ItemNames::Keys(keys), Value::Object(fields)) => {
                if keys.iter().all(|key| fields.contains_key(&**key)) {
                    return Ok(());
                }
                return self.check_keys(keys, fields);
            }
            (ItemNames::Keys(_), _) => "associative list with keys may not have non-map elements",
        };
        Err(problem.to_owned())
    }

    fn check_keys(&self, keys: &[Box<str>], fields: &serde_json::Map<String, Value>) -> Result<(), String> {
        let mut found = keys.is_empty();
        for key in keys {
            if fields.contains_key(&**key) {
                found = true;
            } else if self.item.shape().atom().map.is_none() {
                return Err(format!(
                    "couldn't find default value for {key}: associative list may not have non-map types"
                ));
            } else {
                found |= self.key_default(key).is_some();
            }
        }
        if found {
            return Ok(());
        }
        let keys: Vec<String> = keys.iter().map(|key| quoted(&**key)).collect();
        Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
             values for any key fields)",
            keys.join(" ")
        ))
    }

    fn key_default(&self, key: &str) -> Option<&Value> {
        self.item.shape().atom().map.and_then(|map| map.default_of(key))
    }
}
