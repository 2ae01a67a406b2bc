//! Numbers as Go's strconv and encoding/json read and print them.

use std::fmt::LowerExp;

/// The shortest digits that read back as the same number: `0.d₁d₂… × 10^point`.
struct Decimal {
    negative: bool,
    digits: String,
    point: i32,
}

impl Decimal {
    /// Takes apart what Rust's `{:e}` prints, which is the shortest form, as Go's is.
    fn new(scientific: &str) -> Self {
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
        let digits = mantissa.chars().filter(char::is_ascii_digit).collect();
        Self {
            negative: mantissa.starts_with('-'),
            digits,
            point: exponent.parse::<i32>().unwrap_or_default() + 1,
        }
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }

    /// `%f`: no exponent.
    fn plain(&self) -> String {
        let count = self.digits.len() as i32;
        let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
        if self.point <= 0 {
            format!("{}0.{}{}", self.sign(), zeros(-self.point), self.digits)
        } else if self.point >= count {
            format!("{}{}{}", self.sign(), self.digits, zeros(self.point - count))
        } else {
            let (whole, fraction) = self.digits.split_at(self.point as usize);
            format!("{}{whole}.{fraction}", self.sign())
        }
    }

    /// `%e`, with at least `exponent_digits` digits in the exponent.
    fn scientific(&self, exponent_digits: usize) -> String {
        let (first, rest) = self.digits.split_at(1.min(self.digits.len()));
        let dot = if rest.is_empty() { "" } else { "." };
        let exponent = self.point - 1;
        let sign = if exponent < 0 { '-' } else { '+' };
        format!(
            "{}{first}{dot}{rest}e{sign}{:0exponent_digits$}",
            self.sign(),
            exponent.abs()
        )
    }

    /// `%g` with the shortest precision.
    fn general(&self) -> String {
        let exponent = self.point - 1;
        if (-4..GENERAL_EXPONENT_LIMIT).contains(&exponent) {
            self.plain()
        } else {
            self.scientific(2)
        }
    }
}

/// From this decimal exponent on, Go's `%g` prints an exponent.
const GENERAL_EXPONENT_LIMIT: i32 = 6;

/// Prints a number as `strconv.FormatFloat(number, 'g', -1, 64)`, with YAML's names for what is no number.
pub(crate) fn format_general(number: f64) -> String {
    if number.is_finite() {
        Decimal::new(&format!("{number:e}")).general()
    } else {
        name_of_special(number.is_nan(), number.is_sign_negative()).to_owned()
    }
}

/// As [`format_general`], but rounded to 32 bits, as sigs.k8s.io/yaml prints keys and numbers for text fields.
pub(crate) fn format_general_32(number: f64) -> String {
    let number = number as f32;
    if number.is_finite() {
        Decimal::new(&format!("{number:e}")).general()
    } else {
        name_of_special(number.is_nan(), number.is_sign_negative()).to_owned()
    }
}

fn name_of_special(nan: bool, negative: bool) -> &'static str {
    match (nan, negative) {
        (true, _) => ".nan",
        (false, true) => "-.inf",
        (false, false) => ".inf",
    }
}

/// Prints a finite number as Go's encoding/json does.
pub(crate) fn format_json(number: f64) -> String {
    let is_ordinary = number == 0.0 || (1e-6..1e21).contains(&number.abs());
    in_json(&number, is_ordinary)
}

/// Prints a finite 32-bit number as Go's encoding/json does.
pub(crate) fn format_json_32(number: f32) -> String {
    let is_ordinary = number == 0.0 || (1e-6..1e21).contains(&number.abs());
    in_json(&number, is_ordinary)
}

fn in_json(number: &impl LowerExp, is_ordinary: bool) -> String {
    let decimal = Decimal::new(&format!("{number:e}"));
    if is_ordinary {
        decimal.plain()
    } else {
        decimal.scientific(1)
    }
}

/// An integer as Go's `strconv.ParseInt` and, failing that, `ParseUint` find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Integer {
    Signed(i64),
    Unsigned(u64),
}

/// Reads an integer whose prefix tells its base: `0x`, `0o`, `0b`, or a leading zero for octal.
pub(crate) fn parse_integer(text: &str) -> Option<Integer> {
    let (negative, digits) = split_sign(text);
    let lower = |index: usize| digits.as_bytes().get(index).map(u8::to_ascii_lowercase);
    let (base, digits) = match (lower(0), lower(1)) {
        (Some(b'0'), Some(b'x')) => (16, digits.get(2..)?),
        (Some(b'0'), Some(b'o')) => (8, digits.get(2..)?),
        (Some(b'0'), Some(b'b')) => (2, digits.get(2..)?),
        (Some(b'0'), Some(_)) => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    let signed = digits.len() != text.len() && (text.starts_with('+') || text.starts_with('-'));
    parse_magnitude(digits, base).and_then(|magnitude| with_sign(magnitude, negative, signed))
}

/// Reads an integer in the given base; go-yaml does this to what follows `0b` when all else failed.
pub(crate) fn parse_integer_in(text: &str, base: u32) -> Option<Integer> {
    let (negative, digits) = split_sign(text);
    parse_magnitude(digits, base)
        .and_then(|magnitude| with_sign(magnitude, negative, digits.len() != text.len()))
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or_default()),
        Some(b'+') => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    }
}

fn parse_magnitude(digits: &str, base: u32) -> Option<u64> {
    // from_str_radix would accept another sign.
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    u64::from_str_radix(digits, base).ok()
}

fn with_sign(magnitude: u64, negative: bool, signed: bool) -> Option<Integer> {
    if negative {
        return 0i64.checked_sub_unsigned(magnitude).map(Integer::Signed);
    }
    match i64::try_from(magnitude) {
        Ok(number) => Some(Integer::Signed(number)),
        // ParseUint takes no sign.
        Err(_) if signed => None,
        Err(_) => Some(Integer::Unsigned(magnitude)),
    }
}

/// Reads a float in the form that YAML 1.1 has for it: `1.`, `.5`, `-1.5e+3`.
pub(crate) fn parse_yaml_float(text: &str) -> Option<f64> {
    let (_, unsigned) = split_sign(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(index) => (unsigned.get(..index)?, unsigned.get(index + 1..)),
        None => (unsigned, None),
    };
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed = match mantissa.split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction) && mantissa.len() > 1,
        None => digits(mantissa) && !mantissa.is_empty(),
    };
    let exponent_well_formed = exponent.is_none_or(|exponent| {
        let (_, exponent) = split_sign(exponent);
        !exponent.is_empty() && digits(exponent)
    });
    if !well_formed || !exponent_well_formed {
        return None;
    }
    // Go reports a number that is too large as an error; Rust reads infinity.
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Reads a decimal float in which underscores may separate digits, as in Go's own syntax.
pub(crate) fn parse_go_float(text: &str) -> Option<f64> {
    if !text.contains('_') {
        return parse_yaml_float(text);
    }
    let bytes = text.as_bytes();
    let is_digit = |index: Option<usize>| {
        index
            .and_then(|index| bytes.get(index))
            .is_some_and(u8::is_ascii_digit)
    };
    let separates = bytes
        .iter()
        .enumerate()
        .filter(|&(_, &byte)| byte == b'_')
        .all(|(index, _)| is_digit(index.checked_sub(1)) && is_digit(Some(index + 1)));
    if separates {
        parse_yaml_float(&text.replace('_', ""))
    } else {
        None
    }
}
