//! What of a definition is compared.

use std::collections::BTreeMap;

use goyaml::json::kind_word;
use serde_json::Value;

use super::kind::SCHEMA;
use super::typed::{Schema, ShapeError, Typed, part};

/// A definition, read.
#[derive(Debug)]
pub(crate) struct Definition {
    /// Its name.
    pub(crate) name: String,
    /// `Namespaced` or `Cluster`.
    pub(crate) scope: String,
    /// Whether a webhook converts between its versions.
    pub(crate) converts: bool,
    /// In which versions resources are or were stored.
    pub(crate) stored: Vec<String>,
    /// Its versions as given.
    pub(crate) versions: Vec<Version>,
}

/// A version of a definition.
#[derive(Debug)]
pub(crate) struct Version {
    /// Its name.
    pub(crate) name: String,
    /// Whether clients may use it.
    pub(crate) served: bool,
    schema: Option<Schema>,
}

impl Definition {
    /// Reads a definition.
    pub(crate) fn read(value: &Value) -> Result<Definition, ShapeError> {
        let spec = &value["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let versions = match &spec["versions"] {
            Value::Null => &[],
            Value::Array(versions) => versions.as_slice(),
            other => {
                return Err(ShapeError::Type {
                    path: "spec.versions".into(),
                    expected: "a list",
                    found: kind_word(other),
                });
            }
        };
        let versions = versions.iter().enumerate().map(|(index, version)| {
            let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
            let schema = match &version["schema"]["openAPIV3Schema"] {
                Value::Null => None,
                schema => Some(Schema::read(schema, &path)?),
            };
            Ok(Version {
                name: text(&version["name"]),
                served: version["served"].as_bool().unwrap_or(false),
                schema,
            })
        });
        let stored = value["status"]["storedVersions"].as_array();
        Ok(Definition {
            name: text(&value["metadata"]["name"]),
            scope: text(&spec["scope"]),
            converts: spec["conversion"]["strategy"] == "Webhook",
            stored: stored.into_iter().flatten().map(text).collect(),
            versions: versions.collect::<Result<_, ShapeError>>()?,
        })
    }

    /// Returns a version by name.
    pub(crate) fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }
}

/// Every schema of a version, by the path that leads to it: `^.spec.replicas`.
pub(crate) type Properties<'a> = BTreeMap<String, &'a Typed>;

impl Version {
    /// Returns every schema within the version's.
    pub(crate) fn properties(&self) -> Properties<'_> {
        let mut out = BTreeMap::new();
        if let Some(Schema(schema)) = &self.schema {
            walk(schema, "^".into(), &mut out);
        }
        out
    }
}

fn child(path: &str, name: &str) -> String {
    if name.is_empty() {
        format!("{path}[]")
    } else {
        format!("{path}.{name}")
    }
}

fn walk<'a>(schema: &'a Typed, path: String, out: &mut Properties<'a>) {
    let field = |name: &str| part(schema, &SCHEMA, name);
    // The parts of something that holds a schema or something else stand in this order.
    let inner = |name: &str, position: usize| match field(name).and_then(Typed::pointed) {
        Some(Typed::Structure(parts)) => parts.get(position),
        _ => None,
    };
    let mut found: Vec<(String, &'a Typed)> = Vec::new();
    let items = child(&path, "items");
    found.extend(
        inner("Items", 0)
            .and_then(Typed::pointed)
            .map(|schema| (items.clone(), schema)),
    );
    let listed = inner("Items", 1).map_or(&[][..], Typed::elements);
    found.extend(
        listed
            .iter()
            .enumerate()
            .map(|(index, schema)| (format!("{items}[{index}]"), schema)),
    );
    for (name, key) in [("AllOf", "allOf"), ("AnyOf", "anyOf"), ("OneOf", "oneOf")] {
        let schemas = field(name).map_or(&[][..], Typed::elements);
        let schemas = schemas.iter().enumerate();
        found.extend(schemas.map(|(index, schema)| (format!("{path}.{key}[{index}]"), schema)));
    }
    found.extend(
        field("Not")
            .and_then(Typed::pointed)
            .map(|schema| (child(&path, "not"), schema)),
    );
    let entries = |name: &str| field(name).into_iter().flat_map(Typed::entries);
    found.extend(entries("Properties").map(|(name, schema)| (child(&path, name), schema)));
    let additional = |name: &str| inner(name, 1).and_then(Typed::pointed);
    found.extend(
        additional("AdditionalProperties").map(|schema| (child(&path, "additionalProperties"), schema)),
    );
    let keyed = |key: &str, name: &str| format!("{path}.{key}[{name}]");
    found.extend(
        entries("PatternProperties").map(|(name, schema)| (keyed("patternProperties", name), schema)),
    );
    found.extend(additional("AdditionalItems").map(|schema| (child(&path, "additionalItems"), schema)));
    found.extend(entries("Definitions").map(|(name, schema)| (keyed("definitions", name), schema)));
    found.extend(
        entries("Dependencies").filter_map(|(name, dependency)| match dependency {
            Typed::Structure(parts) => Some((keyed("dependencies", name), parts.first()?.pointed()?)),
            _ => None,
        }),
    );
    // A name with a dot may lead to the same path twice; the later one counts.
    out.insert(path, schema);
    for (path, schema) in found {
        walk(schema, path, out);
    }
}
