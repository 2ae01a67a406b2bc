//! Values that Go reads in a way of their own: times, quantities and bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use gotemplate::format::quoted;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

/// The layout of times with whole seconds, in Go's way of writing layouts.
const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
/// The layout of times with microseconds.
const MICROSECONDS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Reads a time and returns it as it is written: in UTC, with whole seconds.
pub(super) fn time(text: &str) -> Result<String, String> {
    let instant = parse_time(text, SECONDS)?;
    Ok(instant.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Reads a time with six digits behind the seconds and returns it as it is written: in UTC.
pub(super) fn micro_time(text: &str) -> Result<String, String> {
    let instant = parse_time(text, MICROSECONDS)?;
    let micros = instant.subsec_nanosecond() / 1_000;
    Ok(format!("{}.{micros:06}Z", instant.strftime("%Y-%m-%dT%H:%M:%S")))
}

/// The rest of the text of a time, and what is said when it doesn't fit.
struct TimeText<'t> {
    whole: &'t str,
    rest: &'t str,
    layout: &'static str,
}

impl<'t> TimeText<'t> {
    fn mismatch(&self, element: &str) -> String {
        format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quoted(self.whole),
            quoted(self.layout),
            quoted(self.rest),
            quoted(element)
        )
    }

    fn out_of_range(&self, what: &str) -> String {
        format!("parsing time {}: {what} out of range", quoted(self.whole))
    }

    /// Takes a number with exactly so many digits.
    fn number(&mut self, digits: usize, element: &str) -> Result<i16, String> {
        let number = self
            .rest
            .get(..digits)
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| self.mismatch(element))?;
        self.rest = self.rest.get(digits..).unwrap_or_default();
        Ok(number)
    }

    fn separator(&mut self, separator: &str) -> Result<(), String> {
        match self.rest.strip_prefix(separator) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(self.mismatch(separator)),
        }
    }

    /// Takes a point and the digits behind it.
    fn fraction(&mut self) -> Option<&'t str> {
        let digits = self
            .rest
            .strip_prefix('.')
            .or_else(|| self.rest.strip_prefix(','))?;
        let length = digits
            .bytes()
            .position(|byte| !byte.is_ascii_digit())
            .unwrap_or(digits.len());
        if length == 0 {
            return None;
        }
        self.rest = digits.get(length..).unwrap_or_default();
        digits.get(..length)
    }

    fn offset(&mut self) -> Result<Offset, String> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(Offset::UTC);
        }
        let unfit = self.mismatch("Z07:00");
        let (text, rest) = self.rest.split_at_checked(6).ok_or_else(|| unfit.clone())?;
        let bytes = text.as_bytes();
        let (Some(sign @ (b'+' | b'-')), Some(b':')) = (bytes.first(), bytes.get(3)) else {
            return Err(unfit);
        };
        let number = |from: usize| -> Option<i32> {
            let digits = text.get(from..from + 2)?;
            digits
                .bytes()
                .all(|byte| byte.is_ascii_digit())
                .then(|| digits.parse().ok())
                .flatten()
        };
        let (Some(hours), Some(minutes)) = (number(1), number(4)) else {
            return Err(unfit);
        };
        if hours > 24 {
            return Err(self.out_of_range("time zone offset hour"));
        }
        if minutes > 60 {
            return Err(self.out_of_range("time zone offset minute"));
        }
        self.rest = rest;
        let seconds = (hours * 60 + minutes) * 60;
        Offset::from_seconds(if *sign == b'-' { -seconds } else { seconds })
            .map_err(|_| self.out_of_range("time zone offset hour"))
    }
}

