//! Dates, times and durations in text, as a schema's formats ask for them.

use gotemplate::format::quoted;

use super::formats::character;

/// Reads an integer as Go's `strconv.Atoi` does; the error is what Go says after the text.
pub(super) fn integer(text: &str) -> Result<i64, &'static str> {
    text.parse().map_err(|_| {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) {
            "value out of range"
        } else {
            "invalid syntax"
        }
    })
}

/// What is wrong with a date, in the words of Go's `time.Parse`.
pub(super) fn date_fault(text: &str) -> Option<String> {
    let cannot = |rest: &str, element: &str| {
        Some(format!(
            "parsing time {} as \"2006-01-02\": cannot parse {} as {}",
            quoted(text),
            quoted(rest),
            quoted(element)
        ))
    };
    let range = |element: &str| Some(format!("parsing time {}: {element} out of range", quoted(text)));
    let mut rest = text;
    let mut numbers = [0_u32; 3];
    for (place, (element, length)) in [("2006", 4), ("01", 2), ("02", 2)].into_iter().enumerate() {
        if place > 0 {
            match rest.strip_prefix('-') {
                Some(after) => rest = after,
                None => return cannot(rest, "-"),
            }
        }
        let digits = rest
            .get(..length)
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
        let Some(number) = digits.and_then(|digits| digits.parse().ok()) else {
            return cannot(rest, element);
        };
        numbers[place] = number;
        if place == 1 && !(1..=12).contains(&number) {
            return range("month");
        }
        rest = &rest[length..];
    }
    if !rest.is_empty() {
        return Some(format!(
            "parsing time {}: extra text: {}",
            quoted(text),
            quoted(rest)
        ));
    }
    let [year, month, day] = numbers;
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if (1..=days).contains(&day) {
        None
    } else {
        range("day")
    }
}

/// What is wrong with a time of day that names its distance from UTC.
pub(super) fn time_fault(text: &str) -> Option<String> {
    time(text).err().map(str::to_owned)
}

fn time(text: &str) -> Result<(), &'static str> {
    let bytes = text.as_bytes();
    if bytes.len() < 9 {
        return Err("less than 9 characters long");
    }
    if bytes[2] != b':' || bytes[5] != b':' {
        return Err("missing colon in correct place");
    }
    let number = |range: std::ops::Range<usize>| {
        let digits = text.get(range).ok_or("invalid hour/min/sec")?;
        let number = integer(digits).map_err(|_| "invalid hour/min/sec")?;
        if number < 0 {
            Err("non-positive hour/min/sec")
        } else {
            Ok(number)
        }
    };
    let (mut hour, mut minute, second) = (number(0..2)?, number(3..5)?, number(6..8)?);
    if hour > 23 || minute > 59 || second > 60 {
        return Err("hour/min/sec out of range");
    }
    let mut rest = text.get(8..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.trim_start_matches(|character: char| character.is_ascii_digit());
        if rest.len() == fraction.len() {
            return Err("no digits in second fraction");
        }
    }
    if !matches!(rest, "z" | "Z") {
        let ahead = offset(rest)?;
        let minutes = (hour * 60 + minute - ahead).rem_euclid(24 * 60);
        (hour, minute) = (minutes / 60, minutes % 60);
    }
    if second == 60 && (hour, minute) != (23, 59) {
        return Err("invalid leap second");
    }
    Ok(())
}

/// How many minutes a clock is ahead of UTC.
fn offset(text: &str) -> Result<i64, &'static str> {
    if text.len() != 6 {
        return Err("offset must be 6 characters long");
    }
    let sign = match text.as_bytes()[0] {
        b'+' => 1,
        b'-' => -1,
        _ => return Err("offset must begin with plus/minus"),
    };
    if text.as_bytes()[3] != b':' {
        return Err("missing colon in offset in correct place");
    }
    let number = |range: std::ops::Range<usize>| {
        let digits = text.get(range).ok_or("invalid hour/min in offset")?;
        let number = integer(digits).map_err(|_| "invalid hour/min in offset")?;
        if number < 0 {
            Err("non-positive hour/min in offset")
        } else {
            Ok(number)
        }
    };
    let (hours, minutes) = (number(1..3)?, number(4..6)?);
    if hours > 23 || minutes > 59 {
        return Err("hour/min in offset out of range");
    }
    Ok(sign * (hours * 60 + minutes))
}

/// What is wrong with a date and time of RFC 3339.
pub(super) fn date_time_fault(text: &str) -> Option<String> {
    if text.len() < 20 {
        return Some("less than 20 characters long".to_owned());
    }
    if !matches!(text.as_bytes()[10], b't' | b'T') {
        return Some("11th character must be t or T".to_owned());
    }
    // The eleventh byte is a letter, so what is before and after it is whole.
    let (date, time) = (&text[..10], &text[11..]);
    date_fault(date)
        .map(|cause| format!("invalid date element: {cause}"))
        .or_else(|| time_fault(time).map(|cause| format!("invalid time element: {cause}")))
}

/// What is wrong with a duration of ISO 8601.
pub(super) fn duration_fault(text: &str) -> Option<String> {
    let told = |fault: &str| Some(fault.to_owned());
    let Some(text) = text.strip_prefix('P') else {
        return told("must start with P");
    };
    if text.is_empty() {
        return told("nothing after P");
    }
    if let Some(weeks) = text.strip_suffix('W') {
        return match weeks {
            "" => told("no number in week"),
            _ if weeks.bytes().any(|digit| !digit.is_ascii_digit()) => told("invalid week"),
            _ => None,
        };
    }
    for (place, part) in text.split('T').enumerate() {
        if place != 0 && part.is_empty() {
            return told("no time elements");
        }
        let Some(all_units) = ["YMD", "HMS"].get(place) else {
            return told("more than one T");
        };
        if let Some(fault) = elements_fault(part, all_units) {
            return Some(fault);
        }
    }
    None
}

fn elements_fault(part: &str, all_units: &str) -> Option<String> {
    let mut units = all_units;
    let mut rest = part;
    while !rest.is_empty() {
        let after = rest.trim_start_matches(|character: char| character.is_ascii_digit());
        if after.len() == rest.len() {
            return Some("missing number".to_owned());
        }
        let Some(unit) = after.chars().next() else {
            return Some("missing unit".to_owned());
        };
        match units.split_once(unit) {
            Some((_, later)) => units = later,
            None if all_units.contains(unit) => {
                return Some(format!("unit {} out of order", character(unit)));
            }
            None => return Some(format!("invalid unit {}", character(unit))),
        }
        rest = &after[unit.len_utf8()..];
    }
    None
}

/// What is wrong with a period: a start and an end, or either and a duration.
pub(super) fn period_fault(text: &str) -> Option<String> {
    let Some((start, end)) = text.split_once('/') else {
        return Some("missing slash".to_owned());
    };
    let end_time = || date_time_fault(end).map(|cause| format!("invalid end date-time: {cause}"));
    if start.starts_with('P') {
        return duration_fault(start)
            .map(|cause| format!("invalid start duration: {cause}"))
            .or_else(end_time);
    }
    let start_time = date_time_fault(start).map(|cause| format!("invalid start date-time: {cause}"));
    start_time.or_else(|| {
        if end.starts_with('P') {
            duration_fault(end).map(|cause| format!("invalid end duration: {cause}"))
        } else {
            end_time()
        }
    })
}
