//! `'%s is %d'.format([…])`.
//!
//! The same reading of a format string serves the check of literals, which knows only types, and the function itself.

use gotemplate::format::float_text;

use super::Function;
use super::conversion::to_string;
use crate::value::{Failure, Outcome, Value};

/// How many digits follow the point when the clause doesn't say.
const PRECISION: usize = 6;

/// The most digits that a clause may ask for; Go's printer has the same limit.
const MOST_DIGITS: usize = 1_000_000;

pub(super) fn overload(id: &str) -> Option<Function> {
    (id == "string_format").then_some(format as Function)
}

/// What a clause asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clause {
    Text,
    Decimal,
    Fixed(Option<usize>),
    Scientific(Option<usize>),
    Binary,
    Hexadecimal { upper: bool },
    Octal,
}

impl Clause {
    /// Says that a value of that type can't be written so.
    pub(crate) fn refusal(self, found: &str) -> String {
        let rule = match self {
            Self::Text => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, \
                 durations, and timestamps"
            }
            Self::Decimal => "decimal clause can only be used on integers",
            Self::Fixed(_) => "fixed-point clause can only be used on doubles",
            Self::Scientific(_) => "scientific clause can only be used on doubles",
            Self::Binary => "only integers and bools can be formatted as binary",
            Self::Hexadecimal { .. } => "only integers, byte buffers, and strings can be formatted as hex",
            Self::Octal => "octal clause can only be used on integers",
        };
        format!("{rule}, was given {found}")
    }
}

/// Reads a format string: `write` gets each clause with the number of its argument. Texts between clauses and the
/// results are put together.
pub(crate) fn interpolate<E: From<String>>(
    format: &str,
    arguments: usize,
    mut write: impl FnMut(usize, Clause) -> Result<String, E>,
) -> Result<String, E> {
    let mut written = String::new();
    let mut next = 0;
    let mut left = format;
    while let Some(start) = left.find('%') {
        written.push_str(left.get(..start).unwrap_or_default());
        let rest = left.get(start + 1..).unwrap_or_default();
        if let Some(rest) = rest.strip_prefix('%') {
            written.push('%');
            left = rest;
            continue;
        }
        let missing = || format!("index {next} out of range");
        if next >= arguments && !rest.is_empty() {
            return Err(missing().into());
        }
        if rest.is_empty() {
            let message = if next >= arguments {
                missing()
            } else {
                "unexpected end of string".to_owned()
            };
            return Err(message.into());
        }
        let (clause, rest) =
            read_clause(rest).map_err(|cause| format!("could not parse formatting clause: {cause}"))?;
        written.push_str(&write(next, clause)?);
        next += 1;
        left = rest;
    }
    written.push_str(left);
    Ok(written)
}

fn read_clause(text: &str) -> Result<(Clause, &str), String> {
    let (precision, rest) = match text.strip_prefix('.') {
        None => (None, text),
        Some(rest) => {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, rest) = rest.split_at_checked(digits).unwrap_or((rest, ""));
            if rest.is_empty() {
                return Err(
                    "error while parsing precision: could not find end of precision specifier".to_owned(),
                );
            }
            let precision = number.parse::<usize>().map_err(|_| {
                format!(
                    "error while parsing precision: error while converting precision to integer: strconv.Atoi: \
                     parsing \"{number}\": invalid syntax"
                )
            })?;
            (Some(precision.min(MOST_DIGITS)), rest)
        }
    };
    // The clause is one byte; of a wider character, Go sees its first byte.
    let first = rest.bytes().next().unwrap_or_default();
    let clause = match first {
        b's' => Clause::Text,
        b'd' => Clause::Decimal,
        b'f' => Clause::Fixed(precision),
        b'e' => Clause::Scientific(precision),
        b'b' => Clause::Binary,
        b'x' => Clause::Hexadecimal { upper: false },
        b'X' => Clause::Hexadecimal { upper: true },
        b'o' => Clause::Octal,
        other => {
            return Err(format!(
                "unrecognized formatting clause \"{}\"",
                char::from(other)
            ));
        }
    };
    Ok((clause, rest.get(1..).unwrap_or_default()))
}

fn format<'a>(arguments: &[Value<'a>]) -> Outcome<'a> {
    let [Value::String(format), Value::List(list)] = arguments else {
        return Err(Failure::no_such_overload());
    };
    let written = interpolate(
        format,
        list.len(),
        |index, clause| -> Result<String, FormatFailure> {
            let value = list
                .get(index)
                .ok_or_else(|| format!("index {index} out of range"))??;
            Ok(write(&value, clause).map_err(|cause| format!("error during formatting: {cause}"))?)
        },
    );
    written.map(Value::string).map_err(|failure| failure.0)
}

/// Lets the texts of the reader become failures of the function.
struct FormatFailure(Failure);

impl From<String> for FormatFailure {
    fn from(message: String) -> Self {
        Self(Failure::new(message))
    }
}

