//! Turns tokens into templates, with Go's rules and messages.

use std::sync::Arc;

use bytes::Bytes;

use crate::constant;
use crate::error::shortened_cause;
use crate::format;
use crate::functions::Functions;
use crate::lex::{Lexer, Token, TokenKind};
use crate::node::{Branch, Command, Node, NodeList, Operand, Pipeline, Position, Term};
use crate::templates::Template;
use crate::value::Text;

/// How deep control structures and parentheses may nest. Deeper than any template that a person wrote, and
/// shallow enough that walking and dropping the tree fits a small stack.
pub const MAX_NESTING: usize = 1000;

/// The largest template source; positions are 32 bits wide.
pub const MAX_SOURCE_BYTES: usize = 64 << 20;

/// Why a template cannot be parsed; its text is Go's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("template: {file}:{line}: {message}")]
pub struct ParseError {
    /// The name that the source was given.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub message: String,
}

/// Parses one source: the template named `name`, and those that it defines.
///
/// The first is the one that carries the source's own name.
pub(crate) fn parse(name: &str, source: Bytes, functions: &Functions) -> Result<Vec<Template>> {
    if source.len() > MAX_SOURCE_BYTES {
        return Err(ParseError {
            file: name.to_owned(),
            line: 1,
            message: format!(
                "the template has {} bytes, more than the {MAX_SOURCE_BYTES} that are allowed",
                source.len()
            ),
        });
    }
    let file: Arc<str> = Arc::from(name);
    let text = source.clone();
    let mut parser = Parser {
        lexer: Lexer::new(&text),
        source: &text,
        shared: Shared { source, file },
        functions,
        trees: Vec::new(),
        nesting: 0,
        tree: Tree::default(),
    };
    let root = parser.top_level()?;
    parser.add(Text::from(name), root)?;
    Ok(parser.trees)
}

struct Shared {
    source: Bytes,
    file: Arc<str>,
}

/// What Go keeps for each tree that it parses: `define` and `block` start a fresh one.
struct Tree {
    tokens: [Token; 3],
    peeked: usize,
    variables: Vec<Box<str>>,
    action_line: usize,
    range_depth: usize,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree {
            tokens: [Token::NONE, Token::NONE, Token::NONE],
            peeked: 0,
            variables: vec!["$".into()],
            action_line: 0,
            range_depth: 0,
        }
    }
}

struct Parser<'source> {
    lexer: Lexer<'source>,
    source: &'source [u8],
    shared: Shared,
    functions: &'source Functions,
    trees: Vec<Template>,
    nesting: usize,
    tree: Tree,
}

type Result<T> = std::result::Result<T, ParseError>;

/// What ends a list of nodes.
enum Ending {
    End,
    Else,
    /// `{{else if` or `{{else with`: the keyword has not been read.
    ElseThen(TokenKind),
}

impl Ending {
    fn describe(&self) -> &'static str {
        match self {
            Ending::End => "{{end}}",
            Ending::Else | Ending::ElseThen(_) => "{{else}}",
        }
    }
}

enum Parsed {
    Node(Node),
    Ending(Ending),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Control {
    If,
    Range,
    With,
}

impl Control {
    fn name(self) -> &'static str {
        match self {
            Control::If => "if",
            Control::Range => "range",
            Control::With => "with",
        }
    }
}

