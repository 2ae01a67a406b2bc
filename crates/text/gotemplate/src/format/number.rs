//! Numbers read from text, as strconv reads them.

use std::borrow::Cow;
use std::fmt;

use super::quote;

/// Text that is not a number of the asked kind.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberError<T> {
    /// The Go function that the message names; who stands in for another one (`Atoi`) changes it.
    pub function: &'static str,
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub kind: NumberErrorKind,
    /// What Go returns beside the error: 0, or the nearest value where the number is out of range.
    pub value: T,
}

/// What is wrong with a number's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberErrorKind {
    /// It is not written as a number.
    Syntax,
    /// It is a number that does not fit.
    Range,
    /// There are no numbers of this base.
    Base(u32),
}

impl fmt::Display for NumberErrorKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NumberErrorKind::Syntax => formatter.write_str("invalid syntax"),
            NumberErrorKind::Range => formatter.write_str("value out of range"),
            NumberErrorKind::Base(base) => write!(formatter, "invalid base {base}"),
        }
    }
}

impl<T> fmt::Display for NumberError<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let literal = quote(self.text.as_bytes());
        let literal = String::from_utf8_lossy(&literal);
        write!(
            formatter,
            "strconv.{}: parsing {literal}: {}",
            self.function, self.kind
        )
    }
}

impl<T: fmt::Debug> std::error::Error for NumberError<T> {}

/// Reads an `int64`; base 0 takes the base from the prefix and allows underscores.
pub fn parse_int(text: &str, base: u32) -> Result<i64, NumberError<i64>> {
    let fail = |kind, value| {
        Err(NumberError {
            function: "ParseInt",
            text: text.to_owned(),
            kind,
            value,
        })
    };
    let (negative, digits) = split_sign(text);
    let magnitude = match read_digits(digits.as_bytes(), base) {
        Ok(magnitude) => magnitude,
        Err(NumberErrorKind::Range) => u64::MAX,
        Err(kind) => return fail(kind, 0),
    };
    match (negative, i64::try_from(magnitude)) {
        (false, Ok(value)) => Ok(value),
        (false, Err(_)) => fail(NumberErrorKind::Range, i64::MAX),
        (true, _) if magnitude <= i64::MIN.unsigned_abs() => Ok((magnitude as i64).wrapping_neg()),
        (true, _) => fail(NumberErrorKind::Range, i64::MIN),
    }
}

/// Reads a `uint64`, which has no sign; base 0 takes the base from the prefix and allows underscores.
pub fn parse_uint(text: &str, base: u32) -> Result<u64, NumberError<u64>> {
    read_digits(text.as_bytes(), base).map_err(|kind| NumberError {
        function: "ParseUint",
        text: text.to_owned(),
        kind,
        value: if kind == NumberErrorKind::Range {
            u64::MAX
        } else {
            0
        },
    })
}

/// Returns whether a number starts with a minus, and what follows its sign.
fn split_sign(number: &str) -> (bool, &str) {
    match number.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    }
}

fn read_digits(text: &[u8], base: u32) -> Result<u64, NumberErrorKind> {
    if text.is_empty() {
        return Err(NumberErrorKind::Syntax);
    }
    let (base, digits, underscores_allowed) = match (base, text) {
        (2..=36, _) => (base, text, false),
        (0, [b'0', b'b' | b'B', digits @ ..]) if !digits.is_empty() => (2, digits, true),
        (0, [b'0', b'o' | b'O', digits @ ..]) if !digits.is_empty() => (8, digits, true),
        (0, [b'0', b'x' | b'X', digits @ ..]) if !digits.is_empty() => (16, digits, true),
        (0, [b'0', digits @ ..]) => (8, digits, true),
        (0, _) => (10, text, true),
        _ => return Err(NumberErrorKind::Base(base)),
    };
    let mut number: u64 = 0;
    let mut saw_underscore = false;
    for &byte in digits {
        if byte == b'_' && underscores_allowed {
            saw_underscore = true;
            continue;
        }
        let digit = char::from(byte).to_digit(base).ok_or(NumberErrorKind::Syntax)?;
        number = number
            .checked_mul(u64::from(base))
            .and_then(|number| number.checked_add(u64::from(digit)))
            .ok_or(NumberErrorKind::Range)?;
    }
    if saw_underscore && !underscores_separate_digits(text) {
        return Err(NumberErrorKind::Syntax);
    }
    Ok(number)
}

/// Returns whether each underscore stands between two digits, where a base prefix counts as one.
fn underscores_separate_digits(number: &[u8]) -> bool {
    let (mut after_digit, hexadecimal, digits) = match number {
        [b'0', b'x' | b'X', rest @ ..] => (true, true, rest),
        [b'0', b'b' | b'B' | b'o' | b'O', rest @ ..] => (true, false, rest),
        rest => (false, false, rest),
    };
    let mut after_underscore = false;
    for byte in digits {
        let is_digit = byte.is_ascii_digit() || hexadecimal && byte.is_ascii_hexdigit();
        let is_underscore = *byte == b'_';
        if is_underscore && !after_digit || after_underscore && !is_digit {
            return false;
        }
        after_digit = is_digit;
        after_underscore = is_underscore;
    }
    !after_underscore
}

