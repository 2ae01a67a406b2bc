//! Maintenance windows: when an installed extension may go to another version.
//!
//! ```text
//! windows = window *( ";" window )
//! window  = [ days " " ] HH:MM "-" HH:MM [ " " zone ]
//! days    = day *( "," day )          ; day = Mon … Sun, or a range such as Mon-Fri; without days: every day
//! zone    = "UTC" or a name such as Europe/Berlin; without one: UTC
//! ```

use std::fmt;
use std::str::FromStr;

use jiff::civil::{Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use thiserror::Error;

/// When something may be done: at least one window.
#[derive(Debug, Clone)]
pub struct Windows {
    text: String,
    windows: Vec<Window>,
}

#[derive(Debug, Clone)]
struct Window {
    /// By the number of days since Monday.
    days: [bool; 7],
    start: Time,
    /// None for midnight.
    end: Option<Time>,
    zone: TimeZone,
}

/// A text that is no list of windows.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text:?} is no maintenance window: {cause}; write one such as \"Sat,Sun 02:00-05:00 UTC\"")]
pub struct InvalidWindow {
    /// What was written.
    pub text: String,
    /// What is wrong with it.
    pub cause: String,
}

/// Whether something may be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// It may.
    Open,
    /// Not before this time.
    ClosedUntil(Timestamp),
}

/// How many windows one text may have: more is no plan that anybody can follow.
const MAX_WINDOWS: usize = 32;

impl FromStr for Windows {
    type Err = InvalidWindow;

    fn from_str(text: &str) -> Result<Self, InvalidWindow> {
        let invalid = |cause: String| InvalidWindow {
            text: text.to_owned(),
            cause,
        };
        let parts: Vec<&str> = text
            .split(';')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect();
        if parts.is_empty() {
            return Err(invalid("it is empty".to_owned()));
        }
        if parts.len() > MAX_WINDOWS {
            return Err(invalid(format!(
                "it has {} windows, and {MAX_WINDOWS} are the most",
                parts.len()
            )));
        }
        let windows = parts.into_iter().map(Window::parse).collect::<Result<_, _>>();
        Ok(Self {
            text: text.to_owned(),
            windows: windows.map_err(invalid)?,
        })
    }
}

impl fmt::Display for Windows {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl PartialEq for Windows {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Windows {
    /// Returns whether a window is open at a time, or when the next one opens.
    pub fn at(&self, now: Timestamp) -> Opening {
        let mut next: Option<Timestamp> = None;
        for window in &self.windows {
            match window.at(now) {
                Some(Opening::Open) => return Opening::Open,
                Some(Opening::ClosedUntil(opens)) => {
                    next = Some(next.map_or(opens, |known| known.min(opens)));
                }
                None => {}
            }
        }
        // A window on a day that a zone never has (a skipped hour aside) can't be written, so there is a next one;
        // were there none, to look again in a day is all that is left.
        Opening::ClosedUntil(next.unwrap_or_else(|| now.saturating_add(24.hours()).unwrap_or(now)))
    }
}

impl Window {
    fn parse(text: &str) -> Result<Self, String> {
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let position = words
            .iter()
            .position(|word| word.starts_with(|first: char| first.is_ascii_digit()))
            .ok_or("it names no hours")?;
        let hours = words.remove(position);
        let (days, zone) = match (position, words.as_slice()) {
            (0, []) => (None, None),
            (0, [zone]) => (None, Some(*zone)),
            (1, [days]) => (Some(*days), None),
            (1, [days, zone]) => (Some(*days), Some(*zone)),
            _ => return Err("it has more than days, hours and a zone".to_owned()),
        };
        let (start, end) = hours
            .split_once('-')
            .ok_or_else(|| format!("{hours:?} has no end"))?;
        let end = match end {
            "24:00" => None,
            other => Some(time(other)?),
        };
        let start = time(start)?;
        if end == Some(start) {
            return Err(format!("{hours:?} begins when it ends"));
        }
        Ok(Self {
            days: days.map_or(Ok([true; 7]), parse_days)?,
            start,
            end,
            zone: match zone {
                None | Some("UTC") => TimeZone::UTC,
                Some(name) => TimeZone::get(name).map_err(|_| format!("there is no time zone {name:?}"))?,
            },
        })
    }

