//! Schema documents, brought into a form that values are judged by.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::json::Json;
use super::keywords::Keywords;
use super::library::Library;
use super::limits::{Budget, MAX_SCHEMAS};
use super::node::{Id, Node, Rules};
use super::place::{Fragment, Place, join};
use super::resources::Resource;
use super::roots::Roots;
use crate::schema::SchemaError;

/// Compiles schemas, each place once.
pub(super) struct Compiler {
    pub(super) roots: Roots,
    pub(super) budget: Budget,
    /// Whether formats are checked even where the dialect takes them for remarks.
    pub(super) asserts_formats: bool,
    ids: HashMap<Place, Id>,
    /// The places whose schemas have numbers; the first ones are compiled.
    places: Vec<Place>,
    nodes: Vec<Node>,
}

impl Compiler {
    /// A compiler for schemas of charts.
    pub(super) fn new() -> Result<Self, SchemaError> {
        Ok(Self::with(Some(Library::get()?), false))
    }

    /// A compiler for the specification's own schemas, which are sound.
    pub(super) fn for_library() -> Self {
        Self::with(None, true)
    }

    fn with(library: Option<&'static Library>, asserts_formats: bool) -> Self {
        Self {
            roots: Roots::new(library),
            budget: Budget::default(),
            asserts_formats,
            ids: HashMap::new(),
            places: Vec::new(),
            nodes: Vec::new(),
        }
    }

    pub(super) fn into_nodes(self) -> Vec<Node> {
        self.nodes
    }

    /// Compiles the schema at an address, and everything that it refers to.
    pub(super) fn compile(&mut self, url: &str) -> Result<Id, SchemaError> {
        let whole = Fragment::Pointer(String::new());
        let place = self.roots.resolve(url, &whole, &mut self.budget)?;
        let id = self.enqueue(place)?;
        while let Some(place) = self.places.get(self.nodes.len()).cloned() {
            let node = self.compile_place(&place)?;
            self.nodes.push(node);
        }
        Ok(id)
    }

    /// The number of the schema at a place, which is compiled if it is not yet.
    pub(super) fn enqueue(&mut self, place: Place) -> Result<Id, SchemaError> {
        if let Some(id) = self.ids.get(&place) {
            return Ok(*id);
        }
        let id = self.places.len();
        if id >= MAX_SCHEMAS {
            return Err(SchemaError::Faulty(format!(
                "schema consists of more than {MAX_SCHEMAS} schemas"
            )));
        }
        self.places.push(place.clone());
        self.ids.insert(place, id);
        Ok(id)
    }

    fn compile_place(&mut self, place: &Place) -> Result<Node, SchemaError> {
        let root = self.roots.ensure_schema(place, &mut self.budget)?;
        let document = Rc::clone(&root.document);
        let resource = root.resource(&place.pointer).cloned().ok_or_else(|| {
            // Every document has a resource at its root.
            SchemaError::Faulty(format!("error in parsing id at {place}"))
        })?;
        let schema = place.find(&document)?;
        let below = |pointer: &str| Place {
            url: place.url.clone(),
            pointer: pointer.to_owned(),
        };
        let mut node = Node {
            location: place.to_string(),
            draft: resource.dialect.draft,
            resource: self.enqueue(below(&resource.pointer))?,
            dynamic_anchors: BTreeMap::new(),
            pass: None,
            rules: Rules::default(),
        };
        if resource.pointer == place.pointer {
            for (name, pointer) in resource.dynamic_anchors() {
                let schema = self.enqueue(below(pointer))?;
                node.dynamic_anchors.insert(name.to_owned(), schema);
            }
        }
        match schema {
            Json::Bool(pass) => node.pass = Some(*pass),
            Json::Object(keywords) if keywords.is_empty() => node.pass = Some(true),
            Json::Object(keywords) => node.rules = Keywords::new(self, keywords, place, &resource).read()?,
            _ => {}
        }
        Ok(node)
    }

    /// The number of the schema that a reference leads to.
    pub(super) fn enqueue_reference(
        &mut self,
        reference: &str,
        place: &Place,
        resource: &Resource,
    ) -> Result<Id, SchemaError> {
        let (url, fragment) = join(&resource.id, reference)?;
        let root = self.roots.root(&place.url, &mut self.budget)?;
        let target = match root.resolve(&url, &fragment)? {
            Some(target) => target,
            None => self.roots.resolve(&url, &fragment, &mut self.budget)?,
        };
        self.enqueue(target)
    }
}