/// Reads a `float64`: decimal, hexadecimal with a `p` exponent, infinities and NaN.
pub fn parse_float(text: &str) -> Result<f64, NumberError<f64>> {
    let fail = |kind, value| {
        Err(NumberError {
            function: "ParseFloat",
            text: text.to_owned(),
            kind,
            value,
        })
    };
    if let Some(special) = read_special(text) {
        return Ok(special);
    }
    match read_float(text) {
        Some(value) if value.is_infinite() => fail(NumberErrorKind::Range, value),
        Some(value) => Ok(value),
        None => fail(NumberErrorKind::Syntax, 0.0),
    }
}

fn read_special(text: &str) -> Option<f64> {
    if text.eq_ignore_ascii_case("nan") {
        return Some(f64::NAN);
    }
    let (negative, word) = split_sign(text);
    let is_infinity = word.eq_ignore_ascii_case("inf") || word.eq_ignore_ascii_case("infinity");
    is_infinity.then_some(if negative {
        f64::NEG_INFINITY
    } else {
        f64::INFINITY
    })
}

/// Returns the number, infinite where it is too large; none where it is not written as one.
fn read_float(text: &str) -> Option<f64> {
    let (negative, written) = split_sign(text);
    let mut unsigned = Cow::Borrowed(written);
    if written.contains('_') {
        if !underscores_separate_digits(written.as_bytes()) {
            return None;
        }
        unsigned = Cow::Owned(written.replace('_', ""));
    }
    let magnitude = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => read_hexadecimal(&unsigned[2..])?,
        _ => read_decimal(&unsigned)?,
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// Splits a number into the digits before and after its point, and its exponent where it has one.
fn split_number(number: &str, letters: [char; 2]) -> Option<(&str, &str, Option<&str>)> {
    let (mantissa, exponent) = match number.split_once(letters) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (number, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    if let Some(exponent) = exponent {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
    }
    Some((whole, fraction, exponent))
}

fn read_decimal(number: &str) -> Option<f64> {
    let (whole, fraction, _) = split_number(number, ['e', 'E'])?;
    if !whole
        .bytes()
        .chain(fraction.bytes())
        .all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    number.parse().ok()
}

/// Exponents beyond this are as good as infinite: every float64 lies far within, and sums of it don't overflow.
const EXPONENT_LIMIT: i64 = 1 << 40;
/// The highest power of two of a float64, and one more.
const EXPONENT_OVERFLOW: i64 = 1024;
/// The power of two of the lowest bit of the smallest float64.
const LOWEST_BIT: i64 = -1074;

fn read_hexadecimal(number: &str) -> Option<f64> {
    let (whole, fraction, exponent) = split_number(number, ['p', 'P'])?;
    // The sign was checked with the digits, so what does not parse is too long.
    let exponent = exponent?;
    let written = exponent.parse().unwrap_or(if exponent.starts_with('-') {
        -EXPONENT_LIMIT
    } else {
        EXPONENT_LIMIT
    });
    let mut mantissa: u64 = 0;
    // Whether a bit that does not fit into the mantissa is set.
    let mut sticky = false;
    let mut scale: i64 = 0;
    for (index, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(digit.to_digit(16)?);
        let in_fraction = index >= whole.len();
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | digit;
            scale -= if in_fraction { 4 } else { 0 };
        } else {
            sticky |= digit != 0;
            scale += if in_fraction { 0 } else { 4 };
        }
    }
    if mantissa == 0 {
        return Some(0.0);
    }
    let shift = mantissa.leading_zeros();
    mantissa <<= shift;
    let exponent = written.clamp(-EXPONENT_LIMIT, EXPONENT_LIMIT) + scale - i64::from(shift);
    Some(round_to_float(mantissa, sticky, exponent))
}

/// Returns `mantissa × 2^exponent`, rounded half to even; the mantissa's highest bit is set.
fn round_to_float(mantissa: u64, sticky: bool, exponent: i64) -> f64 {
    if exponent + 63 >= EXPONENT_OVERFLOW {
        return f64::INFINITY;
    }
    // A float64 keeps 53 bits, fewer near zero.
    let dropped_bits = (LOWEST_BIT - exponent).max(11);
    if dropped_bits > 64 {
        return 0.0;
    }
    let wide = u128::from(mantissa);
    let mut kept = (wide >> dropped_bits) as u64;
    let dropped = wide & ((1 << dropped_bits) - 1);
    let half = 1_u128 << (dropped_bits - 1);
    if dropped > half || dropped == half && (sticky || kept & 1 == 1) {
        kept += 1;
    }
    // Both steps are exact, and the product is infinite exactly where rounding went past the largest float64.
    let scale = exponent + dropped_bits;
    let first = scale / 2;
    kept as f64 * 2_f64.powi(first as i32) * 2_f64.powi((scale - first) as i32)
}
