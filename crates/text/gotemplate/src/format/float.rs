//! How float64 and complex128 numbers look.

use super::layout::MAX_PADDED_OUTPUT;
use super::value::Printer;

/// No float64 has a decimal digit other than 0 after this many places or significant digits.
const MAX_EXACT_DIGITS: usize = 1_100;
/// The bits of a float64's fraction.
const FRACTION_BITS: u32 = 52;
/// The exponent of the smallest normal number, and of all subnormal ones.
const LEAST_EXPONENT: i32 = -1022;

/// Writes a float as `strconv.FormatFloat` does: verbs `e E f g G`, and `b x X` for binary and hexadecimal.
///
/// Without a precision it has the fewest digits that read back as the same number.
pub fn float_text(value: f64, verb: u8, precision: Option<usize>) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    let mut text = String::new();
    if value.is_sign_negative() {
        text.push('-');
    }
    let magnitude = value.abs();
    match verb {
        b'e' => scientific(&mut text, magnitude, precision, 'e'),
        b'E' => scientific(&mut text, magnitude, precision, 'E'),
        b'f' => fixed(&mut text, magnitude, precision),
        b'g' => general(&mut text, magnitude, precision, 'e'),
        b'G' => general(&mut text, magnitude, precision, 'E'),
        b'b' => binary(&mut text, magnitude),
        b'x' | b'X' => hexadecimal(&mut text, magnitude, precision, verb == b'X'),
        other => return format!("%{}", char::from(other)),
    }
    text
}

fn push_zeros(text: &mut String, count: usize) {
    text.push_str(&"0".repeat(count));
}

/// Returns the digits without the point, and the decimal exponent of the first digit.
fn significant_digits(magnitude: f64, count: Option<usize>) -> (String, i32) {
    let written = match count {
        Some(count) => exact_digits(magnitude, count),
        None => shortest_digits(magnitude),
    };
    let (mantissa, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    let digits = mantissa.chars().filter(|&character| character != '.').collect();
    (digits, exponent.parse().unwrap_or(0))
}

/// Writes a number with so many significant digits, rounded half to even.
fn exact_digits(magnitude: f64, count: usize) -> String {
    format!("{magnitude:.*e}", count.clamp(1, MAX_EXACT_DIGITS) - 1)
}

/// The least number of digits with which two texts can be equally near to a number and read back as it.
const LEAST_TIED_DIGITS: usize = 16;

/// Writes a number with the fewest digits that read back as it; of two that are equally near, the even one.
fn shortest_digits(magnitude: f64) -> String {
    let shortest = format!("{magnitude:e}");
    let count = shortest
        .bytes()
        .take_while(|&byte| byte != b'e')
        .filter(u8::is_ascii_digit)
        .count();
    if count < LEAST_TIED_DIGITS {
        return shortest;
    }
    let even = exact_digits(magnitude, count);
    if even.parse() == Ok(magnitude) {
        even
    } else {
        shortest
    }
}

fn scientific(text: &mut String, magnitude: f64, precision: Option<usize>, letter: char) {
    let (digits, exponent) = significant_digits(magnitude, precision.map(|places| places.saturating_add(1)));
    let places = precision.unwrap_or(digits.len() - 1);
    push_scientific(text, &digits, places, exponent, letter);
}

/// Writes the digits with the point after the first, zeros to fill the places, and the exponent.
fn push_scientific(text: &mut String, digits: &str, places: usize, exponent: i32, letter: char) {
    let (first, others) = digits.split_at(1);
    text.push_str(first);
    if places > 0 {
        text.push('.');
        text.push_str(others);
        push_zeros(text, places.saturating_sub(others.len()));
    }
    push_exponent(text, letter, exponent);
}

/// Writes an exponent with its sign and at least two digits.
fn push_exponent(text: &mut String, letter: char, exponent: i32) {
    let sign = if exponent < 0 { '-' } else { '+' };
    let magnitude = exponent.unsigned_abs();
    text.push(letter);
    text.push(sign);
    if magnitude < 10 {
        text.push('0');
    }
    text.push_str(&magnitude.to_string());
}

fn fixed(text: &mut String, magnitude: f64, precision: Option<usize>) {
    let Some(places) = precision else {
        let (digits, exponent) = significant_digits(magnitude, None);
        return push_positional(text, &digits, exponent + 1);
    };
    let exact = places.min(MAX_EXACT_DIGITS);
    let written = format!("{magnitude:.exact$}");
    text.push_str(&written);
    push_zeros(text, places - exact);
}

fn general(text: &mut String, magnitude: f64, precision: Option<usize>, letter: char) {
    let precision = precision.map(|digits| digits.max(1));
    let (digits, exponent) = significant_digits(magnitude, precision);
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        trimmed => trimmed,
    };
    let count = digits.len();
    // The place of the point, counted from the first digit.
    let point = if magnitude == 0.0 { 0 } else { exponent + 1 };
    let before_point = usize::try_from(point).unwrap_or(0);
    let zero = magnitude == 0.0;
    let significant = if zero { 0 } else { count };
    let limit = match precision {
        None => 6,
        Some(precision) if precision > significant && significant >= before_point => significant,
        Some(precision) => precision,
    };
    let decimal_exponent = point - 1;
    if decimal_exponent < -4 || decimal_exponent >= i32::try_from(limit).unwrap_or(i32::MAX) {
        push_scientific(text, digits, count - 1, decimal_exponent, letter);
        return;
    }
    if zero {
        text.push('0');
    } else {
        push_positional(text, digits, point);
    }
}

