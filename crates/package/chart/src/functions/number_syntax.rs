//! Numbers in text, as Go's strconv reads them: base prefixes, underscores, hexadecimal floats, its range errors.

/// Why text is not an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerError {
    /// It is no number at all.
    Syntax,
    /// It is too large; holds the nearest number that fits, which Go returns beside the error.
    Range(i64),
}

/// Reads an integer in the given base; base 0 means that a prefix tells it, and allows underscores.
pub(crate) fn parse_integer(text: &[u8], base: u32) -> Result<i64, IntegerError> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let magnitude = match parse_unsigned(digits, base) {
        Ok(magnitude) => i128::from(magnitude),
        Err(IntegerError::Syntax) => return Err(IntegerError::Syntax),
        Err(IntegerError::Range(_)) => i128::MAX,
    };
    let value = if negative { -magnitude } else { magnitude };
    i64::try_from(value).map_err(|_| IntegerError::Range(if negative { i64::MIN } else { i64::MAX }))
}

fn parse_unsigned(text: &[u8], base: u32) -> Result<u64, IntegerError> {
    let (radix, digits) = if base == 0 {
        split_prefix(text)
    } else {
        (base, text)
    };
    if digits.is_empty() || (base == 0 && !underscores_are_between_digits(text)) {
        return Err(IntegerError::Syntax);
    }
    let mut value: u64 = 0;
    let mut overflow = false;
    for &byte in digits {
        if byte == b'_' && base == 0 {
            continue;
        }
        let digit = char::from(byte).to_digit(radix).ok_or(IntegerError::Syntax)?;
        match value
            .checked_mul(u64::from(radix))
            .and_then(|value| value.checked_add(u64::from(digit)))
        {
            Some(next) => value = next,
            None => overflow = true,
        }
    }
    if overflow {
        Err(IntegerError::Range(i64::MAX))
    } else {
        Ok(value)
    }
}

/// Splits a base prefix off; a leading zero alone means octal.
fn split_prefix(text: &[u8]) -> (u32, &[u8]) {
    match text {
        [b'0', b'x' | b'X', rest @ ..] if !rest.is_empty() => (16, rest),
        [b'0', b'b' | b'B', rest @ ..] if !rest.is_empty() => (2, rest),
        [b'0', b'o' | b'O', rest @ ..] | [b'0', rest @ ..] if !rest.is_empty() => (8, rest),
        _ => (10, text),
    }
}

/// Returns whether every underscore stands between digits, or between a base prefix and a digit.
fn underscores_are_between_digits(text: &[u8]) -> bool {
    if !text.contains(&b'_') {
        return true;
    }
    let body = match text {
        [b'-' | b'+', rest @ ..] => rest,
        _ => text,
    };
    let (hexadecimal, mut after_digit, body) = match body {
        [b'0', b'x' | b'X', rest @ ..] => (true, true, rest),
        [b'0', b'b' | b'B' | b'o' | b'O', rest @ ..] => (false, true, rest),
        _ => (false, false, body),
    };
    let mut after_underscore = false;
    for &byte in body {
        if byte.is_ascii_digit() || (hexadecimal && byte.is_ascii_hexdigit()) {
            (after_digit, after_underscore) = (true, false);
        } else if byte == b'_' {
            if !after_digit {
                return false;
            }
            (after_digit, after_underscore) = (false, true);
        } else {
            if after_underscore {
                return false;
            }
            after_digit = false;
        }
    }
    !after_underscore
}

/// Reads a float64 as `strconv.ParseFloat` does; none where Go reports an error.
pub(crate) fn parse_float(text: &[u8]) -> Option<f64> {
    if !underscores_are_between_digits(text) {
        return None;
    }
    let text: String = std::str::from_utf8(text)
        .ok()?
        .chars()
        .filter(|&character| character != '_')
        .collect();
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text.as_str()),
    };
    let magnitude = match unsigned.as_bytes() {
        [b'0', b'x' | b'X', ..] => parse_hexadecimal_float(unsigned.as_bytes().get(2..)?)?,
        [b'0'..=b'9' | b'.', ..] => unsigned.parse().ok().filter(|value: &f64| value.is_finite())?,
        _ if unsigned.eq_ignore_ascii_case("inf") || unsigned.eq_ignore_ascii_case("infinity") => {
            f64::INFINITY
        }
        // Go knows no signed NaN.
        _ if text.eq_ignore_ascii_case("nan") => f64::NAN,
        _ => return None,
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// Beyond this a hexadecimal float is 0 or infinite whatever its digits say, as text is far shorter.
const EXPONENT_CAP: i64 = 1 << 40;

/// Reads what follows `0x`; the exponent, in powers of two, is mandatory.
fn parse_hexadecimal_float(text: &[u8]) -> Option<f64> {
    let exponent_at = text.iter().position(|byte| matches!(byte, b'p' | b'P'))?;
    let (digits, exponent) = (text.get(..exponent_at)?, text.get(exponent_at + 1..)?);
    let exponent_digits = match exponent {
        [b'-' | b'+', rest @ ..] => rest,
        _ => exponent,
    };
    if exponent_digits.is_empty() || !exponent_digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let exponent = match parse_integer(exponent, 10) {
        Ok(value) | Err(IntegerError::Range(value)) => value.clamp(-EXPONENT_CAP, EXPONENT_CAP),
        Err(IntegerError::Syntax) => return None,
    };
    let mut mantissa: u64 = 0;
    let mut scale: i64 = 0;
    let mut after_point = false;
    let mut any_digit = false;
    for &byte in digits {
        if byte == b'.' && !after_point {
            after_point = true;
            continue;
        }
        let digit = u64::from(char::from(byte).to_digit(16)?);
        any_digit = true;
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | digit;
            scale -= if after_point { 4 } else { 0 };
        } else {
            // Only whether something follows matters for rounding; the lowest bit remembers it.
            mantissa |= u64::from(digit != 0);
            scale += if after_point { 0 } else { 4 };
        }
    }
    if !any_digit {
        return None;
    }
    let value = scale_by_power_of_two(mantissa, exponent + scale);
    value.is_finite().then_some(value)
}

