//! A definition as the API server holds it: what all versions share stands in one place.

use serde_json::{Map, Value};

use super::internal;
use crate::structural::document::Document;

/// An object of a definition, or nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a>(Option<Document<'a>>);

impl<'a> Part<'a> {
    pub(super) fn of(value: Option<&'a Value>) -> Self {
        Self(value.and_then(Document::of))
    }

    pub(super) fn at(value: &'a Value, pointer: &str) -> Self {
        Self::of(value.pointer(pointer))
    }

    pub(super) fn is_there(self) -> bool {
        self.0.is_some()
    }

    /// Returns text, which is empty where there is none.
    pub(super) fn text(self, name: &str) -> &'a str {
        self.0.and_then(|part| part.text(name)).unwrap_or_default()
    }

    /// Returns text that may be left out.
    pub(super) fn pointed_text(self, name: &str) -> Option<&'a str> {
        self.0.and_then(|part| part.pointed_text(name))
    }

    pub(super) fn flag(self, name: &str) -> bool {
        self.0.is_some_and(|part| part.flag(name))
    }

    pub(super) fn items(self, name: &str) -> &'a [Value] {
        self.0.map_or(&[], |part| part.items(name))
    }

    /// Returns a list, if there is one.
    fn list(self, name: &str) -> Option<&'a [Value]> {
        self.value(name).and_then(Value::as_array).map(Vec::as_slice)
    }

    pub(super) fn value(self, name: &str) -> Option<&'a Value> {
        self.0.and_then(|part| part.value(name))
    }

    pub(super) fn part(self, name: &str) -> Part<'a> {
        Self::of(self.value(name))
    }

    pub(super) fn document(self) -> Option<Document<'a>> {
        self.0
    }
}

/// What a version has that all versions may share.
#[derive(Clone, Copy)]
pub(super) struct Version<'a> {
    part: Part<'a>,
    /// What isn't shared.
    pub(super) own: internal::Parts<'a>,
}

impl<'a> Version<'a> {
    pub(super) fn text(&self, name: &str) -> &'a str {
        self.part.text(name)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.part.flag(name)
    }

    pub(super) fn pointed_text(&self, name: &str) -> Option<&'a str> {
        self.part.pointed_text(name)
    }

    /// Returns the version as errors show it.
    fn shown(&self) -> String {
        self.part
            .document()
            .map_or_else(|| "null".to_owned(), |part| internal::version(part, self.own))
    }
}

/// A definition as the API server holds it.
pub(super) struct View<'a> {
    spec: Part<'a>,
    definition: &'a Value,
    pub(super) versions: Vec<Version<'a>>,
    /// What all versions share.
    pub(super) shared: internal::Parts<'a>,
}

/// Returns an object, or nothing where it is left out.
fn object(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

impl<'a> View<'a> {
    pub(super) fn of(definition: &'a Value) -> Self {
        let spec = Part::at(definition, "/spec");
        let parts: Vec<Part<'a>> = spec
            .items("versions")
            .iter()
            .map(|version| Part::of(Some(version)))
            .collect();
        let mut versions: Vec<Version<'a>> = parts
            .iter()
            .map(|part| Version {
                part: *part,
                own: internal::Parts {
                    schema: part.value("schema"),
                    subresources: part.value("subresources"),
                    columns: part.list("additionalPrinterColumns"),
                    selectable_fields: part.list("selectableFields"),
                },
            })
            .collect();
        let mut shared = internal::Parts {
            schema: None,
            subresources: None,
            columns: None,
            selectable_fields: None,
        };
        if let Some(first) = versions.first().map(|version| version.own) {
            let all = |is_same: &dyn Fn(&internal::Parts<'a>) -> bool| {
                versions.iter().all(|version| is_same(&version.own))
            };
            let shares_schema = all(&|own| is_same_schema(own.schema, first.schema));
            let shares_subresources = all(&|own| object(own.subresources) == object(first.subresources));
            let shares_columns =
                all(&|own| own.columns.unwrap_or_default() == first.columns.unwrap_or_default());
            let shares_fields = all(&|own| {
                own.selectable_fields.unwrap_or_default() == first.selectable_fields.unwrap_or_default()
            });
            for version in &mut versions {
                if shares_schema {
                    shared.schema = version.own.schema.take();
                }
                if shares_subresources {
                    shared.subresources = version.own.subresources.take();
                }
                if shares_columns {
                    shared.columns = version.own.columns.take();
                }
                if shares_fields {
                    shared.selectable_fields = version.own.selectable_fields.take();
                }
            }
        }
        Self {
            spec,
            definition,
            versions,
            shared,
        }
    }

    pub(super) fn text(&self, name: &str) -> &'a str {
        self.spec.text(name)
    }

    pub(super) fn names(&self) -> Part<'a> {
        self.spec.part("names")
    }

    pub(super) fn conversion(&self) -> Part<'a> {
        self.spec.part("conversion")
    }

    pub(super) fn definition(&self) -> &'a Value {
        self.definition
    }

    /// Returns the versions as errors show them.
    pub(super) fn shown_versions(&self) -> String {
        if self.spec.value("versions").is_none() {
            return "null".to_owned();
        }
        let shown: Vec<String> = self.versions.iter().map(Version::shown).collect();
        format!("[{}]", shown.join(","))
    }

    /// Returns every schema of the definition: the one that all versions share, or those of the versions.
    pub(super) fn schemas(&self) -> impl Iterator<Item = Document<'a>> {
        std::iter::once(self.shared.schema)
            .chain(self.versions.iter().map(|version| version.own.schema))
            .filter_map(schema_of)
    }

    /// Returns what stands around the schema of a version, its own or the shared one; null where it has none.
    pub(super) fn schema_around(&self, version: &str) -> Option<&'a Value> {
        let version = self.versions.iter().find(|one| one.text("name") == version)?;
        version.own.schema.or(self.shared.schema).or(Some(&Value::Null))
    }
}

/// Returns whether two schemas mean the same, seen with what stands around them.
pub(super) fn is_same_schema(one: Option<&Value>, other: Option<&Value>) -> bool {
    if object(one) == object(other) {
        return true;
    }
    object(one).is_some() == object(other).is_some()
        && schema_of(one).map(internal::meaning) == schema_of(other).map(internal::meaning)
}

/// Returns the schema inside of what stands around it.
pub(super) fn schema_of(around: Option<&Value>) -> Option<Document<'_>> {
    Document::of(around?)?.node("openAPIV3Schema")
}