impl Parser<'_> {
    fn next(&mut self) -> Token {
        if self.tree.peeked > 0 {
            self.tree.peeked -= 1;
        } else {
            self.tree.tokens[0] = self.lexer.next_token();
        }
        self.tree.tokens[self.tree.peeked].clone()
    }

    fn backup(&mut self) {
        self.tree.peeked += 1;
    }

    fn peek(&mut self) -> &Token {
        if self.tree.peeked == 0 {
            self.tree.peeked = 1;
            self.tree.tokens[0] = self.lexer.next_token();
        }
        &self.tree.tokens[self.tree.peeked - 1]
    }

    fn next_non_space(&mut self) -> Token {
        loop {
            let token = self.next();
            if token.kind != TokenKind::Space {
                return token;
            }
        }
    }

    fn peek_non_space(&mut self) -> Token {
        let token = self.next_non_space();
        self.backup();
        token
    }

    fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError {
            file: self.shared.file.to_string(),
            line: self.tree.tokens[0].line,
            message: shortened_cause(message.into()),
        }
    }

    fn unexpected(&self, token: &Token, context: &str) -> ParseError {
        let shown = token.describe(self.source);
        if token.kind != TokenKind::Error {
            return self.error(format!("unexpected {shown} in {context}"));
        }
        let started = self.tree.action_line;
        if started == 0 || started == token.line {
            return self.error(shown);
        }
        // "unclosed action" already says the word.
        let joint = if shown.ends_with(" action") {
            ""
        } else {
            " in action"
        };
        self.error(format!(
            "{shown}{joint} started at {}:{started}",
            self.shared.file
        ))
    }

    fn expect(&mut self, kind: TokenKind, context: &str) -> Result<Token> {
        let token = self.next_non_space();
        if token.kind == kind {
            Ok(token)
        } else {
            Err(self.unexpected(&token, context))
        }
    }

    fn add(&mut self, name: Text, root: NodeList) -> Result<()> {
        let is_empty = root.is_empty(self.source);
        if let Some(index) = self.trees.iter().position(|tree| tree.name == name) {
            if !self.trees[index].is_empty() {
                if is_empty {
                    return Ok(());
                }
                return Err(self.error(format!(
                    "template: multiple definition of template {}",
                    format::quoted(&name)
                )));
            }
            self.trees.remove(index);
        }
        self.trees.push(Template::new(
            name,
            Arc::clone(&self.shared.file),
            self.shared.source.clone(),
            root,
            is_empty,
        ));
        Ok(())
    }

    fn top_level(&mut self) -> Result<NodeList> {
        let mut root = NodeList::default();
        while self.peek().kind != TokenKind::EndOfInput {
            if self.peek().kind == TokenKind::LeftDelimiter {
                let delimiter = self.next();
                if self.next_non_space().kind == TokenKind::Define {
                    self.definition()?;
                    continue;
                }
                self.tree.tokens[1] = delimiter;
                self.tree.peeked = 2;
            }
            match self.text_or_action()? {
                Parsed::Node(node) => root.nodes.push(node),
                Parsed::Ending(ending) => {
                    return Err(self.error(format!("unexpected {}", ending.describe())));
                }
            }
        }
        Ok(root)
    }

    fn definition(&mut self) -> Result<()> {
        const CONTEXT: &str = "define clause";
        let outer = std::mem::take(&mut self.tree);
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        self.expect(TokenKind::RightDelimiter, CONTEXT)?;
        let (body, ending) = self.item_list()?;
        if !matches!(ending, Ending::End) {
            return Err(self.error(format!("unexpected {} in {CONTEXT}", ending.describe())));
        }
        self.add(name, body)?;
        self.tree = outer;
        Ok(())
    }

    fn item_list(&mut self) -> Result<(NodeList, Ending)> {
        let mut list = NodeList::default();
        while self.peek_non_space().kind != TokenKind::EndOfInput {
            match self.text_or_action()? {
                Parsed::Node(node) => list.nodes.push(node),
                Parsed::Ending(ending) => return Ok((list, ending)),
            }
        }
        Err(self.error("unexpected EOF"))
    }

    fn text_or_action(&mut self) -> Result<Parsed> {
        let token = self.next_non_space();
        match token.kind {
            TokenKind::Text => Ok(Parsed::Node(Node::Text {
                start: token.start as Position,
                end: token.end as Position,
            })),
            TokenKind::LeftDelimiter => {
                self.tree.action_line = token.line;
                let parsed = self.action();
                self.tree.action_line = 0;
                parsed
            }
            _ => Err(self.unexpected(&token, "input")),
        }
    }

    fn action(&mut self) -> Result<Parsed> {
        let token = self.next_non_space();
        let position = token.start as Position;
        let node = match token.kind {
            TokenKind::Block => self.block()?,
            TokenKind::Break => {
                self.loop_control("{{break}}")?;
                Node::Break { position }
            }
            TokenKind::Continue => {
                self.loop_control("{{continue}}")?;
                Node::Continue { position }
            }
            TokenKind::Else => {
                let next = self.peek_non_space().kind;
                if matches!(next, TokenKind::If | TokenKind::With) {
                    return Ok(Parsed::Ending(Ending::ElseThen(next)));
                }
                self.expect(TokenKind::RightDelimiter, "else")?;
                return Ok(Parsed::Ending(Ending::Else));
            }
            TokenKind::End => {
                self.expect(TokenKind::RightDelimiter, "end")?;
                return Ok(Parsed::Ending(Ending::End));
            }
            TokenKind::If => Node::If(self.control(Control::If)?),
            TokenKind::Range => Node::Range(self.control(Control::Range)?),
            TokenKind::With => Node::With(self.control(Control::With)?),
            TokenKind::Template => self.template_call()?,
            _ => {
                self.backup();
                let position = self.peek().start as Position;
                Node::Action {
                    position,
                    pipeline: self.pipeline("command", TokenKind::RightDelimiter)?,
                }
            }
        };
        Ok(Parsed::Node(node))
    }

    fn loop_control(&mut self, word: &str) -> Result<()> {
        self.expect(TokenKind::RightDelimiter, word)?;
        if self.tree.range_depth == 0 {
            return Err(self.error(format!("{word} outside {{{{range}}}}")));
        }
        Ok(())
    }

    /// Runs `parse` one level deeper, within the limit on nesting.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting >= MAX_NESTING {
            return Err(self.error(format!(
                "max expression depth exceeded: blocks and parentheses nest deeper than {MAX_NESTING}"
            )));
        }
        self.nesting += 1;
        let result = crate::stack::with_room(|| parse(self));
        self.nesting -= 1;
        result
    }

    fn control(&mut self, control: Control) -> Result<Branch> {
        self.nested(|parser| parser.control_unlimited(control))
    }

    fn control_unlimited(&mut self, control: Control) -> Result<Branch> {
        let variables = self.tree.variables.len();
        let pipeline = self.pipeline(control.name(), TokenKind::RightDelimiter)?;
        if control == Control::Range {
            self.tree.range_depth += 1;
        }
        let (body, ending) = self.item_list()?;
        if control == Control::Range {
            self.tree.range_depth -= 1;
        }
        let otherwise = match ending {
            Ending::End => None,
            Ending::ElseThen(TokenKind::If) if control == Control::If => {
                self.next_non_space();
                Some(NodeList {
                    nodes: vec![Node::If(self.control(Control::If)?)],
                })
            }
            Ending::ElseThen(TokenKind::With) if control == Control::With => {
                self.next_non_space();
                Some(NodeList {
                    nodes: vec![Node::With(self.control(Control::With)?)],
                })
            }
            Ending::Else | Ending::ElseThen(_) => {
                let (list, ending) = self.item_list()?;
                if !matches!(ending, Ending::End) {
                    return Err(self.error(format!("expected end; found {}", ending.describe())));
                }
                Some(list)
            }
        };
        self.tree.variables.truncate(variables);
        Ok(Branch {
            pipeline,
            body,
            otherwise,
        })
    }

    fn block(&mut self) -> Result<Node> {
        const CONTEXT: &str = "block clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let pipeline = self.pipeline(CONTEXT, TokenKind::RightDelimiter)?;
        let outer = std::mem::take(&mut self.tree);
        let (body, ending) = self.nested(Self::item_list)?;
        if !matches!(ending, Ending::End) {
            self.tree = outer;
            return Err(self.error(format!("unexpected {} in {CONTEXT}", ending.describe())));
        }
        self.add(name.clone(), body)?;
        self.tree = outer;
        Ok(Node::Template {
            position: token.start as Position,
            name,
            pipeline: Some(pipeline),
        })
    }

    fn template_call(&mut self) -> Result<Node> {
        const CONTEXT: &str = "template clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let mut pipeline = None;
        if self.next_non_space().kind != TokenKind::RightDelimiter {
            self.backup();
            pipeline = Some(self.pipeline(CONTEXT, TokenKind::RightDelimiter)?);
        }
        Ok(Node::Template {
            position: token.start as Position,
            name,
            pipeline,
        })
    }

    fn template_name(&mut self, token: &Token, context: &str) -> Result<Text> {
        match token.kind {
            TokenKind::String | TokenKind::RawString => self.unquote(token),
            _ => Err(self.unexpected(token, context)),
        }
    }

    fn unquote(&self, token: &Token) -> Result<Text> {
        format::unquote(token.text(self.source))
            .map(Text::from)
            .map_err(|error| self.error(error.to_string()))
    }

    fn pipeline(&mut self, context: &str, end: TokenKind) -> Result<Pipeline> {
        let position = self.peek_non_space().start as Position;
        let mut pipeline = Pipeline {
            position,
            assigns: false,
            declarations: Vec::new(),
            commands: Vec::new(),
        };
        self.declarations(&mut pipeline, context)?;
        loop {
            let token = self.next_non_space();
            if token.kind == end {
                self.check_pipeline(&pipeline, context)?;
                return Ok(pipeline);
            }
            match token.kind {
                TokenKind::Bool
                | TokenKind::CharConstant
                | TokenKind::Complex
                | TokenKind::Dot
                | TokenKind::Field
                | TokenKind::Identifier
                | TokenKind::Number
                | TokenKind::Nil
                | TokenKind::RawString
                | TokenKind::String
                | TokenKind::Variable
                | TokenKind::LeftParenthesis => {
                    self.backup();
                    let command = self.command()?;
                    pipeline.commands.push(command);
                }
                _ => return Err(self.unexpected(&token, context)),
            }
        }
    }

    /// Reads `$x :=`, `$x =` and, for `range`, `$i, $x :=`.
    fn declarations(&mut self, pipeline: &mut Pipeline, context: &str) -> Result<()> {
        loop {
            let variable = self.peek_non_space();
            if variable.kind != TokenKind::Variable {
                return Ok(());
            }
            self.next();
            // A space may stand between the variable and what follows; it has to be given back if this is no
            // declaration.
            let after = self.peek().clone();
            let next = self.peek_non_space();
            let name = || -> Box<str> { String::from_utf8_lossy(variable.text(self.source)).into() };
            match next.kind {
                TokenKind::Assign | TokenKind::Declare => {
                    let name = name();
                    pipeline.assigns = next.kind == TokenKind::Assign;
                    self.next_non_space();
                    pipeline.declarations.push(name.clone());
                    self.tree.variables.push(name);
                    return Ok(());
                }
                TokenKind::Char if next.text(self.source) == b"," => {
                    let name = name();
                    self.next_non_space();
                    pipeline.declarations.push(name.clone());
                    self.tree.variables.push(name);
                    if context == "range" && pipeline.declarations.len() < 2 {
                        let following = self.peek_non_space().kind;
                        if matches!(
                            following,
                            TokenKind::Variable | TokenKind::RightDelimiter | TokenKind::RightParenthesis
                        ) {
                            continue;
                        }
                        return Err(self.error("range can only initialize variables"));
                    }
                    return Err(self.error(format!("too many declarations in {context}")));
                }
                _ if after.kind == TokenKind::Space => {
                    self.tree.tokens[1] = after;
                    self.tree.tokens[2] = variable;
                    self.tree.peeked = 3;
                    return Ok(());
                }
                _ => {
                    self.tree.tokens[1] = variable;
                    self.tree.peeked = 2;
                    return Ok(());
                }
            }
        }
    }

    fn check_pipeline(&self, pipeline: &Pipeline, context: &str) -> Result<()> {
        if pipeline.commands.is_empty() {
            return Err(self.error(format!("missing value for {context}")));
        }
        for (index, command) in pipeline.commands.iter().enumerate().skip(1) {
            if matches!(
                command.head.term,
                Term::Bool(_) | Term::Dot | Term::Nil | Term::Number(_) | Term::String { .. }
            ) {
                let stage = index + 1;
                return Err(self.error(format!("non executable command in pipeline stage {stage}")));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Result<Command> {
        let position = self.peek_non_space().start as Position;
        let mut words = Vec::new();
        loop {
            self.peek_non_space();
            words.extend(self.operand()?);
            let token = self.next();
            match token.kind {
                TokenKind::Space => {}
                TokenKind::RightDelimiter | TokenKind::RightParenthesis => {
                    self.backup();
                    break;
                }
                TokenKind::Pipe => break,
                _ => return Err(self.unexpected(&token, "operand")),
            }
        }
        let mut words = words.into_iter();
        let Some(head) = words.next() else {
            return Err(self.error("empty command"));
        };
        Ok(Command {
            position,
            head,
            arguments: words.collect(),
        })
    }

    fn operand(&mut self) -> Result<Option<Operand>> {
        let Some(mut operand) = self.term()? else {
            return Ok(None);
        };
        if self.peek().kind != TokenKind::Field {
            return Ok(Some(operand));
        }
        let position = self.peek().start as Position;
        let mut chain = Vec::new();
        while self.peek().kind == TokenKind::Field {
            chain.push(self.field_name());
        }
        match &mut operand.term {
            Term::Field(fields) | Term::Variable { fields, .. } => {
                fields.append(&mut chain);
                operand.position = position;
                Ok(Some(operand))
            }
            Term::Bool(_) | Term::String { .. } | Term::Number(_) | Term::Nil | Term::Dot => Err(self.error(
                format!("unexpected . after term {}", format::quoted(operand.to_string())),
            )),
            Term::Function(_) | Term::Chain { .. } | Term::Pipeline(_) => Ok(Some(Operand {
                position,
                term: Term::Chain {
                    operand: Box::new(operand),
                    fields: chain,
                },
            })),
        }
    }

    /// Reads a field token and returns its name without the dot.
    fn field_name(&mut self) -> Text {
        let token = self.next();
        Text::from(token.text(self.source).get(1..).unwrap_or_default())
    }

    fn term(&mut self) -> Result<Option<Operand>> {
        let token = self.next_non_space();
        let text = token.text(self.source);
        let term = match token.kind {
            TokenKind::Identifier => {
                let name = String::from_utf8_lossy(text);
                let Some(function) = self.functions.get(&name) else {
                    let quoted = format::quoted(text);
                    return Err(self.error(format!("function {quoted} not defined")));
                };
                Term::Function(function)
            }
            TokenKind::Dot => Term::Dot,
            TokenKind::Nil => Term::Nil,
            TokenKind::Variable => {
                let name: Box<str> = String::from_utf8_lossy(text).into();
                if !self.tree.variables.contains(&name) {
                    return Err(self.error(format!("undefined variable {}", format::quoted(text))));
                }
                Term::Variable {
                    name,
                    fields: Vec::new(),
                }
            }
            TokenKind::Field => Term::Field(vec![Text::from(text.get(1..).unwrap_or_default())]),
            TokenKind::Bool => Term::Bool(text == b"true"),
            TokenKind::CharConstant | TokenKind::Complex | TokenKind::Number => {
                let number =
                    constant::parse_number(text, token.kind).map_err(|message| self.error(message))?;
                Term::Number(Box::new(number))
            }
            TokenKind::LeftParenthesis => {
                let pipeline = self.nested(|parser| {
                    parser.pipeline("parenthesized pipeline", TokenKind::RightParenthesis)
                })?;
                return Ok(Some(Operand {
                    position: pipeline.position,
                    term: Term::Pipeline(pipeline),
                }));
            }
            TokenKind::String | TokenKind::RawString => Term::String {
                quoted: text.into(),
                text: self.unquote(&token)?,
            },
            _ => {
                self.backup();
                return Ok(None);
            }
        };
        Ok(Some(Operand {
            position: token.start as Position,
            term,
        }))
    }
}
