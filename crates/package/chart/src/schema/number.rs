//! Exact decimal numbers: `0.07` is a multiple of `0.01`, which it is not among floats.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use serde_json::Number;

/// A number as its decimal digits and the power of ten that they are multiplied with.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    digits: BigInt,
    /// Between about -350 and 310, because it comes from a 64-bit float or integer.
    exponent: i32,
}

impl Decimal {
    pub(super) fn new(number: &Number) -> Self {
        let text = number.to_string();
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}").parse().unwrap_or_default();
        Self {
            digits,
            exponent: exponent - fraction.len() as i32,
        }
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
