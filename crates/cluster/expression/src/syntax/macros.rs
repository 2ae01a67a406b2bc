//! Calls that stand for something else: `has`, the comprehensions, and the optional forms.
//!
//! A macro is known by its name, by whether it has a target, and by how many arguments it has; a call that fits none stays
//! a call.

use std::sync::Arc;

use super::ast::{ACCUMULATOR, Comprehension, Expression, Kind, Literal, NodeId, operator};
use super::source::{Issue, Source};

/// The accumulator's name in older expressions: no variable may have it.
const OLD_ACCUMULATOR: &str = "__result__";

const OVERWRITES: &str = "iteration variable overwrites accumulator variable";

/// The variable of a comprehension that isn't read, because the comprehension only binds a name.
const UNUSED: &str = "#unused";

/// Returns what the call stands for, or the call itself.
pub(super) fn expand(
    id: NodeId,
    function: Arc<str>,
    target: Option<Box<Expression>>,
    arguments: Vec<Expression>,
    source: &mut Source,
) -> Result<Expression, Issue> {
    let offset = source.offset(id);
    let mut make = Maker { offset, source };
    match (&*function, target, arguments) {
        ("has", None, arguments) if arguments.len() == 1 => make.has(arguments),
        ("all" | "exists" | "exists_one", Some(target), arguments) if arguments.len() == 2 => {
            make.quantifier(&function, *target, arguments, "argument must be a simple name")
        }
        ("all" | "exists" | "exists_one" | "existsOne", Some(target), arguments) if arguments.len() == 3 => {
            make.quantifier(&function, *target, arguments, "argument must be a simple name")
        }
        ("map", Some(target), arguments) if matches!(arguments.len(), 2 | 3) => make.map(*target, arguments),
        ("filter", Some(target), arguments) if arguments.len() == 2 => make.filter(*target, arguments),
        ("transformList" | "transformMap" | "transformMapEntry", Some(target), arguments)
            if matches!(arguments.len(), 3 | 4) =>
        {
            make.transform(&function, *target, arguments)
        }
        ("optMap" | "optFlatMap", Some(target), arguments) if arguments.len() == 2 => {
            make.optional_map(&function, *target, arguments)
        }
        ("sortBy", Some(target), arguments) if arguments.len() == 2 => make.sort_by(*target, arguments),
        (_, target, arguments) => Ok(Expression {
            id,
            kind: Kind::Call {
                function,
                target,
                arguments,
            },
        }),
    }
}

struct Maker<'a> {
    /// Where the macro is called: every node that it makes stands there.
    offset: u32,
    source: &'a mut Source,
}

