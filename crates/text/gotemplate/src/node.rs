//! A parsed template: its nodes, where they stand, and how Go prints them in messages.

use std::fmt;

use crate::function::Function;
use crate::value::Text;

/// A position in the template's source, in bytes.
pub(crate) type Position = u32;

/// A sequence of nodes.
#[derive(Debug, Default)]
pub(crate) struct NodeList {
    pub(crate) nodes: Vec<Node>,
}

/// What stands between, or inside, delimiters.
#[derive(Debug)]
pub(crate) enum Node {
    /// Plain text, as a range of the source.
    Text { start: Position, end: Position },
    /// `{{ pipeline }}`
    Action { position: Position, pipeline: Pipeline },
    /// `{{ if }}`
    If(Branch),
    /// `{{ with }}`
    With(Branch),
    /// `{{ range }}`
    Range(Branch),
    /// `{{ template }}`, and what is left of `{{ block }}`
    Template {
        position: Position,
        name: Text,
        pipeline: Option<Pipeline>,
    },
    /// `{{ break }}`
    Break { position: Position },
    /// `{{ continue }}`
    Continue { position: Position },
}

/// A control structure with an optional `else`.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) pipeline: Pipeline,
    pub(crate) body: NodeList,
    pub(crate) otherwise: Option<NodeList>,
}

/// Commands, each fed into the next, with the variables that take the result.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub(crate) position: Position,
    /// Whether variables are assigned (`=`) and not declared (`:=`).
    pub(crate) assigns: bool,
    pub(crate) declarations: Vec<Box<str>>,
    pub(crate) commands: Vec<Command>,
}

/// A function, field or constant with its arguments.
#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) position: Position,
    /// The first word; the parser makes sure that there is one.
    pub(crate) head: Operand,
    pub(crate) arguments: Vec<Operand>,
}

/// A word of a command.
#[derive(Debug)]
pub(crate) struct Operand {
    pub(crate) position: Position,
    pub(crate) term: Term,
}

