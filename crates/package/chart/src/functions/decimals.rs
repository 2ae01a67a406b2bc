//! Float arithmetic in decimal, so that 0.1 and 0.2 make 0.3; quotients have sixteen digits after the point.

use gotemplate::{Failure, Function, Type, Value};
use num_bigint::{BigInt, Sign};

use super::conversion::to_float64;

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("add1f", &[Type::Any], |call| {
        compute(&[call.take(0), Value::int(1)], Decimal::add)
    }),
    Function::variadic("addf", &[], Type::Any, |call| {
        compute(&call.arguments, Decimal::add)
    }),
    Function::variadic("subf", &[Type::Any], Type::Any, |call| {
        compute(&call.arguments, Decimal::subtract)
    }),
    Function::variadic("mulf", &[Type::Any], Type::Any, |call| {
        compute(&call.arguments, Decimal::multiply)
    }),
    Function::variadic("divf", &[Type::Any], Type::Any, |call| {
        compute(&call.arguments, Decimal::divide)
    }),
];

/// Digits after the point of a quotient.
const DIVISION_PRECISION: i32 = 16;

type Operation = fn(&Decimal, &Decimal) -> Result<Decimal, Failure>;

/// Applies an operation from left to right; without values the result is 0.
fn compute(values: &[Value], operation: Operation) -> Result<Value, Failure> {
    let mut decimals = values.iter().map(|value| Decimal::from_float(to_float64(value)));
    let Some(first) = decimals.next() else {
        return Ok(Value::Float(0.0));
    };
    let result = decimals.try_fold(first?, |left, right| operation(&left, &right?))?;
    Ok(Value::Float(result.to_float()))
}

/// A number of the form `coefficient * 10^exponent`.
struct Decimal {
    coefficient: BigInt,
    exponent: i32,
}

impl Decimal {
    /// Takes the shortest digits that denote the float.
    fn from_float(value: f64) -> Result<Decimal, Failure> {
        if !value.is_finite() {
            let name = if value.is_nan() {
                "NaN"
            } else if value > 0.0 {
                "+Inf"
            } else {
                "-Inf"
            };
            return Err(Failure::Message(format!("Cannot create a Decimal from {name}")));
        }
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let fraction = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let digits: String = mantissa.chars().filter(|&character| character != '.').collect();
        Ok(Decimal {
            coefficient: digits.parse().unwrap_or_default(),
            exponent: exponent.parse::<i32>().unwrap_or_default() - fraction as i32,
        })
    }

    /// Returns the nearest float.
    fn to_float(&self) -> f64 {
        format!("{}e{}", self.coefficient, self.exponent)
            .parse()
            .unwrap_or_default()
    }

    /// Returns both coefficients for the smaller of the exponents, and that exponent.
    fn aligned(&self, other: &Decimal) -> (BigInt, BigInt, i32) {
        let exponent = self.exponent.min(other.exponent);
        let scaled = |number: &Decimal| &number.coefficient * power_of_ten(number.exponent - exponent);
        (scaled(self), scaled(other), exponent)
    }

    fn add(&self, other: &Decimal) -> Result<Decimal, Failure> {
        let (left, right, exponent) = self.aligned(other);
        Ok(Decimal {
            coefficient: left + right,
            exponent,
        })
    }

    fn subtract(&self, other: &Decimal) -> Result<Decimal, Failure> {
        let (left, right, exponent) = self.aligned(other);
        Ok(Decimal {
            coefficient: left - right,
            exponent,
        })
    }

    fn multiply(&self, other: &Decimal) -> Result<Decimal, Failure> {
        let exponent = i64::from(self.exponent) + i64::from(other.exponent);
        let exponent =
            i32::try_from(exponent).map_err(|_| format!("exponent {exponent} overflows an int32!"))?;
        Ok(Decimal {
            coefficient: &self.coefficient * &other.coefficient,
            exponent,
        })
    }

