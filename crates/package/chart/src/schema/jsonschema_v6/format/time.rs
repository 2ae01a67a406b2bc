//! Dates, times, durations and periods of RFC 3339.

use super::{Verdict, digits, quoted_character, refuse, whole_number};
use crate::time::{Location, Time};

pub(super) fn check_date(text: &str) -> Verdict {
    date_of(text.as_bytes())
}

fn date_of(text: &[u8]) -> Verdict {
    Time::parse(b"2006-01-02", text, &Location::Utc).map(drop)
}

pub(super) fn check_time(text: &str) -> Verdict {
    time_of(text.as_bytes())
}

fn time_of(text: &[u8]) -> Verdict {
    if text.len() < "hh:mm:ssZ".len() {
        return refuse("less than 9 characters long");
    }
    if text[2] != b':' || text[5] != b':' {
        return refuse("missing colon in correct place");
    }
    let mut clock = [0; 3];
    for (number, part) in clock.iter_mut().zip([&text[..2], &text[3..5], &text[6..8]]) {
        let Ok(value) = whole_number(&String::from_utf8_lossy(part)) else {
            return refuse("invalid hour/min/sec");
        };
        if value < 0 {
            return refuse("non-positive hour/min/sec");
        }
        *number = value;
    }
    let [mut hour, mut minute, second] = clock;
    if hour > 23 || minute > 59 || second > 60 {
        return refuse("hour/min/sec out of range");
    }
    let mut rest = &text[8..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 {
            return refuse("no digits in second fraction");
        }
        rest = &fraction[length..];
    }
    if rest != b"z" && rest != b"Z" {
        let minutes = hour * 60 + minute - offset_of(rest)?;
        // What lies before midnight belongs to the day before.
        let minutes = if minutes < 0 { minutes + 24 * 60 } else { minutes };
        (hour, minute) = (minutes / 60, minutes % 60);
    }
    if second >= 60 && (hour, minute) != (23, 59) {
        return refuse("invalid leap second");
    }
    Ok(())
}

/// Reads an offset from UTC, in minutes.
fn offset_of(text: &[u8]) -> Result<i64, String> {
    let &[sign, ref clock @ ..] = text else {
        return Err("offset must be 6 characters long".to_owned());
    };
    if clock.len() != "hh:mm".len() {
        return Err("offset must be 6 characters long".to_owned());
    }
    let sign = match sign {
        b'+' => 1,
        b'-' => -1,
        _ => return Err("offset must begin with plus/minus".to_owned()),
    };
    if clock[2] != b':' {
        return Err("missing colon in offset in correct place".to_owned());
    }
    let mut numbers = [0; 2];
    for (number, part) in numbers.iter_mut().zip([&clock[..2], &clock[3..]]) {
        let Ok(value) = whole_number(&String::from_utf8_lossy(part)) else {
            return Err("invalid hour/min in offset".to_owned());
        };
        if value < 0 {
            return Err("non-positive hour/min in offset".to_owned());
        }
        *number = value;
    }
    let [hours, minutes] = numbers;
    if hours > 23 || minutes > 59 {
        return Err("hour/min in offset out of range".to_owned());
    }
    Ok(sign * (hours * 60 + minutes))
}

pub(super) fn check_date_time(text: &str) -> Verdict {
    let bytes = text.as_bytes();
    if bytes.len() < "yyyy-mm-ddThh:mm:ssZ".len() {
        return refuse("less than 20 characters long");
    }
    if !matches!(bytes[10], b't' | b'T') {
        return refuse("11th character must be t or T");
    }
    date_of(&bytes[..10]).map_err(|error| format!("invalid date element: {error}"))?;
    time_of(&bytes[11..]).map_err(|error| format!("invalid time element: {error}"))
}

pub(super) fn check_duration(text: &str) -> Verdict {
    const UNITS: [&str; 2] = ["YMD", "HMS"];
    let Some(duration) = text.strip_prefix('P') else {
        return refuse("must start with P");
    };
    if duration.is_empty() {
        return refuse("nothing after P");
    }
    if let Some(weeks) = duration.strip_suffix('W') {
        if weeks.is_empty() {
            return refuse("no number in week");
        }
        if !weeks.bytes().all(|byte| byte.is_ascii_digit()) {
            return refuse("invalid week");
        }
        return Ok(());
    }
    for (index, part) in duration.split('T').enumerate() {
        if index != 0 && part.is_empty() {
            return refuse("no time elements");
        }
        let Some(units) = UNITS.get(index) else {
            return refuse("more than one T");
        };
        check_elements(part, units)?;
    }
    Ok(())
}

fn check_elements(part: &str, all_units: &str) -> Verdict {
    let mut units = all_units;
    let mut rest = part;
    while !rest.is_empty() {
        let (number, after) = digits(rest);
        if number.is_empty() {
            return refuse("missing number");
        }
        let Some(unit) = after.bytes().next() else {
            return refuse("missing unit");
        };
        let Some(found) = units.bytes().position(|known| known == unit) else {
            // Go takes the byte for a character.
            let shown = quoted_character(char::from(unit));
            return Err(if all_units.bytes().any(|known| known == unit) {
                format!("unit {shown} out of order")
            } else {
                format!("invalid unit {shown}")
            });
        };
        units = &units[found + 1..];
        rest = &after[1..];
    }
    Ok(())
}

pub(super) fn check_period(text: &str) -> Verdict {
    let Some((start, end)) = text.split_once('/') else {
        return refuse("missing slash");
    };
    let date_time = |which: &str, text: &str| {
        check_date_time(text).map_err(|error| format!("invalid {which} date-time: {error}"))
    };
    let duration = |which: &str, text: &str| {
        check_duration(text).map_err(|error| format!("invalid {which} duration: {error}"))
    };
    if start.starts_with('P') {
        duration("start", start)?;
        return date_time("end", end);
    }
    date_time("start", start)?;
    if end.starts_with('P') {
        duration("end", end)
    } else {
        date_time("end", end)
    }
}
