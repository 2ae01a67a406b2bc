//! The schemas inside a document that have addresses of their own, and the anchors in them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use gotemplate::format::quoted;

use super::draft::{Dialect, Draft};
use super::json::Json;
use super::place::{Fragment, Place, encoded, split_fragment};
use crate::schema::SchemaError;

/// A document, with what was found in it.
pub(super) struct Root {
    pub(super) url: String,
    pub(super) document: Rc<Json>,
    /// By the pointers to them.
    pub(super) resources: BTreeMap<String, Resource>,
    /// The pointers to resources, by their addresses.
    pub(super) pointers: HashMap<String, String>,
    /// The pointers to the schemas that were looked through.
    pub(super) seen: HashSet<String>,
}

/// A schema with an address of its own.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub(super) pointer: String,
    pub(super) id: String,
    pub(super) dialect: Dialect,
    /// The pointers to the schemas that have a name.
    anchors: BTreeMap<String, String>,
    /// The anchors that a dynamic reference may lead to.
    dynamic_anchors: HashSet<String>,
}

impl Resource {
    pub(super) fn new(pointer: &str, id: &str, dialect: Dialect) -> Self {
        Self {
            pointer: pointer.to_owned(),
            id: id.to_owned(),
            dialect,
            anchors: BTreeMap::new(),
            dynamic_anchors: HashSet::new(),
        }
    }

    /// The names that a dynamic reference may lead to, with the pointers to their schemas.
    pub(super) fn dynamic_anchors(&self) -> impl Iterator<Item = (&str, &str)> {
        self.anchors
            .iter()
            .filter(|(name, _)| self.dynamic_anchors.contains(*name))
            .map(|(name, pointer)| (name.as_str(), pointer.as_str()))
    }
}

impl Root {
    pub(super) fn new(url: &str, document: Rc<Json>) -> Self {
        Self {
            url: url.to_owned(),
            document,
            resources: BTreeMap::new(),
            pointers: HashMap::new(),
            seen: HashSet::new(),
        }
    }

    pub(super) fn add(&mut self, resource: Resource) {
        self.pointers
            .insert(resource.id.clone(), resource.pointer.clone());
        self.resources.insert(resource.pointer.clone(), resource);
    }

    /// The resource that the schema at a pointer belongs to.
    pub(super) fn resource(&self, pointer: &str) -> Option<&Resource> {
        let mut pointer = pointer;
        loop {
            if let Some(resource) = self.resources.get(pointer) {
                return Some(resource);
            }
            match pointer.rfind('/') {
                Some(slash) => pointer = &pointer[..slash],
                None => return None,
            }
        }
    }

    /// Finds what an address means inside of this document; `None` where it means another document.
    pub(super) fn resolve(&self, url: &str, fragment: &Fragment) -> Result<Option<Place>, SchemaError> {
        let pointer = if url == self.url {
            Some("")
        } else {
            self.pointers.get(url).map(String::as_str)
        };
        match pointer.and_then(|pointer| self.resources.get(pointer)) {
            Some(resource) => self.find(resource, fragment).map(Some),
            None => Ok(None),
        }
    }

    pub(super) fn find(&self, resource: &Resource, fragment: &Fragment) -> Result<Place, SchemaError> {
        let pointer = match fragment {
            Fragment::Pointer(pointer) => format!("{}{pointer}", resource.pointer),
            Fragment::Anchor(name) => resource.anchors.get(name).cloned().ok_or_else(|| {
                let reference = format!("{}#{}", resource.id, encoded(fragment.text()));
                SchemaError::Faulty(format!(
                    "anchor in {} not found in schema {}",
                    quoted(reference),
                    quoted(&self.url)
                ))
            })?,
        };
        Ok(Place {
            url: self.url.clone(),
            pointer,
        })
    }

    pub(super) fn place(&self, pointer: &str) -> String {
        let place = Place {
            url: self.url.clone(),
            pointer: pointer.to_owned(),
        };
        quoted(place.to_string())
    }

    fn add_anchor(&mut self, resource: &str, name: &str, pointer: &str) -> Result<(), SchemaError> {
        let Some(resource) = self.resources.get_mut(resource) else {
            return Ok(());
        };
        match resource.anchors.get(name) {
            Some(earlier) if earlier != pointer => Err(SchemaError::Faulty(format!(
                "duplicate anchor {} in {} at {} and {}",
                quoted(name),
                quoted(&self.url),
                quoted(earlier),
                quoted(pointer)
            ))),
            _ => {
                resource.anchors.insert(name.to_owned(), pointer.to_owned());
                Ok(())
            }
        }
    }

    pub(super) fn collect_anchors(
        &mut self,
        schema: &Json,
        pointer: &str,
        resource: &str,
    ) -> Result<(), SchemaError> {
        let (Some(keywords), Some(draft)) = (
            schema.as_object(),
            self.resources
                .get(resource)
                .map(|resource| resource.dialect.draft),
        ) else {
            return Ok(());
        };
        let text = |keyword: &str| keywords.get(keyword).and_then(Json::as_text);
        if draft < Draft::Year2019 {
            if keywords.contains_key("$ref") {
                return Ok(());
            }
            if let Some(id) = text(draft.id_keyword()) {
                let Ok((_, fragment)) = split_fragment(id) else {
                    return Err(SchemaError::Faulty(format!(
                        "error in parsing anchor at {}",
                        self.place(pointer)
                    )));
                };
                if let Fragment::Anchor(name) = fragment {
                    self.add_anchor(resource, &name, pointer)?;
                }
            }
            return Ok(());
        }
        if let Some(name) = text("$anchor") {
            self.add_anchor(resource, name, pointer)?;
        }
        if let (Some(name), Draft::Year2020) = (text("$dynamicAnchor"), draft) {
            self.add_anchor(resource, name, pointer)?;
            if let Some(resource) = self.resources.get_mut(resource) {
                resource.dynamic_anchors.insert(name.to_owned());
            }
        }
        Ok(())
    }
}