impl From<Failure> for FormatFailure {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

fn write(value: &Value<'_>, clause: Clause) -> Result<String, String> {
    let refused = || clause.refusal(value.type_name());
    match clause {
        Clause::Text => text(value),
        Clause::Decimal => match value {
            Value::Int(number) => Ok(number.to_string()),
            Value::Uint(number) => Ok(number.to_string()),
            _ => Err(refused()),
        },
        Clause::Fixed(precision) => {
            let number = double(value).ok_or_else(refused)?;
            Ok(fixed(number, precision.unwrap_or(PRECISION)))
        }
        Clause::Scientific(precision) => {
            let number = double(value).ok_or_else(refused)?;
            Ok(scientific(number, precision.unwrap_or(PRECISION)))
        }
        Clause::Binary => match value {
            Value::Int(number) if *number < 0 => Ok(format!("-{:b}", number.unsigned_abs())),
            Value::Int(number) => Ok(format!("{number:b}")),
            Value::Uint(number) => Ok(format!("{number:b}")),
            Value::Bool(value) => Ok(u8::from(*value).to_string()),
            _ => Err(refused()),
        },
        Clause::Octal => match value {
            Value::Int(number) if *number < 0 => Ok(format!("-{:o}", number.unsigned_abs())),
            Value::Int(number) => Ok(format!("{number:o}")),
            Value::Uint(number) => Ok(format!("{number:o}")),
            _ => Err(refused()),
        },
        Clause::Hexadecimal { upper } => {
            let bytes = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
            let written = match value {
                Value::Int(number) if *number < 0 => format!("-{:x}", number.unsigned_abs()),
                Value::Int(number) => format!("{number:x}"),
                Value::Uint(number) => format!("{number:x}"),
                Value::String(text) => bytes(text.as_bytes()),
                Value::Bytes(raw) => bytes(raw),
                _ => return Err(refused()),
            };
            Ok(if upper {
                written.to_ascii_uppercase()
            } else {
                written
            })
        }
    }
}

/// Returns the number of a fixed-point or scientific clause: a double, or the name of one that is no number.
fn double(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Double(number) => Some(*number),
        Value::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn no_number(number: f64) -> Option<&'static str> {
    if number.is_nan() {
        Some("NaN")
    } else if number == f64::INFINITY {
        Some("∞")
    } else if number == f64::NEG_INFINITY {
        Some("-∞")
    } else {
        None
    }
}

/// Writes a number as English readers have it: `1,234.500000`.
fn fixed(number: f64, precision: usize) -> String {
    if let Some(name) = no_number(number) {
        return name.to_owned();
    }
    let plain = float_text(number, b'f', Some(precision));
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", plain.as_str()),
    };
    let (whole, fraction) = digits
        .split_once('.')
        .map_or((digits, None), |(whole, part)| (whole, Some(part)));
    let mut grouped = String::from(sign);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if let Some(fraction) = fraction {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

/// The digits of an exponent.
const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

/// Writes a number as English readers have it: `1.500000×10⁰³`.
fn scientific(number: f64, precision: usize) -> String {
    if let Some(name) = no_number(number) {
        return name.to_owned();
    }
    let plain = float_text(number, b'e', Some(precision));
    let Some((mantissa, exponent)) = plain.split_once('e') else {
        return plain;
    };
    let raised: String = exponent
        .chars()
        .filter_map(|character| match character {
            '-' => Some('⁻'),
            digit => digit
                .to_digit(10)
                .and_then(|digit| RAISED.get(digit as usize).copied()),
        })
        .collect();
    format!("{mantissa}×10{raised}")
}

fn text(value: &Value<'_>) -> Result<String, String> {
    match value {
        Value::List(list) => {
            let items: Result<Vec<String>, String> = list
                .iter()
                .map(|item| member(&item.map_err(|failure| failure.to_string())?))
                .collect();
            Ok(format!("[{}]", items?.join(", ")))
        }
        Value::Map(map) => {
            let mut entries = Vec::new();
            for (key, value) in map.entries() {
                let key = match &key {
                    Value::String(_) | Value::Bool(_) | Value::Int(_) | Value::Uint(_) => member(&key)?,
                    other => {
                        return Err(format!(
                            "no formatting function for map key of type {}",
                            other.type_name()
                        ));
                    }
                };
                entries.push((key, member(&value.map_err(|failure| failure.to_string())?)?));
            }
            entries.sort();
            let entries: Vec<String> = entries
                .into_iter()
                .map(|(key, value)| format!("{key}:{value}"))
                .collect();
            Ok(format!("{{{}}}", entries.join(", ")))
        }
        Value::Null => Ok("null".to_owned()),
        Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::Bool(_)
        | Value::String(_)
        | Value::Timestamp(_)
        | Value::Bytes(_)
        | Value::Duration(_)
        | Value::Type(_) => match to_string(std::slice::from_ref(value)) {
            Ok(Value::String(text)) => Ok(text.to_string()),
            Ok(_) => Err("could not convert argument to string".to_owned()),
            Err(failure) => Err(format!(
                "could not convert argument {} to string",
                quoted(&failure.to_string())
            )),
        },
        other => Err(Clause::Text.refusal(other.type_name())),
    }
}

fn quoted(text: &str) -> String {
    gotemplate::format::quoted(text)
}

/// Writes a part of a list or a map, so that it can be read as an expression again.
fn member(value: &Value<'_>) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(quoted(text)),
        Value::Bytes(_) => Ok(format!("b{}", quoted(&text(value)?))),
        Value::Double(number) if !number.is_finite() => {
            Ok(quoted(&float_text(*number, b'f', Some(PRECISION))))
        }
        Value::Double(number) => Ok(float_text(*number, b'f', Some(PRECISION))),
        Value::Timestamp(_) => Ok(format!("timestamp({})", quoted(&text(value)?))),
        Value::Duration(_) => Ok(format!("duration({})", quoted(&text(value)?))),
        Value::Null
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Bool(_)
        | Value::Type(_)
        | Value::List(_)
        | Value::Map(_) => text(value),
        other => Err(format!("no formatting function for {}", other.type_name())),
    }
}
