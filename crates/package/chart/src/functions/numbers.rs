//! Integer arithmetic, which wraps as Go's does, conversions to numbers, rounding and sequences.

use std::fmt::Write as _;

use gotemplate::format::print_value;
use gotemplate::{Failure, Function, List, Type, Value};

use super::conversion::{to_float64, to_int64};
use super::limits::{MAX_LIST_ITEMS, check_items};
use super::number_syntax::{IntegerError, parse_integer};

/// The functions of this file.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("atoi", &[Type::String], |call| {
        Ok(Value::int(atoi(&call.text(0))))
    }),
    Function::new("int64", &[Type::Any], |call| {
        Ok(Value::int64(to_int64(&call.take(0))))
    }),
    Function::new("int", &[Type::Any], |call| {
        Ok(Value::int(to_int64(&call.take(0))))
    }),
    Function::new("float64", &[Type::Any], |call| {
        Ok(Value::Float(to_float64(&call.take(0))))
    }),
    Function::new("toDecimal", &[Type::Any], |call| {
        Ok(Value::int64(
            parse_integer(&print_value(&call.take(0)), 8).unwrap_or(0),
        ))
    })
    .heavy(),
    Function::new("add1", &[Type::Any], |call| {
        Ok(Value::int64(to_int64(&call.take(0)).wrapping_add(1)))
    }),
    Function::variadic("add", &[], Type::Any, |call| {
        Ok(Value::int64(
            call.arguments.iter().map(to_int64).fold(0, i64::wrapping_add),
        ))
    }),
    Function::new("sub", &[Type::Any, Type::Any], |call| {
        Ok(Value::int64(
            to_int64(&call.take(0)).wrapping_sub(to_int64(&call.take(1))),
        ))
    }),
    Function::new("div", &[Type::Any, Type::Any], |call| {
        divide(&call.take(0), &call.take(1), i64::wrapping_div)
    }),
    Function::new("mod", &[Type::Any, Type::Any], |call| {
        divide(&call.take(0), &call.take(1), i64::wrapping_rem)
    }),
    Function::variadic("mul", &[Type::Any], Type::Any, |call| {
        Ok(Value::int64(
            call.arguments.iter().map(to_int64).fold(1, i64::wrapping_mul),
        ))
    }),
    Function::variadic("max", &[Type::Any], Type::Any, |call| {
        Ok(Value::int64(largest(&call.arguments)))
    }),
    Function::variadic("biggest", &[Type::Any], Type::Any, |call| {
        Ok(Value::int64(largest(&call.arguments)))
    }),
    Function::variadic("min", &[Type::Any], Type::Any, |call| {
        Ok(Value::int64(
            call.arguments.iter().map(to_int64).min().unwrap_or(0),
        ))
    }),
    Function::variadic("maxf", &[Type::Any], Type::Any, |call| {
        Ok(Value::Float(
            call.arguments
                .iter()
                .map(to_float64)
                .reduce(larger)
                .unwrap_or(0.0),
        ))
    }),
    Function::variadic("minf", &[Type::Any], Type::Any, |call| {
        Ok(Value::Float(
            call.arguments
                .iter()
                .map(to_float64)
                .reduce(smaller)
                .unwrap_or(0.0),
        ))
    }),
    Function::new("ceil", &[Type::Any], |call| {
        Ok(Value::Float(to_float64(&call.take(0)).ceil()))
    }),
    Function::new("floor", &[Type::Any], |call| {
        Ok(Value::Float(to_float64(&call.take(0)).floor()))
    }),
    Function::variadic("round", &[Type::Any, Type::INT], Type::Float64, |call| {
        let round_on = call.arguments.get(2).map_or(0.5, to_float64);
        Ok(Value::Float(round(
            to_float64(&call.take(0)),
            call.integer(1),
            round_on,
        )))
    }),
    Function::new("until", &[Type::INT], |call| {
        let count = call.integer(0);
        integers(sequence(0, count, if count < 0 { -1 } else { 1 })?)
    }),
    Function::new("untilStep", &[Type::INT, Type::INT, Type::INT], |call| {
        integers(sequence(call.integer(0), call.integer(1), call.integer(2))?)
    }),
    Function::variadic("seq", &[], Type::INT, |call| {
        let parameters: Vec<i64> = (0..call.arguments.len())
            .map(|index| call.integer(index))
            .collect();
        Ok(Value::from(seq(&parameters)?))
    }),
];

