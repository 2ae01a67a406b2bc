//! Executes templates: walks the nodes, keeps variables, writes output, within limits.

use std::any::Any;
use std::sync::Arc;

use crate::error::{Cause, ExecutionError, Place};
use crate::format;
use crate::function::Function;
use crate::node::{At, Branch, Node, NodeList, Pipeline};
use crate::templates::{Template, Templates};
use crate::types::{Kind, Type};
use crate::value::{Integer, Text, Value};
use crate::work;

/// How deep templates may call each other, as in Go.
pub const MAX_TEMPLATE_DEPTH: usize = 100_000;

/// How many steps an execution may take unless told otherwise: seconds of work, far above what any chart needs.
pub const MAX_STEPS: u64 = 20_000_000;

/// How many steps lie between two questions whether to stop: less than a millisecond, and far more than asking costs.
const STEPS_BETWEEN_QUESTIONS: u64 = 4_096;

/// How many bytes may be written and not yet handed on unless told otherwise.
pub const MAX_OUTPUT_BYTES: usize = 128 << 20;

/// What the language does where Go has a choice or has changed over time, and how much work is too much.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What a missing map key gives.
    pub missing_key: MissingKey,
    /// Which version of the language this is.
    pub dialect: Dialect,
    /// How many steps an execution may take; bounds the time that an endless loop costs.
    pub max_steps: u64,
    /// How many bytes an execution may have written and not yet handed on; bounds memory.
    pub max_output_bytes: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            missing_key: MissingKey::Invalid,
            dialect: Dialect::Go1_26,
            max_steps: MAX_STEPS,
            max_output_bytes: MAX_OUTPUT_BYTES,
        }
    }
}

/// A version of the language, where versions differ in what templates can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Go 1.23, which Helm 3.17 is built with: `range 3` is an error.
    Go1_23,
    /// Go 1.26: `range 3` counts, and comparison errors name the types.
    Go1_26,
}

/// What looking up a key that a map does not have gives: Go's `missingkey` option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingKey {
    /// No value; looking further into it is allowed.
    Invalid,
    /// The zero value of the map's element type.
    Zero,
    /// An error.
    Error,
}

/// Hears what an execution does; for tools that explain where output comes from.
pub trait Observer {
    /// A template is about to write; `written` bytes are in its buffer. `depth` counts the buffers below.
    fn writes(&self, template: &Template, position: usize, written: usize, depth: usize);

    /// A field of a map is read.
    fn reads(&self, map: &crate::value::Map, key: &[u8]);
}

/// Ends executions early; the program decides when, since this crate has no clock.
pub trait Interrupt {
    /// Returns why the execution must end now; none when it may go on. Asked every few thousand steps.
    fn reason_to_stop(&self) -> Option<String>;
}

/// A run of templates: the set, the output, the state for functions, and the limits.
pub struct Executor<'run> {
    pub(crate) templates: Arc<Templates>,
    /// The language's options and limits.
    pub options: Options,
    /// The state that functions can reach.
    pub host: &'run dyn Any,
    pub(crate) observer: Option<&'run dyn Observer>,
    interrupt: Option<&'run dyn Interrupt>,
    output: Vec<u8>,
    /// Bytes in the buffers of templates that wait for an inner one.
    waiting_bytes: usize,
    buffers: usize,
    steps: u64,
    /// The step at which the interrupt is asked next.
    asks_at: u64,
    pub(crate) depth: usize,
}

pub(crate) type Result<T> = std::result::Result<T, Box<ExecutionError>>;

/// A value as Go's reflection sees it: alone, or inside an interface.
#[derive(Clone, Default)]
pub(crate) struct Reflected {
    pub(crate) value: Value,
    /// Whether it came out of a container of `interface {}`; decides between an error and silence for nil, and
    /// what type a message names.
    pub(crate) in_interface: bool,
}

