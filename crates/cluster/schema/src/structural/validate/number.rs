//! Checks of numbers: whether they fit their type, and their bounds.

use serde_json::{Number, Value};

use super::outcome::{Outcome, Path};
use super::scalar::{is_whole, kept_format};
use crate::field_error::{shown, shown_float};
use crate::{Schema, Type};

/// The smallest number that is too large for 64 bits.
const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;

/// Cuts off a number's fraction as Go does; what is too large becomes the smallest number.
#[expect(clippy::cast_possible_truncation, reason = "cutting off is what this is for")]
pub(super) fn cut_off(number: f64) -> i64 {
    if (-TOO_LARGE..TOO_LARGE).contains(&number) {
        number as i64
    } else {
        i64::MIN
    }
}

/// A number as the JSON decoder of the API server gives it.
#[derive(Clone, Copy)]
enum Given {
    Whole(i64),
    Float(f64),
}

impl Given {
    fn of(number: &Number) -> Self {
        match number.as_i64() {
            Some(whole) => Self::Whole(whole),
            None => Self::Float(number.as_f64().unwrap_or_default()),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "upstream compares as floats where types don't agree"
    )]
    fn as_float(self) -> f64 {
        match self {
            Self::Whole(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }

    fn shown(self) -> String {
        match self {
            Self::Whole(whole) => whole.to_string(),
            Self::Float(float) => shown_float(float),
        }
    }
}

/// The number type that the schema asks for, if it asks for just one.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    value_type: Type,
    format: &'a str,
}

impl Wanted<'_> {
    fn holds(self, number: Given) -> bool {
        match (self.value_type, self.format) {
            (Type::Integer, "int32") => match number {
                Given::Whole(whole) => i32::try_from(whole).is_ok(),
                Given::Float(float) => {
                    float.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&float)
                }
            },
            (Type::Integer, _) => match number {
                Given::Whole(_) => true,
                Given::Float(float) => float.fract() == 0.0 && (-TOO_LARGE..TOO_LARGE).contains(&float),
            },
            #[expect(
                clippy::cast_possible_truncation,
                reason = "whether it truncates is what is asked"
            )]
            (_, "float") => (number.as_float() as f32).is_finite(),
            _ => true,
        }
    }

    /// Checks that a number fits the type; `what` says which number.
    fn check(self, number: Given, what: &str, path: &Path<'_>, outcome: &mut Outcome<'_>) -> bool {
        let holds = self.holds(number);
        if !holds {
            outcome.whole(|| {
                let name = match self.value_type {
                    Type::Integer => "integer",
                    Type::Number => "number",
                    _ => "",
                };
                match self.format {
                    "" => format!("{what} value must be of type {name} (default format) in {path}"),
                    format => format!("{what} value must be of type {name} with format {format} in {path}"),
                }
            });
        }
        holds
    }
}

/// Checks a number.
pub(super) fn check(schema: &Schema, number: &Number, path: &Path<'_>, outcome: &mut Outcome<'_>) {
    let given = Given::of(number);
    let wanted = Wanted {
        value_type: schema.value_type,
        format: match schema.value_type {
            Type::Integer | Type::Number => kept_format(schema),
            _ => "",
        },
    };
    wanted.check(given, "Checked", path, outcome);
    if let Some(demands) = &schema.demands {
        if let Some(factor) = demands.multiple_of {
            check_multiple(wanted, given, factor, path, outcome);
        }
        if let Some(limit) = demands.minimum {
            let bound = Bound {
                limit,
                is_exclusive: demands.exclusive_minimum,
                is_maximum: false,
            };
            bound.check(wanted, given, path, outcome);
        }
        if let Some(limit) = demands.maximum {
            let bound = Bound {
                limit,
                is_exclusive: demands.exclusive_maximum,
                is_maximum: true,
            };
            bound.check(wanted, given, path, outcome);
        }
    }
    outcome.count();
}

struct Bound {
    limit: f64,
    is_exclusive: bool,
    is_maximum: bool,
}

impl Bound {
    fn breaks<T: PartialOrd + Copy>(&self, number: T, limit: T) -> bool {
        match (self.is_maximum, self.is_exclusive) {
            (true, false) => number > limit,
            (true, true) => number >= limit,
            (false, false) => number < limit,
            (false, true) => number <= limit,
        }
    }

    fn words(&self, limit: Given) -> String {
        let direction = if self.is_maximum {
            "less than"
        } else {
            "greater than"
        };
        let or_equal = if self.is_exclusive { "" } else { " or equal to" };
        format!("should be {direction}{or_equal} {}", limit.shown())
    }

    fn check(&self, wanted: Wanted<'_>, given: Given, path: &Path<'_>, outcome: &mut Outcome<'_>) {
        let what = if self.is_maximum {
            "Maximum boundary"
        } else {
            "Minimum boundary"
        };
        let fits = wanted.check(Given::Float(self.limit), what, path, outcome);
        let (number, limit, broken) = match given {
            Given::Whole(whole) if fits => {
                let limit = cut_off(self.limit);
                (given, Given::Whole(limit), self.breaks(whole, limit))
            }
            _ => {
                let number = given.as_float();
                let broken = self.breaks(number, self.limit);
                (Given::Float(number), Given::Float(self.limit), broken)
            }
        };
        if broken {
            outcome.invalid(path, || number.shown(), || self.words(limit));
        }
    }
}

fn check_multiple(wanted: Wanted<'_>, given: Given, factor: f64, path: &Path<'_>, outcome: &mut Outcome<'_>) {
    let fits = wanted.check(Given::Float(factor), "MultipleOf", path, outcome);
    let (number, factor) = match given {
        Given::Whole(_) if fits => (given, Given::Whole(cut_off(factor))),
        _ => (Given::Float(given.as_float()), Given::Float(factor)),
    };
    if factor.as_float() <= 0.0 {
        let shown = factor.shown();
        outcome.invalid_in_full(
            path,
            || shown.clone(),
            || format!("factor MultipleOf declared for {path} must be positive: {shown}"),
        );
        return;
    }
    let is_multiple = match (number, factor) {
        (Given::Whole(number), Given::Whole(factor)) => number.checked_rem(factor) == Some(0),
        (number, factor) => {
            let factor = factor.as_float();
            is_whole(if factor < 1.0 {
                1.0 / factor * number.as_float()
            } else {
                number.as_float() / factor
            })
        }
    };
    if !is_multiple {
        outcome.invalid(
            path,
            || match number {
                Given::Whole(whole) => shown(&Value::from(whole)),
                Given::Float(float) => shown_float(float),
            },
            || format!("should be a multiple of {}", factor.shown()),
        );
    }
}
