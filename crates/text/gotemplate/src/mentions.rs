//! What a template mentions: fields and functions, found without executing it. For tools that check templates.

use crate::node::{Branch, Command, Node, NodeList, Operand, Pipeline, Position, Term};
use crate::templates::Template;
use crate::value::Text;

/// A field or function that a template mentions, whether or not an execution gets there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The line in the source, from 1.
    pub line: usize,
    /// What is mentioned.
    pub what: Mentioned,
}

/// What a template mentions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mentioned {
    /// A path of fields, such as `.Values.image.tag`, whatever it starts from.
    Fields(Vec<String>),
    /// A function.
    Function(&'static str),
}

impl Template {
    /// Returns everything that the template itself mentions, in the order in which it stands there.
    pub fn mentions(&self) -> Vec<Mention> {
        let mut collector = Collector {
            template: self,
            mentions: Vec::new(),
        };
        collector.list(&self.root);
        collector.mentions
    }
}

struct Collector<'template> {
    template: &'template Template,
    mentions: Vec<Mention>,
}

impl Collector<'_> {
    fn add(&mut self, position: Position, what: Mentioned) {
        let (line, _) = self.template.line_and_column(position as usize);
        self.mentions.push(Mention { line, what });
    }

    fn list(&mut self, list: &NodeList) {
        for node in &list.nodes {
            match node {
                Node::Text { .. } | Node::Break { .. } | Node::Continue { .. } => {}
                Node::Action { pipeline, .. } => self.pipeline(pipeline),
                Node::If(branch) | Node::With(branch) | Node::Range(branch) => {
                    crate::stack::with_room(|| self.branch(branch));
                }
                Node::Template { pipeline, .. } => {
                    if let Some(pipeline) = pipeline {
                        self.pipeline(pipeline);
                    }
                }
            }
        }
    }

    fn branch(&mut self, branch: &Branch) {
        self.pipeline(&branch.pipeline);
        self.list(&branch.body);
        if let Some(otherwise) = &branch.otherwise {
            self.list(otherwise);
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        for command in &pipeline.commands {
            crate::stack::with_room(|| self.command(command));
        }
    }

    /// A lookup with constant keys is a path like any other.
    fn command(&mut self, command: &Command) {
        let Term::Function(function) = &command.head.term else {
            self.operand(&command.head);
            return self.operands(&command.arguments);
        };
        self.add(command.head.position, Mentioned::Function(function.name));
        match (function.name, command.arguments.as_slice()) {
            ("index" | "get" | "hasKey", [container, keys @ ..]) if fields(container).is_some() => {
                let constants: Vec<String> = keys.iter().map_while(constant).collect();
                let path = fields(container)
                    .into_iter()
                    .flatten()
                    .chain(constants.iter().cloned())
                    .collect();
                self.add(container.position, Mentioned::Fields(path));
                self.operands(&keys[constants.len()..]);
            }
            ("dig", [keys @ .., default, container]) if fields(container).is_some() => {
                let constants = keys.iter().map_while(constant);
                let path = fields(container).into_iter().flatten().chain(constants).collect();
                self.add(container.position, Mentioned::Fields(path));
                self.operand(default);
            }
            (_, arguments) => self.operands(arguments),
        }
    }

    fn operands(&mut self, operands: &[Operand]) {
        for operand in operands {
            self.operand(operand);
        }
    }

    fn operand(&mut self, operand: &Operand) {
        match &operand.term {
            Term::Function(function) => self.add(operand.position, Mentioned::Function(function.name)),
            Term::Chain { operand: inner, .. } => self.operand(inner),
            Term::Pipeline(pipeline) => self.pipeline(pipeline),
            _ => {
                if let Some(path) = fields(operand).filter(|path| !path.is_empty()) {
                    self.add(operand.position, Mentioned::Fields(path));
                }
            }
        }
    }
}

fn fields(operand: &Operand) -> Option<Vec<String>> {
    match &operand.term {
        Term::Field(fields) | Term::Variable { fields, .. } => {
            Some(fields.iter().map(|field| field.to_str().into_owned()).collect())
        }
        _ => None,
    }
}

fn constant(operand: &Operand) -> Option<String> {
    match &operand.term {
        Term::String { text, .. } => Some(Text::to_str(text).into_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{Functions, Parsed};

    #[test]
    fn fields_and_functions_are_found_wherever_they_stand() {
        let source = "{{ .a.b }}\n{{ if and .c (eq $.d \"x\") }}{{ range .e }}{{ .f }}{{ end }}{{ else }}\n\
                      {{ index .g \"h\" \"i\" $x.j }}{{ end }}{{ $x := (print .k).l }}{{ template \"t\" .m }}";
        let source = format!("{{{{ $x := 1 }}}}{source}");
        let parsed = Parsed::new("a", Bytes::from(source), &Functions::default()).expect("a template");
        let shown: Vec<String> = parsed
            .templates()
            .flat_map(Template::mentions)
            .map(|mention| match mention.what {
                Mentioned::Fields(path) => format!("{}:{}", mention.line, path.join(".")),
                Mentioned::Function(name) => format!("{}:{name}()", mention.line),
            })
            .collect();
        assert_eq!(
            shown,
            [
                "1:a.b",
                "2:and()",
                "2:c",
                "2:eq()",
                "2:d",
                "2:e",
                "2:f",
                "3:index()",
                "3:g.h.i",
                "3:j",
                "3:print()",
                "3:k",
                "3:m"
            ]
        );
    }
}