impl Reflected {
    pub(crate) fn plain(value: Value) -> Reflected {
        Reflected {
            value,
            in_interface: false,
        }
    }

    /// An element of a container with the given element type.
    pub(crate) fn element(value: Value, element: Type) -> Reflected {
        Reflected {
            value,
            in_interface: element == Type::Any,
        }
    }

    pub(crate) fn type_name(&self) -> String {
        if self.in_interface {
            "interface {}".into()
        } else {
            self.value.type_name()
        }
    }
}

/// One executing template: where it is, and its variables.
pub(crate) struct Frame<'template> {
    pub(crate) template: &'template Template,
    pub(crate) at: Option<At<'template>>,
    variables: Vec<(&'template str, Reflected)>,
}

/// How a node ended.
#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Break,
    Continue,
}

impl<'template> Frame<'template> {
    fn new(template: &'template Template, dollar: Reflected) -> Frame<'template> {
        Frame {
            template,
            at: None,
            variables: vec![("$", dollar)],
        }
    }

    /// Sets a variable; returns how many others were looked at before it.
    fn set(&mut self, name: &str, value: Reflected) -> Result<usize> {
        let mut known_ones = self.variables.iter_mut().rev().enumerate();
        match known_ones.find(|(_, (known, _))| *known == name) {
            Some((looked_at, (_, slot))) => {
                *slot = value;
                Ok(looked_at)
            }
            None => Err(self.fail(format!("undefined variable: {name}"))),
        }
    }

    /// Finds a variable; returns how many others were looked at before it, too.
    pub(crate) fn variable(&self, name: &str) -> Option<(usize, &Reflected)> {
        self.variables
            .iter()
            .rev()
            .enumerate()
            .find(|(_, (known, _))| *known == name)
            .map(|(looked_at, (_, value))| (looked_at, value))
    }

    /// Puts the value of a pipeline into the variables that it declares or assigns; returns how many others were
    /// looked at.
    pub(crate) fn declare(&mut self, pipeline: &'template Pipeline, value: &Reflected) -> Result<usize> {
        let mut looked_at = 0;
        for name in &pipeline.declarations {
            if pipeline.assigns {
                looked_at += self.set(name, value.clone())?;
            } else {
                self.variables.push((name, value.clone()));
            }
        }
        Ok(looked_at)
    }

    /// Returns the error for what went wrong at the current node.
    pub(crate) fn fail(&self, message: impl Into<String>) -> Box<ExecutionError> {
        self.fail_with(Cause::Message(message.into()))
    }

    pub(crate) fn fail_with(&self, cause: Cause) -> Box<ExecutionError> {
        let place = self.at.map(|at| {
            let (line, column) = self.template.line_and_column(at.position() as usize);
            Place {
                file: self.template.file.to_string(),
                line,
                column,
                template: self.template.name.to_str().into_owned(),
                node: at.describe(&self.template.source),
            }
            .shortened()
        });
        Box::new(ExecutionError {
            place,
            cause: cause.shortened(),
        })
    }
}

impl<'run> Executor<'run> {
    /// Returns an executor of these templates; functions reach `host`.
    pub fn new(templates: Arc<Templates>, options: Options, host: &'run dyn Any) -> Executor<'run> {
        Executor {
            templates,
            options,
            host,
            observer: None,
            interrupt: None,
            output: Vec::new(),
            waiting_bytes: 0,
            buffers: 0,
            steps: 0,
            asks_at: STEPS_BETWEEN_QUESTIONS,
            depth: 0,
        }
    }

    /// Lets `observer` hear what executions do.
    pub fn observe(&mut self, observer: &'run dyn Observer) {
        self.observer = Some(observer);
    }

    /// Ends executions as soon as `interrupt` has a reason.
    pub fn interrupt_by(&mut self, interrupt: &'run dyn Interrupt) {
        self.interrupt = Some(interrupt);
    }

    /// Returns how many steps have been taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    pub(crate) fn steps_left(&self) -> u64 {
        self.options.max_steps.saturating_sub(self.steps)
    }