    /// Divides and rounds half away from zero.
    fn divide(&self, other: &Decimal) -> Result<Decimal, Failure> {
        if other.coefficient.sign() == Sign::NoSign {
            return Err("decimal division by 0".into());
        }
        let shift = self.exponent - other.exponent + DIVISION_PRECISION;
        let numerator = &self.coefficient * power_of_ten(shift.max(0));
        let denominator = &other.coefficient * power_of_ten((-shift).max(0));
        let mut quotient: BigInt = &numerator / &denominator;
        let twice_rest = (&numerator % &denominator) * 2_i32;
        if twice_rest.magnitude() >= denominator.magnitude() {
            let negative = (numerator.sign() == Sign::Minus) != (denominator.sign() == Sign::Minus);
            quotient += if negative { -1_i32 } else { 1_i32 };
        }
        Ok(Decimal {
            coefficient: quotient,
            exponent: -DIVISION_PRECISION,
        })
    }
}

fn power_of_ten(exponent: i32) -> BigInt {
    BigInt::from(10).pow(exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::testing::check;

    fn result(operation: Operation, values: &[f64]) -> Result<f64, String> {
        let values: Vec<Value> = values.iter().copied().map(Value::Float).collect();
        match compute(&values, operation) {
            Ok(Value::Float(value)) => Ok(value),
            Ok(other) => Err(format!("{other:?}")),
            Err(failure) => Err(failure.to_string()),
        }
    }

    #[test]
    fn sums_and_products_are_exact() {
        assert_eq!(result(Decimal::add, &[0.1, 0.2]), Ok(0.3));
        assert_eq!(result(Decimal::add, &[]), Ok(0.0));
        assert_eq!(result(Decimal::add, &[1e308, 1e-308]), Ok(1e308));
        assert_eq!(result(Decimal::subtract, &[7.5, 2.0, 3.0]), Ok(2.5));
        assert_eq!(result(Decimal::multiply, &[1.5, 2.0, 2.0]), Ok(6.0));
        assert_eq!(result(Decimal::multiply, &[1e200, 1e200]), Ok(f64::INFINITY));
    }

    #[test]
    fn quotients_have_sixteen_places() {
        assert_eq!(result(Decimal::divide, &[10.0, 4.0]), Ok(2.5));
        assert_eq!(result(Decimal::divide, &[2.0, 3.0]), Ok(0.666_666_666_666_666_7));
        assert_eq!(
            result(Decimal::divide, &[-2.0, 3.0]),
            Ok(-0.666_666_666_666_666_7)
        );
        assert_eq!(
            result(Decimal::divide, &[2.0, 30_000.0]),
            Ok(0.000_066_666_666_666_7)
        );
        assert_eq!(result(Decimal::divide, &[1.0, 1e17]), Ok(0.0));
        assert_eq!(result(Decimal::divide, &[5.0, 1e17]), Ok(1e-16));
        assert_eq!(
            result(Decimal::divide, &[1.0, 0.0]),
            Err("decimal division by 0".into())
        );
    }

    #[test]
    fn what_is_no_number_cannot_be_a_decimal() {
        assert_eq!(
            result(Decimal::add, &[f64::NAN]),
            Err("Cannot create a Decimal from NaN".into())
        );
        assert_eq!(
            result(Decimal::add, &[f64::NEG_INFINITY, 1.0]),
            Err("Cannot create a Decimal from -Inf".into())
        );
    }

    #[test]
    fn floats_are_computed_in_decimal() {
        check(&[
            (
                r#"{{ addf 0.1 0.2 }} {{ addf }} {{ subf 7.5 2 3 }} {{ mulf 1.5 "2" 2 }} {{ divf 10 4 }} {{ divf 1 3 }} {{ add1f 1.5 }}"#,
                Ok("0.3 0 2.5 6 2.5 0.3333333333333333 2.5"),
            ),
            ("{{ divf 1 0 }}", Err("decimal division by 0")),
            (r#"{{ addf "nan" 1 }}"#, Err("Cannot create a Decimal from NaN")),
            (r#"{{ mulf "inf" 1 }}"#, Err("Cannot create a Decimal from +Inf")),
            ("{{ mulf 1e300 1e300 }}", Ok("+Inf")),
            ("{{ divf 1e300 1e-300 }}", Ok("+Inf")),
            ("{{ typeOf (addf 1) }}", Ok("float64")),
        ]);
    }
}
