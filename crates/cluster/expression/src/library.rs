//! The functions that expressions can call.
//!
//! A function is found by the name of its overload, which the checker picked from the types of the arguments.
//!
//! - [`arithmetic`], [`conversion`], [`time`]: the language itself
//! - [`strings`], [`format_string`], [`regular`]: text
//! - [`lists`], [`sets`], [`optional`]: values with parts
//! - [`url`], [`ip`], [`quantity`], [`semver`], [`formats`], [`authorization`]: what Kubernetes adds

pub(crate) mod arithmetic;
pub(crate) mod authorization;
pub(crate) mod conversion;
pub(crate) mod format_string;
pub(crate) mod formats;
pub(crate) mod ip;
pub(crate) mod lists;
pub(crate) mod optional;
pub(crate) mod quantity;
pub(crate) mod regular;
pub(crate) mod semver;
pub(crate) mod sets;
pub(crate) mod strings;
pub(crate) mod time;
pub(crate) mod url;

use crate::value::{Outcome, Value};

/// What a function does with its arguments, the target first.
pub(crate) type Function = for<'a> fn(&[Value<'a>]) -> Outcome<'a>;

/// Returns what the overload does; `None` for those that the evaluator does itself.
pub(crate) fn overload(id: &str) -> Option<Function> {
    conversion::overload(id)
        .or_else(|| time::overload(id))
        .or_else(|| strings::overload(id))
        .or_else(|| format_string::overload(id))
        .or_else(|| regular::overload(id))
        .or_else(|| lists::overload(id))
        .or_else(|| sets::overload(id))
        .or_else(|| optional::overload(id))
        .or_else(|| url::overload(id))
        .or_else(|| ip::overload(id))
        .or_else(|| quantity::overload(id))
        .or_else(|| semver::overload(id))
        .or_else(|| formats::overload(id))
        .or_else(|| authorization::overload(id))
}

/// Returns what a function does whose overloads share one body, whatever its arguments are.
pub(crate) fn shared(function: &str) -> Option<Function> {
    arithmetic::shared(function)
        .or_else(|| strings::shared(function))
        .or_else(|| conversion::shared(function))
        .or_else(|| lists::shared(function))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_declared_overload_has_a_body() {
        // The evaluator does these itself, since they don't want all of their arguments or want them unevaluated.
        let own = [
            "_&&_",
            "_||_",
            "_?_:_",
            "_==_",
            "_!=_",
            "_[_]",
            "_[?_]",
            "or",
            "orValue",
            "@not_strictly_false",
            "_?._",
        ];
        let mut missing = Vec::new();
        for line in include_str!("check/declarations.txt").lines() {
            let Some((id, rest)) = line.split_once(": ") else {
                continue;
            };
            let call = rest.split_once(" . ").map_or(rest, |(_, call)| call);
            let Some((name, _)) = call.split_once(" (") else {
                continue;
            };
            if !line.starts_with('#')
                && !own.contains(&name)
                && super::overload(id).is_none()
                && super::shared(name).is_none()
            {
                missing.push(id);
            }
        }
        assert_eq!(missing, Vec::<&str>::new());
    }
}
