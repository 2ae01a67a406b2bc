//! The values of fields that are enumerations. A server's `/openapi/v3` has them, the published definitions don't; which
//! fields have the same values is told by their type in Go.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;

use serde_json::Value;

/// The values by package and type.
pub(super) struct Enumerations(BTreeMap<(&'static str, &'static str), Vec<String>>);

impl Enumerations {
    /// Reads the list.
    pub(super) fn read() -> Result<Self, Box<dyn Error>> {
        let mut listed = BTreeMap::new();
        for line in include_str!("enumerations.txt")
            .lines()
            .filter(|line| !line.starts_with('#'))
        {
            let mut parts = line.splitn(3, ' ');
            let (Some(package), Some(name), Some(values)) = (parts.next(), parts.next(), parts.next()) else {
                return Err(format!("enumerations.txt: {line:?} isn't a package, a type and values").into());
            };
            listed.insert((package, name), serde_json::from_str(values)?);
        }
        Ok(Self(listed))
    }

    /// Adds the values to the fields of a definition; `held` is how Go holds them.
    pub(super) fn add(&self, definition: &str, held: &str, shape: &mut Value) {
        let package = definition.rsplit_once('.').map_or("", |(package, _)| package);
        for field in held.split(' ') {
            let parts: Vec<&str> = field.split(':').collect();
            let name = parts.first().copied().unwrap_or_default();
            let Some(property) = shape.pointer_mut(&format!(
                "/properties/{}",
                name.replace('~', "~0").replace('/', "~1")
            )) else {
                continue;
            };
            let values_of = |place: usize| {
                self.0
                    .get(&(package, parts.get(place).copied().unwrap_or_default()))
            };
            if let Some(values) = values_of(3) {
                property["enum"] = Value::from(values.clone());
                tell(property, values);
            }
            let Some(values) = values_of(4) else { continue };
            for place in ["items", "additionalProperties"] {
                if let Some(element) = property.get_mut(place) {
                    element["enum"] = Value::from(values.clone());
                }
            }
        }
    }
}

fn tell(property: &mut Value, values: &[String]) {
    let mut text = property
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    text.push_str("\n\nPossible enum values:");
    for value in values {
        let _ = write!(text, "\n - `{value:?}`");
    }
    property["description"] = Value::from(text);
}
