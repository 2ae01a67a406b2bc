//! Amounts of resources: `500m`, `1Gi`.
//!
//! An amount is a 64-bit number and a power of ten as long as that holds it, and a number of any size beyond. The
//! difference shows: only the first kind can be an integer.

use std::cmp::Ordering;
use std::sync::Arc;

use num_bigint::{BigInt, Sign};

use super::Function;
use crate::value::{Failure, Outcome, Value};

const FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NUMBER: &str = "unable to parse numeric part of quantity";
const SUFFIX: &str = "unable to parse quantity's suffix";

/// The most digits that a 64-bit number is sure to hold.
const SURE_DIGITS: i32 = 18;

/// Nothing is finer than a billionth.
const FINEST: i32 = -9;

/// Amounts whose powers of ten lie further apart than this are not brought to the same power: one of them is nothing
/// beside the other, and the digits would fill the memory.
const WIDEST: i32 = 20_000;

/// An amount: `digits` times ten to the power of `power`.
#[derive(Debug, Clone)]
pub(crate) struct Quantity {
    digits: BigInt,
    power: i32,
    /// Whether it is still a 64-bit number.
    small: bool,
}

pub(super) fn overload(id: &str) -> Option<Function> {
    Some(match id {
        "string_to_quantity" => |arguments| match arguments {
            [Value::String(text)] => match Quantity::parse(text) {
                Ok(amount) => Ok(Value::Quantity {
                    amount: Arc::new(amount),
                    computed: false,
                }),
                Err(cause) => Err(Failure::new(cause)),
            },
            _ => Err(Failure::no_such_overload()),
        },
        "is_quantity_string" => |arguments| match arguments {
            [Value::String(text)] => Ok(Value::Bool(Quantity::parse(text).is_ok())),
            _ => Err(Failure::no_such_overload()),
        },
        "quantity_sign" => |arguments| Ok(Value::Int(one(arguments)?.sign())),
        "quantity_is_greater_than" => |arguments| Ok(Value::Bool(both(arguments)?.is_gt())),
        "quantity_is_less_than" => |arguments| Ok(Value::Bool(both(arguments)?.is_lt())),
        "quantity_compare_to" => |arguments| Ok(Value::Int(both(arguments)? as i64)),
        "quantity_get_float" => |arguments| Ok(Value::Double(one(arguments)?.approximately())),
        "quantity_get_int" => |arguments| {
            let whole = one(arguments)?.whole();
            whole
                .map(Value::Int)
                .ok_or_else(|| Failure::new("cannot convert value to integer"))
        },
        "quantity_is_integer" => |arguments| Ok(Value::Bool(one(arguments)?.whole().is_some())),
        "quantity_add" | "quantity_add_int" => |arguments| sum(arguments, false),
        "quantity_sub" | "quantity_sub_int" => |arguments| sum(arguments, true),
        _ => return None,
    })
}

fn one<'b>(arguments: &'b [Value<'_>]) -> Result<&'b Quantity, Failure> {
    match arguments {
        [Value::Quantity { amount, .. }] => Ok(amount),
        _ => Err(Failure::no_such_overload()),
    }
}

fn both(arguments: &[Value<'_>]) -> Result<Ordering, Failure> {
    match arguments {
        [
            Value::Quantity { amount, .. },
            Value::Quantity { amount: other, .. },
        ] => Ok(amount.compare(other)),
        _ => Err(Failure::no_such_overload()),
    }
}

fn sum<'a>(arguments: &[Value<'a>], negative: bool) -> Outcome<'a> {
    let (amount, mut other) = match arguments {
        [
            Value::Quantity { amount, .. },
            Value::Quantity { amount: other, .. },
        ] => (amount, (**other).clone()),
        [Value::Quantity { amount, .. }, Value::Int(other)] => (
            amount,
            Quantity {
                digits: BigInt::from(*other),
                power: 0,
                small: true,
            },
        ),
        _ => return Err(Failure::no_such_overload()),
    };
    if negative {
        other.digits = -other.digits;
    }
    Ok(Value::Quantity {
        amount: Arc::new(amount.add(&other)),
        computed: true,
    })
}

impl std::fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}e{}", self.digits, self.power)
    }
}