/// Computes `mantissa * 2^exponent`, rounded once, half to even; bit 0 of a long mantissa stands for all below it.
fn scale_by_power_of_two(mantissa: u64, exponent: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let width = i64::from(64 - mantissa.leading_zeros());
    let top = exponent + width;
    if top > 1024 {
        return f64::INFINITY;
    }
    if top < -1074 {
        return 0.0;
    }
    let precision = (top + 1074).clamp(0, 53);
    let dropped = (width - precision).max(0) as u32;
    let wide = u128::from(mantissa);
    let (kept, rest, half) = (
        wide >> dropped,
        wide & ((1 << dropped) - 1),
        (1_u128 << dropped) >> 1,
    );
    let round_up = dropped > 0 && (rest > half || (rest == half && kept & 1 == 1));
    let kept = (kept + u128::from(round_up)) as f64;
    let power = exponent + i64::from(dropped);
    // Two exact steps: the first brings the exponent into the range that the second can reach.
    let first = power.clamp(-1000, 1000);
    let second = power - first;
    kept * 2_f64.powi(first as i32) * 2_f64.powi(second as i32)
}

/// Converts as Go does on the machines that Helm is built for: what does not fit becomes the smallest number.
pub(crate) fn float_to_integer(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) {
        value as i64
    } else {
        i64::MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_with_prefixes_and_underscores() {
        use IntegerError::{Range, Syntax};
        for (text, want) in [
            ("1_000", Ok(1000)),
            ("0_7", Ok(7)),
            ("08", Err(Syntax)),
            ("0b101", Ok(5)),
            ("0o17", Ok(15)),
            ("0x_f", Ok(15)),
            ("+5", Ok(5)),
            ("-0x10", Ok(-16)),
            ("_1", Err(Syntax)),
            ("1__0", Err(Syntax)),
            ("1_", Err(Syntax)),
            ("0_", Err(Syntax)),
            ("9223372036854775808", Err(Range(i64::MAX))),
            ("99999999999999999999999", Err(Range(i64::MAX))),
            ("-9223372036854775808", Ok(i64::MIN)),
            ("-9223372036854775809", Err(Range(i64::MIN))),
            ("", Err(Syntax)),
            ("+", Err(Syntax)),
            ("0x", Err(Syntax)),
            ("-0", Ok(0)),
            ("0xg", Err(Syntax)),
            ("00", Ok(0)),
        ] {
            assert_eq!(parse_integer(text.as_bytes(), 0), want, "{text}");
        }
        assert_eq!(parse_integer(b"010", 10), Ok(10));
        assert_eq!(parse_integer(b"1_0", 10), Err(Syntax));
        assert_eq!(parse_integer(b"777", 8), Ok(511));
        assert_eq!(parse_integer(b"8", 8), Err(Syntax));
    }

    #[test]
    fn floats_are_read_as_go_reads_them() {
        for (text, want) in [
            ("1_000", Some(1000.0)),
            ("0x_1p4", Some(16.0)),
            ("0x1_0p0", Some(16.0)),
            ("1e1_0", Some(1e10)),
            ("_1", None),
            ("0x1", None),
            ("0x1p", None),
            ("0x1p2000", None),
            ("0x.8p1", Some(1.0)),
            ("0x.p1", None),
            ("inf", Some(f64::INFINITY)),
            ("-Infinity", Some(f64::NEG_INFINITY)),
            ("+nan", None),
            ("-nan", None),
            ("1e400", None),
            ("1e-400", Some(0.0)),
            ("1e", None),
            ("1.", Some(1.0)),
            (".5", Some(0.5)),
            (".", None),
            ("", None),
            ("+-1", None),
            ("0x1.fffffffffffff8p0", Some(2.0)),
            ("0x1.fffffffffffff7p0", Some(1.999_999_999_999_999_8)),
            ("0x1p-1075", Some(0.0)),
            ("0x1.8p-1074", Some(1e-323)),
            ("0x1.00000000000000000001p-1075", Some(5e-324)),
            ("infi", None),
            ("0b1", None),
            ("+.5e3", Some(500.0)),
            ("0X1P+4", Some(16.0)),
            ("0x1P-1080", Some(0.0)),
            ("1_", None),
        ] {
            assert_eq!(parse_float(text.as_bytes()), want, "{text}");
        }
        assert!(parse_float(b"NaN").is_some_and(f64::is_nan));
    }

    #[test]
    fn floats_out_of_range_become_the_smallest_integer() {
        for (value, want) in [
            (1.9, 1),
            (-1.9, -1),
            (1e19, i64::MIN),
            (-1e19, i64::MIN),
            (f64::NAN, i64::MIN),
            (1e18, 1_000_000_000_000_000_000),
        ] {
            assert_eq!(float_to_integer(value), want, "{value}");
        }
    }
}
