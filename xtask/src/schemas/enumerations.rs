//! The values of fields that are enumerations. A server's `/openapi/v3` has them, the published definitions don't; which
//! fields have the same values is told by their type in Go.

use std::collections::BTreeMap;
use std::error::Error;

use serde_json::Value;

/// Where types are that other packages use.
const SHARED: &str = "io.k8s.api.core.v1";

/// The values by package and type, and what they mean.
pub(super) struct Enumerations {
    values: BTreeMap<(&'static str, &'static str), Vec<String>>,
    meanings: BTreeMap<(String, String), String>,
}

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
        Ok(Self {
            values: listed,
            meanings: super::fields::meanings()?,
        })
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
                self.values
                    .get(&(package, parts.get(place).copied().unwrap_or_default()))
            };
            if let Some(values) = values_of(3) {
                property["enum"] = Value::from(values.clone());
                self.tell(
                    property,
                    package,
                    parts.get(3).copied().unwrap_or_default(),
                    values,
                );
            }
            let Some(values) = values_of(4) else { continue };
            for place in ["items", "additionalProperties"] {
                if let Some(element) = property.get_mut(place) {
                    element["enum"] = Value::from(values.clone());
                }
            }
        }
    }

    fn tell(&self, property: &mut Value, package: &str, held: &str, values: &[String]) {
        let name = held.rsplit('.').next().unwrap_or_default();
        let mut text = property
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        text.push_str("\n\nPossible enum values:");
        for value in values {
            let meaning = [package, SHARED]
                .into_iter()
                .find_map(|package| self.meanings.get(&(format!("{package} {name}"), value.clone())));
            let line = format!("\n - `{value:?}` {}", meaning.map_or("", String::as_str));
            text.push_str(line.trim_end());
        }
        property["description"] = Value::from(text);
    }
}