/// Reads a decimal number; the nearest that fits for one that is too large, 0 for what is none.
fn atoi(text: &[u8]) -> i64 {
    match parse_integer(text, 10) {
        Ok(value) | Err(IntegerError::Range(value)) => value,
        Err(IntegerError::Syntax) => 0,
    }
}

fn divide(left: &Value, right: &Value, operation: fn(i64, i64) -> i64) -> Result<Value, Failure> {
    match to_int64(right) {
        0 => Err("runtime error: integer divide by zero".into()),
        divisor => Ok(Value::int64(operation(to_int64(left), divisor))),
    }
}

fn largest(values: &[Value]) -> i64 {
    values.iter().map(to_int64).max().unwrap_or(0)
}

/// The larger of two floats; not-a-number wins over all but infinity, and zero over minus zero.
fn larger(left: f64, right: f64) -> f64 {
    if left == f64::INFINITY || right == f64::INFINITY {
        f64::INFINITY
    } else if left.is_nan() || right.is_nan() {
        f64::NAN
    } else if left == 0.0 && right == 0.0 {
        if left.is_sign_negative() { right } else { left }
    } else if left > right {
        left
    } else {
        right
    }
}

/// The smaller of two floats; not-a-number wins over all but minus infinity, and minus zero over zero.
fn smaller(left: f64, right: f64) -> f64 {
    -larger(-left, -right)
}

/// Rounds to that many decimal places: up where the rest is at least `round_on`, else down, also below zero.
fn round(value: f64, places: i64, round_on: f64) -> f64 {
    let power = power_of_ten(places);
    let digits = power * value;
    // Go's Modf keeps infinity whole and its rest not-a-number.
    let rest = if digits.is_infinite() {
        f64::NAN
    } else {
        digits.fract()
    };
    let rounded = if rest >= round_on {
        digits.ceil()
    } else {
        digits.floor()
    };
    rounded / power
}

/// Computes 10 to the power as Go's `math.Pow` does, by repeated squaring of the mantissa; beyond 10^22 the last
/// digit differs from the best one.
fn power_of_ten(exponent: i64) -> f64 {
    // Far beyond what float64 can hold in either direction.
    const LARGEST_EXPONENT: u64 = 1 << 12;
    let count = exponent.unsigned_abs();
    if count > LARGEST_EXPONENT {
        return if exponent < 0 { 0.0 } else { f64::INFINITY };
    }
    let (mut result, mut result_exponent) = (1.0_f64, 0_i32);
    // 10 is 0.625 times 2^4.
    let (mut square, mut square_exponent) = (0.625_f64, 4_i32);
    let mut left = count;
    while left != 0 {
        if left & 1 == 1 {
            result *= square;
            result_exponent += square_exponent;
        }
        square *= square;
        square_exponent *= 2;
        if square < 0.5 {
            square += square;
            square_exponent -= 1;
        }
        left >>= 1;
    }
    if exponent < 0 {
        result = 1.0 / result;
        result_exponent = -result_exponent;
    }
    // In two steps, as the power alone may not fit where the product does.
    let half = result_exponent / 2;
    result * 2_f64.powi(half) * 2_f64.powi(result_exponent - half)
}

