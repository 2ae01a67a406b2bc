//! The documents of a schema, and what its references lead to.

use std::collections::HashMap;

use serde_json::Value;

use crate::go_url::Url;
use crate::schema::{SchemaError, json_text};

/// A draft of the specification. Without one, the rules of all drafts are mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Draft {
    Four,
    Six,
    Seven,
    Hybrid,
}

/// The specification's own schemas, which others may refer to.
const METASCHEMAS: [(Draft, &str, &str); 3] = [
    (
        Draft::Four,
        "http://json-schema.org/draft-04/schema",
        include_str!("metaschema/draft-04.json"),
    ),
    (
        Draft::Six,
        "http://json-schema.org/draft-06/schema",
        include_str!("metaschema/draft-06.json"),
    ),
    (
        Draft::Seven,
        "http://json-schema.org/draft-07/schema",
        include_str!("metaschema/draft-07.json"),
    ),
];

/// A schema inside a document: the way to it from the document's root.
#[derive(Clone, Debug)]
pub(super) struct Place {
    document: usize,
    path: Vec<String>,
    pub(super) draft: Option<Draft>,
}

/// All documents that a schema consists of.
pub(super) struct Documents {
    documents: Vec<Value>,
    places: HashMap<String, Place>,
}

/// Reads JSON the way the schema library does: only the first value counts.
fn read_json(bytes: &[u8]) -> Result<Value, SchemaError> {
    let text = String::from_utf8_lossy(bytes);
    let (first, _) = json_text::cut(&text)?;
    json_text::read(first)
}

