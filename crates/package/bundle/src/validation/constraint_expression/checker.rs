//! The types of an expression, as cel-go infers them where `properties` is a list of maps.

use std::fmt;

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr, SourceInfo,
};

use super::located;

/// What a value is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Type {
    /// Anything; known only when it is evaluated.
    Dynamic,
    /// Anything, as a declaration says it.
    Any,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Null,
    /// A type itself, such as `int`.
    Meta,
    Timestamp,
    Duration,
    List(Box<Type>),
    Map(Box<Type>, Box<Type>),
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Dynamic => "dyn",
            Self::Any => "any",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Uint => "uint",
            Self::Double => "double",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Null => "null",
            Self::Meta => "type",
            Self::Timestamp => "google.protobuf.Timestamp",
            Self::Duration => "google.protobuf.Duration",
            Self::List(element) => return write!(formatter, "list({element})"),
            Self::Map(key, value) => return write!(formatter, "map({key}, {value})"),
        })
    }
}

impl Type {
    fn is_unknown(&self) -> bool {
        matches!(self, Self::Dynamic | Self::Any)
    }

    /// Whether a value of one may stand where the other is wanted.
    fn fits(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(one), Self::List(other)) => one.fits(other),
            (Self::Map(key, value), Self::Map(other_key, other_value)) => {
                key.fits(other_key) && value.fits(other_value)
            }
            _ => self.is_unknown() || other.is_unknown() || self == other,
        }
    }

    /// What can be told of a value that is either.
    fn joined(self, other: &Self) -> Self {
        let is_told = self == *other || !self.is_unknown() && !other.is_unknown() && other.fits(&self);
        if is_told { self } else { Self::Dynamic }
    }
}

/// Why an expression doesn't say yes or no.
pub(super) fn fault(rule: &str, expression: &IdedExpr, source: &SourceInfo) -> Option<String> {
    let mut checker = Checker {
        source,
        scopes: Vec::new(),
        faults: Vec::new(),
    };
    let result = checker.infer(expression);
    if !checker.faults.is_empty() {
        checker.faults.sort_by_key(|(offset, _)| *offset);
        let texts: Vec<String> = checker
            .faults
            .iter()
            .map(|(offset, message)| located(rule, byte_offset(rule, *offset), message))
            .collect();
        return Some(texts.join("\n"));
    }
    (result != Type::Bool).then(|| "cel expressions must have type Bool".to_owned())
}

/// The byte at which a character stands.
fn byte_offset(rule: &str, characters: usize) -> usize {
    rule.char_indices()
        .nth(characters)
        .map_or(rule.len(), |(offset, _)| offset)
}

struct Checker<'s> {
    source: &'s SourceInfo,
    scopes: Vec<(String, Type)>,
    faults: Vec<(usize, String)>,
}

