//! Deep equality as Go's `reflect.DeepEqual` decides it: types count, and nil is not the same as empty.

use std::collections::HashSet;

use gotemplate::{Failure, List, Map, Value};

use super::limits::nested;

/// Returns whether two values have the same type and the same content.
pub(crate) fn deep_equal(left: &Value, right: &Value) -> Result<bool, Failure> {
    Comparison::default().values(left, right, 0)
}

/// Returns whether two values are deeply equal, and how many pairs of values were looked at to know it.
pub(crate) fn deep_equal_counting(left: &Value, right: &Value) -> Result<(bool, usize), Failure> {
    let mut comparison = Comparison::default();
    let is_equal = comparison.values(left, right, 0)?;
    Ok((is_equal, comparison.looked_at))
}

/// Comparing so many bytes of text takes no longer than comparing two small values.
const BYTES_LIKE_A_PAIR: usize = 8;

/// A running comparison; remembers the pairs it has begun, which are equal unless something else differs.
#[derive(Default)]
struct Comparison {
    begun: HashSet<(usize, usize)>,
    looked_at: usize,
}

impl Comparison {
    fn values(&mut self, left: &Value, right: &Value, depth: usize) -> Result<bool, Failure> {
        self.looked_at += 1;
        Ok(match (left, right) {
            (Value::Nil, Value::Nil) => true,
            (Value::Bool(left), Value::Bool(right)) => left == right,
            (Value::Integer(left), Value::Integer(right)) => left == right,
            (Value::Float(left), Value::Float(right)) => left == right,
            (Value::Complex(left, i), Value::Complex(right, j)) => left == right && i == j,
            (Value::String(left), Value::String(right)) | (Value::Bytes(left), Value::Bytes(right)) => {
                if left.len() == right.len() {
                    self.looked_at += left.len() / BYTES_LIKE_A_PAIR;
                }
                left == right
            }
            (Value::List(left), Value::List(right)) => nested(depth, || self.lists(left, right, depth))?,
            (Value::Map(left), Value::Map(right)) => nested(depth, || self.maps(left, right, depth))?,
            (Value::Object(left), Value::Object(right)) => {
                left.type_name() == right.type_name() && left.equals(right.as_ref())
            }
            (Value::TypedNil(left), Value::TypedNil(right)) => left == right,
            // Go calls functions different even from themselves.
            _ => false,
        })
    }

    fn lists(&mut self, left: &List, right: &List, depth: usize) -> Result<bool, Failure> {
        if left.type_name() != right.type_name() || left.len() != right.len() {
            return Ok(false);
        }
        if left.is_same(right)
            || !self
                .begun
                .insert((left.as_ptr() as usize, right.as_ptr() as usize))
        {
            return Ok(true);
        }
        for (left, right) in left.iter().zip(right.iter()) {
            if !self.values(left, right, depth + 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn maps(&mut self, left: &Map, right: &Map, depth: usize) -> Result<bool, Failure> {
        if left.type_name() != right.type_name() || left.len() != right.len() {
            return Ok(false);
        }
        if left.is_same(right) || !self.begun.insert((left.identity(), right.identity())) {
            return Ok(true);
        }
        let (left, right) = (left.borrow(), right.borrow());
        for ((left_key, left), (right_key, right)) in left.iter().zip(right.iter()) {
            if left_key != right_key || !self.values(left, right, depth + 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use gotemplate::Type;

    use super::*;

    fn equal(left: &Value, right: &Value) -> bool {
        deep_equal(left, right).expect("values are shallow")
    }

    #[test]
    fn types_count() {
        let empty = Value::list(vec![]);
        for (left, right, want) in [
            (Value::int(1), Value::int(1), true),
            (Value::int(1), Value::int64(1), false),
            (Value::int(1), Value::from(1.0), false),
            (Value::from("a"), Value::from("a"), true),
            (Value::Nil, Value::Nil, true),
            (Value::Nil, Value::TypedNil(Type::List), false),
            (Value::TypedNil(Type::List), Value::TypedNil(Type::List), true),
            (Value::TypedNil(Type::List), empty.clone(), false),
            (Value::strings(["a"]), Value::list(vec!["a".into()]), false),
            (Value::strings(["a"]), Value::strings(["a"]), true),
            (empty.clone(), Value::list(vec![]), true),
            (
                Value::map([("a", Value::int(1))]),
                Value::map([("a", Value::int(1))]),
                true,
            ),
            (
                Value::map([("a", Value::int(1))]),
                Value::map([("b", Value::int(1))]),
                false,
            ),
            (Value::from(f64::NAN), Value::from(f64::NAN), false),
        ] {
            assert_eq!(equal(&left, &right), want, "{left:?} {right:?}");
        }
    }

    #[test]
    fn maps_that_contain_themselves_can_be_compared() {
        let [left, right] = [Map::new(), Map::new()];
        left.insert("self", Value::Map(left.clone()));
        right.insert("self", Value::Map(right.clone()));
        assert!(equal(&Value::Map(left.clone()), &Value::Map(right.clone())));
        right.insert("more", Value::Nil);
        assert!(!equal(&Value::Map(left), &Value::Map(right)));
    }

    #[test]
    fn nesting_beyond_the_limit_is_refused() {
        let nested = |()| (0..2000).fold(Value::Nil, |inner, _| Value::list(vec![inner]));
        let [left, right] = [(); 2].map(nested);
        assert!(deep_equal(&left, &right).is_err());
    }
}
