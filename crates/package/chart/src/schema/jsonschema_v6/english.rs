//! Numbers as Go's golang.org/x/text writes them for English readers.

/// The power of ten from which on a float is written with one, and below which.
const FIRST_LARGE: i32 = 6;
const FIRST_SMALL: i32 = -4;

/// Writes a whole number in groups of three digits.
pub(super) fn integer(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(&number.unsigned_abs().to_string()))
}

/// Writes a count, which is never larger than what fits into memory.
pub(super) fn count(number: usize) -> String {
    integer(number as i64)
}

/// Writes a number with as many digits as tell it from others, and with a power of ten where it is large or small.
pub(super) fn float(number: f64) -> String {
    let sign = if number < 0.0 { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}∞");
    }
    if number.is_nan() {
        return "NaN".to_owned();
    }
    // Such as `1.25e-7`.
    let scientific = format!("{:e}", number.abs());
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (FIRST_SMALL..FIRST_LARGE).contains(&exponent) {
        let plain = number.abs().to_string();
        let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
        let point = if fraction.is_empty() { "" } else { "." };
        return format!("{sign}{}{point}{fraction}", grouped(whole));
    }
    format!("{sign}{digits}×10{}", superscript(exponent))
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes an exponent above the line, with two digits at least.
fn superscript(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let sign = if exponent < 0 { "⁻" } else { "" };
    let digits = format!("{:02}", exponent.unsigned_abs());
    let digits = digits.bytes().map(|digit| DIGITS[usize::from(digit - b'0')]);
    sign.chars().chain(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_in_english() {
        for (number, expected) in [
            (0.0, "0"),
            (1234.0, "1,234"),
            (999_999.0, "999,999"),
            (1_000_000.0, "1×10⁰⁶"),
            (1_234_567.0, "1.234567×10⁰⁶"),
            (1e21, "1×10²¹"),
            (1e300, "1×10³⁰⁰"),
            (0.1, "0.1"),
            (0.00012, "0.00012"),
            (0.00001, "1×10⁻⁰⁵"),
            (-2.5, "-2.5"),
            (-1_234_567.5, "-1.2345675×10⁰⁶"),
            (12_345.678_9, "12,345.6789"),
            (0.300_000_000_000_000_04, "0.30000000000000004"),
            (9_007_199_254_740_993.0, "9.007199254740992×10¹⁵"),
            (f64::NEG_INFINITY, "-∞"),
        ] {
            assert_eq!(float(number), expected);
        }
    }

    #[test]
    fn whole_numbers_have_their_digits_in_groups() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (-1_234_567, "-1,234,567"),
            (i64::MIN, "-9,223,372,036,854,775,808"),
        ] {
            assert_eq!(integer(number), expected);
        }
    }
}
