//! Dates, times and durations.

/// The nanoseconds that a duration may have; Go counts them in 63 bits.
const MAXIMUM_NANOSECONDS: u64 = 1 << 63;

const GO_UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    // The micro sign and the Greek letter.
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The units of Scala's durations; text may begin with the last of each row and go on.
const SCALA_UNITS: [&[&str]; 8] = [
    &["ns", "nano"],
    &["us", "\u{b5}s", "micro"],
    &["ms", "milli"],
    &["s", "sec"],
    &["m", "min"],
    &["h", "hr", "hour"],
    &["d", "day"],
    &["w", "wk", "week"],
];

/// A full date, such as `2006-01-02`.
pub(super) fn is_date(text: &str) -> bool {
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else {
        return false;
    };
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0u32, |number, byte| {
            byte.is_ascii_digit()
                .then(|| number * 10 + u32::from(byte - b'0'))
        })
    };
    let (Some(year), Some(month), Some(day)) = (
        number(&[*y1, *y2, *y3, *y4]),
        number(&[*m1, *m2]),
        number(&[*d1, *d2]),
    ) else {
        return false;
    };
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// A date and a time with its zone, such as `2006-01-02T15:04:05Z`. No second is the sixtieth.
pub(super) fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else {
        return false;
    };
    is_date(date) && is_time_of_day(time)
}

/// A time with its zone, such as `15:04:05.5z`. Any sign may stand before the fraction.
fn is_time_of_day(text: &str) -> bool {
    let is_pair = |pair: &str, limit: &str| {
        pair.len() == 2 && pair.bytes().all(|byte| byte.is_ascii_digit()) && pair <= limit
    };
    let Some((clock, rest)) = text.split_at_checked(8) else {
        return false;
    };
    let mut pairs = clock.split(':');
    let fits = ["23", "59", "59"]
        .into_iter()
        .all(|limit| pairs.next().is_some_and(|pair| is_pair(pair, limit)));
    if !fits || pairs.next().is_some() {
        return false;
    }
    let is_zone = |text: &str| {
        let hours_and_minutes = text
            .strip_prefix(['+', '-'])
            .and_then(|zone| zone.split_once(':'));
        text == "z"
            || hours_and_minutes
                .is_some_and(|(hours, minutes)| is_pair(hours, "99") && is_pair(minutes, "99"))
    };
    let mut signs = rest.chars();
    let has_sign = signs.next().is_some_and(|sign| sign != '\n');
    let zone = signs
        .as_str()
        .trim_start_matches(|character: char| character.is_ascii_digit());
    is_zone(rest) || has_sign && zone.len() < signs.as_str().len() && is_zone(zone)
}

/// What Go's `time.ParseDuration` reads, or anything with a number and a unit in it.
pub(super) fn is_duration(text: &str) -> bool {
    is_go_duration(text) || has_scala_duration(text)
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let mut total: u64 = 0;
    let mut any = false;
    while !rest.is_empty() {
        let Some((nanoseconds, after)) = go_step(rest) else {
            return false;
        };
        total = match total.checked_add(nanoseconds) {
            Some(total) if total <= MAXIMUM_NANOSECONDS => total,
            _ => return false,
        };
        rest = after;
        any = true;
    }
    // Only a negative duration may have the last nanosecond.
    any && (total < MAXIMUM_NANOSECONDS || text.starts_with('-'))
}

/// Reads one number with its unit.
fn go_step(text: &str) -> Option<(u64, &str)> {
    let split = |text: &str| {
        text.find(|character: char| !character.is_ascii_digit())
            .unwrap_or(text.len())
    };
    let (whole, mut rest) = text.split_at(split(text));
    let mut fraction = "";
    if let Some(after) = rest.strip_prefix('.') {
        (fraction, rest) = after.split_at(split(after));
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let unit_end = rest
        .find(|character: char| character == '.' || character.is_ascii_digit())
        .unwrap_or(rest.len());
    let (unit, after) = rest.split_at(unit_end);
    let scale = GO_UNITS.iter().find(|(name, _)| *name == unit)?.1;
    let number: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let nanoseconds = number
        .checked_mul(scale)
        .filter(|nanoseconds| *nanoseconds <= MAXIMUM_NANOSECONDS)?;
    Some((nanoseconds, after))
}

/// Looks for numbers with a unit behind them, whatever else is there.
fn has_scala_duration(text: &str) -> bool {
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
        let after = rest.get(start..).unwrap_or_default();
        let behind = after.trim_start_matches(|character: char| character.is_ascii_digit());
        let number = after.strip_suffix(behind).unwrap_or_default();
        let units = behind.trim_start_matches(['\t', '\n', '\u{c}', '\r', ' ']);
        let end = units
            .find(|character: char| !character.is_ascii_alphabetic() && character != '\u{b5}')
            .unwrap_or(units.len());
        let (unit, next) = units.split_at(end);
        if unit.is_empty() {
            rest = behind;
            continue;
        }
        if number.parse::<i64>().is_err() {
            return false;
        }
        let unit = unit.to_lowercase();
        found |= SCALA_UNITS.iter().any(|names| {
            names.contains(&unit.as_str()) || names.last().is_some_and(|last| unit.starts_with(last))
        });
        rest = next;
    }
    found
}