    /// Returns the set of templates that are being executed.
    pub fn templates(&self) -> &Arc<Templates> {
        &self.templates
    }

    /// Executes the template of that name and returns what it wrote.
    ///
    /// `set_name` is the name of the whole set, for the message about a template that does not exist.
    pub fn execute(
        &mut self,
        name: &[u8],
        set_name: &str,
        data: Value,
    ) -> std::result::Result<Vec<u8>, Box<ExecutionError>> {
        let Some(template) = self.templates.get(name).cloned() else {
            let name = format::quoted(name);
            return Err(Box::new(ExecutionError::without_place(format!(
                "no template {name} associated with template {}",
                format::quoted(set_name)
            ))));
        };
        let outer = std::mem::take(&mut self.output);
        self.waiting_bytes += outer.len();
        self.buffers += 1;
        let data = Reflected::plain(data);
        let result = crate::stack::with_room(|| self.run(&template, &data));
        self.buffers -= 1;
        self.waiting_bytes -= outer.len();
        let output = std::mem::replace(&mut self.output, outer);
        result.map(|()| output)
    }

    /// Runs `work` with another set of templates in place of this one.
    pub fn with_templates<T>(&mut self, templates: Arc<Templates>, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.templates, templates);
        let result = work(self);
        self.templates = outer;
        result
    }

    fn run(&mut self, template: &Template, data: &Reflected) -> Result<()> {
        let mut frame = Frame::new(template, data.clone());
        self.walk_list(&mut frame, data, &template.root).map(|_| ())
    }

    /// Counts work; a unit is about one node, or what [`work`] says of functions.
    pub(crate) fn charge(&mut self, frame: &Frame<'_>, units: u64) -> Result<()> {
        self.charge_work(units).map_err(|message| frame.fail(message))
    }

    /// Counts the work of a function with these arguments, before it runs.
    pub(crate) fn charge_before(
        &mut self,
        function: &Function,
        receiver: &Value,
        arguments: &[Value],
    ) -> std::result::Result<(), String> {
        self.charge_work(work::before(function, receiver, arguments, self.steps_left()))
    }

    /// Counts work that a function does beyond returning a value; the message says that it is too much.
    pub(crate) fn charge_work(&mut self, units: u64) -> std::result::Result<(), String> {
        self.steps = self.steps.saturating_add(units);
        let limit = self.options.max_steps;
        if self.steps > limit {
            return Err(format!(
                "execution takes more than {limit} steps; a range or a recursion here doesn't seem to end, or goes \
                 over large texts or lists again and again"
            ));
        }
        if self.steps >= self.asks_at {
            self.asks_at = self.steps.saturating_add(STEPS_BETWEEN_QUESTIONS);
            if let Some(reason) = self.interrupt.and_then(Interrupt::reason_to_stop) {
                return Err(reason);
            }
        }
        Ok(())
    }

    fn check_output(&self, frame: &Frame<'_>) -> Result<()> {
        let limit = self.options.max_output_bytes;
        if self.output.len() + self.waiting_bytes > limit {
            return Err(frame.fail(format!(
                "output grows over {limit} bytes; a range or a recursion here doesn't seem to end"
            )));
        }
        Ok(())
    }

    fn note_write(&self, frame: &Frame<'_>, position: usize) {
        if let Some(observer) = self.observer {
            observer.writes(frame.template, position, self.output.len(), self.buffers);
        }
    }

