//! The documents that a schema consists of. Nothing is read from disk or network.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use gotemplate::format::quoted;

use super::draft::{Draft, LATEST};
use super::json::Json;
use super::place::{Place, split};
use crate::go_url::Url;
use crate::schema::SchemaError;

/// The schemas of the specification itself, by what follows `json-schema.org/` in their addresses.
const METASCHEMAS: [(&str, &str); 19] = [
    ("draft-04/schema", include_str!("metaschema/draft-04.json")),
    ("draft-06/schema", include_str!("metaschema/draft-06.json")),
    ("draft-07/schema", include_str!("metaschema/draft-07.json")),
    (
        "draft/2019-09/schema",
        include_str!("metaschema/2019-09/schema.json"),
    ),
    (
        "draft/2019-09/meta/core",
        include_str!("metaschema/2019-09/core.json"),
    ),
    (
        "draft/2019-09/meta/applicator",
        include_str!("metaschema/2019-09/applicator.json"),
    ),
    (
        "draft/2019-09/meta/validation",
        include_str!("metaschema/2019-09/validation.json"),
    ),
    (
        "draft/2019-09/meta/meta-data",
        include_str!("metaschema/2019-09/meta-data.json"),
    ),
    (
        "draft/2019-09/meta/format",
        include_str!("metaschema/2019-09/format.json"),
    ),
    (
        "draft/2019-09/meta/content",
        include_str!("metaschema/2019-09/content.json"),
    ),
    (
        "draft/2020-12/schema",
        include_str!("metaschema/2020-12/schema.json"),
    ),
    (
        "draft/2020-12/meta/core",
        include_str!("metaschema/2020-12/core.json"),
    ),
    (
        "draft/2020-12/meta/applicator",
        include_str!("metaschema/2020-12/applicator.json"),
    ),
    (
        "draft/2020-12/meta/unevaluated",
        include_str!("metaschema/2020-12/unevaluated.json"),
    ),
    (
        "draft/2020-12/meta/validation",
        include_str!("metaschema/2020-12/validation.json"),
    ),
    (
        "draft/2020-12/meta/meta-data",
        include_str!("metaschema/2020-12/meta-data.json"),
    ),
    (
        "draft/2020-12/meta/content",
        include_str!("metaschema/2020-12/content.json"),
    ),
    (
        "draft/2020-12/meta/format-annotation",
        include_str!("metaschema/2020-12/format-annotation.json"),
    ),
    (
        "draft/2020-12/meta/format-assertion",
        include_str!("metaschema/2020-12/format-assertion.json"),
    ),
];

/// Whether an address is one of the specification's own.
pub(super) fn is_of_specification(url: &str) -> bool {
    below_specification(url).is_some()
}

fn below_specification(url: &str) -> Option<&str> {
    url.strip_prefix("http://json-schema.org/")
        .or_else(|| url.strip_prefix("https://json-schema.org/"))
}

fn metaschema(url: &str) -> Option<&'static str> {
    let name = match below_specification(url)? {
        "schema" => below_specification(LATEST.url())?,
        name => name,
    };
    METASCHEMAS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}

/// The documents that were loaded so far, by address.
#[derive(Default)]
pub(super) struct Loader {
    documents: HashMap<String, Rc<Json>>,
}

impl Loader {
    pub(super) fn add(&mut self, url: &str, document: Json) {
        self.documents.insert(url.to_owned(), Rc::new(document));
    }

    pub(super) fn load(&mut self, url: &str) -> Result<Rc<Json>, SchemaError> {
        match self.documents.entry(url.to_owned()) {
            Entry::Occupied(known) => Ok(Rc::clone(known.get())),
            Entry::Vacant(unknown) => {
                let document = Rc::new(load(url)?);
                Ok(Rc::clone(unknown.insert(document)))
            }
        }
    }

    /// The draft of a document, which may be named by way of other documents.
    pub(super) fn draft(
        &mut self,
        place: &Place,
        document: &Json,
        fallback: Draft,
    ) -> Result<Draft, SchemaError> {
        let Some(mut metaschema) = schema_keyword(document).map(str::to_owned) else {
            return Ok(fallback);
        };
        let mut seen = Vec::new();
        let mut here = place.clone();
        loop {
            if let Some(draft) = Draft::from_url(&metaschema) {
                return Ok(draft);
            }
            let (url, _) = split(&metaschema);
            if let Err(error) = Url::parse(url) {
                let here = quoted(here.to_string());
                return Err(SchemaError::Faulty(format!("invalid $schema in {here}: {error}")));
            }
            let url = url.to_owned();
            if here.pointer.is_empty() && url == here.url {
                return Err(SchemaError::Faulty(format!(
                    "draft {} is not supported",
                    quoted(&url)
                )));
            }
            if seen.contains(&url) {
                return Err(SchemaError::Faulty(format!(
                    "cycle in resolving $schema in {}",
                    quoted(&url)
                )));
            }
            let document = self.load(&url)?;
            let Some(next) = schema_keyword(&document) else {
                return Ok(fallback);
            };
            next.clone_into(&mut metaschema);
            seen.push(url.clone());
            here = Place {
                url,
                pointer: String::new(),
            };
        }
    }
}

/// The address that `$schema` names, where it is text.
pub(super) fn schema_keyword(document: &Json) -> Option<&str> {
    document.as_object()?.get("$schema")?.as_text()
}

fn load(url: &str) -> Result<Json, SchemaError> {
    if let Some(text) = metaschema(url) {
        return Json::read(text.as_bytes());
    }
    let failed = |reason: String| SchemaError::Faulty(format!("failing loading {}: {reason}", quoted(url)));
    let parsed = Url::parse(url).map_err(failed)?;
    match parsed.scheme.as_slice() {
        // A name of something that nobody has; Helm takes everything for it.
        b"urn" => Ok(Json::Bool(true)),
        // A schema must not read files of the machine that it is used on.
        b"file" => Err(failed(format!(
            "open {}: no such file or directory",
            String::from_utf8_lossy(&parsed.path)
        ))),
        b"http" | b"https" => Err(failed(format!(
            "HTTP request failed for {url}: the schema refers to another one on the network, which is not used here"
        ))),
        _ => Err(failed(format!(
            "no URLLoader registered for {}",
            quoted(parsed.to_string())
        ))),
    }
}
