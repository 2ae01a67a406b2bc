//! The five-field schedules of cron, and the next time that one names.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan, Zoned};

/// How many years ahead a time is looked for; a schedule such as the 30th of February has none.
const YEARS: i16 = 5;

/// The shortest time between two runs of an `@every` schedule.
const SHORTEST: SignedDuration = SignedDuration::from_secs(1);

/// A schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Schedule {
    /// The times that five fields name.
    Fields(Box<Fields>),
    /// A fixed time after the last.
    Every(SignedDuration),
}

/// The five fields, one bit for each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    any_day: bool,
    any_weekday: bool,
}

const MONTHS: &[&str] = &[
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

struct Bounds {
    first: u64,
    last: u64,
    names: &'static [&'static str],
}

const MINUTE: Bounds = Bounds {
    first: 0,
    last: 59,
    names: &[],
};
const HOUR: Bounds = Bounds {
    first: 0,
    last: 23,
    names: &[],
};
const DAY: Bounds = Bounds {
    first: 1,
    last: 31,
    names: &[],
};
const MONTH: Bounds = Bounds {
    first: 1,
    last: 12,
    names: MONTHS,
};
const WEEKDAY: Bounds = Bounds {
    first: 0,
    last: 6,
    names: WEEKDAYS,
};

impl Schedule {
    /// Reads a schedule.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("empty spec string".to_owned());
        }
        if let Some(named) = text.strip_prefix('@') {
            return Self::named(named).ok_or_else(|| format!("unrecognized descriptor: {text}"));
        }
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields.as_slice() else {
            return Err(format!(
                "expected exactly 5 fields, found {}: [{}]",
                fields.len(),
                fields.join(" ")
            ));
        };
        let (days, any_day) = field(day, &DAY)?;
        let (weekdays, any_weekday) = field(weekday, &WEEKDAY)?;
        Ok(Self::Fields(Box::new(Fields {
            minutes: field(minute, &MINUTE)?.0,
            hours: field(hour, &HOUR)?.0,
            days,
            months: field(month, &MONTH)?.0,
            weekdays,
            any_day,
            any_weekday,
        })))
    }

    fn named(name: &str) -> Option<Self> {
        let fields = match name {
            "yearly" | "annually" => "0 0 1 1 *",
            "monthly" => "0 0 1 * *",
            "weekly" => "0 0 * * 0",
            "daily" | "midnight" => "0 0 * * *",
            "hourly" => "0 * * * *",
            other => {
                let pause = duration(other.strip_prefix("every ")?)?;
                return Some(Self::Every(pause.max(SHORTEST)));
            }
        };
        Self::read(fields).ok()
    }

    /// Returns the first time after another.
    pub(super) fn after(&self, then: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        match self {
            Self::Every(pause) => {
                let whole = Timestamp::from_second(then.as_second()).ok()?;
                whole.checked_add(SignedDuration::from_secs(pause.as_secs())).ok()
            }
            Self::Fields(fields) => fields.after(then, zone),
        }
    }
}

impl Fields {
    fn has(bits: u64, value: i8) -> bool {
        u32::try_from(value).is_ok_and(|value| bits >> value & 1 == 1)
    }

    fn is_day(&self, at: &Zoned) -> bool {
        let day = Self::has(self.days, at.day());
        let weekday = Self::has(self.weekdays, at.weekday().to_sunday_zero_offset());
        // Where both are given, either will do.
        if self.any_day || self.any_weekday {
            day && weekday
        } else {
            day || weekday
        }
    }

    fn after(&self, then: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let second = Timestamp::from_second(then.as_second().div_euclid(60) * 60).ok()?;
        let mut at = second
            .checked_add(SignedDuration::from_mins(1))
            .ok()?
            .to_zoned(zone.clone());
        let last_year = at.year().checked_add(YEARS)?;
        while at.year() <= last_year {
            if !Self::has(self.months, at.month()) {
                let next = at.first_of_month().ok()?.checked_add(1.month()).ok()?;
                at = next.start_of_day().ok()?;
            } else if !self.is_day(&at) {
                at = at.tomorrow().ok()?.start_of_day().ok()?;
            } else if !Self::has(self.hours, at.hour()) {
                let left = 60 - i64::from(at.minute());
                at = at.checked_add(left.minutes()).ok()?;
            } else if !Self::has(self.minutes, at.minute()) {
                at = at.checked_add(1.minute()).ok()?;
            } else {
                return Some(at.timestamp());
            }
        }
        None
    }
}

/// Reads a field: its values, and whether it is all of them.
fn field(text: &str, bounds: &Bounds) -> Result<(u64, bool), String> {
    let mut bits = 0;
    let mut any = false;
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (values, all) = range(part, bounds)?;
        bits |= values;
        any |= all;
    }
    Ok((bits, any))
}