/// Writes digits with the point after the first `point` of them, and zeros where digits are missing.
fn push_positional(text: &mut String, digits: &str, point: i32) {
    let before_point = usize::try_from(point).unwrap_or(0);
    if point <= 0 {
        text.push_str("0.");
        push_zeros(text, point.unsigned_abs() as usize);
        text.push_str(digits);
    } else if digits.len() <= before_point {
        text.push_str(digits);
        push_zeros(text, before_point - digits.len());
    } else {
        let (whole, fraction) = digits.split_at(before_point);
        text.push_str(whole);
        text.push('.');
        text.push_str(fraction);
    }
}

/// Returns the integral mantissa and the exponent of its lowest bit plus [`FRACTION_BITS`].
fn mantissa_and_exponent(magnitude: f64) -> (u64, i32) {
    let bits = magnitude.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    match (bits >> FRACTION_BITS) as i32 & 0x7ff {
        0 => (fraction, LEAST_EXPONENT),
        biased => (fraction | 1 << FRACTION_BITS, biased - 1 + LEAST_EXPONENT),
    }
}

fn binary(text: &mut String, magnitude: f64) {
    let (mantissa, exponent) = mantissa_and_exponent(magnitude);
    let exponent = exponent - FRACTION_BITS as i32;
    text.push_str(&mantissa.to_string());
    text.push_str(if exponent < 0 { "p" } else { "p+" });
    text.push_str(&exponent.to_string());
}

/// The bit that holds the digit before the point while a number is made hexadecimal.
const LEADING_BIT: u32 = 60;

fn hexadecimal(text: &mut String, magnitude: f64, precision: Option<usize>, upper: bool) {
    let (mut mantissa, mut exponent) = mantissa_and_exponent(magnitude);
    if mantissa == 0 {
        exponent = 0;
    } else {
        mantissa <<= LEADING_BIT - FRACTION_BITS;
        let shift = mantissa.leading_zeros() - (63 - LEADING_BIT);
        mantissa <<= shift;
        exponent -= shift as i32;
    }
    if let Some(places) = precision.filter(|&places| places < 15) {
        let kept_bits = 4 * places as u32;
        let dropped = (mantissa << kept_bits) & ((1 << LEADING_BIT) - 1);
        let mut kept = mantissa >> (LEADING_BIT - kept_bits);
        let half = 1 << (LEADING_BIT - 1);
        if dropped > half || dropped == half && kept & 1 == 1 {
            kept += 1;
        }
        mantissa = kept << (LEADING_BIT - kept_bits);
        if mantissa >> (LEADING_BIT + 1) != 0 {
            mantissa >>= 1;
            exponent += 1;
        }
    }
    let mut digits = format!("{:015x}", mantissa & ((1 << LEADING_BIT) - 1));
    let places = precision.unwrap_or_else(|| digits.trim_end_matches('0').len());
    digits.truncate(places);
    let missing = places - digits.len();

    text.push_str(if magnitude == 0.0 { "0x0" } else { "0x1" });
    if places > 0 {
        text.push('.');
        text.push_str(&digits);
        push_zeros(text, missing);
    }
    push_exponent(text, 'p', exponent);
    if upper {
        text.make_ascii_uppercase();
    }
}