fn parse_time(text: &str, layout: &'static str) -> Result<DateTime, String> {
    let mut at = TimeText {
        whole: text,
        rest: text,
        layout,
    };
    let year = at.number(4, "2006")?;
    at.separator("-")?;
    let month = at.number(2, "01")?;
    if !(1..=12).contains(&month) {
        return Err(at.out_of_range("month"));
    }
    at.separator("-")?;
    let day = at.number(2, "02")?;
    at.separator("T")?;
    // Of the numbers in a time, Go takes only the hour with one digit too.
    let hour_digits = if at.rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit) {
        2
    } else {
        1
    };
    let hour = at.number(hour_digits, "15")?;
    if hour > 23 {
        return Err(at.out_of_range("hour"));
    }
    at.separator(":")?;
    let minute = at.number(2, "04")?;
    if minute > 59 {
        return Err(at.out_of_range("minute"));
    }
    at.separator(":")?;
    let second = at.number(2, "05")?;
    if second > 59 {
        return Err(at.out_of_range("second"));
    }
    let nanoseconds = if layout == MICROSECONDS {
        let digits = at
            .rest
            .strip_prefix('.')
            .and_then(|digits| digits.get(..6))
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
            .ok_or_else(|| at.mismatch(".000000"))?;
        at.rest = at.rest.get(7..).unwrap_or_default();
        digits.parse::<i32>().unwrap_or_default() * 1_000
    } else {
        at.fraction().map_or(0, |digits| {
            let nine: String = digits.chars().chain("000000000".chars()).take(9).collect();
            nine.parse().unwrap_or_default()
        })
    };
    let offset = at.offset()?;
    if !at.rest.is_empty() {
        return Err(format!(
            "parsing time {}: extra text: {}",
            quoted(text),
            quoted(at.rest)
        ));
    }
    let local = DateTime::new(
        year,
        month as i8,
        day as i8,
        hour as i8,
        minute as i8,
        second as i8,
        nanoseconds,
    )
    .map_err(|_| at.out_of_range("day"))?;
    if offset == Offset::UTC {
        return Ok(local);
    }
    let instant: Timestamp = offset.to_timestamp(local).map_err(|_| at.out_of_range("day"))?;
    Ok(instant.to_zoned(TimeZone::UTC).datetime())
}

/// Reads a quantity as it stands in JSON, a string or anything else, and returns it as it is written.
pub(super) fn quantity(json: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(json);
    let inner = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(&text);
    bundle::rendering::quantity::canonical(inner.trim()).map_err(|error| error.to_string())
}

/// Reads bytes in base64 and returns them in the one form that is written. Line breaks are allowed, as in Go.
pub(super) fn bytes(text: &str) -> Result<String, String> {
    let refusal = |at: usize| format!("illegal base64 data at input byte {at}");
    check_base64(text.as_bytes()).map_err(refusal)?;
    let compact: Vec<u8> = text.bytes().filter(|byte| !is_line_break(*byte)).collect();
    let decoded = FORGIVING.decode(&compact).map_err(|_| refusal(text.len()))?;
    Ok(base64_text(&decoded))
}

/// Returns bytes as they are written.
pub(super) fn base64_text(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// As Go's: bits behind the last byte are ignored.
const FORGIVING: base64::engine::GeneralPurpose = base64::engine::GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    base64::engine::GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

fn is_line_break(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// Finds the byte that Go's decoder names when it refuses.
fn check_base64(text: &[u8]) -> Result<(), usize> {
    let mut at = 0;
    let skip_breaks = |mut at: usize| {
        while text.get(at).copied().is_some_and(is_line_break) {
            at += 1;
        }
        at
    };
    // Where the next character stands in its group of four.
    let mut place = 0;
    while let Some(byte) = text.get(at) {
        at += 1;
        if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/') {
            place = (place + 1) % 4;
            continue;
        }
        if is_line_break(*byte) {
            continue;
        }
        if *byte != b'=' || place < 2 {
            return Err(at - 1);
        }
        if place == 2 {
            at = skip_breaks(at);
            match text.get(at) {
                None => return Err(text.len()),
                Some(b'=') => at += 1,
                Some(_) => return Err(at - 1),
            }
        }
        at = skip_breaks(at);
        return if at < text.len() { Err(at) } else { Ok(()) };
    }
    if place == 0 { Ok(()) } else { Err(at - place) }
}
