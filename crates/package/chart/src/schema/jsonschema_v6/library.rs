//! The specification's own schemas, compiled: what other schemas are held against.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use super::compile::Compiler;
use super::draft::{Dialect, Draft};
use super::node::{Id, Node, Rules};
use crate::schema::SchemaError;

/// The specification's own schemas, with those of their vocabularies.
pub(super) struct Library {
    nodes: Vec<Node>,
    drafts: HashMap<Draft, Id>,
    vocabularies: HashMap<(Draft, &'static str), Id>,
}

static LIBRARY: LazyLock<Result<Library, SchemaError>> = LazyLock::new(Library::compile);

impl Library {
    /// The library, which is compiled when it is first needed.
    pub(super) fn get() -> Result<&'static Library, SchemaError> {
        LIBRARY.as_ref().map_err(Clone::clone)
    }

    fn compile() -> Result<Self, SchemaError> {
        let mut compiler = Compiler::for_library();
        let mut drafts = HashMap::new();
        let mut vocabularies = HashMap::new();
        for draft in Draft::ALL {
            drafts.insert(draft, compiler.compile(draft.url())?);
            for name in draft.vocabularies() {
                let base = draft.url().trim_end_matches("schema");
                let schema = compiler.compile(&format!("{base}meta/{name}"))?;
                vocabularies.insert((draft, *name), schema);
            }
        }
        Ok(Self {
            nodes: compiler.into_nodes(),
            drafts,
            vocabularies,
        })
    }
}

/// Schemas by number; some may have been added to the others for a while.
#[derive(Clone, Copy)]
pub(super) struct Nodes<'n> {
    lasting: &'n [Node],
    added: &'n [Node],
}

impl<'n> Nodes<'n> {
    pub(super) fn all(nodes: &'n [Node]) -> Self {
        Self {
            lasting: nodes,
            added: &[],
        }
    }

    pub(super) fn get(self, id: Id) -> &'n Node {
        match id.checked_sub(self.lasting.len()) {
            None => &self.lasting[id],
            Some(added) => &self.added[added],
        }
    }
}

/// The library, with schemas for dialects that leave vocabularies out.
pub(super) struct Metaschemas<'l> {
    library: &'l Library,
    added: Vec<Node>,
    composed: BTreeMap<&'l Dialect, Id>,
}

impl<'l> Metaschemas<'l> {
    pub(super) fn new(library: &'l Library, dialects: impl Iterator<Item = &'l Dialect>) -> Self {
        let mut metaschemas = Self {
            library,
            added: Vec::new(),
            composed: BTreeMap::new(),
        };
        for dialect in dialects {
            if let Some(names) = &dialect.vocabularies
                && !metaschemas.composed.contains_key(dialect)
            {
                let schema = metaschemas.compose(dialect.draft, names);
                metaschemas.composed.insert(dialect, schema);
            }
        }
        metaschemas
    }

    /// Adds a schema that asks for what the schemas of some vocabularies ask for.
    fn compose(&mut self, draft: Draft, vocabularies: &BTreeSet<&'static str>) -> Id {
        let id = self.library.nodes.len() + self.added.len();
        let mut dynamic_anchors = BTreeMap::new();
        let mut dynamic_anchor = None;
        if draft == Draft::Year2020 {
            dynamic_anchors.insert("meta".to_owned(), id);
            dynamic_anchor = Some("meta".to_owned());
        }
        let schemas = vocabularies
            .iter()
            .filter_map(|name| self.library.vocabularies.get(&(draft, *name)).copied());
        let rules = Rules {
            all_of: schemas.collect(),
            dynamic_anchor,
            ..Rules::default()
        };
        self.added.push(Node {
            location: "urn:mem:metaschema".to_owned(),
            draft,
            resource: id,
            dynamic_anchors,
            pass: None,
            rules,
        });
        id
    }

    /// The schema that schemas of a dialect are held against.
    pub(super) fn schema(&self, dialect: &Dialect) -> Option<Id> {
        match dialect.vocabularies {
            Some(_) => self.composed.get(dialect).copied(),
            None => self.library.drafts.get(&dialect.draft).copied(),
        }
    }

    pub(super) fn nodes(&self) -> Nodes<'_> {
        Nodes {
            lasting: &self.library.nodes,
            added: &self.added,
        }
    }
}
