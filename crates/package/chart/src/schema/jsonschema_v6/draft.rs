//! The drafts of the specification: where schemas have schemas inside, and which keywords count.

use std::collections::{BTreeMap, BTreeSet};

use super::json::Json;
use super::place::{append, split};

/// A draft of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Draft {
    Four,
    Six,
    Seven,
    Year2019,
    Year2020,
}

/// The draft of schemas that don't name one.
pub(super) const LATEST: Draft = Draft::Year2020;

/// What a keyword has schemas in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// It is one.
    Schema,
    /// Its elements are.
    List,
    /// The values of its entries are.
    Map,
}

/// Where a schema has schemas inside, and since which draft.
const SUBSCHEMAS: [(Draft, &str, Shape); 23] = [
    (Draft::Four, "definitions", Shape::Map),
    (Draft::Four, "not", Shape::Schema),
    (Draft::Four, "allOf", Shape::List),
    (Draft::Four, "anyOf", Shape::List),
    (Draft::Four, "oneOf", Shape::List),
    (Draft::Four, "properties", Shape::Map),
    (Draft::Four, "additionalProperties", Shape::Schema),
    (Draft::Four, "patternProperties", Shape::Map),
    (Draft::Four, "items", Shape::Schema),
    (Draft::Four, "items", Shape::List),
    (Draft::Four, "additionalItems", Shape::Schema),
    (Draft::Four, "dependencies", Shape::Map),
    (Draft::Six, "propertyNames", Shape::Schema),
    (Draft::Six, "contains", Shape::Schema),
    (Draft::Seven, "if", Shape::Schema),
    (Draft::Seven, "then", Shape::Schema),
    (Draft::Seven, "else", Shape::Schema),
    (Draft::Year2019, "$defs", Shape::Map),
    (Draft::Year2019, "dependentSchemas", Shape::Map),
    (Draft::Year2019, "unevaluatedProperties", Shape::Schema),
    (Draft::Year2019, "unevaluatedItems", Shape::Schema),
    (Draft::Year2019, "contentSchema", Shape::Schema),
    (Draft::Year2020, "prefixItems", Shape::List),
];

impl Draft {
    pub(super) const ALL: [Draft; 5] = [
        Draft::Four,
        Draft::Six,
        Draft::Seven,
        Draft::Year2019,
        Draft::Year2020,
    ];

