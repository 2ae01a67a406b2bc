//! Durations and points in time: how they are read, written and taken apart.

use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, Zoned};

use super::Function;
use crate::value::{Failure, Outcome, Value};

pub(super) const DURATION_OVERFLOW: &str = "duration overflow";

/// The first and the last second that expressions know: the years 1 to 9999.
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_402_300_799;

/// Returns whether expressions know that point in time.
pub(crate) fn in_range(time: Timestamp) -> bool {
    (FIRST_SECOND..=LAST_SECOND).contains(&time.as_second())
}

pub(super) fn overload(id: &str) -> Option<Function> {
    Some(match id {
        "timestamp_to_year" | "timestamp_to_year_with_tz" => {
            |arguments| part(arguments, |at| i64::from(at.year()))
        }
        "timestamp_to_month" | "timestamp_to_month_with_tz" => {
            |arguments| part(arguments, |at| i64::from(at.month()) - 1)
        }
        "timestamp_to_day_of_year" | "timestamp_to_day_of_year_with_tz" => {
            |arguments| part(arguments, |at| i64::from(at.day_of_year()) - 1)
        }
        "timestamp_to_day_of_month" | "timestamp_to_day_of_month_with_tz" => {
            |arguments| part(arguments, |at| i64::from(at.day()) - 1)
        }
        "timestamp_to_day_of_month_1_based" | "timestamp_to_day_of_month_1_based_with_tz" => {
            |arguments| part(arguments, |at| i64::from(at.day()))
        }
        "timestamp_to_day_of_week" | "timestamp_to_day_of_week_with_tz" => {
            |arguments| part(arguments, |at| i64::from(at.weekday().to_sunday_zero_offset()))
        }
        "timestamp_to_hours" | "timestamp_to_hours_with_tz" => {
            |arguments| part(arguments, |at| i64::from(at.hour()))
        }
        "timestamp_to_minutes" | "timestamp_to_minutes_with_tz" => {
            |arguments| part(arguments, |at| i64::from(at.minute()))
        }
        "timestamp_to_seconds" | "timestamp_to_seconds_tz" => {
            |arguments| part(arguments, |at| i64::from(at.second()))
        }
        "timestamp_to_milliseconds" | "timestamp_to_milliseconds_with_tz" => {
            |arguments| part(arguments, |at| i64::from(at.subsec_nanosecond()) / 1_000_000)
        }
        "duration_to_hours" => |arguments| whole(arguments, 3_600_000_000_000),
        "duration_to_minutes" => |arguments| whole(arguments, 60_000_000_000),
        "duration_to_seconds" => |arguments| whole(arguments, 1_000_000_000),
        "duration_to_milliseconds" => |arguments| whole(arguments, 1_000_000),
        _ => return None,
    })
}

fn whole<'a>(arguments: &[Value<'a>], unit: i64) -> Outcome<'a> {
    match arguments {
        [Value::Duration(nanoseconds)] => Ok(Value::Int(nanoseconds / unit)),
        _ => Err(Failure::no_such_overload()),
    }
}

fn part<'a>(arguments: &[Value<'a>], read: fn(&Zoned) -> i64) -> Outcome<'a> {
    let (time, zone) = match arguments {
        [Value::Timestamp(time)] => (time, TimeZone::UTC),
        [Value::Timestamp(time), Value::String(zone)] => (time, time_zone(zone)?),
        _ => return Err(Failure::no_such_overload()),
    };
    Ok(Value::Int(read(&time.to_zoned(zone))))
}

