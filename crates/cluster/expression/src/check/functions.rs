//! The functions that expressions may call, and their overloads.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::types::Type;

/// One way to call a function.
#[derive(Debug)]
pub(crate) struct Overload {
    /// The name of the overload, such as `string_to_int64`.
    pub(crate) id: &'static str,
    /// Whether it is called on a target.
    pub(crate) member: bool,
    /// The types of the arguments, the target first. Type parameters are numbered from zero.
    pub(crate) arguments: Vec<Type>,
    /// The type of the result.
    pub(crate) result: Type,
    /// How many type parameters there are.
    pub(crate) parameters: u32,
}

/// A function: its overloads in the order in which they are tried.
#[derive(Debug)]
pub(crate) struct Function {
    /// The function's name.
    pub(crate) name: &'static str,
    /// The overloads.
    pub(crate) overloads: Vec<Overload>,
}

static FUNCTIONS: LazyLock<HashMap<&'static str, Function>> = LazyLock::new(read);

/// Returns the function of that name.
pub(crate) fn function(name: &str) -> Option<&'static Function> {
    FUNCTIONS.get(name)
}

fn read() -> HashMap<&'static str, Function> {
    let mut functions: HashMap<&'static str, Function> = HashMap::new();
    for line in include_str!("declarations.txt").lines() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((name, overload)) = read_line(line) {
            functions
                .entry(name)
                .or_insert_with(|| Function {
                    name,
                    overloads: Vec::new(),
                })
                .overloads
                .push(overload);
        }
    }
    functions
}

/// Reads `<id>: [<target> . ]<name> (<arguments>) -> <result>`.
fn read_line(line: &'static str) -> Option<(&'static str, Overload)> {
    let (id, rest) = line.split_once(": ")?;
    let (call, result) = rest.rsplit_once(" -> ")?;
    let (target, call) = match call.split_once(" . ") {
        Some((target, call)) => (Some(target), call),
        None => (None, call),
    };
    let (name, arguments) = call.split_once(" (")?;
    let arguments = arguments.strip_suffix(')')?;
    let mut letters = Vec::new();
    let mut types = Vec::new();
    if let Some(target) = target {
        types.push(read_type(&mut { target }, &mut letters)?);
    }
    let mut left = arguments;
    while !left.is_empty() {
        types.push(read_type(&mut left, &mut letters)?);
        left = left.strip_prefix(", ").unwrap_or(left);
    }
    let result = read_type(&mut { result }, &mut letters)?;
    let parameters = letters.len() as u32;
    Some((
        name,
        Overload {
            id,
            member: target.is_some(),
            arguments: types,
            result,
            parameters,
        },
    ))
}

fn read_type(left: &mut &'static str, letters: &mut Vec<&'static str>) -> Option<Type> {
    let end = left.find(['(', ')', ',']).unwrap_or(left.len());
    let (name, rest) = left.split_at(end);
    *left = rest;
    let mut inner = Vec::new();
    if let Some(mut rest) = left.strip_prefix('(') {
        loop {
            inner.push(read_type(&mut rest, letters)?);
            match rest.strip_prefix(", ") {
                Some(more) => rest = more,
                None => break,
            }
        }
        *left = rest.strip_prefix(')')?;
    }
    Some(match (name, inner.as_slice()) {
        ("dyn", []) => Type::Dyn,
        ("bool", []) => Type::Bool,
        ("int", []) => Type::Int,
        ("uint", []) => Type::Uint,
        ("double", []) => Type::Double,
        ("string", []) => Type::String,
        ("bytes", []) => Type::Bytes,
        ("duration", []) => Type::Duration,
        ("timestamp", []) => Type::Timestamp,
        ("net.IP", []) => Type::Opaque("net.IP"),
        ("net.CIDR", []) => Type::Opaque("net.CIDR"),
        ("list", [item]) => Type::list(item.clone()),
        ("optional", [value]) => Type::optional(value.clone()),
        ("type", [value]) => Type::Type(Arc::new(value.clone())),
        ("map", [key, value]) => Type::map(key.clone(), value.clone()),
        (letter, []) if letter.len() == 1 => {
            let number = letters
                .iter()
                .position(|known| *known == letter)
                .unwrap_or_else(|| {
                    letters.push(letter);
                    letters.len() - 1
                });
            Type::Parameter(number as u32)
        }
        (name, []) => Type::named(name),
        _ => return None,
    })
}

impl Overload {
    /// Returns the types of the arguments and of the result with the type parameters replaced by `fresh` ones.
    pub(super) fn instantiate(&self, mut fresh: impl FnMut() -> Type) -> (Vec<Type>, Type) {
        let parameters: Vec<Type> = (0..self.parameters).map(|_| fresh()).collect();
        (
            self.arguments
                .iter()
                .map(|one| replace(one, &parameters))
                .collect(),
            replace(&self.result, &parameters),
        )
    }
}

fn replace(from: &Type, parameters: &[Type]) -> Type {
    match from {
        Type::Parameter(number) => parameters.get(*number as usize).cloned().unwrap_or(Type::Dyn),
        Type::List(inner) => Type::list(replace(inner, parameters)),
        Type::Optional(inner) => Type::optional(replace(inner, parameters)),
        Type::Type(inner) => Type::Type(Arc::new(replace(inner, parameters))),
        Type::Map(both) => Type::map(replace(&both.0, parameters), replace(&both.1, parameters)),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_declarations_is_an_overload() {
        let lines = include_str!("declarations.txt").lines();
        let written = lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .count();
        let read: usize = FUNCTIONS.values().map(|function| function.overloads.len()).sum();
        assert_eq!(read, written);
        assert_eq!(function("size").map(|size| size.overloads.len()), Some(8));
    }
}