impl Checker<'_> {
    fn report(&mut self, id: u64, message: String) -> Type {
        let offset = self
            .source
            .offset_for(id)
            .and_then(|(start, _)| usize::try_from(start).ok())
            .unwrap_or_default();
        self.faults.push((offset, message));
        // What is wrong once gives no further errors.
        Type::Dynamic
    }

    fn infer(&mut self, expression: &IdedExpr) -> Type {
        match &expression.expr {
            Expr::Unspecified => Type::Dynamic,
            Expr::Literal(literal) => match literal {
                LiteralValue::Boolean(_) => Type::Bool,
                LiteralValue::Bytes(_) => Type::Bytes,
                LiteralValue::Double(_) => Type::Double,
                LiteralValue::Int(_) => Type::Int,
                LiteralValue::Null => Type::Null,
                LiteralValue::String(_) => Type::String,
                LiteralValue::UInt(_) => Type::Uint,
            },
            Expr::Ident(name) => self.identifier(expression.id, name),
            Expr::Select(select) => self.select(expression.id, select),
            Expr::Call(call) => self.call(expression.id, call),
            Expr::List(list) => {
                let elements: Vec<Type> = list.elements.iter().map(|one| self.infer(one)).collect();
                Type::List(Box::new(common(elements)))
            }
            Expr::Map(map) => {
                let mut keys = Vec::new();
                let mut values = Vec::new();
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        keys.push(self.infer(&entry.key));
                        values.push(self.infer(&entry.value));
                    }
                }
                Type::Map(Box::new(common(keys)), Box::new(common(values)))
            }
            Expr::Struct(structure) => {
                let name = structure.type_name.clone();
                self.undeclared(expression.id, &name)
            }
            Expr::Comprehension(comprehension) => self.comprehension(comprehension),
        }
    }

    fn undeclared(&mut self, id: u64, name: &str) -> Type {
        self.report(id, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn identifier(&mut self, id: u64, name: &str) -> Type {
        if let Some((_, known)) = self.scopes.iter().rfind(|(known, _)| known == name) {
            return known.clone();
        }
        match name {
            "properties" => Type::List(Box::new(Type::Map(Box::new(Type::String), Box::new(Type::Any)))),
            "bool" | "bytes" | "double" | "int" | "list" | "map" | "null_type" | "string" | "type"
            | "uint" => Type::Meta,
            _ => self.undeclared(id, name),
        }
    }

    fn select(&mut self, id: u64, select: &SelectExpr) -> Type {
        let selected = match self.infer(&select.operand) {
            Type::Map(_, value) => *value,
            operand if operand.is_unknown() => Type::Dynamic,
            operand => self.report(id, format!("type '{operand}' does not support field selection")),
        };
        if select.test { Type::Bool } else { selected }
    }

    fn comprehension(&mut self, comprehension: &ComprehensionExpr) -> Type {
        let range = self.infer(&comprehension.iter_range);
        let element = match range {
            Type::List(element) => *element,
            Type::Map(key, _) => *key,
            range if range.is_unknown() => Type::Dynamic,
            range => self.report(
                comprehension.iter_range.id,
                format!("expression of type '{range}' cannot be range of a comprehension (must be list, map, or dynamic)"),
            ),
        };
        let accumulated = self.infer(&comprehension.accu_init);
        let outer = self.scopes.len();
        self.scopes.push((comprehension.accu_var.clone(), accumulated));
        self.scopes.push((comprehension.iter_var.clone(), element));
        self.infer(&comprehension.loop_cond);
        let step = self.infer(&comprehension.loop_step);
        self.scopes.truncate(outer + 1);
        // An empty list becomes a list of what is added to it.
        if let Some((_, known)) = self.scopes.last_mut()
            && *known == Type::List(Box::new(Type::Dynamic))
        {
            *known = step;
        }
        let result = self.infer(&comprehension.result);
        self.scopes.truncate(outer);
        result
    }

    fn call(&mut self, id: u64, call: &CallExpr) -> Type {
        let name = call.func_name.as_str();
        if matches!(name, "_&&_" | "_||_") {
            for argument in &call.args {
                let given = self.infer(argument);
                if !given.fits(&Type::Bool) {
                    self.report(argument.id, format!("expected type 'bool' but found '{given}'"));
                }
            }
            return Type::Bool;
        }
        let mut given = Vec::new();
        if let Some(target) = &call.target {
            given.push(self.infer(target));
        }
        let is_member = call.target.is_some();
        given.extend(call.args.iter().map(|argument| self.infer(argument)));
        match results(name, is_member, &given) {
            None => self.undeclared(id, name),
            Some(results) => common_result(results).unwrap_or_else(|| {
                let shown: Vec<String> = given.iter().map(ToString::to_string).collect();
                let shown = match (is_member, shown.split_first()) {
                    (true, Some((target, arguments))) => format!("{target}.({})", arguments.join(", ")),
                    _ => format!("({})", shown.join(", ")),
                };
                self.report(
                    id,
                    format!("found no matching overload for '{name}' applied to '{shown}'"),
                )
            }),
        }
    }
}

fn common(types: Vec<Type>) -> Type {
    types
        .into_iter()
        .reduce(|one, other| one.joined(&other))
        .unwrap_or(Type::Dynamic)
}

/// The result of the overloads that fit: their own when they agree.
fn common_result(results: Vec<Type>) -> Option<Type> {
    let mut results = results.into_iter();
    let first = results.next()?;
    Some(if results.all(|one| one == first) {
        first
    } else {
        Type::Dynamic
    })
}

/// The results of the overloads of a function that fit what is given; nothing for a function that there isn't.
fn results(name: &str, is_member: bool, given: &[Type]) -> Option<Vec<Type>> {
    use Type::{Bool, Bytes, Double, Duration, Dynamic, Int, String, Timestamp, Uint};
    let fitting = |overloads: &[(&[Type], Type)]| -> Vec<Type> {
        overloads
            .iter()
            .filter(|(wanted, _)| {
                wanted.len() == given.len()
                    && wanted.iter().zip(given).all(|(wanted, given)| wanted.fits(given))
            })
            .map(|(_, result)| result.clone())
            .collect()
    };
    let when = |condition: bool, result: Type| if condition { vec![result] } else { Vec::new() };
    let list = || Type::List(Box::new(Dynamic));
    let map = || Type::Map(Box::new(Dynamic), Box::new(Dynamic));
    if is_member {
        return Some(match name {
            "startsWith" | "endsWith" | "contains" | "matches" => fitting(&[(&[String, String], Bool)]),
            "size" => fitting(&[
                (&[String], Int),
                (&[Bytes], Int),
                (&[list()], Int),
                (&[map()], Int),
            ]),
            "getFullYear" | "getMonth" | "getDayOfYear" | "getDayOfMonth" | "getDate" | "getDayOfWeek" => {
                fitting(&[(&[Timestamp], Int), (&[Timestamp, String], Int)])
            }
            "getHours" | "getMinutes" | "getSeconds" | "getMilliseconds" => fitting(&[
                (&[Timestamp], Int),
                (&[Timestamp, String], Int),
                (&[Duration], Int),
            ]),
            _ => return None,
        });
    }
    Some(match (name, given) {
        ("_==_" | "_!=_", [one, other]) => when(one.fits(other), Bool),
        ("_<_" | "_<=_" | "_>_" | "_>=_", [one, other]) => {
            let is_ordered = |given: &Type| {
                given.is_unknown()
                    || matches!(
                        given,
                        Bool | Int | Uint | Double | String | Bytes | Timestamp | Duration
                    )
            };
            when(is_ordered(one) && is_ordered(other) && one.fits(other), Bool)
        }
        ("!_", _) => fitting(&[(&[Bool], Bool)]),
        ("@not_strictly_false", _) => vec![Bool],
        ("-_", _) => fitting(&[(&[Int], Int), (&[Double], Double)]),
        ("_?_:_", [condition, yes, no]) => {
            when(condition.fits(&Bool) && yes.fits(no), yes.clone().joined(no))
        }
        ("_+_", [one, other]) => {
            let mut found = fitting(&[
                (&[Int, Int], Int),
                (&[Uint, Uint], Uint),
                (&[Double, Double], Double),
                (&[String, String], String),
                (&[Bytes, Bytes], Bytes),
                (&[Timestamp, Duration], Timestamp),
                (&[Duration, Timestamp], Timestamp),
                (&[Duration, Duration], Duration),
            ]);
            if one.fits(&list()) && other.fits(&list()) && one.fits(other) {
                found.push(if *one == list() || one.is_unknown() {
                    other.clone()
                } else {
                    one.clone()
                });
            }
            found
        }
        ("_-_", _) => fitting(&[
            (&[Int, Int], Int),
            (&[Uint, Uint], Uint),
            (&[Double, Double], Double),
            (&[Timestamp, Timestamp], Duration),
            (&[Timestamp, Duration], Timestamp),
            (&[Duration, Duration], Duration),
        ]),
        ("_*_" | "_/_", _) => fitting(&[
            (&[Int, Int], Int),
            (&[Uint, Uint], Uint),
            (&[Double, Double], Double),
        ]),
        ("_%_", _) => fitting(&[(&[Int, Int], Int), (&[Uint, Uint], Uint)]),
        ("@in", [one, other]) => when(
            match other {
                Type::List(element) => one.fits(element),
                Type::Map(key, _) => one.fits(key),
                other => other.is_unknown(),
            },
            Bool,
        ),
        ("_[_]", [one, index]) => match one {
            Type::List(element) => when(index.fits(&Int), (**element).clone()),
            Type::Map(key, value) => when(index.fits(key), (**value).clone()),
            one => when(one.is_unknown(), Dynamic),
        },
        ("size", _) => fitting(&[
            (&[String], Int),
            (&[Bytes], Int),
            (&[list()], Int),
            (&[map()], Int),
        ]),
        ("matches", _) => fitting(&[(&[String, String], Bool)]),
        ("semver_compare", _) => fitting(&[(&[Dynamic, Dynamic], Int)]),
        ("type", [_]) => vec![Type::Meta],
        ("dyn", [_]) => vec![Dynamic],
        ("int", _) => fitting(&[
            (&[Int], Int),
            (&[Uint], Int),
            (&[Double], Int),
            (&[String], Int),
            (&[Timestamp], Int),
        ]),
        ("uint", _) => fitting(&[
            (&[Uint], Uint),
            (&[Int], Uint),
            (&[Double], Uint),
            (&[String], Uint),
        ]),
        ("double", _) => fitting(&[
            (&[Double], Double),
            (&[Int], Double),
            (&[Uint], Double),
            (&[String], Double),
        ]),
        ("string", _) => fitting(&[
            (&[String], String),
            (&[Bool], String),
            (&[Int], String),
            (&[Uint], String),
            (&[Double], String),
            (&[Bytes], String),
            (&[Timestamp], String),
            (&[Duration], String),
        ]),
        ("bytes", _) => fitting(&[(&[Bytes], Bytes), (&[String], Bytes)]),
        ("bool", _) => fitting(&[(&[Bool], Bool), (&[String], Bool)]),
        ("timestamp", _) => fitting(&[
            (&[Timestamp], Timestamp),
            (&[String], Timestamp),
            (&[Int], Timestamp),
        ]),
        ("duration", _) => fitting(&[(&[Duration], Duration), (&[String], Duration)]),
        (
            "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "_?_:_" | "_+_" | "@in" | "_[_]" | "type"
            | "dyn",
            _,
        ) => Vec::new(),
        _ => return None,
    })
}
