//! Expressions of policies, made ready to run.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::request;
use crate::check::types::ObjectType;
use crate::check::{Declared, DeclaredKind, Scope, Type, check};
use crate::evaluate::Program;
use crate::evaluate::plan::plan;
use crate::syntax::parse::parse;

/// The variables of every expression, by their places; those of the policy follow.
pub(super) const VARIABLES: [&str; 8] = [
    "object",
    "oldObject",
    "request",
    "namespaceObject",
    "params",
    "authorizer",
    "authorizer.requestResource",
    "variables",
];

/// What is wrong with an expression of a policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The expression can't be compiled or has the wrong type: the field is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The expression can't be made ready to run: upstream calls this an internal error.
    #[error("{0}")]
    Internal(String),
}

/// What an expression must evaluate to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Returns {
    /// True or false: validations and match conditions.
    Bool,
    /// Text: messages.
    String,
    /// Text or null: values of audit annotations.
    StringOrNull,
    /// Anything: variables.
    Anything,
}

/// A compiled expression of a policy.
#[derive(Debug, Clone)]
pub struct Expression {
    pub(super) text: Arc<str>,
    pub(super) program: Arc<Program>,
}

/// Compiles the expressions of one policy or webhook.
#[derive(Debug, Clone)]
pub struct Compiler {
    has_params: bool,
    has_authorizer: bool,
    /// Whether the policy may define variables.
    has_variables: bool,
    pub(super) variables: Vec<Variable>,
}

/// A variable that a policy defines.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) name: Arc<str>,
    of: Type,
    pub(super) program: Result<Arc<Program>, Fault>,
}

impl Compiler {
    /// Makes a compiler for match conditions of webhooks: without parameters and variables.
    pub fn for_webhooks() -> Self {
        Self {
            has_params: false,
            has_authorizer: true,
            has_variables: false,
            variables: Vec::new(),
        }
    }

    /// Makes a compiler for a policy. `has_params` says that it has a `paramKind`.
    pub fn for_policy(has_params: bool) -> Self {
        Self {
            has_params,
            has_authorizer: true,
            has_variables: true,
            variables: Vec::new(),
        }
    }

    /// Returns the same compiler without `authorizer`, as messages have it.
    pub fn without_authorizer(mut self) -> Self {
        self.has_authorizer = false;
        self
    }

    /// Defines a variable of the policy, which later expressions read as `variables.<name>`. One that is wrong is
    /// defined all the same: expressions that read it fail.
    pub fn define(&mut self, name: &str, expression: &str) -> Result<(), Fault> {
        let (of, program, result) = match self.compile_typed(expression, Returns::Anything) {
            Ok((program, of)) => (of, Ok(program), Ok(())),
            Err(fault) => (Type::Dyn, Err(fault.clone()), Err(fault)),
        };
        self.variables.push(Variable {
            name: name.into(),
            of,
            program,
        });
        result
    }

    /// Compiles an expression.
    pub fn compile(&self, expression: &str, returns: Returns) -> Result<Expression, Fault> {
        let (program, _) = self.compile_typed(expression, returns)?;
        Ok(Expression {
            text: expression.into(),
            program,
        })
    }

    fn compile_typed(&self, expression: &str, returns: Returns) -> Result<(Arc<Program>, Type), Fault> {
        let checked = parse(expression)
            .and_then(|(tree, source)| check(tree, source, &self.scope()))
            .map_err(|issues| Fault::Invalid(format!("compilation failed: {issues}")))?;
        let of = checked.result_type().clone();
        let wanted = match returns {
            Returns::Bool if of != Type::Bool => Some("bool"),
            Returns::String if of != Type::String => Some("string"),
            Returns::StringOrNull if !matches!(of, Type::String | Type::Null) => {
                Some("one of [string null_type]")
            }
            _ => None,
        };
        if let Some(wanted) = wanted {
            return Err(Fault::Invalid(format!(
                "must evaluate to {wanted} but got {}",
                go_name(&of)
            )));
        }
        let names: Vec<String> = self
            .variables
            .iter()
            .map(|variable| format!("variables.{}", variable.name))
            .collect();
        let globals: Vec<&str> = VARIABLES
            .into_iter()
            .chain(names.iter().map(String::as_str))
            .collect();
        let program = plan(&checked, &globals)
            .map_err(|failure| Fault::Internal(format!("program instantiation failed: {failure}")))?;
        Ok((Arc::new(program), of))
    }

    fn scope(&self) -> Scope {
        let mut scope = Scope::default()
            .with("object", Type::Dyn)
            .with("oldObject", Type::Dyn)
            .with("namespaceObject", request::namespace())
            .with("request", request::request());
        if self.has_params {
            scope = scope.with("params", Type::Dyn);
        }
        if self.has_authorizer {
            scope = scope
                .with("authorizer", Type::named("kubernetes.authorization.Authorizer"))
                .with(
                    "authorizer.requestResource",
                    Type::named("kubernetes.authorization.ResourceCheck"),
                );
        }
        if self.has_variables {
            let fields: BTreeMap<Box<str>, Arc<Declared>> = self
                .variables
                .iter()
                .map(|variable| ((&*variable.name).into(), Declared::of(variable.of.clone())))
                .collect();
            let declared = Declared {
                kind: DeclaredKind::Object(fields),
                most_elements: 0,
                smallest_size: 2,
            };
            let of = ObjectType {
                name: "kubernetes.variables".into(),
                declared: Some(Arc::new(declared)),
            };
            scope = scope.with("variables", Type::Struct(Arc::new(of)));
            for variable in &self.variables {
                scope = scope.with(&format!("variables.{}", variable.name), variable.of.clone());
            }
        }
        scope
    }
}

/// Returns what Go calls a type of an expression.
fn go_name(of: &Type) -> String {
    match of {
        Type::List(item) => format!("list({})", go_name(item)),
        Type::Map(both) => format!("map({}, {})", go_name(&both.0), go_name(&both.1)),
        Type::Optional(inner) => format!("optional_type({})", go_name(inner)),
        Type::Type(inner) => format!("type({})", go_name(inner)),
        other => other.runtime_name().to_owned(),
    }
}