impl Maker<'_> {
    fn node(&mut self, kind: Kind) -> Expression {
        Expression {
            id: self.source.place(self.offset),
            kind,
        }
    }

    fn literal(&mut self, literal: Literal) -> Expression {
        self.node(Kind::Literal(literal))
    }

    fn identifier(&mut self, name: &Arc<str>) -> Expression {
        self.node(Kind::Identifier(name.clone()))
    }

    fn accumulator(&mut self) -> Expression {
        self.node(Kind::Identifier(ACCUMULATOR.into()))
    }

    fn call(&mut self, function: &str, arguments: Vec<Expression>) -> Expression {
        self.node(Kind::Call {
            function: function.into(),
            target: None,
            arguments,
        })
    }

    fn member_call(&mut self, target: Expression, function: &str, arguments: Vec<Expression>) -> Expression {
        self.node(Kind::Call {
            function: function.into(),
            target: Some(Box::new(target)),
            arguments,
        })
    }

    fn list(&mut self, elements: Vec<Expression>) -> Expression {
        let optional = vec![false; elements.len()];
        self.node(Kind::List { elements, optional })
    }

    fn issue(&self, at: &Expression, message: &str) -> Issue {
        self.source.issue(at.id, message.to_owned())
    }

    fn variable(&self, argument: &Expression, otherwise: &str) -> Result<Arc<str>, Issue> {
        let Kind::Identifier(name) = &argument.kind else {
            return Err(self.issue(argument, otherwise));
        };
        if &**name == ACCUMULATOR || &**name == OLD_ACCUMULATOR {
            return Err(self.issue(argument, OVERWRITES));
        }
        Ok(name.clone())
    }

    /// Takes the one or two variables off the arguments of a comprehension.
    fn variables(
        &self,
        arguments: &mut Vec<Expression>,
        count: usize,
        otherwise: &str,
    ) -> Result<(Arc<str>, Option<Arc<str>>), Issue> {
        let rest = arguments.split_off(count.min(arguments.len()));
        let names = std::mem::replace(arguments, rest);
        let [first, others @ ..] = names.as_slice() else {
            return Err(self.source.issue_at(self.offset, otherwise.to_owned()));
        };
        let Some(second) = others.first() else {
            return Ok((self.variable(first, otherwise)?, None));
        };
        let simple = |argument: &Expression| match &argument.kind {
            Kind::Identifier(name) => Ok(name.clone()),
            _ => Err(self.issue(argument, otherwise)),
        };
        let (one, two) = (simple(first)?, simple(second)?);
        if one == two {
            return Err(self.issue(second, &format!("duplicate variable name: {one}")));
        }
        Ok((
            self.variable(first, otherwise)?,
            Some(self.variable(second, otherwise)?),
        ))
    }

    fn has(&mut self, mut arguments: Vec<Expression>) -> Result<Expression, Issue> {
        match arguments.pop() {
            Some(Expression {
                kind: Kind::Select { operand, field, .. },
                ..
            }) => Ok(self.node(Kind::Select {
                operand,
                field,
                test: true,
            })),
            Some(other) => Err(self.issue(&other, "invalid argument to has() macro")),
            None => Err(self
                .source
                .issue_at(self.offset, "invalid argument to has() macro".to_owned())),
        }
    }

    fn quantifier(
        &mut self,
        function: &str,
        range: Expression,
        mut arguments: Vec<Expression>,
        otherwise: &str,
    ) -> Result<Expression, Issue> {
        let names = arguments.len() - 1;
        let (variable, second_variable) = self.variables(&mut arguments, names, otherwise)?;
        let Some(predicate) = arguments.pop() else {
            return Err(self.source.issue_at(self.offset, otherwise.to_owned()));
        };
        let (start, condition, step, result);
        match function {
            "all" => {
                start = self.literal(Literal::Bool(true));
                let folded = self.accumulator();
                condition = self.call(operator::NOT_STRICTLY_FALSE, vec![folded]);
                let folded = self.accumulator();
                step = self.call(operator::AND, vec![folded, predicate]);
                result = self.accumulator();
            }
            "exists" => {
                start = self.literal(Literal::Bool(false));
                let folded = self.accumulator();
                let negated = self.call(operator::NOT, vec![folded]);
                condition = self.call(operator::NOT_STRICTLY_FALSE, vec![negated]);
                let folded = self.accumulator();
                step = self.call(operator::OR, vec![folded, predicate]);
                result = self.accumulator();
            }
            _ => {
                start = self.literal(Literal::Int(0));
                condition = self.literal(Literal::Bool(true));
                let (folded, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                let counted = self.call(operator::ADD, vec![folded, one]);
                let unchanged = self.accumulator();
                step = self.call(operator::CONDITIONAL, vec![predicate, counted, unchanged]);
                let (folded, one) = (self.accumulator(), self.literal(Literal::Int(1)));
                result = self.call(operator::EQUALS, vec![folded, one]);
            }
        }
        Ok(self.comprehension(range, (variable, second_variable), start, condition, step, result))
    }

    fn comprehension(
        &mut self,
        range: Expression,
        (variable, second_variable): (Arc<str>, Option<Arc<str>>),
        start: Expression,
        condition: Expression,
        step: Expression,
        result: Expression,
    ) -> Expression {
        self.node(Kind::Comprehension(Box::new(Comprehension {
            range,
            variable,
            second_variable,
            accumulator: ACCUMULATOR.into(),
            start,
            condition,
            step,
            result,
        })))
    }

    /// Makes a comprehension that collects: `step` is applied where `filter` holds.
    fn collect(
        &mut self,
        range: Expression,
        variables: (Arc<str>, Option<Arc<str>>),
        start: Expression,
        filter: Option<Expression>,
        step: Expression,
    ) -> Expression {
        let condition = self.literal(Literal::Bool(true));
        let step = match filter {
            Some(filter) => {
                let unchanged = self.accumulator();
                self.call(operator::CONDITIONAL, vec![filter, step, unchanged])
            }
            None => step,
        };
        let result = self.accumulator();
        self.comprehension(range, variables, start, condition, step, result)
    }

    fn map(&mut self, range: Expression, mut arguments: Vec<Expression>) -> Result<Expression, Issue> {
        let variables = self.variables(&mut arguments, 1, "argument is not an identifier")?;
        let Some(transform) = arguments.pop() else {
            return Err(self
                .source
                .issue_at(self.offset, "argument is not an identifier".to_owned()));
        };
        let filter = arguments.pop();
        let start = self.list(Vec::new());
        let (folded, item) = (self.accumulator(), self.list(vec![transform]));
        let step = self.call(operator::ADD, vec![folded, item]);
        Ok(self.collect(range, variables, start, filter, step))
    }

    fn filter(&mut self, range: Expression, mut arguments: Vec<Expression>) -> Result<Expression, Issue> {
        let item = arguments.first().cloned();
        let variables = self.variables(&mut arguments, 1, "argument is not an identifier")?;
        let (Some(filter), Some(item)) = (arguments.pop(), item) else {
            return Err(self
                .source
                .issue_at(self.offset, "argument is not an identifier".to_owned()));
        };
        let start = self.list(Vec::new());
        let (folded, item) = (self.accumulator(), self.list(vec![item]));
        let step = self.call(operator::ADD, vec![folded, item]);
        Ok(self.collect(range, variables, start, Some(filter), step))
    }

    fn transform(
        &mut self,
        function: &str,
        range: Expression,
        mut arguments: Vec<Expression>,
    ) -> Result<Expression, Issue> {
        let otherwise = "argument must be a simple name";
        let variables = self.variables(&mut arguments, 2, otherwise)?;
        let Some(transform) = arguments.pop() else {
            return Err(self.source.issue_at(self.offset, otherwise.to_owned()));
        };
        let filter = arguments.pop();
        let folded = self.accumulator();
        let (start, step) = match function {
            "transformList" => {
                let item = self.list(vec![transform]);
                (
                    self.list(Vec::new()),
                    self.call(operator::ADD, vec![folded, item]),
                )
            }
            "transformMap" => {
                let key = self.identifier(&variables.0);
                let start = self.node(Kind::Map { entries: Vec::new() });
                (
                    start,
                    self.call(operator::MAP_INSERT, vec![folded, key, transform]),
                )
            }
            _ => {
                let start = self.node(Kind::Map { entries: Vec::new() });
                (start, self.call(operator::MAP_INSERT, vec![folded, transform]))
            }
        };
        Ok(self.collect(range, variables, start, filter, step))
    }

    /// Binds a name to a value inside `result`: a comprehension over nothing, whose accumulator is the name.
    fn bind(&mut self, name: &Arc<str>, value: Expression, result: Expression) -> Expression {
        let range = self.list(Vec::new());
        let condition = self.literal(Literal::Bool(false));
        let step = self.identifier(name);
        self.node(Kind::Comprehension(Box::new(Comprehension {
            range,
            variable: UNUSED.into(),
            second_variable: None,
            accumulator: name.clone(),
            start: value,
            condition,
            step,
            result,
        })))
    }

    fn optional_map(
        &mut self,
        function: &str,
        target: Expression,
        mut arguments: Vec<Expression>,
    ) -> Result<Expression, Issue> {
        let (transform, variable) = (arguments.pop(), arguments.pop());
        let (Some(transform), Some(variable)) = (transform, variable) else {
            return Err(self
                .source
                .issue_at(self.offset, format!("{function}() takes two arguments")));
        };
        let Kind::Identifier(name) = &variable.kind else {
            return Err(self.issue(
                &variable,
                &format!("{function}() variable name must be a simple identifier"),
            ));
        };
        let again = self.copy(&target);
        let present = self.member_call(target, "hasValue", Vec::new());
        let value = self.member_call(again, "value", Vec::new());
        let bound = self.bind(name, value, transform);
        let mapped = if function == "optMap" {
            self.call("optional.of", vec![bound])
        } else {
            bound
        };
        let absent = self.call("optional.none", Vec::new());
        Ok(self.call(operator::CONDITIONAL, vec![present, mapped, absent]))
    }

    fn sort_by(&mut self, target: Expression, arguments: Vec<Expression>) -> Result<Expression, Issue> {
        let sortable = matches!(
            target.kind,
            Kind::List { .. }
                | Kind::Select { .. }
                | Kind::Identifier(_)
                | Kind::Comprehension(_)
                | Kind::Call { .. }
        );
        if !sortable {
            let message =
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
            return Err(self.issue(&target, message));
        }
        let name: Arc<str> = "@__sortBy_input__".into();
        let input = self.identifier(&name);
        let keys = self.map(input, arguments)?;
        let input = self.identifier(&name);
        let sorted = self.member_call(input, operator::SORT_BY_KEYS, vec![keys]);
        Ok(self.bind(&name, target, sorted))
    }

    /// Copies a tree with new nodes at the same places.
    fn copy(&mut self, from: &Expression) -> Expression {
        super::parse::with_stack(|| {
            let mut copied = from.clone();
            self.rename(&mut copied);
            copied
        })
    }

    fn rename(&mut self, node: &mut Expression) {
        node.id = self.source.place(self.source.offset(node.id));
        match &mut node.kind {
            Kind::Literal(_) | Kind::Identifier(_) => {}
            Kind::Select { operand, .. } => self.rename(operand),
            Kind::Call {
                target, arguments, ..
            } => {
                if let Some(target) = target {
                    self.rename(target);
                }
                for argument in arguments {
                    self.rename(argument);
                }
            }
            Kind::List { elements, .. } => elements.iter_mut().for_each(|element| self.rename(element)),
            Kind::Map { entries } => {
                for entry in entries {
                    self.rename(&mut entry.key);
                    self.rename(&mut entry.value);
                }
            }
            Kind::Struct { fields, .. } => fields.iter_mut().for_each(|field| self.rename(&mut field.value)),
            Kind::Comprehension(comprehension) => {
                self.rename(&mut comprehension.range);
                self.rename(&mut comprehension.start);
                self.rename(&mut comprehension.condition);
                self.rename(&mut comprehension.step);
                self.rename(&mut comprehension.result);
            }
        }
    }
}