    /// The address of the draft's own schema.
    pub(super) fn url(self) -> &'static str {
        match self {
            Draft::Four => "http://json-schema.org/draft-04/schema",
            Draft::Six => "http://json-schema.org/draft-06/schema",
            Draft::Seven => "http://json-schema.org/draft-07/schema",
            Draft::Year2019 => "https://json-schema.org/draft/2019-09/schema",
            Draft::Year2020 => "https://json-schema.org/draft/2020-12/schema",
        }
    }

    /// The draft that `$schema` names; either scheme will do.
    pub(super) fn from_url(url: &str) -> Option<Self> {
        let (url, fragment) = split(url);
        let without_scheme =
            |url: &'static str| url.trim_start_matches("http://").trim_start_matches("https://");
        let name = match url.strip_prefix("http://") {
            Some(name) => name,
            None => url.strip_prefix("https://").unwrap_or(url),
        };
        if !fragment.is_empty() {
            return None;
        }
        if name == "json-schema.org/schema" {
            return Some(LATEST);
        }
        Self::ALL
            .into_iter()
            .find(|draft| without_scheme(draft.url()) == name)
    }

    /// The keyword that gives a schema its address.
    pub(super) fn id_keyword(self) -> &'static str {
        if self == Draft::Four { "id" } else { "$id" }
    }

    /// The address that a schema gives itself, without what follows the hash sign.
    pub(super) fn id(self, schema: &BTreeMap<String, Json>) -> Option<&str> {
        // Beside a reference, nothing counted before 2019.
        if self < Draft::Year2019 && schema.contains_key("$ref") {
            return None;
        }
        let (id, _) = split(schema.get(self.id_keyword())?.as_text()?);
        Some(id).filter(|id| !id.is_empty())
    }

    /// What the addresses of the draft's own vocabularies begin with.
    fn vocabulary_prefix(self) -> Option<&'static str> {
        match self {
            Draft::Four | Draft::Six | Draft::Seven => None,
            Draft::Year2019 => Some("https://json-schema.org/draft/2019-09/vocab/"),
            Draft::Year2020 => Some("https://json-schema.org/draft/2020-12/vocab/"),
        }
    }

    /// The names of the draft's own vocabularies.
    pub(super) fn vocabularies(self) -> &'static [&'static str] {
        match self {
            Draft::Four | Draft::Six | Draft::Seven => &[],
            Draft::Year2019 => &[
                "core",
                "applicator",
                "validation",
                "meta-data",
                "format",
                "content",
            ],
            Draft::Year2020 => &[
                "core",
                "applicator",
                "unevaluated",
                "validation",
                "meta-data",
                "format-annotation",
                "format-assertion",
                "content",
            ],
        }
    }

    /// The vocabularies that count where a schema does not say which.
    fn default_vocabularies(self) -> &'static [&'static str] {
        match self {
            Draft::Four | Draft::Six | Draft::Seven => &[],
            Draft::Year2019 => &["core", "applicator", "validation"],
            Draft::Year2020 => &["core", "applicator", "unevaluated", "validation"],
        }
    }

    /// The vocabularies that a schema of schemas asks for; `None` if it does not say. The error is one that nobody knows.
    pub(super) fn asked_vocabularies(
        self,
        metaschema: &Json,
    ) -> Result<Option<BTreeSet<&'static str>>, String> {
        let (Some(prefix), Some(Json::Object(asked))) = (
            self.vocabulary_prefix(),
            metaschema
                .as_object()
                .and_then(|keywords| keywords.get("$vocabulary")),
        ) else {
            return Ok(None);
        };
        let mut names = BTreeSet::from(["core"]);
        for (url, is_required) in asked {
            if !matches!(is_required, Json::Bool(true)) {
                continue;
            }
            let known = url
                .strip_prefix(prefix)
                .and_then(|name| self.vocabularies().iter().find(|known| **known == name));
            names.insert(known.ok_or_else(|| url.clone())?);
        }
        Ok(Some(names))
    }

    /// The schemas directly inside a schema, each with the pointer to it, sorted by that.
    pub(super) fn subschemas<'j>(
        self,
        schema: &'j BTreeMap<String, Json>,
        pointer: &str,
    ) -> BTreeMap<String, &'j Json> {
        let mut found = BTreeMap::new();
        for (since, keyword, shape) in SUBSCHEMAS {
            let Some(value) = schema.get(keyword).filter(|_| since <= self) else {
                continue;
            };
            let below = append(pointer, keyword);
            match (shape, value) {
                (Shape::Schema, schema) => {
                    found.insert(below, schema);
                }
                (Shape::List, Json::Array(schemas)) => {
                    let schemas = schemas.iter().enumerate();
                    found.extend(schemas.map(|(index, schema)| (format!("{below}/{index}"), schema)));
                }
                (Shape::Map, Json::Object(schemas)) => {
                    let schemas = schemas.iter();
                    found.extend(schemas.map(|(name, schema)| (append(&below, name), schema)));
                }
                _ => {}
            }
        }
        found
    }
}

/// By which rules a schema is read: a draft, and maybe not all of its vocabularies.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Dialect {
    pub(super) draft: Draft,
    /// `None` for those that count where nothing is said.
    pub(super) vocabularies: Option<BTreeSet<&'static str>>,
}

impl Dialect {
    pub(super) fn of(draft: Draft) -> Self {
        Self {
            draft,
            vocabularies: None,
        }
    }

    pub(super) fn has(&self, vocabulary: &str) -> bool {
        if vocabulary == "core" || self.draft < Draft::Year2019 {
            return true;
        }
        match &self.vocabularies {
            Some(names) => names.contains(vocabulary),
            None => self.draft.default_vocabularies().contains(&vocabulary),
        }
    }

    /// Tells whether text is held against the format that it shall have.
    pub(super) fn asserts_formats(&self) -> bool {
        match self.draft {
            Draft::Four | Draft::Six | Draft::Seven => true,
            Draft::Year2019 => self.has("format"),
            Draft::Year2020 => self.has("format-assertion"),
        }
    }
}