impl Quantity {
    /// Reads an amount, with the errors of Kubernetes.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let padded = unsigned.trim_start_matches('0');
        let (whole, rest) = padded.split_at_checked(digits(padded)).ok_or(FORMAT)?;
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at_checked(digits(rest)).ok_or(FORMAT)?,
            None => ("", rest),
        };
        let after = suffix.trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
        let after = after.strip_prefix(['+', '-']).unwrap_or(after);
        if text.is_empty() || !after.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(FORMAT);
        }
        if text == "0" {
            return Ok(Self {
                digits: BigInt::ZERO,
                power: 0,
                small: true,
            });
        }
        let (binary, exponent) = unit(suffix).ok_or(SUFFIX)?;
        // Upstream writes a whole part of zeros as one.
        let whole = if whole.is_empty() { "0" } else { whole };
        let has_digits = unsigned.starts_with(|first: char| first.is_ascii_digit()) || !fraction.is_empty();
        let sure = if binary {
            if fraction.is_empty() {
                15 - whole.len() as i32 - (exponent as f32 * 3.0 / 10.0) as i32 - 1
            } else {
                -1
            }
        } else {
            SURE_DIGITS - (whole.len() + fraction.len()) as i32
        };
        let mut value: BigInt = format!("{whole}{fraction}").parse().map_err(|_| NUMBER)?;
        if text.starts_with('-') {
            value = -value;
        }
        let mut power = -(fraction.len() as i32);
        if binary {
            value <<= exponent.unsigned_abs();
        } else {
            power = power.saturating_add(exponent);
        }
        let small = sure >= 0 && power >= FINEST && i64::try_from(&value).is_ok();
        if small {
            return Ok(Self {
                digits: value,
                power,
                small,
            });
        }
        if !has_digits {
            return Err(NUMBER);
        }
        let mut amount = Self {
            digits: value,
            power,
            small: false,
        };
        amount.round_up();
        if binary {
            amount.cut_down();
        }
        Ok(amount)
    }

    /// Makes an amount that is finer than allowed larger, so that something doesn't become nothing.
    fn round_up(&mut self) {
        if self.power >= FINEST || self.digits == BigInt::ZERO {
            return;
        }
        let excess = (FINEST - self.power).unsigned_abs();
        let sign = if self.digits.sign() == Sign::Minus { -1 } else { 1 };
        if excess > WIDEST.unsigned_abs() {
            (self.digits, self.power) = (BigInt::from(sign), FINEST);
            return;
        }
        let divisor = BigInt::from(10).pow(excess);
        let mut rounded = &self.digits / &divisor;
        if &rounded * &divisor != self.digits {
            rounded += sign;
        }
        (self.digits, self.power) = (rounded, FINEST);
    }

    /// Brings an amount in binary notation down to what 64 bits hold.
    fn cut_down(&mut self) {
        let most = Self {
            digits: BigInt::from(i64::MAX),
            power: 0,
            small: false,
        };
        let magnitude = Self {
            digits: self.digits.magnitude().clone().into(),
            power: self.power,
            small: false,
        };
        if magnitude.compare(&most) == Ordering::Greater {
            let negative = self.digits.sign() == Sign::Minus;
            *self = if negative {
                Self {
                    digits: -most.digits,
                    ..most
                }
            } else {
                most
            };
        }
    }

    fn sign(&self) -> i64 {
        match self.digits.sign() {
            Sign::Minus => -1,
            Sign::NoSign => 0,
            Sign::Plus => 1,
        }
    }

    fn approximately(&self) -> f64 {
        let digits: f64 = self.digits.to_string().parse().unwrap_or(f64::NAN);
        if self.power == 0 {
            digits
        } else {
            digits * 10_f64.powi(self.power)
        }
    }

    /// Returns the amount as a whole number, if it was written as one that 64 bits hold.
    fn whole(&self) -> Option<i64> {
        if !self.small || self.power < 0 {
            return None;
        }
        let scaled =
            &self.digits * BigInt::from(10).pow(u32::try_from(self.power).ok().filter(|power| *power < 20)?);
        i64::try_from(scaled).ok()
    }

    /// Returns the digits of both amounts at the lower of their powers; `None` when that would be too many digits.
    fn aligned(&self, other: &Self) -> Option<(BigInt, BigInt, i32)> {
        let power = self.power.min(other.power);
        let scale = |amount: &Self| {
            let difference = amount
                .power
                .checked_sub(power)
                .filter(|difference| *difference <= WIDEST)?;
            Some(&amount.digits * BigInt::from(10).pow(difference.unsigned_abs()))
        };
        Some((scale(self)?, scale(other)?, power))
    }

    /// Returns which amount is smaller.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        if self.sign() != other.sign() || self.sign() == 0 {
            return self.sign().cmp(&other.sign());
        }
        if let Some((one, other, _)) = self.aligned(other) {
            return one.cmp(&other);
        }
        // So far apart that the power decides.
        let by_power = self.power.cmp(&other.power);
        if self.sign() < 0 {
            by_power.reverse()
        } else {
            by_power
        }
    }

    fn add(&self, other: &Self) -> Self {
        if other.sign() == 0 {
            return Self {
                small: self.small && other.small,
                ..self.clone()
            };
        }
        if self.sign() == 0 {
            return Self {
                small: self.small && other.small,
                ..other.clone()
            };
        }
        match self.aligned(other) {
            Some((one, two, power)) => {
                let digits = one + two;
                let small = self.small && other.small && i64::try_from(&digits).is_ok();
                Self { digits, power, small }
            }
            None if self.power > other.power => self.clone(),
            None => other.clone(),
        }
    }
}

/// Returns the power that a suffix stands for, and whether it is one of two.
fn unit(suffix: &str) -> Option<(bool, i32)> {
    Some(match suffix {
        "n" => (false, -9),
        "u" => (false, -6),
        "m" => (false, -3),
        "" => (false, 0),
        "k" => (false, 3),
        "M" => (false, 6),
        "G" => (false, 9),
        "T" => (false, 12),
        "P" => (false, 15),
        "E" => (false, 18),
        "Ki" => (true, 10),
        "Mi" => (true, 20),
        "Gi" => (true, 30),
        "Ti" => (true, 40),
        "Pi" => (true, 50),
        "Ei" => (true, 60),
        other => {
            let exponent = other.strip_prefix(['e', 'E'])?;
            (false, gotemplate::format::parse_int(exponent, 10).ok()? as i32)
        }
    })
}
