//! `Chart.lock`: the exact versions that a chart's dependencies had when they were last resolved.

use serde::Serialize;
use serde_json::Value;

use crate::field_decoder::FieldDecoder;
use crate::go_format::quote;
use crate::metadata::{Dependency, decode_dependency_list};

/// How Go writes the time that nobody set.
const ZERO_TIME: &str = "0001-01-01T00:00:00Z";

/// The content of `Chart.lock` or `requirements.lock`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Lock {
    /// When the file was written, in RFC 3339.
    pub generated: String,
    /// A hash of the dependencies that were resolved.
    pub digest: String,
    /// The dependencies, each with one version.
    pub dependencies: Option<Vec<Option<Dependency>>>,
}

impl Default for Lock {
    fn default() -> Self {
        Self {
            generated: ZERO_TIME.to_owned(),
            digest: String::new(),
            dependencies: None,
        }
    }
}

impl Lock {
    /// Reads a decoded lock file; `null` is no lock at all. The error is Go's text.
    pub fn decode(value: &Value) -> Result<Option<Self>, String> {
        if value.is_null() {
            return Ok(None);
        }
        let mut lock = Self::default();
        let mut decoder = FieldDecoder::default();
        let names = &["generated", "digest", "dependencies"];
        decoder.structure(
            value,
            "Lock",
            "chart.Lock",
            names,
            |decoder, field, item| match field {
                "generated" => match item {
                    Value::Null => {}
                    Value::String(text) => match normalize_time(text) {
                        Ok(time) => lock.generated = time,
                        Err(message) => decoder.report(message),
                    },
                    _ => decoder.report("Time.UnmarshalJSON: input is not a JSON string".to_owned()),
                },
                "digest" => decoder.string(item, &mut lock.digest),
                _ => decode_dependency_list(decoder, item, &mut lock.dependencies),
            },
        );
        decoder.finish()?;
        Ok(Some(lock))
    }
}

/// Brings an RFC 3339 time into the form that Go writes: no zeros at the end of the fraction, `Z` for UTC.
pub(crate) fn normalize_time(text: &str) -> Result<String, String> {
    let failure = |at: usize, element: &str| {
        format!(
            "parsing time {} as \"2006-01-02T15:04:05Z07:00\": cannot parse {} as {}",
            quote(text),
            quote(text.get(at..).unwrap_or_default()),
            quote(element)
        )
    };
    let out_of_range = |what: &str| format!("parsing time {}: {what} out of range", quote(text));
    let bytes = text.as_bytes();
    let number = |from: usize, length: usize, element: &str| -> Result<u32, String> {
        bytes
            .get(from..from + length)
            .filter(|digits| digits.iter().all(u8::is_ascii_digit))
            .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok())
            .ok_or_else(|| failure(from, element))
    };
    let literal = |at: usize, expected: u8| -> Result<(), String> {
        if bytes.get(at) == Some(&expected) {
            Ok(())
        } else {
            Err(failure(at, std::str::from_utf8(&[expected]).unwrap_or_default()))
        }
    };
    let year = number(0, 4, "2006")?;
    literal(4, b'-')?;
    let month = number(5, 2, "01")?;
    if !(1..=12).contains(&month) {
        return Err(out_of_range("month"));
    }
    literal(7, b'-')?;
    let day = number(8, 2, "02")?;
    literal(10, b'T')?;
    let hour = number(11, 2, "15")?;
    if hour > 23 {
        return Err(out_of_range("hour"));
    }
    literal(13, b':')?;
    let minute = number(14, 2, "04")?;
    if minute > 59 {
        return Err(out_of_range("minute"));
    }
    literal(16, b':')?;
    let second = number(17, 2, "05")?;
    if second > 59 {
        return Err(out_of_range("second"));
    }
    let mut at = 19;
    let mut fraction = "";
    if matches!(bytes.get(at), Some(b'.' | b',')) {
        let digits = bytes[at + 1..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits > 0 {
            // Go keeps nanoseconds.
            fraction = text[at + 1..=at + digits.min(9)].trim_end_matches('0');
            at += 1 + digits;
        }
    }
    if day < 1 || day > days_in_month(year, month) {
        return Err(out_of_range("day"));
    }
    let zone = match bytes.get(at) {
        Some(b'Z') if bytes.len() == at + 1 => "Z".to_owned(),
        Some(sign @ (b'+' | b'-')) if bytes.len() == at + 6 && bytes[at + 3] == b':' => {
            let (hours, minutes) = (number(at + 1, 2, "Z07:00")?, number(at + 4, 2, "Z07:00")?);
            if hours > 24 || minutes > 60 {
                return Err(out_of_range("time zone offset"));
            }
            if hours == 0 && minutes == 0 {
                "Z".to_owned()
            } else {
                format!("{}{hours:02}:{minutes:02}", char::from(*sign))
            }
        }
        _ => return Err(failure(at, "Z07:00")),
    };
    let point = if fraction.is_empty() { "" } else { "." };
    Ok(format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{point}{fraction}{zone}"
    ))
}

/// How many days a month has.
pub(crate) fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}