    fn walk_list<'t>(&mut self, frame: &mut Frame<'t>, dot: &Reflected, list: &'t NodeList) -> Result<Flow> {
        for node in &list.nodes {
            let flow = self.walk(frame, dot, node)?;
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn walk<'t>(&mut self, frame: &mut Frame<'t>, dot: &Reflected, node: &'t Node) -> Result<Flow> {
        frame.at = Some(At::Node(node));
        self.charge(frame, 1)?;
        match node {
            Node::Text { start, end } => {
                self.note_write(frame, *start as usize);
                self.output
                    .extend_from_slice(&frame.template.source[*start as usize..*end as usize]);
                self.check_output(frame)?;
            }
            Node::Action { pipeline, position } => {
                let value = self.evaluate_pipeline(frame, dot, pipeline)?;
                if pipeline.declarations.is_empty() {
                    self.note_write(frame, *position as usize);
                    frame.at = Some(At::Node(node));
                    self.print(frame, &value.value)?;
                }
            }
            Node::If(branch) => {
                return crate::stack::with_room(|| self.walk_if_or_with(frame, dot, branch, false));
            }
            Node::With(branch) => {
                return crate::stack::with_room(|| self.walk_if_or_with(frame, dot, branch, true));
            }
            Node::Range(branch) => {
                return crate::stack::with_room(|| self.walk_range(frame, dot, branch));
            }
            Node::Template { name, pipeline, .. } => {
                self.walk_template(frame, dot, name, pipeline.as_ref())?;
            }
            Node::Break { .. } => return Ok(Flow::Break),
            Node::Continue { .. } => return Ok(Flow::Continue),
        }
        Ok(Flow::On)
    }

