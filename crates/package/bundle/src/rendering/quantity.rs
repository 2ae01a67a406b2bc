//! Quantities of resources, such as `500m` and `1Gi`, and the one form that Kubernetes writes each in.

use num_bigint::{BigInt, Sign};

/// The largest power of ten of a quantity. Kubernetes' resources end at 10^18; the digits must fit into memory.
const MAXIMUM_EXPONENT: i32 = 1_000;

/// The longest text of a quantity. Those that people write have a dozen characters.
const MAXIMUM_LENGTH: usize = 1_000;

/// The smallest power of ten that a quantity is exact to: nano.
const FINEST: i32 = -9;

/// The digits that a 64-bit integer always holds, which decides how Kubernetes reads a quantity.
const DIGITS_OF_INTEGER: usize = 18;

/// Why text is no quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// It doesn't look like a number with a unit.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// The number can't be read.
    #[error("unable to parse numeric part of quantity")]
    Number,
    /// There is no such unit.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Notation {
    /// `m`, `k`, `M` and so on.
    Decimal,
    /// `Ki`, `Mi` and so on.
    Binary,
    /// `e3`.
    Exponent,
}

const DECIMAL_UNITS: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

const BINARY_UNITS: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// The text of a quantity, taken apart.
struct Parts<'t> {
    negative: bool,
    /// The digits before the point, without leading zeros.
    whole: &'t str,
    fraction: &'t str,
    suffix: &'t str,
}

/// The form that Kubernetes writes a quantity in once it has read it: `1000m` is `1`, `1024Ki` is `1Mi`.
///
/// # Errors
///
/// When the text is no quantity.
pub fn canonical(text: &str) -> Result<String, QuantityError> {
    if text.is_empty() || text.len() > MAXIMUM_LENGTH {
        return Err(QuantityError::Format);
    }
    let parts = take_apart(text).ok_or(QuantityError::Format)?;
    let (exponent, notation) = unit(parts.suffix).ok_or(QuantityError::Suffix)?;
    if text == "0" || is_kept(&parts, exponent, notation) {
        return Ok(text.to_owned());
    }
    let number = text.strip_suffix(parts.suffix).unwrap_or(text);
    let has_digits = number.contains(|character: char| character.is_ascii_digit());
    if !has_digits && !fits_integer(&parts, exponent, notation) {
        return Err(QuantityError::Number);
    }
    let digits = format!("0{}{}", parts.whole, parts.fraction);
    let mut digits: BigInt = digits.parse().map_err(|_| QuantityError::Number)?;
    if parts.negative {
        digits = -digits;
    }
    let mut power = power_of(&parts, exponent);
    if notation == Notation::Binary {
        digits <<= exponent;
        power = power_of(&parts, 0);
    }
    digits = round_up(digits, &mut power);
    if notation == Notation::Binary {
        cut_down(&mut digits, &mut power);
    }
    Ok(written(digits, power, notation))
}

/// More than a 64-bit integer holds is cut down to what it holds.
fn cut_down(digits: &mut BigInt, power: &mut i32) {
    let unit = BigInt::from(10).pow(power.unsigned_abs());
    let most = BigInt::from(i64::MAX);
    if *digits.magnitude() > *(&most * unit).magnitude() {
        *digits = if digits.sign() == Sign::Minus { -most } else { most };
        *power = 0;
    }
}

fn take_apart(text: &str) -> Option<Parts<'_>> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_digit = |character: char| character.is_ascii_digit();
    let unpadded = unsigned.trim_start_matches('0');
    let rest = unpadded.trim_start_matches(is_digit);
    let whole = &unpadded[..unpadded.len() - rest.len()];
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => {
            let suffix = rest.trim_start_matches(is_digit);
            (&rest[..rest.len() - suffix.len()], suffix)
        }
        None => ("", rest),
    };
    let after_letters = suffix.trim_start_matches(|character| "eEinumkKMGTP".contains(character));
    let after_sign = after_letters.strip_prefix(['+', '-']).unwrap_or(after_letters);
    after_sign.chars().all(is_digit).then_some(Parts {
        negative: text.starts_with('-'),
        whole,
        fraction,
        suffix,
    })
}