impl Printer<'_> {
    /// Writes a float with sign, padding and alternate form; returns false where the verb is not for floats.
    pub(super) fn float(&mut self, value: f64, verb: char) -> bool {
        match verb {
            'v' => self.float_with(value, b'g', None),
            'b' | 'g' | 'G' | 'x' | 'X' => self.float_with(value, verb as u8, None),
            'f' | 'F' => self.float_with(value, b'f', Some(6)),
            'e' | 'E' => self.float_with(value, verb as u8, Some(6)),
            _ => return false,
        }
        true
    }

    /// Writes a complex number; returns false where the verb is not for floats.
    pub(super) fn complex(&mut self, real: f64, imaginary: f64, verb: char) -> bool {
        if !matches!(verb, 'v' | 'b' | 'g' | 'G' | 'x' | 'X' | 'f' | 'F' | 'e' | 'E') {
            return false;
        }
        self.out.push(b'(');
        self.float(real, verb);
        let plus = std::mem::replace(&mut self.layout.plus, true);
        self.float(imaginary, verb);
        self.layout.plus = plus;
        self.out.extend_from_slice(b"i)");
        true
    }

    fn float_with(&mut self, value: f64, verb: u8, default_precision: Option<usize>) {
        let layout = self.layout;
        let room = MAX_PADDED_OUTPUT.saturating_sub(self.out.len());
        let precision = layout
            .precision
            .map(|precision| precision.min(room))
            .or(default_precision);
        let text = float_text(value, verb, precision);
        let (sign, unsigned) = match text.as_bytes() {
            [sign @ (b'-' | b'+'), unsigned @ ..] => (*sign, unsigned),
            unsigned => (b'+', unsigned),
        };
        let sign = match sign {
            b'+' if layout.space && !layout.plus => b' ',
            sign => sign,
        };
        let mut number = vec![sign];
        if value.is_finite() && layout.sharp && verb != b'b' {
            push_alternate_form(&mut number, unsigned, verb, precision);
        } else {
            number.extend_from_slice(unsigned);
        }

        let shows_sign = layout.plus || sign != b'+';
        if !value.is_finite() {
            // Go writes the plus of an infinity even unasked.
            let shows_sign = shows_sign || value.is_infinite();
            self.padded_with_spaces(&number[usize::from(!shows_sign)..]);
        } else if !shows_sign {
            self.padded(&number[1..]);
        } else if layout.zero && !layout.minus && layout.width.is_some_and(|width| width > number.len()) {
            // The sign comes before the zeros.
            self.out.push(sign);
            self.padding(layout.width.unwrap_or(0) - number.len());
            self.out.extend_from_slice(&number[1..]);
        } else {
            self.padded(&number);
        }
    }
}

/// Writes a number as `#` asks for it: always with a point, and with the zeros that `%g` and `%x` leave out.
fn push_alternate_form(out: &mut Vec<u8>, number: &[u8], verb: u8, precision: Option<usize>) {
    let exponent_letters: &[u8] = if matches!(verb, b'x' | b'X') { b"pP" } else { b"eE" };
    let split = number
        .iter()
        .position(|byte| exponent_letters.contains(byte))
        .unwrap_or(number.len());
    let (mantissa, exponent) = number.split_at(split);
    let has_point = mantissa.contains(&b'.');
    // All that is not the point counts, the `x` of a hexadecimal prefix too: so does Go.
    let significant = mantissa
        .iter()
        .filter(|&&byte| byte != b'.')
        .skip_while(|&&byte| byte == b'0')
        .count();
    let leading_zero = usize::from(mantissa == b"0");
    let wanted = match verb {
        b'g' | b'G' | b'x' => precision.unwrap_or(6),
        _ => 0,
    };
    out.extend_from_slice(mantissa);
    if !has_point {
        out.push(b'.');
    }
    out.resize(
        out.len() + wanted.saturating_sub(significant + leading_zero),
        b'0',
    );
    out.extend_from_slice(exponent);
}
