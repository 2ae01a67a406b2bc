//! The parser. This is the only place that knows the `cel` crate: its tree becomes ours here.
//!
//! The crate's parser is used without its macros, since Kubernetes has more of them; [`super::macros`] expands them.

use std::sync::Arc;

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, SourceInfo};

use super::ast::{Entry, Expression, Field, Kind, Literal};
use super::macros;
use super::source::{Issue, Issues, Source};

/// The most characters of an expression, as upstream's parser has it.
const MOST_CHARACTERS: usize = 100_000;

/// How deep an expression may nest, as upstream's parser has it.
const DEEPEST_NESTING: u16 = 250;

/// How much stack is there before a part of the tree is entered, and how much more is taken when it isn't: the parser
/// and everything behind it walk the tree by recursion, and the input decides how deep it is.
const STACK_LEFT: usize = 256 * 1024;
const STACK_TAKEN: usize = 8 * 1024 * 1024;

/// Runs a walk over a tree that may be deep on a stack that is large enough.
pub(crate) fn with_stack<T>(walk: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_LEFT, STACK_TAKEN, walk)
}

/// Parses an expression and expands its macros.
pub(crate) fn parse(text: &str) -> Result<(Expression, Source), Issues> {
    let mut source = Source::new(text);
    let characters = text.chars().count();
    if characters > MOST_CHARACTERS {
        let message =
            format!("expression code point size exceeds limit: size: {characters}, limit {MOST_CHARACTERS}");
        return Err(Source::without_place(&message));
    }
    let parser = cel::Env::default()
        .parser()
        .enable_optional_syntax(true)
        .max_recursion_depth(DEEPEST_NESTING);
    // The generated parser keeps a frame per grammar rule, so it always gets a stack of its own.
    let parsed = stacker::grow(8 * STACK_TAKEN, || parser.parse_with_source_info(text));
    let (tree, places) = match parsed {
        Ok(parsed) => parsed,
        Err(errors) => {
            let issues = errors
                .errors
                .into_iter()
                .map(|error| {
                    // The crate points at the dot before an escaped name, upstream at the name.
                    let behind = usize::from(error.msg.starts_with("unsupported syntax: '`'"));
                    Issue {
                        line: usize::try_from(error.pos.0).unwrap_or_default(),
                        column: usize::try_from(error.pos.1 - 1).unwrap_or_default() + behind,
                        message: error.msg,
                    }
                })
                .collect();
            return Err(source.show(issues));
        }
    };
    let mut conversion = Conversion {
        places: &places,
        source: &mut source,
        issues: Vec::new(),
        text,
    };
    let tree = conversion.expression(tree);
    let issues = conversion.issues;
    if issues.is_empty() {
        Ok((tree, source))
    } else {
        Err(source.show(issues))
    }
}

struct Conversion<'a> {
    places: &'a SourceInfo,
    source: &'a mut Source,
    issues: Vec<Issue>,
    text: &'a str,
}

impl Conversion<'_> {
    /// Places a node where the crate says it stands. The crate counts bytes.
    fn place(&mut self, id: u64) -> usize {
        let bytes = self.places.offset_for(id).map_or(0, |(start, _)| start as usize);
        let characters = self
            .text
            .char_indices()
            .take_while(|(index, _)| *index < bytes)
            .count();
        self.source.place(characters as u32)
    }

    fn expressions(&mut self, from: Vec<IdedExpr>) -> Vec<Expression> {
        from.into_iter().map(|one| self.expression(one)).collect()
    }

    fn expression(&mut self, from: IdedExpr) -> Expression {
        with_stack(|| self.expression_here(from))
    }

    fn expression_here(&mut self, from: IdedExpr) -> Expression {
        let id = self.place(from.id);
        let kind = match from.expr {
            Expr::Unspecified | Expr::Comprehension(_) => {
                self.issues
                    .push(self.source.issue(id, "unsupported syntax".to_owned()));
                Kind::Literal(Literal::Null)
            }
            Expr::Ident(name) => Kind::Identifier(name.into()),
            Expr::Literal(literal) => Kind::Literal(convert_literal(literal)),
            Expr::Select(select) => Kind::Select {
                operand: Box::new(self.expression(*select.operand)),
                field: select.field.into(),
                test: select.test,
            },
            Expr::Call(call) => {
                let target = call.target.map(|target| Box::new(self.expression(*target)));
                let arguments = self.expressions(call.args);
                let function: Arc<str> = call.func_name.into();
                return match macros::expand(id, function, target, arguments, self.source) {
                    Ok(expression) => expression,
                    Err(issue) => {
                        self.issues.push(issue);
                        Expression {
                            id,
                            kind: Kind::Literal(Literal::Null),
                        }
                    }
                };
            }
            Expr::List(list) => {
                let mut optional = vec![false; list.elements.len()];
                for index in list.optional_indices {
                    if let Some(mark) = optional.get_mut(index) {
                        *mark = true;
                    }
                }
                Kind::List {
                    elements: self.expressions(list.elements),
                    optional,
                }
            }
            Expr::Map(map) => {
                let mut entries = Vec::with_capacity(map.entries.len());
                for entry in map.entries {
                    if let EntryExpr::MapEntry(entry) = entry.expr {
                        entries.push(Entry {
                            key: self.expression(entry.key),
                            value: self.expression(entry.value),
                            optional: entry.optional,
                        });
                    }
                }
                Kind::Map { entries }
            }
            Expr::Struct(object) => {
                let mut fields = Vec::with_capacity(object.entries.len());
                for entry in object.entries {
                    if let EntryExpr::StructField(field) = entry.expr {
                        fields.push(Field {
                            value: self.expression(field.value),
                        });
                    }
                }
                Kind::Struct {
                    name: object.type_name.into(),
                    fields,
                }
            }
        };
        Expression { id, kind }
    }
}

fn convert_literal(literal: LiteralValue) -> Literal {
    match literal {
        LiteralValue::Null => Literal::Null,
        LiteralValue::Boolean(value) => Literal::Bool(value.into_inner()),
        LiteralValue::Int(value) => Literal::Int(value.into_inner()),
        LiteralValue::UInt(value) => Literal::Uint(value.into_inner()),
        LiteralValue::Double(value) => Literal::Double(value.into_inner()),
        LiteralValue::String(value) => Literal::String(value.into_inner().into()),
        LiteralValue::Bytes(value) => Literal::Bytes(value.into_inner().into()),
    }
}
