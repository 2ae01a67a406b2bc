//! Exact decimal numbers: `0.07` is a multiple of `0.01`, which it is not among floats.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use serde_json::Number;

/// A number as its decimal digits and the power of ten that they are multiplied with.
#[derive(Clone, Debug, Default)]
pub(super) struct Decimal {
    digits: BigInt,
    /// Between about -350 and 310 where it comes from a 64-bit float or integer, and never much more than
    /// [`MAX_DIGITS`].
    exponent: i32,
}

/// How many digits the text of a number may have, and how far its exponent may go. Go takes any number of them, and
/// as much time and memory.
pub(super) const MAX_DIGITS: usize = 5_000;

impl Decimal {
    pub(super) fn new(number: &Number) -> Self {
        Self::parse(&number.to_string()).unwrap_or_default()
    }

    /// Reads a number: a sign, digits with a point, and an exponent. `None` for other text and beyond the limits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i32 = exponent.parse().ok()?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_sound = exponent.unsigned_abs() as usize <= MAX_DIGITS
            && mantissa.len() <= MAX_DIGITS
            && fraction.bytes().all(|byte| byte.is_ascii_digit());
        is_sound.then_some(())?;
        Some(Self {
            digits: format!("{whole}{fraction}").parse().ok()?,
            exponent: exponent - fraction.len() as i32,
        })
    }

    /// The nearest float.
    pub(super) fn to_float(&self) -> f64 {
        format!("{}e{}", self.digits, self.exponent)
            .parse()
            .unwrap_or(f64::NAN)
    }

    /// The whole number that this is, as Go takes it from a large one: its last 64 bits.
    pub(super) fn to_wrapped_integer(&self) -> Option<i64> {
        if !self.is_integer() {
            return None;
        }
        let power = BigInt::from(10).pow(self.exponent.unsigned_abs());
        let whole = if self.exponent < 0 {
            &self.digits / power
        } else {
            &self.digits * power
        };
        let low = whole.magnitude().iter_u64_digits().next().unwrap_or(0) as i64;
        Some(if whole.sign() == Sign::Minus {
            low.wrapping_neg()
        } else {
            low
        })
    }

    /// Tells whether this number is that fraction.
    pub(super) fn is_quotient(&self, numerator: &Self, denominator: &Self) -> bool {
        let product = Self {
            digits: &self.digits * &denominator.digits,
            exponent: self.exponent + denominator.exponent,
        };
        denominator.digits.sign() != Sign::NoSign && product.compare(numerator) == Ordering::Equal
    }

    /// The digits of both numbers with the same power of ten.
    fn aligned(&self, other: &Self) -> (BigInt, BigInt) {
        let exponent = self.exponent.min(other.exponent);
        let scale = |number: &Self| &number.digits * BigInt::from(10).pow(number.exponent.abs_diff(exponent));
        (scale(self), scale(other))
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let (left, right) = self.aligned(other);
        left.cmp(&right)
    }

    pub(super) fn is_positive(&self) -> bool {
        self.digits.sign() == Sign::Plus
    }

    pub(super) fn is_integer(&self) -> bool {
        self.exponent >= 0 || {
            let divisor = BigInt::from(10).pow(self.exponent.unsigned_abs());
            (&self.digits % divisor).sign() == Sign::NoSign
        }
    }

    pub(super) fn is_multiple_of(&self, other: &Self) -> bool {
        let (left, right) = self.aligned(other);
        right.sign() != Sign::NoSign && (left % right).sign() == Sign::NoSign
    }
}

/// Prints like Go's `%v` of a big float: exponent form below 1e-4 and from 1e6 on.
impl std::fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.digits.magnitude().to_string();
        let sign = if self.digits.sign() == Sign::Minus {
            "-"
        } else {
            ""
        };
        let digits = text.trim_end_matches('0');
        if digits.is_empty() {
            return formatter.write_str("0");
        }
        // The power of ten of the first digit.
        let exponent = self.exponent + text.len() as i32 - 1;
        let (first, rest) = digits.split_at(1);
        if !(-4..6).contains(&exponent) {
            let point = if rest.is_empty() { "" } else { "." };
            let exponent_sign = if exponent < 0 { '-' } else { '+' };
            return write!(
                formatter,
                "{sign}{first}{point}{rest}e{exponent_sign}{:02}",
                exponent.abs()
            );
        }
        if exponent < 0 {
            return write!(
                formatter,
                "{sign}0.{}{digits}",
                "0".repeat(exponent.unsigned_abs() as usize - 1)
            );
        }
        let whole = exponent as usize + 1;
        if digits.len() <= whole {
            return write!(formatter, "{sign}{digits}{}", "0".repeat(whole - digits.len()));
        }
        write!(formatter, "{sign}{}.{}", &digits[..whole], &digits[whole..])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decimal(value: &serde_json::Value) -> Decimal {
        match value {
            serde_json::Value::Number(number) => Decimal::new(number),
            _ => Decimal::new(&Number::from(0)),
        }
    }

    #[test]
    fn decimals_print_as_go_prints_big_floats() {
        for (value, expected) in [
            (json!(1_000_000), "1e+06"),
            (json!(65535), "65535"),
            (json!(123_456_789), "1.23456789e+08"),
            (json!(0.1), "0.1"),
            (json!(0.00001), "1e-05"),
            (json!(0.0012), "0.0012"),
            (json!(-2.5), "-2.5"),
            (json!(1e21), "1e+21"),
            (json!(100), "100"),
            (json!(0), "0"),
            (json!(12.5), "12.5"),
        ] {
            assert_eq!(decimal(&value).to_string(), expected);
        }
    }

    #[test]
    fn multiples_are_exact() {
        assert!(decimal(&json!(0.07)).is_multiple_of(&decimal(&json!(0.01))));
        assert!(!decimal(&json!(0.075)).is_multiple_of(&decimal(&json!(0.01))));
        assert!(decimal(&json!(1e300)).is_multiple_of(&decimal(&json!(1e-300))));
        assert!(decimal(&json!(3.0)).is_integer() && !decimal(&json!(3.5)).is_integer());
    }
}
