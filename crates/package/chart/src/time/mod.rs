//! Go's time package, as far as templates see it: instants in a location, durations, layouts.
//!
//! ```text
//! layout (tokens) ─► format: Time → text      Time ── seconds, nanoseconds, Location
//!                 └► parse:  text → Time      Duration ── nanoseconds
//! objects: Time, Duration, Month, Weekday and Location with the methods that templates can call
//! ```

mod duration;
mod format;
mod layout;
mod location;
pub(crate) mod objects;
mod parse;

pub(crate) use duration::Duration;
pub(crate) use format::{RFC3339, RFC3339_NANO};
pub(crate) use location::Location;

/// Seconds from the start of year 1, where Go's zero time is, to the Unix epoch.
const YEAR_ONE_TO_EPOCH: i64 = 62_135_596_800;
const SECONDS_PER_DAY: i64 = 86_400;
const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;

/// An instant, seen in a location: Go's `time.Time`.
#[derive(Clone, Debug)]
pub(crate) struct Time {
    /// Seconds since the Unix epoch.
    seconds: i64,
    /// Nanoseconds after that second.
    nanoseconds: u32,
    location: Location,
    /// Nanoseconds since the program's start, for an instant that was read from the clock.
    monotonic: Option<i64>,
}

/// A date and time of day without a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
    /// Days since Sunday.
    pub(crate) weekday: u32,
    /// 1 for the first of January.
    pub(crate) year_day: u32,
}

impl Time {
    /// Returns Go's zero time: the start of year 1 in UTC.
    pub(crate) fn zero() -> Time {
        Time::from_unix(-YEAR_ONE_TO_EPOCH, 0, Location::Utc)
    }

    /// Returns the instant that is so many seconds and nanoseconds after the Unix epoch.
    pub(crate) fn from_unix(seconds: i64, nanoseconds: u32, location: Location) -> Time {
        Time {
            seconds,
            nanoseconds,
            location,
            monotonic: None,
        }
    }

    /// Returns the instant of a date and time of day in a location; months and days may overflow.
    pub(crate) fn from_civil(
        (year, month, day): (i64, i64, i64),
        seconds_of_day: i64,
        nanoseconds: u32,
        location: Location,
    ) -> Time {
        let days = days_from_civil(i128::from(year), i128::from(month), i128::from(day));
        let mut seconds = (days * i128::from(SECONDS_PER_DAY) + i128::from(seconds_of_day)) as i64;
        // Go's two steps: the offset at the wrong instant leads to the right one.
        let first = location.offset_at(seconds);
        if first != 0 {
            let offset = location.offset_at(seconds.wrapping_sub(first));
            seconds = seconds.wrapping_sub(offset);
        }
        Time::from_unix(seconds, nanoseconds, location)
    }

    /// Adds a reading of the monotonic clock, which Go prints.
    pub(crate) fn with_monotonic(self, nanoseconds: i64) -> Time {
        Time {
            monotonic: Some(nanoseconds),
            ..self
        }
    }

    /// Returns the seconds since the Unix epoch.
    pub(crate) fn unix(&self) -> i64 {
        self.seconds
    }

    fn unix_in(&self, units_per_second: i64) -> i64 {
        let part = i64::from(self.nanoseconds) / (NANOSECONDS_PER_SECOND / units_per_second);
        self.seconds.wrapping_mul(units_per_second).wrapping_add(part)
    }

    /// Returns the same instant seen in another location, without the monotonic reading.
    pub(crate) fn within(&self, location: Location) -> Time {
        Time::from_unix(self.seconds, self.nanoseconds, location)
    }

    /// Returns the instant `duration` later.
    pub(crate) fn add(&self, duration: Duration) -> Time {
        let nanoseconds = i64::from(self.nanoseconds) + duration.0 % NANOSECONDS_PER_SECOND;
        let seconds = self
            .seconds
            .wrapping_add(duration.0 / NANOSECONDS_PER_SECOND)
            .wrapping_add(nanoseconds.div_euclid(NANOSECONDS_PER_SECOND));
        Time {
            seconds,
            nanoseconds: nanoseconds.rem_euclid(NANOSECONDS_PER_SECOND) as u32,
            location: self.location.clone(),
            monotonic: self.monotonic.and_then(|reading| reading.checked_add(duration.0)),
        }
    }

