//! The documents of a schema, looked through for resources and held against the schemas of schemas.

use std::collections::HashMap;
use std::rc::Rc;

use gotemplate::format::quoted;

use super::draft::{Dialect, Draft, LATEST};
use super::evaluate::Evaluation;
use super::json::Json;
use super::library::{Library, Metaschemas};
use super::limits::{Budget, with_stack};
use super::loader::{Loader, is_of_specification, schema_keyword};
use super::node::Id;
use super::place::{Fragment, Place, join, split};
use super::resources::{Resource, Root};
use super::words::quote;
use crate::schema::SchemaError;

/// All documents that a schema consists of.
pub(super) struct Roots {
    loader: Loader,
    loaded: HashMap<String, Root>,
    /// The specification's own schemas; absent while they are compiled themselves.
    library: Option<&'static Library>,
}

impl Roots {
    pub(super) fn new(library: Option<&'static Library>) -> Self {
        Self {
            loader: Loader::default(),
            loaded: HashMap::new(),
            library,
        }
    }

    pub(super) fn add_document(&mut self, url: &str, document: Json) {
        self.loader.add(url, document);
    }

    /// The document at an address, looked through and found sound.
    pub(super) fn root(&mut self, url: &str, budget: &mut Budget) -> Result<&Root, SchemaError> {
        if !self.loaded.contains_key(url) {
            let document = self.loader.load(url)?;
            let mut root = Root::new(url, Rc::clone(&document));
            self.collect(&mut root, &document, url, "", &Dialect::of(LATEST))?;
            if !is_of_specification(url) {
                self.judge(&root, &document, "", budget)?;
            }
            self.loaded.insert(url.to_owned(), root);
        }
        self.loaded
            .get(url)
            .ok_or_else(|| SchemaError::Faulty(format!("failing loading {}", quoted(url))))
    }

    /// Finds what an address means.
    pub(super) fn resolve(
        &mut self,
        url: &str,
        fragment: &Fragment,
        budget: &mut Budget,
    ) -> Result<Place, SchemaError> {
        let root = self.root(url, budget)?;
        match root.resources.get("") {
            Some(resource) => root.find(resource, fragment),
            None => Err(SchemaError::Faulty(format!("failing loading {}", quoted(url)))),
        }
    }

    /// Looks through what stands at a place, if that has not been taken for a schema so far.
    pub(super) fn ensure_schema(&mut self, place: &Place, budget: &mut Budget) -> Result<&Root, SchemaError> {
        let root = self.root(&place.url, budget)?;
        if !root.seen.contains(&place.pointer)
            && let Some(mut root) = self.loaded.remove(&place.url)
        {
            let document = Rc::clone(&root.document);
            let schema = place.find(&document)?;
            if let Some(resource) = root.resource(&place.pointer).cloned() {
                self.collect(&mut root, schema, &resource.id, &place.pointer, &resource.dialect)?;
                if !root.resources.contains_key(&place.pointer) {
                    root.collect_anchors(schema, &place.pointer, &resource.pointer)?;
                }
            }
            self.judge(&root, schema, &place.pointer, budget)?;
            self.loaded.insert(place.url.clone(), root);
        }
        self.root(&place.url, budget)
    }

    /// Finds the resources and anchors of a schema and of those inside it.
    fn collect(
        &mut self,
        root: &mut Root,
        schema: &Json,
        base: &str,
        pointer: &str,
        fallback: &Dialect,
    ) -> Result<(), SchemaError> {
        if root.seen.contains(pointer) {
            return Ok(());
        }
        with_stack(|| self.collect_unseen(root, schema, base, pointer, fallback))?;
        root.seen.insert(pointer.to_owned());
        Ok(())
    }