/// What a word is.
#[derive(Debug)]
pub(crate) enum Term {
    Bool(bool),
    Dot,
    Nil,
    Number(Box<Number>),
    /// A string constant: as written, and its value.
    String {
        quoted: Box<[u8]>,
        text: Text,
    },
    /// `.a.b`
    Field(Vec<Text>),
    /// `$x.a.b`
    Variable {
        name: Box<str>,
        fields: Vec<Text>,
    },
    /// A function, found when the template was parsed.
    Function(&'static Function),
    /// `(pipeline).a.b` and the like.
    Chain {
        operand: Box<Operand>,
        fields: Vec<Text>,
    },
    /// `(pipeline)`
    Pipeline(Pipeline),
}

/// A numeric constant, in every type that it can take.
#[derive(Debug, Default)]
pub(crate) struct Number {
    pub(crate) text: Box<str>,
    pub(crate) integer: Option<i64>,
    pub(crate) unsigned: Option<u64>,
    pub(crate) float: Option<f64>,
    pub(crate) complex: Option<(f64, f64)>,
}

/// Where execution is, for messages.
#[derive(Clone, Copy)]
pub(crate) enum At<'template> {
    Node(&'template Node),
    Pipeline(&'template Pipeline),
    Command(&'template Command),
    Operand(&'template Operand),
}

impl At<'_> {
    pub(crate) fn position(self) -> Position {
        match self {
            At::Node(node) => node.position(),
            At::Pipeline(pipeline) => pipeline.position,
            At::Command(command) => command.position,
            At::Operand(operand) => operand.position,
        }
    }

    /// Prints the node as Go does in `at <…>`.
    pub(crate) fn describe(self, source: &[u8]) -> String {
        let mut out = Vec::new();
        match self {
            At::Node(node) => node.print(source, &mut out),
            At::Pipeline(pipeline) => pipeline.print(&mut out),
            At::Command(command) => command.print(&mut out),
            At::Operand(operand) => operand.print(&mut out),
        }
        String::from_utf8_lossy(&out).into_owned()
    }
}

impl NodeList {
    /// Returns whether nothing but white space would be printed, as Go's `IsEmptyTree` decides.
    pub(crate) fn is_empty(&self, source: &[u8]) -> bool {
        self.nodes.iter().all(|node| match node {
            Node::Text { start, end } => std::str::from_utf8(&source[*start as usize..*end as usize])
                .is_ok_and(|text| text.trim().is_empty()),
            _ => false,
        })
    }

    fn print(&self, source: &[u8], out: &mut Vec<u8>) {
        for node in &self.nodes {
            node.print(source, out);
        }
    }
}

impl Node {
    fn position(&self) -> Position {
        match self {
            Node::Text { start, .. } => *start,
            Node::Action { position, .. }
            | Node::Template { position, .. }
            | Node::Break { position }
            | Node::Continue { position } => *position,
            Node::If(branch) | Node::With(branch) | Node::Range(branch) => branch.pipeline.position,
        }
    }

    fn print(&self, source: &[u8], out: &mut Vec<u8>) {
        match self {
            Node::Text { start, end } => out.extend_from_slice(&source[*start as usize..*end as usize]),
            Node::Action { pipeline, .. } => {
                out.extend_from_slice(b"{{");
                pipeline.print(out);
                out.extend_from_slice(b"}}");
            }
            Node::If(branch) => branch.print("if", source, out),
            Node::With(branch) => branch.print("with", source, out),
            Node::Range(branch) => branch.print("range", source, out),
            Node::Template { name, pipeline, .. } => {
                out.extend_from_slice(b"{{template ");
                out.extend_from_slice(&crate::format::quote(name));
                if let Some(pipeline) = pipeline {
                    out.push(b' ');
                    pipeline.print(out);
                }
                out.extend_from_slice(b"}}");
            }
            Node::Break { .. } => out.extend_from_slice(b"{{break}}"),
            Node::Continue { .. } => out.extend_from_slice(b"{{continue}}"),
        }
    }
}

impl Branch {
    fn print(&self, word: &str, source: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(b"{{");
        out.extend_from_slice(word.as_bytes());
        out.push(b' ');
        self.pipeline.print(out);
        out.extend_from_slice(b"}}");
        self.body.print(source, out);
        if let Some(otherwise) = &self.otherwise {
            out.extend_from_slice(b"{{else}}");
            otherwise.print(source, out);
        }
        out.extend_from_slice(b"{{end}}");
    }
}

impl Pipeline {
    fn print(&self, out: &mut Vec<u8>) {
        if !self.declarations.is_empty() {
            out.extend_from_slice(self.declarations.join(", ").as_bytes());
            out.extend_from_slice(if self.assigns { b" = " } else { b" := " });
        }
        for (index, command) in self.commands.iter().enumerate() {
            if index > 0 {
                out.extend_from_slice(b" | ");
            }
            command.print(out);
        }
    }
}

impl Command {
    fn print(&self, out: &mut Vec<u8>) {
        self.head.print_in_parentheses(out);
        for argument in &self.arguments {
            out.push(b' ');
            argument.print_in_parentheses(out);
        }
    }
}

impl Operand {
    fn print_in_parentheses(&self, out: &mut Vec<u8>) {
        if matches!(self.term, Term::Pipeline(_)) {
            out.push(b'(');
            self.print(out);
            out.push(b')');
        } else {
            self.print(out);
        }
    }

    pub(crate) fn print(&self, out: &mut Vec<u8>) {
        let print_fields = |fields: &[Text], out: &mut Vec<u8>| {
            for field in fields {
                out.push(b'.');
                out.extend_from_slice(field);
            }
        };
        match &self.term {
            Term::Bool(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Term::Dot => out.push(b'.'),
            Term::Nil => out.extend_from_slice(b"nil"),
            Term::Number(number) => out.extend_from_slice(number.text.as_bytes()),
            Term::String { quoted, .. } => out.extend_from_slice(quoted),
            Term::Field(fields) => print_fields(fields, out),
            Term::Variable { name, fields } => {
                out.extend_from_slice(name.as_bytes());
                print_fields(fields, out);
            }
            Term::Function(function) => out.extend_from_slice(function.name.as_bytes()),
            Term::Chain { operand, fields } => {
                operand.print_in_parentheses(out);
                print_fields(fields, out);
            }
            Term::Pipeline(pipeline) => pipeline.print(out),
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        self.print(&mut out);
        formatter.write_str(&String::from_utf8_lossy(&out))
    }
}