impl Documents {
    /// Reads the root document; its place is that of the empty reference.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, Option<Draft>), SchemaError> {
        let mut documents = Self {
            documents: Vec::new(),
            places: HashMap::new(),
        };
        let draft = documents.add(read_json(bytes)?, &Url::default())?;
        Ok((documents, draft))
    }

    /// Adds a document under an address; its references become absolute, and its identified parts can be found.
    fn add(&mut self, mut document: Value, address: &Url) -> Result<Option<Draft>, SchemaError> {
        let draft = declared_draft(&document)?;
        let index = self.documents.len();
        let mut found = References {
            places: &mut self.places,
            document: index,
            draft,
            path: Vec::new(),
        };
        let outcome = found.absolutize(&mut document, address);
        self.documents.push(document);
        let place = Place {
            document: index,
            path: Vec::new(),
            draft,
        };
        self.places.insert(address.to_string(), place);
        outcome.map_err(SchemaError::Faulty)?;
        Ok(draft)
    }

    /// The schema at a place.
    pub(super) fn get(&self, place: &Place) -> Option<&Value> {
        let document = self.documents.get(place.document)?;
        place.path.iter().try_fold(document, |value, key| match value {
            Value::Object(entries) => entries.get(key),
            Value::Array(items) => items.get(key.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Finds what a reference leads to.
    pub(super) fn find(&mut self, reference: &str) -> Result<Place, SchemaError> {
        let url = Url::parse(reference).map_err(SchemaError::Faulty)?;
        if let Some(place) = self.places.get(&url.to_string()) {
            return Ok(place.clone());
        }
        let base = url.without_fragment();
        if !self.places.contains_key(&base.to_string()) {
            self.load(&url, &base)?;
        }
        let Some(place) = self.places.get(&base.to_string()).cloned() else {
            return Err(SchemaError::Faulty(format!("Reference {url} must be canonical")));
        };
        let place = self.follow_pointer(place, &String::from_utf8_lossy(&url.fragment))?;
        self.places.insert(url.to_string(), place.clone());
        Ok(place)
    }

    /// Loads a document that is not part of the schema file. Only the specification's own are at hand.
    fn load(&mut self, url: &Url, base: &Url) -> Result<(), SchemaError> {
        let is_file = url.scheme == b"file";
        let is_canonical = if is_file {
            url.path.starts_with(b"/")
        } else {
            !url.scheme.is_empty() && !url.host.is_empty()
        };
        if !is_canonical {
            return Err(SchemaError::Faulty(format!("Reference {url} must be canonical")));
        }
        let address = base.to_string();
        if is_file {
            // A schema must not read files of the machine that it is used on.
            let path = address.strip_prefix("file://").unwrap_or(&address);
            return Err(SchemaError::Faulty(format!(
                "open {path}: no such file or directory"
            )));
        }
        let Some((_, _, text)) = METASCHEMAS.iter().find(|(_, known, _)| *known == address) else {
            return Err(SchemaError::Faulty(format!(
                "Get {}: the schema refers to another one on the network, which is not used here",
                gotemplate::format::quoted(&address)
            )));
        };
        self.add(read_json(text.as_bytes())?, base)?;
        Ok(())
    }

    fn follow_pointer(&self, mut place: Place, pointer: &str) -> Result<Place, SchemaError> {
        // A fragment that is no pointer leads to the whole document.
        let Some(tokens) = pointer.strip_prefix('/') else {
            return Ok(place);
        };
        for token in tokens.split('/') {
            match self.get(&place) {
                Some(Value::Object(entries)) => {
                    let key = token.replace("~1", "/").replace("~0", "~");
                    if !entries.contains_key(&key) {
                        return Err(SchemaError::Faulty(format!("Object has no key '{key}'")));
                    }
                    place.path.push(key);
                }
                Some(Value::Array(items)) => {
                    let Ok(index) = token.parse::<i64>() else {
                        return Err(SchemaError::Faulty(format!("Invalid array index '{token}'")));
                    };
                    if usize::try_from(index).is_err() || index as usize >= items.len() {
                        return Err(SchemaError::Faulty(format!(
                            "Out of bound array[0,{}] index '{index}'",
                            items.len()
                        )));
                    }
                    place.path.push(index.to_string());
                }
                _ => return Err(SchemaError::Faulty(format!("Invalid token reference '{token}'"))),
            }
        }
        Ok(place)
    }
}

/// The draft that a document says it follows.
fn declared_draft(document: &Value) -> Result<Option<Draft>, SchemaError> {
    let entries = match document {
        Value::Bool(_) => return Ok(None),
        Value::Object(entries) => entries,
        _ => return Err(SchemaError::Faulty("schema is invalid".to_owned())),
    };
    match entries.get("$schema") {
        None => Ok(None),
        Some(Value::String(name)) => {
            let name = Url::parse(name).map_err(SchemaError::Faulty)?.to_string();
            Ok(METASCHEMAS
                .iter()
                .find(|(_, known, _)| *known == name)
                .map(|(draft, _, _)| *draft))
        }
        Some(_) => Err(SchemaError::Faulty("$schema must be of type string".to_owned())),
    }
}

/// A walk through a document that makes its references absolute.
struct References<'a> {
    places: &'a mut HashMap<String, Place>,
    document: usize,
    draft: Option<Draft>,
    path: Vec<String>,
}

impl References<'_> {
    /// Faults below the first level show again when the schema is compiled, so they are passed over here.
    fn absolutize(&mut self, value: &mut Value, scope: &Url) -> Result<(), String> {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.below(index.to_string(), item, scope);
                }
            }
            Value::Object(entries) => {
                let id_key = if entries.contains_key("id") { "id" } else { "$id" };
                let mut scope = scope.clone();
                if let Some(Value::String(id)) = entries.get(id_key)
                    && let Ok(id) = Url::parse(id)
                {
                    scope = scope.without_fragment().resolve(&id);
                    let place = Place {
                        document: self.document,
                        path: self.path.clone(),
                        draft: self.draft,
                    };
                    if self.places.insert(scope.to_string(), place).is_some() {
                        return Err(format!("Reference already exists: \"{scope}\""));
                    }
                }
                if let Some(Value::String(reference)) = entries.get_mut("$ref")
                    && let Ok(url) = Url::parse(&*reference)
                {
                    *reference = scope.without_fragment().resolve(&url).to_string();
                }
                for (key, item) in entries.iter_mut() {
                    match (key.as_str(), item) {
                        // These have names of their own choosing as keys, which may be `$ref`.
                        ("properties" | "dependencies" | "patternProperties", Value::Object(children)) => {
                            self.path.push(key.clone());
                            for (name, child) in children.iter_mut() {
                                self.below(name.clone(), child, &scope);
                            }
                            self.path.pop();
                        }
                        // These are data, not schemas; or faults.
                        ("const" | "enum" | "properties" | "dependencies" | "patternProperties", _) => {}
                        (_, item) => self.below(key.clone(), item, &scope),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn below(&mut self, key: String, value: &mut Value, scope: &Url) {
        self.path.push(key);
        let _ = self.absolutize(value, scope);
        self.path.pop();
    }
}