/// The power that a unit stands for, of ten or of two.
fn unit(suffix: &str) -> Option<(i32, Notation)> {
    if let Some((_, exponent)) = DECIMAL_UNITS.iter().find(|(unit, _)| *unit == suffix) {
        return Some((*exponent, Notation::Decimal));
    }
    if let Some((_, exponent)) = BINARY_UNITS
        .iter()
        .zip((0..).step_by(10))
        .find(|(unit, _)| **unit == suffix)
    {
        return Some((exponent, Notation::Binary));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    (-MAXIMUM_EXPONENT..=MAXIMUM_EXPONENT)
        .contains(&exponent)
        .then_some((exponent, Notation::Exponent))
}

/// Whether Kubernetes reads the number as a 64-bit integer; it goes by the length of the text.
fn fits_integer(parts: &Parts<'_>, exponent: i32, notation: Notation) -> bool {
    let length = parts.whole.len().max(1) + parts.fraction.len();
    if notation == Notation::Binary {
        let room = 14 - i64::try_from(length).unwrap_or(i64::MAX) - i64::from(exponent) * 3 / 10;
        return parts.fraction.is_empty() && room >= 0;
    }
    length <= DIGITS_OF_INTEGER && power_of(parts, exponent) >= FINEST
}

/// Whether Kubernetes finds the text good enough to keep it. It looks only at a few digits, so `+5` and `1.` stay.
fn is_kept(parts: &Parts<'_>, exponent: i32, notation: Notation) -> bool {
    if !fits_integer(parts, exponent, notation) {
        return false;
    }
    let digits = format!("{}{}", parts.whole, parts.fraction);
    if notation == Notation::Binary {
        return digits.parse::<i64>().is_ok_and(|number| number & 0x07 != 0);
    }
    power_of(parts, exponent) % 3 == 0 && !digits.ends_with("000") && !parts.whole.is_empty()
}

/// The power of ten of the last digit.
fn power_of(parts: &Parts<'_>, exponent: i32) -> i32 {
    exponent.saturating_sub(i32::try_from(parts.fraction.len()).unwrap_or(i32::MAX))
}

/// Rounds away from zero to what a quantity is exact to: whoever asks for a little gets something.
fn round_up(digits: BigInt, power: &mut i32) -> BigInt {
    if *power >= FINEST || digits == BigInt::ZERO {
        return digits;
    }
    let divisor = BigInt::from(10).pow(power.abs_diff(FINEST));
    *power = FINEST;
    let rest = &digits % &divisor;
    let mut rounded = digits / &divisor;
    if rest > BigInt::ZERO {
        rounded += 1;
    } else if rest < BigInt::ZERO {
        rounded -= 1;
    }
    rounded
}

fn written(mut digits: BigInt, mut power: i32, notation: Notation) -> String {
    if digits == BigInt::ZERO {
        return "0".to_owned();
    }
    while &digits % 10 == BigInt::ZERO {
        digits /= 10;
        power += 1;
    }
    if notation == Notation::Binary && power >= 0 {
        let number = &digits * BigInt::from(10).pow(power.unsigned_abs());
        if *number.magnitude() >= 1024_u32.into() {
            return in_binary(number);
        }
    }
    while power.rem_euclid(3) != 0 {
        digits *= 10;
        power -= 1;
    }
    let unit = DECIMAL_UNITS.iter().find(|(_, exponent)| *exponent == power);
    match unit {
        _ if power == 0 => digits.to_string(),
        Some((unit, _)) if notation != Notation::Exponent => format!("{digits}{unit}"),
        // Upstream leaves the unit out where there is none so large, which makes a small number of a large one.
        _ => format!("{digits}e{power}"),
    }
}

fn in_binary(mut number: BigInt) -> String {
    let mut units = BINARY_UNITS.iter();
    let mut unit = units.next();
    while &number % 1024 == BigInt::ZERO
        && let Some(next) = units.next()
    {
        number /= 1024;
        unit = Some(next);
    }
    format!("{number}{}", unit.copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_as_kubernetes_writes_them() {
        for (text, expected) in [
            ("0.5", "500m"),
            ("1000m", "1"),
            ("1024Ki", "1Mi"),
            ("1500m", "1500m"),
            ("-1.5Gi", "-1536Mi"),
            ("0.1m", "100u"),
            ("1E", "1E"),
            ("12e6", "12e6"),
            ("12000000", "12M"),
            ("1e-10", "1e-9"),
            ("1.25", "1250m"),
            ("1.5Ki", "1536"),
            ("0.5Ki", "512"),
            ("1000k", "1M"),
            ("0", "0"),
            ("0.0", "0"),
            ("+5", "+5"),
            ("1.", "1."),
            (".5", "500m"),
            ("12Pi", "12Pi"),
            ("0.5n", "1n"),
            ("m", "0"),
            ("1000E", "1e21"),
            ("16Ei", "9223372036854775807"),
            ("-86.6Ei", "-9223372036854775807"),
        ] {
            assert_eq!(canonical(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_is_refused_in_kubernetes_words() {
        for (text, error) in [
            ("", QuantityError::Format),
            ("abc", QuantityError::Format),
            ("128MB", QuantityError::Format),
            ("1.2.3", QuantityError::Format),
            ("1 ", QuantityError::Format),
            ("true", QuantityError::Format),
            (".Ei", QuantityError::Number),
            ("1mm", QuantityError::Suffix),
            ("1e", QuantityError::Suffix),
            ("1e999999999999", QuantityError::Suffix),
        ] {
            assert_eq!(canonical(text), Err(error), "{text}");
        }
    }
}