    /// Returns whether this window is open, or when it opens within the next eight days.
    fn at(&self, now: Timestamp) -> Option<Opening> {
        let today = now.to_zoned(self.zone.clone()).date();
        // The window of yesterday may reach beyond midnight.
        let mut date = today.yesterday().ok()?;
        for _ in 0..10 {
            let tomorrow = date.tomorrow().ok()?;
            let weekday = usize::try_from(date.weekday().to_monday_zero_offset()).unwrap_or(0);
            if self.days.get(weekday) == Some(&true) {
                let last_day = match self.end {
                    Some(end) if end > self.start => date,
                    _ => tomorrow,
                };
                let start = date.to_datetime(self.start).to_zoned(self.zone.clone()).ok()?;
                let end = last_day.to_datetime(self.end.unwrap_or(Time::midnight()));
                let end = end.to_zoned(self.zone.clone()).ok()?;
                if start.timestamp() > now {
                    return Some(Opening::ClosedUntil(start.timestamp()));
                }
                if now < end.timestamp() {
                    return Some(Opening::Open);
                }
            }
            date = tomorrow;
        }
        None
    }
}

fn time(text: &str) -> Result<Time, String> {
    let not_a_time = || format!("{text:?} is no time of day; write hours and minutes, such as 02:00");
    let (hours, minutes) = text.split_once(':').ok_or_else(not_a_time)?;
    let number = |digits: &str| -> Option<i8> {
        (digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| digits.parse().ok())
            .flatten()
    };
    let (hours, minutes) = (
        number(hours).ok_or_else(not_a_time)?,
        number(minutes).ok_or_else(not_a_time)?,
    );
    Time::new(hours, minutes, 0, 0).map_err(|_| not_a_time())
}

fn parse_days(text: &str) -> Result<[bool; 7], String> {
    let mut days = [false; 7];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (day(first)?, day(last)?);
        let mut next = first;
        loop {
            if let Some(chosen) = days.get_mut(next) {
                *chosen = true;
            }
            if next == last {
                break;
            }
            next = (next + 1) % 7;
        }
    }
    Ok(days)
}

fn day(name: &str) -> Result<usize, String> {
    const NAMES: [(&str, Weekday); 7] = [
        ("Mon", Weekday::Monday),
        ("Tue", Weekday::Tuesday),
        ("Wed", Weekday::Wednesday),
        ("Thu", Weekday::Thursday),
        ("Fri", Weekday::Friday),
        ("Sat", Weekday::Saturday),
        ("Sun", Weekday::Sunday),
    ];
    let found = NAMES
        .iter()
        .position(|(known, _)| known.eq_ignore_ascii_case(name));
    found.ok_or_else(|| format!("{name:?} is no day; days are Mon, Tue, Wed, Thu, Fri, Sat and Sun"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn a_window_is_open_or_says_when_it_opens() {
        // 2026-11-16 is a Monday.
        let rows = [
            (
                "Sat,Sun 02:00-05:00 UTC",
                "2026-11-16T03:00:00Z",
                Some("2026-11-21T02:00:00Z"),
            ),
            ("Sat,Sun 02:00-05:00 UTC", "2026-11-21T02:00:00Z", None),
            ("Sat,Sun 02:00-05:00 UTC", "2026-11-21T04:59:59Z", None),
            (
                "Sat,Sun 02:00-05:00 UTC",
                "2026-11-21T05:00:00Z",
                Some("2026-11-22T02:00:00Z"),
            ),
            ("22:00-04:00", "2026-11-16T03:00:00Z", None),
            (
                "22:00-04:00",
                "2026-11-16T04:00:00Z",
                Some("2026-11-16T22:00:00Z"),
            ),
            ("Sun 22:00-04:00", "2026-11-16T03:00:00Z", None),
            (
                "Sun 22:00-04:00",
                "2026-11-17T03:00:00Z",
                Some("2026-11-22T22:00:00Z"),
            ),
            ("Mon-Fri 00:00-24:00", "2026-11-16T12:00:00Z", None),
            (
                "Sat-Mon 10:00-11:00",
                "2026-11-17T12:00:00Z",
                Some("2026-11-21T10:00:00Z"),
            ),
            ("02:00-05:00 Europe/Berlin", "2026-11-16T01:30:00Z", None),
            (
                "02:00-05:00 Europe/Berlin",
                "2026-11-16T04:30:00Z",
                Some("2026-11-17T01:00:00Z"),
            ),
            (
                "Sun 02:00-03:00; Wed 02:00-03:00",
                "2026-11-16T01:30:00Z",
                Some("2026-11-18T02:00:00Z"),
            ),
        ];
        for (text, now, opens) in rows {
            let windows: Windows = text.parse().expect(text);
            let expected = opens.map_or(Opening::Open, |opens| Opening::ClosedUntil(at(opens)));
            assert_eq!(windows.at(at(now)), expected, "{text} at {now}");
        }
    }

    #[test]
    fn what_is_no_window_is_refused_with_its_cause() {
        let rows = [
            ("", "it is empty"),
            ("Sat", "it names no hours"),
            ("Sat 02:00", "has no end"),
            ("Sat 2:00-5:00", "is no time of day"),
            ("Sat 25:00-26:00", "is no time of day"),
            ("02:00-02:00", "begins when it ends"),
            ("Caturday 02:00-03:00", "\"Caturday\" is no day"),
            ("02:00-03:00 Mars/Olympus", "there is no time zone"),
            ("Sat 02:00-03:00 UTC please", "more than days, hours and a zone"),
        ];
        for (text, cause) in rows {
            let refusal = text.parse::<Windows>().expect_err(text).to_string();
            assert!(refusal.contains(cause), "{text}: {refusal}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,60}", seconds in -10_000_000_000_i64..10_000_000_000) {
            if let (Ok(windows), Ok(now)) = (text.parse::<Windows>(), Timestamp::from_second(seconds)) {
                windows.at(now);
            }
        }

        #[test]
        fn what_opens_later_is_open_then(start in 0_i8..24, end in 0_i8..24, day in 0_usize..7, seconds in 0_i64..4_000_000_000) {
            prop_assume!(start != end);
            let day = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"][day];
            let windows: Windows = format!("{day} {start:02}:00-{end:02}:00").parse().expect("a window");
            if let Opening::ClosedUntil(opens) = windows.at(Timestamp::from_second(seconds).expect("a time")) {
                prop_assert_eq!(windows.at(opens), Opening::Open);
            }
        }
    }
}