/// Returns the numbers from `start` up to, but not including, `end`.
fn sequence(start: i64, end: i64, step: i64) -> Result<Vec<i64>, Failure> {
    let down = end < start;
    if (down && step >= 0) || (!down && step <= 0) {
        return Ok(Vec::new());
    }
    let distance = (i128::from(end) - i128::from(start)).unsigned_abs();
    let count = distance.div_ceil(i128::from(step).unsigned_abs());
    check_items(usize::try_from(count).unwrap_or(MAX_LIST_ITEMS + 1))?;
    Ok(
        std::iter::successors(Some(start), |number| number.checked_add(step))
            .take(count as usize)
            .collect(),
    )
}

fn integers(numbers: Vec<i64>) -> Result<Value, Failure> {
    Ok(Value::List(List::of(
        Type::INT,
        numbers.into_iter().map(Value::int).collect(),
    )))
}

/// Writes a sequence as the command `seq` does: last; first and last; or first, step and last.
fn seq(parameters: &[i64]) -> Result<String, Failure> {
    let toward = |start: i64, end: i64| if end < start { -1 } else { 1 };
    let numbers = match *parameters {
        [end] => sequence(1, end.wrapping_add(toward(1, end)), toward(1, end))?,
        [start, end] => sequence(start, end.wrapping_add(toward(start, end)), toward(start, end))?,
        [start, step, end] if end >= start || step <= 0 => {
            sequence(start, end.wrapping_add(toward(start, end)), step)?
        }
        _ => Vec::new(),
    };
    let mut out = String::new();
    for (index, number) in numbers.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(out, "{}{number}", if index > 0 { " " } else { "" });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::testing::check;

    #[test]
    fn atoi_saturates() {
        for (text, want) in [
            ("010", 10),
            ("abc", 0),
            ("", 0),
            ("99999999999999999999", i64::MAX),
            ("-7", -7),
            ("1.0", 0),
        ] {
            assert_eq!(atoi(text.as_bytes()), want, "{text}");
        }
    }

    #[test]
    fn rounding_follows_sprig() {
        for (value, places, round_on, want) in [
            (2.5, 0, 0.5, 3.0),
            (-2.5, 0, 0.5, -3.0),
            (-2.4, 0, 0.5, -3.0),
            (123.5555, 3, 0.5, 123.556),
            (123.555, 2, 0.9, 123.55),
            (1234.0, -2, 0.5, 1200.0),
            (1250.0, -2, 0.5, 1300.0),
        ] {
            assert_eq!(round(value, places, round_on), want, "{value} {places}");
        }
        assert!(round(1.5, 400, 0.5).is_nan());
    }

    #[test]
    fn powers_of_ten_are_exact_where_floats_are() {
        for places in 0..=22 {
            assert_eq!(
                power_of_ten(places),
                format!("1e{places}").parse::<f64>().expect("a number"),
                "{places}"
            );
        }
        assert_eq!(power_of_ten(-2), 0.01);
        assert_eq!(power_of_ten(308), 1.000_000_000_000_000_6e308);
        assert_eq!(power_of_ten(309), f64::INFINITY);
        assert_eq!(power_of_ten(-400), 0.0);
    }

    #[test]
    fn sequences_stop_before_their_end() {
        for (parameters, want) in [
            (&[5][..], "1 2 3 4 5"),
            (&[-3], "1 0 -1 -2 -3"),
            (&[0], "1 0"),
            (&[2, 5], "2 3 4 5"),
            (&[5, 2], "5 4 3 2"),
            (&[0, 2, 10], "0 2 4 6 8 10"),
            (&[0, -2, -5], "0 -2 -4"),
            (&[5, 1, 0], ""),
            (&[0, -1, 5], ""),
            (&[], ""),
            (&[1, 2, 3, 4], ""),
        ] {
            assert_eq!(seq(parameters).expect("few numbers"), want, "{parameters:?}");
        }
        assert!(sequence(0, i64::MAX, 1).is_err());
        assert_eq!(
            sequence(i64::MAX - 1, i64::MAX, 5).expect("one number"),
            [i64::MAX - 1]
        );
    }

    #[test]
    fn extremes_of_floats_follow_go() {
        assert!(larger(f64::NAN, 1.0).is_nan());
        assert_eq!(larger(f64::NAN, f64::INFINITY), f64::INFINITY);
        assert!(larger(-0.0, 0.0).is_sign_positive());
        assert!(smaller(0.0, -0.0).is_sign_negative());
        assert_eq!(smaller(1.0, 2.0), 1.0);
    }

    #[test]
    fn integers_wrap_and_convert() {
        check(&[
            (
                r#"{{ add 1 "2" 3.9 true nil }}{{ add }}{{ sub 1 2 }}{{ mul 2 "3" 4 }}{{ typeOf (add 1 2) }}{{ typeOf (int "3") }}{{ typeOf (atoi "3") }}"#,
                Ok("70-124int64intint"),
            ),
            (
                "{{ div 7 2 }}{{ div -7 2 }}{{ mod -7 3 }}{{ mod 7 -3 }}",
                Ok("3-3-11"),
            ),
            ("{{ div 1 0 }}", Err("runtime error: integer divide by zero")),
            ("{{ mod 1 0 }}", Err("runtime error: integer divide by zero")),
            (
                "{{ add1 9223372036854775807 }}{{ mul 9223372036854775807 2 }}",
                Ok("-9223372036854775808-2"),
            ),
            (
                r#"{{ int 1e30 }} {{ int64 -1e30 }} {{ int "9223372036854775808" }} {{ atoi "9223372036854775808" }}"#,
                Ok("-9223372036854775808 -9223372036854775808 0 9223372036854775807"),
            ),
            (
                r#"{{ max 1 2.9 "3" }}{{ min 1 -2.9 "3" }}{{ biggest 1 5 }}"#,
                Ok("3-25"),
            ),
            (
                r#"{{ maxf 1 2.5 "3.5" }} {{ minf 1 -2.5 }} {{ typeOf (maxf 1) }}"#,
                Ok("3.5 -2.5 float64"),
            ),
            (
                r#"{{ toDecimal "777" }} {{ toDecimal 777 }} {{ toDecimal "8" }} {{ toDecimal 10.5 }}"#,
                Ok("511 511 0 0"),
            ),
            (
                "{{ until 3 }}{{ until -3 }}{{ typeOf (until 0) }}{{ untilStep 0 10 3 }}{{ untilStep 0 -10 -4 }}{{ untilStep 0 5 0 }}",
                Ok("[0 1 2][0 -1 -2][]int[0 3 6 9][0 -4 -8][]"),
            ),
            (
                "{{ seq 5 }}|{{ seq 0 }}|{{ seq -1 }}|{{ seq 2 4 }}|{{ seq 4 2 }}|{{ seq 0 2 5 }}|{{ seq 5 -2 0 }}|{{ seq 5 2 0 }}|{{ seq }}|{{ seq 1 2 3 4 }}",
                Ok("1 2 3 4 5|1 0|1 0 -1|2 3 4|4 3 2|0 2 4|5 3 1|||"),
            ),
            (
                r#"{{ round 123.555555 3 }} {{ round "2.5" 0 }} {{ round 2.4 0 0.4 }} {{ round 1234 -2 }}"#,
                Ok("123.556 3 2 1200"),
            ),
            (r#"{{ ceil "1.1" }}{{ floor -1.1 }}{{ ceil nil }}"#, Ok("2-20")),
            (
                r#"{{ float64 "1e3" }} {{ float64 "0x1p4" }} {{ float64 "1_000" }} {{ float64 "inf" }} {{ float64 "nan" }} {{ float64 "x" }}"#,
                Ok("1000 16 1000 +Inf NaN 0"),
            ),
            (
                r#"{{ int "1_000" }} {{ int "0b11" }} {{ int "010" }} {{ int "1.0" }} {{ int "1.5" }} {{ int "1e3" }} {{ int " 1" }}"#,
                Ok("1000 3 8 1 0 0 0"),
            ),
            ("{{ randInt 5 5 }}", Err("invalid argument to Intn")),
            ("{{ randInt 7 8 }}", Ok("7")),
        ]);
    }
}
