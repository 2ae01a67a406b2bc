//! What a render asks of the outside world, and what its functions share while it runs.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use gotemplate::{Call, Interrupt, Parsed, Text};
use serde_json::Value as Json;

use crate::deadline::{Deadline, MAX_RENDER_TIME};
use crate::environment::{self, Variables};
use crate::functions::regular_expressions::Expressions;
use crate::functions::rendering::Included;
use crate::source::Source;

/// Answers the template function `lookup`.
pub trait Lookup {
    /// Returns the object, or the list when `name` is empty; an empty object when there is none.
    fn lookup(&self, api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<Json, String>;
}

/// The lookup of a render without a cluster: finds nothing, as `helm template` does.
pub struct NoCluster;

impl Lookup for NoCluster {
    fn lookup(&self, _: &str, _: &str, _: &str, _: &str) -> Result<Json, String> {
        Ok(Json::Object(serde_json::Map::new()))
    }
}

/// How many bytes of `tpl` texts are kept parsed at a time; a render that makes more starts over.
const MAX_PARSED_TPL_BYTES: usize = 8 << 20;

/// The state that template functions share during one render.
pub struct Host {
    /// Time, randomness and keys.
    pub source: Rc<dyn Source>,
    /// Where `lookup` looks.
    pub lookup: Rc<dyn Lookup>,
    /// Where the functions `env` and `expandenv` look, which charts don't have.
    pub variables: Variables,
    /// Where `required` and `fail` report when the chart is linted, in place of failing.
    pub lint_log: Option<RefCell<Vec<String>>>,
    /// What ends the render early.
    pub(crate) interrupt: Option<Rc<dyn Interrupt>>,
    pub(crate) included: Included,
    pub(crate) tpl_depth: Cell<usize>,
    pub(crate) parsed_tpl: RefCell<ParsedTexts>,
    pub(crate) expressions: Expressions,
}

impl Host {
    /// Returns the state for a render.
    pub fn new(source: Rc<dyn Source>, lookup: Rc<dyn Lookup>) -> Host {
        Host {
            source,
            lookup,
            variables: environment::of_process(),
            lint_log: None,
            interrupt: None,
            included: Included::default(),
            tpl_depth: Cell::new(0),
            parsed_tpl: RefCell::new(ParsedTexts::default()),
            expressions: Expressions::default(),
        }
    }

    /// Ends the render as soon as `interrupt` has a reason, such as a [`Deadline`].
    #[must_use]
    pub fn interrupted_by(mut self, interrupt: Rc<dyn Interrupt>) -> Host {
        self.interrupt = Some(interrupt);
        self
    }

    /// Ends the render when it takes longer than any chart needs, [`MAX_RENDER_TIME`] from now.
    #[must_use]
    pub fn in_time(self) -> Host {
        self.interrupted_by(Rc::new(Deadline::after(MAX_RENDER_TIME)))
    }

    /// Makes `required` and `fail` report to a log in place of failing.
    #[must_use]
    pub fn linting(mut self) -> Host {
        self.lint_log = Some(RefCell::default());
        self
    }

    /// Returns the host of the render that `call` belongs to.
    pub(crate) fn of<'call>(call: &'call Call<'_, '_>) -> Option<&'call Host> {
        call.host::<Host>()
    }
}

/// Texts that `tpl` was given, parsed.
#[derive(Default)]
pub(crate) struct ParsedTexts {
    by_text: HashMap<Text, Parsed>,
    bytes: usize,
}

impl ParsedTexts {
    pub(crate) fn get(&self, text: &Text) -> Option<&Parsed> {
        self.by_text.get(text)
    }

    pub(crate) fn insert(&mut self, text: Text, parsed: Parsed) {
        if self.bytes + text.len() > MAX_PARSED_TPL_BYTES {
            self.by_text.clear();
            self.bytes = 0;
        }
        self.bytes += text.len();
        self.by_text.insert(text, parsed);
    }
}
