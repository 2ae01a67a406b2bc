//! Sets of parsed templates: immutable trees, shared between renders, in layers that are cheap to add.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::functions::Functions;
use crate::node::NodeList;
use crate::parse::{ParseError, parse};
use crate::value::Text;

/// One parsed template.
pub struct Template {
    pub(crate) name: Text,
    pub(crate) file: Arc<str>,
    pub(crate) source: Bytes,
    pub(crate) root: NodeList,
    is_empty: bool,
}

impl Template {
    pub(crate) fn new(name: Text, file: Arc<str>, source: Bytes, root: NodeList, is_empty: bool) -> Template {
        Template {
            name,
            file,
            source,
            root,
            is_empty,
        }
    }

    /// Returns the name under which it is called.
    pub fn name(&self) -> &Text {
        &self.name
    }

    /// Returns the name of the source that it stands in.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns the text of the whole source that it stands in.
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// Returns whether it would print nothing but white space.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Returns the line (from 1) and column (in bytes, from 0, as Go counts) of a position.
    pub(crate) fn line_and_column(&self, position: usize) -> (usize, usize) {
        let before = &self.source[..position.min(self.source.len())];
        let line = 1 + memchr::memchr_iter(b'\n', before).count();
        let column = match memchr::memrchr(b'\n', before) {
            Some(newline) => position - newline - 1,
            None => position,
        };
        (line, column)
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Template")
            .field("name", &self.name)
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

/// What one source holds, parsed: the template of its own name, and those that it defines. Shared between sets.
#[derive(Clone, Debug)]
pub struct Parsed {
    templates: Arc<[Arc<Template>]>,
}

impl Parsed {
    /// Parses a source; functions are found now, so that a name that does not exist is an error now.
    pub fn new(name: &str, source: Bytes, functions: &Functions) -> Result<Parsed, ParseError> {
        let templates = parse(name, source, functions)?;
        Ok(Parsed {
            templates: templates.into_iter().map(Arc::new).collect(),
        })
    }

    /// Returns the templates that the source holds.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        self.templates.iter().map(Arc::as_ref)
    }
}

/// A set of templates that can call each other.
#[derive(Clone, Default)]
pub struct Templates {
    own: HashMap<Text, Arc<Template>>,
    below: Option<Arc<Templates>>,
}

impl Templates {
    /// Returns an empty set that also finds everything in `below`; costs the same whatever `below` holds.
    pub fn on_top_of(below: Arc<Templates>) -> Templates {
        Templates {
            own: HashMap::new(),
            below: Some(below),
        }
    }

    /// Adds what a source holds.
    ///
    /// As in Go, a template replaces one of the same name, unless it is empty.
    pub fn add(&mut self, parsed: &Parsed) {
        for template in parsed.templates.iter() {
            if !(template.is_empty && self.get(&template.name).is_some()) {
                self.own.insert(template.name.clone(), Arc::clone(template));
            }
        }
    }

    /// Adds what a source holds, and its own template even where that is empty: it is about to be executed.
    pub fn add_over_everything(&mut self, parsed: &Parsed) {
        self.add(parsed);
        for template in parsed
            .templates
            .iter()
            .filter(|template| *template.name == *template.file.as_bytes())
        {
            self.own.insert(template.name.clone(), Arc::clone(template));
        }
    }

    /// Returns the template of that name.
    pub fn get(&self, name: &[u8]) -> Option<&Arc<Template>> {
        let mut set = self;
        loop {
            if let Some(template) = set.own.get(name) {
                return Some(template);
            }
            set = set.below.as_deref()?;
        }
    }
}
