//! Numbers as messages about a configuration print them.

use num_bigint::BigInt;

/// A decimal number: its sign, its digits, and the power of ten of the first of them.
struct Scientific {
    negative: bool,
    digits: String,
    exponent: i32,
}

impl Scientific {
    /// The fewest digits that tell `number` from its neighbours.
    fn new(number: f64) -> Self {
        let text = format!("{number:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        Self {
            negative: mantissa.starts_with('-'),
            digits: mantissa.chars().filter(char::is_ascii_digit).collect(),
            exponent: exponent.parse().unwrap_or_default(),
        }
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }

    /// Go turns to powers of ten below 0.0001 and from a million on.
    fn needs_power(&self) -> bool {
        !(-4..6).contains(&self.exponent)
    }

    fn mantissa(&self) -> String {
        let (first, rest) = self.digits.split_at(1);
        if rest.is_empty() {
            first.to_owned()
        } else {
            format!("{first}.{rest}")
        }
    }

    /// The digits before and after the point, for a number that needs no power of ten.
    fn plain(&self) -> (String, String) {
        let Ok(whole) = usize::try_from(self.exponent + 1) else {
            let zeros = usize::try_from(-self.exponent - 1).unwrap_or_default();
            return ("0".to_owned(), "0".repeat(zeros) + &self.digits);
        };
        if whole == 0 {
            return ("0".to_owned(), self.digits.clone());
        }
        let padded = format!("{:0<whole$}", self.digits);
        let (before, after) = padded.split_at(whole);
        (before.to_owned(), after.to_owned())
    }
}

/// A number as Go's `%v` prints it.
pub(super) fn go(number: f64) -> String {
    let parts = Scientific::new(number);
    if parts.needs_power() {
        let sign = if parts.exponent < 0 { '-' } else { '+' };
        return format!(
            "{}{}e{sign}{:02}",
            parts.sign(),
            parts.mantissa(),
            parts.exponent.abs()
        );
    }
    let (before, after) = parts.plain();
    joined(parts.sign(), &before, &after)
}

/// A number as English prints it: thousands apart, powers of ten raised.
pub(super) fn english(number: f64) -> String {
    let parts = Scientific::new(number);
    if parts.needs_power() {
        let raised: String = format!("{:02}", parts.exponent.abs())
            .bytes()
            .map(|digit| RAISED[usize::from(digit.saturating_sub(b'0')) % RAISED.len()])
            .collect();
        let sign = if parts.exponent < 0 { "⁻" } else { "" };
        return format!("{}{}×10{sign}{raised}", parts.sign(), parts.mantissa());
    }
    let (before, after) = parts.plain();
    joined(parts.sign(), &thousands_apart(&before), &after)
}

const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

fn joined(sign: &str, before: &str, after: &str) -> String {
    let point = if after.is_empty() { "" } else { "." };
    format!("{sign}{before}{point}{after}")
}

/// A count as English prints it.
pub(super) fn count(number: usize) -> String {
    thousands_apart(&number.to_string())
}

fn thousands_apart(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Whether `number` is `factor` times an integer, by their decimal digits: 0.3 is three times 0.1.
pub(super) fn is_multiple(number: f64, factor: f64) -> bool {
    let (number, factor) = (Scientific::new(number), Scientific::new(factor));
    let power = |parts: &Scientific| {
        parts.exponent
            - i32::try_from(parts.digits.len())
                .unwrap_or(i32::MAX)
                .saturating_sub(1)
    };
    let lowest = power(&number).min(power(&factor));
    let scaled = |parts: &Scientific| {
        let digits: BigInt = parts.digits.parse().unwrap_or_default();
        digits * BigInt::from(10).pow(power(parts).abs_diff(lowest))
    };
    let (number, factor) = (scaled(&number), scaled(&factor));
    factor != BigInt::ZERO && number % factor == BigInt::ZERO
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_gos_printers_write_them() {
        for (number, in_go, in_english) in [
            (0.0, "0", "0"),
            (-5.0, "-5", "-5"),
            (70_000.0, "70000", "70,000"),
            (999_999.0, "999999", "999,999"),
            (1_000_000.0, "1e+06", "1×10⁰⁶"),
            (1_234_567.891, "1.234567891e+06", "1.234567891×10⁰⁶"),
            (12_345.678, "12345.678", "12,345.678"),
            (1e21, "1e+21", "1×10²¹"),
            (-1e-9, "-1e-09", "-1×10⁻⁰⁹"),
            (0.07, "0.07", "0.07"),
            (0.5, "0.5", "0.5"),
            (0.000_12, "0.00012", "0.00012"),
        ] {
            assert_eq!(
                (go(number).as_str(), english(number).as_str()),
                (in_go, in_english)
            );
        }
        assert_eq!(count(1_200), "1,200");
        assert_eq!(count(999), "999");
    }

    #[test]
    fn multiples_go_by_decimal_digits() {
        assert!(is_multiple(0.3, 0.1) && is_multiple(0.0, 7.0) && is_multiple(1e22, 1e21));
        assert!(!is_multiple(0.35, 0.1) && !is_multiple(-5.0, 65_535.0) && !is_multiple(1.0, 0.0));
    }
}