fn range(text: &str, bounds: &Bounds) -> Result<(u64, bool), String> {
    let (span, step_text) = match text.split('/').collect::<Vec<_>>().as_slice() {
        [span] => (*span, None),
        [span, step] => (*span, Some(*step)),
        _ => return Err(format!("too many slashes: {text}")),
    };
    let all = matches!(span, "*" | "?");
    let (first, mut last) = match span.split('-').collect::<Vec<_>>().as_slice() {
        _ if all => (bounds.first, bounds.last),
        [one] => (number(one, bounds)?, number(one, bounds)?),
        [first, last] => (number(first, bounds)?, number(last, bounds)?),
        _ => return Err(format!("too many hyphens: {text}")),
    };
    let step = match step_text {
        None => 1,
        Some(step) => {
            // `5/10` means from five on.
            if !all && !span.contains('-') {
                last = bounds.last;
            }
            digits(step)?
        }
    };
    if first < bounds.first {
        return Err(format!(
            "beginning of range ({first}) below minimum ({}): {text}",
            bounds.first
        ));
    }
    if last > bounds.last {
        return Err(format!(
            "end of range ({last}) above maximum ({}): {text}",
            bounds.last
        ));
    }
    if first > last {
        return Err(format!(
            "beginning of range ({first}) beyond end of range ({last}): {text}"
        ));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    let mut bits = 0;
    let mut value = first;
    while value <= last {
        bits |= 1_u64 << value;
        value = value.saturating_add(step);
    }
    Ok((bits, all && step == 1))
}

fn number(text: &str, bounds: &Bounds) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    if let Some(index) = bounds.names.iter().position(|&name| name == lower) {
        return Ok(bounds.first + u64::try_from(index).unwrap_or(0));
    }
    digits(text)
}

fn digits(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax")
    })
}

/// Reads a duration as Go writes it, such as `1h30m`.
fn duration(text: &str) -> Option<SignedDuration> {
    if text.starts_with('-') || text.is_empty() {
        return None;
    }
    let mut rest = text;
    let mut total = SignedDuration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let value: f64 = rest[..digits].parse().ok()?;
        let unit = rest[digits..].find(|letter: char| letter.is_ascii_digit() || letter == '.');
        let end = unit.map_or(rest.len(), |length| digits + length);
        let seconds = match &rest[digits..end] {
            "h" => value * 3600.0,
            "m" => value * 60.0,
            "s" => value,
            "ms" => value / 1e3,
            "us" | "µs" => value / 1e6,
            "ns" => value / 1e9,
            _ => return None,
        };
        total = total.checked_add(SignedDuration::try_from_secs_f64(seconds).ok()?)?;
        rest = &rest[end..];
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(schedule: &str, then: &str, zone: &str) -> String {
        let zone = TimeZone::get(zone).expect("a zone");
        let then: Timestamp = then.parse().expect("a time");
        Schedule::read(schedule)
            .expect("a schedule")
            .after(then, &zone)
            .map_or_else(|| "never".to_owned(), |at| at.to_string())
    }

    #[test]
    fn the_next_time_is_the_first_that_all_fields_name() {
        let table = [
            ("0 0 1 1 *", "2026-03-04T05:06:07Z", "2027-01-01T00:00:00Z"),
            ("*/15 * * * *", "2026-03-04T05:00:00Z", "2026-03-04T05:15:00Z"),
            ("5/20 * * * *", "2026-03-04T05:26:00Z", "2026-03-04T05:45:00Z"),
            (
                "0 9-17/4 * * mon-fri",
                "2026-03-06T17:30:00Z",
                "2026-03-09T09:00:00Z",
            ),
            ("0 0 13 * fri", "2026-03-01T00:00:00Z", "2026-03-06T00:00:00Z"),
            ("0 0 13 * *", "2026-03-01T00:00:00Z", "2026-03-13T00:00:00Z"),
            ("0 0 ? feb 0", "2026-03-01T00:00:00Z", "2027-02-07T00:00:00Z"),
            ("0 0 29 2 *", "2026-03-01T00:00:00Z", "2028-02-29T00:00:00Z"),
            ("0 0 30 2 *", "2026-03-01T00:00:00Z", "never"),
            ("@hourly", "2026-03-01T00:00:00Z", "2026-03-01T01:00:00Z"),
            ("@every 1h30m", "2026-03-01T00:00:00.5Z", "2026-03-01T01:30:00Z"),
        ];
        for (schedule, then, wanted) in table {
            assert_eq!(next(schedule, then, "UTC"), wanted, "{schedule} after {then}");
        }
    }

    #[test]
    fn an_hour_that_is_left_out_or_comes_twice_is_taken_as_it_comes() {
        let zone = "America/New_York";
        assert_eq!(
            next("30 2 * * *", "2026-03-08T05:00:00Z", zone),
            "2026-03-09T06:30:00Z"
        );
        assert_eq!(
            next("30 1 * * *", "2026-11-01T04:00:00Z", zone),
            "2026-11-01T05:30:00Z"
        );
        assert_eq!(
            next("30 1 * * *", "2026-11-01T05:30:00Z", zone),
            "2026-11-01T06:30:00Z"
        );
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for text in [
            "",
            "* * * *",
            "60 * * * *",
            "* * 0 * *",
            "5-1 * * * *",
            "*/0 * * * *",
            "a * * * *",
            "@never",
        ] {
            assert!(Schedule::read(text).is_err(), "{text}");
        }
    }
}