    fn collect_unseen(
        &mut self,
        root: &mut Root,
        schema: &Json,
        base: &str,
        pointer: &str,
        fallback: &Dialect,
    ) -> Result<(), SchemaError> {
        let Json::Object(keywords) = schema else {
            if pointer.is_empty() {
                root.add(Resource::new(pointer, base, fallback.clone()));
            }
            return Ok(());
        };
        let place = Place {
            url: root.url.clone(),
            pointer: pointer.to_owned(),
        };
        let mut draft = self.loader.draft(&place, schema, fallback.draft)?;
        let mut names_draft = schema_keyword(schema).is_some();
        let mut id = draft.id(keywords);
        if id.is_none() && !pointer.is_empty() {
            // Only a schema with an address of its own may have a draft of its own.
            draft = fallback.draft;
            names_draft = false;
            id = draft.id(keywords);
        }
        let mut base = base.to_owned();
        if let Some(id) = id {
            let Ok((url, _)) = join(&base, id) else {
                let place = quoted(place.to_string());
                return Err(SchemaError::Faulty(format!("error in parsing id at {place}")));
            };
            base = url;
        }
        if id.is_some() || pointer.is_empty() {
            match root.pointers.get(&base) {
                Some(earlier) if earlier != pointer => {
                    return Err(SchemaError::Faulty(format!(
                        "duplicate id {} in {} at {} and {}",
                        quoted(&base),
                        quoted(&root.url),
                        quoted(pointer),
                        quoted(earlier)
                    )));
                }
                Some(_) => {}
                None => {
                    let dialect = if names_draft {
                        self.dialect(schema, draft)?
                    } else {
                        fallback.clone()
                    };
                    root.add(Resource::new(pointer, &base, dialect));
                }
            }
        }
        let Some(resource) = root.pointers.get(&base).and_then(|at| root.resources.get(at)) else {
            return Ok(());
        };
        let (resource, dialect) = (resource.pointer.clone(), resource.dialect.clone());
        root.collect_anchors(schema, pointer, &resource)?;
        for (below, schema) in draft.subschemas(keywords, pointer) {
            self.collect(root, schema, &base, &below, &dialect)?;
        }
        Ok(())
    }

    /// The rules for a schema that names a draft, or a schema of schemas that asks for some vocabularies.
    fn dialect(&mut self, schema: &Json, draft: Draft) -> Result<Dialect, SchemaError> {
        let Some(name) = schema_keyword(schema).filter(|name| Draft::from_url(name).is_none()) else {
            return Ok(Dialect::of(draft));
        };
        let (url, _) = split(name);
        let metaschema = self.loader.load(url)?;
        match draft.asked_vocabularies(&metaschema) {
            Ok(vocabularies) => Ok(Dialect { draft, vocabularies }),
            Err(unknown) => Err(SchemaError::Faulty(format!(
                "unsupported vocabulary {} in {}",
                quoted(unknown),
                quoted(url)
            ))),
        }
    }

    /// Holds a schema against the schema of schemas.
    fn judge(
        &self,
        root: &Root,
        schema: &Json,
        pointer: &str,
        budget: &mut Budget,
    ) -> Result<(), SchemaError> {
        let (Some(library), Some(resource)) = (self.library, root.resource(pointer)) else {
            return Ok(());
        };
        let dialects = root.resources.values().map(|resource| &resource.dialect);
        let metaschemas = Metaschemas::new(library, dialects);
        let by_pointer = root.resources.iter().filter_map(|(pointer, resource)| {
            Some((pointer.as_str(), metaschemas.schema(&resource.dialect)?))
        });
        let Some(metaschema) = metaschemas.schema(&resource.dialect) else {
            return Ok(());
        };
        let resources: HashMap<&str, Id> = by_pointer.collect();
        let nodes = metaschemas.nodes();
        let complaints = Evaluation::of_schema(nodes, &resources, budget).judge_root(metaschema, schema)?;
        if complaints.is_empty() {
            return Ok(());
        }
        let mut text = SchemaError::Complaints(complaints).to_string();
        text.pop();
        Err(SchemaError::Faulty(format!(
            "{} is not valid against metaschema: jsonschema validation failed with {}\n{text}",
            root.place(pointer),
            quote(&nodes.get(metaschema).location),
        )))
    }
}