    fn walk_if_or_with<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Reflected,
        branch: &'t Branch,
        is_with: bool,
    ) -> Result<Flow> {
        let mark = frame.variables.len();
        let value = self.evaluate_pipeline(frame, dot, &branch.pipeline)?;
        let flow = if value.value.truth() {
            self.walk_list(frame, if is_with { &value } else { dot }, &branch.body)
        } else if let Some(otherwise) = &branch.otherwise {
            self.walk_list(frame, dot, otherwise)
        } else {
            Ok(Flow::On)
        };
        frame.variables.truncate(mark);
        flow
    }

    fn walk_range<'t>(&mut self, frame: &mut Frame<'t>, dot: &Reflected, branch: &'t Branch) -> Result<Flow> {
        let mark = frame.variables.len();
        let value = self.evaluate_pipeline(frame, dot, &branch.pipeline)?.value;
        let mut any = false;
        match &value {
            Value::List(list) => {
                for (index, item) in list.iter().enumerate() {
                    any = true;
                    let element = Reflected::element(item.clone(), list.element());
                    if !self.one_iteration(frame, branch, Value::int(index as i64), &element)? {
                        break;
                    }
                }
            }
            Value::Bytes(bytes) => {
                for (index, byte) in bytes.iter().enumerate() {
                    any = true;
                    let byte = Integer::signed(crate::types::IntegerKind::Uint8, i64::from(*byte));
                    let element = Reflected::plain(Value::Integer(byte));
                    if !self.one_iteration(frame, branch, Value::int(index as i64), &element)? {
                        break;
                    }
                }
            }
            Value::Map(map) => {
                // All entries are copied before the first is looked at.
                self.charge(frame, work::of_elements(map.len()))?;
                for (key, item) in map.entries() {
                    any = true;
                    let element = Reflected::element(item, map.element());
                    if !self.one_iteration(frame, branch, Value::String(key), &element)? {
                        break;
                    }
                }
            }
            Value::Integer(count) if self.options.dialect == Dialect::Go1_26 => {
                if branch.pipeline.declarations.len() > 1 {
                    let shown = format::value_text(&value);
                    return Err(frame.fail(format!(
                        "can't use {shown} to iterate over more than one variable"
                    )));
                }
                for index in 0..count.wide().max(0) {
                    any = true;
                    let element = Value::Integer(Integer {
                        kind: count.kind,
                        bits: index as i64,
                    });
                    if !self.one_iteration(frame, branch, Value::Nil, &Reflected::plain(element))? {
                        break;
                    }
                }
            }
            Value::Nil => {}
            Value::TypedNil(nil) if matches!(nil.kind(), Kind::Map | Kind::Slice) => {}
            _ => {
                let shown = format::value_text(&value);
                return Err(frame.fail(format!("range can't iterate over {shown}")));
            }
        }
        let flow = match &branch.otherwise {
            Some(otherwise) if !any => self.walk_list(frame, dot, otherwise)?,
            _ => Flow::On,
        };
        frame.variables.truncate(mark);
        Ok(flow)
    }

    /// Runs the body for one element; returns whether to go on.
    fn one_iteration<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        branch: &'t Branch,
        index: Value,
        element: &Reflected,
    ) -> Result<bool> {
        // An empty body is work too.
        self.charge(frame, 1)?;
        let mark = frame.variables.len();
        let pipeline = &branch.pipeline;
        match pipeline.declarations.as_slice() {
            [] => {}
            [only] if pipeline.assigns => {
                let looked_at = frame.set(only, element.clone())?;
                self.charge(frame, work::of_elements(looked_at))?;
            }
            [first, second, ..] if pipeline.assigns => {
                let looked_at =
                    frame.set(first, Reflected::plain(index))? + frame.set(second, element.clone())?;
                self.charge(frame, work::of_elements(looked_at))?;
            }
            declarations => {
                // The pipeline has pushed one variable for each declaration.
                if let Some((_, slot)) = frame.variables.last_mut() {
                    *slot = element.clone();
                }
                if declarations.len() > 1
                    && let Some(before_last) = mark.checked_sub(2)
                {
                    frame.variables[before_last].1 = Reflected::plain(index);
                }
            }
        }
        let flow = self.walk_list(frame, element, &branch.body)?;
        frame.variables.truncate(mark);
        Ok(flow != Flow::Break)
    }

    fn walk_template<'t>(
        &mut self,
        frame: &mut Frame<'t>,
        dot: &Reflected,
        name: &Text,
        pipeline: Option<&'t Pipeline>,
    ) -> Result<()> {
        let Some(template) = self.templates.get(name).cloned() else {
            return Err(frame.fail(format!("template {} not defined", format::quoted(name))));
        };
        if self.depth == MAX_TEMPLATE_DEPTH {
            return Err(frame.fail(format!("exceeded maximum template depth ({MAX_TEMPLATE_DEPTH})")));
        }
        let data = match pipeline {
            Some(pipeline) => self.evaluate_pipeline(frame, dot, pipeline)?,
            None => Reflected::default(),
        };
        self.depth += 1;
        let result = crate::stack::with_room(|| self.run(&template, &data));
        self.depth -= 1;
        result
    }

    fn print(&mut self, frame: &Frame<'_>, value: &Value) -> Result<()> {
        self.charge(frame, work::of_printing(value, self.steps_left()))?;
        let start = self.output.len();
        match value {
            Value::String(text) => self.output.extend_from_slice(text),
            Value::Nil => self.output.extend_from_slice(b"<no value>"),
            Value::Function(_) => {
                let node = frame
                    .at
                    .map(|at| at.describe(&frame.template.source))
                    .unwrap_or_default();
                return Err(frame.fail(format!("can't print {node} of type {}", value.type_name())));
            }
            Value::Object(object) => {
                if let Some(text) = object.text_behind_pointer() {
                    self.output.extend_from_slice(text.as_bytes());
                } else {
                    // A pointer is followed before it is printed, so the `&` of its own form is not shown.
                    format::append_value(&mut self.output, value);
                    if object.kind() == Kind::Pointer && self.output.get(start) == Some(&b'&') {
                        self.output.remove(start);
                    }
                }
            }
            _ => format::append_value(&mut self.output, value),
        }
        if let Value::Object(_) = value {
            // What is in it is not known before it is printed.
            self.charge(frame, work::of_heavy_text(self.output.len() - start))?;
        }
        self.check_output(frame)
    }
}