/// Reads a time zone: a name, or an offset such as `-08:00`.
fn time_zone(text: &str) -> Result<TimeZone, Failure> {
    let unknown = || Failure::new(format!("unknown time zone {text}"));
    let Some((hours, minutes)) = text.split_once(':') else {
        return match text {
            "" | "UTC" | "Local" => Ok(TimeZone::UTC),
            name => TimeZone::get(name).map_err(|_| unknown()),
        };
    };
    let number = |text: &str| -> Result<i32, Failure> {
        gotemplate::format::parse_int(text, 10)
            .ok()
            .and_then(|value| i32::try_from(value).ok())
            .ok_or_else(|| Failure::new(format!("strconv.Atoi: parsing \"{text}\": invalid syntax")))
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let minutes = if hours < 0 || text.starts_with('-') {
        -minutes
    } else {
        minutes
    };
    let seconds = hours
        .saturating_mul(3600)
        .saturating_add(minutes.saturating_mul(60));
    Ok(TimeZone::fixed(
        Offset::from_seconds(seconds).map_err(|_| unknown())?,
    ))
}

/// Reads a duration as Go does: `1h30m`, `-1.5s`, `100ms`.
pub(crate) fn parse_go_duration(text: &str) -> Option<i64> {
    let (negative, mut left) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if left == "0" {
        return Some(0);
    }
    if left.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    while !left.is_empty() {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = left.split_at_checked(digits(left))?;
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at_checked(digits(rest))?,
            None => ("", rest),
        };
        if number.is_empty() && fraction.is_empty() {
            return None;
        }
        let end = rest
            .bytes()
            .take_while(|byte| *byte != b'.' && !byte.is_ascii_digit())
            .count();
        let (unit, rest) = rest.split_at_checked(end)?;
        let nanoseconds: u64 = match unit {
            "ns" => 1,
            "us" | "µs" | "μs" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let whole: u64 = if number.is_empty() {
            0
        } else {
            number.parse().ok()?
        };
        let mut value = whole.checked_mul(nanoseconds)?;
        // What is beyond the precision of the fraction is dropped, as Go drops it.
        let (mut digits, mut scale) = (0_u64, 1_f64);
        for digit in fraction.bytes() {
            let Some(next) = digits
                .checked_mul(10)
                .and_then(|digits| digits.checked_add(u64::from(digit - b'0')))
            else {
                break;
            };
            if next > 1 << 63 {
                break;
            }
            digits = next;
            scale *= 10.0;
        }
        value = value.checked_add((digits as f64 * (nanoseconds as f64 / scale)) as u64)?;
        total = total.checked_add(value).filter(|total| *total <= 1 << 63)?;
        left = rest;
    }
    if negative {
        Some((total as i64).wrapping_neg())
    } else {
        i64::try_from(total).ok()
    }
}

/// Reads a duration as schemas with the format `duration` allow it: Go's form, or a number and a word (`2 days`).
pub(crate) fn parse_openapi_duration(text: &str) -> Result<i64, String> {
    if let Some(nanoseconds) = parse_go_duration(text) {
        return Ok(nanoseconds);
    }
    let wrong = || format!("unable to parse {text} as duration");
    let mut total: i64 = 0;
    let mut found = false;
    let mut left = text;
    while let Some(start) = left.find(|character: char| character.is_ascii_digit()) {
        let rest = left.get(start..).unwrap_or_default();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: i64 = rest
            .get(..digits)
            .and_then(|number| number.parse().ok())
            .ok_or_else(wrong)?;
        let rest = rest.get(digits..).unwrap_or_default().trim_start();
        let letters = rest
            .bytes()
            .take_while(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80)
            .count();
        let Some(unit) = rest.get(..letters).and_then(unit) else {
            left = rest;
            continue;
        };
        total = number
            .checked_mul(unit)
            .and_then(|value| total.checked_add(value))
            .ok_or_else(wrong)?;
        found = true;
        left = rest.get(letters..).unwrap_or_default();
    }
    if found { Ok(total) } else { Err(wrong()) }
}

/// Returns the unit that a word names. The long form of a unit may have any ending: `second`, `seconds`, `secs`.
fn unit(word: &str) -> Option<i64> {
    let word = word.to_lowercase();
    let units: [(&[&str], &str, i64); 8] = [
        (&["ns"], "nano", 1),
        (&["us", "µs"], "micro", 1_000),
        (&["ms"], "milli", 1_000_000),
        (&["s"], "sec", 1_000_000_000),
        (&["m"], "min", 60_000_000_000),
        (&["h", "hr"], "hour", 3_600_000_000_000),
        (&["d"], "day", 86_400_000_000_000),
        (&["w", "wk"], "week", 604_800_000_000_000),
    ];
    let found = units
        .into_iter()
        .find(|(short, long, _)| short.contains(&word.as_str()) || word.starts_with(long));
    found.map(|(_, _, nanoseconds)| nanoseconds)
}

/// Reads a date: `2024-02-29`.
pub(crate) fn parse_date(text: &str) -> Result<Timestamp, String> {
    let date: Option<jiff::civil::Date> = (text.len() == 10).then(|| text.parse().ok()).flatten();
    date.and_then(|date| date.to_zoned(TimeZone::UTC).ok())
        .map(|zoned| zoned.timestamp())
        .ok_or_else(|| {
            format!("parsing time \"{text}\" as \"2006-01-02\": cannot parse \"{text}\" as \"2006\"")
        })
}

/// Reads a time as schemas with the format `date-time` allow it.
pub(crate) fn parse_openapi_time(text: &str) -> Result<Timestamp, String> {
    if text.is_empty() {
        return Ok(Timestamp::UNIX_EPOCH);
    }
    let normal = text.replace(' ', "T");
    parse_rfc3339(&normal)
        .or_else(|| parse_rfc3339(&format!("{normal}Z")))
        .ok_or_else(|| format!("parsing time \"{text}\" as \"2006-01-02T15:04:05Z07:00\": cannot parse"))
}

/// Reads a time as Go's RFC 3339 layout does.
pub(crate) fn parse_rfc3339(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let shape = |index: usize, byte: u8| bytes.get(index) == Some(&byte);
    if !(text.is_ascii()
        && shape(4, b'-')
        && shape(7, b'-')
        && shape(10, b'T')
        && shape(13, b':')
        && shape(16, b':'))
    {
        return None;
    }
    let digits = [0..4, 5..7, 8..10, 11..13, 14..16, 17..19];
    if !digits
        .into_iter()
        .flatten()
        .all(|index| bytes.get(index).is_some_and(u8::is_ascii_digit))
    {
        return None;
    }
    let rest = text.get(19..)?;
    let (fraction, zone) = match rest.strip_prefix(['.', ',']) {
        Some(after) => {
            let end = after.bytes().take_while(u8::is_ascii_digit).count();
            if end == 0 {
                return None;
            }
            after.split_at_checked(end)?
        }
        None => ("", rest),
    };
    let sound_zone = zone == "Z"
        || {
            let zone = zone.as_bytes();
            matches!(zone, [b'+' | b'-', h1, h2, b':', m1, m2]
            if [h1, h2, m1, m2].into_iter().all(u8::is_ascii_digit) && (*h1, *h2) <= (b'2', b'4') && *m1 <= b'5')
        };
    if !sound_zone || bytes.get(17) == Some(&b'6') {
        return None;
    }
    let offset = if zone == "Z" { "+00:00" } else { zone };
    let fraction = fraction.get(..fraction.len().min(9)).unwrap_or(fraction);
    let point = if fraction.is_empty() { "" } else { "." };
    let text = format!("{}{point}{fraction}{offset}", text.get(..19)?);
    text.parse().ok()
}

/// Writes a time as RFC 3339 with as many digits of a second as it has.
pub(crate) fn rfc3339(time: Timestamp) -> String {
    time.to_string()
}

/// Writes a duration in seconds: `5400s`.
pub(crate) fn seconds(nanoseconds: i64) -> String {
    let whole = nanoseconds / 1_000_000_000;
    let rest = nanoseconds % 1_000_000_000;
    let seconds = whole as f64 + rest as f64 / 1e9;
    format!("{}s", gotemplate::format::float_text(seconds, b'f', None))
}

/// Writes a duration as Go does: `1h30m0s`.
pub(crate) fn go_duration(nanoseconds: i64) -> String {
    if nanoseconds == 0 {
        return "0s".to_owned();
    }
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let total = nanoseconds.unsigned_abs();
    let decimal = |value: u64, unit: u64| {
        let fraction = format!("{:0width$}", value % unit, width = unit.ilog10() as usize);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() || unit == 1 { "" } else { "." };
        let fraction = if unit == 1 { "" } else { fraction };
        format!("{}{point}{fraction}", value / unit)
    };
    if total < 1_000 {
        return format!("{sign}{total}ns");
    }
    if total < 1_000_000 {
        return format!("{sign}{}µs", decimal(total, 1_000));
    }
    if total < 1_000_000_000 {
        return format!("{sign}{}ms", decimal(total, 1_000_000));
    }
    let hours = total / 3_600_000_000_000;
    let minutes = total / 60_000_000_000 % 60;
    let seconds = decimal(total % 60_000_000_000, 1_000_000_000);
    match (hours, minutes) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}