    /// Returns the duration since `earlier`, or the longest there is.
    pub(crate) fn since(&self, earlier: &Time) -> Duration {
        let difference = match (self.monotonic, earlier.monotonic) {
            (Some(later), Some(earlier)) => i128::from(later) - i128::from(earlier),
            _ => self.nanoseconds_since_year_one() - earlier.nanoseconds_since_year_one(),
        };
        Duration(difference.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
    }

    fn nanoseconds_since_year_one(&self) -> i128 {
        (i128::from(self.seconds) + i128::from(YEAR_ONE_TO_EPOCH)) * i128::from(NANOSECONDS_PER_SECOND)
            + i128::from(self.nanoseconds)
    }

    /// Returns how far the instant is past the last multiple of `unit` since year 1.
    fn past_multiple_of(&self, unit: Duration) -> Duration {
        Duration(self.nanoseconds_since_year_one().rem_euclid(i128::from(unit.0)) as i64)
    }

    fn is_zero(&self) -> bool {
        self.seconds == -YEAR_ONE_TO_EPOCH && self.nanoseconds == 0
    }

    /// Orders two instants, wherever they are seen.
    fn compare(&self, other: &Time) -> std::cmp::Ordering {
        match (self.monotonic, other.monotonic) {
            (Some(this), Some(that)) => this.cmp(&that),
            _ => (self.seconds, self.nanoseconds).cmp(&(other.seconds, other.nanoseconds)),
        }
    }

    /// Returns the date and time of day in the time's location.
    pub(crate) fn civil(&self) -> Civil {
        civil_at(i128::from(self.seconds) + i128::from(self.location.offset_at(self.seconds)))
    }

    pub(crate) fn add_date(&self, years: i64, months: i64, days: i64) -> Time {
        let civil = self.civil();
        let seconds_of_day = i64::from(civil.hour * 3600 + civil.minute * 60 + civil.second);
        Time::from_civil(
            (
                civil.year.saturating_add(years),
                i64::from(civil.month).saturating_add(months),
                i64::from(civil.day).saturating_add(days),
            ),
            seconds_of_day,
            self.nanoseconds,
            self.location.clone(),
        )
    }
}

/// Counts days from the Unix epoch to a date of the Gregorian calendar, before its invention too.
fn days_from_civil(year: i128, month: i128, day: i128) -> i128 {
    let year = year + (month - 1).div_euclid(12);
    let month = (month - 1).rem_euclid(12) + 1;
    // Years start in March here, so that the leap day is the last one.
    let year = if month <= 2 { year - 1 } else { year };
    let shifted_month = (month + 9) % 12;
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * shifted_month + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468 + day - 1
}

fn civil_at(local_seconds: i128) -> Civil {
    let per_day = i128::from(SECONDS_PER_DAY);
    let days = local_seconds.div_euclid(per_day);
    let second_of_day = local_seconds.rem_euclid(per_day) as u32;
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * shifted_month + 2) / 5 + 1) as u32;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i128::from(month <= 2);
    Civil {
        year: year as i64,
        month: month as u32,
        day,
        hour: second_of_day / 3600,
        minute: second_of_day / 60 % 60,
        second: second_of_day % 60,
        // The first day of 1970 was a Thursday.
        weekday: (days + 4).rem_euclid(7) as u32,
        year_day: (days - days_from_civil(year, 1, 1) + 1) as u32,
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// The names of the months, from January.
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// The names of the days, from Sunday.
const WEEKDAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// How many letters of a name its short form has.
const SHORT_NAME: usize = 3;

fn month_name(month: u32) -> &'static str {
    MONTHS
        .get((month as usize).wrapping_sub(1))
        .copied()
        .unwrap_or_default()
}

fn weekday_name(weekday: u32) -> &'static str {
    WEEKDAYS.get(weekday as usize).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_zero_time_is_a_monday_in_year_one() {
        let civil = Time::zero().civil();
        assert_eq!(
            (civil.year, civil.month, civil.day, civil.weekday, civil.year_day),
            (1, 1, 1, 1, 1)
        );
        assert!(Time::zero().is_zero());
    }

    #[test]
    fn a_leap_day_has_the_sixtieth_place() {
        let civil = Time::from_unix(1_709_164_800, 0, Location::Utc).civil();
        assert_eq!(
            (civil.year, civil.month, civil.day, civil.weekday, civil.year_day),
            (2024, 2, 29, 4, 60)
        );
    }

    #[test]
    fn adding_a_month_to_the_thirty_first_overflows_into_the_next() {
        let january = Time::from_civil((2023, 1, 31), 0, 0, Location::Utc);
        let civil = january.add_date(0, 1, 0).civil();
        assert_eq!((civil.year, civil.month, civil.day), (2023, 3, 3));
    }

    #[test]
    fn a_time_that_a_clock_change_skips_moves_as_in_go() {
        let new_york = Location::load("America/New_York", &Location::Utc).expect("a known zone");
        let skipped = Time::from_civil((2024, 3, 10), 2 * 3600 + 1800, 0, new_york);
        assert_eq!((skipped.civil().hour, skipped.civil().minute), (1, 30));
    }

    proptest! {
        #[test]
        fn every_date_survives_the_way_there_and_back(seconds in any::<i64>()) {
            let time = Time::from_unix(seconds, 0, Location::Utc);
            let civil = time.civil();
            let of_day = i64::from(civil.hour * 3600 + civil.minute * 60 + civil.second);
            let date = (civil.year, i64::from(civil.month), i64::from(civil.day));
            prop_assert_eq!(Time::from_civil(date, of_day, 0, Location::Utc).unix(), seconds);
        }

        #[test]
        fn no_arithmetic_overflows(seconds in any::<i64>(), nanoseconds in any::<i64>(), count in any::<i64>()) {
            let time = Time::from_unix(seconds, 999_999_999, Location::Utc);
            let moved = time.add(Duration(nanoseconds));
            moved.since(&time);
            moved.add_date(count, count, count).civil();
        }
    }
}
