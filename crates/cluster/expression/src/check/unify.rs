//! When one type may stand for another.
//!
//! Type parameters are found by unification: the first type that fits is taken, and a later one that is more general
//! replaces it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::types::Type;

/// What is known about type parameters.
#[derive(Debug, Clone, Default)]
pub(super) struct Mapping {
    known: BTreeMap<u32, Type>,
    next: u32,
}

impl Mapping {
    /// Returns a type parameter that nothing is known about.
    pub(super) fn fresh(&mut self) -> Type {
        self.next += 1;
        Type::Parameter(self.next - 1)
    }

    /// Returns whether `from` may stand where `to` is wanted, and keeps what that says about type parameters.
    pub(super) fn assignable(&mut self, from: &Type, to: &Type) -> bool {
        let before = self.known.clone();
        let fits = self.fits(from, to);
        if !fits {
            self.known = before;
        }
        fits
    }

    /// Does the same for several pairs: all fit, or nothing is kept.
    pub(super) fn assignable_all(&mut self, from: &[Type], to: &[Type]) -> bool {
        if from.len() != to.len() {
            return false;
        }
        let before = self.known.clone();
        let fits = from.iter().zip(to).all(|(from, to)| self.fits(from, to));
        if !fits {
            self.known = before;
        }
        fits
    }

    fn fits(&mut self, from: &Type, to: &Type) -> bool {
        if let Type::Parameter(parameter) = to {
            let (valid, known) = self.substitutes(from, *parameter);
            if valid {
                return true;
            }
            if known {
                return false;
            }
        }
        if let Type::Parameter(parameter) = from {
            return self.substitutes(to, *parameter).0;
        }
        if from.is_dyn_or_error() || to.is_dyn_or_error() {
            return true;
        }
        if *from == Type::Null {
            return nullable(to);
        }
        if *to == Type::Null {
            return nullable(from);
        }
        match (from, to) {
            (Type::List(from), Type::List(to)) | (Type::Optional(from), Type::Optional(to)) => {
                self.fits(from, to)
            }
            (Type::Map(from), Type::Map(to)) => self.fits(&from.0, &to.0) && self.fits(&from.1, &to.1),
            (Type::Type(_), Type::Type(_)) => true,
            (from, to) => from == to,
        }
    }

    /// Returns whether the parameter may be `candidate`, and whether something was known about it.
    fn substitutes(&mut self, candidate: &Type, parameter: u32) -> (bool, bool) {
        if *candidate == Type::Parameter(parameter) {
            return (true, true);
        }
        if let Some(known) = self.known.get(&parameter).cloned() {
            if *candidate == known {
                return (true, true);
            }
            if self.fits(candidate, &known) {
                let general = if less_specific(candidate, &known) {
                    candidate.clone()
                } else {
                    known
                };
                if !self.occurs(parameter, &general) {
                    self.known.insert(parameter, general);
                }
                return (true, true);
            }
            return (false, true);
        }
        if self.occurs(parameter, candidate) {
            return (false, false);
        }
        self.known.insert(parameter, candidate.clone());
        (true, false)
    }

    fn occurs(&self, parameter: u32, within: &Type) -> bool {
        match within {
            Type::Parameter(other) if *other == parameter => true,
            Type::Parameter(other) => self
                .known
                .get(other)
                .is_some_and(|known| self.occurs(parameter, known)),
            Type::List(inner) | Type::Optional(inner) | Type::Type(inner) => self.occurs(parameter, inner),
            Type::Map(both) => self.occurs(parameter, &both.0) || self.occurs(parameter, &both.1),
            _ => false,
        }
    }

    /// Replaces type parameters by what is known about them; with `to_dyn`, the unknown ones by `dyn`.
    pub(super) fn substitute(&self, from: &Type, to_dyn: bool) -> Type {
        match from {
            Type::Parameter(parameter) => match self.known.get(parameter) {
                Some(known) => self.substitute(known, to_dyn),
                None if to_dyn => Type::Dyn,
                None => from.clone(),
            },
            Type::List(inner) => Type::list(self.substitute(inner, to_dyn)),
            Type::Optional(inner) => Type::optional(self.substitute(inner, to_dyn)),
            Type::Type(inner) => Type::Type(Arc::new(self.substitute(inner, to_dyn))),
            Type::Map(both) => Type::map(self.substitute(&both.0, to_dyn), self.substitute(&both.1, to_dyn)),
            other => other.clone(),
        }
    }
}

fn nullable(kind: &Type) -> bool {
    matches!(
        kind,
        Type::Opaque(_) | Type::Optional(_) | Type::Struct(_) | Type::Duration | Type::Timestamp | Type::Null
    )
}

/// Returns the more general of two types that fit each other.
pub(super) fn most_general(one: Type, other: Type) -> Type {
    if less_specific(&one, &other) { one } else { other }
}

/// Returns whether the first type is the same as the second, or less specific.
fn less_specific(one: &Type, other: &Type) -> bool {
    match (one, other) {
        (Type::Dyn | Type::Parameter(_), _) => true,
        (_, Type::Dyn | Type::Parameter(_)) => false,
        (Type::List(one), Type::List(other)) | (Type::Optional(one), Type::Optional(other)) => {
            less_specific(one, other)
        }
        (Type::Map(one), Type::Map(other)) => {
            less_specific(&one.0, &other.0) && less_specific(&one.1, &other.1)
        }
        (Type::Type(_), Type::Type(_)) => true,
        (one, other) => one == other,
    }
}
